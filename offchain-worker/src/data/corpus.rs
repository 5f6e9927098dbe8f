//! Text to train on: a folder, a file, or what every machine that built this project has anyway.
//!
//! The same files always give the same corpus: files are taken in the order of their relative path, and documents are
//! identified by content, so that neither the folder's place nor the order of a directory listing matters.

use super::DataError;
use std::{
	collections::BTreeMap,
	fs,
	io::Read,
	path::{Path, PathBuf},
};

/// Most bytes of a corpus unless told otherwise.
pub const DEFAULT_CORPUS_BYTES: u64 = 8 << 20;
/// Most bytes of a document unless told otherwise: many short ones mix better than a few long tables.
pub const DEFAULT_DOCUMENT_BYTES: u64 = 8 << 10;
/// Least that [`CorpusLimits::document_bytes`] counts as: any character has room in it.
pub const LEAST_DOCUMENT_BYTES: u64 = 4;
/// Folders nested deeper than this are not followed.
const MAX_DEPTH: u32 = 32;

/// How much text to take.
#[derive(Clone, Copy, Debug)]
pub struct CorpusLimits {
	/// Bytes in all.
	pub total_bytes: u64,
	/// Bytes of one document. A longer text becomes several, each up to the last line end that fits.
	pub document_bytes: u64,
}

impl Default for CorpusLimits {
	fn default() -> Self {
		Self { total_bytes: DEFAULT_CORPUS_BYTES, document_bytes: DEFAULT_DOCUMENT_BYTES }
	}
}

/// So many files or documents, and bytes of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
	/// How many.
	pub count: u64,
	/// Bytes.
	pub bytes: u64,
}

impl Amount {
	fn add(&mut self, bytes: u64) {
		self.count = self.count.saturating_add(1);
		self.bytes = self.bytes.saturating_add(bytes);
	}
}

/// What of the text that was found is in no document.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeftOut {
	/// Files, whole or their ends, for which the limits have no room.
	pub beyond: Amount,
	/// Files that are not UTF-8.
	pub not_text: Amount,
	/// Documents that are blank, or were there already.
	pub repeated: Amount,
}

/// Documents and where they come from.
#[derive(Clone, Debug)]
pub struct Corpus {
	/// In words, for the manifest.
	pub source: String,
	/// UTF-8 texts, no two alike, none empty.
	pub documents: Vec<Vec<u8>>,
	/// What is not in them.
	pub left_out: LeftOut,
}

impl Corpus {
	/// Bytes of all documents.
	pub fn bytes(&self) -> u64 {
		self.documents.iter().map(|document| document.len() as u64).sum()
	}
}

/// Text of the crates in the cargo registry below `cargo_home`: the first file of every crate, then the second of every
/// crate, until the limit is reached. A crate's READMEs come first, then `src/`, then its other Rust and Markdown files. Of each
/// file only the first document is taken, so that there is something of everything.
///
/// # Errors
/// [`DataError::NoText`] if there is no such folder or nothing readable in it; [`DataError::Io`] otherwise.
pub fn registry_corpus(cargo_home: &Path, limits: CorpusLimits) -> Result<Corpus, DataError> {
	let root = cargo_home.join("registry").join("src");
	// A crate's folder name, whichever registry mirror it was unpacked for, to its folder.
	let mut crates = BTreeMap::new();
	for index in sorted_entries(&root).map_err(|_| DataError::NoText { path: root.clone(), skipped: 0 })? {
		if index.is_dir() {
			for folder in sorted_entries(&index)? {
				if let (true, Some(name)) = (folder.is_dir(), folder.file_name()) {
					crates.entry(name.to_os_string()).or_insert(folder);
				}
			}
		}
	}
	let mut queues = Vec::with_capacity(crates.len());
	for folder in crates.into_values() {
		let mut files = Vec::new();
		collect_files(&folder, MAX_DEPTH, &mut files)?;
		let mut ranked: Vec<(u8, PathBuf)> = files.into_iter().filter_map(|file| Some((rank(&folder, &file)?, file))).collect();
		ranked.sort();
		queues.push(ranked.into_iter().map(|(_, file)| file));
	}
	let mut taken = Taken::new(limits);
	// Round-robin; a crate leaves when its files are used up.
	while !queues.is_empty() {
		let mut failure = None;
		queues.retain_mut(|files| {
			let Some(file) = files.next() else { return false };
			if let Err(error) = taken.add(&file, Part::Beginning) {
				failure.get_or_insert(error);
			}
			true
		});
		if let Some(error) = failure {
			return Err(error);
		}
	}
	taken.finish("READMEs, Rust sources and Markdown files of crates in the local cargo registry", &root)
}

