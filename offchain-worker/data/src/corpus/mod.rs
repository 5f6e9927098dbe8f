//! Text to train on: files and folders, standard input, or what every machine that built this project has anyway.
//!
//! A corpus is a stream of documents: [`Corpus::read`] gives one after another, and holds none. The same files always give the same documents in
//! the same order: files are taken in the order of their relative path, so that neither the folder's place nor the order of a directory listing
//! matters.
//!
//! - Which files: `walk` (those below a folder), `part` (what was named, and its place in a folder above all), `registry` (those of crates).
//! - What is in them: `kind` (which format), `reader` (a file's documents), `inflate` (compressed files), `archive` (tar).
//! - Formats: `text`, `lines` (JSON lines), `array` (JSON), `table` (CSV), `parquet`; `column` is what those of records have in common. `tokens` are files
//!   that are read as tokens.
//! - What is said of it: `found` (what was read), `left_out` (what was not, and why).

mod archive;
mod array;
mod column;
mod found;
mod inflate;
mod kind;
mod left_out;
mod lines;
mod parquet;
mod part;
mod reader;
mod registry;
mod table;
mod text;
mod tokens;
mod walk;

pub use found::{Format, Found, Taken};
pub use left_out::{Amount, Left, LeftOut, Reason};
pub(crate) use part::below;
pub use part::Part;
pub use tokens::{Pretokenized, RawTokens};
pub(crate) use {text::with_line_feeds, tokens::ids};

use crate::{
	meter::Meter,
	mixture::{MOST_SOURCES, MOST_WEIGHT},
	DataError,
};
use neuroshard_types::dataset::TextTokens;
use part::Input;
use reader::{Reader, Share};
use serde::{Deserialize, Serialize};
use std::{
	collections::BTreeSet,
	fs,
	path::{Path, PathBuf},
};

/// Most bytes of a corpus unless told otherwise.
pub const DEFAULT_CORPUS_BYTES: u64 = 8 << 20;
/// Most bytes of a document unless told otherwise: many short ones mix better than a few long tables.
pub const DEFAULT_DOCUMENT_BYTES: u64 = 8 << 10;
/// Most bytes of a record unless told otherwise.
pub const DEFAULT_RECORD_BYTES: u64 = 64 << 20;
/// Least that [`CorpusLimits::document_bytes`] counts as: any character has room in it.
pub const LEAST_DOCUMENT_BYTES: u64 = 4;
/// Field of records that has the text, unless told otherwise.
const DEFAULT_COLUMN: &str = "text";
/// Columns of records that have a conversation, unless told otherwise: the first one that is there.
pub const CHAT_COLUMNS: [&str; 2] = ["messages", "conversations"];
/// Path that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// Limits on the text that is taken.
#[derive(Clone, Copy, Debug)]
pub struct CorpusLimits {
	/// Bytes in all.
	pub total_bytes: u64,
	/// Bytes of one document. A longer text becomes several, each up to the last line end that fits.
	pub document_bytes: u64,
	/// Bytes of one record, such as a line of JSON: a longer one is refused. Documents are not longer, either.
	pub record_bytes: u64,
}

impl Default for CorpusLimits {
	fn default() -> Self {
		Self { total_bytes: DEFAULT_CORPUS_BYTES, document_bytes: DEFAULT_DOCUMENT_BYTES, record_bytes: DEFAULT_RECORD_BYTES }
	}
}

/// What becomes of text that is not UTF-8.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InvalidUtf8 {
	/// Nothing is read any more.
	Refuse,
	/// The file, if it is in its beginning, or else the document is left out, and counted.
	#[default]
	Skip,
	/// U+FFFD takes its place.
	Replace,
}

/// What becomes of the ends of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineEnds {
	/// They stay as they are.
	#[default]
	Keep,
	/// Each becomes a line feed: a carriage return with one behind it, and one alone.
	Lf,
}

