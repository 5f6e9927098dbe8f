//! Parts of a corpus that are in no document, with reasons and paths.

use crate::filter::Filter;
use std::{collections::BTreeMap, fmt};

/// Most places that are told of each reason.
const MOST_PLACES: usize = 5;

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
	/// The file, or a document in it, is not UTF-8.
	NotUtf8,
	/// The file is UTF-16 or UTF-32.
	Wide,
	/// The file, or a document in it, has null characters.
	Null,
	/// The file is compressed, an archive, or holds text among other things, in a format that is not read.
	Packed,
	/// The file holds records in a format that is not read.
	Records,
	/// Tokens are read, and the file is none of them by its name.
	NoTokens,
	/// The record has nothing in the column, or something else than text.
	NoText,
	/// The file stands for one in Git's store for large files.
	Pointer,
	/// The document is blank, or was there already.
	Repeated,
	/// The document is of a text that is nearly another one.
	Near,
	/// A filter leaves the text out, for a reason of its own.
	Filtered(Filter, &'static str),
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
			Self::NotUtf8 => ["file or document that is not UTF-8 text", "files or documents that are not UTF-8 text"],
			Self::Wide => ["file in UTF-16 or UTF-32", "files in UTF-16 or UTF-32"],
			Self::Null => {
				["file or document with null characters, which is no text", "files or documents with null characters, which are no text"]
			}
			Self::Packed => ["file that is packed in a way that is not read", "files that are packed in a way that is not read"],
			Self::Records => ["file of records in a format that is not read", "files of records in a format that is not read"],
			Self::NoTokens => ["file that is neither .npy nor .bin", "files that are neither .npy nor .bin"],
			Self::NoText => ["record without text in the column", "records without text in the column"],
			Self::Pointer => ["Git LFS pointer in place of a file", "Git LFS pointers in place of files"],
			Self::Repeated => ["document that is blank, or equal to another one", "documents that are blank, or equal to another one"],
			Self::Near => ["document of a text that is nearly another one", "documents of texts that are nearly others"],
			Self::Filtered(..) => ["text that a filter leaves out", "texts that a filter leaves out"],
			Self::Hidden => ["hidden file or folder", "hidden files and folders"],
			Self::Again => ["link to what is read under another name", "links to what is read under another name"],
			Self::Dead => ["link that leads nowhere", "links that lead nowhere"],
			Self::NoFile => ["pipe, socket or device", "pipes, sockets or devices"],
			Self::Deep => ["folder that is nested too deep", "folders that are nested too deep"],
			Self::Dataset => ["folder of a dataset", "folders of datasets"],
		}
	}

	/// What it says for itself.
	fn own(self) -> String {
		match self {
			Self::Filtered(filter, reason) => format!("as {} says, {reason}, ", filter.name()),
			_ => String::new(),
		}
	}

	/// Returns advice on what to do about it.
	fn remedy(self) -> &'static str {
		match self {
			Self::Wide => ": convert them to UTF-8, as with `iconv -f UTF-16 -t UTF-8`",
			Self::Packed => ": unpack them",
			Self::Records => ": convert them to Parquet or JSON lines",
			Self::Pointer => ": fetch the files, as with `git lfs pull`",
			_ => "",
		}
	}
}

/// Files and documents that were left out for one reason.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Left {
	/// Their number and bytes.
	pub amount: Amount,
	/// The first of the places that they were found in, below the corpus.
	pub places: Vec<String>,
}

impl Left {
	pub(super) fn add(&mut self, bytes: u64, place: &str) {
		self.count(Amount { count: 1, bytes });
		self.name(place);
	}

	fn count(&mut self, amount: Amount) {
		self.amount.count = self.amount.count.saturating_add(amount.count);
		self.amount.bytes = self.amount.bytes.saturating_add(amount.bytes);
	}

	fn name(&mut self, place: &str) {
		if self.places.len() < MOST_PLACES && self.places.last().is_none_or(|last| last != place) {
			self.places.push(place.to_owned());
		}
	}

	/// The places in brackets.
	pub fn named(&self) -> String {
		let more = if u64::try_from(self.places.len()).is_ok_and(|named| named < self.amount.count) { " .." } else { "" };
		format!("({}{more})", self.places.join(", "))
	}
}

/// Text that was found and is in no document.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LeftOut(BTreeMap<Reason, Left>);

impl LeftOut {
	/// Notes something. `place` is below the corpus.
	pub(super) fn add(&mut self, reason: Reason, bytes: u64, place: &str) {
		self.0.entry(reason).or_default().add(bytes, place);
	}

	/// Notes several things, some of which were found in these places.
	pub(super) fn add_amount<'a>(&mut self, reason: Reason, amount: Amount, places: impl Iterator<Item = &'a str>) {
		let left = self.0.entry(reason).or_default();
		left.count(amount);
		places.for_each(|place| left.name(place));
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
			format!("{bytes}{count} {what} {}{}{}", reason.own(), left.named(), reason.remedy())
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
	fn each_reason_is_a_line_with_bytes_and_places() {
		let mut left = LeftOut::default();
		for name in ["a", "b", "c", "d", "e", "f"] {
			left.add(Reason::NotUtf8, 2, name);
		}
		left.add(Reason::Repeated, 3, "x.txt");
		left.add(Reason::Repeated, 3, "x.txt");
		left.add(Reason::Hidden, 0, ".git");
		left.add(Reason::Records, 7, "a.avro");
		let expected = [
			"12 bytes of 6 files or documents that are not UTF-8 text (a, b, c, d, e ..)",
			"7 bytes of 1 file of records in a format that is not read (a.avro): convert them to Parquet or JSON lines",
			"6 bytes of 2 documents that are blank, or equal to another one (x.txt ..)",
			"1 hidden file or folder (.git)",
		];
		assert_eq!(left.lines(), expected);
		assert_eq!(left.amount(Reason::NotUtf8), Amount { count: 6, bytes: 12 });
		assert_eq!(LeftOut::default().to_string(), "nothing is there");
	}
}
