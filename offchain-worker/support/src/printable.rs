//! Text of unknown origin on a terminal.

use std::borrow::Cow;

/// `text` as it may be printed: control characters, which a terminal would obey, and those that turn the direction of
/// writing are written as `\u{1b}`. Line ends and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
	escaped(text, harmful)
}

/// As [`printable`], for a name or a phrase within a line: line ends and tabs are written as `\u{a}`, too, since they could make it look
/// like another line or column.
pub fn printable_line(text: &str) -> Cow<'_, str> {
	escaped(text, |character| harmful(character) || matches!(character, '\n' | '\t' | '\u{2028}' | '\u{2029}'))
}

fn escaped(text: &str, harmful: impl Fn(char) -> bool) -> Cow<'_, str> {
	if !text.contains(&harmful) {
		return Cow::Borrowed(text);
	}
	let mut escaped = String::with_capacity(text.len());
	for character in text.chars() {
		match harmful(character) {
			true => escaped.extend(character.escape_unicode()),
			false => escaped.push(character),
		}
	}
	Cow::Owned(escaped)
}

fn harmful(character: char) -> bool {
	let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
	turns || character.is_control() && !matches!(character, '\n' | '\t')
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_terminal_obeys_no_sampled_text() {
		assert_eq!(printable("\u{1b}[2Jgone\r\0\u{7f}\u{9b}31m"), "\\u{1b}[2Jgone\\u{d}\\u{0}\\u{7f}\\u{9b}31m");
		assert_eq!(printable("a\u{202e}b"), "a\\u{202e}b");
	}

	#[test]
	fn a_name_fakes_no_other_line_or_column() {
		assert_eq!(printable_line("a\nrun 7,\tActive\u{2028}\r"), "a\\u{a}run 7,\\u{9}Active\\u{2028}\\u{d}");
		assert!(matches!(printable_line("Grüße, 世界"), Cow::Borrowed(_)));
	}

	#[test]
	fn text_stays_as_it_is() {
		let text = "fn main() {\n\tprintln!(\"Grüße, 世界\");\n}\u{fffd}";
		assert!(matches!(printable(text), Cow::Borrowed(same) if same == text));
	}
}
