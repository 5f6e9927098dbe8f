//! Gopher's rules on quality (Rae et al. 2021, appendix A.1.1), as `GopherQualityFilter` of datatrove has them.

use super::{is_more, is_symbol, length, number, share, Hundredths};

const FEWEST_WORDS: u64 = 50;
const MOST_WORDS: u64 = 100_000;
/// Bounds on the mean length of words, in characters.
const SHORTEST_MEAN: u64 = 3;
const LONGEST_MEAN: u64 = 10;
const MOST_SYMBOLS: Hundredths = Hundredths(10);
const MOST_BULLETS: Hundredths = Hundredths(90);
const MOST_ELLIPSES: Hundredths = Hundredths(30);
const FEWEST_ALPHABETIC: Hundredths = Hundredths(80);
const STOP_WORDS: [&str; 8] = ["the", "be", "to", "of", "and", "that", "have", "with"];
const FEWEST_STOP_WORDS: usize = 2;

const ELLIPSES: [&str; 2] = ["...", "\u{2026}"];

/// Why the text is left out.
pub(super) fn reason(text: &str, words: &[&str]) -> Option<&'static str> {
	let all = number(words.len());
	let (mut count, mut characters) = (0u64, 0u64);
	for word in words.iter().filter(|word| !is_symbol(word)) {
		(count, characters) = (count.saturating_add(1), characters.saturating_add(length(word)));
	}
	if count < FEWEST_WORDS {
		return Some("gopher_short_doc");
	}
	if count > MOST_WORDS {
		return Some("gopher_long_doc");
	}
	if characters < count.saturating_mul(SHORTEST_MEAN) {
		return Some("gopher_below_avg_threshold");
	}
	if characters > count.saturating_mul(LONGEST_MEAN) {
		return Some("gopher_above_avg_threshold");
	}
	let of = |pattern: &str| number(text.matches(pattern).count());
	if is_more(of("#"), all, MOST_SYMBOLS) {
		return Some("gopher_too_many_hashes");
	}
	if is_more(ELLIPSES.iter().map(|mark| of(mark)).sum(), all, MOST_SYMBOLS) {
		return Some("gopher_too_many_ellipsis");
	}
	let lines = number(text.lines().count());
	let lines_that = |is: &dyn Fn(&str) -> bool| number(text.lines().filter(|line| is(line)).count());
	if is_more(lines_that(&|line| line.trim_start().starts_with(['\u{2022}', '-'])), lines, MOST_BULLETS) {
		return Some("gopher_too_many_bullets");
	}
	if is_more(lines_that(&|line| ELLIPSES.iter().any(|mark| line.trim_end().ends_with(mark))), lines, MOST_ELLIPSES) {
		return Some("gopher_too_many_end_ellipsis");
	}
	let alphabetic = number(words.iter().filter(|word| word.chars().any(char::is_alphabetic)).count());
	if share(alphabetic, all, FEWEST_ALPHABETIC).is_lt() {
		return Some("gopher_below_alpha_threshold");
	}
	let found = STOP_WORDS.iter().filter(|stop| words.contains(stop)).count();
	(found < FEWEST_STOP_WORDS).then_some("gopher_enough_stop_words")
}
