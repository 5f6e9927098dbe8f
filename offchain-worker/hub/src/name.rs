//! Names of datasets and models in the hub, with their revision and files.

use super::HubError;
use std::{fmt, str::FromStr};

/// What all names begin with.
pub const PREFIX: &str = "hf://";
/// What those of datasets begin with behind that.
const DATASETS: &str = "datasets/";
/// Characters that make a path a pattern.
pub(crate) const PATTERN: [char; 3] = ['*', '?', '['];
/// Most bytes of a part of a name.
const LONGEST: usize = 96;
/// Most bytes of a path.
const LONGEST_PATH: usize = 1024;
/// Revision that is taken where none is named.
const MAIN: &str = "main";

/// What a repository holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
	/// A dataset.
	Dataset,
	/// A model.
	Model,
}

/// Something in the hub.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
	/// What it is.
	pub kind: Kind,
	owner: String,
	name: String,
	revision: String,
	path: Option<String>,
}

impl Name {
	/// Its owner and name, with `/` between them.
	pub fn repository(&self) -> String {
		format!("{}/{}", self.owner, self.name)
	}

	/// The revision that is asked for: a branch, a tag or a commit.
	pub fn revision(&self) -> &str {
		&self.revision
	}

	/// The file, folder or pattern that is asked for, if it is not all.
	pub fn path(&self) -> Option<&str> {
		self.path.as_deref()
	}

	/// The same of another revision.
	pub fn at(&self, revision: &str) -> Self {
		Self { revision: revision.to_owned(), ..self.clone() }
	}

	/// Name of its folder in the cache.
	pub(crate) fn folder(&self) -> String {
		let kind = match self.kind {
			Kind::Dataset => "datasets",
			Kind::Model => "models",
		};
		format!("{kind}--{}--{}", self.owner, self.name)
	}
}

impl fmt::Display for Name {
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		let Self { kind, owner, name, revision, path } = self;
		let kind = if *kind == Kind::Dataset { DATASETS } else { "" };
		write!(formatter, "{PREFIX}{kind}{owner}/{name}")?;
		if revision != MAIN {
			write!(formatter, "@{}", revision.replace('/', "%2F"))?;
		}
		path.as_ref().map_or(Ok(()), |path| write!(formatter, "/{path}"))
	}
}

impl FromStr for Name {
	type Err = HubError;

	fn from_str(text: &str) -> Result<Self, HubError> {
		let refused = |reason| HubError::Name { name: text.to_owned(), reason };
		let rest = text.strip_prefix(PREFIX).ok_or_else(|| refused("it does not begin with hf://"))?;
		let (kind, rest) = match rest.strip_prefix(DATASETS) {
			Some(rest) => (Kind::Dataset, rest),
			None => (Kind::Model, rest),
		};
		let (owner, rest) = rest.split_once('/').ok_or_else(|| refused("it has no owner"))?;
		let (name, revision, path) = match rest.split_once('/').map_or(rest, |(first, _)| first).split_once('@') {
			Some((name, _)) => {
				let behind = rest.get(name.len().saturating_add(1)..).unwrap_or_default();
				let (revision, path) = revision(behind);
				(name, revision.replace("%2F", "/").replace("%2f", "/"), path)
			}
			None => rest.split_once('/').map_or((rest, MAIN.to_owned(), ""), |(name, path)| (name, MAIN.to_owned(), path)),
		};
		if ![owner, name].into_iter().all(is_word) {
			return Err(refused(
				"owners and names have letters, digits, - and _, and points that are not at the beginning or side by side",
			));
		}
		if !is_revision(&revision) {
			return Err(refused("a revision is a branch, a tag or a commit"));
		}
		let path = path.strip_suffix('/').unwrap_or(path);
		if !path.is_empty() && !is_path(path) {
			return Err(refused("its path leads out of it, or has names that files do not have"));
		}
		if path.contains(PATTERN) && glob::Pattern::new(path).is_err() {
			return Err(refused("its pattern is none: [ is closed by ], and ** is a name of its own"));
		}
		if kind == Kind::Model && !path.is_empty() {
			return Err(refused("models are taken as a whole"));
		}
		let path = Some(path.to_owned()).filter(|path| !path.is_empty());
		Ok(Self { kind, owner: owner.to_owned(), name: name.to_owned(), revision, path })
	}
}

/// The revision at the beginning of what is behind an @, and the path behind it. Those below `refs` have three parts.
fn revision(text: &str) -> (&str, &str) {
	// Slashes within it.
	let parts = if text.starts_with("refs/") { 2 } else { 0 };
	let end = text.match_indices('/').nth(parts).map(|(place, _)| place);
	match end.and_then(|end| text.split_at_checked(end)) {
		Some((revision, path)) => (revision, path.strip_prefix('/').unwrap_or(path)),
		None => (text, ""),
	}
}

