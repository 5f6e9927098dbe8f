//! Pages of a column of texts.

use super::{
	codec::decompress,
	deltas::Deltas,
	footer::Chunk,
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

/// Takes a value, or that there is none, and returns whether it takes more.
pub(super) type TakeValue<'a> = dyn FnMut(Option<&[u8]>) -> Result<bool, Refused> + 'a;

/// What is said of a page before it.
#[derive(Clone, Default, Debug)]
pub(super) struct Header {
	kind: i64,
	/// Bytes in the file, and when unpacked.
	pub(super) compressed: u64,
	size: u64,
	values: u64,
	encoding: i64,
	/// How it is written which values are missing.
	levels: i64,
	/// Of the second kind of data pages: bytes of two parts that are not compressed, and whether the rest is.
	repetitions: u64,
	definitions: u64,
	is_plain: bool,
}

/// The pages of a chunk.
pub(super) struct Pages<'a> {
	chunk: &'a Chunk,
	/// Definition level of a value that is there.
	optional: u32,
	place: u64,
	/// Values that are still to come.
	left: u64,
	dictionary: Option<(Vec<u8>, Vec<Range<usize>>)>,
}

impl<'a> Pages<'a> {
	pub(super) fn new(chunk: &'a Chunk, optional: u32) -> Self {
		Self { chunk, optional, place: chunk.start, left: chunk.values, dictionary: None }
	}

	/// Where the page is whose header was read last.
	pub(super) fn place(&self) -> u64 {
		self.place
	}

