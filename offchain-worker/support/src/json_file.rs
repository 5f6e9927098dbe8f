//! JSON files that people save: what they say, or in plain words why they are not understood.

use crate::printable::printable_line;
use serde::de::DeserializeOwned;

/// Some editors begin a file with this.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// Most characters of what is said about a file: it may repeat what is in it.
const LONGEST: usize = 400;
/// Messages of the parser, and their replacements in plain words.
const PLAIN: [(&str, &str); 21] = [
	("EOF while parsing a value", "it ends where a value should be"),
	("EOF while parsing an object", "it ends within an object, { .. }"),
	("EOF while parsing a list", "it ends within a list, [ .. ]"),
	("EOF while parsing a string", "it ends within a text, \" .. \""),
	("EOF while parsing", "it ends within"),
	("recursion limit exceeded", "too many lists or objects within one another"),
	("floating point `", "number `"),
	("invalid type: null", "invalid type: nothing (null)"),
	("invalid type: sequence", "invalid type: a list"),
	("invalid type: map", "invalid type: an object"),
	("expected a sequence", "expected a list"),
	("expected a map", "expected an object"),
	("expected a boolean", "expected true or false"),
	("expected u64", "expected a whole number from 0"),
	("expected usize", "expected a whole number from 0"),
	("expected u32", "expected a whole number from 0 to 4294967295"),
	("expected u16", "expected a whole number from 0 to 65535"),
	("expected u8", "expected a whole number from 0 to 255"),
	("expected f32", "expected a number"),
	("expected f64", "expected a number"),
	("data did not match any variant of untagged enum", "of no kind that is known here:"),
];

/// The text that `bytes` are, without a byte order mark; `None` if they are not UTF-8.
pub fn text(bytes: &[u8]) -> Option<&str> {
	std::str::from_utf8(bytes.strip_prefix(MARK).unwrap_or(bytes)).ok()
}

/// Parses the JSON text in `bytes`.
///
/// # Errors
/// In words, why it says nothing of this kind: with the field, where there is one, and the place.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
	let text = text(bytes).ok_or("it is not UTF-8 text: save it as that")?;
	serde_json::from_str(text).map_err(|error| words(text, &error))
}

/// The same of JSON that was parsed already: the place is not known any more.
pub fn take<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, String> {
	serde_json::from_value(value).map_err(|error| plain(&error.to_string()))
}

/// Why `text` is not understood, with the name of the field where it is not that of the message.
fn words(text: &str, error: &serde_json::Error) -> String {
	let words = error.to_string();
	let is_of_value =
		error.is_data() && !["missing field", "unknown field", "duplicate field"].iter().any(|start| words.starts_with(start));
	let words = plain(&words);
	match field_before(text, error.line(), error.column()).filter(|_| is_of_value) {
		Some(field) => short(&format!("{field}: {words}")),
		None => words,
	}
}

/// A message of the parser in words of people.
fn plain(words: &str) -> String {
	let words = PLAIN.iter().fold(words.to_owned(), |words, (from, to)| words.replace(from, to));
	short(&match words.split_once("expected struct ") {
		// Its name is that of a type of this program.
		Some((before, name)) => format!("{before}expected an object{}", name.trim_start_matches(|letter: char| letter.is_alphanumeric())),
		None => words,
	})
}

/// As it can be printed, and not too long: in its middle may be what the file says.
fn short(words: &str) -> String {
	let words = printable_line(words);
	let (count, half) = (words.chars().count(), LONGEST / 2);
	if count <= LONGEST {
		return words.into_owned();
	}
	let (first, last) = (words.chars().take(half), words.chars().skip(count.saturating_sub(half)));
	first.chain(" .. ".chars()).chain(last).collect()
}

