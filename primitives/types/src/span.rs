//! Queues in storage: entries by number, and which numbers are in use.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

/// Numbers in use of a queue: from `first` up to, but without, `next`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Span {
	/// Number of the oldest entry.
	pub first: u64,
	/// Number of the next entry to come.
	pub next: u64,
}

impl Span {
	/// Adds an entry and returns its number.
	pub fn append(&mut self) -> u64 {
		let number = self.next;
		self.next = number.saturating_add(1);
		number
	}

	/// Number of the oldest entry, if there is any.
	pub fn oldest(&self) -> Option<u64> {
		(self.first < self.next).then_some(self.first)
	}

	/// Takes the oldest entry out.
	pub fn pass(&mut self) {
		self.first = self.first.saturating_add(1).min(self.next);
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn entries_leave_in_the_order_in_which_they_came_and_an_empty_queue_stays_empty() {
		let mut span = Span::default();
		assert_eq!((span.append(), span.append(), span.oldest()), (0, 1, Some(0)));
		span.pass();
		assert_eq!((span.oldest(), span.append()), (Some(1), 2));
		(0..4).for_each(|_| span.pass());
		assert_eq!((span.oldest(), span), (None, Span { first: 3, next: 3 }));
		assert_eq!((span.append(), span.oldest()), (3, Some(3)));
	}

	#[test]
	fn a_span_is_stored_as_its_two_numbers() {
		assert_eq!(Span { first: 1, next: 2 }.encode(), (1u64, 2u64).encode());
	}
}
