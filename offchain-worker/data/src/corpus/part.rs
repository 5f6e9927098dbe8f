//! What was named of a corpus, and where it is below a folder that has all of it: by that, others find the same files on their machine.

use super::is_standard_input;
use crate::DataError;
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};

/// Place of the folder itself.
const ITSELF: &str = ".";

/// Files and folders of a corpus.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
	/// Weight of its tokens in a mixture.
	#[serde(default, skip_serializing_if = "Option::is_none")]
	pub weight: Option<u64>,
	/// Places below the folder that has all of the corpus, in the order of reading, with `/` between names; `.` for that folder.
	pub paths: Vec<String>,
}

/// A file or folder that was named.
#[derive(Clone, Debug)]
pub(super) struct Input {
	/// As it was named.
	pub(super) path: PathBuf,
	/// Its place below the folder that has all of the corpus.
	name: String,
	/// Number of its part.
	pub(super) part: u32,
}

impl Input {
	/// The place of a file that is this one or below it.
	pub(super) fn listed(&self, file: &Path) -> String {
		match file.strip_prefix(&self.path).ok().filter(|below| *below != Path::new("")) {
			None => self.name.clone(),
			Some(below) if self.name == ITSELF => below.to_string_lossy().into_owned(),
			Some(below) => Path::new(&self.name).join(below).to_string_lossy().into_owned(),
		}
	}
}

/// What was named, part for part.
///
/// # Errors
/// [`DataError::Io`] for what is not there.
pub(super) fn named(parts: Vec<Vec<PathBuf>>) -> Result<Vec<Input>, DataError> {
	let all: Vec<&PathBuf> = parts.iter().flatten().collect();
	let files = || all.iter().filter(|path| !is_standard_input(path));
	let folder = match all[..] {
		[path] if path.is_dir() => place(path)?,
		_ => common(files().map(|path| place(path)))?,
	};
	let mut inputs = Vec::new();
	for (number, paths) in (0u32..).zip(parts) {
		for path in paths {
			let name = if is_standard_input(&path) { PathBuf::new() } else { place(&path)? };
			let name = name.strip_prefix(&folder).unwrap_or(&name).to_string_lossy().into_owned();
			inputs.push(Input { path, name: if name.is_empty() { ITSELF.into() } else { name }, part: number });
		}
	}
	Ok(inputs)
}

/// The folder that all of these places are in.
fn common(places: impl Iterator<Item = Result<PathBuf, DataError>>) -> Result<PathBuf, DataError> {
	let mut folder: Option<PathBuf> = None;
	for place in places {
		let place = place?;
		let above = place.parent().unwrap_or(&place);
		folder = Some(match folder {
			None => above.to_path_buf(),
			Some(folder) => folder.components().zip(above.components()).take_while(|(a, b)| a == b).map(|(part, _)| part).collect(),
		});
	}
	Ok(folder.unwrap_or_default())
}

/// Where it is. A link stands where it is itself.
fn place(path: &Path) -> Result<PathBuf, DataError> {
	let failed = |error| DataError::io(path, error);
	let Some(name) = path.file_name() else { return path.canonicalize().map_err(failed) };
	let above = path.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
	Ok(above.canonicalize().map_err(failed)?.join(name))
}

/// The parts of which these are, with their weights if they have any.
pub(super) fn parts(inputs: &[Input], weights: &[u64]) -> Vec<Part> {
	let mut parts: Vec<Part> = Vec::new();
	for input in inputs {
		let number = usize::try_from(input.part).unwrap_or(usize::MAX);
		while parts.len() <= number {
			parts.push(Part { weight: weights.get(parts.len()).copied(), paths: Vec::new() });
		}
		if let Some(part) = parts.get_mut(number) {
			part.paths.push(input.name.clone());
		}
	}
	parts
}

/// What these parts are in `folder`.
///
/// # Errors
/// [`DataError::Invalid`] for a path that leads out of the folder.
pub(super) fn inputs(folder: &Path, parts: &[Part]) -> Result<Vec<Input>, DataError> {
	let mut inputs = Vec::new();
	for (part, paths) in (0u32..).zip(parts) {
		for name in &paths.paths {
			let path = below(folder, name)?;
			inputs.push(Input { path, name: name.clone(), part });
		}
	}
	Ok(inputs)
}

/// The path of what has this place in `folder`.
///
/// # Errors
/// [`DataError::Invalid`] for a place that leads out of the folder.
pub(crate) fn below(folder: &Path, name: &str) -> Result<PathBuf, DataError> {
	let stays = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
	match name {
		ITSELF => Ok(folder.to_path_buf()),
		name if stays && !name.is_empty() => Ok(folder.join(name)),
		name => Err(DataError::Invalid(format!("the list of sources names {name:?}, which is no place in a folder"))),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::{fs, os::unix::fs::symlink};

	fn names(paths: &[PathBuf]) -> Vec<String> {
		named(vec![paths.to_vec()]).unwrap().into_iter().map(|input| input.name).collect()
	}

	#[test]
	fn names_are_below_a_folder_that_has_all_that_was_named() {
		let root = tempfile::tempdir().unwrap();
		let at = |name: &str| root.path().join(name);
		for folder in ["a/data", "b/data"] {
			fs::create_dir_all(at(folder)).unwrap();
			fs::write(at(folder).join("x.txt"), "x").unwrap();
		}
		symlink("../a/data/x.txt", at("b/link.txt")).unwrap();
		assert_eq!(names(&[at("a")]), ["."]);
		assert_eq!(names(&[at("a/data/x.txt")]), ["x.txt"]);
		assert_eq!(names(&[at("a/data"), at("b/data/x.txt")]), ["a/data", "b/data/x.txt"]);
		assert_eq!(names(&[at("a"), at("a/data")]), ["a", "a/data"]);
		// A link is what it is called, and a way is told without detours.
		assert_eq!(names(&[at("b/link.txt"), at("b/../b/data")]), ["link.txt", "data"]);
		assert_eq!(names(&["-".into(), at("a/data/x.txt")]), [".", "x.txt"]);
		let inputs = named(vec![vec![at("a")], vec![at("b/data"), at("b/link.txt")]]).unwrap();
		assert_eq!(inputs.iter().map(|input| input.part).collect::<Vec<_>>(), [0, 1, 1]);
		assert_eq!(inputs[1].listed(&at("b/data/x.txt")), "b/data/x.txt");
		assert_eq!(named(vec![vec![at("a")]]).unwrap()[0].listed(&at("a/data/x.txt")), "data/x.txt");
		let again = super::inputs(root.path(), &parts(&inputs, &[])).unwrap();
		assert_eq!(
			again.iter().map(|input| (input.path.clone(), input.part)).collect::<Vec<_>>(),
			[(at("a"), 0), (at("b/data"), 1), (at("b/link.txt"), 1)]
		);
	}

	#[test]
	fn places_stay_in_their_folder() {
		let folder = Path::new("/sources");
		assert_eq!(below(folder, ".").unwrap(), folder);
		assert_eq!(below(folder, "a/b.txt").unwrap(), folder.join("a/b.txt"));
		for name in ["", "..", "../a", "a/../../b", "/etc/passwd", "./../a"] {
			assert!(below(folder, name).is_err(), "{name}");
		}
	}
}
