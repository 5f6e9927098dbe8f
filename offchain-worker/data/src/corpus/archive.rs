//! Archives of tar, read from beginning to end: what is in them is never written anywhere, and names only say what a file may hold.

use super::{
	kind::refused_name,
	reader::{At, Reader, Share},
	Reason,
};
use crate::DataError;
use std::{
	io::{self, Read},
	path::Path,
};

const BLOCK: usize = 512;
/// Most bytes of what says more of a file than its block has room for.
const MOST_EXTRA: u64 = 1 << 20;

/// What a block says of the file behind it.
struct Header {
	name: String,
	size: u64,
	kind: u8,
}

/// What blocks before the file's own say of it.
#[derive(Default)]
struct Extra {
	name: Option<String>,
	size: Option<u64>,
	is_sparse: bool,
}

/// Takes the files of an archive.
pub(super) fn read(reader: &mut Reader<'_>, input: &mut dyn Read, at: &At<'_>, layers: u32) -> Result<(), DataError> {
	let mut extra = Extra::default();
	while let Some(header) = header(input, at)? {
		match header.kind {
			b'L' => extra.name = Some(text(&all(input, &header, at)?)),
			b'x' => pax(&all(input, &header, at)?, &mut extra).map_err(|words| at.broken(words))?,
			// What holds for all files says neither their names nor their sizes; a link's long name is not asked for.
			b'g' | b'K' => skip(input, padded(header.size), at)?,
			kind => {
				let Extra { name, size, is_sparse } = std::mem::take(&mut extra);
				let (name, size) = (name.unwrap_or(header.name), size.unwrap_or(header.size));
				let is_file = matches!(kind, 0 | b'0' | b'7') && !name.ends_with('/');
				let mut data = Data { input, left: size };
				if is_file && !is_sparse {
					member(reader, &mut data, &name, at, layers)?;
				} else if is_sparse || kind == b'S' {
					reader.leave(Reason::NoFile, size, &format!("{}/{name}", at.name));
				}
				let left = data.left;
				skip(input, left.saturating_add(padded(size).saturating_sub(size)), at)?;
			}
		}
		if reader.room() == 0 {
			reader.leave_rest(at);
			break;
		}
	}
	Ok(())
}

fn member(reader: &mut Reader<'_>, data: &mut Data<'_>, name: &str, at: &At<'_>, layers: u32) -> Result<(), DataError> {
	let shown = format!("{}/{name}", at.name);
	let is_hidden = name.split('/').any(|part| part.starts_with('.') && !matches!(part, "." | ".."));
	if let Some(reason) = is_hidden.then_some(Reason::Hidden).or_else(|| refused_name(Path::new(name))) {
		reader.leave(reason, data.left, &shown);
		return Ok(());
	}
	// They count as the archive does: there may be any number of them.
	let member = At { name: &shown, inner: name, size: Some(data.left), ..at.clone() };
	reader.stream(Box::new(data), &member, None, Share::Whole, layers)
}

/// The next header; none at the end.
fn header(input: &mut dyn Read, at: &At<'_>) -> Result<Option<Header>, DataError> {
	let mut block = Vec::new();
	input.take(BLOCK as u64).read_to_end(&mut block).map_err(|error| at.failed(error))?;
	if block.iter().all(|byte| *byte == 0) {
		return Ok(None);
	}
	let broken = || at.broken("this is no archive of tar, or it is cut");
	let field = |from: usize, length: usize| block.get(from..from.saturating_add(length));
	let sum = number(field(148, 8).ok_or_else(broken)?).ok_or_else(broken)?;
	let place = |(at, byte): (usize, &u8)| u64::from(if (148..156).contains(&at) { b' ' } else { *byte });
	if block.len() != BLOCK || sum != block.iter().enumerate().map(place).sum::<u64>() {
		return Err(broken());
	}
	let name = text(field(0, 100).unwrap_or_default());
	let prefix = match field(257, 6) {
		Some(b"ustar\0") => text(field(345, 155).unwrap_or_default()),
		_ => String::new(),
	};
	let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
	let size = field(124, 12).and_then(number).ok_or_else(broken)?;
	Ok(Some(Header { name, size, kind: block.get(156).copied().unwrap_or_default() }))
}

