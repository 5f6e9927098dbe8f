//! FineWeb's own rules (Penedo et al. 2024), as `FineWebQualityFilter` of datatrove had them when it was made.

use super::{is_more, length, number, repeated, share, Hundredths};

/// Ends of lines that are ends of sentences.
const ENDS: [char; 5] = ['.', '\'', '"', '!', '?'];
const FEWEST_ENDS: Hundredths = Hundredths(12);
/// Most characters of a short line.
const SHORT: u64 = 30;
const MOST_SHORT: Hundredths = Hundredths(67);
const MOST_REPEATED: Hundredths = Hundredths(1);
/// Line feeds by words.
const MOST_LINE_FEEDS: Hundredths = Hundredths(30);

/// Why the text is left out.
pub(super) fn reason(text: &str, words: &[&str]) -> Option<&'static str> {
	let lines = || text.split('\n');
	let all = number(lines().count());
	let that = |is: &dyn Fn(&str) -> bool| number(lines().filter(|line| is(line)).count());
	if share(that(&|line| line.ends_with(ENDS)), all, FEWEST_ENDS).is_le() {
		return Some("line_punct_ratio");
	}
	if share(that(&|line| length(line) <= SHORT), all, MOST_SHORT).is_ge() {
		return Some("short_line_ratio");
	}
	let (_, characters) = repeated(lines().filter(|line| !line.trim().is_empty()));
	let line_feeds = all.saturating_sub(1);
	if share(characters, length(text).saturating_sub(line_feeds), MOST_REPEATED).is_ge() {
		return Some("char_dup_ratio");
	}
	is_more(line_feeds, number(words.len()), MOST_LINE_FEEDS).then_some("list_ratio")
}
