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
/// Most bytes taken from the beginning of one file: many short documents mix better than a few long tables.
pub const DEFAULT_DOCUMENT_BYTES: u64 = 8 << 10;
/// Folders nested deeper than this are not followed.
const MAX_DEPTH: u32 = 32;

/// How much text to take.
#[derive(Clone, Copy, Debug)]
pub struct CorpusLimits {
	/// Bytes in all.
	pub total_bytes: u64,
	/// Bytes of one document, cut at the last line end.
	pub document_bytes: u64,
}

impl Default for CorpusLimits {
	fn default() -> Self {
		Self { total_bytes: DEFAULT_CORPUS_BYTES, document_bytes: DEFAULT_DOCUMENT_BYTES }
	}
}

/// Documents and where they come from.
#[derive(Clone, Debug)]
pub struct Corpus {
	/// In words, for the manifest.
	pub source: String,
	/// UTF-8 texts, no two alike, none empty.
	pub documents: Vec<Vec<u8>>,
	/// Files that were passed over because they are not UTF-8.
	pub skipped: u64,
}

impl Corpus {
	/// Bytes of all documents.
	pub fn bytes(&self) -> u64 {
		self.documents.iter().map(|document| document.len() as u64).sum()
	}
}

/// Text of the crates in the cargo registry below `cargo_home`: the first file of every crate, then the second of every
/// crate, until the limit is reached. A crate's READMEs come first, then `src/`, then its other Rust and Markdown files.
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
	while !queues.is_empty() && !taken.full() {
		let mut failure = None;
		queues.retain_mut(|files| {
			let Some(file) = files.next() else { return false };
			if let (false, Err(error)) = (taken.full(), taken.add(&file)) {
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

/// The text of one file, or of every file below a folder in the order of relative paths.
///
/// # Errors
/// [`DataError::NoText`] if nothing in it is UTF-8 text; [`DataError::Io`] if it cannot be read.
pub fn path_corpus(path: &Path, limits: CorpusLimits) -> Result<Corpus, DataError> {
	let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
	if fs::metadata(path).map_err(|error| DataError::io(path, error))?.is_file() {
		return single_file(path, &name, limits);
	}
	let mut files = Vec::new();
	collect_files(path, MAX_DEPTH, &mut files)?;
	let mut taken = Taken::new(limits);
	for file in files {
		if taken.full() {
			break;
		}
		taken.add(&file)?;
	}
	taken.finish(&format!("text files of {name}"), path)
}

/// A single file is cut into documents of at most `document_bytes`, so that training and held-out text both come from
/// all over it.
fn single_file(path: &Path, name: &str, limits: CorpusLimits) -> Result<Corpus, DataError> {
	let mut text = read_prefix(path, limits.total_bytes.saturating_add(1))?;
	let mut taken = Taken::new(limits);
	match text_length(&text, limits.total_bytes) {
		Some(length) => text.truncate(length),
		None => {
			taken.skipped = 1;
			text.clear();
		}
	}
	let mut rest = &text[..];
	while !rest.is_empty() {
		// At least one character of at most four bytes, so that the loop moves on.
		let end = document_end(rest, limits.document_bytes.max(4));
		taken.insert(&rest[..end]);
		rest = &rest[end..];
	}
	taken.finish(&format!("text of {name}"), path)
}

/// Documents taken so far.
struct Taken {
	limits: CorpusLimits,
	bytes: u64,
	// Keyed by content hash: duplicates (a file in two versions of a crate) fall away.
	seen: std::collections::BTreeSet<[u8; 32]>,
	documents: Vec<Vec<u8>>,
	skipped: u64,
}

impl Taken {
	fn new(limits: CorpusLimits) -> Self {
		Self { limits, bytes: 0, seen: Default::default(), documents: Vec::new(), skipped: 0 }
	}

	fn full(&self) -> bool {
		self.bytes >= self.limits.total_bytes
	}

	/// Takes the beginning of a file; one that is not UTF-8 is passed over.
	fn add(&mut self, path: &Path) -> Result<(), DataError> {
		let mut text = read_prefix(path, self.limits.document_bytes.saturating_add(1))?;
		let Some(length) = text_length(&text, self.limits.document_bytes) else {
			self.skipped = self.skipped.saturating_add(1);
			return Ok(());
		};
		text.truncate(length);
		let end = document_end(&text, self.limits.document_bytes);
		self.insert(&text[..end]);
		Ok(())
	}

	fn insert(&mut self, document: &[u8]) {
		let room = self.limits.total_bytes.saturating_sub(self.bytes);
		let document = &document[..document_end(document, room)];
		if document.iter().all(u8::is_ascii_whitespace) || !self.seen.insert(super::blake2_256(document).0) {
			return;
		}
		self.bytes += document.len() as u64;
		self.documents.push(document.to_vec());
	}

	fn finish(self, source: &str, path: &Path) -> Result<Corpus, DataError> {
		if self.documents.is_empty() {
			return Err(DataError::NoText { path: path.to_path_buf(), skipped: self.skipped });
		}
		Ok(Corpus { source: source.into(), documents: self.documents, skipped: self.skipped })
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
		assert_eq!(texts(&path_corpus(root.path(), LIMITS).unwrap()), ["bee\n", "zed\n"]);
	}

	#[test]
	fn documents_are_cut_at_a_line_end_and_the_corpus_at_its_limit() {
		let root = tree(&[("a.txt", b"0123456789\n012345678901234567890\n"), ("b.txt", b"b2345\nb8901\n")]);
		let limits = CorpusLimits { total_bytes: 18, ..LIMITS };
		assert_eq!(texts(&path_corpus(root.path(), limits).unwrap()), ["0123456789\n", "b2345\n"]);
	}

	#[test]
	fn a_cut_never_splits_a_character() {
		let root = tree(&[("a.txt", "ääääääääääää".as_bytes())]);
		let limits = CorpusLimits { document_bytes: 5, ..LIMITS };
		assert_eq!(texts(&path_corpus(root.path(), limits).unwrap()), ["ää"]);
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
		assert_eq!((texts(&corpus), corpus.skipped), (vec!["text\n"], 2));
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