	/// Reads the next header; none at the end.
	pub(super) fn header(&mut self, source: &Source<'_>) -> Result<Option<Header>, DataError> {
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
					let length = bytes.len().saturating_sub(input.0.len());
					self.place = self.place.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
					return Ok(Some(header));
				}
				Err(words) if look >= room.min(MOST_HEADER) => return Err(source.at.broken(words)),
				Err(_) => look = look.saturating_mul(16),
			}
		}
	}

	/// Takes the values of a page, and returns whether more are taken.
	pub(super) fn read(&mut self, header: &Header, body: &[u8], take: &mut TakeValue<'_>) -> Result<bool, Refused> {
		self.place = self.place.saturating_add(header.compressed);
		if header.values > MOST_VALUES {
			return Err(format!("a page has more than {MOST_VALUES} values"));
		}
		match header.kind {
			DICTIONARY => {
				let bytes = decompress(self.chunk.codec, body, header.size)?;
				let places = plain_places(&bytes, header.values)?;
				self.dictionary = Some((bytes, places));
				Ok(true)
			}
			DATA => {
				let bytes = decompress(self.chunk.codec, body, header.size)?;
				let (levels, values) = match self.optional {
					0 => (&[][..], bytes.as_slice()),
					_ if header.levels != RUNS => return Err("a page has levels in a way that is no longer in use".into()),
					_ => {
						let (length, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
						usize::try_from(u32::from_le_bytes(*length))
							.ok()
							.and_then(|length| rest.split_at_checked(length))
							.ok_or_else(cut)?
					}
				};
				self.values(header, levels, values, take)
			}
			DATA_2 => {
				let part =
					|length: u64, bytes: &'_ [u8]| usize::try_from(length).ok().filter(|length| *length <= bytes.len()).ok_or_else(cut);
				let behind = body.get(part(header.repetitions, body)?..).unwrap_or_default();
				let (levels, rest) = behind.split_at_checked(part(header.definitions, behind)?).ok_or_else(cut)?;
				let size =
					header.size.checked_sub(header.repetitions).and_then(|size| size.checked_sub(header.definitions)).ok_or_else(cut)?;
				let codec = if header.is_plain || size == 0 { 0 } else { self.chunk.codec };
				let values = decompress(codec, if size == 0 { &[] } else { rest }, size)?;
				self.values(header, levels, &values, take)
			}
			_ => Ok(true),
		}
	}

	fn values(&mut self, header: &Header, levels: &[u8], bytes: &[u8], take: &mut TakeValue<'_>) -> Result<bool, Refused> {
		self.left = self.left.checked_sub(header.values).ok_or("a column has more values than it says")?;
		let mut levels = match self.optional {
			0 => None,
			most => Some(Levels::new(levels, u32::BITS.saturating_sub(most.leading_zeros()))?),
		};
		let mut values = Values::new(header, bytes, self.dictionary.as_ref())?;
		for _ in 0..header.values {
			let is_there = match levels.as_mut() {
				Some(levels) => levels.next()? == self.optional,
				None => true,
			};
			let goes_on = if is_there { take(Some(values.next()?))? } else { take(None)? };
			if !goes_on {
				return Ok(false);
			}
		}
		Ok(true)
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

/// The texts of a page.
enum Values<'a> {
	Plain(&'a [u8]),
	Dictionary {
		bytes: &'a [u8],
		places: &'a [Range<usize>],
		indices: Levels<'a>,
	},
	/// Lengths, and then all texts.
	Lengths {
		lengths: Deltas<'a>,
		texts: &'a [u8],
	},
	/// How many bytes each has of the one before, and what is behind them.
	Texts {
		prefixes: Deltas<'a>,
		lengths: Deltas<'a>,
		suffixes: &'a [u8],
		text: Vec<u8>,
	},
}

impl<'a> Values<'a> {
	fn new(header: &Header, bytes: &'a [u8], dictionary: Option<&'a (Vec<u8>, Vec<Range<usize>>)>) -> Result<Self, Refused> {
		match header.encoding {
			PLAIN => Ok(Self::Plain(bytes)),
			PLAIN_DICTIONARY | RUN_DICTIONARY => {
				let (texts, places) = dictionary.ok_or("a page has places in a dictionary that there is not")?;
				// A page without values may have nothing at all.
				let (width, indices) = bytes.split_first().unwrap_or((&0, &[]));
				Ok(Self::Dictionary { bytes: texts, places, indices: Levels::new(indices, (*width).into())? })
			}
			DELTA_LENGTHS => {
				let lengths = Deltas::new(bytes, header.values)?;
				let texts = lengths.clone().behind()?;
				Ok(Self::Lengths { lengths, texts })
			}
			DELTA_TEXTS => {
				let prefixes = Deltas::new(bytes, header.values)?;
				let lengths = Deltas::new(prefixes.clone().behind()?, header.values)?;
				let suffixes = lengths.clone().behind()?;
				Ok(Self::Texts { prefixes, lengths, suffixes, text: Vec::new() })
			}
			other => Err(format!("a page has texts in a way, number {other}, that there is not for them")),
		}
	}

	fn next(&mut self) -> Result<&[u8], Refused> {
		match self {
			Self::Plain(rest) => {
				let (length, texts) = rest.split_first_chunk().ok_or_else(cut)?;
				let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| cut())?;
				let (text, behind) = texts.split_at_checked(length).ok_or_else(cut)?;
				*rest = behind;
				Ok(text)
			}
			Self::Dictionary { bytes, places, indices } => {
				let index = usize::try_from(indices.next()?).map_err(|_| cut())?;
				places
					.get(index)
					.and_then(|place| bytes.get(place.clone()))
					.ok_or_else(|| "a page has a place beyond its dictionary".into())
			}
			Self::Lengths { lengths, texts } => front(texts, lengths),
			Self::Texts { prefixes, lengths, suffixes, text } => {
				let prefix = prefixes.next()?.and_then(|prefix| usize::try_from(prefix).ok()).filter(|prefix| *prefix <= text.len());
				text.truncate(prefix.ok_or_else(cut)?);
				text.extend_from_slice(front(suffixes, lengths)?);
				Ok(text)
			}
		}
	}
}

/// The first of the texts, whose length is the next one.
fn front<'a>(texts: &mut &'a [u8], lengths: &mut Deltas<'_>) -> Result<&'a [u8], Refused> {
	let length = lengths.next()?.and_then(|length| usize::try_from(length).ok()).ok_or_else(cut)?;
	let (text, behind) = texts.split_at_checked(length).ok_or_else(cut)?;
	*texts = behind;
	Ok(text)
}
