//! Pages of a column of texts.

use super::{
	codec::{decompress, MOST_PAGE},
	deltas::Deltas,
	footer::{Chunk, Leaf},
	levels::Levels,
	thrift::{cut, Compact},
	Refused, Source,
};
use crate::DataError;
use std::ops::Range;

/// Most values of a page: more than any writer puts in one.
const MOST_VALUES: u64 = 1 << 26;
/// Most bytes of a page's header, which may have texts as the least and the most.
const MOST_HEADER: u64 = 64 << 20;

/// Kinds of pages.
const DATA: i64 = 0;
const DICTIONARY: i64 = 2;
const DATA_2: i64 = 3;

/// Ways of writing values.
const PLAIN: i64 = 0;
const PLAIN_DICTIONARY: i64 = 2;
const RUNS: i64 = 3;
const DELTA_LENGTHS: i64 = 6;
const DELTA_TEXTS: i64 = 7;
const RUN_DICTIONARY: i64 = 8;

/// A value of a column, or that there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Value<'a> {
	/// 0 for the first of a row.
	pub(super) repetition: u32,
	/// How much of what leads to it is there.
	pub(super) definition: u32,
	pub(super) text: Option<&'a [u8]>,
}

/// What is said of a page before it.
#[derive(Clone, Default, Debug)]
pub(super) struct Header {
	kind: i64,
	/// Bytes in the file, and when unpacked.
	compressed: u64,
	size: u64,
	values: u64,
	encoding: i64,
	/// How it is written which values are missing, and which are repeated.
	levels: i64,
	repeats: i64,
	/// Of the second kind of data pages: bytes of two parts that are not compressed, and whether the rest is.
	repetitions: u64,
	definitions: u64,
	is_plain: bool,
}

/// The values of a chunk, page after page.
pub(super) struct Pages<'a> {
	chunk: &'a Chunk,
	/// Definition level of a value that is there, and most of the levels of repetition.
	optional: u32,
	repeated: u32,
	place: u64,
	/// Values of pages that are still to come.
	left: u64,
	dictionary: Option<Dictionary>,
	page: Option<Page>,
}

/// Texts, and where each of them is.
type Dictionary = (Vec<u8>, Vec<Range<usize>>);

/// A page of values.
struct Page {
	/// Levels, and where each kind goes on; none where all are 0.
	levels: Vec<u8>,
	repetitions: Option<Levels>,
	definitions: Option<Levels>,
	bytes: Vec<u8>,
	values: Values,
	/// Values that are still to come.
	left: u64,
}

impl<'a> Pages<'a> {
	pub(super) fn new(chunk: &'a Chunk, leaf: &Leaf) -> Self {
		let Leaf { optional, repeated, .. } = *leaf;
		Self { chunk, optional, repeated, place: chunk.start, left: chunk.values, dictionary: None, page: None }
	}

