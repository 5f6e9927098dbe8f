//! Choice of the nodes that replicate the spans of a ring.

use super::{
	table::{Pool, Stage},
	PlacementError,
};
use std::collections::{BTreeMap, BTreeSet};

/// Finds nodes for `redundancy - 1` replicas of each stage of a ring. Returns them with the number of the copy, from 1 on, copy by copy in the
/// order of the ring.
///
/// Nodes outside the ring come first, by score: each takes one replica, if need be such that others that have one take another instead. So as many
/// replicas as can be are placed with one for each node, and there are no better nodes that could have had one. What is left goes to nodes that
/// have memory left, those with the fewest spans first.
///
/// # Errors
/// [`PlacementError::Redundancy`].
pub(super) fn place(pool: &Pool, stages: &[Stage]) -> Result<Vec<(Stage, usize)>, PlacementError> {
	let copies = pool.request.redundancy.saturating_sub(1);
	let bytes = stages.iter().map(|stage| pool.model.memory_of(stage.from, stage.to)).collect();
	let mut replicas = Replicas { pool, stages, bytes, copies, holders: vec![Vec::new(); stages.len()] };
	let ring: BTreeSet<usize> = stages.iter().map(|stage| stage.node).collect();
	for (rank, node) in pool.members.iter().enumerate() {
		if replicas.are_complete() {
			break;
		}
		if !ring.contains(node) {
			replicas.take_in(rank, &mut vec![false; stages.len()]);
		}
	}
	replicas.fill_up()?;
	replicas.holders.iter_mut().for_each(|holders| holders.sort_unstable());
	let copy = |copy: usize| {
		let held = stages.iter().zip(&replicas.holders);
		held.filter_map(move |(stage, holders)| holders.get(copy - 1).map(|rank| (*stage, *rank)))
			.map(move |(stage, rank)| (Stage { node: pool.members[rank], ..stage }, copy))
	};
	Ok((1..=copies).flat_map(copy).collect())
}

struct Replicas<'a> {
	pool: &'a Pool<'a>,
	stages: &'a [Stage],
	/// Of each stage.
	bytes: Vec<u64>,
	/// Number of replicas that each stage shall have.
	copies: usize,
	/// Nodes that have replicas of each stage, by rank.
	holders: Vec<Vec<usize>>,
}

impl Replicas<'_> {
	fn are_complete(&self) -> bool {
		self.holders.iter().all(|holders| holders.len() >= self.copies)
	}

	/// Returns whether the node has the roles for a stage and `memory` for it.
	fn can_hold(&self, rank: usize, stage: usize, memory: u64) -> bool {
		self.may_hold(rank, stage) && self.bytes[stage] <= memory
	}

	fn may_hold(&self, rank: usize, stage: usize) -> bool {
		let Stage { from, to, .. } = self.stages[stage];
		self.pool.may_hold(&self.pool.nodes[self.pool.members[rank]], from, to)
	}

	fn memory(&self, rank: usize) -> u64 {
		self.pool.nodes[self.pool.members[rank]].memory
	}

	/// Gives the node a replica, and returns whether there was one for it: an augmenting path of a bipartite matching. `seen` tells which stages
	/// need not be tried again.
	fn take_in(&mut self, rank: usize, seen: &mut [bool]) -> bool {
		// Stages with fewer replicas first, so that they are spread; of these the largest, for which fewer nodes have the memory.
		let mut order: Vec<usize> = (0..self.stages.len()).collect();
		order.sort_by_key(|stage| (self.holders[*stage].len(), std::cmp::Reverse(self.bytes[*stage])));
		for stage in order {
			if seen[stage] || !self.can_hold(rank, stage, self.memory(rank)) {
				continue;
			}
			seen[stage] = true;
			if self.holders[stage].len() < self.copies {
				self.holders[stage].push(rank);
				return true;
			}
			for place in 0..self.copies {
				if self.take_in(self.holders[stage][place], seen) {
					self.holders[stage][place] = rank;
					return true;
				}
			}
		}
		false
	}

	/// Places what is left with nodes that have memory left.
	fn fill_up(&mut self) -> Result<(), PlacementError> {
		let mut held = BTreeMap::new();
		let primaries: Vec<Option<usize>> =
			self.stages.iter().map(|stage| self.pool.members.iter().position(|node| *node == stage.node)).collect();
		for (stage, bytes) in self.bytes.iter().enumerate() {
			self.holders[stage].iter().chain(&primaries[stage]).for_each(|rank| add(&mut held, *rank, *bytes));
		}
		// Large stages first, which find room less easily; and again, until each has as many replicas as it shall have.
		let mut order: Vec<usize> = (0..self.stages.len()).collect();
		order.sort_by_key(|stage| std::cmp::Reverse(self.bytes[*stage]));
		for copies in 1..=self.copies {
			for stage in &order {
				if self.holders[*stage].len() >= copies {
					continue;
				}
				let has = |rank: usize| self.holders[*stage].contains(&rank) || primaries[*stage] == Some(rank);
				let others = || (0..self.pool.members.len()).filter(|rank| !has(*rank));
				let left = |rank: usize| self.memory(rank).saturating_sub(held.get(&rank).map_or(0, |(bytes, _)| *bytes));
				let able = others().filter(|rank| self.can_hold(*rank, *stage, left(*rank)));
				let Some(rank) = able.min_by_key(|rank| (held.get(rank).map_or(0, |(_, spans)| *spans), *rank)) else {
					let lacks = others().filter(|rank| self.may_hold(*rank, *stage)).map(|rank| self.bytes[*stage] - left(rank));
					let missing = lacks.min().unwrap_or(0);
					return Err(self.error(*stage, missing));
				};
				self.holders[*stage].push(rank);
				add(&mut held, rank, self.bytes[*stage]);
			}
		}
		Ok(())
	}

	fn error(&self, stage: usize, missing: u64) -> PlacementError {
		let layers = self.pool.model.layers_of(self.stages[stage].from, self.stages[stage].to);
		PlacementError::Redundancy {
			first: layers.start,
			last: layers.end.saturating_sub(1),
			asked: self.copies + 1,
			found: self.holders[stage].len() + 1,
			bytes: self.bytes[stage],
			missing,
		}
	}
}

/// Notes one more span for a node, in what each node holds: bytes and spans.
fn add(held: &mut BTreeMap<usize, (u64, usize)>, rank: usize, bytes: u64) {
	let (sum, spans) = held.entry(rank).or_default();
	(*sum, *spans) = (sum.saturating_add(bytes), *spans + 1);
}
