//! Gopher's rules on repetition (Rae et al. 2021, table A1), as `GopherRepetitionFilter` of datatrove has them.

use super::{is_more, length, number, repeated, Hundredths};
use std::collections::HashMap;

const MOST_REPEATED: Hundredths = Hundredths(30);
const MOST_REPEATED_CHARACTERS: Hundredths = Hundredths(20);
/// Characters of the n-gram of words that is there most often, by n.
const TOP: [(usize, Hundredths, &str); 3] =
	[(2, Hundredths(20), "top_2_gram"), (3, Hundredths(18), "top_3_gram"), (4, Hundredths(16), "top_4_gram")];
/// Characters of n-grams that were there before, by n.
const AGAIN: [(usize, Hundredths, &str); 6] = [
	(5, Hundredths(15), "duplicated_5_n_grams"),
	(6, Hundredths(14), "duplicated_6_n_grams"),
	(7, Hundredths(13), "duplicated_7_n_grams"),
	(8, Hundredths(12), "duplicated_8_n_grams"),
	(9, Hundredths(11), "duplicated_9_n_grams"),
	(10, Hundredths(10), "duplicated_10_n_grams"),
];

/// Why the text is left out.
pub(super) fn reason(text: &str, words: &[&str]) -> Option<&'static str> {
	let characters = length(text);
	let paragraphs = || runs(text.trim(), 2);
	let (again, again_characters) = repeated(paragraphs());
	if is_more(again, number(paragraphs().count()), MOST_REPEATED) {
		return Some("dup_para_frac");
	}
	if is_more(again_characters, characters, MOST_REPEATED_CHARACTERS) {
		return Some("dup_para_char_frac");
	}
	let lines = || runs(text, 1);
	let (again, again_characters) = repeated(lines());
	if is_more(again, number(lines().count()), MOST_REPEATED) {
		return Some("dup_line_frac");
	}
	if is_more(again_characters, characters, MOST_REPEATED_CHARACTERS) {
		return Some("dup_line_char_frac");
	}
	let mut grams = Grams::new(words);
	for (n, most, reason) in TOP {
		grams.lengthen(n);
		if is_more(grams.top(), characters, most) {
			return Some(reason);
		}
	}
	for (n, most, reason) in AGAIN {
		grams.lengthen(n);
		if is_more(grams.again(), characters, most) {
			return Some(reason);
		}
	}
	None
}

/// What is between runs of at least `least` line feeds.
fn runs(text: &str, least: usize) -> impl Iterator<Item = &str> {
	let mut rest = Some(text);
	std::iter::from_fn(move || {
		let text = rest?;
		let mut from = 0usize;
		loop {
			let behind = text.get(from..).unwrap_or_default();
			let Some(place) = behind.find('\n') else {
				rest = None;
				return Some(text);
			};
			let start = from.saturating_add(place);
			let feeds = text.get(start..).unwrap_or_default();
			let run = feeds.len().saturating_sub(feeds.trim_start_matches('\n').len());
			let end = start.saturating_add(run);
			if run >= least {
				rest = text.get(end..);
				return text.get(..start);
			}
			from = end;
		}
	})
}

/// The n-grams of a text's words, for n that grows.
struct Grams {
	n: usize,
	/// Numbers of the words: the same for the same.
	words: Vec<u32>,
	/// Characters of the words before each place, and at the end.
	before: Vec<u64>,
	/// Numbers of the n-grams that begin at each place, from 0 in the order of the first ones.
	grams: Vec<u32>,
	/// How many different ones there are.
	different: usize,
}

impl Grams {
	/// Those of single words.
	fn new(words: &[&str]) -> Self {
		let mut numbers = HashMap::new();
		let words_by_number: Vec<u32> = words.iter().map(|word| numbered(&mut numbers, *word)).collect();
		let sums = words.iter().scan(0u64, |sum, word| {
			*sum = sum.saturating_add(length(word));
			Some(*sum)
		});
		let before = [0].into_iter().chain(sums).collect();
		Self { n: 1, grams: words_by_number.clone(), words: words_by_number, before, different: numbers.len() }
	}

