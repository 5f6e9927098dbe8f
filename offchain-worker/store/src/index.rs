//! Index of the store in memory: sizes, order of use, and the choice of what to evict. No file is touched here.

use crate::{leaves::ContentDescriptor, pins::Pins, StoreError};
use neuroshard_types::H256;
use std::{
	collections::{BTreeMap, HashMap},
	path::Path,
};

/// Usage of the store.
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

/// Free space on the file system of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space<'a> {
	/// Folder of the store.
	pub(crate) folder: &'a Path,
	/// Bytes that may still be written below it.
	pub(crate) free: u64,
}

/// Entries that were taken out of the index, whose files are to be deleted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Evicted {
	/// Blobs and downloads.
	pub(crate) blobs: Vec<H256>,
	/// Spare files.
	pub(crate) spares: Vec<String>,
}

/// All blobs, downloads and spare files.
#[derive(Debug)]
pub(crate) struct Index {
	entries: HashMap<H256, Entry>,
	pub(crate) pins: Pins,
	/// Sizes of spare files by name. They go when nothing else can, in the order of their names.
	pub(crate) spares: BTreeMap<String, u64>,
	limit: u64,
	/// Bytes promised to writers that have not finished.
	reserved: u64,
	/// Counts uses; the order of eviction follows it.
	clock: u64,
}

impl Index {
	pub(crate) fn new(limit: u64, pins: Pins) -> Self {
		Self { entries: HashMap::new(), pins, spares: BTreeMap::new(), limit, reserved: 0, clock: 0 }
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
	/// used first, then spare files. Fails, changing nothing, if what may not be evicted leaves too little room.
	pub(crate) fn reserve(&mut self, bytes: u64, space: &Space<'_>) -> Result<Evicted, StoreError> {
		let limit = self.room(bytes, space)?;
		self.reserved += bytes;
		Ok(self.shrink(limit))
	}

	/// As [`Self::reserve`], for spare file `name`, so that all of them together take at most `share`.
	pub(crate) fn reserve_spare(&mut self, name: &str, bytes: u64, share: u64, space: &Space<'_>) -> Result<Evicted, StoreError> {
		if bytes > share {
			return Err(StoreError::OverLimit { needed: bytes, limit: share.min(self.limit), pinned: self.kept() });
		}
		let limit = self.room(bytes, space)?;
		// What it replaces stays until it is there, unless there is no room for both.
		let (replaced, mut spares) = (self.spares.get(name).copied().unwrap_or(0), Vec::new());
		while self.spare_bytes().saturating_sub(replaced).saturating_add(bytes) > share {
			let Some(oldest) = self.spares.keys().find(|other| *other != name).cloned() else { break };
			self.spares.remove(&oldest);
			spares.push(oldest);
		}
		self.reserved += bytes;
		let more = self.shrink(limit);
		Ok(Evicted { blobs: more.blobs, spares: spares.into_iter().chain(more.spares).collect() })
	}

	/// Most bytes that the store may take where its file system has this `space`: its limit, or what is there and what there is room for
	/// beside it. Fails if `bytes` do not fit into that beside what may not be evicted.
	fn room(&self, bytes: u64, space: &Space<'_>) -> Result<u64, StoreError> {
		let (kept, there) = (self.kept(), self.total().saturating_sub(self.reserved));
		let limit = self.limit.min(there.saturating_add(space.free));
		match kept.saturating_add(bytes) {
			needed if needed > self.limit => Err(StoreError::OverLimit { needed: bytes, limit: self.limit, pinned: kept }),
			needed if needed > limit => Err(StoreError::DiskFull { path: space.folder.to_path_buf(), needed: bytes }),
			_ => Ok(limit),
		}
	}

	/// Gives room back that [`Self::reserve`] set aside.
	pub(crate) fn release(&mut self, bytes: u64) {
		self.reserved = self.reserved.saturating_sub(bytes);
	}

	/// Takes entries out until the rest is within `limit`, or nothing evictable is left.
	pub(crate) fn shrink(&mut self, limit: u64) -> Evicted {
		let mut total = self.total();
		let mut evictable: Vec<Entry> = self.entries.values().filter(|entry| !self.is_kept(entry)).copied().collect();
		evictable.sort_unstable_by_key(|entry| entry.last_use);
		let mut evicted = Evicted::default();
		for entry in evictable {
			if total <= limit {
				break;
			}
			total -= entry.content.disk_bytes();
			self.entries.remove(&entry.content.root);
			evicted.blobs.push(entry.content.root);
		}
		while total > limit {
			let Some((name, bytes)) = self.spares.pop_first() else { break };
			total = total.saturating_sub(bytes);
			evicted.spares.push(name);
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

	fn spare_bytes(&self) -> u64 {
		self.spares.values().sum()
	}

	fn total(&self) -> u64 {
		self.reserved + self.spare_bytes() + self.entries.values().map(|entry| entry.content.disk_bytes()).sum::<u64>()
	}

	fn kept(&self) -> u64 {
		self.reserved + self.entries.values().filter(|entry| self.is_kept(entry)).map(|entry| entry.content.disk_bytes()).sum::<u64>()
	}
}