/// A text of the corpus.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
	/// Neither empty nor blank. Of a file of tokens, a character for each.
	pub text: &'a str,
	/// Number of its file, by which [`Found`] knows the name.
	pub file: u32,
}

/// Takes documents, one after another.
pub type Take<'a> = dyn FnMut(Document<'_>) -> Result<(), DataError> + 'a;

/// Where documents come from.
#[derive(Clone, Debug)]
pub struct Corpus {
	source: String,
	origin: Origin,
	limits: CorpusLimits,
	column: Option<String>,
	/// Whether documents are whole records.
	records: bool,
	invalid_utf8: InvalidUtf8,
	line_ends: LineEnds,
	/// How tokens are read, and those of the tokenizer that made them, where files hold tokens.
	pretokenized: Option<(Pretokenized, TextTokens)>,
	/// Weights of the parts of a mixture; none where there is none.
	weights: Vec<u64>,
}

#[derive(Clone, Debug)]
enum Origin {
	Given(Vec<String>),
	/// The folder of crates.
	Registry(PathBuf),
	/// Files and folders, of which nothing below `out` is read.
	Paths {
		inputs: Vec<Input>,
		out: Option<PathBuf>,
	},
}

impl Corpus {
	/// These documents.
	pub fn given(source: &str, documents: Vec<String>) -> Self {
		Self::new(source.into(), Origin::Given(documents), CorpusLimits { total_bytes: u64::MAX, ..CorpusLimits::default() })
	}

	fn new(source: String, origin: Origin, limits: CorpusLimits) -> Self {
		let record_bytes = limits.record_bytes.max(LEAST_DOCUMENT_BYTES);
		let document_bytes = limits.document_bytes.clamp(LEAST_DOCUMENT_BYTES, record_bytes);
		let limits = CorpusLimits { document_bytes, record_bytes, ..limits };
		Self {
			source,
			origin,
			limits,
			column: None,
			records: false,
			invalid_utf8: InvalidUtf8::default(),
			line_ends: LineEnds::default(),
			pretokenized: None,
			weights: Vec::new(),
		}
	}

	/// Has the text of records in the column of this name. In JSON and Parquet, points lead into objects.
	pub fn with_column(self, column: &str) -> Self {
		Self { column: Some(column.into()), ..self }
	}

	/// Takes records of conversations as they are, each as one document: lines of JSON lines, and of other records the column that has the conversation, as
	/// JSON. They may be as long as a record.
	pub fn with_records(self) -> Self {
		let limits = CorpusLimits { document_bytes: self.limits.record_bytes, ..self.limits };
		Self { records: true, limits, ..self }
	}

	/// Takes files as tokens, of which `tokens` are those of the tokenizer that made them; each document is what is between two that end one. They may be
	/// as long as a record, at four bytes a token.
	pub fn with_pretokenized(self, pretokenized: Pretokenized, tokens: TextTokens) -> Self {
		let limits = CorpusLimits { document_bytes: self.limits.record_bytes, ..self.limits };
		Self { pretokenized: Some((pretokenized, tokens)), limits, ..self }
	}

	/// Decides what becomes of the ends of lines.
	pub fn with_line_ends(self, line_ends: LineEnds) -> Self {
		Self { line_ends, ..self }
	}

	/// Says where the text is from, in words, if a manifest has room for them.
	pub fn with_source(self, source: String) -> Self {
		match source.len() <= MOST_SOURCE {
			true => Self { source, ..self },
			false => self,
		}
	}

	/// Decides what becomes of text that is not UTF-8.
	pub fn with_invalid_utf8(self, invalid_utf8: InvalidUtf8) -> Self {
		Self { invalid_utf8, ..self }
	}

	/// Where the text is from, in words, for a manifest: at most 169 bytes.
	pub fn source(&self) -> &str {
		&self.source
	}

	/// Limits on the text that is taken.
	pub(crate) fn limits(&self) -> CorpusLimits {
		self.limits
	}

	pub(crate) fn column(&self) -> &str {
		self.column.as_deref().unwrap_or(DEFAULT_COLUMN)
	}

