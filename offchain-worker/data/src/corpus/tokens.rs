//! Files of tokens: `.npy` of one dimension, and `.bin` as nanoGPT writes it, without a header, or llm.c, with one.
//!
//! Tokens go the way of texts, a character for each: the one whose number is the token's and [`FIRST`]. None of those is a blank or a line end, all have
//! four bytes, and there are more of them than a vocabulary may have tokens.

use super::{
	inflate::refusal,
	reader::{At, Reader},
	Format, Reason,
};
use crate::DataError;
use neuroshard_types::dataset::TextTokens;
use serde::{Deserialize, Serialize};
use std::{
	io::{self, BufReader, Read},
	path::Path,
};

/// Character of token 0.
const FIRST: u32 = 0x1_0000;
/// First bytes of `.npy`.
const NPY: &[u8; 6] = b"\x93NUMPY";
/// Most bytes of what `.npy` says of itself.
const MOST_NPY_HEADER: u64 = 64 << 10;
/// Bytes of llm.c's header.
const LLM_C_HEADER: usize = 1024;
/// Magic number and version of llm.c's headers, and the width of the tokens behind.
const LLM_C: [(u32, u32, Width); 2] = [(20_240_520, 1, Width::U16), (20_240_801, 7, Width::U32)];
/// Tokens that are read at once.
const BLOCK: usize = 16 << 10;

/// How files of tokens are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pretokenized {
	/// What is in `.bin` files without a header; without it, there are none.
	#[serde(default, skip_serializing_if = "Option::is_none")]
	pub raw: Option<RawTokens>,
}

/// Tokens in files without a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RawTokens {
	/// Two bytes each, little-endian.
	U16,
	/// Four bytes each, little-endian.
	U32,
}

/// How a token is written, little-endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Width {
	U16,
	U32,
	I32,
	I64,
}

impl Width {
	fn bytes(self) -> usize {
		match self {
			Self::U16 => 2,
			Self::U32 | Self::I32 => 4,
			Self::I64 => 8,
		}
	}

	/// The number in so many bytes.
	fn read(self, bytes: &[u8]) -> i64 {
		match (self, bytes) {
			(Self::U16, [a, b]) => u16::from_le_bytes([*a, *b]).into(),
			(Self::U32, [a, b, c, d]) => u32::from_le_bytes([*a, *b, *c, *d]).into(),
			(Self::I32, [a, b, c, d]) => i32::from_le_bytes([*a, *b, *c, *d]).into(),
			(_, bytes) => bytes.try_into().map_or(-1, i64::from_le_bytes),
		}
	}
}

/// What is behind the header of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Array {
	width: Width,
	/// Where it begins.
	start: u64,
	tokens: u64,
}

/// The tokens of a document.
pub(crate) fn ids(text: &str) -> impl Iterator<Item = u32> + '_ {
	text.chars().map(|character| u32::from(character).saturating_sub(FIRST))
}

/// Takes the documents of a file of tokens.
pub(super) fn read(
	reader: &mut Reader<'_>,
	input: Box<dyn Read + '_>,
	(pretokenized, known): (Pretokenized, TextTokens),
	at: &At<'_>,
) -> Result<(), DataError> {
	let size = at.size.ok_or_else(|| at.broken("tokens are read from files alone: name them with --corpus"))?;
	let ending = Path::new(at.inner).extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
	let mut input = BufReader::new(input);
	let array = match ending.as_deref() {
		Some("npy") => npy(&mut input, size),
		Some("bin") => bin(&mut input, size, pretokenized),
		_ => {
			reader.leave(Reason::NoTokens, size, at.name);
			return Ok(());
		}
	};
	let array = array.map_err(|error| at.failed(error))?;
	let taken = reader.found_mut().taken.entry(Format::Tokens).or_default();
	taken.files = taken.files.saturating_add(1);
	take(reader, &mut input, array, known, at)
}

