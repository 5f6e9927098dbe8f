//! Backoff of what failed: it is tried again, later each time.

use neuroshard_types::BlockNumber;
use std::{collections::BTreeMap, time::Duration};

/// Blocks after its rest until it is forgotten that something failed.
const MEMORY: BlockNumber = 600;

/// A length of time: seconds or blocks.
pub trait Length: Copy + Ord {
	/// Twice as long, or the longest that there is.
	fn doubled(self) -> Self;
}

impl Length for Duration {
	fn doubled(self) -> Self {
		self.saturating_mul(2)
	}
}

impl Length for BlockNumber {
	fn doubled(self) -> Self {
		self.saturating_mul(2)
	}
}

/// Exponential backoff: each rest is twice as long as the one before, from the first one to the longest.
#[derive(Clone, Copy, Debug)]
pub struct Backoff<T> {
	first: T,
	longest: T,
}

impl<T: Length> Backoff<T> {
	/// Rests from `first` to `longest`.
	pub const fn new(first: T, longest: T) -> Self {
		Self { first, longest }
	}

	/// Returns the rest after a failure; `last` is the one before it, if that was a failure too.
	pub fn after(&self, last: Option<T>) -> T {
		last.map_or(self.first, T::doubled).min(self.longest)
	}
}

#[derive(Clone, Copy, Debug)]
struct Rest {
	/// Blocks that it rests for, if its deadline leaves that much.
	length: BlockNumber,
	/// First block in which it is tried again.
	until: BlockNumber,
}

/// Failed attempts, by their keys, and in which block each it is tried again: always in time for another attempt before its deadline. The others do not
/// wait for it.
#[derive(Debug)]
pub struct Rests<K> {
	backoff: Backoff<BlockNumber>,
	rests: BTreeMap<K, Rest>,
}

impl<K: Ord> Rests<K> {
	/// Nothing has failed yet.
	pub const fn new(backoff: Backoff<BlockNumber>) -> Self {
		Self { backoff, rests: BTreeMap::new() }
	}

	/// Notes that an attempt at `what`, which must be done by block `deadline`, failed at block `now`: that is when the attempt ended, since it may have
	/// taken longer than a rest. No rest is longer than half of the time that is left, or shorter than the first one.
	pub fn note(&mut self, what: K, now: BlockNumber, deadline: BlockNumber) {
		let length = self.backoff.after(self.rests.get(&what).map(|rest| rest.length));
		let left = deadline.saturating_sub(now) / 2;
		self.rests.insert(what, Rest { length, until: now.saturating_add(length.min(left).max(self.backoff.first)) });
	}

	/// Returns whether `what` is not to be tried again yet.
	pub fn contains(&self, what: &K, now: BlockNumber) -> bool {
		self.rests.get(what).is_some_and(|rest| rest.until > now)
	}

	/// Returns whether `what` has failed, even if it has rested since.
	pub fn has_failed(&self, what: &K) -> bool {
		self.rests.contains_key(what)
	}

	/// Forgets what failed long ago.
	pub fn tidy(&mut self, now: BlockNumber) {
		self.rests.retain(|_, rest| rest.until.saturating_add(MEMORY) > now);
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	const FAR: BlockNumber = 100_000;

	/// The first block after `now` in which `what` is tried again.
	fn again(rests: &Rests<char>, what: char, now: BlockNumber) -> BlockNumber {
		(now..).find(|block| !rests.contains(&what, *block)).unwrap()
	}

	#[test]
	fn what_failed_rests_for_some_blocks_and_nothing_else_does() {
		let mut rests = Rests::new(Backoff::new(3, 48));
		rests.note('a', 10, FAR);
		assert_eq!((again(&rests, 'a', 10), again(&rests, 'b', 10)), (13, 10));
		assert!(rests.has_failed(&'a') && !rests.has_failed(&'b'));
	}

	#[test]
	fn what_fails_again_and_again_rests_longer_and_longer_until_that_is_forgotten() {
		let mut rests = Rests::new(Backoff::new(3, 48));
		let mut now = 0;
		let mut lengths = Vec::new();
		for _ in 0..7 {
			rests.note('a', now, FAR);
			lengths.push(again(&rests, 'a', now) - now);
			// A slow attempt.
			now = again(&rests, 'a', now) + 40;
			rests.tidy(now);
		}
		assert_eq!(lengths, [3, 6, 12, 24, 48, 48, 48]);
		rests.tidy(now + 600);
		assert!(!rests.has_failed(&'a'));
		rests.note('a', now, FAR);
		assert_eq!(again(&rests, 'a', now), now + 3);
	}

	#[test]
	fn a_rest_leaves_time_for_another_attempt_before_the_deadline() {
		let mut rests = Rests::new(Backoff::new(3, 48));
		for _ in 0..5 {
			rests.note('a', 100, FAR);
		}
		rests.note('a', 100, 160);
		assert_eq!(again(&rests, 'a', 100), 130);
		rests.note('a', 150, 160);
		assert_eq!(again(&rests, 'a', 150), 155);
		// At the end it is tried all the time, but for what the others need.
		for deadline in [151, 150, 90] {
			rests.note('a', 150, deadline);
			assert_eq!(again(&rests, 'a', 150), 153);
		}
	}
}
