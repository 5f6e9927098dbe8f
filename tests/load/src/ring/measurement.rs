//! What was measured, and what is wrong about it.

use super::{
	gaps::{around, Gap, Times},
	mishaps::{Kill, Memory, Mishaps},
	Arguments,
};
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// What clients have seen.
#[derive(Default, Debug)]
pub(super) struct Seen {
	/// Complete answers that are right.
	pub(super) answers: usize,
	/// Complete answers that are wrong, in words.
	pub(super) wrong: Vec<String>,
	/// Answers that somebody stayed for and that did not come or ended early, in words.
	pub(super) incomplete: Vec<String>,
	/// Clients that went away.
	pub(super) left: usize,
	/// Clients that sent half a request.
	pub(super) halves: usize,
	/// What was refused, and how often.
	refused: BTreeMap<String, usize>,
	/// What should have been refused otherwise.
	strange: Vec<String>,
	/// From a request to the first text of its stream.
	pub(super) first_tokens: Vec<Duration>,
	/// Between pieces of streams that were read as they came.
	pub(super) gaps: Vec<Gap>,
}

impl Seen {
	/// Notes that something was refused with a status, or without one: who reads no body to its end may cut the connection.
	pub(super) fn refused(&mut self, what: &str, status: Option<u16>, expected: u16) {
		let how = status.map_or_else(|| "cut off".to_owned(), |status| status.to_string());
		if status.is_some_and(|status| status != expected) {
			self.strange.push(format!("{what}: status {how}, not {expected}"));
		}
		*self.refused.entry(format!("{what} ({how})")).or_default() += 1;
	}

	/// Adds what another client has seen.
	pub(super) fn add(&mut self, other: Self) {
		self.answers += other.answers;
		self.left += other.left;
		self.halves += other.halves;
		self.wrong.extend(other.wrong);
		self.incomplete.extend(other.incomplete);
		self.strange.extend(other.strange);
		self.first_tokens.extend(other.first_tokens);
		self.gaps.extend(other.gaps);
		for (what, times) in other.refused {
			*self.refused.entry(what).or_default() += times;
		}
	}
}

/// How a ring did.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
	/// How long it was loaded.
	pub seconds: u64,
	/// Clients at a time.
	pub clients: u32,
	/// Complete answers that are those of one process.
	pub answers: usize,
	/// Complete answers that are others.
	pub wrong: usize,
	/// Answers that did not come, or not all of them, although the client stayed.
	pub incomplete: usize,
	/// Clients that went away before the end.
	pub left: usize,
	/// Clients that sent half a request.
	pub halves: usize,
	/// What was refused, and how often.
	pub refused: BTreeMap<String, usize>,
	/// Members that were killed.
	pub kills: Vec<Kill>,
	/// Memory in use, after a minute and in the end.
	pub memory: Vec<Memory>,
	/// From a request to the first text of its stream.
	pub first_token_ms: Times,
	/// Between two pieces of a stream, when nobody is killed.
	pub gap_ms: Times,
	/// The longest time between two pieces of each stream that was read when a member was killed, in the tenth of a second behind that.
	pub pause_ms: Times,
	/// What is wrong, in words.
	pub faults: Vec<String>,
}

impl Measurement {
	pub(super) fn of(load: &Arguments, seen: Seen, mishaps: Mishaps) -> Self {
		let kills: Vec<Duration> = mishaps.kills.iter().map(|kill| Duration::from_secs_f64(kill.at)).collect();
		let (pauses, others) = around(&seen.gaps, &kills);
		let mut faults = seen.strange;
		if seen.answers == 0 {
			faults.push("nothing was answered".to_owned());
		}
		faults.extend(seen.wrong.iter().map(|words| format!("wrong answer: {words}")));
		faults.extend(seen.incomplete.iter().map(|words| format!("incomplete answer: {words}")));
		Self {
			seconds: load.seconds,
			clients: load.clients,
			answers: seen.answers,
			wrong: seen.wrong.len(),
			incomplete: seen.incomplete.len(),
			left: seen.left,
			halves: seen.halves,
			refused: seen.refused,
			kills: mishaps.kills,
			memory: mishaps.memory,
			first_token_ms: Times::of(seen.first_tokens),
			gap_ms: Times::of(others),
			pause_ms: Times::of(pauses),
			faults,
		}
	}

	/// In lines.
	pub fn describe(&self) -> Vec<String> {
		let mebibytes = |bytes: &u64| format!("{} MiB", bytes >> 20);
		let mut lines = vec![
			format!("{} clients for {} s: {} answers as one process gives them", self.clients, self.seconds, self.answers),
			format!("wrong answers: {}; incomplete ones: {}", self.wrong, self.incomplete),
			format!("clients that went away: {}; that sent half a request: {}", self.left, self.halves),
		];
		lines.extend(self.refused.iter().map(|(what, times)| format!("refused, {what}: {times}")));
		lines.push(format!(
			"members killed: {}; longest time until one was a member again: {:.1} s",
			self.kills.len(),
			self.longest_absence()
		));
		for memory in &self.memory {
			let holders: Vec<String> = memory.holders.iter().map(mebibytes).collect();
			lines.push(format!("memory after {:.0} s: driver {}, holders {}", memory.at, mebibytes(&memory.driver), holders.join(", ")));
		}
		lines.push(format!("first token: {}", self.first_token_ms.words()));
		lines.push(format!("between two pieces: {}", self.gap_ms.words()));
		lines.push(format!("the longest in each stream when a member was killed: {}", self.pause_ms.words()));
		lines
	}

	fn longest_absence(&self) -> f64 {
		self.kills.iter().map(|kill| kill.back).fold(0.0, f64::max)
	}
}
