//! Placement: which nodes form a ring, in which order, and which layers each of them holds.
//!
//! A ring computes one token after another. Its first node holds the embedding, each node computes its span of consecutive layers and sends the
//! activations on, and the last one holds the head, picks the token and sends it to the first. [`place`] chooses the nodes, their order and their
//! spans from what was measured, and the result says in words why ([`Placement::explain`]).
//!
//! Times are predictions: an operation takes as long as computing or reading what it needs, whichever is longer ([`Work::seconds`]), a hop takes
//! its latency and the time of the transfer. For [`Goal::Latency`] a token's time is the sum of both all around the ring, the way back included.
//! For [`Goal::Throughput`] it is that of the node or link that is occupied longest, while many tokens follow each other; of all placements that
//! are best for it, the one with the smallest sum is taken.
//!
//! [`Candidates`] are what the directory knows of those who could take part. [`replacement`] decides whether a ring moves when that changes.
//!
//! Nothing here waits, reads anything, or is random: the same input has the same result, in whatever order the nodes are listed.

mod candidates;
mod choose;
mod cost;
mod error;
mod order;
pub mod replacement;
#[cfg(test)]
mod replacement_tests;
mod replicas;
mod score;
mod split;
mod table;
#[cfg(test)]
mod tests;
mod words;

pub use candidates::{name_of, Candidates, Standing, MOST_CANDIDATES};
pub use cost::{End, Layer, Link, Links, Load, Model, Node, Roles, Speed, Work, BEST_REPUTATION};
pub use error::PlacementError;
pub use order::EXACT_NODES;
pub use score::{scores, Score, LATENCY, MEMORY, REPUTATION, SPEED, UPTIME};
pub use split::memory_weighted;

use std::collections::BTreeSet;
use table::{Pool, Stage};

/// The most spans of a ring that can be asked for.
pub const MOST_SPANS: usize = 128;

/// Goal of the placement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
	/// The time of a step of a batch that is alone in the ring.
	Latency,
	/// The steps per second of a ring that is full: the time of its bottleneck.
	Throughput,
}

/// Rule by which layers are split over the nodes of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Split {
	/// In proportion to the memory that is left for layers, over all nodes that have a role and room, the best ones first where there are too
	/// many ([`memory_weighted`]).
	MemoryWeighted,
	/// As the goal is best met.
	BySpeed,
}

/// Request for a placement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
	/// Goal of the placement.
	pub goal: Goal,
	/// Rule by which layers are split.
	pub split: Split,
	/// Number of different nodes that hold each span, at least 1.
	pub redundancy: usize,
	/// The most spans of the ring, replicas not counted: 1 to [`MOST_SPANS`].
	pub most_spans: usize,
	/// True if the first and the last node may have no layer, but only embedding or head. Never so with [`Split::MemoryWeighted`].
	pub bare_ends: bool,
}

impl Default for Request {
	fn default() -> Self {
		Self { goal: Goal::Latency, split: Split::BySpeed, redundancy: 1, most_spans: 32, bare_ends: false }
	}
}

/// Role of a node in a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
	/// Holds the embedding.
	Driver,
	/// Holds layers.
	Worker,
	/// Holds the head.
	Predictor,
}

impl std::fmt::Display for Role {
	fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
		f.write_str(match self {
			Self::Driver => "driver",
			Self::Worker => "worker",
			Self::Predictor => "predictor",
		})
	}
}

/// Method by which the ring was searched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Search {
	/// Among all rings: there is no better one that has the memory. With [`Split::MemoryWeighted`], the order of the nodes is the shortest.
	Exact,
	/// Among all splits for the order in which the nodes are listed.
	Ordered,
	/// The nodes were too many for that: orders by nearest neighbours and 2-opt, each with its best split.
	Heuristic,
}

/// Limit that keeps a node from holding more, or the ring from being faster by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
	/// One more layer does not fit into its memory.
	Memory,
	/// Reading its memory takes most of its time.
	Bandwidth,
	/// Computing takes most of its time.
	Compute,
}

