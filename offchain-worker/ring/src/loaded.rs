//! Memory of a holder that its drivers' spans take.

use neuroshard_types::announcement::Held;
use std::{
	collections::{BTreeMap, BTreeSet},
	sync::{
		atomic::{AtomicU64, Ordering},
		Arc,
	},
};
use tokio::sync::watch;

/// Spans in memory, by stream: as many as are answered at a time. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Loaded(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
	all: watch::Sender<BTreeMap<u64, Taken>>,
	next: AtomicU64,
}

#[derive(Debug)]
struct Taken {
	span: Held,
	/// Bytes of its parameters, and of its KV cache once that has room.
	bytes: u64,
	/// False while its parameters are loaded.
	is_held: bool,
}

/// Memory of a span. Dropped, it is free again.
#[derive(Debug)]
pub(super) struct Place {
	loaded: Loaded,
	number: u64,
}

fn used(all: &BTreeMap<u64, Taken>) -> u64 {
	all.values().fold(0, |sum, taken| sum.saturating_add(taken.bytes))
}

impl Loaded {
	/// Takes so many bytes for a span that is about to be loaded, if all spans have no more than `most` then.
	pub(super) fn reserve(&self, span: Held, bytes: u64, most: u64) -> Option<Place> {
		let number = self.0.next.fetch_add(1, Ordering::Relaxed);
		let fits = self.0.all.send_if_modified(|all| {
			let fits = used(all).checked_add(bytes).is_some_and(|sum| sum <= most);
			if fits {
				all.insert(number, Taken { span, bytes, is_held: false });
			}
			fits
		});
		fits.then(|| Place { loaded: self.clone(), number })
	}

	/// Bytes that all spans take.
	pub(super) fn used(&self) -> u64 {
		used(&self.0.all.borrow())
	}

	/// The spans that are held, each once, and the bytes that these and those being loaded take.
	pub fn all(&self) -> (Vec<Held>, u64) {
		let all = self.0.all.borrow();
		let spans: BTreeSet<Held> = all.values().filter(|taken| taken.is_held).map(|taken| taken.span).collect();
		(spans.into_iter().collect(), used(&all))
	}
}

impl Place {
	/// The span is loaded: takes up to `wanted` bytes beside its parameters, if all spans have no more than `most` then. Returns how many.
	pub(super) fn hold(&self, wanted: u64, most: u64) -> u64 {
		let mut got = 0;
		self.loaded.0.all.send_modify(|all| {
			got = wanted.min(most.saturating_sub(used(all)));
			if let Some(taken) = all.get_mut(&self.number) {
				taken.bytes = taken.bytes.saturating_add(got);
				taken.is_held = true;
			}
		});
		got
	}
}

impl Drop for Place {
	fn drop(&mut self) {
		self.loaded.0.all.send_modify(|all| _ = all.remove(&self.number));
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_graph::Class;
	use neuroshard_types::H256;

	fn span(first: u16) -> Held {
		Held { parameters: H256::zero(), class: Class::ExactF32, first, parts: 2 }
	}

	#[test]
	fn a_span_is_held_until_its_stream_ends_and_told_once_however_many_hold_it() {
		let loaded = Loaded::default();
		let take = |first, bytes| {
			let place = loaded.reserve(span(first), bytes, 100).unwrap();
			assert_eq!(place.hold(0, 100), 0);
			place
		};
		let (one, other, again) = (take(3, 10), take(1, 7), take(3, 10));
		assert_eq!(loaded.all(), (vec![span(1), span(3)], 27));
		drop(one);
		assert_eq!(loaded.all(), (vec![span(1), span(3)], 17));
		drop((again, other));
		assert_eq!(loaded.all(), (vec![], 0));
	}

	#[test]
	fn all_streams_together_take_no_more_than_is_lent() {
		let loaded = Loaded::default();
		let one = loaded.reserve(span(1), 60, 100).unwrap();
		// It is not held yet, and its memory is not free any more.
		assert_eq!(loaded.all(), (vec![], 60));
		assert!(loaded.reserve(span(3), 41, 100).is_none());
		assert!(loaded.reserve(span(3), u64::MAX, 100).is_none());
		let other = loaded.reserve(span(3), 30, 100).unwrap();
		assert_eq!((one.hold(8, 100), other.hold(8, 100)), (8, 2));
		assert!(loaded.reserve(span(5), 1, 100).is_none());
		drop(one);
		assert_eq!(loaded.all(), (vec![span(3)], 32));
		assert!(loaded.reserve(span(5), 68, 100).is_some());
	}
}