/// The text of one file, or of every file below a folder in the order of relative paths, until the limit is reached.
///
/// # Errors
/// [`DataError::NoText`] if nothing in it is UTF-8 text; [`DataError::Io`] if it cannot be read.
pub fn path_corpus(path: &Path, limits: CorpusLimits) -> Result<Corpus, DataError> {
	let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
	let mut taken = Taken::new(limits);
	if fs::metadata(path).map_err(|error| DataError::io(path, error))?.is_file() {
		taken.add(path, Part::Whole)?;
		return taken.finish(&format!("text of {name}"), path);
	}
	let mut files = Vec::new();
	collect_files(path, MAX_DEPTH, &mut files)?;
	for file in files {
		taken.add(&file, Part::Whole)?;
	}
	taken.finish(&format!("text files of {name}"), path)
}

/// How much of a file is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
	/// Its first document.
	Beginning,
	/// All of it.
	Whole,
}

/// Documents taken so far.
struct Taken {
	limits: CorpusLimits,
	bytes: u64,
	// Keyed by content hash: duplicates (a file in two versions of a crate) fall away.
	seen: std::collections::BTreeSet<[u8; 32]>,
	documents: Vec<Vec<u8>>,
	left_out: LeftOut,
}

impl Taken {
	fn new(limits: CorpusLimits) -> Self {
		let document_bytes = limits.document_bytes.max(LEAST_DOCUMENT_BYTES);
		let limits = CorpusLimits { document_bytes, ..limits };
		Self { limits, bytes: 0, seen: Default::default(), documents: Vec::new(), left_out: LeftOut::default() }
	}

	fn room(&self) -> u64 {
		self.limits.total_bytes.saturating_sub(self.bytes)
	}

	/// Takes a file, or its beginning, as documents; one that is not UTF-8 is passed over.
	fn add(&mut self, path: &Path, part: Part) -> Result<(), DataError> {
		let size = fs::metadata(path).map_err(|error| DataError::io(path, error))?.len();
		let most = match part {
			Part::Beginning => self.limits.document_bytes.min(self.room()),
			Part::Whole => self.room(),
		};
		if most == 0 {
			if size > 0 {
				self.left_out.beyond.add(size);
			}
			return Ok(());
		}
		let text = read_prefix(path, most.saturating_add(1))?;
		let Some(length) = text_length(&text, most) else {
			self.left_out.not_text.add(size);
			return Ok(());
		};
		let (mut rest, mut done) = (&text[..length], 0);
		while !rest.is_empty() && (part == Part::Whole || done == 0) {
			let end = document_end(rest, self.limits.document_bytes.min(self.room()));
			if end == 0 {
				break;
			}
			self.insert(&rest[..end]);
			(rest, done) = (&rest[end..], done + end as u64);
		}
		// A file may grow while it is read.
		let left = size.max(text.len() as u64) - done;
		if left > 0 {
			self.left_out.beyond.add(left);
		}
		Ok(())
	}

	fn insert(&mut self, document: &[u8]) {
		let bytes = document.len() as u64;
		if document.iter().all(u8::is_ascii_whitespace) || !self.seen.insert(super::blake2_256(document).0) {
			return self.left_out.repeated.add(bytes);
		}
		self.bytes += bytes;
		self.documents.push(document.to_vec());
	}

	fn finish(self, source: &str, path: &Path) -> Result<Corpus, DataError> {
		if self.documents.is_empty() {
			return Err(DataError::NoText { path: path.to_path_buf(), skipped: self.left_out.not_text.count });
		}
		Ok(Corpus { source: source.into(), documents: self.documents, left_out: self.left_out })
	}
}

/// Length of the longest prefix of `text` within `limit` that ends a line, or else a character.
fn document_end(text: &[u8], limit: u64) -> usize {
	let limit = usize::try_from(limit).unwrap_or(usize::MAX);
	if text.len() <= limit {
		return text.len();
	}
	match text[..limit].iter().rposition(|byte| *byte == b'\n') {
		Some(position) => position + 1,
		None => valid_utf8_length(&text[..limit]),
	}
}