/// A part of the model on one node.
#[derive(Clone, PartialEq, Debug)]
pub struct Span {
	/// The node's place in the list of nodes.
	pub node: usize,
	/// Its name.
	pub name: String,
	/// First layer.
	pub first: usize,
	/// Number of layers.
	pub layers: usize,
	/// True if it holds the embedding.
	pub embedding: bool,
	/// True if it holds the head.
	pub head: bool,
	/// 0 for the spans of the ring, and from 1 on for their replicas.
	pub copy: usize,
	/// Bytes of memory.
	pub bytes: u64,
	/// Share of the node's memory, 0 to 1.
	pub memory_share: f64,
	/// Predicted seconds of computing for a step.
	pub seconds: f64,
	/// Predicted seconds of the hop to the next node for a step; 0 in a ring of one node, and for replicas.
	pub hop_seconds: f64,
	/// Limit of the node.
	pub limit: Limit,
	/// The node's score among the candidates.
	pub score: Score,
}

/// Why a node is not in the ring.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Why {
	/// It has no role that is needed.
	NoRole,
	/// It has no room for any part; so many bytes are missing for the smallest one that it has the roles for.
	TooSmall(u64),
	/// It holds no span of the ring, only replicas.
	Replica,
	/// The ring is better without it, or no better with it.
	NotBetter,
	/// Others have a better score, and no more nodes were looked at.
	Score,
}

/// A node that is not in the ring.
#[derive(Clone, PartialEq, Debug)]
pub struct LeftOut {
	/// The node's place in the list of nodes.
	pub node: usize,
	/// Its name.
	pub name: String,
	/// Its score among the candidates.
	pub score: Score,
	/// Why.
	pub why: Why,
}

/// A model on a ring of nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct Placement {
	/// Request of the placement.
	pub request: Request,
	/// Method by which the ring was searched for.
	pub search: Search,
	/// The spans of the ring in its order, and then the replicas of each.
	pub spans: Vec<Span>,
	/// Predicted seconds of a step that is alone in the ring: each sequence of the batch gets a token.
	pub latency: f64,
	/// Predicted seconds for which the busiest node or link is occupied by a step.
	pub bottleneck: f64,
	/// Sequences of a step.
	pub batch: u32,
	/// Nodes that are not in the ring, by score.
	pub left_out: Vec<LeftOut>,
	/// Number of nodes that were looked at.
	pub candidates: usize,
	/// Spans that the ring would have had if no replicas were asked for; `None` if as many as it has.
	pub fewer_than: Option<usize>,
}

impl Placement {
	/// The spans of the ring in its order.
	pub fn ring(&self) -> impl Iterator<Item = &Span> {
		self.spans.iter().filter(|span| span.copy == 0)
	}

	/// The spans that are replicas.
	pub fn replicas(&self) -> impl Iterator<Item = &Span> {
		self.spans.iter().filter(|span| span.copy > 0)
	}

	/// Predicted seconds of a token by the goal: [`latency`](Self::latency) or [`bottleneck`](Self::bottleneck), the latter for each token of
	/// the batch.
	pub fn seconds_per_token(&self) -> f64 {
		match self.request.goal {
			Goal::Latency => self.latency,
			Goal::Throughput => self.bottleneck / f64::from(self.batch),
		}
	}
}

