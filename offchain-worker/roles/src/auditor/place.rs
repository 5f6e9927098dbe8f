//! The account's place on the list of auditors, and the pause after it has lost it. Pure.

use neuroshard_types::BlockNumber;

/// Whoever leaves the list stays off it for a challenge window. The chain would not take it back sooner than two epochs later, which are less
/// than that; and whoever is dropped because it misses audits would be drawn for others and miss them, too, before anybody has looked after it.
/// A new process does not know that it has left, and enrolls as soon as the chain takes it back: what it tries before is refused once, and
/// then it waits for a challenge window, too.
#[derive(Debug, Default)]
pub(super) struct Place {
	/// True if it was on the list in a finalized state when it was looked at last: with a reorganisation it has not left.
	held: bool,
	/// First block in which it enrolls again.
	from: BlockNumber,
}

impl Place {
	/// Returns whether it was on the list for good when it was looked at last.
	pub(super) fn is_held(&self) -> bool {
		self.held
	}

	/// Notes at block `now` whether it is on the list, and whether for good. If it has left, it stays off it for `pause` blocks.
	pub(super) fn note(&mut self, enrolled: bool, held: bool, now: BlockNumber, pause: BlockNumber) {
		if self.held && !enrolled {
			self.from = now.saturating_add(pause);
		}
		self.held = held;
	}

	/// The first block in which it enrolls again; `None` if that is not after `now`.
	pub(super) fn rests(&self, now: BlockNumber) -> Option<BlockNumber> {
		Some(self.from).filter(|from| *from > now)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn whoever_has_left_the_list_rests_for_a_challenge_window() {
		let mut place = Place::default();
		place.note(true, true, 10, 100);
		assert_eq!(place.rests(10), None);
		place.note(false, false, 11, 100);
		place.note(false, false, 12, 100);
		assert_eq!((place.rests(12), place.rests(110), place.rests(111)), (Some(111), Some(111), None));
	}

	#[test]
	fn an_enrolment_that_a_reorganisation_takes_away_is_no_reason_to_rest() {
		let mut place = Place::default();
		place.note(true, false, 10, 100);
		place.note(false, false, 11, 100);
		assert_eq!(place.rests(11), None);
	}
}