	pub(crate) fn invalid_utf8(&self) -> InvalidUtf8 {
		self.invalid_utf8
	}

	pub(crate) fn line_ends(&self) -> LineEnds {
		self.line_ends
	}

	/// How tokens are read, if files hold tokens.
	pub(crate) fn pretokenized(&self) -> Option<Pretokenized> {
		self.pretokenized.map(|(pretokenized, _)| pretokenized)
	}

	/// What was named, by places below a folder that has all of it; nothing where that is not files alone.
	pub(crate) fn parts(&self) -> Option<Vec<Part>> {
		match &self.origin {
			Origin::Paths { inputs, .. } if !inputs.iter().any(|input| is_standard_input(&input.path)) => {
				Some(part::parts(inputs, &self.weights))
			}
			_ => None,
		}
	}

	/// The text of these parts of `folder`.
	///
	/// # Errors
	/// [`DataError::Invalid`] for a path that leads out of the folder.
	pub(crate) fn of_parts(folder: &Path, parts: &[Part], limits: CorpusLimits) -> Result<Self, DataError> {
		let origin = Origin::Paths { inputs: part::inputs(folder, parts)?, out: None };
		let weights: Vec<u64> = parts.iter().filter_map(|part| part.weight).collect();
		if !weights.is_empty() {
			check_weights(&weights)?;
		}
		if ![0, parts.len()].contains(&weights.len()) {
			return Err(DataError::Invalid("the list of sources has weights of some of its parts alone".into()));
		}
		Ok(Self { weights, ..Self::new(String::new(), origin, limits) })
	}

	/// Weights of the parts of a mixture; none where there is none.
	pub(crate) fn weights(&self) -> &[u64] {
		&self.weights
	}

	/// Reads all of it. `take` gets every document, also those that are there several times.
	///
	/// # Errors
	/// [`DataError::NoText`] if there is no document; [`DataError::Broken`] for files that are not what they seem to be, [`DataError::NoColumn`]
	/// for records without the column, [`DataError::NotUtf8`] if that is refused; [`DataError::Io`]; or what `take` says.
	pub fn read(&self, meter: &Meter, take: &mut Take<'_>) -> Result<Found, DataError> {
		self.read_with(Reader::new(self, meter, take), meter)
	}

	/// As [`Self::read`], but texts are not split: [`pieces`] does it.
	///
	/// # Errors
	/// As [`Self::read`]; [`DataError::Broken`] for a text that is longer than a record may be.
	pub(crate) fn read_whole(&self, meter: &Meter, take: &mut Take<'_>) -> Result<Found, DataError> {
		let mut reader = Reader::new(self, meter, take);
		reader.whole();
		self.read_with(reader, meter)
	}

	fn read_with(&self, mut reader: Reader<'_>, meter: &Meter) -> Result<Found, DataError> {
		let place = match &self.origin {
			Origin::Given(documents) => {
				reader.given(documents)?;
				Path::new("")
			}
			Origin::Registry(root) => {
				registry::read(root, &mut reader)?;
				root
			}
			Origin::Paths { inputs, out } => {
				read_paths(inputs, out.as_deref(), &mut reader, meter)?;
				inputs.first().map_or(Path::new(""), |input| &input.path)
			}
		};
		let found = reader.finish();
		match found.documents() {
			0 => Err(DataError::NoText { path: place.to_path_buf(), left_out: found.left_out }),
			_ => Ok(found),
		}
	}

	/// All documents, each once, in memory, for what takes more than one pass.
	///
	/// # Errors
	/// As [`Self::read`].
	pub fn texts(&self) -> Result<(BTreeSet<String>, Found), DataError> {
		let mut texts = BTreeSet::new();
		let found = self.read(&Meter::default(), &mut |document| {
			texts.insert(document.text.to_owned());
			Ok(())
		})?;
		Ok((texts, found))
	}
}

