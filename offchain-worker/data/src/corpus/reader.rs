//! What a file holds, down to its documents.

use super::{
	archive, array,
	inflate::{self, Counted},
	kind::{self, kind, Kind},
	lines, parquet, table, text, tokens, Corpus, CorpusLimits, Document, Format, Found, InvalidUtf8, LineEnds, Pretokenized, Reason, Take,
	CHAT_COLUMNS, DEFAULT_COLUMN,
};
use crate::{meter::Meter, DataError};
use neuroshard_types::dataset::TextTokens;
use std::{
	borrow::Cow,
	cell::Cell,
	collections::HashSet,
	fs::{self, File},
	io::{self, BufReader, Read},
	path::Path,
	rc::Rc,
};

/// So much of a file is looked at before it is read.
const FIRST_LOOK: u64 = 64 << 10;
const BUFFER: usize = 64 << 10;
/// Compressed files and archives within one another.
const MOST_LAYERS: u32 = 8;

/// How much of a file is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Share {
	/// Its first document, if it is text.
	Beginning,
	/// All of it.
	Whole,
}

/// Part of a file that text is from, counted from 1 but for bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
	/// It begins with this byte.
	From(u64),
	Line(u64),
	Row(u64),
}

/// A file, or what is in one.
#[derive(Clone, Debug)]
pub(super) struct At<'a> {
	/// Path of the file itself.
	pub(super) path: &'a Path,
	/// Its name below the corpus, and behind it the name in an archive.
	pub(super) name: &'a str,
	/// Its name without the endings of what it was compressed with.
	pub(super) inner: &'a str,
	/// Number of the file.
	pub(super) file: u32,
	/// Bytes, where they are known.
	pub(super) size: Option<u64>,
	/// Bytes that were read of the file itself.
	pub(super) read: &'a Rc<Cell<u64>>,
}

impl At<'_> {
	/// The error that stands for one of a reader.
	pub(super) fn failed(&self, error: io::Error) -> DataError {
		match error.raw_os_error() {
			Some(_) => DataError::io(self.path, error),
			None => self.broken(error.to_string()),
		}
	}

	/// The file is not what it seems to be.
	pub(super) fn broken(&self, reason: impl Into<String>) -> DataError {
		DataError::Broken { place: self.name.to_owned(), reason: reason.into() }
	}
}

/// Reads files, and hands out their documents.
pub(super) struct Reader<'a> {
	limits: CorpusLimits,
	column: Option<&'a str>,
	records: bool,
	invalid_utf8: InvalidUtf8,
	line_ends: LineEnds,
	pretokenized: Option<(Pretokenized, TextTokens)>,
	whole: bool,
	meter: &'a Meter,
	take: &'a mut Take<'a>,
	found: Found,
	bytes: u64,
	/// Hashes of the documents, where none is taken twice.
	seen: Option<HashSet<[u8; 32]>>,
}

impl<'a> Reader<'a> {
	pub(super) fn new(corpus: &'a Corpus, meter: &'a Meter, take: &'a mut Take<'a>) -> Self {
		let column = corpus.column.as_deref();
		let Corpus { limits, records, invalid_utf8, line_ends, pretokenized, .. } = *corpus;
		let (found, bytes, seen) = Default::default();
		Self { limits, column, records, invalid_utf8, line_ends, pretokenized, whole: false, meter, take, found, bytes, seen }
	}

	/// Splits no text.
	pub(super) fn whole(&mut self) {
		(self.limits.document_bytes, self.whole) = (self.limits.record_bytes, true);
	}

	/// The refusal of a text that would be split although none may be. One that the limit of the corpus cuts, as it had this `room`, is the last one.
	pub(super) fn refuse_split(&mut self, room: u64, at: &At<'_>) -> Result<(), DataError> {
		if self.whole && room < self.limits.document_bytes {
			self.bytes = self.limits.total_bytes;
		}
		match self.whole && self.room() > 0 {
			true => Err(at.broken(format!(
				"a text has more than {} bytes, and texts are looked at as a whole here: raise --record-bytes, or split it",
				self.limits.record_bytes
			))),
			false => Ok(()),
		}
	}

