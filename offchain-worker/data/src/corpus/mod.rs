//! Text to train on: a folder, a file, or what every machine that built this project has anyway.
//!
//! The same files always give the same corpus: files are taken in the order of their relative path, and documents are
//! identified by content, so that neither the folder's place nor the order of a directory listing matters.
//!
//! - `walk`: the files below a folder; `text`: which of them are text; `left_out`: what is not taken, and why.

mod left_out;
mod text;
mod walk;

pub use left_out::{Amount, Left, LeftOut, Reason};

use super::DataError;
use std::{
	collections::BTreeMap,
	fs,
	io::Read,
	path::{Path, PathBuf},
};
use text::{is_raw, length_before, text_in, with_line_feeds};
use walk::{refused_by_name, sorted_entries};

/// Most bytes of a corpus unless told otherwise.
pub const DEFAULT_CORPUS_BYTES: u64 = 8 << 20;
/// Most bytes of a document unless told otherwise: many short ones mix better than a few long tables.
pub const DEFAULT_DOCUMENT_BYTES: u64 = 8 << 10;
/// Least that [`CorpusLimits::document_bytes`] counts as: any character has room in it.
pub const LEAST_DOCUMENT_BYTES: u64 = 4;

/// So much of a file is looked at before all of it is read.
const FIRST_LOOK: u64 = 64 << 10;

/// Limits on the text that is taken.
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

/// Documents and where they come from.
#[derive(Clone, Debug)]
pub struct Corpus {
	/// In words, for the manifest.
	pub source: String,
	/// UTF-8 texts, no two alike but for blanks at their ends, none empty. Their lines end with line feeds.
	pub documents: Vec<Vec<u8>>,
	/// Text that is not in them.
	pub left_out: LeftOut,
	/// Files of formats such as JSON that are in them as they are.
	pub raw: Left,
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
	for index in sorted_entries(&root).map_err(|_| DataError::NoText { path: root.clone(), left_out: LeftOut::default() })? {
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
		// Most of a crate is no text to train on, and nobody asks why.
		let files = walk::files(&folder, None, &mut LeftOut::default())?;
		let mut ranked: Vec<(u8, PathBuf)> = files.into_iter().filter_map(|file| Some((rank(&folder, &file)?, file))).collect();
		ranked.sort();
		queues.push(ranked.into_iter().map(|(_, file)| file));
	}
	let mut taken = Taken::new(limits, &root, LeftOut::default());
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
	taken.finish("READMEs, Rust sources and Markdown files of crates in the local cargo registry")
}

/// The text of one file, or of every file below a folder in the order of relative paths, until the limit is reached.
///
/// # Errors
/// [`DataError::NoText`] if nothing in it is UTF-8 text; [`DataError::Io`] if it cannot be read.
pub fn path_corpus(path: &Path, limits: CorpusLimits) -> Result<Corpus, DataError> {
	corpus_beside(path, limits, None)
}

/// As [`path_corpus`], without what is below `out`, where a dataset will be.
///
/// # Errors
/// As [`path_corpus`]; [`DataError::Invalid`] if all of it is there.
pub fn corpus_beside(path: &Path, limits: CorpusLimits, out: Option<&Path>) -> Result<Corpus, DataError> {
	let failed = |error| DataError::io(path, error);
	let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
	let (kind, place) = (fs::metadata(path).map_err(failed)?, path.canonicalize().map_err(failed)?);
	if let Some(out) = out.filter(|out| out.canonicalize().is_ok_and(|out| place.starts_with(out))) {
		let words = format!(
			"{} is where the dataset will be, or below it: name another folder for the dataset than {}",
			path.display(),
			out.display()
		);
		return Err(DataError::Invalid(words));
	}
	if kind.is_dir() {
		let mut left_out = LeftOut::default();
		let files = walk::files(path, out, &mut left_out)?;
		let mut taken = Taken::new(limits, path, left_out);
		for file in files {
			taken.add(&file, Part::Whole)?;
		}
		return taken.finish(&format!("text files of {name}"));
	}
	let mut taken = Taken::new(limits, path, LeftOut::default());
	match refused_by_name(path).or((!kind.is_file()).then_some(Reason::NoFile)) {
		Some(reason) => taken.left_out.add(reason, kind.len(), path),
		None => taken.add(path, Part::Whole)?,
	}
	taken.finish(&format!("text of {name}"))
}

/// Part of a file that is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
	/// Its first document.
	Beginning,
	/// All of it.
	Whole,
}

