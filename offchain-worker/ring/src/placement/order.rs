//! Search for the nodes of a ring and their order.
//!
//! Few nodes: exactly, with the split of the layers, by dynamic programming over the set of nodes so far, the last of them, and how many blocks
//! are placed. Many nodes: each goes on to the nearest one that is left, then stretches of the way are turned around as long as that makes it
//! shorter (2-opt), and the split is the best one for the order that results.

use super::{
	split::in_order,
	table::{Found, Stage, Table, NEVER},
};

/// The most nodes of which the best ring is found exactly: the effort doubles with each.
pub const EXACT_NODES: usize = 9;
/// Nodes that a ring is tried to begin with, where the search is not exact.
const STARTS: usize = 8;
/// An order must get shorter by more than this share, or rounding could turn the same stretch back and forth.
const GAIN: f64 = 1e-9;

/// The cheapest ring of at most `most` of the table's nodes; `None` without one. Of rings that cost the same, the one found first: with the
/// better nodes and fewer of them, where nodes come best first.
///
/// The effort grows with `2^nodes`: only for [`EXACT_NODES`].
pub(super) fn exact(table: &Table, most: usize) -> Option<Found> {
	let mut search = Exact::new(table);
	(0..table.nodes).for_each(|first| search.from(first, most));
	search.best
}

/// The state of [`exact`].
struct Exact<'a> {
	table: &'a Table,
	width: usize,
	/// By set of nodes, last node, and number of blocks that are placed.
	costs: Vec<f64>,
	/// Nodes that came before, and the number of blocks that were done.
	parents: Vec<(u16, u16)>,
	best: Option<Found>,
}

impl<'a> Exact<'a> {
	fn new(table: &'a Table) -> Self {
		let width = table.blocks + 1;
		let states = (1usize << table.nodes) * table.nodes * width;
		Self { table, width, costs: vec![NEVER; states], parents: vec![(0, 0); states], best: None }
	}

	fn state(&self, set: usize, last: usize) -> usize {
		(set * self.table.nodes + last) * self.width
	}

	/// Tries all rings whose first node is `first`, which the way back must be known for.
	fn from(&mut self, first: usize, most: usize) {
		let table = self.table;
		self.costs.fill(NEVER);
		let members = |set: usize| (0..table.nodes).filter(move |node| set >> node & 1 == 1);
		for set in (1usize << first..1 << table.nodes).filter(|set| set >> first & 1 == 1) {
			if members(set).count() > most {
				continue;
			}
			for last in members(set).filter(|last| set == 1 << first || *last != first) {
				let before = set & !(1 << last);
				for from in 0..table.blocks {
					let (mut cost, mut who) = (if before == 0 && from == 0 { 0.0 } else { NEVER }, first);
					for other in members(before) {
						let sum = table.join.join(self.costs[self.state(before, other) + from], table.hop(other, last));
						if sum < cost {
							(cost, who) = (sum, other);
						}
					}
					// Costs only grow: what is as dear as a whole ring before its end makes no better one.
					if cost < self.best.as_ref().map_or(NEVER, |best| best.cost) {
						self.extend(set, last, from, cost, who);
					}
				}
				let cost = table.join.join(self.costs[self.state(set, last) + table.blocks], table.back(last, first));
				if cost < self.best.as_ref().map_or(NEVER, |best| best.cost) {
					self.best = Some(Found { cost, stages: self.stages(set, last) });
				}
			}
		}
	}

	/// Gives `last` a stage from block `from` on, when everything before costs `before`, with `who` at its end.
	fn extend(&mut self, set: usize, last: usize, from: usize, before: f64, who: usize) {
		// A node's place is at most 8, and there are at most 130 blocks.
		let parent = (u16::try_from(who).unwrap_or(u16::MAX), u16::try_from(from).unwrap_or(u16::MAX));
		let start = self.state(set, last);
		let ends = start + from + 1..start + self.width;
		let states = self.costs[ends.clone()].iter_mut().zip(&mut self.parents[ends]);
		for (stage, (cost, own)) in self.table.stages_from(last, from).iter().zip(states) {
			let sum = self.table.join.join(before, *stage);
			if sum < *cost {
				(*cost, *own) = (sum, parent);
			}
		}
	}

