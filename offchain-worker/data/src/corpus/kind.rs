//! Detection of what a file holds: by its first bytes where those tell, or else by its name.

use super::Reason;
use serde::de::IgnoredAny;
use std::path::Path;

/// Endings of names of files of records that are not read.
const RECORDS: [&str; 5] = ["arrow", "feather", "avro", "tfrecord", "msgpack"];
/// Of those that are compressed in ways that are not read, archives, or documents of programs.
const PACKED: [&str; 18] =
	["bz2", "lzma", "lz4", "br", "zip", "7z", "rar", "whl", "jar", "pdf", "doc", "docx", "odt", "epub", "rtf", "xls", "xlsx", "warc"];
/// Of those that are text, but hardly the text that is meant.
const RAW: [&str; 5] = ["json", "xml", "html", "htm", "yaml"];
/// Of those with a JSON object on each line.
const LINES: [&str; 3] = ["jsonl", "ndjson", "jsonlines"];
/// Endings that a compressed file's own name goes before, and what of the ending is left.
const WRAPPED: [(&str, &str); 8] =
	[(".gz", ""), (".zst", ""), (".zstd", ""), (".xz", ""), (".tgz", ".tar"), (".tzst", ".tar"), (".txz", ".tar"), (".gzip", "")];
/// First bytes of files that are not read.
const BEGINNINGS: [(&[u8], Reason); 8] = [
	(b"BZh", Reason::Packed),
	(b"\x04\x22\x4d\x18", Reason::Packed),
	(b"PK\x03\x04", Reason::Packed),
	(b"7z\xbc\xaf", Reason::Packed),
	(b"%PDF-", Reason::Packed),
	(b"ARROW1", Reason::Records),
	(b"\xff\xfe", Reason::Wide),
	(b"\xfe\xff", Reason::Wide),
];
/// First bytes of what Git keeps in place of a large file.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// Lines that are looked at to know records, and bytes of one.
const LOOKED_AT: usize = 2;
const LONGEST_LOOKED_AT: usize = 1 << 20;

/// What a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
	Gzip,
	Zstd,
	Xz,
	Tar,
	Parquet,
	JsonLines,
	JsonArray,
	/// Values with this byte between them.
	Table(u8),
	/// Text, if it is any.
	Text,
	/// Nothing that is read.
	Left(Reason),
}

/// What a file of this name holds that begins with `head`, its first 64 KiB or all of it.
pub(super) fn kind(head: &[u8], name: &str) -> Kind {
	let is_skippable = matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
	match head {
		[0x1f, 0x8b, ..] => return Kind::Gzip,
		[0x28, 0xb5, 0x2f, 0xfd, ..] => return Kind::Zstd,
		[0xfd, b'7', b'z', b'X', b'Z', 0, ..] => return Kind::Xz,
		[b'P', b'A', b'R', b'1' | b'E', ..] if !head.is_ascii() || head.contains(&0) || ending(name) == "parquet" => return Kind::Parquet,
		_ if is_skippable => return Kind::Zstd,
		_ if head.get(257..262) == Some(b"ustar") => return Kind::Tar,
		_ => (),
	}
	if let Some((_, reason)) = BEGINNINGS.into_iter().find(|(beginning, _)| head.starts_with(beginning)) {
		return Kind::Left(reason);
	}
	if head.starts_with(POINTER) {
		return Kind::Left(Reason::Pointer);
	}
	match ending(name).as_str() {
		"tar" if !head.is_empty() => Kind::Tar,
		"parquet" => Kind::Parquet,
		"csv" => Kind::Table(b','),
		"tsv" => Kind::Table(b'\t'),
		ending if LINES.contains(&ending) => Kind::JsonLines,
		ending => match valid(head) {
			text if holds_lines(text) => Kind::JsonLines,
			text if (ending == "json" || ending.is_empty()) && holds_array(text) => Kind::JsonArray,
			_ => Kind::Text,
		},
	}
}

/// Why a file of this name is not read.
pub(super) fn refused_name(path: &Path) -> Option<Reason> {
	let ending = path.extension()?.to_str()?.to_ascii_lowercase();
	let is = |endings: &[&str]| endings.contains(&ending.as_str());
	is(&RECORDS).then_some(Reason::Records).or_else(|| is(&PACKED).then_some(Reason::Packed))
}

/// Returns whether the name tells what the file holds, where its first bytes may not.
pub(super) fn is_telling(path: &Path) -> bool {
	let ending = ending(unwrapped(&path.to_string_lossy()).as_deref().unwrap_or(&path.to_string_lossy()));
	matches!(ending.as_str(), "csv" | "tsv" | "json" | "tar") || LINES.contains(&ending.as_str())
}