/// Documents taken so far.
struct Taken<'a> {
	limits: CorpusLimits,
	/// Path of the corpus.
	root: &'a Path,
	bytes: u64,
	// Keyed by content hash: duplicates (a file in two versions of a crate) fall away.
	seen: std::collections::BTreeSet<[u8; 32]>,
	documents: Vec<Vec<u8>>,
	left_out: LeftOut,
	raw: Left,
}

impl<'a> Taken<'a> {
	fn new(limits: CorpusLimits, root: &'a Path, left_out: LeftOut) -> Self {
		let document_bytes = limits.document_bytes.max(LEAST_DOCUMENT_BYTES);
		let limits = CorpusLimits { document_bytes, ..limits };
		Self { limits, root, bytes: 0, seen: Default::default(), documents: Vec::new(), left_out, raw: Left::default() }
	}

	fn room(&self) -> u64 {
		self.limits.total_bytes.saturating_sub(self.bytes)
	}

	/// Takes a file, or its beginning, as documents; one that is no text is passed over.
	fn add(&mut self, path: &Path, part: Part) -> Result<(), DataError> {
		let size = fs::metadata(path).map_err(|error| DataError::io(path, error))?.len();
		let name = path.strip_prefix(self.root).ok().filter(|name| *name != Path::new("")).unwrap_or(path);
		let most = match part {
			Part::Beginning => self.limits.document_bytes.min(self.room()),
			Part::Whole => self.room(),
		};
		if most == 0 {
			if size > 0 {
				self.left_out.add(Reason::Beyond, size, name);
			}
			return Ok(());
		}
		// What is no text, such as the image of a disk, is not read to its end.
		let look = most.saturating_add(1).min(FIRST_LOOK);
		let beginning = read_prefix(path, look)?;
		if let Err(reason) = text_in(&beginning, u64::try_from(beginning.len()).is_ok_and(|read| read == look)) {
			self.left_out.add(reason, size, name);
			return Ok(());
		}
		let prefix = read_prefix(path, most.saturating_add(1))?;
		let size = size.max(u64::try_from(prefix.len()).unwrap_or(u64::MAX));
		let raw = match text_in(&prefix, u64::try_from(prefix.len()).is_ok_and(|read| read > most)) {
			Ok(raw) => raw,
			Err(reason) => {
				self.left_out.add(reason, size, name);
				return Ok(());
			}
		};
		let text = with_line_feeds(raw);
		let (mut rest, mut done) = (text.as_bytes(), 0usize);
		while !rest.is_empty() && (part == Part::Whole || done == 0) {
			let end = document_end(rest, self.limits.document_bytes.min(self.room()));
			if end == 0 {
				break;
			}
			let (document, behind) = rest.split_at(end);
			self.insert(document, name);
			(rest, done) = (behind, done.saturating_add(end));
		}
		if is_raw(path) && done > 0 {
			self.raw.add(size, name);
		}
		// A mark at the beginning is no text that anybody misses.
		let mark = prefix.len().saturating_sub(raw.len()).min(if prefix.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 });
		let taken = mark.saturating_add(length_before(raw, done));
		let left = size.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
		if left > 0 {
			self.left_out.add(Reason::Beyond, left, name);
		}
		Ok(())
	}

	fn insert(&mut self, document: &[u8], name: &Path) {
		let bytes = document.len() as u64;
		let words = String::from_utf8_lossy(document);
		if words.trim().is_empty() || !self.seen.insert(super::blake2_256(words.trim_end().as_bytes()).0) {
			return self.left_out.add(Reason::Repeated, bytes, name);
		}
		self.bytes = self.bytes.saturating_add(bytes);
		self.documents.push(document.to_vec());
	}

	fn finish(self, source: &str) -> Result<Corpus, DataError> {
		let Self { root, documents, left_out, raw, .. } = self;
		match documents.is_empty() {
			true => Err(DataError::NoText { path: root.to_path_buf(), left_out }),
			false => Ok(Corpus { source: source.into(), documents, left_out, raw }),
		}
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
		None => match std::str::from_utf8(&text[..limit]) {
			Ok(_) => limit,
			Err(error) => error.valid_up_to(),
		},
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
		assert_eq!(
			corpus.left_out.lines(),
			[
				"3 bytes of 1 file in UTF-16 or UTF-32 (c.bin): convert them to UTF-8, as with `iconv -f UTF-16 -t UTF-8`",
				"4 bytes of 1 document that is blank, or equal to another one (b.txt)",
			]
		);
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
		assert_eq!(corpus.left_out.amount(Reason::Beyond), Amount { count: 2, bytes: 27 });
		assert_eq!(corpus.left_out.lines().len(), 1);
		let corpus = path_corpus(&root.path().join("a.txt"), limits).unwrap();
		assert_eq!((corpus.bytes(), corpus.left_out.amount(Reason::Beyond)), (18, Amount { count: 1, bytes: 15 }));
	}

	#[test]
	fn documents_never_split_a_character() {
		let root = tree(&[("a.txt", "äöüßäöüéäöüñ".as_bytes())]);
		let limits = CorpusLimits { document_bytes: 5, ..LIMITS };
		assert_eq!(texts(&path_corpus(root.path(), limits).unwrap()), ["äö", "üß", "üé", "üñ"]);
		let none = CorpusLimits { document_bytes: 0, total_bytes: 5 };
		let corpus = path_corpus(root.path(), none).unwrap();
		assert_eq!((texts(&corpus), corpus.left_out.amount(Reason::Beyond)), (vec!["äö"], Amount { count: 1, bytes: 20 }));
	}

	#[test]
	fn a_single_file_becomes_many_documents() {
		let root = tree(&[("a.txt", b"one two three four\nfive six seven\neight\n")]);
		let corpus = path_corpus(&root.path().join("a.txt"), LIMITS).unwrap();
		assert_eq!(texts(&corpus), ["one two three four\n", "five six seven\n", "eight\n"]);
	}

	#[test]
	fn a_binary_file_that_begins_like_text_is_no_text() {
		let root = tree(&[("a.bin", b"ELF\x02\xff\xfe and more that is not text")]);
		for path in [root.path().join("a.bin"), root.path().to_path_buf()] {
			let error = path_corpus(&path, LIMITS).unwrap_err().to_string();
			assert!(error.contains("1 file that is not UTF-8 text") && error.contains("a.bin"), "{error}");
		}
	}

	#[test]
	fn files_that_are_not_text_are_counted() {
		let root = tree(&[("a.txt", b"text\n"), ("b.bin", b"\xff\xff\x01"), ("c.bin", b"cut \xe2\x82")]);
		let corpus = path_corpus(root.path(), LIMITS).unwrap();
		assert_eq!((texts(&corpus), corpus.left_out.amount(Reason::NotUtf8)), (vec!["text\n"], Amount { count: 2, bytes: 9 }));
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
		assert_eq!(
			(texts(&corpus), corpus.left_out.amount(Reason::Beyond)),
			(vec!["aa r", "bb l", "aa l"], Amount { count: 4, bytes: 6 + 3 + 3 + 11 })
		);
	}

	#[test]
	fn nothing_to_read_is_said_in_words() {
		let root = tree(&[("c.bin", b"\xff\xfe\x00")]);
		let error = path_corpus(root.path(), LIMITS).unwrap_err();
		assert!(error.to_string().starts_with("no text was found in "), "{error}");
		assert!(error.to_string().contains("1 file in UTF-16 or UTF-32 (c.bin)"), "{error}");
		assert!(matches!(registry_corpus(root.path(), LIMITS), Err(DataError::NoText { left_out, .. }) if left_out == LeftOut::default()));
		assert!(matches!(path_corpus(&root.path().join("gone"), LIMITS), Err(DataError::Io { .. })));
	}

	/// Texts, in the encodings that editors write them in.
	fn encoded(count: usize) -> Vec<(String, Vec<u8>)> {
		let text = |index: usize| format!("text {index} of many\nwith two lines, \u{e4}{index}\n");
		let utf16 = |text: String| [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
		let each = |index| {
			let text = text(index);
			[
				(format!("plain/{index}"), text.clone().into_bytes()),
				(format!("mark/{index}"), format!("\u{feff}{text}").into_bytes()),
				(format!("windows/{index}"), text.replace('\n', "\r\n").into_bytes()),
				(format!("both/{index}"), format!("\u{feff}{}", text.replace('\n', "\r\n")).into_bytes()),
				(format!("mac/{index}"), text.replace('\n', "\r").into_bytes()),
				(format!("open/{index}"), text.trim_end().as_bytes().to_vec()),
				(format!("wide/{index}"), utf16(text)),
			]
		};
		(0..count).flat_map(each).collect()
	}

	#[test]
	fn a_text_counts_once_however_its_file_is_encoded() {
		let files = encoded(20);
		let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
		let root = tree(&files);
		// Of two or of one document each.
		for document_bytes in [25, 8 << 10] {
			let limits = CorpusLimits { document_bytes, ..CorpusLimits::default() };
			let corpus = path_corpus(root.path(), limits).unwrap();
			let plain = path_corpus(&root.path().join("plain"), limits).unwrap();
			let sorted = |corpus: &Corpus| {
				texts(corpus).into_iter().map(|text| text.trim_end().to_owned()).collect::<std::collections::BTreeSet<_>>()
			};
			assert_eq!(sorted(&corpus), sorted(&plain));
			assert_eq!(corpus.documents.len(), plain.documents.len());
			assert!(texts(&corpus).iter().all(|text| !text.contains(['\r', '\u{feff}', '\0'])));
			assert_eq!(corpus.left_out.amount(Reason::Wide).count, 20);
			assert_eq!(corpus.left_out.amount(Reason::Beyond), Amount::default());
			assert_eq!(plain.left_out, LeftOut::default());
		}
	}

	#[test]
	fn null_characters_records_and_packed_files_are_no_text_and_are_named() {
		let root = tree(&[
			("a.txt", b"text\n"),
			("zeros.txt", &[0; 9]),
			("b.jsonl", b"{\"text\": \"b\"}\n"),
			("c.txt.gz", b"\x1f\x8b\x08\0"),
			("d.txt", b"{\"text\": \"d\"}\n{\"text\": \"e\"}\n"),
			("e.json", b"{\"text\": \"e\"}\n"),
		]);
		let corpus = path_corpus(root.path(), CorpusLimits { document_bytes: 100, ..LIMITS }).unwrap();
		assert_eq!(texts(&corpus), ["text\n", "{\"text\": \"e\"}\n"]);
		let lines = corpus.left_out.lines();
		for (words, path) in [("null characters", "(zeros.txt)"), ("records", "(b.jsonl, d.txt)"), ("packed", "(c.txt.gz)")] {
			assert!(lines.iter().any(|line| line.contains(words) && line.contains(path)), "{words}: {lines:?}");
		}
		assert_eq!((corpus.raw.amount.count, corpus.raw.named()), (1, "(e.json)".into()));
		for name in ["b.jsonl", "c.txt.gz"] {
			let error = path_corpus(&root.path().join(name), LIMITS).unwrap_err().to_string();
			assert!(error.contains(name) && (error.contains("jq") || error.contains("unpack")), "{error}");
		}
	}

	#[test]
	fn what_is_no_text_is_known_by_its_beginning_and_not_read_to_its_end() {
		let root = tree(&[("a.txt", b"text\n"), ("disk.img", b"")]);
		// Nobody has memory for all of it, and none of it takes room on the disk.
		fs::File::options().write(true).open(root.path().join("disk.img")).unwrap().set_len(1 << 36).unwrap();
		let corpus = path_corpus(root.path(), CorpusLimits { total_bytes: u64::MAX, ..LIMITS }).unwrap();
		assert_eq!((texts(&corpus), corpus.left_out.amount(Reason::Null).count), (vec!["text\n"], 1));
		// A character that the first look breaks off is none that is missing.
		let long = "\u{e4}".repeat(100_000);
		for text in [long.clone(), format!("x{long}")] {
			let root = tree(&[("a.txt", text.as_bytes())]);
			let limits = CorpusLimits { total_bytes: u64::MAX, document_bytes: u64::MAX };
			assert_eq!(texts(&path_corpus(root.path(), limits).unwrap()), [text.as_str()]);
		}
	}

	#[test]
	fn the_place_of_the_dataset_is_not_in_it() {
		let root = tree(&[("proj/a.txt", b"text\n"), ("proj/ds/notes.txt", b"other\n"), ("proj/.git/config", b"token = secret\n")]);
		let at = |name: &str| root.path().join(name);
		let corpus = corpus_beside(&at("proj"), LIMITS, Some(&at("proj/ds"))).unwrap();
		assert_eq!(texts(&corpus), ["text\n"]);
		assert_eq!(corpus.left_out.lines(), ["1 hidden file or folder (.git)", "1 folder of a dataset (ds)"]);
		for out in ["proj", "proj/ds/..", ""] {
			let error = corpus_beside(&at("proj"), LIMITS, Some(&at(out))).unwrap_err();
			assert!(matches!(error, DataError::Invalid(_)), "{error}");
		}
		assert_eq!(texts(&corpus_beside(&at("proj"), LIMITS, Some(&at("new"))).unwrap()).len(), 2);
	}
}