/// The documents that a text becomes, each of so many bytes or fewer.
pub(crate) fn pieces(text: &str, document_bytes: u64, line_ends: LineEnds) -> impl Iterator<Item = &str> {
	let mut rest = text;
	std::iter::from_fn(move || {
		let end = text::document_end(rest.as_bytes(), document_bytes, line_ends);
		let (piece, behind) = rest.split_at_checked(end).filter(|(piece, _)| !piece.is_empty())?;
		rest = behind;
		Some(piece)
	})
}

fn read_paths(inputs: &[Input], out: Option<&Path>, reader: &mut Reader<'_>, meter: &Meter) -> Result<(), DataError> {
	let mut found = Vec::new();
	for input in inputs {
		// Names are told below the path that was given, if there is one alone.
		let root = if inputs.len() == 1 { &input.path } else { Path::new("") };
		if is_standard_input(&input.path) || !input.path.is_dir() {
			found.push((input, root, input.path.clone()));
			continue;
		}
		let files = walk::files(&input.path, out, &mut reader.found_mut().left_out)?;
		found.extend(files.into_iter().map(|file| (input, root, file)));
	}
	let bytes = |(_, _, path): &(&Input, &Path, PathBuf)| fs::metadata(path).map_or(0, |kind| kind.len());
	if !inputs.iter().any(|input| is_standard_input(&input.path)) {
		meter.expect(found.iter().map(bytes).fold(0, u64::saturating_add));
	}
	for (input, root, path) in found {
		match is_standard_input(&path) {
			true => reader.standard_input()?,
			false => {
				let listed = input.listed(&path);
				reader.file(root, &path, Some((input.part, &listed)), Share::Whole)?;
			}
		}
	}
	Ok(())
}

/// Text of the crates in the cargo registry below `cargo_home`: the first file of every crate, then the second of every
/// crate, until the limit is reached. A crate's READMEs come first, then `src/`, then its other Rust and Markdown files. Of each
/// file only the first document is taken, so that there is something of everything, and none a second time.
pub fn registry_corpus(cargo_home: &Path, limits: CorpusLimits) -> Corpus {
	let source = "READMEs, Rust sources and Markdown files of crates in the local cargo registry";
	Corpus::new(source.into(), Origin::Registry(cargo_home.join("registry").join("src")), limits)
}

/// The text of one file, or of every file below a folder in the order of relative paths, until the limit is reached.
///
/// # Errors
/// [`DataError::Io`] if it is not there.
pub fn path_corpus(path: &Path, limits: CorpusLimits) -> Result<Corpus, DataError> {
	paths_corpus(&[path.to_path_buf()], limits, None)
}

/// The text of files, of what is below folders, of what matches patterns such as `texts/*.jsonl.gz`, and of standard input for
/// [`STANDARD_INPUT`]; without what is below `out`, where a dataset will be.
///
/// # Errors
/// [`DataError::Io`] if one of them is not there, [`DataError::Invalid`] for a pattern that nothing matches, or for what is below `out` altogether.
pub fn paths_corpus(paths: &[PathBuf], limits: CorpusLimits, out: Option<&Path>) -> Result<Corpus, DataError> {
	let mut all = Vec::new();
	for path in paths {
		all.extend(matches(path)?);
	}
	refuse_out(&all, out)?;
	let origin = Origin::Paths { inputs: part::named(vec![all])?, out: out.map(Path::to_path_buf) };
	Ok(Corpus::new(source_of(paths), origin, limits))
}

