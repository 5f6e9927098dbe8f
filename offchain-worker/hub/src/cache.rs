//! The cache of the hub's tools: a folder for each repository, in which `blobs` has contents by their tags, `snapshots` links to them by commit and name,
//! and `refs` the commits of branches and tags.

use super::{
	name::{is_commit, is_path},
	HubError, Name,
};
use neuroshard_atomic_write::write_atomically;
use std::{
	fs,
	io::{self, Read},
	path::{Path, PathBuf},
	time::Duration,
};

/// What the names of parts of files begin with that are being written, and how long one may lie untouched: whoever writes it gives up sooner.
pub(crate) const PART: &str = ".part-";
const PART_AGE: Duration = Duration::from_secs(3600);
/// Folders within one another that are looked into.
const MOST_DEPTH: usize = 32;

/// The folder of a repository.
pub(crate) struct Repository {
	/// Where it is.
	folder: PathBuf,
}

impl Repository {
	pub(crate) fn new(cache: &Path, name: &Name) -> Self {
		Self { folder: cache.join(name.folder()) }
	}

	pub(crate) fn blobs(&self) -> PathBuf {
		self.folder.join("blobs")
	}

	/// The folder of a commit.
	pub(crate) fn snapshot(&self, commit: &str) -> PathBuf {
		self.folder.join("snapshots").join(commit)
	}

	/// The commit that a revision was when it was asked for last.
	pub(crate) fn commit(&self, revision: &str) -> Option<String> {
		if is_commit(revision) {
			return Some(revision.to_owned());
		}
		let mut text = String::new();
		let file = fs::File::open(self.folder.join("refs").join(revision)).ok()?;
		file.take(100).read_to_string(&mut text).ok()?;
		Some(text.trim().to_owned()).filter(|commit| is_commit(commit))
	}

	/// Notes the commit of a revision.
	pub(crate) fn set_commit(&self, revision: &str, commit: &str) -> Result<(), HubError> {
		if is_commit(revision) {
			return Ok(());
		}
		let path = self.folder.join("refs").join(revision);
		let above = path.parent().unwrap_or(&path);
		// Another process may read it meanwhile.
		fs::create_dir_all(above).and_then(|()| write_atomically(&path, commit.as_bytes())).map_err(|error| HubError::io(&path, error))
	}

	/// Removes parts of files that nobody writes any more. What cannot be removed stays.
	pub(crate) fn remove_remains(&self) {
		let is_old = |entry: &fs::DirEntry| {
			let changed = entry.metadata().and_then(|kind| kind.modified()).ok();
			changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age > PART_AGE)
		};
		for entry in fs::read_dir(self.blobs()).into_iter().flatten().flatten() {
			if entry.file_name().as_encoded_bytes().starts_with(PART.as_bytes()) && is_old(&entry) {
				let _ = fs::remove_file(entry.path());
			}
		}
	}

	/// Names of the files of a commit that are here, in order.
	pub(crate) fn files(&self, commit: &str) -> Result<Vec<String>, HubError> {
		let mut files = Vec::new();
		match walk(&self.snapshot(commit), "", 0, &mut files) {
			Err(HubError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
			walked => walked.map(|()| {
				files.sort();
				files
			}),
		}
	}

	/// The path of a file of a commit, if it is here: a file, or a link to one among the contents of this repository.
	///
	/// # Errors
	/// [`HubError::Outside`] for anything else.
	pub(crate) fn file(&self, commit: &str, name: &str) -> Result<Option<PathBuf>, HubError> {
		let path = self.snapshot(commit).join(name);
		let failed = |error| HubError::io(&path, error);
		let kind = match fs::symlink_metadata(&path) {
			Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
			kind => kind.map_err(failed)?,
		};
		let outside = || HubError::Outside { path: path.clone() };
		let above = path.parent().unwrap_or(&path);
		// The folders on the way are folders, and none is a link.
		if above.canonicalize().map_err(failed)?
			!= self.place(&self.snapshot(commit))?.join(Path::new(name).parent().unwrap_or(Path::new("")))
		{
			return Err(outside());
		}
		if kind.is_file() {
			return Ok(Some(path));
		}
		if !kind.is_symlink() {
			return Err(outside());
		}
		let target = above.join(fs::read_link(&path).map_err(failed)?);
		let there = match fs::symlink_metadata(&target) {
			// What it leads to was removed, as somebody does who wants room.
			Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
			there => there.map_err(failed)?,
		};
		let is_inside = target.canonicalize().map_err(failed)?.parent() == Some(&self.place(&self.blobs())?);
		match there.is_file() && is_inside {
			true => Ok(Some(path)),
			false => Err(outside()),
		}
	}

	fn place(&self, path: &Path) -> Result<PathBuf, HubError> {
		// The folder of the repository may be a link; what is in it may not.
		let below = path.strip_prefix(&self.folder).unwrap_or(path);
		Ok(self.folder.canonicalize().map_err(|error| HubError::io(&self.folder, error))?.join(below))
	}

	/// Gives the content with this tag a name in a commit.
	pub(crate) fn link(&self, commit: &str, name: &str, tag: &str) -> Result<(), HubError> {
		let path = self.snapshot(commit).join(name);
		let above = path.parent().unwrap_or(&path);
		let failed = |error| HubError::io(&path, error);
		fs::create_dir_all(above).map_err(failed)?;
		let ups = "../".repeat(name.split('/').count().saturating_add(1));
		// Under a name of its own first: whoever looks finds a whole link, the old one or this.
		let folder = tempfile::Builder::new().prefix(".link-").tempdir_in(self.folder.join("snapshots")).map_err(failed)?;
		let link = folder.path().join("link");
		std::os::unix::fs::symlink(format!("{ups}blobs/{tag}"), &link).map_err(failed)?;
		fs::rename(&link, &path).map_err(failed)
	}
}

