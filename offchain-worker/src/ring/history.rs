//! What the pages of keys and values were computed from: with it, they can be computed anew elsewhere.

use neuroshard_graph::exec::PAGE_TOKENS;
use std::collections::HashMap;

/// The tokens of pages.
#[derive(Default, Debug)]
pub(super) struct History(HashMap<u64, Entry>);

#[derive(Debug)]
struct Entry {
	/// The page before it in its text.
	before: Option<u64>,
	tokens: Vec<u32>,
}

impl History {
	/// Notes that a text, in these pages, gets `tokens` from position `first` on; what was there before is replaced.
	pub(super) fn note(&mut self, pages: &[u64], first: usize, tokens: &[u32]) {
		for (position, token) in (first..).zip(tokens) {
			let (page, slot) = (position / PAGE_TOKENS, position % PAGE_TOKENS);
			let Some(number) = pages.get(page) else { return };
			let before = page.checked_sub(1).and_then(|page| pages.get(page)).copied();
			let entry = self.0.entry(*number).or_insert_with(|| Entry { before, tokens: Vec::new() });
			entry.tokens.truncate(slot);
			entry.tokens.push(*token);
		}
	}

	/// Forgets pages.
	pub(super) fn forget(&mut self, pages: &[u64]) {
		for page in pages {
			self.0.remove(page);
		}
	}

	/// The pages and tokens of the text up to and including page `last`; `None` if a page of it is unknown.
	pub(super) fn text(&self, last: u64) -> Option<(Vec<u64>, Vec<u32>)> {
		let mut chain = Vec::new();
		let mut next = Some(last);
		while let Some(number) = next {
			let entry = self.0.get(&number)?;
			chain.push((number, entry));
			next = entry.before;
		}
		chain.reverse();
		let tokens = chain.iter().flat_map(|(_, entry)| &entry.tokens).copied().collect();
		Some((chain.into_iter().map(|(number, _)| number).collect(), tokens))
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_text_is_told_up_to_any_of_its_pages_and_as_it_was_last_written() {
		let mut history = History::default();
		let tokens: Vec<u32> = (0..100).collect();
		history.note(&[7, 9], 0, &tokens);
		assert_eq!(history.text(7), Some((vec![7], tokens[..64].to_vec())));
		assert_eq!(history.text(9), Some((vec![7, 9], tokens.clone())));
		// Guessed wrong: from position 70 on, other tokens.
		history.note(&[7, 9], 70, &[1, 2]);
		let expected: Vec<u32> = tokens[..70].iter().copied().chain([1, 2]).collect();
		assert_eq!(history.text(9), Some((vec![7, 9], expected)));
		// Another text begins alike.
		history.note(&[7, 4], 64, &[5]);
		assert_eq!(history.text(4), Some((vec![7, 4], tokens[..64].iter().copied().chain([5]).collect())));
		history.forget(&[7]);
		assert_eq!(history.text(4), None);
	}
}