fn take(reader: &mut Reader<'_>, input: &mut dyn Read, array: Array, known: TextTokens, at: &At<'_>) -> Result<(), DataError> {
	let (width, mut left, mut number) = (array.width.bytes(), array.tokens, 0u64);
	let (mut document, mut block) = (String::new(), Vec::new());
	while left > 0 {
		let now = usize::try_from(left).unwrap_or(usize::MAX).min(BLOCK);
		left = left.saturating_sub(u64::try_from(now).unwrap_or(u64::MAX));
		block.resize(now.saturating_mul(width), 0);
		input.read_exact(&mut block).map_err(|error| at.failed(cut(error)))?;
		for bytes in block.chunks_exact(width) {
			let token = array.width.read(bytes);
			let id = u32::try_from(token).ok().filter(|id| *id < known.usable);
			let character = id.and_then(|id| char::from_u32(FIRST.saturating_add(id))).ok_or_else(|| {
				let place = array.start.saturating_add(number.saturating_mul(u64::try_from(width).unwrap_or(u64::MAX)));
				at.broken(format!(
					"token {number}, at byte {place}, is {token}, and the tokenizer has the tokens from 0 to {}: name the tokenizer that made the file",
					known.usable.saturating_sub(1)
				))
			})?;
			let place = number;
			number = number.saturating_add(1);
			if id == Some(known.end) {
				if !flush(reader, &mut document, at)? {
					return Ok(());
				}
				continue;
			}
			if u64::try_from(document.len()).is_ok_and(|length| length >= reader.record_bytes()) {
				return Err(at.broken(format!(
					"the document before token {place} has more than {} tokens: name the token that ends documents with --end-token, or raise --record-bytes",
					reader.record_bytes().checked_div(4).unwrap_or_default()
				)));
			}
			document.push(character);
		}
	}
	flush(reader, &mut document, at).map(|_| ())
}

/// Takes a document, unless nothing is in it, and returns whether there was room for it.
fn flush(reader: &mut Reader<'_>, document: &mut String, at: &At<'_>) -> Result<bool, DataError> {
	if document.is_empty() {
		return Ok(true);
	}
	if reader.room() == 0 {
		reader.leave_rest(at);
		return Ok(false);
	}
	reader.record(document, Format::Tokens, at)?;
	document.clear();
	Ok(true)
}

/// In words, that a file ends too soon.
fn cut(error: io::Error) -> io::Error {
	match error.kind() {
		io::ErrorKind::UnexpectedEof => refusal("it is cut".to_owned()),
		_ => error,
	}
}

/// Reads the header of a `.npy` file of so many bytes.
fn npy(input: &mut dyn Read, size: u64) -> io::Result<Array> {
	let broken = |words: &str| refusal(format!("it is no .npy of one dimension with tokens: {words}"));
	let mut first = [0; 8];
	input.read_exact(&mut first).map_err(cut)?;
	let version = match first.strip_prefix(NPY) {
		Some([version @ 1..=3, 0]) => *version,
		Some([major, minor]) => return Err(broken(&format!("version {major}.{minor} is not known"))),
		_ => return Err(broken("it does not begin as one")),
	};
	let (length, before) = match version {
		1 => {
			let mut length = [0; 2];
			input.read_exact(&mut length).map_err(cut)?;
			(u64::from(u16::from_le_bytes(length)), 10u64)
		}
		_ => {
			let mut length = [0; 4];
			input.read_exact(&mut length).map_err(cut)?;
			(u64::from(u32::from_le_bytes(length)), 12)
		}
	};
	if length > MOST_NPY_HEADER {
		return Err(broken(&format!("its header has {length} bytes")));
	}
	let mut header = Vec::new();
	input.take(length).read_to_end(&mut header)?;
	if u64::try_from(header.len()) != Ok(length) {
		return Err(refusal("it is cut".to_owned()));
	}
	let text = std::str::from_utf8(&header).ok().filter(|text| text.is_ascii()).ok_or_else(|| broken("its header is no text"))?;
	let (width, tokens) = described(text).map_err(|words| broken(&words))?;
	let start = before.saturating_add(length);
	let bytes = u64::try_from(width.bytes()).unwrap_or(u64::MAX);
	match tokens.checked_mul(bytes).and_then(|bytes| bytes.checked_add(start)) == Some(size) {
		true => Ok(Array { width, start, tokens }),
		false => Err(broken(&format!("its header says {tokens} tokens of {bytes} bytes behind {start}, and the file has {size} bytes"))),
	}
}