	/// Takes no document twice. All hashes are held in memory.
	pub(super) fn without_repeats(&mut self) {
		self.seen = Some(HashSet::new());
	}

	pub(super) fn finish(self) -> Found {
		self.found
	}

	pub(super) fn found_mut(&mut self) -> &mut Found {
		&mut self.found
	}

	/// Bytes of text that may be taken yet.
	pub(super) fn room(&self) -> u64 {
		self.limits.total_bytes.saturating_sub(self.bytes)
	}

	pub(super) fn document_bytes(&self) -> u64 {
		self.limits.document_bytes
	}

	pub(super) fn record_bytes(&self) -> u64 {
		self.limits.record_bytes
	}

	pub(super) fn meter(&self) -> &'a Meter {
		self.meter
	}

	/// Whether documents are whole records.
	pub(super) fn takes_records(&self) -> bool {
		self.records
	}

	pub(super) fn column(&self) -> &'a str {
		self.column.unwrap_or(DEFAULT_COLUMN)
	}

	/// Columns that may have a conversation: the one that was named, or those that usually do.
	pub(super) fn chat_columns(&self) -> Vec<&'a str> {
		self.column.map_or_else(|| CHAT_COLUMNS.to_vec(), |named| vec![named])
	}

	pub(super) fn line_ends(&self) -> LineEnds {
		self.line_ends
	}

	pub(super) fn leave(&mut self, reason: Reason, bytes: u64, name: &str) {
		self.found.left_out.add(reason, bytes, name);
	}

	/// Leaves out what is behind the limit in a file of records.
	pub(super) fn leave_rest(&mut self, at: &At<'_>) {
		self.leave(Reason::Beyond, at.size.map_or(0, |size| size.saturating_sub(at.read.get())), at.name);
	}

	/// Takes documents that are at hand.
	pub(super) fn given(&mut self, documents: &[String]) -> Result<(), DataError> {
		let file = self.found.add_file("", 0);
		let read = Rc::default();
		let at = At { path: Path::new(""), name: "", inner: "", file, size: None, read: &read };
		documents.iter().try_for_each(|document| self.one(document, Format::Text, &at))
	}

	/// Takes a file, or its beginning. Its name is told below `root`. It is of a part of the corpus with this number, and listed by this name, if it is
	/// one that others can find.
	pub(super) fn file(&mut self, root: &Path, path: &Path, listed: Option<(u32, &str)>, share: Share) -> Result<(), DataError> {
		let failed = |error| DataError::io(path, error);
		let kind = fs::metadata(path).map_err(failed)?;
		let below = path.strip_prefix(root).ok().filter(|name| *name != Path::new("")).unwrap_or(path);
		let (name, size) = (below.to_string_lossy(), kind.len());
		let refused = super::walk::refused_by_name(path).or((!kind.is_file()).then_some(Reason::NoFile));
		if let Some(reason) = refused.or((self.room() == 0).then_some(Reason::Beyond)) {
			if size > 0 || reason != Reason::Beyond {
				self.leave(reason, size, &name);
			}
			return Ok(());
		}
		let file = File::open(path).map_err(failed)?;
		let read = Rc::default();
		let number = self.found.add_file(&name, listed.map_or(0, |(part, _)| part));
		self.found.opened.extend(listed.map(|(_, listed)| (listed.to_owned(), path.to_path_buf())));
		let at = At { path, name: &name, inner: &name, file: number, size: Some(size), read: &read };
		let counted = Counted::new(&file, &read, self.meter);
		self.stream(Box::new(counted), &at, Some(&file), share, 0)?;
		// What was passed over is done, too.
		self.meter.add_read(size.saturating_sub(read.get()));
		Ok(())
	}

	/// Takes what comes by standard input.
	pub(super) fn standard_input(&mut self) -> Result<(), DataError> {
		let (name, read) = ("standard input", Rc::default());
		let file = self.found.add_file(name, 0);
		let at = At { path: Path::new(name), name, inner: "", file, size: None, read: &read };
		let counted = Counted::new(io::stdin().lock(), &read, self.meter);
		self.stream(Box::new(counted), &at, None, Share::Whole, 0)
	}

	/// Takes what `input` holds. `file` is the same, if it is a file.
	pub(super) fn stream(
		&mut self,
		mut input: Box<dyn Read + '_>,
		at: &At<'_>,
		file: Option<&File>,
		share: Share,
		layers: u32,
	) -> Result<(), DataError> {
		if let Some((pretokenized, known)) = self.pretokenized {
			return tokens::read(self, input, (pretokenized, known), at);
		}
		let mut head = Vec::new();
		input.by_ref().take(FIRST_LOOK).read_to_end(&mut head).map_err(|error| at.failed(error))?;
		let kind = kind(&head, at.inner);
		if share == Share::Beginning && kind != Kind::Text {
			self.leave(Reason::Records, at.size.unwrap_or(0), at.name);
			return Ok(());
		}
		if kind == Kind::Text && !self.is_text(&head, at)? {
			return Ok(());
		}
		let format = match kind {
			Kind::Gzip | Kind::Zstd | Kind::Xz | Kind::Tar if layers == MOST_LAYERS => {
				return Err(at.broken(format!("more than {MOST_LAYERS} compressed files or archives are within one another")));
			}
			Kind::Left(reason) => {
				self.leave(reason, at.size.unwrap_or(0), at.name);
				return Ok(());
			}
			Kind::Gzip | Kind::Zstd | Kind::Xz => {
				let whole = BufReader::with_capacity(BUFFER, io::Cursor::new(head).chain(input));
				let inner = inflate::inflated(kind, Box::new(whole), at.read).map_err(|error| at.failed(error))?;
				let name = kind::unwrapped(at.inner).unwrap_or_else(|| at.inner.to_owned());
				return self.stream(inner, &At { inner: &name, size: None, ..at.clone() }, None, share, layers.saturating_add(1));
			}
			Kind::Tar => {
				let mut whole = io::Cursor::new(head).chain(input);
				return archive::read(self, &mut whole, at, layers.saturating_add(1));
			}
			Kind::Parquet => Format::Parquet,
			Kind::JsonLines => Format::JsonLines,
			Kind::JsonArray => Format::JsonArray,
			Kind::Table(_) => Format::Table,
			Kind::Text => Format::Text,
		};
		let taken = self.found.taken.entry(format).or_default();
		taken.files = taken.files.saturating_add(1);
		let mut whole = BufReader::with_capacity(BUFFER, io::Cursor::new(head).chain(input));
		match (kind, file) {
			(Kind::Parquet, Some(file)) => parquet::read(self, file, at),
			(Kind::Parquet, None) => Err(at.broken("Parquet is read from files only: unpack it")),
			(Kind::JsonLines, _) => lines::read(self, &mut whole, at),
			(Kind::JsonArray, _) => array::read(self, &mut whole, at),
			(Kind::Table(delimiter), _) => table::read(self, &mut whole, delimiter, at),
			_ => text::read(self, &mut whole, at, share),
		}
	}

	/// Returns whether it is text by its beginning; what is not is left out.
	fn is_text(&mut self, head: &[u8], at: &At<'_>) -> Result<bool, DataError> {
		let size = at.size.unwrap_or(0);
		if head.contains(&0) {
			self.leave(Reason::Null, size, at.name);
			return Ok(false);
		}
		let cut = u64::try_from(head.len()).is_ok_and(|read| read == FIRST_LOOK);
		let invalid = std::str::from_utf8(head).err().filter(|error| !cut || error.error_len().is_some());
		let Some(error) = invalid.filter(|_| self.invalid_utf8 != InvalidUtf8::Replace) else { return Ok(true) };
		let offset = u64::try_from(error.valid_up_to()).unwrap_or(u64::MAX);
		if self.invalid_utf8 == InvalidUtf8::Refuse {
			return Err(DataError::NotUtf8 { place: at.name.to_owned(), part: format!("byte {offset}") });
		}
		self.leave(Reason::NotUtf8, size, &format!("{} at byte {offset}", at.name));
		Ok(false)
	}

	/// Bytes as text, if they are any that is taken.
	pub(super) fn utf8<'b>(&mut self, bytes: &'b [u8], part: Part, at: &At<'_>) -> Result<Option<Cow<'b, str>>, DataError> {
		let error = match std::str::from_utf8(bytes) {
			Ok(text) => return Ok(Some(Cow::Borrowed(text))),
			Err(error) => error,
		};
		let part = match part {
			Part::From(offset) => format!("byte {}", offset.saturating_add(u64::try_from(error.valid_up_to()).unwrap_or(u64::MAX))),
			Part::Line(number) => format!("line {number}"),
			Part::Row(number) => format!("row {number}"),
		};
		match self.invalid_utf8 {
			InvalidUtf8::Refuse => Err(DataError::NotUtf8 { place: at.name.to_owned(), part }),
			InvalidUtf8::Replace => Ok(Some(String::from_utf8_lossy(bytes))),
			InvalidUtf8::Skip => {
				let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
				self.leave(Reason::NotUtf8, length, &format!("{} at {part}", at.name));
				Ok(None)
			}
		}
	}

	/// Takes one document.
	pub(super) fn document(&mut self, bytes: &[u8], offset: u64, format: Format, at: &At<'_>) -> Result<(), DataError> {
		match self.utf8(bytes, Part::From(offset), at)? {
			Some(text) => self.one(&text, format, at),
			None => Ok(()),
		}
	}

	/// Takes the text of a record, in several documents if it is long. Conversations are never cut.
	pub(super) fn record(&mut self, text: &str, format: Format, at: &At<'_>) -> Result<(), DataError> {
		let most = self.record_bytes();
		if self.records && u64::try_from(text.len()).is_ok_and(|length| length > most) {
			return Err(at.broken(format!("a conversation has more than {most} bytes: raise --record-bytes")));
		}
		let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
		if rest.is_empty() {
			self.leave(Reason::NoText, 0, at.name);
		}
		while !rest.is_empty() {
			let room = self.room();
			let end = text::document_end(rest.as_bytes(), self.document_bytes().min(room), self.line_ends);
			let Some((document, behind)) = rest.split_at_checked(end).filter(|(document, _)| !document.is_empty()) else {
				self.leave(Reason::Beyond, u64::try_from(rest.len()).unwrap_or(u64::MAX), at.name);
				break;
			};
			self.one(document, format, at)?;
			rest = behind;
			if !rest.is_empty() {
				self.refuse_split(room, at)?;
			}
		}
		Ok(())
	}

	fn one(&mut self, text: &str, format: Format, at: &At<'_>) -> Result<(), DataError> {
		let text = match self.line_ends {
			LineEnds::Keep => Cow::Borrowed(text),
			LineEnds::Lf => text::with_line_feeds(text),
		};
		let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
		let words = text.trim_end();
		let reason = if text.contains('\0') {
			Some(Reason::Null)
		} else if words.is_empty() || self.seen.as_mut().is_some_and(|seen| !seen.insert(crate::blake2_256(words.as_bytes()).0)) {
			Some(Reason::Repeated)
		} else {
			None
		};
		if let Some(reason) = reason {
			self.leave(reason, bytes, at.name);
			return Ok(());
		}
		self.bytes = self.bytes.saturating_add(bytes);
		let taken = self.found.taken.entry(format).or_default();
		(taken.documents, taken.bytes) = (taken.documents.saturating_add(1), taken.bytes.saturating_add(bytes));
		(self.take)(Document { text: &text, file: at.file })
	}
}
