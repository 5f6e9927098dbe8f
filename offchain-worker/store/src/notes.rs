//! Notes: a few bytes by which somebody who knows a root that names no blob finds the blobs that it is made of. The root of a
//! checkpoint, for instance, is a hash over two blobs' roots. Whoever receives a note checks it against the root.

use crate::{Store, StoreError};
use neuroshard_atomic_write::write_atomically;
use neuroshard_types::H256;
use std::{
	fs, io,
	path::{Path, PathBuf},
};

/// Longest note.
pub const MAX_NOTE_BYTES: usize = 512 * 1024;

impl Store {
	/// Keeps `note` on `root`, also across restarts, in place of an earlier one. One that is there already takes no room on the disk.
	///
	/// # Errors
	/// [`StoreError::TooLarge`] beyond [`MAX_NOTE_BYTES`], [`StoreError::DiskFull`], [`StoreError::Io`].
	pub fn set_note(&self, root: H256, note: &[u8]) -> Result<(), StoreError> {
		if note.len() > MAX_NOTE_BYTES {
			return Err(StoreError::TooLarge { bytes: u64::try_from(note.len()).unwrap_or(u64::MAX) });
		}
		if self.note(root)?.as_deref() == Some(note) {
			return Ok(());
		}
		let path = self.note_path(root);
		let folder = self.folder().join("notes");
		fs::create_dir_all(&folder).map_err(|error| StoreError::io("create", &folder, error))?;
		write_atomically(&path, note).map_err(|error| StoreError::writing(&path, note.len() as u64, error))
	}

	/// The note on `root`, if there is one.
	///
	/// # Errors
	/// [`StoreError::Io`].
	pub fn note(&self, root: H256) -> Result<Option<Vec<u8>>, StoreError> {
		read_note(self.folder(), root)
	}

	/// Removes the note on `root`.
	///
	/// # Errors
	/// [`StoreError::Io`].
	pub fn remove_note(&self, root: H256) -> Result<(), StoreError> {
		let path = self.note_path(root);
		match fs::remove_file(&path) {
			Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", &path, error)),
			_ => Ok(()),
		}
	}

	fn note_path(&self, root: H256) -> PathBuf {
		note_path(self.folder(), root)
	}
}

/// The note on `root` of the store in `dir`, if there is one, while another process may be using that store.
///
/// # Errors
/// [`StoreError::Io`].
pub fn read_note(dir: &Path, root: H256) -> Result<Option<Vec<u8>>, StoreError> {
	let path = note_path(dir, root);
	match fs::read(&path) {
		Ok(note) => Ok(Some(note).filter(|note| note.len() <= MAX_NOTE_BYTES)),
		Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
		Err(error) => Err(StoreError::io("read", &path, error)),
	}
}

fn note_path(dir: &Path, root: H256) -> PathBuf {
	dir.join("notes").join(hex::encode(root.0))
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::fs::File;

	#[test]
	fn notes_survive_a_restart_and_can_be_replaced_and_removed() {
		let dir = tempfile::tempdir().unwrap();
		let root = H256::repeat_byte(1);
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		store.set_note(root, b"first").unwrap();
		store.set_note(root, b"second").unwrap();
		drop(store);
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		assert_eq!(store.note(root).unwrap().as_deref(), Some(b"second".as_slice()));
		store.remove_note(root).unwrap();
		store.remove_note(root).unwrap();
		assert_eq!(store.note(root).unwrap(), None);
	}

	#[test]
	fn a_note_that_is_there_is_not_written_again() {
		use std::os::unix::fs::MetadataExt;
		let dir = tempfile::tempdir().unwrap();
		let (store, root) = (Store::open(dir.path(), 1 << 20).unwrap(), H256::repeat_byte(1));
		store.set_note(root, b"same").unwrap();
		// Writing makes another file, for which a full disk has no room.
		let file = || fs::metadata(store.note_path(root)).unwrap().ino();
		let before = (file(), File::open(store.note_path(root)).unwrap());
		store.set_note(root, b"same").unwrap();
		assert_eq!(file(), before.0);
		store.set_note(root, b"other").unwrap();
		assert_ne!(file(), before.0);
	}

	#[test]
	fn a_note_is_short() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		assert!(matches!(store.set_note(H256::zero(), &[0; MAX_NOTE_BYTES + 1]), Err(StoreError::TooLarge { .. })));
	}
}
