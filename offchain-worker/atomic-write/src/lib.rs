//! Writing files so that a crash or a full disk leaves the old content or the new one, never a torn file.

use std::{
	fs::{self, File},
	io::{self, BufWriter, Write},
	path::Path,
};

/// Writes `bytes` to `path` atomically. See [`write_atomically_with`].
///
/// # Errors
/// What the system says; `path` is then as it was before.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
	write_atomically_with(path, |writer| writer.write_all(bytes))
}

/// Lets `fill` write to a temporary file beside `path`, flushes it to the disk, and renames it over `path`. If anything
/// fails, the temporary file is removed.
///
/// # Errors
/// What the system or `fill` says; `path` is then as it was before.
pub fn write_atomically_with(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
	write(path, fill, set_default_mode)
}

/// As [`write_atomically`], readable by its owner alone.
///
/// # Errors
/// What the system says; `path` is then as it was before.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
	// Temporary files are private, and stay so.
	write(path, |writer| writer.write_all(bytes), |_| Ok(()))
}

fn write(
	path: &Path,
	fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
	set_mode: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
	let folder = match path.parent() {
		Some(parent) if !parent.as_os_str().is_empty() => parent,
		_ => Path::new("."),
	};
	let mut temporary = tempfile::Builder::new().prefix(".writing-").tempfile_in(folder)?;
	let mut writer = BufWriter::with_capacity(1 << 20, temporary.as_file_mut());
	fill(&mut writer)?;
	writer.flush()?;
	drop(writer);
	temporary.as_file().sync_all()?;
	set_mode(temporary.as_file())?;
	temporary.persist(path).map_err(|error| error.error)?;
	// The rename itself must survive a power cut, too.
	File::open(folder)?.sync_all()
}

/// Temporary files are private; what they become is readable like any other file of the user.
fn set_default_mode(file: &File) -> io::Result<()> {
	use std::os::unix::fs::PermissionsExt;
	file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_full_disk_leaves_the_old_file_and_nothing_else() {
		let folder = tempfile::tempdir().unwrap();
		let path = folder.path().join("state");
		write_atomically(&path, b"old").unwrap();
		let error = write_atomically_with(&path, |writer| {
			writer.write_all(b"half of the new conte")?;
			Err(io::ErrorKind::StorageFull.into())
		});
		assert_eq!(error.unwrap_err().kind(), io::ErrorKind::StorageFull);
		assert_eq!(fs::read(&path).unwrap(), b"old");
		assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
	}

	#[test]
	fn a_file_is_replaced_as_a_whole() {
		let folder = tempfile::tempdir().unwrap();
		let path = folder.path().join("state");
		write_atomically(&path, b"a longer first version").unwrap();
		write_atomically(&path, b"second").unwrap();
		assert_eq!(fs::read(&path).unwrap(), b"second");
	}
}
