//! Table of the cost of each node for each stretch of blocks, and of each hop: all that the searches look at.
//!
//! A model is cut into blocks: the embedding, each layer, and the head. A stage is a stretch of blocks on one node.

use super::{
	cost::{float, Links, Model, Node},
	Request,
};

/// Cost of what must not be.
pub(super) const NEVER: f64 = f64::INFINITY;

/// A stretch of blocks on one node, by the node's place in a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stage {
	pub node: usize,
	pub from: usize,
	pub to: usize,
}

/// Rule by which the costs of stages and hops make one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Join {
	/// Their sum.
	Sum,
	/// The largest.
	Most,
}

impl Join {
	pub fn join(self, a: f64, b: f64) -> f64 {
		match self {
			Self::Sum => a + b,
			Self::Most => a.max(b),
		}
	}
}

/// A ring that a search found.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Found {
	pub cost: f64,
	pub stages: Vec<Stage>,
}

/// Costs of stages and hops in a pool of nodes: none is negative or not a number, and [`NEVER`] is what must not be.
#[derive(Clone, Debug)]
pub(super) struct Table {
	pub nodes: usize,
	pub blocks: usize,
	pub join: Join,
	/// `[node, from, to]`, with `blocks + 1` values for `to`.
	stages: Vec<f64>,
	/// `[from, to]`, on the way to the head.
	hops: Vec<f64>,
	/// `[from, to]`, from the last node of a ring to its first.
	back: Vec<f64>,
}

/// A pool of nodes with what is asked of a ring of them.
#[derive(Clone, Copy)]
pub(super) struct Pool<'a> {
	pub model: &'a Model,
	pub nodes: &'a [Node],
	pub links: &'a Links,
	pub request: &'a Request,
	/// Places of the pool's nodes in `nodes`, best first.
	pub members: &'a [usize],
}

impl Pool<'_> {
	/// Returns whether `node` has the roles for the blocks `from..to`, and these are ones that a node may hold alone.
	pub fn may_hold(&self, node: &Node, from: usize, to: usize) -> bool {
		let layers = !self.model.layers_of(from, to).is_empty();
		let (embedding, head) = (from == 0, self.model.ends(to));
		let roles = node.roles;
		(layers || self.request.bare_ends)
			&& (roles.worker || !layers)
			&& (roles.driver || !embedding)
			&& (roles.predictor || !head)
			&& from < to
	}

	/// Bytes of the smallest part that `node` has the roles for; `None` if there is none.
	pub fn smallest(&self, node: &Node) -> Option<u64> {
		let blocks = self.model.blocks();
		let single = (0..blocks).map(|from| (from, from + 1));
		self.least(node, single.chain([(0, 2), (blocks - 2, blocks), (0, blocks)]))
	}

	/// Returns whether `node` has roles and memory to begin a ring.
	pub fn can_begin(&self, node: &Node) -> bool {
		self.least(node, [(0, 1), (0, 2), (0, self.model.blocks())]).is_some_and(|bytes| bytes <= node.memory)
	}

	/// Returns whether `node` has roles and memory to end a ring.
	pub fn can_end(&self, node: &Node) -> bool {
		let blocks = self.model.blocks();
		self.least(node, [(blocks - 1, blocks), (blocks - 2, blocks), (0, blocks)]).is_some_and(|bytes| bytes <= node.memory)
	}

	fn least(&self, node: &Node, parts: impl IntoIterator<Item = (usize, usize)>) -> Option<u64> {
		let held = parts.into_iter().filter(|(from, to)| self.may_hold(node, *from, *to));
		held.map(|(from, to)| self.model.memory_of(from, to)).min()
	}

	/// Seconds of a token on its way through a ring: stages compute, and hops take their latency and the time of the transfer.
	pub fn latency(&self) -> Table {
		let hop = |bytes: u64| move |from, to| self.links.get(from, to).map_or(NEVER, |link| link.seconds(bytes));
		self.table(Join::Sum, seconds_that_fit, hop(self.model.row), hop(self.model.token))
	}

	/// Seconds for which a token keeps a stage or a link from doing anything else. Latency is none of them: the next token follows behind.
	pub fn bottleneck(&self) -> Table {
		let hop = |bytes: u64| move |from, to| self.links.get(from, to).map_or(NEVER, |link| link.occupied(bytes));
		self.table(Join::Most, seconds_that_fit, hop(self.model.row), hop(self.model.token))
	}

	/// Bytes of memory that nodes lack for their stages, whatever the links.
	pub fn missing(&self) -> Table {
		let lacks = |node: &Node, memory: u64, _| float(memory.saturating_sub(node.memory));
		self.table(Join::Sum, lacks, |_, _| 0.0, |_, _| 0.0)
	}

	/// `stage` tells the cost of a node with a stage by its bytes of memory and its seconds; `hop` and `back`, that of hops.
	fn table(
		&self,
		join: Join,
		stage: impl Fn(&Node, u64, f64) -> f64,
		hop: impl Fn(usize, usize) -> f64,
		back: impl Fn(usize, usize) -> f64,
	) -> Table {
		let blocks = self.model.blocks();
		let starts = (0..blocks).map(|from| (0..=blocks).map(|to| self.model.memory_of(from, to)).collect::<Vec<_>>());
		let memory: Vec<Vec<u64>> = starts.collect();
		let mut stages = Vec::with_capacity(self.members.len() * blocks * (blocks + 1));
		let members = || self.members.iter().filter_map(|member| self.nodes.get(*member));
		for node in members() {
			let work: Vec<f64> = (0..blocks).map(|block| self.model.seconds(block, &node.speed)).collect();
			for (from, memory) in memory.iter().enumerate() {
				let mut seconds = 0.0;
				for (to, memory) in memory.iter().enumerate() {
					// Added up for each stage anew, and no difference of two sums: such a difference may be below 0.
					seconds += if to > from { work[to - 1] } else { 0.0 };
					stages.push(if self.may_hold(node, from, to) { stage(node, *memory, seconds) } else { NEVER });
				}
			}
		}
		let pairs = || self.members.iter().flat_map(|from| self.members.iter().map(move |to| (*from, *to)));
		let between = |cost: &dyn Fn(usize, usize) -> f64, alone| {
			pairs().map(|(from, to)| if from == to { alone } else { cost(from, to) }).collect::<Vec<f64>>()
		};
		Table { nodes: self.members.len(), blocks, join, stages, hops: between(&hop, NEVER), back: between(&back, 0.0) }
	}
}