/// Returns whether a file of this name is text with much that is no text.
pub(super) fn is_raw(name: &str) -> bool {
	RAW.contains(&ending(name).as_str())
}

/// The name of what is in the compressed file of this name, if the name says that it is one.
pub(super) fn unwrapped(name: &str) -> Option<String> {
	let lower = name.to_ascii_lowercase();
	let (wrapped, left) = WRAPPED.into_iter().find(|(wrapped, _)| lower.ends_with(wrapped))?;
	Some(format!("{}{left}", name.get(..name.len().saturating_sub(wrapped.len()))?))
}

fn ending(name: &str) -> String {
	Path::new(name).extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase).unwrap_or_default()
}

/// The text up to what is none.
fn valid(head: &[u8]) -> &str {
	let head = head.strip_prefix(super::text::BYTE_ORDER_MARK).unwrap_or(head);
	match std::str::from_utf8(head) {
		Ok(text) => text,
		Err(error) => head.get(..error.valid_up_to()).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default(),
	}
}

/// Returns whether each of the first lines is a JSON object.
fn holds_lines(text: &str) -> bool {
	let is_object =
		|line: &str| line.starts_with('{') && line.len() <= LONGEST_LOOKED_AT && serde_json::from_str::<IgnoredAny>(line).is_ok();
	let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(LOOKED_AT);
	text.trim_start().starts_with('{') && lines.by_ref().filter(|line| is_object(line)).count() == LOOKED_AT
}

/// Returns whether an array of objects begins.
fn holds_array(text: &str) -> bool {
	text.trim_start().strip_prefix('[').is_some_and(|items| items.trim_start().starts_with('{'))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn first_bytes_tell_more_than_names() {
		let mut tar = [0; 512];
		tar[257..262].copy_from_slice(b"ustar");
		let cases: [(&[u8], Kind); 12] = [
			(b"\x1f\x8b\x08", Kind::Gzip),
			(b"\x28\xb5\x2f\xfd", Kind::Zstd),
			(b"\x50\x2a\x4d\x18", Kind::Zstd),
			(b"\xfd7zXZ\0", Kind::Xz),
			(b"PAR1\x15\x04\xff", Kind::Parquet),
			(&tar, Kind::Tar),
			(b"BZh9", Kind::Left(Reason::Packed)),
			(b"ARROW1", Kind::Left(Reason::Records)),
			(b"\xff\xfea\0", Kind::Left(Reason::Wide)),
			(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", Kind::Left(Reason::Pointer)),
			(b"{\"text\": \"a\"}\r\n{\"text\": \"b\"}\r\nx", Kind::JsonLines),
			(b"PAR1S is a word\n", Kind::Text),
		];
		for (head, expected) in cases {
			assert_eq!(kind(head, "a.txt"), expected);
		}
	}

	#[test]
	fn names_tell_where_bytes_do_not() {
		for (name, expected) in [
			("a.CSV", Kind::Table(b',')),
			("a.tsv", Kind::Table(b'\t')),
			("a.jsonl", Kind::JsonLines),
			("a.txt", Kind::Text),
			("a.parquet", Kind::Parquet),
			("jsonl", Kind::Text),
		] {
			assert_eq!(kind(b"one line\n", name), expected, "{name}");
		}
		assert_eq!(kind(b" [\n{\"text\": 1}]", "a.json"), Kind::JsonArray);
		assert_eq!(kind(b"[{\"text\": 1}]", "a.md"), Kind::Text);
		for text in ["{\n\"a\": 1\n}\n", "{\"a\": 1}\n", "{\"a\": 1}\nplain\n", "{x}\n{y}\n", "[1]\n[2]\n"] {
			assert_eq!(kind(text.as_bytes(), "a.json"), Kind::Text, "{text}");
		}
		assert_eq!(
			(unwrapped("a/b.csv.GZ").as_deref(), unwrapped("c.tgz").as_deref(), unwrapped("d.csv")),
			(Some("a/b.csv"), Some("c.tar"), None)
		);
		assert!(is_telling(Path::new("a.jsonl.zst")) && !is_telling(Path::new("blobs/aa")));
		assert!(is_raw("a.JSON") && !is_raw("a.md"));
		assert_eq!(refused_name(Path::new("a.ZIP")), Some(Reason::Packed));
		assert_eq!(refused_name(Path::new("a.txt.gz")), None);
	}
}
