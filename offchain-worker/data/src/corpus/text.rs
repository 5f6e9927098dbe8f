//! Text: where it is split, and how its lines end.

use super::{
	kind::is_raw,
	reader::{At, Reader, Share},
	Format, LineEnds, Reason,
};
use crate::DataError;
use std::{borrow::Cow, io::Read};

/// Byte order mark that some editors begin UTF-8 with.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// So many bytes are read at once.
const BLOCK: usize = 1 << 20;

/// Takes a text, split into documents.
pub(super) fn read(reader: &mut Reader<'_>, input: &mut dyn Read, at: &At<'_>, share: Share) -> Result<(), DataError> {
	// Enough for a document, whatever its line ends, and for a look behind it.
	let wanted = usize::try_from(reader.document_bytes()).unwrap_or(usize::MAX).saturating_mul(2).saturating_add(2);
	let (mut raw, mut start, mut offset, mut ended) = (Vec::new(), 0usize, 0u64, false);
	let mut taken = 0u64;
	loop {
		if !ended && raw.len().saturating_sub(start) < wanted {
			raw.drain(..start);
			start = 0;
			let block = u64::try_from(wanted.saturating_sub(raw.len()).max(BLOCK)).unwrap_or(u64::MAX);
			let read = input.take(block).read_to_end(&mut raw).map_err(|error| at.failed(error))?;
			ended = u64::try_from(read).is_ok_and(|read| read < block);
			if offset == 0 && raw.starts_with(BYTE_ORDER_MARK) {
				start = BYTE_ORDER_MARK.len();
				offset = u64::try_from(start).unwrap_or(u64::MAX);
			}
		}
		let rest = raw.get(start..).unwrap_or_default();
		if rest.is_empty() {
			break;
		}
		let room = reader.room();
		let end = document_end(rest, reader.document_bytes().min(room), reader.line_ends());
		let enough = share == Share::Beginning && taken > 0;
		let Some(document) = rest.get(..end).filter(|document| !document.is_empty() && !enough) else {
			// A file whose size nobody knows is at least longer than what was read of it.
			let left = at.size.map_or(u64::try_from(rest.len()).unwrap_or(u64::MAX), |size| size.saturating_sub(offset));
			reader.leave(Reason::Beyond, left, at.name);
			break;
		};
		reader.document(document, offset, Format::Text, at)?;
		taken = taken.saturating_add(1);
		start = start.saturating_add(end);
		offset = offset.saturating_add(u64::try_from(end).unwrap_or(u64::MAX));
		if share == Share::Whole && raw.len() > start {
			reader.refuse_split(room, at)?;
		}
	}
	if taken > 0 && is_raw(at.inner) {
		reader.found_mut().raw.add(at.size.unwrap_or(offset), at.name);
	}
	Ok(())
}

/// Length of the longest beginning of `raw` that counts at most `limit` bytes, and ends a line, or else a character. The two bytes of a line end count as
/// one where they become one, and are never parted.
pub(super) fn document_end(raw: &[u8], limit: u64, line_ends: LineEnds) -> usize {
	let (mut place, mut length, mut line_end) = (0usize, 0u64, 0usize);
	while let Some(byte) = raw.get(place) {
		let is_pair = *byte == b'\r' && raw.get(place.saturating_add(1)) == Some(&b'\n');
		let (bytes, counted) = match (is_pair, line_ends) {
			(false, _) => (1, 1),
			(true, LineEnds::Keep) => (2, 2),
			(true, LineEnds::Lf) => (2, 1),
		};
		length = length.saturating_add(counted);
		if length > limit {
			return if line_end > 0 { line_end } else { character_end(raw, place) };
		}
		place = place.saturating_add(bytes);
		if matches!(byte, b'\n' | b'\r') {
			line_end = place;
		}
	}
	raw.len()
}

/// Where the character before `place` ends. What is no character is cut anywhere.
fn character_end(raw: &[u8], place: usize) -> usize {
	let is_within = |at: &usize| raw.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
	(place.saturating_sub(3)..=place).rev().find(|at| !is_within(at)).unwrap_or(place)
}

/// The text with each line end as a line feed.
pub(crate) fn with_line_feeds(text: &str) -> Cow<'_, str> {
	match text.contains('\r') {
		true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
		false => Cow::Borrowed(text),
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn documents_end_with_lines_or_characters_and_line_ends_count_once() {
		let end = |text: &str, limit| document_end(text.as_bytes(), limit, LineEnds::Lf);
		assert_eq!([3, 4, 5, 9, 10].map(|limit| end("one\ntwo\nx", limit)), [3, 4, 4, 9, 9]);
		assert_eq!([3, 4, 5].map(|limit| end("a\r\nb\rcd", limit)), [3, 5, 5]);
		assert_eq!([4, 5, 6].map(|limit| end("\u{e4}\u{e4}\u{e4}", limit)), [4, 4, 6]);
		assert_eq!((end("\u{e4}", 1), end("", 9)), (0, 0));
		assert_eq!(document_end(&[0x80; 9], 6, LineEnds::Lf), 6);
	}

	#[test]
	fn line_ends_that_stay_count_each_byte_and_are_not_parted() {
		let end = |text: &str, limit| document_end(text.as_bytes(), limit, LineEnds::Keep);
		assert_eq!([1, 2, 3, 4, 5, 6, 7].map(|limit| end("a\r\nb\rcd", limit)), [1, 1, 3, 3, 5, 5, 7]);
		assert_eq!([0, 1, 2].map(|limit| end("\r\n", limit)), [0, 0, 2]);
		assert_eq!(end("one\ntwo\nx", 8), 8);
	}

	#[test]
	fn line_ends_become_line_feeds() {
		assert_eq!(with_line_feeds("a\r\nb\rc\n\r\n\u{e4}"), "a\nb\nc\n\n\u{e4}");
	}
}