/// A number in octal digits, or, if it is larger than they have room for, in binary.
fn number(field: &[u8]) -> Option<u64> {
	if let [first @ 0x80..=0xff, rest @ ..] = field {
		let mut digits = [first & 0x7f].into_iter().chain(rest.iter().copied());
		return digits.try_fold(0u64, |sum, digit| sum.checked_mul(256)?.checked_add(digit.into()));
	}
	let digits = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
	if digits.is_empty() {
		Some(0)
	} else {
		u64::from_str_radix(digits, 8).ok()
	}
}

/// Text up to a null character.
fn text(bytes: &[u8]) -> String {
	String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

/// Reads records such as `30 path=a/b.txt\n`, whose number is their length.
fn pax(records: &[u8], extra: &mut Extra) -> Result<(), String> {
	let broken = || "a header of this archive is broken".to_owned();
	let mut rest = records;
	while !rest.is_empty() {
		let digits =
			rest.iter().position(|byte| *byte == b' ').and_then(|end| std::str::from_utf8(rest.get(..end)?).ok()).ok_or_else(broken)?;
		let length: usize = digits.parse().map_err(|_| broken())?;
		let (record, behind) = rest.split_at_checked(length).ok_or_else(broken)?;
		let content = record.get(digits.len().saturating_add(1)..).and_then(|content| content.strip_suffix(b"\n")).ok_or_else(broken)?;
		let equals = content.iter().position(|byte| *byte == b'=').ok_or_else(broken)?;
		let (key, value) = content.split_at_checked(equals).ok_or_else(broken)?;
		let value = String::from_utf8_lossy(value.get(1..).unwrap_or_default());
		match key {
			b"path" => extra.name = Some(value.into_owned()),
			b"size" => extra.size = Some(value.parse().map_err(|_| broken())?),
			_ => extra.is_sparse |= key.starts_with(b"GNU.sparse."),
		}
		rest = behind;
	}
	Ok(())
}

fn padded(size: u64) -> u64 {
	size.checked_next_multiple_of(BLOCK as u64).unwrap_or(u64::MAX)
}

/// All that is behind a header that says more of another.
fn all(input: &mut dyn Read, header: &Header, at: &At<'_>) -> Result<Vec<u8>, DataError> {
	if header.size > MOST_EXTRA {
		return Err(at.broken(format!("a name in this archive has more than {MOST_EXTRA} bytes")));
	}
	let mut bytes = Vec::new();
	Data { input, left: header.size }.read_to_end(&mut bytes).map_err(|error| at.failed(error))?;
	skip(input, padded(header.size).saturating_sub(header.size), at)?;
	Ok(bytes)
}

fn skip(input: &mut dyn Read, bytes: u64, at: &At<'_>) -> Result<(), DataError> {
	let skipped = io::copy(&mut Data { input, left: bytes }, &mut io::sink());
	skipped.map(|_| ()).map_err(|error| at.failed(error))
}

/// The bytes of a file in an archive, all of which must be there.
struct Data<'a> {
	input: &'a mut dyn Read,
	left: u64,
}

impl Read for Data<'_> {
	fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
		let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
		let Some(room) = buffer.get_mut(..most).filter(|room| !room.is_empty()) else { return Ok(0) };
		let count = self.input.read(room)?;
		if count == 0 {
			return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends within a file"));
		}
		self.left = self.left.saturating_sub(u64::try_from(count).unwrap_or(u64::MAX));
		Ok(count)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn numbers_are_octal_or_binary() {
		assert_eq!(number(b"0000644\0"), Some(0o644));
		assert_eq!(number(b"   17 \0\0"), Some(15));
		assert_eq!(number(b"\x80\0\0\0\0\0\0\x02\0\0\0\x01"), Some((2 << 32) + 1));
		assert_eq!(
			(number(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), number(b"12345678"), number(b"\0\0")),
			(None, None, Some(0))
		);
	}

	#[test]
	fn records_of_pax_have_lengths() {
		let mut extra = Extra::default();
		pax(b"19 path=a/b c.txt\n\n17 size=123456789\n12 mtime=1.5\n", &mut extra).unwrap_err();
		pax(b"18 path=a/b c.txt\n19 size=1234567890\n13 mtime=1.5\n", &mut extra).unwrap();
		assert_eq!((extra.name.as_deref(), extra.size, extra.is_sparse), (Some("a/b c.txt"), Some(1_234_567_890), false));
		for broken in [&b"99 path=a\n"[..], b"path=a\n", b"8 path=a", b"0 \n", b"9 size=x\n"] {
			assert!(pax(broken, &mut extra).is_err(), "{broken:?}");
		}
	}
}
