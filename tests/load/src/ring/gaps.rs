//! Pauses in streams that are read as they come.

use std::{collections::BTreeMap, time::Duration};

/// How long after a kill its pause begins, at most: a holder may have answered just before, and is asked again soon.
const SOON: Duration = Duration::from_millis(100);

/// A pause between two pieces of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gap {
	/// The client that saw it. It reads one stream after the other.
	pub(super) reader: u32,
	/// When it began, since the load did.
	pub(super) from: Duration,
	/// When it ended.
	pub(super) to: Duration,
}

/// Milliseconds of which half, and a hundredth, are longer, and the most.
#[derive(Clone, Copy, PartialEq, Default, Debug, serde::Serialize)]
pub struct Times {
	/// How many there are.
	pub count: usize,
	/// Half are longer.
	pub p50: f64,
	/// A hundredth is longer.
	pub p99: f64,
	/// The longest.
	pub most: f64,
}

impl Times {
	/// Of these times.
	pub(super) fn of(mut times: Vec<Duration>) -> Self {
		times.sort_unstable();
		let rank = |hundredths: usize| (times.len() * hundredths / 100).min(times.len().saturating_sub(1));
		let at = |index: usize| times.get(index).map_or(0.0, |time| (time.as_secs_f64() * 1e4).round() / 10.0);
		Self { count: times.len(), p50: at(rank(50)), p99: at(rank(99)), most: at(times.len().saturating_sub(1)) }
	}

	/// In words.
	pub(super) fn words(&self) -> String {
		format!("p50 {:.1} ms, p99 {:.1} ms, most {:.1} ms of {}", self.p50, self.p99, self.most, self.count)
	}
}

/// The longest gap of each reader around each of `kills`, and the gaps at other times.
pub(super) fn around(gaps: &[Gap], kills: &[Duration]) -> (Vec<Duration>, Vec<Duration>) {
	let length = |gap: &Gap| gap.to.saturating_sub(gap.from);
	let mut longest: BTreeMap<(usize, u32), Duration> = BTreeMap::new();
	let mut others = Vec::new();
	for gap in gaps {
		match kills.iter().position(|kill| *kill < gap.to && gap.from < *kill + SOON) {
			Some(kill) => {
				let most = longest.entry((kill, gap.reader)).or_default();
				*most = length(gap).max(*most);
			}
			None => others.push(length(gap)),
		}
	}
	(longest.into_values().collect(), others)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn gaps_around_a_kill_are_told_apart_and_times_are_ranked() {
		let ms = Duration::from_millis;
		let gap = |reader, from, to| Gap { reader, from: ms(from), to: ms(to) };
		let gaps = [gap(0, 0, 10), gap(0, 10, 25), gap(0, 25, 250), gap(1, 15, 22), gap(1, 22, 30), gap(0, 1_500, 1_505)];
		assert_eq!(around(&gaps, &[ms(20)]), (vec![ms(225), ms(8)], vec![ms(10), ms(5)]));
		let times = Times::of((1..=200).map(ms).collect());
		assert_eq!(times, Times { count: 200, p50: 101.0, p99: 199.0, most: 200.0 });
		assert_eq!(Times::of(Vec::new()), Times::default());
	}
}