/// Reads the dictionary in the header of a `.npy` file: each of three names once, and nothing else.
fn described(text: &str) -> Result<(Width, u64), String> {
	let other = || format!("its header is {:?}", text.chars().take(100).collect::<String>());
	let inner = text.trim_end().strip_prefix('{').and_then(|text| text.strip_suffix('}')).ok_or_else(other)?;
	let (mut descr, mut fortran, mut shape) = (None, None, None);
	let mut rest = inner.trim();
	while !rest.is_empty() {
		let (name, behind) = rest.strip_prefix('\'').and_then(|rest| rest.split_once('\'')).ok_or_else(other)?;
		let behind = behind.trim_start().strip_prefix(':').ok_or_else(other)?.trim_start();
		let (place, end) = match name {
			"descr" => (&mut descr, behind.strip_prefix('\'').and_then(|text| text.find('\'')).map(|end| end.saturating_add(2))),
			"fortran_order" => (&mut fortran, behind.find(',').or(Some(behind.len()))),
			"shape" => (&mut shape, behind.find(')').map(|end| end.saturating_add(1))),
			_ => return Err(other()),
		};
		let (value, behind) = end.and_then(|end| behind.split_at_checked(end)).ok_or_else(other)?;
		if place.replace(value.trim()).is_some() {
			return Err(other());
		}
		let behind = behind.trim_start();
		rest = match behind.strip_prefix(',') {
			Some(behind) => behind.trim_start(),
			None if behind.is_empty() => behind,
			None => return Err(other()),
		};
	}
	let width = match descr.ok_or_else(other)? {
		"'<u2'" => Width::U16,
		"'<u4'" => Width::U32,
		"'<i4'" => Width::I32,
		"'<i8'" => Width::I64,
		kind => return Err(format!("its numbers are {kind}, and '<u2', '<u4', '<i4' and '<i8' are read: convert them with astype")),
	};
	match fortran.ok_or_else(other)? {
		"False" => (),
		_ => return Err("it is in Fortran's order".into()),
	}
	let shape = shape.ok_or_else(other)?;
	let length = shape.strip_prefix('(').and_then(|text| text.strip_suffix(')')).and_then(|text| text.trim_end().strip_suffix(','));
	let length = length.map(str::trim).filter(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()));
	let tokens = length.and_then(|digits| digits.parse().ok());
	Ok((width, tokens.ok_or_else(|| format!("its shape is {shape}, which is not one dimension: flatten it with reshape(-1)"))?))
}

/// Reads the header of a `.bin` file of so many bytes, if it has one. What is read of one without a header is put back.
fn bin(input: &mut BufReader<Box<dyn Read + '_>>, size: u64, pretokenized: Pretokenized) -> io::Result<Array> {
	let head = std::io::BufRead::fill_buf(input)?;
	let number = |place: usize| head.get(place..).and_then(|rest| rest.first_chunk()).map(|bytes| u32::from_le_bytes(*bytes));
	let known = LLM_C.into_iter().find(|(magic, _, _)| number(0) == Some(*magic));
	let Some((magic, version, width)) = known else {
		let width = match pretokenized.raw {
			Some(RawTokens::U16) => Width::U16,
			Some(RawTokens::U32) => Width::U32,
			None => {
				return Err(refusal("it has no header that says how wide its tokens are: say it with --raw-tokens u16 or u32".to_owned()))
			}
		};
		let bytes = u64::try_from(width.bytes()).unwrap_or(u64::MAX);
		return match size.is_multiple_of(bytes) {
			true => Ok(Array { width, start: 0, tokens: size.checked_div(bytes).unwrap_or_default() }),
			false => Err(refusal(format!("it has {size} bytes, which is no whole number of tokens of {bytes}"))),
		};
	};
	let (found, tokens) = (number(4), number(8));
	let mut header = [0; LLM_C_HEADER];
	input.read_exact(&mut header).map_err(cut)?;
	let (start, tokens) = (u64::try_from(LLM_C_HEADER).unwrap_or(u64::MAX), u64::from(tokens.unwrap_or_default()));
	let bytes = u64::try_from(width.bytes()).unwrap_or(u64::MAX);
	if found != Some(version) || header.iter().skip(12).any(|byte| *byte != 0) {
		return Err(refusal(format!("it begins with {magic} as files of llm.c do, and goes on otherwise: version {version} is read")));
	}
	match tokens.saturating_mul(bytes).saturating_add(start) == size {
		true => Ok(Array { width, start, tokens }),
		false => Err(refusal(format!("its header says {tokens} tokens of {bytes} bytes behind {start}, and the file has {size} bytes"))),
	}
}

#[cfg(test)]
mod tests;