/// A mixture: of each source, which is paths or patterns as of [`paths_corpus`], so much text that the tokens of all are by their weights.
///
/// # Errors
/// As [`paths_corpus`]; [`DataError::Invalid`] for standard input, too many sources, or a weight out of bounds.
pub fn mixed_corpus(sources: &[(u64, Vec<PathBuf>)], limits: CorpusLimits, out: Option<&Path>) -> Result<Corpus, DataError> {
	let weights: Vec<u64> = sources.iter().map(|(weight, _)| *weight).collect();
	let paths: Vec<PathBuf> = sources.iter().flat_map(|(_, paths)| paths).cloned().collect();
	check_weights(&weights)?;
	if paths.iter().any(|path| is_standard_input(path)) {
		return Err(DataError::Invalid("standard input is no source of a mixture: name files and folders".into()));
	}
	let all = |paths: &[PathBuf]| Ok(paths.iter().map(|path| matches(path)).collect::<Result<Vec<_>, _>>()?.concat());
	let parts = sources.iter().map(|(_, paths)| all(paths)).collect::<Result<Vec<_>, DataError>>()?;
	parts.iter().try_for_each(|paths| refuse_out(paths, out))?;
	let origin = Origin::Paths { inputs: part::named(parts)?, out: out.map(Path::to_path_buf) };
	Ok(Corpus { weights, ..Corpus::new(source_of(&paths), origin, limits) })
}

fn check_weights(weights: &[u64]) -> Result<(), DataError> {
	if weights.is_empty() || weights.len() > MOST_SOURCES {
		return Err(DataError::Invalid(format!("a mixture has 1 to {MOST_SOURCES} sources, not {}", weights.len())));
	}
	match weights.iter().find(|weight| !(1..=MOST_WEIGHT).contains(*weight)) {
		Some(weight) => Err(DataError::Invalid(format!("a source has a weight from 1 to {MOST_WEIGHT}, not {weight}"))),
		None => Ok(()),
	}
}

/// Refuses what is below the place of the dataset, and what is not there.
fn refuse_out(paths: &[PathBuf], out: Option<&Path>) -> Result<(), DataError> {
	for path in paths.iter().filter(|path| !is_standard_input(path)) {
		let place = path.canonicalize().map_err(|error| DataError::io(path, error))?;
		if let Some(out) = out.filter(|out| out.canonicalize().is_ok_and(|out| place.starts_with(out))) {
			let words = format!(
				"{} is where the dataset will be, or below it: name another folder for the dataset than {}",
				path.display(),
				out.display()
			);
			return Err(DataError::Invalid(words));
		}
	}
	Ok(())
}

/// What a path stands for that may be a pattern.
fn matches(path: &Path) -> Result<Vec<PathBuf>, DataError> {
	let text = path.to_string_lossy();
	if is_standard_input(path) || path.exists() || !text.contains(['*', '?', '[']) {
		return Ok(vec![path.to_path_buf()]);
	}
	let refused = |reason: &dyn std::fmt::Display| DataError::Invalid(format!("{text}: {reason}"));
	// Names that begin with a point are asked for by name, as everywhere.
	let options = glob::MatchOptions { require_literal_leading_dot: true, require_literal_separator: true, ..Default::default() };
	let found = glob::glob_with(&text, options).map_err(|error| refused(&error))?;
	let found =
		found.collect::<Result<Vec<_>, _>>().map_err(|error| DataError::io(error.path(), std::io::Error::from(error.error().kind())))?;
	match found.is_empty() {
		true => Err(refused(&"no file matches this pattern")),
		false => Ok(found),
	}
}

fn is_standard_input(path: &Path) -> bool {
	path == Path::new(STANDARD_INPUT)
}

/// Most bytes of what is said of where the text is from.
const MOST_SOURCE: usize = 169;

/// In words, and within what a manifest has room for.
fn source_of(paths: &[PathBuf]) -> String {
	const ROOM: usize = 150;
	let name = |path: &PathBuf| match is_standard_input(path) {
		true => "standard input".to_owned(),
		false => path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
	};
	if let Some(path) = paths.first().filter(|path| paths.len() == 1 && name(path).len() <= ROOM) {
		return format!("{} {}", if path.is_dir() { "text files of" } else { "text of" }, name(path));
	}
	let names = paths.iter().map(name).collect::<Vec<_>>().join(", ");
	match names.len() <= ROOM {
		true => format!("text of {names}"),
		false => format!("text of {} files and folders", paths.len()),
	}
}

#[cfg(test)]
mod tests;
