//! What steps keep outside of memory, in a folder: one file for each vector.

use super::FilesError;
use neuroshard_compute::exec::{Shelf, Shelved};
use neuroshard_store::free_disk;
use std::{
	collections::BTreeMap,
	fs::{self, File, OpenOptions},
	io,
	os::unix::fs::{FileExt, OpenOptionsExt},
	path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Bytes that are turned into numbers, or numbers into bytes, at a time.
const CHUNK: usize = 1 << 20;

/// Where the files lie.
#[derive(Debug)]
enum Place {
	/// A folder of its own, which goes with the shelf.
	Own(TempDir),
	/// One that stays.
	Kept(PathBuf),
}

/// Vectors of floats in files, as this machine has them in memory: little-endian, in the order of their layout. Only their owner may read them. They go with the
/// shelf, unless they are [kept](Self::keep).
#[derive(Debug)]
pub struct FileShelf {
	place: Place,
	files: BTreeMap<Shelved, File>,
	bytes: Vec<u8>,
	read: u64,
	written: u64,
}

/// Name of the file of a vector.
fn name(what: Shelved) -> String {
	match what {
		Shelved::Parameters => "parameters".into(),
		Shelved::FirstMoment => "first-moment".into(),
		Shelved::SecondMoment => "second-moment".into(),
		Shelved::Gradient => "gradient".into(),
		Shelved::Base => "base".into(),
		Shelved::Rows(unit) => format!("rows-{unit}"),
		Shelved::RowGradients(unit) => format!("row-gradients-{unit}"),
		Shelved::HeldOutRows => "held-out-rows".into(),
	}
}

impl FileShelf {
	/// An empty one in a new folder inside `folder`, which is made if it is not there.
	///
	/// # Errors
	/// [`FilesError::NoRoom`] if less than `needed` bytes are free there; [`FilesError::Io`].
	pub fn new(folder: &Path, needed: u64) -> Result<Self, FilesError> {
		let io = |source| FilesError::io(folder, source);
		fs::create_dir_all(folder).map_err(io)?;
		check_room(folder, needed)?;
		let own = tempfile::Builder::new().prefix("out-of-core-").tempdir_in(folder).map_err(io)?;
		Ok(Self::at(Place::Own(own)))
	}

	/// One that was [kept](Self::keep) in `folder`.
	pub fn open(folder: &Path) -> Self {
		Self::at(Place::Kept(folder.to_path_buf()))
	}

	fn at(place: Place) -> Self {
		Self { place, files: BTreeMap::new(), bytes: Vec::new(), read: 0, written: 0 }
	}

	/// Where its files are.
	pub fn folder(&self) -> &Path {
		match &self.place {
			Place::Own(own) => own.path(),
			Place::Kept(folder) => folder,
		}
	}

	/// Leaves the files where they are, and returns their folder.
	pub fn keep(self) -> PathBuf {
		match self.place {
			Place::Own(own) => own.keep(),
			Place::Kept(folder) => folder,
		}
	}

	/// Bytes that were read and written so far.
	pub fn traffic(&self) -> [u64; 2] {
		[self.read, self.written]
	}

	/// Makes a vector one of so many zeros. They take no room before something else is written.
	///
	/// # Errors
	/// [`FilesError::Io`].
	pub fn zero(&mut self, what: Shelved, len: usize) -> Result<(), FilesError> {
		let path = self.folder().join(name(what));
		let bytes = u64::try_from(len).unwrap_or(u64::MAX).saturating_mul(4);
		let file = self.file(what).map_err(|source| FilesError::io(&path, source))?;
		file.set_len(0).and_then(|()| file.set_len(bytes)).map_err(|source| FilesError::io(&path, source))
	}

	/// The file of a vector, which is made if it is not there.
	fn file(&mut self, what: Shelved) -> io::Result<&File> {
		let path = self.folder().join(name(what));
		Ok(match self.files.entry(what) {
			std::collections::btree_map::Entry::Occupied(file) => file.into_mut(),
			std::collections::btree_map::Entry::Vacant(place) => {
				place.insert(OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?)
			}
		})
	}

	/// An error with the file that it is of, and what to do.
	fn named(&self, what: Shelved, source: io::Error) -> io::Error {
		let kind = source.kind();
		io::Error::new(kind, FilesError::io(&self.folder().join(name(what)), source))
	}
}

/// Refuses to go on where less than `needed` bytes are free in `folder`.
pub(super) fn check_room(folder: &Path, needed: u64) -> Result<(), FilesError> {
	let free = free_disk(folder).map_err(|source| FilesError::io(folder, source))?;
	match free < needed {
		true => Err(FilesError::NoRoom { folder: folder.to_path_buf(), needed, free }),
		false => Ok(()),
	}
}

/// Offset of number `first` in a file.
fn offset(first: usize) -> u64 {
	u64::try_from(first).unwrap_or(u64::MAX).saturating_mul(4)
}

impl Shelf for FileShelf {
	fn read(&mut self, what: Shelved, first: usize, values: &mut [f32]) -> io::Result<()> {
		let mut bytes = std::mem::take(&mut self.bytes);
		bytes.resize(CHUNK, 0);
		let mut at = offset(first);
		let done = self.file(what).and_then(|file| {
			values.chunks_mut(CHUNK / 4).try_for_each(|values| {
				let bytes = &mut bytes[..4 * values.len()];
				file.read_exact_at(bytes, at)?;
				at = at.saturating_add(bytes.len() as u64);
				values.iter_mut().zip(bytes.as_chunks::<4>().0).for_each(|(value, bytes)| *value = f32::from_le_bytes(*bytes));
				Ok(())
			})
		});
		self.bytes = bytes;
		self.read = self.read.saturating_add(4 * values.len() as u64);
		done.map_err(|error| self.named(what, error))
	}

	fn write(&mut self, what: Shelved, first: usize, values: &[f32]) -> io::Result<()> {
		let mut bytes = std::mem::take(&mut self.bytes);
		bytes.resize(CHUNK, 0);
		let mut at = offset(first);
		let done = self.file(what).and_then(|file| {
			values.chunks(CHUNK / 4).try_for_each(|values| {
				let bytes = &mut bytes[..4 * values.len()];
				values.iter().zip(bytes.as_chunks_mut::<4>().0).for_each(|(value, bytes)| *bytes = value.to_le_bytes());
				file.write_all_at(bytes, at)?;
				at = at.saturating_add(bytes.len() as u64);
				Ok(())
			})
		});
		self.bytes = bytes;
		self.written = self.written.saturating_add(4 * values.len() as u64);
		done.map_err(|error| self.named(what, error))
	}
}