/// The seconds of a stage for which the node has the memory.
fn seconds_that_fit(node: &Node, memory: u64, seconds: f64) -> f64 {
	if memory <= node.memory {
		seconds
	} else {
		NEVER
	}
}

impl Table {
	/// A table in which each node of `nodes` has one block, so that a ring of it is an order: `first` and `last` tell who may be at the ends.
	pub fn of_order(&self, first: impl Fn(usize) -> bool, last: impl Fn(usize) -> bool) -> Self {
		let blocks = self.nodes;
		let mut stages = Vec::with_capacity(blocks * blocks * (blocks + 1));
		for node in 0..self.nodes {
			for from in 0..blocks {
				for to in 0..=blocks {
					let may = to == from + 1 && (from > 0 || first(node)) && (to < blocks || last(node));
					stages.push(if may { 0.0 } else { NEVER });
				}
			}
		}
		Self { nodes: self.nodes, blocks, join: Join::Sum, stages, hops: self.hops.clone(), back: self.back.clone() }
	}

	/// This table without the stages and hops of which `other`, of the same pool, says that they cost more than `most`.
	pub fn within(mut self, other: &Self, most: f64) -> Self {
		let limit = |costs: &mut Vec<f64>, others: &[f64]| {
			costs.iter_mut().zip(others).filter(|(_, other)| **other > most).for_each(|(cost, _)| *cost = NEVER);
		};
		limit(&mut self.stages, &other.stages);
		limit(&mut self.hops, &other.hops);
		limit(&mut self.back, &other.back);
		self
	}

	/// Costs of the stages of `node` that begin at `from`: for each end, from `from + 1` on.
	pub fn stages_from(&self, node: usize, from: usize) -> &[f64] {
		let start = (node * self.blocks + from) * (self.blocks + 1);
		self.stages.get(start + from + 1..start + self.blocks + 1).unwrap_or_default()
	}

	/// Cost of the hop from one node to the next.
	pub fn hop(&self, from: usize, to: usize) -> f64 {
		self.hops.get(from * self.nodes + to).copied().unwrap_or(NEVER)
	}

	/// Cost of the hop from the last node to the first.
	pub fn back(&self, last: usize, first: usize) -> f64 {
		self.back.get(last * self.nodes + first).copied().unwrap_or(NEVER)
	}
}
