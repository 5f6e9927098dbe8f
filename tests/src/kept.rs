//! Folders of tests.

use crate::pace;
use tempfile::TempDir;

/// A new folder of a test about `what`. It stays, with logs and data, unless the test calls [`TempDir::disable_cleanup`] with `false` in the end.
///
/// Tests begin with it, so the machine's [`pace`] is measured here: before any of them computes something, which would make a machine seem slower
/// than the networks of all of them find it.
///
/// # Errors
/// Those of making a folder.
pub fn kept_unless_passed(what: &str) -> std::io::Result<TempDir> {
	pace();
	let mut folder = tempfile::Builder::new().prefix(&format!("neuroshard-{what}-")).tempdir()?;
	folder.disable_cleanup(true);
	println!("everything is in {}", folder.path().display());
	Ok(folder)
}
