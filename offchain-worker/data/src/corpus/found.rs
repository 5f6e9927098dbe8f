//! What was found in a corpus.

use super::{Amount, Left, LeftOut, Reason};
use std::{collections::BTreeMap, path::PathBuf};

/// How files hold text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Format {
	/// Text, and nothing else.
	Text,
	/// A JSON object on each line.
	JsonLines,
	/// A JSON array of objects.
	JsonArray,
	/// Comma- or tab-separated values.
	Table,
	/// Parquet.
	Parquet,
	/// Tokens.
	Tokens,
}

impl Format {
	fn words(self) -> &'static str {
		match self {
			Self::Text => "text",
			Self::JsonLines => "JSON lines",
			Self::JsonArray => "JSON",
			Self::Table => "CSV or TSV",
			Self::Parquet => "Parquet",
			Self::Tokens => "tokens",
		}
	}
}

/// What was taken of files of one format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Taken {
	/// Files, also those in archives.
	pub files: u64,
	/// Documents.
	pub documents: u64,
	/// Bytes of the documents: of tokens, four each.
	pub bytes: u64,
}

/// What was read, and what was left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
	/// Documents by the format that they were in.
	pub taken: BTreeMap<Format, Taken>,
	/// Text that is in no document.
	pub left_out: LeftOut,
	/// Files of formats such as HTML that are in documents as they are.
	pub raw: Left,
	/// Names of the files, by number, and the numbers of the parts of the corpus that they are of.
	names: Vec<(String, u32)>,
	/// Files that were opened, in that order: their places below the folder that has all of the corpus, and their paths.
	pub(crate) opened: Vec<(String, PathBuf)>,
}

impl Found {
	/// Number of a file of this part.
	pub(super) fn add_file(&mut self, name: &str, part: u32) -> u32 {
		self.names.push((name.to_owned(), part));
		u32::try_from(self.names.len().saturating_sub(1)).unwrap_or(u32::MAX)
	}

	/// Number of the part of the corpus that a file is of.
	pub(crate) fn part(&self, file: u32) -> u32 {
		usize::try_from(file).ok().and_then(|file| self.names.get(file)).map_or(0, |(_, part)| *part)
	}

	/// Documents in all.
	pub fn documents(&self) -> u64 {
		self.taken.values().map(|taken| taken.documents).sum()
	}

	/// Bytes of them.
	pub fn bytes(&self) -> u64 {
		self.taken.values().map(|taken| taken.bytes).sum()
	}

	/// Notes so many documents or texts that are left out for a reason, and some files that they are of.
	pub(crate) fn leave(&mut self, reason: Reason, amount: Amount, files: &[u32]) {
		let name = |file: &u32| usize::try_from(*file).ok().and_then(|file| self.names.get(file)).map_or("", |(name, _)| name);
		self.left_out.add_amount(reason, amount, files.iter().map(name));
	}

	/// What was read, in words, a line for each format.
	pub fn lines(&self) -> Vec<String> {
		let line = |(format, taken): (&Format, &Taken)| {
			let Taken { files, documents, bytes } = taken;
			let files = if *files == 1 { "1 file".to_owned() } else { format!("{files} files") };
			let documents = if *documents == 1 { "1 document".to_owned() } else { format!("{documents} documents") };
			let amount = match format {
				Format::Tokens => format!("{} tokens", bytes.checked_div(4).unwrap_or_default()),
				_ => format!("{bytes} bytes"),
			};
			format!("{files} of {}: {documents}, {amount}", format.words())
		};
		self.taken.iter().filter(|(_, taken)| taken.documents > 0).map(line).collect()
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn each_format_is_a_line_and_repeated_documents_are_named_by_their_file() {
		let mut found = Found::default();
		let (a, b) = (found.add_file("a.txt", 0), found.add_file("b.parquet", 0));
		found.taken.insert(Format::Text, Taken { files: 1, documents: 1, bytes: 7 });
		found.taken.insert(Format::Parquet, Taken { files: 2, documents: 30, bytes: 500 });
		found.taken.insert(Format::Table, Taken { files: 1, documents: 0, bytes: 0 });
		assert_eq!(found.lines(), ["1 file of text: 1 document, 7 bytes", "2 files of Parquet: 30 documents, 500 bytes"]);
		assert_eq!((found.documents(), found.bytes()), (31, 507));
		found.leave(Reason::Repeated, Amount { count: 1, bytes: 7 }, &[b]);
		found.leave(Reason::Repeated, Amount { count: 1, bytes: 9 }, &[a]);
		assert_eq!(found.left_out.lines(), ["16 bytes of 2 documents that are blank, or equal to another one (b.parquet, a.txt)"]);
	}
}
