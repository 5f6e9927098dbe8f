//! A complete blob, open for reading.

use crate::{
	leaves::{first_difference, parse_hashes, ContentDescriptor, HASH_BYTES, LEAF_BYTES},
	Store, StoreError,
};
use std::{
	fs::{self, File},
	io,
	os::unix::fs::FileExt,
	path::{Path, PathBuf},
	sync::Arc,
};

/// Extension of a second name that [`Blob::link_to`] is about to give its place; what a crash leaves under it may be removed.
pub const LINKING: &str = "linking";

/// A complete blob. It stays readable while this value lives, even if the store evicts it meanwhile.
///
/// Everything read is compared with the leaf list; a difference drops the blob from the store. Cheap to clone, and safe to
/// read from several threads.
#[derive(Clone, Debug)]
pub struct Blob {
	store: Store,
	content: ContentDescriptor,
	data: Arc<File>,
	list: Arc<File>,
	path: PathBuf,
}

impl Blob {
	pub(super) fn new(store: Store, content: ContentDescriptor, data: File, list: File, path: PathBuf) -> Self {
		Self { store, content, data: Arc::new(data), list: Arc::new(list), path }
	}

	/// Root and length.
	pub fn descriptor(&self) -> ContentDescriptor {
		self.content
	}

	/// Leaves `start..start + count`, verified.
	pub fn read_leaves(&self, start: u32, count: u32) -> Result<Vec<u8>, StoreError> {
		let expected = self.hashes(start, count)?;
		let data = self.read(&self.data, start, count, LEAF_BYTES)?;
		match first_difference(start, &data, &expected) {
			None => Ok(data),
			Some(leaf) => Err(self.damaged(leaf)),
		}
	}

	/// Hashes of leaves `start..start + count`, 32 bytes each, as they stand in the leaf list.
	pub fn read_hashes(&self, start: u32, count: u32) -> Result<Vec<u8>, StoreError> {
		self.read(&self.list, start, count, HASH_BYTES)
	}

	/// All bytes, verified. Needs memory for all of them.
	pub fn bytes(&self) -> Result<Vec<u8>, StoreError> {
		self.read_leaves(0, self.content.leaves)
	}

	/// Gives the file of this blob a second name in place of what was there. It stays readable under it when the store evicts the blob,
	/// and takes no more room until then. Nothing is verified here.
	///
	/// # Errors
	/// What the system says, for instance on another file system, or where a file has one name only.
	pub fn link_to(&self, path: &Path) -> io::Result<()> {
		let temporary = path.with_extension(LINKING);
		let gone =
			|removed: io::Result<()>| removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) });
		gone(fs::remove_file(&temporary))?;
		fs::hard_link(&self.path, &temporary)?;
		let renamed = fs::rename(&temporary, path);
		// Renaming one name of a file to another one of it does nothing.
		gone(fs::remove_file(&temporary))?;
		renamed
	}

	fn hashes(&self, start: u32, count: u32) -> Result<Vec<neuroshard_graph::Hash>, StoreError> {
		parse_hashes(&self.read_hashes(start, count)?).ok_or_else(|| self.damaged(start))
	}

	fn read(&self, file: &File, start: u32, count: u32, unit: usize) -> Result<Vec<u8>, StoreError> {
		let ContentDescriptor { root, leaves } = self.content;
		let end = start.checked_add(count).filter(|end| *end <= leaves);
		let length = usize::try_from(count).ok().and_then(|count| count.checked_mul(unit));
		let (Some(_), Some(length)) = (end, length) else { return Err(StoreError::OutOfRange { root, start, count, leaves }) };
		let mut bytes = vec![0; length];
		match file.read_exact_at(&mut bytes, u64::from(start) * unit as u64) {
			// The file was cut short behind our back.
			Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.damaged(start)),
			outcome => outcome.map(|()| bytes).map_err(|error| StoreError::io("read", &self.path, error)),
		}
	}

	fn damaged(&self, leaf: u32) -> StoreError {
		let root = self.content.root;
		tracing::warn!(?root, leaf, "a stored blob is damaged; dropping it");
		self.store.discard(root);
		StoreError::Damaged { root, leaf }
	}
}
