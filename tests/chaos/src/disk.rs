//! A disk that can be filled.

use neuroshard_e2e::Error;
use neuroshard_store::LEFT_FREE;
use std::{
	fs::File,
	io::Write,
	path::{Path, PathBuf},
	process::Command,
};

/// Bytes of it: as many as a worker leaves free, and as many again.
const SIZE: u64 = 2 * LEFT_FREE;

/// A small disk of its own for the first worker of a network: memory of this machine. Gone when this is dropped.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
	/// Mounts it in `network`, the folder of a network that has no workers yet.
	///
	/// # Errors
	/// [`Error::Setup`] if that is not permitted, [`Error::File`].
	pub fn mount(network: &Path) -> Result<Self, Error> {
		let folder = network.join("workers/0");
		std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
		let size = format!("size={SIZE}");
		let output =
			Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&folder).output().map_err(Error::file(&folder))?;
		match output.status.success() {
			true => Ok(Self(folder)),
			false => Err(Error::Setup(format!("cannot mount a small disk: {}", String::from_utf8_lossy(&output.stderr).trim()))),
		}
	}

	fn filler(&self) -> PathBuf {
		self.0.join("filler")
	}

	/// Writes until nothing more fits.
	///
	/// # Errors
	/// [`Error::File`].
	pub fn fill(&self) -> Result<(), Error> {
		let path = self.filler();
		let mut file = File::create(&path).map_err(Error::file(&path))?;
		let (mut piece, zeros) = (1 << 20, vec![0; 1 << 20]);
		while piece > 0 {
			match file.write_all(zeros.get(..piece).unwrap_or_default()) {
				Ok(()) => {}
				// Then with smaller pieces, down to single bytes.
				Err(_) => piece /= 16,
			}
		}
		Ok(())
	}

	/// Gives the room back.
	///
	/// # Errors
	/// [`Error::File`].
	pub fn empty(&self) -> Result<(), Error> {
		let path = self.filler();
		std::fs::remove_file(&path).map_err(Error::file(&path))
	}
}

impl Drop for SmallDisk {
	fn drop(&mut self) {
		if let Err(error) = Command::new("umount").arg("-l").arg(&self.0).status() {
			tracing::warn!("cannot unmount {}: {error}", self.0.display());
		}
	}
}
