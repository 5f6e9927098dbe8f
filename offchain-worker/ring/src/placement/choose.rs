//! Choice of the nodes that form the ring, and of their spans.

use super::{
	order::{exact, heuristic, EXACT_NODES},
	score::{scores, Score},
	split::{in_order, memory_weighted},
	table::{Found, Pool, Stage, Table},
	Goal, PlacementError, Search, Split,
};
use std::{cmp::Ordering, collections::BTreeSet};

/// Most times that a ring is improved, where the search is not exact.
const ROUNDS: usize = 8;

/// A ring, by the nodes' places in the list of all nodes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Chosen {
	pub stages: Vec<Stage>,
	pub search: Search,
	/// Nodes whose rings were compared.
	pub looked_at: BTreeSet<usize>,
}

/// A ring with what it costs: by the goal, and then by what decides between equals.
#[derive(Clone, PartialEq, Debug)]
struct Ring {
	cost: [f64; 2],
	stages: Vec<Stage>,
}

impl Ring {
	fn order(&self, other: &Self) -> Ordering {
		self.cost[0].total_cmp(&other.cost[0]).then(self.cost[1].total_cmp(&other.cost[1]))
	}
}

/// The better of two rings; the first one of equals.
fn better(a: Option<Ring>, b: Option<Ring>) -> Option<Ring> {
	match (a, b) {
		(Some(a), Some(b)) => Some(if b.order(&a) == Ordering::Less { b } else { a }),
		(a, b) => a.or(b),
	}
}

/// All nodes of `pool` with their scores, best first; of equals, by name.
pub(super) fn ranked(pool: &Pool) -> Vec<(usize, Score)> {
	let scores = scores(pool.model, pool.nodes, pool.links, pool.members);
	let mut ranked: Vec<(usize, Score)> = pool.members.iter().copied().zip(scores).collect();
	ranked
		.sort_by(|(a, score), (b, other)| other.total.total_cmp(&score.total).then_with(|| pool.nodes[*a].name.cmp(&pool.nodes[*b].name)));
	ranked
}

/// The ring of at most `most` of the pool's nodes, which come best first.
///
/// # Errors
/// [`PlacementError::Memory`], [`PlacementError::NoRing`].
pub(super) fn ring(pool: &Pool, most: usize) -> Result<Chosen, PlacementError> {
	let fits = |node: &&usize| pool.smallest(&pool.nodes[**node]).is_some_and(|bytes| bytes <= pool.nodes[**node].memory);
	let usable: Vec<usize> = pool.members.iter().filter(fits).copied().collect();
	let usable = Pool { members: &usable, ..*pool };
	let chosen = match pool.request.split {
		Split::MemoryWeighted => by_memory(&usable, most)?,
		Split::BySpeed => by_speed(&usable, most),
	};
	chosen.map_or_else(|| rescued(pool, most), Ok)
}

/// The best ring by the goal; `None` where none was found.
fn by_speed(pool: &Pool, most: usize) -> Option<Chosen> {
	if pool.members.len() <= EXACT_NODES {
		let stages = exactly(pool, most)?.stages;
		return Some(Chosen { stages, search: Search::Exact, looked_at: pool.members.iter().copied().collect() });
	}
	let mut looked_at = BTreeSet::new();
	let mut look = |members: Vec<usize>, exact: bool| {
		let some = Pool { members: &members, ..*pool };
		let ring = if exact { exactly(&some, most) } else { nearly(&some) };
		looked_at.extend(members);
		ring
	};
	let by_score = pool.members.to_vec();
	let by_memory = largest(pool);
	let mut start = |list: &[usize]| better(look(pick(pool, list, most), false), look(pick(pool, list, EXACT_NODES), true));
	let mut best = start(&by_score).or_else(|| start(&by_memory))?;
	// Those that the ring has are put in order again without the others, and where they are few, with the best of the others, exactly.
	for _ in 0..ROUNDS {
		let used: BTreeSet<usize> = best.stages.iter().map(|stage| stage.node).collect();
		let few = used.len() <= EXACT_NODES;
		let filled = by_score.iter().filter(|node| !used.contains(node)).take(EXACT_NODES.saturating_sub(used.len()));
		let chosen: BTreeSet<usize> = used.iter().chain(filled).copied().collect();
		let other = look(by_score.iter().filter(|node| chosen.contains(node)).copied().collect(), few);
		match other {
			Some(other) if other.order(&best) == Ordering::Less => best = other,
			_ => break,
		}
	}
	Some(Chosen { stages: best.stages, search: Search::Heuristic, looked_at })
}

