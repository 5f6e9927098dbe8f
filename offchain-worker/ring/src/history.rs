//! Inputs that the pages of the KV cache were computed from: the tokens, with which they can be computed anew elsewhere, and what was sent into each
//! span.
//!
//! All holders of a span that have a page were sent the same rows for it, those that are noted here, whenever they read it: rows that differ from what
//! is noted go to nobody. So what a holder was given is known after any time, and so is who has told it.

use neuroshard_compute::exec::PAGE_TOKENS;
use neuroshard_types::H256;
use std::{
	collections::{BTreeSet, HashMap},
	sync::Arc,
};

/// Members that have told rows, by their numbers.
pub(super) type Tellers = Arc<[usize]>;

/// The pages of all texts.
#[derive(Default, Debug)]
pub(super) struct History(HashMap<u64, Entry>);

#[derive(Default, Debug)]
struct Entry {
	/// The page before it in its text.
	before: Option<u64>,
	tokens: Vec<u32>,
	/// Rows that have gone into each span, by token; `None` where that was forgotten.
	entered: Vec<Vec<Option<Row>>>,
}

/// A row that was sent into a span.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
	hash: H256,
	by: Tellers,
}

impl History {
	/// Notes that a text, in these pages, gets `tokens` from position `first` on; what was there before is replaced.
	pub(super) fn note(&mut self, pages: &[u64], first: usize, tokens: &[u32]) {
		for (position, token) in (first..).zip(tokens) {
			let (page, slot) = (position / PAGE_TOKENS, position % PAGE_TOKENS);
			let Some(number) = pages.get(page) else { return };
			let before = page.checked_sub(1).and_then(|page| pages.get(page)).copied();
			let entry = self.0.entry(*number).or_insert_with(|| Entry { before, ..Entry::default() });
			entry.tokens.truncate(slot);
			entry.entered.iter_mut().for_each(|rows| rows.truncate(slot));
			entry.tokens.push(*token);
		}
	}

	/// Notes that rows with these hashes, which `by` has told, go into a span for a text in these pages, from position `first` on. `false` if other rows
	/// went into it there before; those stay noted.
	pub(super) fn enter(&mut self, span: usize, pages: &[u64], first: usize, hashes: &[H256], by: &Tellers) -> bool {
		let row = |position: usize| Some((*pages.get(position / PAGE_TOKENS)?, position % PAGE_TOKENS));
		let known = |position: usize| {
			let (page, slot) = row(position)?;
			self.0.get(&page)?.entered.get(span)?.get(slot)?.as_ref()
		};
		let differs = |(position, hash): (usize, &H256)| known(position).is_some_and(|row| row.hash != *hash);
		if (first..).zip(hashes).any(differs) {
			return false;
		}
		for (position, hash) in (first..).zip(hashes) {
			let Some((page, slot)) = row(position) else { break };
			let Some(entry) = self.0.get_mut(&page) else { continue };
			if entry.entered.len() <= span {
				entry.entered.resize_with(span + 1, Vec::new);
			}
			let rows = &mut entry.entered[span];
			if rows.len() <= slot {
				rows.resize(slot + 1, None);
			}
			match &mut rows[slot] {
				Some(row) if by.iter().all(|teller| row.by.contains(teller)) => {}
				Some(row) => row.by = row.by.iter().chain(by.iter()).copied().collect::<BTreeSet<_>>().into_iter().collect(),
				empty => *empty = Some(Row { hash: *hash, by: by.clone() }),
			}
		}
		true
	}

	/// Returns the members that have told rows of the text up to and including page `last`, of those that went into a span, which are not the ones with
	/// these hashes.
	pub(super) fn wrong(&self, span: usize, last: u64, hashes: &[H256]) -> BTreeSet<usize> {
		let (pages, _) = self.text(last).unwrap_or_default();
		let rows = |page: &u64| self.0.get(page).and_then(|entry| entry.entered.get(span)).map(Vec::as_slice).unwrap_or_default();
		let of_pages = pages.iter().map(rows).zip(hashes.chunks(PAGE_TOKENS));
		let noted = of_pages.flat_map(|(rows, hashes)| rows.iter().zip(hashes)).filter_map(|(row, hash)| Some((row.as_ref()?, hash)));
		noted.filter(|(row, hash)| row.hash != **hash).flat_map(|(row, _)| row.by.iter().copied()).collect()
	}

	/// Forgets what went into the span with this number and all later ones.
	pub(super) fn forget_entered(&mut self, span: usize) {
		self.0.values_mut().for_each(|entry| entry.entered.truncate(span));
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

	#[test]
	fn what_went_into_a_span_is_compared_with_what_went_into_it_before_until_the_text_goes_another_way() {
		let mut history = History::default();
		let (pages, hash) = ([7, 9], |value: u8| H256::repeat_byte(value));
		let by = |members: &[usize]| -> Tellers { members.into() };
		let tokens: Vec<u32> = (0..66).collect();
		history.note(&pages, 0, &tokens);
		let right: Vec<H256> = (0..66).map(hash).collect();
		assert!(history.enter(1, &pages, 0, &right[..64], &by(&[0])) && history.enter(1, &pages, 64, &[hash(64), hash(99)], &by(&[2])));
		// The same again by others; something else by anybody; nothing is known of other spans.
		assert!(history.enter(1, &pages, 60, &right[60..65], &by(&[1])));
		assert!(!history.enter(1, &pages, 10, &[hash(10), hash(12)], &by(&[1])));
		assert!(history.enter(2, &pages, 10, &[hash(12)], &by(&[5])));
		assert_eq!(history.wrong(1, 9, &right), BTreeSet::from([2]));
		assert_eq!(history.wrong(2, 9, &right), BTreeSet::from([5]));
		let mut other = right.clone();
		other[63] = hash(1);
		assert_eq!(history.wrong(1, 7, &other[..64]), BTreeSet::from([0, 1]));
		assert_eq!(history.wrong(3, 9, &right), BTreeSet::new());
		// The draft at position 65 was wrong.
		history.note(&pages, 65, &[3]);
		assert_eq!(history.wrong(1, 9, &right), BTreeSet::new());
		assert!(history.enter(1, &pages, 65, &[hash(98)], &by(&[1])));
		assert_eq!(history.wrong(1, 9, &right), BTreeSet::from([1]));
		history.forget_entered(1);
		assert_eq!((history.wrong(1, 9, &right), history.wrong(2, 9, &right)), Default::default());
		assert!(history.enter(1, &pages, 65, &[hash(65)], &by(&[1])));
	}
}