	/// The next value; none at the end.
	pub(super) fn next(&mut self, source: &Source<'_>) -> Result<Option<Value<'_>>, DataError> {
		while self.page.as_ref().is_none_or(|page| page.left == 0) {
			self.page = None;
			let Some(header) = self.header(source)? else { return Ok(None) };
			if header.compressed.max(header.size) > MOST_PAGE {
				return Err(source.at.broken(format!("a page has more than {MOST_PAGE} bytes")));
			}
			let body = source.bytes(self.place, header.compressed)?;
			self.page = self.open(&header, &body).map_err(|words| source.at.broken(words))?;
		}
		let Self { page, dictionary, optional, .. } = self;
		let Some(page) = page else { return Ok(None) };
		page.next(*optional, dictionary.as_ref()).map(Some).map_err(|words| source.at.broken(words))
	}

	/// Reads the next header; none at the end.
	fn header(&mut self, source: &Source<'_>) -> Result<Option<Header>, DataError> {
		let room = self.chunk.end.min(source.size).saturating_sub(self.place);
		if self.left == 0 || room == 0 {
			return Ok(None);
		}
		let mut look = 4096u64;
		loop {
			let bytes = source.bytes(self.place, look.min(room))?;
			let mut input = Compact(&bytes);
			match header(&mut input) {
				Ok(header) => {
					let length = input.place(&bytes);
					self.place = self.place.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
					return Ok(Some(header));
				}
				Err(words) if look >= room.min(MOST_HEADER) => return Err(source.at.broken(words)),
				Err(_) => look = look.saturating_mul(16),
			}
		}
	}

	/// Opens a page of values; none for one of other things.
	fn open(&mut self, header: &Header, body: &[u8]) -> Result<Option<Page>, Refused> {
		self.place = self.place.saturating_add(header.compressed);
		if header.values > MOST_VALUES {
			return Err(format!("a page has more than {MOST_VALUES} values"));
		}
		match header.kind {
			DICTIONARY => {
				let bytes = decompress(self.chunk.codec, body, header.size)?;
				let places = plain_places(&bytes, header.values)?;
				self.dictionary = Some((bytes, places));
				Ok(None)
			}
			DATA => {
				let bytes = decompress(self.chunk.codec, body, header.size)?;
				let mut rest = bytes.as_slice();
				let mut levels = Vec::new();
				let mut places = [0; 2];
				for ((most, kind), place) in [(self.repeated, header.repeats), (self.optional, header.levels)].into_iter().zip(&mut places)
				{
					*place = levels.len();
					if most > 0 {
						if kind != RUNS {
							return Err("a page has levels in a way that is no longer in use".into());
						}
						let (length, behind) = rest.split_first_chunk().ok_or_else(cut)?;
						let part = usize::try_from(u32::from_le_bytes(*length)).ok().and_then(|length| behind.split_at_checked(length));
						let (part, behind) = part.ok_or_else(cut)?;
						levels.extend_from_slice(part);
						rest = behind;
					}
				}
				let start = bytes.len().saturating_sub(rest.len());
				self.values(header, (levels, places), (bytes, start)).map(Some)
			}
			DATA_2 => {
				let part =
					|length: u64, bytes: &'_ [u8]| usize::try_from(length).ok().filter(|length| *length <= bytes.len()).ok_or_else(cut);
				let repetitions = part(header.repetitions, body)?;
				let definitions = part(header.definitions, body.get(repetitions..).unwrap_or_default())?;
				let (levels, rest) = body.split_at_checked(repetitions.saturating_add(definitions)).ok_or_else(cut)?;
				let size =
					header.size.checked_sub(header.repetitions).and_then(|size| size.checked_sub(header.definitions)).ok_or_else(cut)?;
				let codec = if header.is_plain || size == 0 { 0 } else { self.chunk.codec };
				let values = decompress(codec, if size == 0 { &[] } else { rest }, size)?;
				self.values(header, (levels.to_vec(), [0, repetitions]), (values, 0)).map(Some)
			}
			_ => Ok(None),
		}
	}

	fn values(
		&mut self,
		header: &Header,
		(levels, places): (Vec<u8>, [usize; 2]),
		(bytes, start): (Vec<u8>, usize),
	) -> Result<Page, Refused> {
		self.left = self.left.checked_sub(header.values).ok_or("a column has more values than it says")?;
		let level = |most: u32, place: usize| match most {
			0 => Ok(None),
			most => Levels::new(place, u32::BITS.saturating_sub(most.leading_zeros())).map(Some),
		};
		let [repetitions, definitions] = places;
		let (repetitions, definitions) = (level(self.repeated, repetitions)?, level(self.optional, definitions)?);
		let values = Values::new(header, &bytes, start, self.dictionary.is_some())?;
		Ok(Page { levels, repetitions, definitions, bytes, values, left: header.values })
	}
}

impl Page {
	fn next<'a>(&'a mut self, optional: u32, dictionary: Option<&'a Dictionary>) -> Result<Value<'a>, Refused> {
		self.left = self.left.saturating_sub(1);
		let level = |levels: &mut Option<Levels>| levels.as_mut().map_or(Ok(0), |levels| levels.next(&self.levels));
		let (repetition, definition) = (level(&mut self.repetitions)?, level(&mut self.definitions)?);
		let is_there = definition == optional;
		let text = if is_there { Some(self.values.next(&self.bytes, dictionary)?) } else { None };
		Ok(Value { repetition, definition, text })
	}
}

fn header(input: &mut Compact<'_>) -> Result<Header, Refused> {
	let mut header = Header { is_plain: false, ..Header::default() };
	let unsigned = |number: i64| u64::try_from(number).map_err(|_| "the header of a page is broken".to_owned());
	input.fields(&mut |input, field| {
		match field.number {
			1 => header.kind = input.number(field)?,
			2 => header.size = unsigned(input.number(field)?)?,
			3 => header.compressed = unsigned(input.number(field)?)?,
			5 | 7 => input.inner(field, &mut |input, field| {
				match field.number {
					1 => header.values = unsigned(input.number(field)?)?,
					2 => header.encoding = input.number(field)?,
					3 if header.kind == DATA => header.levels = input.number(field)?,
					4 if header.kind == DATA => header.repeats = input.number(field)?,
					_ => return Ok(false),
				}
				Ok(true)
			})?,
			8 => input.inner(field, &mut |input, field| {
				match field.number {
					1 => header.values = unsigned(input.number(field)?)?,
					4 => header.encoding = input.number(field)?,
					5 => header.definitions = unsigned(input.number(field)?)?,
					6 => header.repetitions = unsigned(input.number(field)?)?,
					7 => header.is_plain = !input.flag(field)?,
					_ => return Ok(false),
				}
				Ok(true)
			})?,
			_ => return Ok(false),
		}
		Ok(true)
	})?;
	Ok(header)
}

/// Where the texts are that are each behind its length.
fn plain_places(bytes: &[u8], count: u64) -> Result<Vec<Range<usize>>, Refused> {
	let (mut places, mut at) = (Vec::new(), 0usize);
	for _ in 0..count {
		let length = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or_else(cut)?;
		let start = at.saturating_add(4);
		at = usize::try_from(u32::from_le_bytes(*length)).ok().and_then(|length| start.checked_add(length)).ok_or_else(cut)?;
		if at > bytes.len() {
			return Err(cut());
		}
		places.push(start..at);
	}
	Ok(places)
}

/// The texts of a page, by where they go on.
enum Values {
	Plain(usize),
	Dictionary(Levels),
	/// Lengths, and then all texts.
	Lengths {
		lengths: Deltas,
		texts: usize,
	},
	/// How many bytes each has of the one before, and what is behind them.
	Texts {
		prefixes: Deltas,
		lengths: Deltas,
		suffixes: usize,
		text: Vec<u8>,
	},
}

impl Values {
	fn new(header: &Header, bytes: &[u8], start: usize, has_dictionary: bool) -> Result<Self, Refused> {
		match header.encoding {
			PLAIN => Ok(Self::Plain(start)),
			PLAIN_DICTIONARY | RUN_DICTIONARY if !has_dictionary => Err("a page has places in a dictionary that there is not".into()),
			PLAIN_DICTIONARY | RUN_DICTIONARY => {
				// A page without values may have nothing at all.
				let width = bytes.get(start).copied().unwrap_or_default();
				Ok(Self::Dictionary(Levels::new(start.saturating_add(1), width.into())?))
			}
			DELTA_LENGTHS => {
				let lengths = Deltas::new(bytes, start, header.values)?;
				let texts = lengths.clone().behind(bytes)?;
				Ok(Self::Lengths { lengths, texts })
			}
			DELTA_TEXTS => {
				let prefixes = Deltas::new(bytes, start, header.values)?;
				let lengths = Deltas::new(bytes, prefixes.clone().behind(bytes)?, header.values)?;
				let suffixes = lengths.clone().behind(bytes)?;
				Ok(Self::Texts { prefixes, lengths, suffixes, text: Vec::new() })
			}
			other => Err(format!("a page has texts in a way, number {other}, that there is not for them")),
		}
	}

