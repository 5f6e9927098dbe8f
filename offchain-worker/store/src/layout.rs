//! Names of files. Every path is made of a root's hex digits, so nothing outside the folder can be named.

use crate::{
	leaves::{parse_hashes, ContentDescriptor, LeafList},
	StoreError,
};
use neuroshard_types::H256;
use std::{
	collections::BTreeMap,
	fs, io,
	path::{Path, PathBuf},
	time::SystemTime,
};

/// Paths of the files of a store.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
	dir: PathBuf,
}

/// A file of a blob.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
	/// All bytes.
	Bin,
	/// Leaf hashes.
	Leaves,
	/// A download.
	Part,
}

impl Kind {
	const ALL: [Self; 3] = [Self::Bin, Self::Leaves, Self::Part];

	fn extension(self) -> &'static str {
		match self {
			Self::Bin => "bin",
			Self::Leaves => "leaves",
			Self::Part => "part",
		}
	}
}

/// A blob or download found on disk, its leaf list checked against its root.
pub(crate) struct Found {
	pub(crate) content: ContentDescriptor,
	pub(crate) complete: bool,
	pub(crate) modified: SystemTime,
}

impl Layout {
	/// Creates the folders below `dir`.
	pub(crate) fn create(dir: &Path) -> Result<Self, StoreError> {
		let layout = Self::at(dir);
		for folder in [layout.blobs(), layout.tmp(), layout.spare()] {
			fs::create_dir_all(&folder).map_err(|error| StoreError::io("create", &folder, error))?;
		}
		Ok(layout)
	}

	/// The layout at `dir`, without touching the disk.
	pub(crate) fn at(dir: &Path) -> Self {
		Self { dir: dir.to_owned() }
	}

	pub(crate) fn dir(&self) -> &Path {
		&self.dir
	}

	pub(crate) fn lock_file(&self) -> PathBuf {
		self.dir.join("store.lock")
	}

	pub(crate) fn pins_file(&self) -> PathBuf {
		self.dir.join("pins.json")
	}

	pub(crate) fn tmp(&self) -> PathBuf {
		self.dir.join("tmp")
	}

	fn spare(&self) -> PathBuf {
		self.dir.join("spare")
	}

	/// File of the spare with this name.
	pub(crate) fn spare_file(&self, name: &str) -> PathBuf {
		self.spare().join(name)
	}

	/// Removes a spare; one that does not exist is fine.
	pub(crate) fn remove_spare(&self, name: &str) -> Result<(), StoreError> {
		let path = self.spare_file(name);
		match fs::remove_file(&path) {
			Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", &path, error)),
			_ => Ok(()),
		}
	}

	/// Spares on disk, with their sizes.
	pub(crate) fn spares(&self) -> Result<BTreeMap<String, u64>, StoreError> {
		let mut spares = BTreeMap::new();
		for path in list(&self.spare())? {
			let size = fs::metadata(&path).map_err(|error| StoreError::io("inspect", &path, error))?.len();
			if let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| is_spare(name)) {
				spares.insert(name.to_owned(), size);
			}
		}
		Ok(spares)
	}

	fn blobs(&self) -> PathBuf {
		self.dir.join("blobs")
	}

	/// File of `root`.
	pub(crate) fn path(&self, root: H256, kind: Kind) -> PathBuf {
		let name = hex::encode(root.0);
		self.blobs().join(&name[..2]).join(format!("{name}.{}", kind.extension()))
	}

	/// Creates the folder that holds the files of `root`.
	pub(crate) fn create_parent(&self, root: H256) -> Result<(), StoreError> {
		let path = self.path(root, Kind::Bin);
		let folder = path.parent().unwrap_or(&self.dir);
		fs::create_dir_all(folder).map_err(|error| StoreError::io("create", folder, error))
	}

	/// Removes files of `root`; those that do not exist are fine.
	pub(crate) fn remove(&self, root: H256, kinds: &[Kind]) -> Result<(), StoreError> {
		for kind in kinds {
			let path = self.path(root, *kind);
			match fs::remove_file(&path) {
				Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(StoreError::io("remove", &path, error)),
				_ => {}
			}
		}
		Ok(())
	}

	/// Empties the folder of files being written.
	pub(crate) fn clear_tmp(&self) -> Result<(), StoreError> {
		for path in list(&self.tmp())? {
			fs::remove_file(&path).map_err(|error| StoreError::io("remove", &path, error))?;
		}
		Ok(())
	}

	/// Lists the entries on disk. Files that belong to no sound blob or download are removed; foreign files are left alone.
	pub(crate) fn scan(&self) -> Result<Vec<Found>, StoreError> {
		let mut files: BTreeMap<H256, Vec<Kind>> = BTreeMap::new();
		for folder in list(&self.blobs())?.into_iter().filter(|path| path.is_dir()) {
			for path in list(&folder)? {
				if let Some((root, kind)) = self.parse(&path) {
					files.entry(root).or_default().push(kind);
				}
			}
		}
		let mut found = Vec::new();
		for (root, kinds) in files {
			match self.examine(root, &kinds)? {
				Some(sound) => found.push(sound),
				None => {
					tracing::warn!(?root, "dropping incomplete or damaged files of a blob");
					self.remove(root, &Kind::ALL)?;
				}
			}
		}
		Ok(found)
	}

	fn parse(&self, path: &Path) -> Option<(H256, Kind)> {
		let stem = path.file_stem()?.to_str()?;
		let kind = Kind::ALL.into_iter().find(|kind| path.extension().is_some_and(|found| found == kind.extension()))?;
		let mut root = [0; 32];
		hex::decode_to_slice(stem, &mut root).ok()?;
		// Only files where they belong count (this also refuses upper-case digits).
		(self.path(H256(root), kind) == path).then_some((H256(root), kind))
	}

	fn examine(&self, root: H256, kinds: &[Kind]) -> Result<Option<Found>, StoreError> {
		let complete = kinds.contains(&Kind::Bin);
		if !kinds.contains(&Kind::Leaves) || !(complete || kinds.contains(&Kind::Part)) {
			return Ok(None);
		}
		let Some(list) = self.read_list(root)? else { return Ok(None) };
		let content = list.descriptor();
		let path = self.path(root, if complete { Kind::Bin } else { Kind::Part });
		let metadata = fs::metadata(&path).map_err(|error| StoreError::io("inspect", &path, error))?;
		if metadata.len() != content.bytes() {
			return Ok(None);
		}
		if complete && kinds.contains(&Kind::Part) {
			self.remove(root, &[Kind::Part])?;
		}
		let modified = metadata.modified().map_err(|error| StoreError::io("inspect", &path, error))?;
		Ok(Some(Found { content, complete, modified }))
	}

	/// The stored leaf list of `root`; `None` if it does not hash to `root`.
	pub(crate) fn read_list(&self, root: H256) -> Result<Option<LeafList>, StoreError> {
		let path = self.path(root, Kind::Leaves);
		let bytes = fs::read(&path).map_err(|error| StoreError::io("read", &path, error))?;
		let Some(hashes) = parse_hashes(&bytes) else { return Ok(None) };
		let Ok(leaves) = u32::try_from(hashes.len()) else { return Ok(None) };
		Ok(LeafList::verified(ContentDescriptor { root, leaves }, hashes).ok())
	}
}

/// Returns whether a spare may have this name: nothing outside its folder can be named.
pub(crate) fn is_spare(name: &str) -> bool {
	!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
	let failed = |error| StoreError::io("list", folder, error);
	fs::read_dir(folder).map_err(failed)?.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect()
}
