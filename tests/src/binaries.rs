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
	/// `neuroshard-cheat`; only networks with cheaters need it.
	cheat: PathBuf,
	/// The library of `neuroshard-clock`; only machines with clocks of their own need it.
	clock: PathBuf,
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
		let binary = |name: &str| {
			let path = folder.join(name);
			if path.is_file() {
				Ok(path)
			} else {
				Err(Error::NotBuilt { path })
			}
		};
		Ok(Self {
			node: binary("neuroshard-node")?,
			worker: binary("neuroshard-worker")?,
			cheat: folder.join("neuroshard-cheat"),
			clock: folder.join("libneuroshard_clock.so"),
		})
	}

	/// `neuroshard-cheat`: a worker that can be told to cheat.
	///
	/// # Errors
	/// [`Error::NotBuilt`] if it is missing.
	pub fn cheat(&self) -> Result<&Path, Error> {
		built(&self.cheat)
	}

	/// The library of `neuroshard-clock`: a clock that can be set wrong.
	///
	/// # Errors
	/// [`Error::NotBuilt`] if it is missing.
	pub fn clock(&self) -> Result<&Path, Error> {
		built(&self.clock)
	}
}

/// `path`, if something is there.
fn built(path: &Path) -> Result<&Path, Error> {
	match path.is_file() {
		true => Ok(path),
		false => Err(Error::NotBuilt { path: path.to_path_buf() }),
	}
}
