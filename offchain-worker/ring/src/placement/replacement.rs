//! Whether a ring is placed anew: when members come, go, or get slower.
//!
//! A ring that can go on as it is moves only for a gain that is worth loading spans, and not again before it has rested: what is measured varies by a tenth
//! either way, so that two rings can seem to differ by a fifth although nothing has changed.

use super::{cost::Model, place, validate, Link, Links, Node, Placement, PlacementError, Span};
use std::collections::BTreeMap;

/// Smallest gain that a ring which can go on moves for: a quarter of the time of a token. With times that are off by a tenth either way, the best ring can
/// seem up to `1 - 0.9 / 1.1`, which is 18%, faster than itself.
pub const GAIN: f64 = 0.25;
/// Seconds for which a ring that can go on stays as it was placed: as long as spans may take to load, in which it answers nothing.
pub const REST_S: f64 = 600.0;
/// Share by which a ring's time must have grown since it was placed to be called slower.
const SLOWER: f64 = 0.1;

/// When a ring moves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Policy {
	/// Smallest gain, as a share of the time of a token.
	pub gain: f64,
	/// Seconds of rest after it was placed.
	pub rest_s: f64,
}

impl Default for Policy {
	fn default() -> Self {
		Self { gain: GAIN, rest_s: REST_S }
	}
}

/// Why a ring cannot go on as it is placed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Broken {
	/// These are not there any more.
	Gone(Vec<String>),
	/// These have too little memory for what they hold; so many bytes are missing.
	Short(Vec<(String, u64)>),
	/// No way is known from the first to the second any more.
	Apart(String, String),
}

/// Why a ring moves.
#[derive(Clone, PartialEq, Debug)]
pub enum Cause {
	/// It cannot go on.
	Broken(Broken),
	/// It is slower than when it was placed: by so many times.
	Slower(f64),
	/// A faster one has become possible.
	Better,
}

/// Why a ring stays.
#[derive(Clone, PartialEq, Debug)]
pub enum Stay {
	/// None that is faster was found.
	Best,
	/// Another one would be faster, by this share of the time, which is too little.
	Little(f64),
	/// Another one would be faster, but so many seconds of rest are left.
	Rests(f64),
	/// There is no other one. If it is broken, why.
	Nowhere(PlacementError, Option<Broken>),
}

/// What to do with a ring.
#[derive(Clone, PartialEq, Debug)]
pub enum Decision {
	/// Leave it as it is.
	Keep(Stay),
	/// Place it like this.
	Move {
		/// The new placement.
		to: Box<Placement>,
		/// Predicted seconds of a token as it is placed now; `None` if it cannot go on.
		now: Option<f64>,
		/// Why.
		cause: Cause,
	},
}

/// Decides whether the ring that was placed as `current` `placed_s` seconds ago is placed anew among `nodes`, with `links` between them: what is known of
/// them now. Members are told by their names. The new placement answers the same request. Memory of members is what they could give the ring, with what
/// they hold of it already.
///
/// # Errors
/// [`PlacementError`] for input that [`place`] refuses. If it only finds no placement, the ring stays.
pub fn replacement(
	model: &Model,
	nodes: &[Node],
	links: &Links,
	current: &Placement,
	placed_s: f64,
	policy: Policy,
) -> Result<Decision, PlacementError> {
	validate(model, nodes, links, &current.request)?;
	let present = seconds_now(model, nodes, links, current);
	let to = match place(model, nodes, links, &current.request) {
		Ok(to) => Box::new(to),
		Err(error) => return Ok(Decision::Keep(Stay::Nowhere(error, present.err()))),
	};
	let now = match present {
		Ok(now) => now,
		Err(broken) => return Ok(Decision::Move { to, now: None, cause: Cause::Broken(broken) }),
	};
	let gain = 1.0 - to.seconds_per_token() / now;
	let rest = policy.rest_s - placed_s;
	// A time of zero has no share that could be gained.
	Ok(if gain.is_nan() || gain <= 0.0 || same(current, &to) {
		Decision::Keep(Stay::Best)
	} else if gain < policy.gain {
		Decision::Keep(Stay::Little(gain))
	} else if rest > 0.0 {
		Decision::Keep(Stay::Rests(rest))
	} else {
		let slower = now / current.seconds_per_token();
		let cause = if slower > 1.0 + SLOWER { Cause::Slower(slower) } else { Cause::Better };
		Decision::Move { to, now: Some(now), cause }
	})
}

/// Returns whether two placements have the same spans on the same members.
fn same(a: &Placement, b: &Placement) -> bool {
	let spans = |placement: &Placement| {
		let mut spans: Vec<_> =
			placement.spans.iter().map(|span| (span.first, span.layers, span.embedding, span.head, span.name.clone())).collect();
		spans.sort_unstable();
		spans
	};
	spans(a) == spans(b)
}

