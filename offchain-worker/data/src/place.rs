//! Placement of a built dataset: it appears in its folder complete, and what was there before stays until then.

use super::{
	dataset::{LEAVES_FILE, SHARDS_FOLDER, TOKENIZER_FILE},
	manifest::MANIFEST_FILE,
	sources::SOURCES_FILE,
	DataError,
};
use rustix::fs::{renameat_with, syncfs, RenameFlags, CWD};
use std::{
	fs::{self, File, Permissions},
	io,
	os::unix::fs::PermissionsExt,
	path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Fills a new or empty folder.
///
/// # Errors
/// [`DataError::Exists`] or [`DataError::Occupied`] if there is something in it, [`DataError::NoFolder`], [`DataError::Io`], or what `fill` says.
pub(super) fn create<T>(target: &Path, fill: impl FnOnce(&Path) -> Result<T, DataError>) -> Result<T, DataError> {
	match is_dataset(target)? {
		true => Err(DataError::Exists { path: target.to_path_buf() }),
		false => put(target, false, fill),
	}
}

/// Fills a folder anew that is new, empty, or holds a dataset, which goes when the new one is complete.
///
/// # Errors
/// [`DataError::Occupied`], [`DataError::NoFolder`], [`DataError::Io`], or what `fill` says.
pub(super) fn replace<T>(target: &Path, fill: impl FnOnce(&Path) -> Result<T, DataError>) -> Result<T, DataError> {
	let swap = is_dataset(target)?;
	put(target, swap, fill)
}

/// Returns whether `target` holds a dataset: a manifest, and nothing that a dataset does not have. A new or empty folder does not.
fn is_dataset(target: &Path) -> Result<bool, DataError> {
	let entries = match fs::read_dir(target) {
		Ok(entries) => entries,
		Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
		Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(DataError::NoFolder { path: target.to_path_buf() }),
		Err(error) => return Err(DataError::io(target, error)),
	};
	let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
	let mut names = names.collect::<io::Result<Vec<_>>>().map_err(|error| DataError::io(target, error))?;
	names.sort();
	let parts = [MANIFEST_FILE, TOKENIZER_FILE, SOURCES_FILE, LEAVES_FILE, SHARDS_FOLDER];
	let has_manifest = names.iter().any(|name| name == MANIFEST_FILE);
	match names.into_iter().find(|name| !has_manifest || !parts.contains(&name.as_str())) {
		Some(found) => Err(DataError::Occupied { path: target.to_path_buf(), found }),
		None => Ok(has_manifest),
	}
}

/// Fills a folder beside `target` and gives it the name, or swaps the two.
fn put<T>(target: &Path, swap: bool, fill: impl FnOnce(&Path) -> Result<T, DataError>) -> Result<T, DataError> {
	let target = resolve(target)?;
	let failed = |error| DataError::io(&target, error);
	let parent = target.parent().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
	// Readable by others as far as the user's mask says, unlike temporary folders otherwise.
	let building = temporary(parent)?;
	let filled = fill(building.path())?;
	// All files at once: one after another, a dataset of many shards would wait for the disk most of the time.
	File::open(building.path()).and_then(|folder| Ok(syncfs(folder)?)).map_err(|error| DataError::io(parent, error))?;
	// What fails here leaves `target` as it was; `building`, the new dataset or the old one, is removed when it is dropped.
	match swap {
		true => renameat_with(CWD, building.path(), CWD, &target, RenameFlags::EXCHANGE).map_err(io::Error::from),
		false => fs::rename(building.path(), &target),
	}
	.map_err(failed)?;
	// The new name must survive a power cut, too.
	File::open(parent).and_then(|folder| folder.sync_all()).map_err(|error| DataError::io(parent, error))?;
	Ok(filled)
}

/// Fills a folder beside `target`, which goes with what is in it.
///
/// # Errors
/// [`DataError::Io`], or what `fill` says.
pub(super) fn aside<T>(target: &Path, fill: impl FnOnce(&Path) -> Result<T, DataError>) -> Result<T, DataError> {
	let target = resolve(target)?;
	let building = temporary(target.parent().unwrap_or(&target))?;
	fill(building.path())
}

fn temporary(parent: &Path) -> Result<TempDir, DataError> {
	let folder = tempfile::Builder::new().prefix(".building-").permissions(Permissions::from_mode(0o777)).tempdir_in(parent);
	folder.map_err(|error| DataError::io(parent, error))
}

/// The folder itself, whatever links lead to it; its parent is created.
fn resolve(target: &Path) -> Result<PathBuf, DataError> {
	let failed = |error| DataError::io(target, error);
	if target.exists() {
		return target.canonicalize().map_err(failed);
	}
	let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
	fs::create_dir_all(parent).map_err(failed)?;
	let name = target.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
	Ok(parent.canonicalize().map_err(failed)?.join(name))
}

#[cfg(test)]
mod tests {
	use super::*;

	/// A folder with these files.
	fn folder(files: &[&str]) -> tempfile::TempDir {
		let folder = tempfile::tempdir().unwrap();
		for file in files {
			fs::write(folder.path().join(file), "old").unwrap();
		}
		folder
	}

	fn fill(folder: &Path) -> Result<(), DataError> {
		fs::write(folder.join(MANIFEST_FILE), "new").map_err(|error| DataError::io(folder, error))
	}

	fn names(folder: &Path) -> Vec<String> {
		let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
		names.sort();
		names
	}

	#[test]
	fn a_new_and_an_empty_folder_are_filled() {
		let base = folder(&[]);
		let (new, empty) = (base.path().join("a/b"), base.path().join("c"));
		fs::create_dir(&empty).unwrap();
		for target in [new, empty] {
			create(&target, fill).unwrap();
			assert_eq!(names(&target), [MANIFEST_FILE]);
			assert_eq!(names(target.parent().unwrap()).iter().filter(|name| name.starts_with('.')).count(), 0);
		}
	}

	#[test]
	fn a_dataset_is_replaced_only_when_asked_and_then_as_a_whole() {
		let base = folder(&[]);
		let target = base.path().join("dataset");
		create(&target, fill).unwrap();
		fs::write(target.join(LEAVES_FILE), "stale").unwrap();
		let error = create(&target, fill).unwrap_err();
		assert!(matches!(error, DataError::Exists { .. }) && error.to_string().contains("--force"), "{error}");
		replace(&target, fill).unwrap();
		assert_eq!(names(&target), [MANIFEST_FILE], "nothing stale is left");
		assert_eq!(names(base.path()), ["dataset"], "nor beside it");
	}

	#[test]
	fn a_build_that_fails_leaves_the_old_dataset() {
		let base = folder(&[]);
		let target = base.path().join("dataset");
		create(&target, fill).unwrap();
		fs::write(target.join(LEAVES_FILE), "old").unwrap();
		let failing = |folder: &Path| fill(folder).and(Err::<(), _>(DataError::Invalid("half-way".into())));
		assert!(replace(&target, failing).is_err());
		assert_eq!(names(&target), [LEAVES_FILE, MANIFEST_FILE]);
		assert_eq!(names(base.path()), ["dataset"]);
	}

	#[test]
	fn a_file_in_place_of_the_folder_stays_and_is_named_with_what_to_do() {
		let base = folder(&["notes.txt"]);
		let file = base.path().join("notes.txt");
		for target in [&file, &file.join("dataset")] {
			for error in [create(target, fill), replace(target, fill)].map(Result::unwrap_err) {
				let words = error.to_string();
				assert!(matches!(error, DataError::NoFolder { .. }) && words.contains("notes.txt") && words.contains("--out"), "{words}");
			}
		}
		assert_eq!(fs::read(file).unwrap(), b"old");
	}

	#[test]
	fn other_files_are_never_touched() {
		for files in [&["notes.txt"][..], &[MANIFEST_FILE, "notes.txt"], &[LEAVES_FILE]] {
			let target = folder(files);
			let error = replace(target.path(), fill).unwrap_err();
			assert!(matches!(error, DataError::Occupied { .. }), "{error}");
			assert_eq!(names(target.path()).len(), files.len());
			assert_eq!(fs::read(target.path().join(files[0])).unwrap(), b"old");
		}
	}
}