	fn stages(&self, mut set: usize, mut last: usize) -> Vec<Stage> {
		let (mut to, mut stages) = (self.table.blocks, Vec::new());
		while to > 0 {
			let (who, from) = self.parents[self.state(set, last) + to];
			let from = usize::from(from);
			stages.push(Stage { node: last, from, to });
			set &= !(1 << last);
			(last, to) = (usize::from(who), from);
		}
		stages.reverse();
		stages
	}
}

/// A cheap ring of the table's nodes, by orders that are short in `ways`, a table of the same nodes. `may_begin` and `may_end` tell which nodes
/// can be at the ends.
pub(super) fn heuristic(table: &Table, ways: &Table, may_begin: impl Fn(usize) -> bool, may_end: impl Fn(usize) -> bool) -> Option<Found> {
	let orders = (0..table.nodes).filter(|first| may_begin(*first)).take(STARTS).map(|first| short_order(ways, first, &may_end));
	let found = orders.filter_map(|order| in_order(table, &order));
	found.reduce(|best, other| if other.cost < best.cost { other } else { best })
}

/// A short order of all nodes that begins with `first` and ends with one that may: it counts the hops on the way, and the one back. Only `first`
/// where no other one may end it.
pub(super) fn short_order(ways: &Table, first: usize, may_end: impl Fn(usize) -> bool) -> Vec<usize> {
	let others = || (0..ways.nodes).filter(|node| *node != first);
	let back = |a: &usize, b: &usize| ways.back(*a, first).total_cmp(&ways.back(*b, first));
	let Some(last) = others().filter(|node| may_end(*node)).min_by(back) else { return vec![first] };
	let mut left: Vec<usize> = others().filter(|node| *node != last).collect();
	let mut order = vec![first];
	let mut here = first;
	while let Some((place, next)) =
		left.iter().copied().enumerate().min_by(|(_, a), (_, b)| ways.hop(here, *a).total_cmp(&ways.hop(here, *b)))
	{
		left.remove(place);
		order.push(next);
		here = next;
	}
	order.push(last);
	turn_stretches(ways, &mut order);
	order
}

/// Turns stretches of `order` around, its ends excepted, while that makes the way shorter.
fn turn_stretches(ways: &Table, order: &mut [usize]) {
	let nodes = order.len();
	let known = order.iter().flat_map(|a| order.iter().map(|b| ways.hop(*a, *b))).filter(|hop| hop.is_finite());
	// A hop that must not be is dearer than any way without one, and yet a number: ways with fewer of them are shorter.
	let never = (known.fold(0.0, f64::max) + 1.0) * super::cost::count(nodes + 1);
	let hop = |from: usize, to: usize| Some(ways.hop(from, to)).filter(|hop| hop.is_finite()).unwrap_or(never);
	// Each turn makes the way shorter, so that this ends; the bound keeps it from taking long.
	for _ in 0..nodes * 4 {
		let (mut best, mut turn) = (0.0, None);
		for start in 1..nodes.saturating_sub(1) {
			// Of the stretch from `start` to `end`, both ways; hops may differ by direction.
			let (mut there, mut back) = (0.0, 0.0);
			for end in start + 1..nodes - 1 {
				there += hop(order[end - 1], order[end]);
				back += hop(order[end], order[end - 1]);
				let now = hop(order[start - 1], order[start]) + there + hop(order[end], order[end + 1]);
				let then = hop(order[start - 1], order[end]) + back + hop(order[start], order[end + 1]);
				if now - then > best + GAIN * now {
					(best, turn) = (now - then, Some((start, end)));
				}
			}
		}
		let Some((start, end)) = turn else { return };
		order[start..=end].reverse();
	}
}