	fn next<'a>(&'a mut self, bytes: &'a [u8], dictionary: Option<&'a Dictionary>) -> Result<&'a [u8], Refused> {
		match self {
			Self::Plain(at) => {
				let length = bytes.get(*at..).and_then(|rest| rest.first_chunk()).ok_or_else(cut)?;
				let start = at.saturating_add(4);
				text(bytes, start, usize::try_from(u32::from_le_bytes(*length)).ok(), at)
			}
			Self::Dictionary(indices) => {
				let (texts, places) = dictionary.ok_or_else(cut)?;
				let index = usize::try_from(indices.next(bytes)?).map_err(|_| cut())?;
				places
					.get(index)
					.and_then(|place| texts.get(place.clone()))
					.ok_or_else(|| "a page has a place beyond its dictionary".into())
			}
			Self::Lengths { lengths, texts } => text(bytes, *texts, length(lengths, bytes)?, texts),
			Self::Texts { prefixes, lengths, suffixes, text: whole } => {
				let prefix = length(prefixes, bytes)?.filter(|prefix| *prefix <= whole.len());
				whole.truncate(prefix.ok_or_else(cut)?);
				whole.extend_from_slice(text(bytes, *suffixes, length(lengths, bytes)?, suffixes)?);
				Ok(whole)
			}
		}
	}
}

/// The next length.
fn length(lengths: &mut Deltas, bytes: &[u8]) -> Result<Option<usize>, Refused> {
	Ok(lengths.next(bytes)?.and_then(|length| usize::try_from(length).ok()))
}

/// The text of this length at `start`; `behind` is set to the place behind it.
fn text<'a>(bytes: &'a [u8], start: usize, length: Option<usize>, behind: &mut usize) -> Result<&'a [u8], Refused> {
	let end = length.and_then(|length| start.checked_add(length)).ok_or_else(cut)?;
	let text = bytes.get(start..end).ok_or_else(cut)?;
	*behind = end;
	Ok(text)
}
