//! Score of a candidate for a ring, in one number: it decides who takes part where there are more nodes than needed, who holds replicas, and
//! ties.
//!
//! The score is a weighted mean of five parts. Each is 0 to 1, and 1 for the best candidate:
//!
//! ```text
//! speed       time of the fastest candidate for the whole model / time of this one
//! memory      memory / largest memory of a candidate, where more than the whole model needs counts as what it needs
//! latency     shortest median of a candidate / median of this one, of the times of a step's activations on the links to and from the others
//! reputation  reputation / best reputation of a candidate
//! uptime      uptime / best uptime of a candidate
//! ```
//!
//! A median, since neither one far peer nor one next door says much. A link that was not measured counts as endless.

use super::cost::{float, Links, Model, Node};

/// Weight of the speed.
pub const SPEED: f64 = 0.30;
/// Weight of the memory.
pub const MEMORY: f64 = 0.25;
/// Weight of the latency.
pub const LATENCY: f64 = 0.20;
/// Weight of the reputation.
pub const REPUTATION: f64 = 0.15;
/// Weight of the uptime. All weights add up to 1.
pub const UPTIME: f64 = 0.10;

/// The score of a node among the candidates, and its parts: all are 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Score {
	/// The weighted mean of the parts.
	pub total: f64,
	/// Part of the speed.
	pub speed: f64,
	/// Part of the memory.
	pub memory: f64,
	/// Part of the latency.
	pub latency: f64,
	/// Part of the reputation.
	pub reputation: f64,
	/// Part of the uptime.
	pub uptime: f64,
}

/// `value` against the best one, of which more is better; all are alike where even the best is 0.
fn more(value: f64, best: f64) -> f64 {
	if best > 0.0 {
		value / best
	} else {
		1.0
	}
}

/// `value` against the best one, of which less is better.
fn less(value: f64, best: f64) -> f64 {
	match (value.is_finite(), value > best) {
		(false, _) => 0.0,
		(true, true) => best / value,
		(true, false) => 1.0,
	}
}

/// The median of the times of a step's activations between `node` and the other candidates; of two in the middle, the shorter.
fn median(model: &Model, links: &Links, node: usize, candidates: &[usize]) -> f64 {
	let others = candidates.iter().filter(|other| **other != node);
	let ways = others.flat_map(|other| [links.get(node, *other), links.get(*other, node)]);
	let mut times: Vec<f64> = ways.map(|link| link.map_or(f64::INFINITY, |link| link.seconds(model.row))).collect();
	if times.is_empty() {
		return 0.0;
	}
	let middle = (times.len() - 1) / 2;
	*times.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The scores of those nodes whose places are `candidates`, in that order.
///
/// Nodes and links must be ones that [`place`](super::place) accepts.
pub fn scores(model: &Model, nodes: &[Node], links: &Links, candidates: &[usize]) -> Vec<Score> {
	let needed = model.memory();
	let parts = candidates.iter().filter_map(|place| nodes.get(*place).map(|node| (*place, node))).map(|(place, node)| {
		let seconds: f64 = (0..model.blocks()).map(|block| model.seconds(block, &node.speed)).sum();
		let memory = float(node.memory.min(needed));
		[seconds, memory, median(model, links, place, candidates), f64::from(node.reputation), node.uptime]
	});
	let parts: Vec<[f64; 5]> = parts.collect();
	let fold = |part: usize, start: f64, pick: fn(f64, f64) -> f64| parts.iter().map(|parts| parts[part]).fold(start, pick);
	let fastest = fold(0, f64::INFINITY, f64::min);
	let nearest = fold(2, f64::INFINITY, f64::min);
	let [largest, trusted, present] = [1, 3, 4].map(|part| fold(part, 0.0, f64::max));
	let score = |[seconds, memory, median, reputation, uptime]: &[f64; 5]| {
		let speed = less(*seconds, fastest);
		let memory = more(*memory, largest);
		let latency = less(*median, nearest);
		let (reputation, uptime) = (more(*reputation, trusted), more(*uptime, present));
		let total = SPEED * speed + MEMORY * memory + LATENCY * latency + REPUTATION * reputation + UPTIME * uptime;
		Score { total, speed, memory, latency, reputation, uptime }
	};
	parts.iter().map(score).collect()
}
