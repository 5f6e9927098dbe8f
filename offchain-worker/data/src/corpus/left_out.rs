//! Parts of a corpus that are in no document, with reasons and paths.

use std::{
	collections::BTreeMap,
	fmt,
	path::{Path, PathBuf},
};

/// Most paths that are told of each reason.
const MOST_PATHS: usize = 5;

/// So many files or documents, and bytes of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
	/// Number of files or documents.
	pub count: u64,
	/// Bytes.
	pub bytes: u64,
}

/// Why something that was found is in no document.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
	/// The limits have no room for the file, or for its end.
	Beyond,
	/// The file is not UTF-8.
	NotUtf8,
	/// The file is UTF-16 or UTF-32.
	Wide,
	/// The file has null characters.
	Null,
	/// The file is compressed, an archive, or of a format that holds text among other things.
	Packed,
	/// The file holds records, of which text may be a part.
	Records,
	/// The document is blank, or was there already.
	Repeated,
	/// The name begins with a point.
	Hidden,
	/// The same file or folder is read under another name.
	Again,
	/// The link leads to nothing.
	Dead,
	/// It is neither a file nor a folder.
	NoFile,
	/// The folder is nested too deep.
	Deep,
	/// The folder holds a dataset, or the one that is built will be there.
	Dataset,
}

impl Reason {
	/// In words, of one and of several.
	fn words(self) -> [&'static str; 2] {
		match self {
			Self::Beyond => [
				"file, whole or at its end, beyond --max-bytes or --document-bytes",
				"files, whole or at their end, beyond --max-bytes or --document-bytes",
			],
			Self::NotUtf8 => ["file that is not UTF-8 text", "files that are not UTF-8 text"],
			Self::Wide => ["file in UTF-16 or UTF-32", "files in UTF-16 or UTF-32"],
			Self::Null => ["file with null characters, which is no text", "files with null characters, which are no text"],
			Self::Packed => ["file that is compressed or packed", "files that are compressed or packed"],
			Self::Records => ["file of records", "files of records"],
			Self::Repeated => ["document that is blank, or equal to another one", "documents that are blank, or equal to another one"],
			Self::Hidden => ["hidden file or folder", "hidden files and folders"],
			Self::Again => ["link to what is read under another name", "links to what is read under another name"],
			Self::Dead => ["link that leads nowhere", "links that lead nowhere"],
			Self::NoFile => ["pipe, socket or device", "pipes, sockets or devices"],
			Self::Deep => ["folder that is nested too deep", "folders that are nested too deep"],
			Self::Dataset => ["folder of a dataset", "folders of datasets"],
		}
	}

	/// Returns advice on what to do about it.
	fn remedy(self) -> &'static str {
		match self {
			Self::Wide => ": convert them to UTF-8, as with `iconv -f UTF-16 -t UTF-8`",
			Self::Packed => ": unpack them to files of text",
			Self::Records => ": write the texts in them to files of text, as with `jq -r .text FILE > TEXT` for JSON lines",
			_ => "",
		}
	}
}

/// Files and documents that were left out for one reason.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Left {
	/// Their number and bytes.
	pub amount: Amount,
	/// The first of the files and folders, below the corpus.
	pub paths: Vec<PathBuf>,
}

impl Left {
	pub(super) fn add(&mut self, bytes: u64, path: &Path) {
		self.amount.count = self.amount.count.saturating_add(1);
		self.amount.bytes = self.amount.bytes.saturating_add(bytes);
		if self.paths.len() < MOST_PATHS && self.paths.last().is_none_or(|last| last != path) {
			self.paths.push(path.to_path_buf());
		}
	}

	/// The paths in brackets.
	pub fn named(&self) -> String {
		let paths: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
		let more = if u64::try_from(paths.len()).is_ok_and(|named| named < self.amount.count) { " .." } else { "" };
		format!("({}{more})", paths.join(", "))
	}
}

/// Text that was found and is in no document.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LeftOut(BTreeMap<Reason, Left>);

impl LeftOut {
	/// Notes something. `path` is below the corpus.
	pub(super) fn add(&mut self, reason: Reason, bytes: u64, path: &Path) {
		self.0.entry(reason).or_default().add(bytes, path);
	}

	/// Returns the amount that was left out for this reason.
	pub fn amount(&self, reason: Reason) -> Amount {
		self.0.get(&reason).map_or(Amount::default(), |left| left.amount)
	}

	/// In words, a line for each reason.
	pub fn lines(&self) -> Vec<String> {
		let line = |(reason, left): (&Reason, &Left)| {
			let Amount { count, bytes } = left.amount;
			let [one, several] = reason.words();
			let what = if count == 1 { one } else { several };
			let bytes = match bytes {
				0 => String::new(),
				1 => "1 byte of ".to_owned(),
				_ => format!("{bytes} bytes of "),
			};
			format!("{bytes}{count} {what} {}{}", left.named(), reason.remedy())
		};
		self.0.iter().map(line).collect()
	}
}

impl fmt::Display for LeftOut {
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		match self.0.is_empty() {
			true => formatter.write_str("nothing is there"),
			false => write!(formatter, "left out are {}", self.lines().join("; ")),
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn each_reason_is_a_line_with_bytes_and_paths() {
		let mut left = LeftOut::default();
		for name in ["a", "b", "c", "d", "e", "f"] {
			left.add(Reason::NotUtf8, 2, Path::new(name));
		}
		left.add(Reason::Repeated, 3, Path::new("x.txt"));
		left.add(Reason::Repeated, 3, Path::new("x.txt"));
		left.add(Reason::Hidden, 0, Path::new(".git"));
		left.add(Reason::Records, 7, Path::new("a.jsonl"));
		let expected = [
			"12 bytes of 6 files that are not UTF-8 text (a, b, c, d, e ..)",
			"7 bytes of 1 file of records (a.jsonl): write the texts in them to files of text, as with `jq -r .text FILE > TEXT` for JSON lines",
			"6 bytes of 2 documents that are blank, or equal to another one (x.txt ..)",
			"1 hidden file or folder (.git)",
		];
		assert_eq!(left.lines(), expected);
		assert_eq!(left.amount(Reason::NotUtf8), Amount { count: 6, bytes: 12 });
		assert_eq!(LeftOut::default().to_string(), "nothing is there");
	}
}
