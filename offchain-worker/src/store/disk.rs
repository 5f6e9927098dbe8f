//! The few file operations that can fail for want of space, behind a trait so that tests can make them fail.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

/// Writing to disk.
pub trait Disk: Send + Sync {
	/// Makes sure that `file` has room for `bytes` bytes, so that a full disk is noticed before the work is done.
	fn reserve(&self, file: &File, bytes: u64) -> io::Result<()>;
	/// Writes all of `bytes` at `offset`.
	fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()>;
	/// Waits until the contents of `file` have reached the disk.
	fn sync(&self, file: &File) -> io::Result<()>;
	/// Renames a file, replacing what had the new name.
	fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
}

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDisk;

impl Disk for LocalDisk {
	fn reserve(&self, file: &File, bytes: u64) -> io::Result<()> {
		use rustix::{
			fs::{fallocate, FallocateFlags},
			io::Errno,
		};
		match fallocate(file, FallocateFlags::empty(), 0, bytes) {
			// Not every file system can reserve; there a full disk shows while writing.
			Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(bytes),
			outcome => Ok(outcome?),
		}
	}

	fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
		file.write_all_at(bytes, offset)
	}

	fn sync(&self, file: &File) -> io::Result<()> {
		file.sync_all()
	}

	fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
		std::fs::rename(from, to)?;
		// The new name survives a power cut only once its folder is on disk.
		to.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
	}
}
