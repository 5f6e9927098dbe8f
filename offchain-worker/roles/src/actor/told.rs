//! Suppression of repeated log messages.

use std::time::{Duration, Instant};

/// The same problem is said again after this time: whoever reads only the newest part of a log must not take it for solved.
const SAY_AGAIN: Duration = Duration::from_secs(600);

/// The newest problem that was said, and when.
#[derive(Debug, Default)]
pub struct Told(Option<(String, Instant)>);

impl Told {
	/// Returns whether `words` are to be said at `now`, which is then noted: other words than the last ones, or the last ones long ago.
	pub fn is_new(&mut self, words: &str, now: Instant) -> bool {
		let told = self.0.as_ref().is_some_and(|(before, at)| before == words && now.saturating_duration_since(*at) < SAY_AGAIN);
		if !told {
			self.0 = Some((words.to_owned(), now));
		}
		!told
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_problem_that_stays_is_said_again_after_a_while_and_another_one_at_once() {
		let (mut told, start) = (Told::default(), Instant::now());
		let minutes = |minutes: u64| start + Duration::from_secs(60 * minutes);
		let said: Vec<u64> = (0..25).filter(|minute| told.is_new("away", minutes(*minute))).collect();
		assert_eq!(said, [0, 10, 20]);
		assert!(told.is_new("full", minutes(25)) && !told.is_new("full", minutes(26)));
		assert!(told.is_new("away", minutes(27)), "it came back");
	}
}