/// Places `model` on a ring of `nodes` with the `links` between them.
///
/// Which nodes take part: by [`Split::BySpeed`] with up to [`EXACT_NODES`] candidates, whichever ring is best. With more, those with the best
/// [`Score`] are looked at, as many as there may be spans; the ring is improved until that brings nothing more, at last exactly among
/// [`EXACT_NODES`] of them. Where they lack memory, those with the most memory are looked at.
///
/// Each span's replicas are on different nodes. First, nodes that hold nothing yet get at most one replica each, so that as many replicas as
/// possible are placed and the better nodes have them; what is left goes to nodes that have memory left, those with fewer spans first. If that is
/// not enough, the ring is made of fewer nodes. Rings are not compared by how well they could be repeated: where memory or roles are scarce, there
/// may be a placement that is not found.
///
/// # Errors
/// [`PlacementError`]: for input that is refused, and where no placement was found.
pub fn place(model: &Model, nodes: &[Node], links: &Links, request: &Request) -> Result<Placement, PlacementError> {
	validate(model, nodes, links, request)?;
	let request = Request { bare_ends: request.bare_ends && request.split == Split::BySpeed, ..*request };
	let all: Vec<usize> = (0..nodes.len()).collect();
	let everybody = Pool { model, nodes, links, request: &request, members: &all };
	let candidates = choose::ranked(&everybody);
	let members: Vec<usize> = candidates.iter().map(|(node, _)| *node).collect();
	let pool = Pool { members: &members, ..everybody };
	let (mut most, mut failed): (usize, Option<(usize, PlacementError)>) = (request.most_spans, None);
	loop {
		let chosen = match choose::ring(&pool, most) {
			Ok(chosen) => chosen,
			// Only a ring of so many spans is possible: then it is the replicas that could not be placed.
			Err(error) => return Err(failed.map_or(error, |(_, first)| first)),
		};
		let spans = chosen.stages.len();
		match replicas::place(&pool, &chosen.stages) {
			Ok(replicas) => return Ok(describe(&pool, &candidates, &chosen, &replicas, failed.map(|(spans, _)| spans))),
			Err(error) => {
				let (_, first) = failed.get_or_insert((spans, error));
				if spans == 1 {
					return Err(first.clone());
				}
				most = spans - (spans / 4).max(1);
			}
		}
	}
}

/// Splits `model` as [`place`] does by [`Split::BySpeed`], but over nodes that stay in the order of `nodes`; some may have nothing. Exact for that
/// order, by dynamic programming. The number of spans is not limited further, and `request.split` does not matter.
///
/// # Errors
/// [`PlacementError`]; [`PlacementError::TooManyNodes`] for more than [`MOST_SPANS`] nodes.
pub fn by_speed(model: &Model, nodes: &[Node], links: &Links, request: &Request) -> Result<Placement, PlacementError> {
	validate(model, nodes, links, request)?;
	if nodes.len() > MOST_SPANS {
		return Err(PlacementError::TooManyNodes { nodes: nodes.len(), layers: model.layers.len() });
	}
	let request = Request { split: Split::BySpeed, ..*request };
	let listed: Vec<usize> = (0..nodes.len()).collect();
	let in_order = Pool { model, nodes, links, request: &request, members: &listed };
	let candidates = choose::ranked(&in_order);
	let members: Vec<usize> = candidates.iter().map(|(node, _)| *node).collect();
	let chosen = choose::in_given_order(&in_order)?;
	let pool = Pool { members: &members, ..in_order };
	let replicas = replicas::place(&pool, &chosen.stages)?;
	Ok(describe(&pool, &candidates, &chosen, &replicas, None))
}

fn validate(model: &Model, nodes: &[Node], links: &Links, request: &Request) -> Result<(), PlacementError> {
	model.validate()?;
	if request.redundancy == 0 || request.most_spans == 0 || request.most_spans > MOST_SPANS {
		return Err(PlacementError::Request);
	}
	if nodes.is_empty() {
		return Err(PlacementError::NoNodes);
	}
	if links.nodes() != nodes.len() {
		return Err(PlacementError::LinksOfOthers { links: links.nodes(), nodes: nodes.len() });
	}
	let mut names = BTreeSet::new();
	for node in nodes {
		node.validate()?;
		if !names.insert(node.name.as_str()) {
			return Err(PlacementError::SameName(node.name.clone()));
		}
	}
	let roles = nodes.iter().map(|node| node.roles);
	let missing = [
		(Role::Driver, roles.clone().any(|roles| roles.driver && (roles.worker || request.bare_ends))),
		(Role::Worker, roles.clone().any(|roles| roles.worker)),
		(Role::Predictor, roles.clone().any(|roles| roles.predictor && (roles.worker || request.bare_ends))),
	];
	missing.iter().find(|(_, there)| !there).map_or(Ok(()), |(role, _)| Err(PlacementError::NoRole(*role)))
}

