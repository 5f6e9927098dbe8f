//! What failed here is not tried again at once: the others must not wait for it.

use super::REST;
use neuroshard_types::BlockNumber;
use std::collections::BTreeMap;

/// What failed, and the first block in which it is tried again.
#[derive(Debug)]
pub(super) struct Rests<K>(BTreeMap<K, BlockNumber>);

impl<K: Ord> Rests<K> {
	pub(super) fn new() -> Self {
		Self(BTreeMap::new())
	}

	/// Notes that `what` failed at block `now`.
	pub(super) fn note(&mut self, what: K, now: BlockNumber) {
		self.0.insert(what, now.saturating_add(REST));
	}

	/// Whether `what` is not to be tried again yet.
	pub(super) fn contains(&self, what: &K, now: BlockNumber) -> bool {
		self.0.get(what).is_some_and(|until| *until > now)
	}

	/// Forgets what has rested long enough.
	pub(super) fn tidy(&mut self, now: BlockNumber) {
		self.0.retain(|_, until| *until > now);
	}

	#[cfg(test)]
	pub(super) fn clear(&mut self) {
		self.0.clear();
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn what_failed_rests_for_some_blocks_and_nothing_else_does() {
		let mut rests = Rests::new();
		rests.note('a', 10);
		let resting = |rests: &Rests<char>| (9..15).filter(|now| rests.contains(&'a', *now)).collect::<Vec<_>>();
		assert_eq!(resting(&rests), [9, 10, 11, 12]);
		assert!(!rests.contains(&'b', 11));
		rests.tidy(12);
		assert_eq!(resting(&rests), [9, 10, 11, 12]);
		rests.note('a', 11);
		assert!(rests.contains(&'a', 13));
		rests.tidy(14);
		assert_eq!(resting(&rests), [0; 0]);
	}
}
