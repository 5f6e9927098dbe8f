//! Spans that a holder has in memory for its drivers.

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
	/// Each with the bytes of its parameters.
	all: watch::Sender<BTreeMap<u64, (Held, u64)>>,
	next: AtomicU64,
}

/// A span in memory. Dropped, it is not any more.
#[derive(Debug)]
pub(super) struct Place {
	loaded: Loaded,
	number: u64,
}

impl Loaded {
	/// Notes that a span of so many bytes is in memory, as long as the place is kept.
	pub(super) fn take(&self, held: Held, bytes: u64) -> Place {
		let number = self.0.next.fetch_add(1, Ordering::Relaxed);
		self.0.all.send_modify(|all| _ = all.insert(number, (held, bytes)));
		Place { loaded: self.clone(), number }
	}

	/// The spans, each once, and the bytes of all of them.
	pub fn all(&self) -> (Vec<Held>, u64) {
		let all = self.0.all.borrow();
		let spans: BTreeSet<Held> = all.values().map(|(held, _)| *held).collect();
		(spans.into_iter().collect(), all.values().fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes)))
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

	#[test]
	fn a_span_is_held_until_its_stream_ends_and_told_once_however_many_hold_it() {
		let (loaded, held) = (Loaded::default(), |first| Held { parameters: H256::zero(), class: Class::ExactF32, first, parts: 2 });
		let (one, other) = (loaded.take(held(3), 10), loaded.take(held(1), 7));
		let again = loaded.take(held(3), 10);
		assert_eq!(loaded.all(), (vec![held(1), held(3)], 27));
		drop(one);
		assert_eq!(loaded.all(), (vec![held(1), held(3)], 17));
		drop((again, other));
		assert_eq!(loaded.all(), (vec![], 0));
	}
}
