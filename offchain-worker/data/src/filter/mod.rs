//! Filters of texts by what they look like, as Gopher and FineWeb publish them, with the thresholds of datatrove.
//!
//! Each is a function of the text alone, in whole numbers, so that every machine decides the same. Blanks at the end of a text do not count. Words are
//! what Unicode's Annex 29 finds between the boundaries of words, without blanks: a mark of punctuation is a word of its own. datatrove cuts English
//! in a slightly different way, so that a text close to a threshold may be decided otherwise there. Memory is many times that of the text: 10 MB of single letters took 403 MB.

mod fineweb;
mod quality;
mod repetition;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use words::{is_symbol, words};

use serde::{Deserialize, Serialize};

/// A filter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filter {
	/// Gopher's rules on repetition: lines, paragraphs and n-grams of words.
	GopherRepetition,
	/// Gopher's rules on quality: length, words, symbols, lines, stop words of English.
	GopherQuality,
	/// FineWeb's own rules: ends of lines, short lines, repeated lines, lists.
	Fineweb,
}

impl Filter {
	/// Its name, as in recipes.
	pub fn name(self) -> &'static str {
		match self {
			Self::GopherRepetition => "gopher-repetition",
			Self::GopherQuality => "gopher-quality",
			Self::Fineweb => "fineweb",
		}
	}

	/// Why `text` is left out, if it is: by the name that datatrove has for it.
	fn reason(self, text: &str, words: &[&str]) -> Option<&'static str> {
		match self {
			Self::GopherRepetition => repetition::reason(text, words),
			Self::GopherQuality => quality::reason(text, words),
			Self::Fineweb => fineweb::reason(text, words),
		}
	}
}

/// The first of `filters`, in the order in which FineWeb has them, that leaves `text` out, and why; nothing if all let it pass. `filters` are in
/// ascending order.
pub fn refusal(filters: &[Filter], text: &str) -> Option<(Filter, &'static str)> {
	let text = text.trim_end();
	let words = words(text);
	filters.iter().find_map(|filter| Some((*filter, filter.reason(text, &words)?)))
}

/// A share in hundredths.
#[derive(Clone, Copy)]
struct Hundredths(u64);

/// Compares `part` of `whole` with a share.
fn share(part: u64, whole: u64, of: Hundredths) -> std::cmp::Ordering {
	// Neither is a number of more than some 2^40.
	part.saturating_mul(100).cmp(&whole.saturating_mul(of.0))
}

/// Returns whether `part` of `whole` is more than a share.
fn is_more(part: u64, whole: u64, of: Hundredths) -> bool {
	share(part, whole, of).is_gt()
}

/// Number of characters.
fn length(text: &str) -> u64 {
	number(text.chars().count())
}

fn number(count: usize) -> u64 {
	u64::try_from(count).unwrap_or(u64::MAX)
}

/// How many of these are there a second time or more, and their characters.
fn repeated<'a>(parts: impl Iterator<Item = &'a str>) -> (u64, u64) {
	let mut seen = std::collections::HashSet::new();
	let mut sums = (0u64, 0u64);
	for part in parts.filter(|part| !seen.insert(*part)) {
		sums = (sums.0.saturating_add(1), sums.1.saturating_add(length(part)));
	}
	sums
}
