//! Detection of text among files, and of the text that is meant.

use super::Reason;
use serde::de::IgnoredAny;
use std::{borrow::Cow, path::Path};

/// Byte order mark that some editors begin UTF-8 with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Endings of names of files that hold records.
const RECORDS: [&str; 9] = ["jsonl", "ndjson", "jsonlines", "parquet", "arrow", "feather", "avro", "tfrecord", "msgpack"];
/// Of those that are compressed, archives, or documents of programs.
const PACKED: [&str; 24] = [
	"gz", "tgz", "zst", "zstd", "bz2", "xz", "lzma", "lz4", "br", "zip", "7z", "rar", "tar", "whl", "jar", "pdf", "doc", "docx", "odt",
	"epub", "rtf", "xls", "xlsx", "warc",
];
/// Of those that are text, but hardly the text that is meant.
const RAW: [&str; 7] = ["json", "csv", "tsv", "xml", "html", "htm", "yaml"];
/// First bytes of such files.
const BEGINNINGS: [(&[u8], Reason); 12] = [
	(b"\x1f\x8b", Reason::Packed),
	(b"\x28\xb5\x2f\xfd", Reason::Packed),
	(b"BZh", Reason::Packed),
	(b"\xfd7zXZ\0", Reason::Packed),
	(b"\x04\x22\x4d\x18", Reason::Packed),
	(b"PK\x03\x04", Reason::Packed),
	(b"7z\xbc\xaf", Reason::Packed),
	(b"%PDF-", Reason::Packed),
	(b"PAR1", Reason::Records),
	(b"ARROW1", Reason::Records),
	(b"\xff\xfe", Reason::Wide),
	(b"\xfe\xff", Reason::Wide),
];
/// Lines that are looked at to know records, and bytes of one.
const LINES: usize = 2;
const LONGEST_LINE: usize = 1 << 20;

/// Why a file of this name is not read.
pub(super) fn refused_name(path: &Path) -> Option<Reason> {
	let ending = path.extension()?.to_str()?.to_ascii_lowercase();
	let is = |endings: &[&str]| endings.contains(&ending.as_str());
	is(&RECORDS).then_some(Reason::Records).or_else(|| is(&PACKED).then_some(Reason::Packed))
}

/// Returns whether a file of this name is text with much that is no text.
pub(super) fn is_raw(path: &Path) -> bool {
	let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
	ending.is_some_and(|ending| RAW.contains(&ending.as_str()))
}

/// The text in `prefix`, the first bytes of a file, if it is one: without a mark at its beginning. If `cut`, the file goes on, and the last character
/// may be broken off.
///
/// # Errors
/// Why it is none.
pub(super) fn text_in(prefix: &[u8], cut: bool) -> Result<&str, Reason> {
	if let Some((_, reason)) = BEGINNINGS.into_iter().find(|(beginning, _)| prefix.starts_with(beginning)) {
		return Err(reason);
	}
	if prefix.contains(&0) {
		return Err(Reason::Null);
	}
	let text = prefix.strip_prefix(BYTE_ORDER_MARK).unwrap_or(prefix);
	let text = match std::str::from_utf8(text) {
		Ok(text) => text,
		Err(error) if cut && error.error_len().is_none() => {
			text.split_at_checked(error.valid_up_to()).and_then(|(whole, _)| std::str::from_utf8(whole).ok()).unwrap_or_default()
		}
		Err(_) => return Err(Reason::NotUtf8),
	};
	match holds_records(text) {
		true => Err(Reason::Records),
		false => Ok(text),
	}
}

/// Returns whether each of the first lines is a JSON object.
fn holds_records(text: &str) -> bool {
	let is_object = |line: &str| line.starts_with('{') && line.len() <= LONGEST_LINE && serde_json::from_str::<IgnoredAny>(line).is_ok();
	let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(LINES);
	text.trim_start().starts_with('{') && lines.by_ref().filter(|line| is_object(line)).count() == LINES
}

/// The text with each line end as a line feed.
pub(super) fn with_line_feeds(text: &str) -> Cow<'_, str> {
	match text.contains('\r') {
		true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
		false => Cow::Borrowed(text),
	}
}

/// Bytes of `text` that are the first `length` of [`with_line_feeds`] of it.
pub(super) fn length_before(text: &str, length: usize) -> usize {
	let bytes = text.as_bytes();
	let (mut place, mut passed) = (0usize, 0usize);
	while passed < length && place < bytes.len() {
		let pair = bytes.get(place..).is_some_and(|rest| rest.starts_with(b"\r\n"));
		place = place.saturating_add(if pair { 2 } else { 1 });
		passed = passed.saturating_add(1);
	}
	place
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn text_is_utf8_without_nulls_and_without_the_mark() {
		assert_eq!(text_in(b"\xef\xbb\xbfa\n", false), Ok("a\n"));
		assert_eq!(text_in("a\u{feff}b".as_bytes(), false), Ok("a\u{feff}b"));
		assert_eq!(text_in(b"cut \xe2\x82", true), Ok("cut "));
		assert_eq!(text_in(b"cut \xe2\x82", false), Err(Reason::NotUtf8));
		assert_eq!(text_in(b"a\xffb", true), Err(Reason::NotUtf8));
		assert_eq!(text_in(b"\xff\xfea\0", false), Err(Reason::Wide));
		assert_eq!(text_in(b"\xfe\xff\0a", false), Err(Reason::Wide));
		assert_eq!(text_in(b"a\0b\0", false), Err(Reason::Null));
		assert_eq!(text_in(&[0; 9], false), Err(Reason::Null));
	}

	#[test]
	fn packed_files_and_records_are_known_by_name_and_by_content() {
		for (name, reason) in [
			("a.jsonl", Some(Reason::Records)),
			("a.txt.GZ", Some(Reason::Packed)),
			("a.parquet", Some(Reason::Records)),
			("a.txt", None),
			("jsonl", None),
			("a.json", None),
		] {
			assert_eq!(refused_name(Path::new(name)), reason, "{name}");
		}
		assert!(is_raw(Path::new("a.JSON")) && !is_raw(Path::new("a.md")));
		assert_eq!(text_in(b"\x1f\x8b\x08", false), Err(Reason::Packed));
		assert_eq!(text_in(b"PAR1\x15", false), Err(Reason::Records));
		assert_eq!(text_in(b"\n{\"text\": \"a\"}\r\n{\"text\": \"b\"}\r\nx", false), Err(Reason::Records));
		for text in ["{\n\"a\": 1\n}\n", "{\"a\": 1}\n", "{\"a\": 1}\nplain\n", "{x}\n{y}\n", "[1]\n[2]\n"] {
			assert_eq!(text_in(text.as_bytes(), false), Ok(text));
		}
	}

	#[test]
	fn line_ends_become_line_feeds_and_lengths_are_known_before() {
		let text = "a\r\nb\rc\n\r\n\u{e4}";
		let fed = with_line_feeds(text);
		assert_eq!(fed, "a\nb\nc\n\n\u{e4}");
		let lengths: Vec<usize> = (0..=fed.len()).map(|length| length_before(text, length)).collect();
		assert_eq!(lengths, [0, 1, 3, 4, 5, 6, 7, 9, 10, 11]);
	}
}