/// Name of the last field before a place in JSON text, lines and columns (of bytes) counted from 1 as `serde_json` does.
fn field_before(text: &str, line: usize, column: usize) -> Option<&str> {
	let start: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
	let end = start.saturating_add(column).min(text.len());
	let (mut opened, mut escaped, mut last, mut field) = (None, false, None, None);
	for (place, byte) in text.bytes().enumerate().take(end) {
		match (opened, byte) {
			(Some(_), _) if escaped => escaped = false,
			(Some(_), b'\\') => escaped = true,
			(Some(from), b'"') => (last, opened) = (text.get(from..place), None),
			(None, b'"') => opened = place.checked_add(1),
			(None, b':') => field = last,
			_ => {}
		}
	}
	field
}

#[cfg(test)]
mod tests {
	use super::*;
	use serde::Deserialize;

	#[derive(Debug, PartialEq, Deserialize)]
	struct Shape {
		name: String,
		width: u32,
		rate: Option<f64>,
		tied: bool,
	}

	fn error(json: &[u8]) -> String {
		parse::<Shape>(json).unwrap_err()
	}

	#[test]
	fn a_file_may_begin_with_a_mark_and_is_told_in_plain_words_and_with_the_field_if_it_is_not_understood() {
		let whole = "{\"name\": \"a\", \"width\": 3, \"rate\": 0.5, \"tied\": true}";
		let shape = Shape { name: "a".into(), width: 3, rate: Some(0.5), tied: true };
		assert_eq!(parse::<Shape>(format!("\u{feff}{whole}").as_bytes()).unwrap(), shape);
		assert_eq!(parse::<Shape>(whole.as_bytes()).unwrap(), shape);
		let with = |from: &str, to: &str| {
			assert!(whole.contains(from));
			error(whole.replace(from, to).as_bytes())
		};
		for (words, expected) in [
			(with("3", "-3"), "width: invalid value: integer `-3`, expected a whole number from 0 to 4294967295 at line 1"),
			(with("3", "3.5"), "width: invalid type: number `3.5`, expected a whole number"),
			(with("3", "\"3\""), "width: invalid type: string \"3\", expected a whole number"),
			(with("\"a\"", "null"), "name: invalid type: nothing (null), expected a string"),
			(with("\"a\"", "[]"), "name: invalid type: a list, expected a string"),
			(with("0.5", "{}"), "rate: invalid type: an object, expected a number"),
			(with("true", "1"), "tied: invalid type: integer `1`, expected true or false"),
			(with("\"width\": 3,", ""), "missing field `width`"),
			(with("true}", "true"), "it ends within an object, { .. }"),
			(error(b"[7]"), "invalid type: integer `7`, expected a string"),
			(error(b"7"), "invalid type: integer `7`, expected an object at line 1"),
			(error(b""), "it ends where a value should be"),
			(error(b"\xff\xfe{\0"), "it is not UTF-8 text"),
		] {
			assert!(words.starts_with(expected), "{words}");
		}
	}

	#[test]
	fn what_a_file_says_about_itself_is_neither_obeyed_by_a_terminal_nor_printed_at_length() {
		let long = format!("{{\"width\": \"{}\"}}", "x".repeat(100_000));
		let words = error(long.as_bytes());
		assert!(words.starts_with("width: invalid type: string \"xxx") && words.chars().count() < 500, "{words}");
		assert!(words.contains("expected a whole number") && words.contains("at line 1"), "{words}");
		let named = error("{\"name\": \"a\", \"a\u{85}b\" : 1, \"width\" : true}".as_bytes());
		assert!(named.starts_with("width: ") && !named.contains('\u{85}'), "{named}");
	}

	#[test]
	fn the_field_at_which_reading_ends_is_found() {
		let text = "{\n \"name\": \"a\",\n \"model\": {\"dim\": true}\n}";
		assert_eq!(field_before(text, 3, 20), Some("dim"));
		assert_eq!(field_before("nothing", 1, 3), None);
		assert_eq!(field_before("\"a\":", 9, 9), Some("a"));
		// Blanks before the colon, and what looks like a field in a text.
		assert_eq!(field_before("{\"a\": 1, \"b\" \n: true", 2, 6), Some("b"));
		assert_eq!(field_before("{\"a\": \"x\\\"y\\\":z\"", 1, 16), Some("a"));
	}
}
