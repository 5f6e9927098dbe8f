//! What the store holds, in memory: sizes, order of use, and the choice of what to evict. No file is touched here.

use super::{leaves::ContentDescriptor, pins::Pins, StoreError};
use neuroshard_types::H256;
use std::collections::HashMap;

/// How much the store holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
	/// Complete blobs.
	pub blobs: u64,
	/// Bytes on disk, unfinished downloads and leaf lists included.
	pub bytes: u64,
	/// Bytes that may not be evicted: pinned, or being written now.
	pub kept: u64,
	/// Most bytes that the store may take.
	pub limit: u64,
}

/// State of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
	/// All bytes are there.
	Complete,
	/// A download that nobody is working on.
	Paused,
	/// A download in progress: it may not be evicted.
	Downloading,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
	content: ContentDescriptor,
	state: State,
	last_use: u64,
}

/// All blobs and downloads.
#[derive(Debug)]
pub(crate) struct Index {
	entries: HashMap<H256, Entry>,
	pub(crate) pins: Pins,
	limit: u64,
	/// Bytes promised to writers that have not finished.
	reserved: u64,
	/// Counts uses; the order of eviction follows it.
	clock: u64,
}

impl Index {
	pub(crate) fn new(limit: u64, pins: Pins) -> Self {
		Self { entries: HashMap::new(), pins, limit, reserved: 0, clock: 0 }
	}

	/// Adds or replaces an entry as the one used last.
	pub(crate) fn insert(&mut self, content: ContentDescriptor, state: State) {
		self.clock += 1;
		self.entries.insert(content.root, Entry { content, state, last_use: self.clock });
	}

	/// The entry of `root`.
	pub(crate) fn find(&self, root: H256) -> Option<(ContentDescriptor, State)> {
		self.entries.get(&root).map(|entry| (entry.content, entry.state))
	}

	/// The complete blob `root`, which counts as used now.
	pub(crate) fn touch(&mut self, root: H256) -> Option<ContentDescriptor> {
		self.clock += 1;
		let entry = self.entries.get_mut(&root).filter(|entry| entry.state == State::Complete)?;
		entry.last_use = self.clock;
		Some(entry.content)
	}

	/// Ends a download without completing it.
	pub(crate) fn pause(&mut self, root: H256) {
		if let Some(entry) = self.entries.get_mut(&root).filter(|entry| entry.state == State::Downloading) {
			entry.state = State::Paused;
		}
	}

	pub(crate) fn remove(&mut self, root: H256) {
		self.entries.remove(&root);
	}

	/// Sets room for `bytes` aside and returns what must be evicted for it, already removed from the index: least recently
	/// used first. Fails, changing nothing, if what may not be evicted leaves too little room.
	pub(crate) fn reserve(&mut self, bytes: u64) -> Result<Vec<H256>, StoreError> {
		let kept = self.kept();
		if kept.saturating_add(bytes) > self.limit {
			return Err(StoreError::OverLimit { needed: bytes, limit: self.limit, pinned: kept });
		}
		self.reserved += bytes;
		Ok(self.shrink())
	}

	/// Gives room back that [`Self::reserve`] set aside.
	pub(crate) fn release(&mut self, bytes: u64) {
		self.reserved = self.reserved.saturating_sub(bytes);
	}

	/// Takes entries out until the rest is within the limit, or nothing evictable is left.
	pub(crate) fn shrink(&mut self) -> Vec<H256> {
		let mut total = self.total();
		let mut evictable: Vec<Entry> = self.entries.values().filter(|entry| !self.is_kept(entry)).copied().collect();
		evictable.sort_unstable_by_key(|entry| entry.last_use);
		let mut evicted = Vec::new();
		for entry in evictable {
			if total <= self.limit {
				break;
			}
			total -= entry.content.disk_bytes();
			self.entries.remove(&entry.content.root);
			evicted.push(entry.content.root);
		}
		evicted
	}

	pub(crate) fn usage(&self) -> Usage {
		let blobs = self.entries.values().filter(|entry| entry.state == State::Complete).count() as u64;
		Usage { blobs, bytes: self.total(), kept: self.kept(), limit: self.limit }
	}

	/// Complete blobs, in no particular order.
	pub(crate) fn complete(&self) -> Vec<ContentDescriptor> {
		self.entries.values().filter(|entry| entry.state == State::Complete).map(|entry| entry.content).collect()
	}

	fn is_kept(&self, entry: &Entry) -> bool {
		entry.state == State::Downloading || self.pins.holds(entry.content.root)
	}

	fn total(&self) -> u64 {
		self.reserved + self.entries.values().map(|entry| entry.content.disk_bytes()).sum::<u64>()
	}

	fn kept(&self) -> u64 {
		self.reserved + self.entries.values().filter(|entry| self.is_kept(entry)).map(|entry| entry.content.disk_bytes()).sum::<u64>()
	}
}
