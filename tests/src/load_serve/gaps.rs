//! Pauses in streams that are read as they come.

use std::time::Duration;

/// A pause between two pieces of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gap {
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

/// The gaps in which one of `kills` happened, and all others.
pub(super) fn around(gaps: &[Gap], kills: &[Duration]) -> (Vec<Duration>, Vec<Duration>) {
	let hit = |gap: &Gap| kills.iter().any(|kill| gap.from <= *kill && *kill < gap.to);
	let (hit, other): (Vec<&Gap>, Vec<&Gap>) = gaps.iter().partition(|gap| hit(gap));
	let lengths = |gaps: Vec<&Gap>| gaps.into_iter().map(|gap| gap.to.saturating_sub(gap.from)).collect();
	(lengths(hit), lengths(other))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn gaps_around_a_kill_are_told_apart_and_times_are_ranked() {
		let ms = Duration::from_millis;
		let gaps = [Gap { from: ms(0), to: ms(10) }, Gap { from: ms(10), to: ms(250) }, Gap { from: ms(250), to: ms(255) }];
		assert_eq!(around(&gaps, &[ms(20)]), (vec![ms(240)], vec![ms(10), ms(5)]));
		let times = Times::of((1..=200).map(ms).collect());
		assert_eq!(times, Times { count: 200, p50: 101.0, p99: 199.0, most: 200.0 });
		assert_eq!(Times::of(Vec::new()), Times::default());
	}
}