/// The best ring by the goal whose nodes come in the order of the pool.
///
/// # Errors
/// [`PlacementError::Memory`], [`PlacementError::NoRing`].
pub(super) fn in_given_order(pool: &Pool) -> Result<Chosen, PlacementError> {
	let order: Vec<usize> = (0..pool.members.len()).collect();
	// Whoever comes first must have the embedding: each may, if those before it have nothing.
	let find = |table: &Table| {
		let found = order.iter().filter_map(|first| in_order(table, &order[*first..]));
		found.reduce(|best, other| if other.cost < best.cost { other } else { best })
	};
	if let Some(ring) = search(pool, find) {
		return Ok(Chosen { stages: ring.stages, search: Search::Ordered, looked_at: pool.members.iter().copied().collect() });
	}
	let least = find(&pool.missing()).map(|found| ring_of(pool, [found.cost, 0.0], found));
	Err(least.and_then(|least| lacking(pool, &least.stages, true)).unwrap_or(PlacementError::NoRing))
}

/// The ring that is split by memory; `None` where none was found.
fn by_memory(pool: &Pool, most: usize) -> Result<Option<Chosen>, PlacementError> {
	let workers: Vec<usize> = pool.members.iter().filter(|node| pool.nodes[**node].roles.worker).copied().collect();
	let layers = pool.model.layers.len();
	let members = pick(pool, &workers, most.min(layers));
	let pool = Pool { members: &members, ..*pool };
	let ways = pool.latency();
	let [begins, ends] = ends(&pool);
	let table = ways.of_order(|node| begins[node], |node| ends[node]);
	let (found, search) = if members.len() <= EXACT_NODES {
		(exact(&table, members.len()), Search::Exact)
	} else {
		(heuristic(&table, &ways, |node| begins[node], |node| ends[node]), Search::Heuristic)
	};
	let Some(found) = found else { return Ok(None) };
	let order: Vec<usize> = found.stages.iter().map(|stage| members[stage.node]).collect();
	let (first, last) = (order.first(), order.last());
	let left = order.iter().map(|node| {
		let (begins, ends) = (Some(node) == first, Some(node) == last);
		let embedding = if begins { pool.model.embedding.memory } else { 0 };
		let head = if ends { pool.model.head.memory } else { 0 };
		let shared = if begins && ends { pool.model.shared } else { 0 };
		pool.nodes[*node].memory.saturating_sub(embedding.saturating_add(head).saturating_sub(shared))
	});
	let split = memory_weighted(layers, &left.collect::<Vec<_>>())?;
	let (mut from, mut stages) = (0, Vec::new());
	for (node, layers) in order.iter().zip(&split) {
		// The embedding comes with the first layers, and the head with the last.
		let to = from + layers + usize::from(from == 0) + usize::from(Some(node) == last);
		stages.push(Stage { node: *node, from, to });
		from = to;
	}
	match lacking(&pool, &stages, false) {
		Some(error) => Err(error),
		None => Ok(Some(Chosen { stages, search, looked_at: members.iter().copied().collect() })),
	}
}

/// Returns a ring where the usual search found none: the one that needs the least memory, if there is enough, or else what is missing.
fn rescued(pool: &Pool, most: usize) -> Result<Chosen, PlacementError> {
	// Also those that are too small for anything: they may be all that there are.
	let holders: Vec<usize> = pool.members.iter().filter(|node| pool.smallest(&pool.nodes[**node]).is_some()).copied().collect();
	let holders = Pool { members: &holders, ..*pool };
	let list = largest(&holders);
	let few = list.len() <= EXACT_NODES;
	let look = |members: &[usize], exactly: bool| {
		let some = Pool { members, ..holders };
		let (table, ways) = (some.missing(), some.latency());
		let found = if exactly { exact(&table, most) } else { heuristic(&table, &ways, |_| true, |_| true) };
		found.map(|found| ring_of(&some, [found.cost, 0.0], found))
	};
	let least = if few {
		look(&list, true)
	} else {
		better(look(&pick(&holders, &list, most), false), look(&pick(&holders, &list, EXACT_NODES), true))
	};
	let Some(least) = least else { return Err(PlacementError::NoRing) };
	if let Some(error) = lacking(&holders, &least.stages, few) {
		return Err(error);
	}
	let members: Vec<usize> = least.stages.iter().map(|stage| stage.node).collect();
	let some = Pool { members: &members, ..*pool };
	let places: Vec<usize> = (0..members.len()).collect();
	let ring = if few || pool.request.split == Split::MemoryWeighted { None } else { search(&some, |table| in_order(table, &places)) };
	let ring = ring.ok_or(PlacementError::NoRing)?;
	Ok(Chosen { stages: ring.stages, search: Search::Heuristic, looked_at: members.into_iter().collect() })
}

