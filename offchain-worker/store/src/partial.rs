//! A download that arrives leaf by leaf.
//!
//! Which leaves are there is not recorded anywhere: a leaf is there if the bytes at its place have its hash. So a download
//! resumes correctly after any crash, whatever part of the file had reached the disk.

use crate::{
	leaves::{leaf_count, ContentDescriptor, LeafList, LEAF_BYTES},
	storage::Files,
	Blob, Store, StoreError,
};
use neuroshard_graph::tiles::leaf_hashes;
use std::{fs::File, io, ops::Range, os::unix::fs::FileExt, path::PathBuf};

/// Leaves read and hashed at a time when a download is resumed.
const RESUME_LEAVES: usize = 256;

/// A download in progress. At most one exists for a root; dropping it keeps what has arrived, for later.
#[derive(Debug)]
pub struct Partial {
	store: Store,
	list: LeafList,
	file: File,
	path: PathBuf,
	present: Vec<bool>,
	missing: u32,
}

impl Partial {
	/// Takes over `files`, which are registered as downloading, and looks which leaves are there already.
	pub(super) fn new(store: Store, list: LeafList, files: Files) -> Result<Self, StoreError> {
		let missing = list.descriptor().leaves;
		let present = vec![false; list.hashes().len()];
		let mut partial = Self { store, list, file: files.file, path: files.path, present, missing };
		if files.resumed {
			partial.look()?;
		}
		Ok(partial)
	}

	fn look(&mut self) -> Result<(), StoreError> {
		let mut buffer = vec![0; RESUME_LEAVES * LEAF_BYTES];
		let chunks = self.present.chunks_mut(RESUME_LEAVES).zip(self.list.hashes().chunks(RESUME_LEAVES));
		let mut offset = 0;
		for (present, expected) in chunks {
			let data = &mut buffer[..expected.len() * LEAF_BYTES];
			match self.file.read_exact_at(data, offset) {
				Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
				outcome => outcome.map_err(|error| StoreError::io("read", &self.path, error))?,
			}
			for ((present, expected), found) in present.iter_mut().zip(expected).zip(leaf_hashes(data, 1)) {
				*present = *expected == found;
				self.missing -= u32::from(*present);
			}
			offset += data.len() as u64;
		}
		Ok(())
	}

	/// Root and length.
	pub fn descriptor(&self) -> ContentDescriptor {
		self.list.descriptor()
	}

	/// Leaves that have not arrived.
	pub fn missing(&self) -> u32 {
		self.missing
	}

	/// Returns the leaves that have not arrived, as ranges of at most `longest` leaves in ascending order.
	pub fn missing_ranges(&self, longest: u32) -> Vec<Range<u32>> {
		let mut ranges: Vec<Range<u32>> = Vec::new();
		for (leaf, _) in (0u32..).zip(&self.present).filter(|(_, present)| !**present) {
			match ranges.last_mut() {
				Some(last) if last.end == leaf && leaf - last.start < longest => last.end += 1,
				_ => ranges.push(leaf..leaf + 1),
			}
		}
		ranges
	}

	/// Stores the leaves in `data`, the first of which is leaf `start`, if every one of them has its hash. Otherwise nothing is
	/// stored. A full disk ends the download and removes its files.
	pub fn write(&mut self, start: u32, data: &[u8]) -> Result<(), StoreError> {
		let ContentDescriptor { root, leaves } = self.descriptor();
		let count = leaf_count(data.len() as u64)?;
		let (Some(first), Some(_)) = (usize::try_from(start).ok(), start.checked_add(count).filter(|end| *end <= leaves)) else {
			return Err(StoreError::OutOfRange { root, start, count, leaves });
		};
		if let Some(leaf) = self.list.first_wrong(start, data) {
			return Err(StoreError::WrongLeaf { root, leaf });
		}
		if let Err(error) = self.store.disk().write_at(&self.file, data, u64::from(start) * LEAF_BYTES as u64) {
			let error = StoreError::writing(&self.path, data.len() as u64, error);
			if matches!(error, StoreError::DiskFull { .. }) {
				self.store.discard(root);
			}
			return Err(error);
		}
		for present in self.present.iter_mut().skip(first).take(data.len() / LEAF_BYTES) {
			self.missing -= u32::from(!*present);
			*present = true;
		}
		Ok(())
	}

	/// Makes the download a complete blob. Fails if leaves are missing.
	pub fn finish(self) -> Result<Blob, StoreError> {
		let content = self.descriptor();
		if self.missing != 0 {
			return Err(StoreError::Incomplete { root: content.root, missing: self.missing });
		}
		let synced = self.store.disk().sync(&self.file);
		synced.map_err(|error| StoreError::writing(&self.path, content.bytes(), error))?;
		self.store.complete(content, &self.path)
	}
}

impl Drop for Partial {
	fn drop(&mut self) {
		self.store.pause(self.descriptor().root);
	}
}
