//! Where the node and worker binaries are.

use crate::Error;
use std::path::{Path, PathBuf};

/// The binaries that a network runs.
#[derive(Clone, Debug)]
pub struct Binaries {
	/// `neuroshard-node`.
	pub node: PathBuf,
	/// `neuroshard-worker`.
	pub worker: PathBuf,
	/// Where all of them are.
	folder: PathBuf,
}

impl Binaries {
	/// The binaries of the build that the running program belongs to: they lie beside it, or one folder up for a test or an example.
	///
	/// # Errors
	/// [`Error::NotBuilt`] if one is missing.
	pub fn find() -> Result<Self, Error> {
		let program = std::env::current_exe().map_err(Error::file(Path::new("the running program")))?;
		let folder = program.parent().unwrap_or(Path::new("."));
		let inner = folder.ends_with("deps") || folder.ends_with("examples");
		let folder = if inner { folder.parent().unwrap_or(folder) } else { folder };
		Ok(Self { node: built(folder, "neuroshard-node")?, worker: built(folder, "neuroshard-worker")?, folder: folder.to_path_buf() })
	}

	/// `neuroshard-cheat`: a worker that can be told to cheat.
	///
	/// # Errors
	/// [`Error::NotBuilt`] if it is missing.
	pub fn cheat(&self) -> Result<PathBuf, Error> {
		self.other("neuroshard-cheat")
	}

	/// Another file of the same build, which only some need.
	///
	/// # Errors
	/// [`Error::NotBuilt`] if it is missing.
	pub fn other(&self, name: &str) -> Result<PathBuf, Error> {
		built(&self.folder, name)
	}
}

/// The file `name` in `folder`, if it is there.
fn built(folder: &Path, name: &str) -> Result<PathBuf, Error> {
	let path = folder.join(name);
	match path.is_file() {
		true => Ok(path),
		false => Err(Error::NotBuilt { path }),
	}
}