/// Length of the whole characters in `prefix`, the first `limit + 1` bytes of a file; `None` if that is not UTF-8.
fn text_length(prefix: &[u8], limit: u64) -> Option<usize> {
	let valid = valid_utf8_length(prefix);
	// Only a character that the end of the prefix cuts may be missing.
	let cut = prefix.len() as u64 > limit && prefix.len() - valid <= 3;
	(valid == prefix.len() || cut).then_some(valid)
}

fn valid_utf8_length(text: &[u8]) -> usize {
	match std::str::from_utf8(text) {
		Ok(_) => text.len(),
		Err(error) => error.valid_up_to(),
	}
}

fn read_prefix(path: &Path, limit: u64) -> Result<Vec<u8>, DataError> {
	let mut text = Vec::new();
	let file = fs::File::open(path).map_err(|error| DataError::io(path, error))?;
	file.take(limit).read_to_end(&mut text).map_err(|error| DataError::io(path, error))?;
	Ok(text)
}

/// Place of a crate's file in the order of its files; `None` for one that is no text to train on.
fn rank(folder: &Path, path: &Path) -> Option<u8> {
	let extension = path.extension().and_then(|extension| extension.to_str());
	let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
	match extension {
		_ if name.starts_with("README") => Some(0),
		Some("rs") if path.starts_with(folder.join("src")) => Some(1),
		Some("rs" | "md") => Some(2),
		_ => None,
	}
}

/// Regular files below `folder` in ascending order of relative path, symbolic links left out.
fn collect_files(folder: &Path, depth: u32, files: &mut Vec<PathBuf>) -> Result<(), DataError> {
	if depth == 0 {
		return Ok(());
	}
	for path in sorted_entries(folder)? {
		let kind = fs::symlink_metadata(&path).map_err(|error| DataError::io(&path, error))?.file_type();
		if kind.is_dir() {
			collect_files(&path, depth - 1, files)?;
		} else if kind.is_file() {
			files.push(path);
		}
	}
	Ok(())
}

