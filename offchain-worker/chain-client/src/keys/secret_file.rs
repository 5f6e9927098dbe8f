//! Secrets at rest: one small file each, readable by its owner alone, never half-written, never overwritten by another secret.

use super::KeyError;
use neuroshard_atomic_write::write_private;
use std::{
	fs::{self, File},
	io::{Read, Write},
	os::unix::fs::{DirBuilderExt, PermissionsExt},
	path::Path,
};
use zeroize::Zeroizing;

/// Longest secret file that is read. A 24-word phrase takes less than 300 bytes, and encrypted less than 800.
const MAX_BYTES: u64 = 4096;

/// Creates `path` with `secret` and mode 0600. The file appears under its name complete or not at all.
///
/// # Errors
/// [`KeyError::Exists`] if there is such a file already: a key is never replaced silently.
pub(super) fn create(path: &Path, secret: &str) -> Result<(), KeyError> {
	let io = |source| KeyError::Io { path: path.to_path_buf(), source };
	let directory = path.parent().unwrap_or(Path::new("."));
	fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(io)?;
	// `tempfile` creates with mode 0600, so that the secret is at no moment readable by others.
	let mut file = tempfile::NamedTempFile::new_in(directory).map_err(io)?;
	file.write_all(secret.as_bytes()).map_err(io)?;
	file.write_all(b"\n").map_err(io)?;
	file.as_file().sync_all().map_err(io)?;
	file.persist_noclobber(path).map_err(|refused| match refused.error.kind() {
		std::io::ErrorKind::AlreadyExists => KeyError::Exists { path: path.to_path_buf() },
		_ => io(refused.error),
	})?;
	File::open(directory).and_then(|directory| directory.sync_all()).map_err(io)
}

/// Puts the same secret into `path` in another form: the file is the old or the new one at any moment, and its owner's alone.
///
/// # Errors
/// [`KeyError::Io`]; the file is then as it was.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), KeyError> {
	let line = Zeroizing::new(format!("{text}\n"));
	write_private(path, line.as_bytes()).map_err(|source| KeyError::Io { path: path.to_path_buf(), source })
}

/// Reads the secret in `path`, without surrounding white space.
///
/// # Errors
/// [`KeyError::Missing`], [`KeyError::TooOpen`] if group or others may read or write it, [`KeyError::Malformed`] if it is no text.
pub(super) fn read(path: &Path) -> Result<Zeroizing<String>, KeyError> {
	let io = |source: std::io::Error| match source.kind() {
		std::io::ErrorKind::NotFound => KeyError::Missing { path: path.to_path_buf() },
		_ => KeyError::Io { path: path.to_path_buf(), source },
	};
	let file = File::open(path).map_err(io)?;
	let mode = file.metadata().map_err(io)?.permissions().mode() & 0o777;
	if mode & 0o077 != 0 {
		return Err(KeyError::TooOpen { path: path.to_path_buf(), mode });
	}
	let mut text = Zeroizing::new(String::new());
	file.take(MAX_BYTES).read_to_string(&mut text).map_err(|source| match source.kind() {
		std::io::ErrorKind::InvalidData => KeyError::Malformed { path: path.to_path_buf(), expected: "text" },
		_ => io(source),
	})?;
	Ok(Zeroizing::new(text.trim().to_owned()))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_secret_comes_back_and_its_file_belongs_to_the_owner_alone() {
		let base = tempfile::tempdir().unwrap();
		let path = base.path().join("keys/account");
		create(&path, "0x01").unwrap();
		assert_eq!(read(&path).unwrap().as_str(), "0x01");
		assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
		assert_eq!(fs::metadata(base.path().join("keys")).unwrap().permissions().mode() & 0o777, 0o700);
	}

	#[test]
	fn an_existing_secret_is_never_replaced() {
		let base = tempfile::tempdir().unwrap();
		let path = base.path().join("account");
		create(&path, "first").unwrap();
		let error = create(&path, "second").unwrap_err();
		assert!(matches!(error, KeyError::Exists { .. }));
		assert_eq!(read(&path).unwrap().as_str(), "first");
		assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1, "no temporary file stays behind");
	}

	#[test]
	fn a_missing_secret_is_named() {
		let error = read(Path::new("/nowhere/keys/account")).unwrap_err();
		assert!(matches!(error, KeyError::Missing { .. }));
		assert!(error.to_string().contains("/nowhere/keys/account"), "{error}");
	}

	#[test]
	fn a_secret_that_others_can_read_is_refused_with_the_remedy() {
		let base = tempfile::tempdir().unwrap();
		let path = base.path().join("account");
		create(&path, "0x01").unwrap();
		fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
		let error = read(&path).unwrap_err();
		assert!(matches!(error, KeyError::TooOpen { mode: 0o640, .. }));
		assert!(error.to_string().contains("chmod 600"), "{error}");
	}

	#[test]
	fn a_binary_file_is_not_a_secret() {
		let base = tempfile::tempdir().unwrap();
		let path = base.path().join("account");
		fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
		fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
		assert!(matches!(read(&path), Err(KeyError::Malformed { .. })));
	}
}
