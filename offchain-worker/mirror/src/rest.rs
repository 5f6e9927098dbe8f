//! How long a mirror that failed is left alone, and how often an attempt is made anew.

use crate::MirrorError;
use neuroshard_support::backoff::Backoff;
use std::{
	sync::{Mutex, PoisonError},
	time::{Duration, Instant},
};

/// Rests of a mirror: until when it is left alone, and for how long altogether.
#[derive(Debug, Default)]
pub struct Rest(Mutex<Option<(Duration, Instant)>>);

impl Rest {
	/// Returns how long it is still left alone.
	pub fn left(&self, now: Instant) -> Option<Duration> {
		let rest = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
		rest.and_then(|(_, until)| until.checked_duration_since(now)).filter(|left| !left.is_zero())
	}

	/// Notes that it failed.
	pub fn note(&self, backoff: Backoff<Duration>, now: Instant) {
		let mut rest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
		let length = backoff.after(rest.map(|(length, _)| length));
		*rest = now.checked_add(length).map(|until| (length, until));
	}

	/// Notes that it gave what it was asked for.
	pub fn clear(&self) {
		*self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
	}
}

/// Attempts of one fetch: given up after some in a row that brought too little.
#[derive(Debug)]
pub struct Attempts {
	backoff: Backoff<Duration>,
	most: u32,
	vain: u32,
	last: Option<Duration>,
}

impl Attempts {
	pub fn new(backoff: Backoff<Duration>, most: u32) -> Self {
		Self { backoff, most, vain: 0, last: None }
	}

	/// Returns how long the next attempt waits after one that failed. `progress` says whether that one brought as much as counts.
	///
	/// # Errors
	/// The failure, if there should be no other attempt.
	pub fn again(&mut self, failure: MirrorError, progress: bool) -> Result<Duration, MirrorError> {
		if progress {
			(self.vain, self.last) = (0, None);
		}
		self.vain = self.vain.saturating_add(1);
		if !failure.passes() || self.vain >= self.most {
			return Err(failure);
		}
		let rest = self.backoff.after(self.last);
		self.last = Some(rest);
		tracing::debug!(%failure, "going on with a mirror in {} ms", rest.as_millis());
		Ok(rest)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_mirror_that_fails_again_rests_longer_and_one_that_gives_is_asked_at_once() {
		let (rest, backoff) = (Rest::default(), Backoff::new(Duration::from_secs(15), Duration::from_secs(40)));
		let start = Instant::now();
		let left = || rest.left(start).map(|left| left.as_secs());
		assert_eq!(left(), None);
		for expected in [15, 30, 40, 40] {
			rest.note(backoff, start);
			assert_eq!(left(), Some(expected));
		}
		assert_eq!(rest.left(start + Duration::from_secs(40)), None);
		rest.clear();
		assert_eq!(left(), None);
		rest.note(backoff, start);
		assert_eq!(left(), Some(15));
	}

	#[test]
	fn attempts_end_after_some_in_a_row_that_brought_nothing() {
		let mut attempts = Attempts::new(Backoff::new(Duration::from_secs(1), Duration::from_secs(4)), 3);
		let failed = || MirrorError::Failed("x".into());
		let mut again = |progress| attempts.again(failed(), progress).map(|rest| rest.as_secs());
		assert_eq!([false, false, true, true, false].map(&mut again), [Ok(1), Ok(2), Ok(1), Ok(1), Ok(2)]);
		assert_eq!(again(false), Err(failed()));
		let mut fresh = Attempts::new(Backoff::new(Duration::from_secs(1), Duration::from_secs(4)), 3);
		assert_eq!(fresh.again(MirrorError::Absent, true), Err(MirrorError::Absent), "what does not pass is not tried again");
		let slow = MirrorError::Slow(Duration::from_secs(9));
		assert_eq!(fresh.again(slow.clone(), true), Err(slow), "whoever is slow is not waited for twice");
	}
}
