//! The few file operations that need space, behind a trait so that tests can make them fail.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

/// Bytes of the file system that nothing is begun in for which there need not be room: what this account has claimed is defended with the
/// last of them, and journal, reports and status are written there.
pub const LEFT_FREE: u64 = 256 << 20;

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
	/// Bytes that may still be written below `folder`.
	fn free(&self, folder: &Path) -> io::Result<u64>;
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

	fn free(&self, folder: &Path) -> io::Result<u64> {
		free_disk(folder)
	}
}

/// Bytes that may still be written below `path`.
///
/// # Errors
/// What the system says.
pub fn free_disk(path: &Path) -> std::io::Result<u64> {
	let stat = rustix::fs::statvfs(path)?;
	Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn free_disk_is_asked_of_the_file_system() {
		assert!(free_disk(Path::new("/")).unwrap() > 0);
		assert!(free_disk(Path::new("/nowhere/at/all")).is_err());
	}
}
