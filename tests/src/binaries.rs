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
}

impl Binaries {
	/// The binaries of the build that the running program belongs to: they lie beside it, or one folder up for a test.
	///
	/// # Errors
	/// [`Error::NotBuilt`] if one is missing.
	pub fn find() -> Result<Self, Error> {
		let program = std::env::current_exe().map_err(Error::file(Path::new("the running program")))?;
		let folder = program.parent().unwrap_or(Path::new("."));
		let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
		let binary = |name: &str| {
			let path = folder.join(name);
			if path.is_file() {
				Ok(path)
			} else {
				Err(Error::NotBuilt { path })
			}
		};
		Ok(Self { node: binary("neuroshard-node")?, worker: binary("neuroshard-worker")? })
	}
}