	/// Makes them those of `n` words.
	fn lengthen(&mut self, n: usize) {
		while self.n < n {
			let next = self.words.iter().skip(self.n);
			let mut numbers = HashMap::new();
			self.grams = self.grams.iter().zip(next).map(|(gram, word)| numbered(&mut numbers, (*gram, *word))).collect();
			self.n = self.n.saturating_add(1);
			self.different = numbers.len();
		}
	}

	/// Characters of the n-gram at a place, without blanks.
	fn characters(&self, place: usize) -> u64 {
		let at = |place: usize| self.before.get(place).copied().unwrap_or_default();
		at(place.saturating_add(self.n)).saturating_sub(at(place))
	}

	/// Characters of all places of the n-gram that is there most often, of several the first; a blank is counted between its words.
	fn top(&self) -> u64 {
		let mut counts = vec![(0u64, 0usize); self.different];
		for (place, gram) in self.grams.iter().enumerate().rev() {
			if let Some(count) = usize::try_from(*gram).ok().and_then(|gram| counts.get_mut(gram)) {
				*count = (count.0.saturating_add(1), place);
			}
		}
		// The first of equals is the last that is asked for.
		let top = counts.iter().rev().max_by_key(|(count, _)| *count);
		let blanks = number(self.n.saturating_sub(1));
		top.map_or(0, |(count, place)| count.saturating_mul(self.characters(*place).saturating_add(blanks)))
	}

	/// Characters of n-grams that were there before, of which none overlaps another.
	fn again(&self) -> u64 {
		let mut seen = vec![false; self.different];
		let (mut place, mut characters) = (0usize, 0u64);
		while let Some(gram) = self.grams.get(place) {
			let seen = usize::try_from(*gram).ok().and_then(|gram| seen.get_mut(gram));
			let step = if seen.is_some_and(|seen| std::mem::replace(seen, true)) {
				characters = characters.saturating_add(self.characters(place));
				self.n
			} else {
				1
			};
			place = place.saturating_add(step);
		}
		characters
	}
}

/// The number of a key, which is the next one if it is new.
fn numbered<K: std::hash::Hash + Eq>(numbers: &mut HashMap<K, u32>, key: K) -> u32 {
	let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
	*numbers.entry(key).or_insert(next)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn paragraphs_and_lines_are_between_runs_of_line_feeds() {
		let of = |text: &str, least| runs(text, least).map(str::to_owned).collect::<Vec<_>>();
		assert_eq!(of("a\nb\n\n\nc", 2), ["a\nb", "c"]);
		assert_eq!(of("a\nb\n\n\nc", 1), ["a", "b", "c"]);
		assert_eq!(of("\n\na\n", 1), ["", "a", ""]);
		assert_eq!(of("", 2), [""]);
	}

	#[test]
	fn the_top_n_gram_is_the_first_of_those_that_are_there_most_often() {
		let mut grams = Grams::new(&["aa", "b", "aa", "b", "c", "dddd", "c", "dddd"]);
		grams.lengthen(2);
		// "aa b" and "c dddd" are there twice: 2 * 4 characters, not 2 * 6.
		assert_eq!(grams.top(), 8);
		grams.lengthen(4);
		assert_eq!((grams.different, grams.top()), (5, 9));
	}

	#[test]
	fn n_grams_that_come_again_do_not_overlap() {
		let mut grams = Grams::new(&["x"; 7]);
		grams.lengthen(2);
		// The second of seven words begins one that was there, and so do the fourth and the sixth.
		assert_eq!(grams.again(), 6);
		grams.lengthen(5);
		assert_eq!(grams.again(), 5);
		grams.lengthen(10);
		assert_eq!((grams.again(), grams.top()), (0, 0));
	}
}
