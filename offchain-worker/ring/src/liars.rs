//! Workers that have told wrong rows, on disk: a driver that is started again uses none of them, and offers nothing with them.

use neuroshard_atomic_write::write_atomically;
use std::{
	collections::BTreeMap,
	fs, io,
	path::{Path, PathBuf},
};

/// In the driver's base path: an identity a line, and behind it what it did.
const FILE: &str = "ring-liars";

/// Members that have told wrong rows to this driver.
#[derive(Debug)]
pub struct Liars {
	path: PathBuf,
	known: BTreeMap<String, String>,
}

impl Liars {
	/// Those that are noted in a base path.
	///
	/// # Errors
	/// What the system says: who cannot read it may not use a liar by mistake.
	pub fn read(base: &Path) -> io::Result<Self> {
		let path = base.join(FILE);
		let text = match fs::read_to_string(&path) {
			Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
			text => text?,
		};
		let entry = |line: &str| {
			let (name, words) = line.split_once(' ').unwrap_or((line, ""));
			(!name.is_empty()).then(|| (name.to_owned(), words.to_owned()))
		};
		Ok(Self { path, known: text.lines().filter_map(entry).collect() })
	}

	/// Returns what this one did, if it is noted.
	pub fn what(&self, name: &str) -> Option<&str> {
		self.known.get(name).map(String::as_str)
	}

	/// The file.
	pub fn path(&self) -> &Path {
		&self.path
	}

	/// Notes what somebody did.
	///
	/// # Errors
	/// What the system says.
	pub(super) fn note(&mut self, name: &str, words: &str) -> io::Result<()> {
		self.known.insert(name.to_owned(), words.to_owned());
		let lines = self.known.iter().map(|(name, words)| format!("{name} {words}\n"));
		write_atomically(&self.path, lines.collect::<String>().as_bytes())
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn who_has_lied_is_known_after_a_restart() {
		let base = tempfile::tempdir().unwrap();
		let mut liars = Liars::read(base.path()).unwrap();
		assert_eq!(liars.what("a"), None);
		liars.note("a", "told wrong rows of layers 0 to 2").unwrap();
		liars.note("b", "").unwrap();
		let again = Liars::read(base.path()).unwrap();
		assert_eq!((again.what("a"), again.what("b"), again.what("c")), (Some("told wrong rows of layers 0 to 2"), Some(""), None));
		fs::remove_file(again.path()).unwrap();
		assert_eq!(Liars::read(base.path()).unwrap().what("a"), None, "the operator decides");
		fs::create_dir(again.path()).unwrap();
		assert!(Liars::read(base.path()).is_err());
	}
}