/// The error for stages that are larger than their nodes' memory, if there are any.
fn lacking(pool: &Pool, stages: &[Stage], exact: bool) -> Option<PlacementError> {
	let lacks = |stage: &Stage| pool.model.memory_of(stage.from, stage.to).saturating_sub(pool.nodes[stage.node].memory);
	let short: Vec<(String, u64)> =
		stages.iter().map(|stage| (pool.nodes[stage.node].name.clone(), lacks(stage))).filter(|(_, bytes)| *bytes > 0).collect();
	let missing = short.iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
	let available = pool.members.iter().fold(0u64, |sum, node| sum.saturating_add(pool.nodes[*node].memory));
	(missing > 0).then(|| PlacementError::Memory { needed: pool.model.memory(), available, missing, short, exact })
}

/// The pool's nodes by memory, the largest first; of equals, the better first.
fn largest(pool: &Pool) -> Vec<usize> {
	let mut list = pool.members.to_vec();
	list.sort_by_key(|node| std::cmp::Reverse(pool.nodes[*node].memory));
	list
}

/// The first `size` nodes of `list`, but always one that can begin a ring and one that can end it, if there are any: in the order of the list.
fn pick(pool: &Pool, list: &[usize], size: usize) -> Vec<usize> {
	let first = |can: &dyn Fn(usize) -> bool| list.iter().copied().find(|node| can(*node));
	let begins = |node: usize| pool.can_begin(&pool.nodes[node]);
	let ends = |node: usize| pool.can_end(&pool.nodes[node]);
	let whole = |node: usize| {
		let (node, blocks) = (&pool.nodes[node], pool.model.blocks());
		pool.may_hold(node, 0, blocks) && pool.model.memory_of(0, blocks) <= node.memory
	};
	let needed = if size == 1 { [first(&whole), None] } else { [first(&begins), first(&ends)] };
	let needed: BTreeSet<usize> = needed.into_iter().flatten().collect();
	let others = list.iter().copied().filter(|node| !needed.contains(node)).take(size.saturating_sub(needed.len()));
	let chosen: BTreeSet<usize> = needed.iter().copied().chain(others).collect();
	list.iter().copied().filter(|node| chosen.contains(node)).collect()
}

/// Of each node of the pool, whether it can begin a ring, and whether it can end one.
fn ends(pool: &Pool) -> [Vec<bool>; 2] {
	let members = || pool.members.iter().map(|node| &pool.nodes[*node]);
	[members().map(|node| pool.can_begin(node)).collect(), members().map(|node| pool.can_end(node)).collect()]
}

/// The best ring by the goal of all rings of at most `most` of the pool's nodes.
fn exactly(pool: &Pool, most: usize) -> Option<Ring> {
	search(pool, |table| exact(table, most))
}

/// A good ring by the goal.
fn nearly(pool: &Pool) -> Option<Ring> {
	let ways = pool.latency();
	let [begins, ends] = ends(pool);
	search(pool, |table| heuristic(table, &ways, |node| begins[node], |node| ends[node]))
}

/// The ring that `find` finds for the goal. For throughput it is asked twice: for the smallest bottleneck, and then for the smallest latency with
/// that bottleneck. Both cannot be had in one pass, since a part of a ring with the smaller bottleneck need not be in the best ring.
fn search(pool: &Pool, find: impl Fn(&Table) -> Option<Found>) -> Option<Ring> {
	let latency = pool.latency();
	match pool.request.goal {
		Goal::Latency => find(&latency).map(|found| ring_of(pool, [found.cost, 0.0], found)),
		Goal::Throughput => {
			let table = pool.bottleneck();
			let bottleneck = find(&table)?.cost;
			find(&latency.within(&table, bottleneck)).map(|found| ring_of(pool, [bottleneck, found.cost], found))
		}
	}
}

/// Returns the ring that was found, by the nodes' places in the list of all nodes.
fn ring_of(pool: &Pool, cost: [f64; 2], found: Found) -> Ring {
	let stages = found.stages.into_iter().map(|stage| Stage { node: pool.members[stage.node], ..stage });
	Ring { cost, stages: stages.collect() }
}
