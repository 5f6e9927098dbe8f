//! A placement in words: why each node holds what it holds, and who was left out.

use super::{cost::float, Goal, LeftOut, Limit, Placement, Search, Span, Split, Why};
use std::fmt;

/// Bytes in words.
fn bytes(bytes: u64) -> String {
	let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
	let unit = units.iter().find(|(size, _)| bytes >= *size);
	unit.map_or(format!("{bytes} B"), |(size, name)| format!("{:.1} {name}", float(bytes) / float(*size)))
}

/// Seconds in words.
fn seconds(seconds: f64) -> String {
	let (value, unit) = match seconds {
		seconds if seconds >= 1.0 => (seconds, "s"),
		seconds if seconds >= 1e-3 => (seconds * 1e3, "ms"),
		seconds => (seconds * 1e6, "us"),
	};
	let decimals = match value {
		value if value >= 100.0 => 0,
		value if value >= 10.0 => 1,
		_ => 2,
	};
	format!("{value:.decimals$} {unit}")
}

/// `number` of something.
fn number(number: usize, one: &str) -> String {
	format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// Names the parts of a span.
fn parts(span: &Span) -> String {
	let layers = match span.layers {
		0 => None,
		1 => Some(format!("layer {}", span.first)),
		layers => Some(format!("layers {} to {}", span.first, span.first + layers - 1)),
	};
	let parts = [span.embedding.then(|| "the embedding".to_string()), layers, span.head.then(|| "the head".to_string())];
	let parts: Vec<String> = parts.into_iter().flatten().collect();
	match parts.split_last() {
		Some((last, [])) => last.clone(),
		Some((last, others)) => format!("{} and {last}", others.join(", ")),
		None => String::new(),
	}
}

impl Placement {
	/// The placement in words, a sentence or a few for each choice: the ring as a whole, the search, each span in the order of the ring, replicas,
	/// and everybody who was left out.
	pub fn explain(&self) -> Vec<String> {
		let mut lines = vec![self.whole(), self.searched()];
		lines.extend(self.fewer_than.map(|spans| {
			let (spans, now) = (number(spans, "node"), number(self.ring().count(), "node"));
			format!("A ring of {spans} would do better by itself, but there were too few nodes to repeat its spans: this one has {now}.")
		}));
		let ring: Vec<&Span> = self.ring().collect();
		let next = ring.iter().cycle().skip(1);
		lines.extend(ring.iter().zip(next).map(|(span, next)| self.holds(span, next)));
		lines.extend(self.replicas().map(|span| self.repeats(span)));
		lines.extend(self.left_out.iter().map(|left| self.leaves_out(left)));
		lines
	}

	fn whole(&self) -> String {
		let spans = self.ring().count();
		let layers: usize = self.ring().map(|span| span.layers).sum();
		let hops: f64 = self.ring().map(|span| span.hop_seconds).sum();
		let head = format!("The ring has {} for {}", number(spans, "node"), number(layers, "layer"));
		let computing = seconds(self.latency - hops);
		let alone = format!("{}, of which {computing} are computing and {} on the way between nodes", seconds(self.latency), seconds(hops));
		match self.request.goal {
			Goal::Latency => format!("{head}. It is planned for the shortest time of a token: {alone}."),
			Goal::Throughput => {
				let rate = if self.bottleneck > 0.0 { f64::from(self.batch) / self.bottleneck } else { 0.0 };
				let busy = self.ring().find(|span| span.seconds >= self.bottleneck);
				let busy = busy.map_or("a link".to_string(), |span| span.name.clone());
				format!(
					"{head}. It is planned for the most tokens a second: {rate:.1}, since {busy}, which is busiest, is occupied for {} by a step of \
					{}. A step alone takes {alone}.",
					seconds(self.bottleneck),
					number(usize::try_from(self.batch).unwrap_or(usize::MAX), "token"),
				)
			}
		}
	}

	fn searched(&self) -> String {
		let candidates = number(self.candidates, "candidate");
		match (self.request.split, self.search) {
			(_, Search::Ordered) => {
				format!("Of {candidates}, in the order in which they are listed, all splits of the layers were compared: none is better.")
			}
			(Split::MemoryWeighted, search) => {
				let order = match search {
					Search::Heuristic => "an order by nearest neighbours and 2-opt that may not be the shortest",
					_ => "the order of the shortest way",
				};
				format!(
					"Of {candidates}, those that can hold a layer take part, the best first where there are too many. They come in {order}, and \
					layers are split in proportion to the memory that is left for them."
				)
			}
			(Split::BySpeed, Search::Exact) => {
				format!("Of {candidates}, all rings with all splits of the layers were compared: none is better.")
			}
			(Split::BySpeed, Search::Heuristic) => {
				format!(
					"There are {candidates}, too many to compare all rings: those with the best score were put in an order by nearest neighbours \
					and 2-opt, with the best split for it. There may be a better ring."
				)
			}
		}
	}

	fn holds(&self, span: &Span, next: &Span) -> String {
		let place = match (span.embedding, span.head) {
			(true, true) => " alone",
			(true, false) => ", which comes first as a driver,",
			(false, true) => ", which comes last as a predictor,",
			(false, false) => "",
		};
		let share = span.memory_share * 100.0;
		let way = if span.head { "back" } else { "on" };
		let hop =
			if span.node == next.node { String::new() } else { format!(", and {} {way} to {}", seconds(span.hop_seconds), next.name) };
		let held = format!(
			"{}{place} holds {}: {}, {share:.0}% of its memory. A step takes {} here{hop}.",
			span.name,
			parts(span),
			bytes(span.bytes),
			seconds(span.seconds),
		);
		let most = match span.limit {
			Limit::Bandwidth => "reading memory takes most of the time",
			Limit::Compute => "computing takes most of the time",
			Limit::Memory => return format!("{held} More does not fit into its memory."),
		};
		let why = match (self.request.split, self.request.goal) {
			_ if span.embedding && span.head => "That is the whole model",
			(Split::MemoryWeighted, _) => "That is its share by memory",
			(Split::BySpeed, Goal::Latency) => "More layers here would not make a token faster",
			(Split::BySpeed, Goal::Throughput) => "More layers here would not relieve the bottleneck",
		};
		format!("{held} {why}; {most}.")
	}

	fn repeats(&self, span: &Span) -> String {
		let same = |other: &&Span| {
			(other.first, other.layers, other.embedding, other.head) == (span.first, span.layers, span.embedding, span.head)
		};
		let holder = self.ring().find(same).map_or("another node", |holder| holder.name.as_str());
		let (share, score) = (span.memory_share * 100.0, span.score.total);
		let why = if self.spans.iter().filter(|other| other.node == span.node).count() > 1 {
			"It has memory left beside what else it holds, and too few other nodes have any.".to_string()
		} else {
			format!("Of those outside the ring that have the memory, it was taken for its score of {score:.2}.")
		};
		format!("{} repeats {} of {holder}: {}, {share:.0}% of its memory. {why}", span.name, parts(span), bytes(span.bytes))
	}

	fn leaves_out(&self, left: &LeftOut) -> String {
		let LeftOut { name, score, why, .. } = left;
		match why {
			Why::NoRole => format!("{name} was left out: it has no role that this ring needs."),
			Why::TooSmall(lacks) => {
				format!("{name} was left out: its memory lacks {} for the smallest part that it could hold.", bytes(*lacks))
			}
			Why::Replica => format!("{name} has no span of the ring itself: it only repeats those of others."),
			Why::NotBetter => match (self.request.goal, self.search) {
				(Goal::Latency, Search::Exact | Search::Ordered) => format!("{name} was left out: no ring with it is faster."),
				(Goal::Throughput, Search::Exact | Search::Ordered) => {
					format!("{name} was left out: no ring with it has more tokens a second, or as many sooner.")
				}
				(_, Search::Heuristic) => format!("{name} was left out: no better ring with it was found."),
			},
			Why::Score => format!("{name} was left out: with a score of {:.2} it is not among the nodes that were looked at.", score.total),
		}
	}
}

impl fmt::Display for Placement {
	fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
		self.explain().iter().try_for_each(|line| writeln!(f, "{line}"))
	}
}