fn is_word(word: &str) -> bool {
	let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
	(1..=LONGEST).contains(&word.len())
		&& word.bytes().all(known)
		&& !word.starts_with(['.', '-'])
		&& !word.ends_with(['.', '-'])
		&& !word.contains("..")
		&& !word.contains("--")
}

fn is_revision(revision: &str) -> bool {
	let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./+".contains(&byte);
	revision.len() <= LONGEST && revision.bytes().all(known) && is_path(revision) && !revision.starts_with('-')
}

/// Returns whether this is a way into a folder that does not lead out of it: names between slashes, none of which is empty, `.` or `..`.
pub(crate) fn is_path(path: &str) -> bool {
	let is_name = |name: &str| !matches!(name, "" | "." | "..") && name.len() <= 255;
	path.len() <= LONGEST_PATH && !path.contains(['\\', '\0']) && !path.contains(char::is_control) && path.split('/').all(is_name)
}

/// Returns whether this is a commit in full.
pub(crate) fn is_commit(text: &str) -> bool {
	text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn names_have_an_owner_a_revision_and_files() {
		let parts = |text: &str| {
			let name: Name = text.parse().unwrap();
			(name.kind, name.repository(), name.revision().to_owned(), name.path().map(str::to_owned), name.to_string())
		};
		let told = |kind, repository: &str, revision: &str, path: Option<&str>, text: &str| {
			assert_eq!(parts(text), (kind, repository.to_owned(), revision.to_owned(), path.map(str::to_owned), text.to_owned()));
		};
		told(Kind::Model, "Qwen/Qwen3-0.6B", "main", None, "hf://Qwen/Qwen3-0.6B");
		told(Kind::Model, "a/b", "v1.0", None, "hf://a/b@v1.0");
		told(Kind::Dataset, "a/b.c", "main", None, "hf://datasets/a/b.c");
		told(Kind::Dataset, "a/b", "main", Some("data/x@1.parquet"), "hf://datasets/a/b/data/x@1.parquet");
		told(Kind::Dataset, "a/b", "0123", Some("data/*.parquet"), "hf://datasets/a/b@0123/data/*.parquet");
		told(Kind::Dataset, "a/b", "refs/convert/parquet", Some("x"), "hf://datasets/a/b@refs%2Fconvert%2Fparquet/x");
		assert_eq!(parts("hf://datasets/a/b@refs/convert/parquet/x"), parts("hf://datasets/a/b@refs%2Fconvert%2Fparquet/x"));
		assert_eq!(parts("hf://datasets/a/b@refs/pr/1").2, "refs/pr/1");
		assert_eq!(parts("hf://datasets/a/b/data/"), parts("hf://datasets/a/b/data"));
	}

	#[test]
	fn patterns_that_are_none_are_refused() {
		for path in ["a[b", "a**", "[]"] {
			let words = format!("hf://datasets/a/b/{path}").parse::<Name>().unwrap_err().to_string();
			assert!(words.contains("its pattern is none"), "{words}");
		}
		assert!("hf://datasets/a/b/**/[ab]?.json*".parse::<Name>().is_ok());
	}

	#[test]
	fn names_that_lead_out_are_refused() {
		for text in [
			"a/b",
			"hf://",
			"hf://a",
			"hf://a/",
			"hf:///b",
			"hf://../b",
			"hf://a/..",
			"hf://a/.b",
			"hf://a/b--c",
			"hf://a/b c",
			"hf://a/b\u{e4}",
			"hf://a/b@",
			"hf://a/b@..",
			"hf://a/b@../../x",
			"hf://a/b@..%2F..%2Fx",
			"hf://a/b@%2Fetc",
			"hf://a/b@-x",
			"hf://a/b@x%00",
			"hf://a/b/config.json",
			"hf://datasets/a",
			"hf://datasets/../a/b",
			"hf://datasets/a/b/..",
			"hf://datasets/a/b/../../x",
			"hf://datasets/a/b/x/../y",
			"hf://datasets/a/b//x",
			"hf://datasets/a/b/./x",
			"hf://datasets/a/b/x\\..\\y",
			"hf://datasets/a/b/x\ny",
			"hf://datasets/a/b@main//etc/passwd",
		] {
			let words = text.parse::<Name>().unwrap_err().to_string();
			assert!(words.contains("names nothing in the hub") && words.contains("hf://datasets/OWNER/NAME"), "{text}: {words}");
		}
		assert!(format!("hf://{}/b", "a".repeat(97)).parse::<Name>().is_err());
		assert!(format!("hf://datasets/a/b/{}", "a/".repeat(600)).parse::<Name>().is_err());
	}
}