/// Predicted seconds of a token of `placement` by what is known now, as [`Placement::seconds_per_token`].
///
/// # Errors
/// [`Broken`] if it cannot go on, or not with as many copies of its spans as were asked for.
pub fn seconds_now(model: &Model, nodes: &[Node], links: &Links, placement: &Placement) -> Result<f64, Broken> {
	let places: BTreeMap<&str, usize> = nodes.iter().enumerate().map(|(place, node)| (node.name.as_str(), place)).collect();
	let place_of = |span: &Span| places.get(span.name.as_str()).copied();
	let mut needed: BTreeMap<&str, u64> = BTreeMap::new();
	let mut gone = Vec::new();
	for span in &placement.spans {
		match place_of(span) {
			None if gone.contains(&span.name) => {}
			None => gone.push(span.name.clone()),
			Some(_) => {
				let bytes = needed.entry(&span.name).or_default();
				*bytes = bytes.saturating_add(bytes_of(model, span));
			}
		}
	}
	if !gone.is_empty() {
		return Err(Broken::Gone(gone));
	}
	let lacks = |name: &str, bytes: u64| places.get(name).map_or(0, |place| bytes.saturating_sub(nodes[*place].memory));
	let short: Vec<(String, u64)> =
		needed.iter().map(|(name, bytes)| ((*name).to_owned(), lacks(name, *bytes))).filter(|(_, bytes)| *bytes > 0).collect();
	if !short.is_empty() {
		return Err(Broken::Short(short));
	}
	let ring: Vec<(&Span, usize)> = placement.ring().filter_map(|span| Some((span, place_of(span)?))).collect();
	let (mut latency, mut bottleneck) = (0.0, 0.0f64);
	for (place, (span, node)) in ring.iter().enumerate() {
		let (from, to) = blocks_of(model, span);
		let seconds: f64 = (from..to).map(|block| model.seconds(block, &nodes[*node].speed)).sum();
		let (next, bytes) = if place + 1 == ring.len() { (0, model.token) } else { (place + 1, model.row) };
		let (next_span, next) = ring[next];
		let none = Link { latency: 0.0, bandwidth: f64::INFINITY };
		let link = if next == *node { none } else { links.get(*node, next).ok_or_else(|| apart(span, next_span))? };
		latency += seconds + link.seconds(bytes);
		bottleneck = bottleneck.max(seconds).max(link.occupied(bytes));
	}
	let now = Placement { latency, bottleneck, spans: Vec::new(), left_out: Vec::new(), ..placement.clone() };
	Ok(now.seconds_per_token())
}

fn apart(from: &Span, to: &Span) -> Broken {
	Broken::Apart(from.name.clone(), to.name.clone())
}

/// The blocks of a span: embedding, layers and head.
fn blocks_of(model: &Model, span: &Span) -> (usize, usize) {
	let from = if span.embedding { 0 } else { span.first + 1 };
	let to = if span.head { model.blocks() } else { span.first + span.layers + 1 };
	(from, to.min(model.blocks()))
}

fn bytes_of(model: &Model, span: &Span) -> u64 {
	let (from, to) = blocks_of(model, span);
	model.memory_of(from, to)
}

impl Decision {
	/// The decision in a sentence, for people.
	pub fn words(&self) -> String {
		let percent = |share: f64| format!("{:.0}%", share * 100.0);
		match self {
			Self::Keep(Stay::Best) => "The ring stays: none that is faster was found.".into(),
			Self::Keep(Stay::Little(gain)) => {
				format!("The ring stays: another one would be {} faster, which is not worth loading spans again.", percent(*gain))
			}
			Self::Keep(Stay::Rests(rest)) => format!("The ring stays for another {rest:.0} s, since it was placed lately."),
			Self::Keep(Stay::Nowhere(error, None)) => format!("The ring stays: there is no other one. {error}."),
			Self::Keep(Stay::Nowhere(error, Some(broken))) => {
				format!("The ring should move, but there is nowhere to go: {}. {error}.", broken.words())
			}
			Self::Move { to, now, cause } => {
				let why = match cause {
					Cause::Broken(broken) => broken.words(),
					Cause::Slower(times) => format!("it takes {times:.1} times as long as when it was placed"),
					Cause::Better => "a faster one has become possible".into(),
				};
				let gain = now.map(|now| format!(" A token takes {} less.", percent(1.0 - to.seconds_per_token() / now)));
				format!("The ring moves: {why}.{}", gain.unwrap_or_default())
			}
		}
	}
}

impl Broken {
	fn words(&self) -> String {
		match self {
			Self::Gone(names) => format!("{} not there any more", are(names)),
			Self::Short(short) => {
				let lacks = short.iter().map(|(name, bytes)| format!("{name} lacks {bytes} bytes of memory for what it holds"));
				lacks.collect::<Vec<_>>().join(", ")
			}
			Self::Apart(from, to) => format!("no way is known from {from} to {to} any more"),
		}
	}
}

fn are(names: &[String]) -> String {
	match names {
		[name] => format!("{name} is"),
		names => format!("{} are", names.join(", ")),
	}
}
