//! The files below a folder, each once, whatever leads to it.
//!
//! Links to files are followed, also out of the folder: download caches keep files apart from their names. Nothing hidden is read, whether by
//! its own name or by way of a link: it may hold secrets.

use super::{
	kind::{is_telling, refused_name},
	LeftOut, Reason,
};
use crate::{
	dataset::{LEAVES_FILE, SHARDS_FOLDER},
	manifest::MANIFEST_FILE,
	DataError,
};
use std::{
	collections::{BTreeMap, BTreeSet},
	fs::{self, Metadata},
	io,
	os::unix::fs::MetadataExt,
	path::{Component, Path, PathBuf},
};

/// Folders nested deeper than this are not read.
const MAX_DEPTH: usize = 32;

/// Device and number of a file or folder: what all its names have in common.
type Identity = (u64, u64);

struct Walk<'a> {
	/// As it was named, and where it is.
	root: &'a Path,
	place: PathBuf,
	/// Path that a dataset will be written to.
	without: Option<PathBuf>,
	left_out: &'a mut LeftOut,
	folders: BTreeSet<Identity>,
	/// Links that are not looked at yet.
	links: BTreeSet<PathBuf>,
	/// Names of each file, in the order of finding, and its bytes.
	files: BTreeMap<Identity, (Vec<PathBuf>, u64)>,
}

/// Files below `root` in ascending order of relative path. Nothing below `without` is among them. What is left out is noted.
///
/// # Errors
/// [`DataError::Io`].
pub(super) fn files(root: &Path, without: Option<&Path>, left_out: &mut LeftOut) -> Result<Vec<PathBuf>, DataError> {
	let place = root.canonicalize().map_err(|error| DataError::io(root, error))?;
	let without = without.and_then(|path| path.canonicalize().ok());
	let (folders, links, files) = Default::default();
	let mut walk = Walk { root, place, without, left_out, folders, links, files };
	walk.folder(root)?;
	// What is a file or a folder by itself comes first, so that links to it are the other names.
	while let Some(link) = walk.links.pop_first() {
		walk.link(&link)?;
	}
	Ok(walk.finish())
}

impl Walk<'_> {
	fn leave(&mut self, reason: Reason, bytes: u64, path: &Path) {
		let place = path.strip_prefix(self.root).unwrap_or(path).to_string_lossy();
		self.left_out.add(reason, bytes, &place);
	}

	fn folder(&mut self, path: &Path) -> Result<(), DataError> {
		let failed = |error| DataError::io(path, error);
		let place = path.canonicalize().map_err(failed)?;
		if self.without.as_ref().is_some_and(|without| place.starts_with(without)) || (path != self.root && is_dataset(path)) {
			self.leave(Reason::Dataset, 0, path);
			return Ok(());
		}
		if path.strip_prefix(self.root).is_ok_and(|below| below.components().count() > MAX_DEPTH) {
			self.leave(Reason::Deep, 0, path);
			return Ok(());
		}
		if !self.folders.insert(identity(&fs::metadata(path).map_err(failed)?)) {
			self.leave(Reason::Again, 0, path);
			return Ok(());
		}
		for path in sorted_entries(path)? {
			let kind = fs::symlink_metadata(&path).map_err(|error| DataError::io(&path, error))?;
			if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
				self.leave(Reason::Hidden, if kind.is_file() { kind.len() } else { 0 }, &path);
			} else if kind.is_symlink() {
				self.links.insert(path);
			} else {
				self.found(&path, &kind)?;
			}
		}
		Ok(())
	}

	fn found(&mut self, path: &Path, kind: &Metadata) -> Result<(), DataError> {
		if kind.is_dir() {
			return self.folder(path);
		}
		if !kind.is_file() {
			self.leave(Reason::NoFile, 0, path);
			return Ok(());
		}
		self.files.entry(identity(kind)).or_insert_with(|| (Vec::new(), kind.len())).0.push(path.to_path_buf());
		Ok(())
	}

	fn link(&mut self, path: &Path) -> Result<(), DataError> {
		let target = fs::metadata(path).and_then(|kind| Ok((kind, path.canonicalize()?)));
		let (kind, target) = match target {
			Ok(target) => target,
			// Nothing is there, or it leads in a circle.
			Err(error) if error.kind() != io::ErrorKind::PermissionDenied => {
				self.leave(Reason::Dead, 0, path);
				return Ok(());
			}
			Err(error) => return Err(DataError::io(path, error)),
		};
		if is_hidden_from(&self.place, &target) {
			self.leave(Reason::Hidden, 0, path);
		} else if self.without.as_ref().is_some_and(|without| target.starts_with(without)) {
			self.leave(Reason::Dataset, 0, path);
		} else if kind.is_dir() && self.place.starts_with(&target) {
			// It leads back.
			self.leave(Reason::Again, 0, path);
		} else {
			self.found(path, &kind)?;
		}
		Ok(())
	}

	/// One name of each file that may be text, in their order: the one that tells most.
	fn finish(mut self) -> Vec<PathBuf> {
		let mut files = Vec::new();
		for (names, bytes) in std::mem::take(&mut self.files).into_values() {
			// Any of its names tells what it is.
			let refused = names.iter().find_map(|name| Some((name.clone(), refused_by_name(name)?)));
			if let Some((name, reason)) = refused {
				self.leave(reason, bytes, &name);
				continue;
			}
			let telling = names.iter().position(|name| is_telling(name)).unwrap_or(0);
			for (place, name) in names.into_iter().enumerate() {
				match place == telling {
					true => files.push(name),
					false => self.leave(Reason::Again, 0, &name),
				}
			}
		}
		files.sort();
		files
	}
}

