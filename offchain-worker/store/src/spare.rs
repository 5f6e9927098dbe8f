//! Spare files: what saves work as long as there is room for it. They are named by digits and hyphens, handed to nobody, not checked when
//! they are read, and deleted when nothing else can be, in the order of their names.

use crate::{
	disk::LEFT_FREE,
	index::Space,
	layout::is_spare,
	storage::{Room, Store},
	StoreError,
};
use std::{
	fs::File,
	io::{self, Read},
};

impl Store {
	/// Writes a spare in place of an older one of this name, so that all spares together take at most `share` bytes. `false` if there is no
	/// room for it.
	///
	/// # Errors
	/// The disk's; [`StoreError::Name`] for a name of anything but digits and hyphens.
	pub fn put_spare(&self, name: &str, parts: &[&[u8]], share: u64) -> Result<bool, StoreError> {
		if !is_spare(name) {
			return Err(StoreError::Name { name: name.to_owned() });
		}
		let bytes = parts.iter().map(|part| part.len() as u64).sum();
		let mut index = self.index();
		let space = Space { folder: self.folder(), free: self.free().saturating_sub(LEFT_FREE) };
		let evicted = match index.reserve_spare(name, bytes, share, &space) {
			Err(StoreError::OverLimit { .. } | StoreError::DiskFull { .. }) => return Ok(false),
			evicted => evicted?,
		};
		let deleted = self.delete(&evicted);
		drop(index);
		let room = Room { store: self.clone(), bytes };
		deleted?;
		let file = self.temporary("spare")?;
		file.reserve(bytes)?;
		let mut offset = 0;
		for part in parts {
			file.write(part, offset)?;
			offset += part.len() as u64;
		}
		file.sync()?;
		let mut index = self.index();
		file.keep_as(&self.layout().spare_file(name))?;
		room.settle(&mut index);
		index.spares.insert(name.to_owned(), bytes);
		Ok(true)
	}

	/// A spare; `None` if there is none (any more).
	///
	/// # Errors
	/// The disk's.
	pub fn spare(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
		let Some(mut file) = self.open_spare(name)? else { return Ok(None) };
		let mut bytes = Vec::new();
		let read = file.read_to_end(&mut bytes);
		read.map(|_| Some(bytes)).map_err(|error| StoreError::io("read", &self.layout().spare_file(name), error))
	}

	/// A spare to be read piece by piece; `None` if there is none (any more).
	///
	/// # Errors
	/// The disk's.
	pub fn open_spare(&self, name: &str) -> Result<Option<File>, StoreError> {
		if !self.index().spares.contains_key(name) {
			return Ok(None);
		}
		let path = self.layout().spare_file(name);
		match File::open(&path) {
			Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
			outcome => outcome.map(Some).map_err(|error| StoreError::io("open", &path, error)),
		}
	}

	/// Names of all spares that begin with `prefix`, ascending.
	pub fn spares(&self, prefix: &str) -> Vec<String> {
		self.index().spares.keys().filter(|name| name.starts_with(prefix)).cloned().collect()
	}

	/// Deletes all spares whose names begin with `prefix`.
	///
	/// # Errors
	/// The disk's.
	pub fn remove_spares(&self, prefix: &str) -> Result<(), StoreError> {
		for name in self.spares(prefix) {
			let mut index = self.index();
			self.layout().remove_spare(&name)?;
			index.spares.remove(&name);
		}
		Ok(())
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn spares_come_back_as_they_were_also_after_a_restart_and_are_found_by_prefix() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		assert!(store.put_spare("1-2", &[b"ab", b"c"], 100).unwrap());
		assert!(store.put_spare("1-3", &[b"d"], 100).unwrap() && store.put_spare("2-1", &[b"e"], 100).unwrap());
		assert!(store.put_spare("1-3", &[b"new"], 100).unwrap(), "in place of the older one");
		assert!(matches!(store.put_spare("../x", &[b"d"], 100), Err(StoreError::Name { .. })));
		drop(store);
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		assert_eq!(store.spares("1-"), ["1-2", "1-3"]);
		assert_eq!(store.spare("1-2").unwrap().unwrap(), b"abc");
		assert_eq!(store.spare("1-3").unwrap().unwrap(), b"new");
		assert_eq!(store.usage().bytes, 3 + 3 + 1);
		store.remove_spares("1-").unwrap();
		assert_eq!((store.spares(""), store.spare("1-2").unwrap()), (vec!["2-1".to_owned()], None));
		assert_eq!(store.usage().bytes, 1);
	}

	#[test]
	fn spares_keep_to_their_share_and_the_first_by_name_goes() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		for name in ["3", "1", "2"] {
			assert!(store.put_spare(name, &[&[0; 40]], 100).unwrap());
		}
		assert_eq!(store.spares(""), ["2", "3"]);
		assert!(!store.put_spare("4", &[&[0; 101]], 100).unwrap(), "it alone is too much");
		assert_eq!(store.spares(""), ["2", "3"]);
	}

	#[test]
	fn spares_give_way_to_blobs_but_not_to_blobs_that_nobody_keeps() {
		let dir = tempfile::tempdir().unwrap();
		let blob = crate::ContentDescriptor { root: Default::default(), leaves: 1 }.disk_bytes();
		let store = Store::open(dir.path(), 3 * blob).unwrap();
		let unpinned = store.put(&[1; 4096]).unwrap().root;
		store.put_pinned(&[2; 4096], "kept").unwrap();
		assert!(store.put_spare("1", &[&[0; 4000]], blob).unwrap());
		store.put_pinned(&[3; 4096], "kept").unwrap();
		assert!(!store.contains(unpinned) && store.spares("") == ["1"]);
		store.put_pinned(&[4; 4096], "kept").unwrap();
		assert_eq!(store.spares(""), [""; 0]);
		assert!(!store.put_spare("2", &[&[0; 4000]], blob).unwrap(), "all that is there is kept");
		assert_eq!(store.usage().bytes, 3 * blob);
	}

	#[test]
	fn what_is_replaced_stays_until_the_new_one_is_there() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		for name in ["1", "9"] {
			assert!(store.put_spare(name, &[&[1; 40]], 100).unwrap());
		}
		let space = Space { folder: store.folder(), free: u64::MAX };
		let evicted = store.index().reserve_spare("9", 60, 100, &space).unwrap();
		assert_eq!((evicted.spares.as_slice(), store.spares("")), (&[][..], vec!["1".to_owned(), "9".to_owned()]));
		let evicted = store.index().reserve_spare("9", 70, 100, &space).unwrap();
		assert_eq!((evicted.spares, store.spares("")), (vec!["1".to_owned()], vec!["9".to_owned()]));
	}
}