fn sorted_entries(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
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

	fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
		let root = tempfile::tempdir().unwrap();
		for (path, text) in files {
			let path = root.path().join(path);
			fs::create_dir_all(path.parent().unwrap()).unwrap();
			fs::write(path, text).unwrap();
		}
		root
	}

	fn texts(corpus: &Corpus) -> Vec<&str> {
		corpus.documents.iter().map(|document| std::str::from_utf8(document).unwrap()).collect()
	}

	const LIMITS: CorpusLimits = CorpusLimits { total_bytes: 1000, document_bytes: 20 };

	#[test]
	fn a_folder_is_read_in_path_order_without_duplicates_and_binaries() {
		let root = tree(&[("b.txt", b"bee\n"), ("a/z.txt", b"zed\n"), ("a/copy.txt", b"bee\n"), ("c.bin", b"\xff\xfe\x00")]);
		let corpus = path_corpus(root.path(), LIMITS).unwrap();
		assert_eq!(texts(&corpus), ["bee\n", "zed\n"]);
		let (not_text, repeated) = (Amount { count: 1, bytes: 3 }, Amount { count: 1, bytes: 4 });
		assert_eq!(corpus.left_out, LeftOut { not_text, repeated, ..LeftOut::default() });
	}

	#[test]
	fn a_long_file_becomes_documents_that_end_with_a_line_and_nothing_of_it_is_lost() {
		let text = "0123456789\n012345678901234567890\nthe end\n";
		let root = tree(&[("a.txt", text.as_bytes()), ("b.txt", b"b2345\nb8901\n")]);
		let corpus = path_corpus(root.path(), LIMITS).unwrap();
		assert_eq!(texts(&corpus), ["0123456789\n", "01234567890123456789", "0\nthe end\n", "b2345\nb8901\n"]);
		assert_eq!(texts(&corpus)[..3].concat(), text);
		assert_eq!(corpus.left_out, LeftOut::default());
	}

	#[test]
	fn what_the_limit_of_the_corpus_leaves_out_is_counted_in_bytes_and_files() {
		let root = tree(&[("a.txt", b"0123456789\n012345678901234567890\n"), ("b.txt", b"b2345\nb8901\n"), ("c.txt", b"")]);
		let limits = CorpusLimits { total_bytes: 18, ..LIMITS };
		let corpus = path_corpus(root.path(), limits).unwrap();
		assert_eq!(texts(&corpus), ["0123456789\n", "0123456"]);
		// 33 bytes less 18 of the first file, all 12 of the second.
		assert_eq!(corpus.left_out, LeftOut { beyond: Amount { count: 2, bytes: 27 }, ..LeftOut::default() });
		let corpus = path_corpus(&root.path().join("a.txt"), limits).unwrap();
		assert_eq!((corpus.bytes(), corpus.left_out.beyond), (18, Amount { count: 1, bytes: 15 }));
	}

	#[test]
	fn documents_never_split_a_character() {
		let root = tree(&[("a.txt", "äöüßäöüéäöüñ".as_bytes())]);
		let limits = CorpusLimits { document_bytes: 5, ..LIMITS };
		assert_eq!(texts(&path_corpus(root.path(), limits).unwrap()), ["äö", "üß", "üé", "üñ"]);
		let none = CorpusLimits { document_bytes: 0, total_bytes: 5 };
		let corpus = path_corpus(root.path(), none).unwrap();
		assert_eq!((texts(&corpus), corpus.left_out.beyond), (vec!["äö"], Amount { count: 1, bytes: 20 }));
	}

	#[test]
	fn a_single_file_becomes_many_documents() {
		let root = tree(&[("a.txt", b"one two three four\nfive six seven\neight\n")]);
		let corpus = path_corpus(&root.path().join("a.txt"), LIMITS).unwrap();
		assert_eq!(texts(&corpus), ["one two three four\n", "five six seven\n", "eight\n"]);
	}

	#[test]
	fn a_binary_file_that_begins_like_text_is_no_text() {
		let root = tree(&[("a.bin", b"ELF\x02\xff\xfe\x00 and more that is not text")]);
		let error = path_corpus(&root.path().join("a.bin"), LIMITS).unwrap_err();
		assert!(matches!(error, DataError::NoText { skipped: 1, .. }), "{error}");
		assert!(matches!(path_corpus(root.path(), LIMITS), Err(DataError::NoText { skipped: 1, .. })));
	}

	#[test]
	fn files_that_are_not_text_are_counted() {
		let root = tree(&[("a.txt", b"text\n"), ("b.bin", b"\xff\xfe\x00"), ("c.bin", b"cut \xe2\x82")]);
		let corpus = path_corpus(root.path(), LIMITS).unwrap();
		assert_eq!((texts(&corpus), corpus.left_out.not_text), (vec!["text\n"], Amount { count: 2, bytes: 9 }));
	}

	#[test]
	fn the_registry_is_read_round_robin_over_crates() {
		let root = tree(&[
			("registry/src/x/aa-1.0/CHANGELOG.md", b"aa changes\n"),
			("registry/src/x/aa-1.0/README.md", b"aa readme\n"),
			("registry/src/x/aa-1.0/src/lib.rs", b"aa lib\n"),
			("registry/src/x/aa-1.0/image.svg", b"<svg/>"),
			("registry/src/x/bb-1.0/src/lib.rs", b"bb lib\n"),
		]);
		let corpus = registry_corpus(root.path(), LIMITS).unwrap();
		assert_eq!(texts(&corpus), ["aa readme\n", "bb lib\n", "aa lib\n", "aa changes\n"]);
		// Of each the first document only: 4 bytes of 10, 4 of 7, 4 of 7; then there is no room.
		let corpus = registry_corpus(root.path(), CorpusLimits { total_bytes: 12, document_bytes: 4 }).unwrap();
		assert_eq!((texts(&corpus), corpus.left_out.beyond), (vec!["aa r", "bb l", "aa l"], Amount { count: 4, bytes: 6 + 3 + 3 + 11 }));
	}

	#[test]
	fn nothing_to_read_is_said_in_words() {
		let root = tree(&[("c.bin", b"\xff\xfe\x00")]);
		let error = path_corpus(root.path(), LIMITS).unwrap_err();
		assert!(error.to_string().starts_with("no text was found in "), "{error}");
		assert!(error.to_string().contains("are skipped: 1"), "{error}");
		assert!(matches!(registry_corpus(root.path(), LIMITS), Err(DataError::NoText { skipped: 0, .. })));
		assert!(matches!(path_corpus(&root.path().join("gone"), LIMITS), Err(DataError::Io { .. })));
	}
}
