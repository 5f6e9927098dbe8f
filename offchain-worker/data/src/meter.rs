//! Progress of building a dataset, for whoever watches from another thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// How far a build is.
#[derive(Debug, Default)]
pub struct Meter {
	expected: AtomicU64,
	read: AtomicU64,
	text: AtomicU64,
	tokenized: AtomicU64,
}

/// Part of a build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
	/// Files are read, and their documents sorted.
	Reading,
	/// Documents become tokens.
	Tokenizing,
}

/// A moment of a build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
	/// What is done now.
	pub step: Step,
	/// Bytes of it that are done: of files, as they are on disk, or of text.
	pub done: u64,
	/// Bytes of it in all, where that is known.
	pub total: Option<u64>,
}

impl Meter {
	/// How far the build is now.
	pub fn now(&self) -> Progress {
		let get = |value: &AtomicU64| value.load(Ordering::Relaxed);
		let known = |total: u64| (total > 0).then_some(total);
		match known(get(&self.text)) {
			Some(text) => Progress { step: Step::Tokenizing, done: get(&self.tokenized), total: Some(text) },
			None => Progress { step: Step::Reading, done: get(&self.read), total: known(get(&self.expected)) },
		}
	}

	pub(crate) fn expect(&self, bytes: u64) {
		self.expected.store(bytes, Ordering::Relaxed);
	}

	pub(crate) fn add_read(&self, bytes: u64) {
		self.read.fetch_add(bytes, Ordering::Relaxed);
	}

	/// All is read, and is so many bytes of text.
	pub(crate) fn tokenize(&self, bytes: u64) {
		self.text.store(bytes, Ordering::Relaxed);
	}

	pub(crate) fn add_tokenized(&self, bytes: u64) {
		self.tokenized.fetch_add(bytes, Ordering::Relaxed);
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_build_reads_and_then_tokenizes() {
		let meter = Meter::default();
		meter.add_read(5);
		assert_eq!(meter.now(), Progress { step: Step::Reading, done: 5, total: None });
		meter.expect(20);
		meter.add_read(5);
		assert_eq!(meter.now(), Progress { step: Step::Reading, done: 10, total: Some(20) });
		meter.tokenize(30);
		meter.add_tokenized(7);
		assert_eq!(meter.now(), Progress { step: Step::Tokenizing, done: 7, total: Some(30) });
	}
}