/// The placement that a ring and its replicas make: `replicas` are nodes with the stage of the ring that they repeat, and its copy.
fn describe(
	pool: &Pool,
	candidates: &[(usize, Score)],
	chosen: &choose::Chosen,
	replicas: &[(Stage, usize)],
	fewer_than: Option<usize>,
) -> Placement {
	let Pool { model, nodes, links, request, .. } = *pool;
	let stages = &chosen.stages;
	let score = |node: usize| candidates.iter().find(|(other, _)| *other == node).map_or(Score::default(), |(_, score)| *score);
	let span = |stage: &Stage, copy: usize, hop_seconds: f64| {
		let node = &nodes[stage.node];
		let layers = model.layers_of(stage.from, stage.to);
		let bytes = model.memory_of(stage.from, stage.to);
		Span {
			node: stage.node,
			name: node.name.clone(),
			first: layers.start,
			layers: layers.len(),
			embedding: stage.from == 0,
			head: model.ends(stage.to),
			copy,
			bytes,
			memory_share: if node.memory == 0 { 0.0 } else { cost::float(bytes) / cost::float(node.memory) },
			seconds: (stage.from..stage.to).map(|block| model.seconds(block, &node.speed)).sum(),
			hop_seconds,
			limit: limit(model, node, stage),
			score: score(stage.node),
		}
	};
	let hop = |place: usize| {
		let (next, bytes) = if place + 1 == stages.len() { (0, model.token) } else { (place + 1, model.row) };
		links.get(stages[place].node, stages[next].node).map_or((0.0, 0.0), |link| (link.seconds(bytes), link.occupied(bytes)))
	};
	let ring = stages.iter().enumerate().map(|(place, stage)| span(stage, 0, hop(place).0));
	let spans: Vec<Span> = ring.chain(replicas.iter().map(|(stage, copy)| span(stage, *copy, 0.0))).collect();
	let ring = || spans.iter().filter(|span| span.copy == 0);
	let holders: BTreeSet<usize> = ring().map(|span| span.node).collect();
	let others: BTreeSet<usize> = spans.iter().filter(|span| span.copy > 0).map(|span| span.node).collect();
	let left_out = candidates.iter().filter(|(node, _)| !holders.contains(node)).map(|(place, score)| {
		let node = &nodes[*place];
		let why = match pool.smallest(node) {
			_ if others.contains(place) => Why::Replica,
			None => Why::NoRole,
			Some(bytes) if bytes > node.memory => Why::TooSmall(bytes - node.memory),
			_ if !chosen.looked_at.contains(place) => Why::Score,
			_ => Why::NotBetter,
		};
		LeftOut { node: *place, name: node.name.clone(), score: *score, why }
	});
	Placement {
		request: *request,
		search: chosen.search,
		latency: ring().map(|span| span.seconds + span.hop_seconds).sum(),
		bottleneck: ring().enumerate().map(|(place, span)| span.seconds.max(hop(place).1)).fold(0.0, f64::max),
		batch: model.batch,
		left_out: left_out.collect(),
		candidates: candidates.len(),
		fewer_than,
		spans,
	}
}

/// Returns the limit that keeps `node` from holding more than `stage`, or from being faster.
fn limit(model: &Model, node: &Node, stage: &Stage) -> Limit {
	let Stage { from, to, .. } = *stage;
	let larger = match (from, model.ends(to)) {
		(0, true) => 0,
		(from, true) => model.memory_of(from - 1, to),
		(from, false) => model.memory_of(from, to + 1),
	};
	if larger > node.memory {
		Limit::Memory
	} else if model.reads_most(from, to, &node.speed) {
		Limit::Bandwidth
	} else {
		Limit::Compute
	}
}