/// Adds the names of the files below a folder. Folders that are links are not looked into, and names that no repository has are passed over.
fn walk(folder: &Path, below: &str, depth: usize, files: &mut Vec<String>) -> Result<(), HubError> {
	let failed = |error| HubError::io(folder, error);
	for entry in fs::read_dir(folder).map_err(failed)? {
		let entry = entry.map_err(failed)?;
		let Ok(name) = entry.file_name().into_string() else { continue };
		let name = if below.is_empty() { name } else { format!("{below}/{name}") };
		match entry.file_type().map_err(failed)?.is_dir() {
			_ if !is_path(&name) => (),
			true if depth < MOST_DEPTH => walk(&entry.path(), &name, depth.saturating_add(1), files)?,
			true => (),
			false => files.push(name),
		}
	}
	Ok(())
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn whoever_reads_the_commit_of_a_branch_finds_the_old_one_or_the_new_one() {
		let folder = tempfile::tempdir().unwrap();
		let repository = Repository::new(folder.path(), &"hf://a/b".parse().unwrap());
		let [old, new] = ["0", "1"].map(|digit| digit.repeat(40));
		repository.set_commit("main", &old).unwrap();
		// Whoever has opened it before.
		let opened = fs::File::open(repository.folder.join("refs/main")).unwrap();
		repository.set_commit("main", &new).unwrap();
		assert_eq!(io::read_to_string(opened).unwrap(), old);
		assert_eq!(repository.commit("main"), Some(new));
	}

	#[test]
	fn parts_that_nobody_writes_any_more_are_removed() {
		let folder = tempfile::tempdir().unwrap();
		let repository = Repository::new(folder.path(), &"hf://a/b".parse().unwrap());
		fs::create_dir_all(repository.blobs()).unwrap();
		for (name, age) in [(".part-old", 3_700), (".part-new", 3_500), ("0123456789", 100_000), ("0123.incomplete", 100_000)] {
			let file = fs::File::create(repository.blobs().join(name)).unwrap();
			file.set_modified(std::time::SystemTime::now() - Duration::from_secs(age)).unwrap();
		}
		repository.remove_remains();
		let mut names: Vec<_> = fs::read_dir(repository.blobs()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
		names.sort();
		assert_eq!(names, [".part-new", "0123.incomplete", "0123456789"]);
	}
}