/// Why a file of this name is not read, also by the name of what it links to.
pub(super) fn refused_by_name(path: &Path) -> Option<Reason> {
	refused_name(path).or_else(|| refused_name(&path.canonicalize().ok()?))
}

fn identity(kind: &Metadata) -> Identity {
	(kind.dev(), kind.ino())
}

/// Returns whether the way from `place` to `target` leads into something hidden. Where `place` itself is does not matter.
fn is_hidden_from(place: &Path, target: &Path) -> bool {
	let (mut own, mut way) = (place.components(), target.components());
	let mut rest = way.clone();
	while let (Some(here), Some(there)) = (own.next(), way.next()) {
		if here != there {
			break;
		}
		rest = way.clone();
	}
	rest.any(|part| matches!(part, Component::Normal(name) if name.as_encoded_bytes().starts_with(b".")))
}

fn is_dataset(folder: &Path) -> bool {
	[MANIFEST_FILE, LEAVES_FILE, SHARDS_FOLDER].iter().all(|part| folder.join(part).exists())
}

/// Returns the entries of a folder, by name.
///
/// # Errors
/// [`DataError::Io`].
pub(super) fn sorted_entries(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
	let entries = fs::read_dir(folder).map_err(|error| DataError::io(folder, error))?;
	let mut paths = entries
		.map(|entry| entry.map(|entry| entry.path()))
		.collect::<Result<Vec<_>, _>>()
		.map_err(|error| DataError::io(folder, error))?;
	paths.sort();
	Ok(paths)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::corpus::Amount;
	use std::os::unix::fs::symlink;

	struct Tree(tempfile::TempDir);

	impl Tree {
		fn new(files: &[&str]) -> Self {
			let tree = Self(tempfile::tempdir().unwrap());
			for name in files {
				let path = tree.at(name);
				fs::create_dir_all(path.parent().unwrap()).unwrap();
				fs::write(path, name).unwrap();
			}
			tree
		}

		fn at(&self, name: &str) -> PathBuf {
			self.0.path().join(name)
		}

		fn link(&self, name: &str, target: &str) {
			fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
			symlink(target, self.at(name)).unwrap();
		}

		/// Names below `root` of the files that are read, and how many things are left out for each reason.
		fn walk(&self, root: &str, reasons: &[Reason]) -> (Vec<String>, Vec<u64>) {
			let (root, mut left) = (self.at(root), LeftOut::default());
			let files = files(&root, Some(&self.at("out")), &mut left).unwrap();
			let names = files.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect();
			let counts: Vec<u64> = reasons.iter().map(|reason| left.amount(*reason).count).collect();
			assert_eq!(left.lines().len(), counts.iter().filter(|count| **count > 0).count(), "{left}");
			(names, counts)
		}
	}

	#[test]
	fn each_file_is_read_once_whatever_leads_to_it() {
		let tree = Tree::new(&["hub/blobs/aa", "hub/blobs/bb"]);
		tree.link("hub/snapshots/1/a.txt", "../../blobs/aa");
		tree.link("hub/snapshots/2/a.txt", "../../blobs/aa");
		tree.link("hub/snapshots/2/b.txt", "../../blobs/bb");
		assert_eq!(tree.walk("hub/snapshots/1", &[]), (vec!["a.txt".into()], vec![]));
		let (names, left) = tree.walk("hub/snapshots", &[Reason::Again]);
		assert_eq!((names, left), (vec!["1/a.txt".into(), "2/b.txt".into()], vec![1]));
		let (names, left) = tree.walk("hub", &[Reason::Again]);
		assert_eq!((names, left), (vec!["blobs/aa".into(), "blobs/bb".into()], vec![3]));
		fs::hard_link(tree.at("hub/blobs/aa"), tree.at("hub/blobs/zz")).unwrap();
		assert_eq!(tree.walk("hub/blobs", &[Reason::Again]).1, [1]);
	}

	#[test]
	fn links_that_lead_back_or_nowhere_are_counted() {
		let tree = Tree::new(&["a/one", "b/two", "aside/three"]);
		tree.link("a/up", "..");
		tree.link("a/round", "round");
		tree.link("a/dead", "gone");
		tree.link("a/under", "one/x");
		tree.link("a/beside", "../b");
		assert_eq!(tree.walk("a", &[Reason::Again, Reason::Dead]), (vec!["beside/two".into(), "one".into()], vec![1, 3]));
		let (names, left) = tree.walk("", &[Reason::Again, Reason::Dead]);
		assert_eq!((names, left), (vec!["a/one".into(), "aside/three".into(), "b/two".into()], vec![2, 3]));
	}

	#[test]
	fn what_is_hidden_is_left_out_by_its_name_and_by_way_of_links() {
		let tree = Tree::new(&["p/.git/config", "p/.env", "p/a.txt", ".ssh/id", ".cache/hub/blobs/aa"]);
		tree.link("p/config.txt", ".git/config");
		tree.link("p/key.txt", "../.ssh/id");
		tree.link("p/keys", "../.ssh");
		assert_eq!(tree.walk("p", &[Reason::Hidden]), (vec!["a.txt".into()], vec![5]));
		// A folder that is hidden itself was named.
		tree.link(".cache/hub/snapshots/1/a.txt", "../../blobs/aa");
		assert_eq!(tree.walk(".cache/hub/snapshots/1", &[]).0, ["a.txt"]);
		assert_eq!(tree.walk(".cache/hub", &[Reason::Again]), (vec!["blobs/aa".into()], vec![1]));
	}

	#[test]
	fn datasets_pipes_and_deep_folders_are_left_out() {
		let tree = Tree::new(&["a.txt", "out/notes.txt", "old/manifest.json", "old/leaves.bin", "old/shards/00000.bin", "manifest.json"]);
		tree.link("new.txt", "out/notes.txt");
		rustix::fs::mknodat(rustix::fs::CWD, tree.at("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
		tree.link("piped.txt", "pipe");
		let deep = "d/".repeat(MAX_DEPTH + 1);
		fs::create_dir_all(tree.at(&deep)).unwrap();
		fs::write(tree.at(&deep).join("x"), "x").unwrap();
		let (names, left) = tree.walk("", &[Reason::Dataset, Reason::NoFile, Reason::Deep]);
		assert_eq!((names, left), (vec!["a.txt".into(), "manifest.json".into()], vec![3, 2, 1]));
	}

	#[test]
	fn any_name_of_a_file_tells_what_it_is() {
		let tree = Tree::new(&["blobs/aa", "blobs/bb", "blobs/cc", "b.avro"]);
		tree.link("snapshots/a.pdf", "../blobs/aa");
		tree.link("snapshots/c.csv.gz", "../blobs/cc");
		tree.link("plain.txt", "b.avro");
		let mut left = LeftOut::default();
		let names = files(tree.0.path(), None, &mut left).unwrap();
		assert_eq!(names, [tree.at("blobs/bb"), tree.at("snapshots/c.csv.gz")]);
		assert_eq!(
			(left.amount(Reason::Records), left.amount(Reason::Packed)),
			(Amount { count: 1, bytes: 6 }, Amount { count: 1, bytes: 8 })
		);
		assert!(left.to_string().contains("b.avro") && left.to_string().contains("snapshots/a.pdf"), "{left}");
	}
}
