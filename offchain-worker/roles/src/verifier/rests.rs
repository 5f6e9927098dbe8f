//! What failed here is not tried again at once: the others must not wait for it.

use super::{LONGEST_REST, REST};
use neuroshard_types::BlockNumber;
use std::collections::BTreeMap;

/// Blocks after its rest until it is forgotten that something failed.
const MEMORY: BlockNumber = 600;

#[derive(Clone, Copy, Debug)]
struct Rest {
	/// Blocks that it rests for, if its deadline leaves that much.
	length: BlockNumber,
	/// First block in which it is tried again.
	until: BlockNumber,
}

/// What failed, and when it is tried again: later and later, but always in time for another attempt before its deadline.
#[derive(Debug)]
pub(super) struct Rests<K>(BTreeMap<K, Rest>);

impl<K: Ord> Rests<K> {
	pub(super) fn new() -> Self {
		Self(BTreeMap::new())
	}

	/// Notes that an attempt at `what`, which must be done by block `deadline`, failed at block `now`: that is when the attempt ended, since it
	/// may have taken longer than a rest. Every further failure doubles the rest, up to [`LONGEST_REST`] and half of the time that is left.
	pub(super) fn note(&mut self, what: K, now: BlockNumber, deadline: BlockNumber) {
		let length = self.0.get(&what).map_or(REST, |rest| rest.length.saturating_mul(2).min(LONGEST_REST));
		let left = deadline.saturating_sub(now) / 2;
		self.0.insert(what, Rest { length, until: now.saturating_add(length.min(left).max(REST)) });
	}

	/// Whether `what` is not to be tried again yet.
	pub(super) fn contains(&self, what: &K, now: BlockNumber) -> bool {
		self.0.get(what).is_some_and(|rest| rest.until > now)
	}

	/// Whether `what` has failed, even if it has rested since.
	pub(super) fn has_failed(&self, what: &K) -> bool {
		self.0.contains_key(what)
	}

	/// Forgets what failed long ago.
	pub(super) fn tidy(&mut self, now: BlockNumber) {
		self.0.retain(|_, rest| rest.until.saturating_add(MEMORY) > now);
	}

	#[cfg(test)]
	pub(super) fn clear(&mut self) {
		self.0.clear();
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
		let mut rests = Rests::new();
		rests.note('a', 10, FAR);
		assert_eq!((again(&rests, 'a', 10), again(&rests, 'b', 10)), (13, 10));
		assert!(rests.has_failed(&'a') && !rests.has_failed(&'b'));
	}

	#[test]
	fn what_fails_again_and_again_rests_longer_and_longer_until_that_is_forgotten() {
		let mut rests = Rests::new();
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
		let mut rests = Rests::new();
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
