//! Answers of a model: what a receipt says about one, and the choice of each of its tokens.
//!
//! A choice depends on a row of logits, and that on the tokens before it only. So a whole answer is computed anew by reading prompt and
//! answer in one pass ([`crate::plan::Plan::reading`]): choice `index` is made from the row of the token before it.

use crate::{
	class::Class,
	merkle::{blake2_256, Hash},
	sampler::{sample, Counts, Sampling},
};
use alloc::vec::Vec;
use codec::{Compact, Encode};

/// Most tokens of a prompt and its answer together: a witness carries all of them, 64 KiB, beside the tiles that it opens.
pub const MAX_TEXT: u32 = 16_384;
/// Rows of a tile: a plan reads a multiple of it.
const TILE: u32 = 32;
/// What is hashed before a list of tokens.
const DOMAIN: &[u8] = b"neuroshard/tokens/1";

/// Tokens, told by their number and their root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenList {
	/// How many.
	pub count: u32,
	/// Blake2-256 of a domain and the SCALE-encoded list, as in receipts.
	pub root: Hash,
}

impl TokenList {
	/// Of these tokens.
	pub fn of(tokens: &[u32]) -> Self {
		let count = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
		Self { count, root: root(count, &bytes_of(tokens)) }
	}

	/// Bytes of the tokens.
	pub(crate) fn len(&self) -> Option<usize> {
		usize::try_from(self.count).ok()?.checked_mul(size_of::<u32>())
	}

	/// The tokens in `bytes`, if they are these.
	pub(crate) fn read(&self, bytes: &[u8]) -> Option<Vec<u32>> {
		let tokens = bytes.as_chunks::<4>().0.iter().map(|&token| u32::from_le_bytes(token));
		(self.len() == Some(bytes.len()) && root(self.count, bytes) == self.root).then(|| tokens.collect())
	}
}

/// Tokens as they are hashed: four bytes each, lowest byte first.
pub fn bytes_of(tokens: &[u32]) -> Vec<u8> {
	tokens.iter().flat_map(|token| token.to_le_bytes()).collect()
}

/// Hash of `count` tokens.
fn root(count: u32, bytes: &[u8]) -> Hash {
	blake2_256(&[DOMAIN, &Compact(count).encode(), bytes].concat())
}

/// What is claimed about an answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Answer<'a> {
	/// What was asked.
	pub prompt: TokenList,
	/// What was answered.
	pub answer: TokenList,
	/// Whether the next token would have been one that ends texts. Otherwise nothing is said about it.
	pub ended: bool,
	/// How tokens were chosen. No game is opened about settings out of range, but the formulas give one token for each.
	pub sampling: Sampling,
	/// Tokens below this one were chosen from.
	pub usable: u32,
	/// Tokens that end texts.
	pub ends: &'a [u32],
	/// The arithmetic of the logits that tokens were chosen by.
	pub class: Class,
}

impl Answer<'_> {
	/// Choices that are claimed: each token of the answer and, if the text ended, the end.
	pub fn choices(&self) -> u32 {
		self.answer.count.saturating_add(u32::from(self.ended))
	}

	/// Tokens that are read: all that come before the last choice. `None` without a prompt or a choice, and for a text of more than
	/// [`MAX_TEXT`] tokens.
	pub fn read(&self) -> Option<u32> {
		let last = self.choices().checked_sub(1)?;
		let text = self.prompt.count.checked_add(self.answer.count)?;
		(self.prompt.count > 0 && text <= MAX_TEXT).then(|| self.prompt.count.checked_add(last)).flatten()
	}

	/// Rows of the plan that reads them: a multiple of 32, at the end of which token 0 stands for what is missing. No row sees a later one, so
	/// those that count do not depend on it.
	pub fn rows(&self) -> Option<u32> {
		self.read()?.checked_next_multiple_of(TILE)
	}

	/// Row of the logits that choice `index` is made from; `None` if it is not claimed.
	pub fn row(&self, index: u32) -> Option<u32> {
		let before = self.prompt.count.checked_sub(1).filter(|_| index < self.choices())?;
		before.checked_add(index)
	}

	/// Whether choice `index` is the one that `logits` lead to behind the text so far. `text` is all of the prompt and all of the answer.
	pub fn is_chosen(&self, index: u32, logits: &[f32], [prompt, answer]: [&[u32]; 2]) -> bool {
		let Ok(place) = usize::try_from(index) else { return false };
		let mut counts = Counts::default();
		counts.prompt(prompt);
		answer.iter().take(place).for_each(|&token| counts.generated(token));
		self.gives(index, logits, &counts, answer.get(place).copied())
	}

	/// Whether `logits` lead to `told` as choice `index` (`None` for the end), behind a text with these counts.
	pub fn gives(&self, index: u32, logits: &[f32], counts: &Counts, told: Option<u32>) -> bool {
		let Some(position) = self.prompt.count.checked_add(index) else { return false };
		// No row of logits is that long where it does not fit.
		let usable = usize::try_from(self.usable).unwrap_or(usize::MAX);
		let own = sample(logits, usable, counts, &self.sampling, position);
		told.map_or_else(|| self.ended && self.ends.contains(&own), |told| told == own)
	}

	/// The token of each row of the plan.
	pub fn tokens(&self, [prompt, answer]: [&[u32]; 2]) -> Option<Vec<u32>> {
		let (read, rows) = (usize::try_from(self.read()?).ok()?, usize::try_from(self.rows()?).ok()?);
		let text = prompt.iter().chain(answer).take(read).copied();
		Some(text.chain(core::iter::repeat(0)).take(rows).collect())
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn claim(prompt: &[u32], answer: &[u32], ended: bool) -> Answer<'static> {
		let (prompt, answer) = (TokenList::of(prompt), TokenList::of(answer));
		Answer { prompt, answer, ended, sampling: Sampling::default(), usable: 288, ends: &[256], class: Class::default() }
	}

	#[test]
	fn a_list_is_hashed_as_in_receipts() {
		for tokens in [&[][..], &[7], &[1, 70_000, u32::MAX], &[5; 100], &[9; 20_000]] {
			let list = TokenList::of(tokens);
			assert_eq!(list.root, blake2_256(&(b"neuroshard/tokens/1", tokens).encode()));
			assert_eq!(list.read(&bytes_of(tokens)).as_deref(), Some(tokens));
			assert_eq!(list.read(&bytes_of(&[tokens, &[0]].concat())), None);
			assert_eq!(TokenList { root: [0; 32], ..list }.read(&bytes_of(tokens)), None);
		}
	}

	#[test]
	fn choices_are_made_from_the_rows_before_them_and_the_last_token_of_a_cut_answer_is_not_read() {
		let (cut, ended) = (claim(&[1; 30], &[2; 3], false), claim(&[1; 30], &[2; 3], true));
		assert_eq!((cut.choices(), cut.read(), cut.rows()), (3, Some(32), Some(32)));
		assert_eq!((ended.choices(), ended.read(), ended.rows()), (4, Some(33), Some(64)));
		assert_eq!((cut.row(0), cut.row(2), cut.row(3), ended.row(3)), (Some(29), Some(31), None, Some(32)));
		assert_eq!(claim(&[1; 30], &[], true).rows(), Some(32));
		assert_eq!(claim(&[1; 30], &[], false).rows(), None);
		assert_eq!(claim(&[], &[2], true).rows(), None);
		assert_eq!(claim(&[1; 16_000], &[2; 384], true).rows(), Some(16_384));
		assert_eq!(claim(&[1; 16_000], &[2; 385], false).rows(), None);
		assert_eq!(cut.tokens([&[1; 30], &[2; 3]]).map(|tokens| tokens[28..].to_vec()), Some(vec![1, 1, 2, 2]));
		assert_eq!(ended.tokens([&[1; 30], &[2, 70_000, 2]]).map(|tokens| tokens[30..35].to_vec()), Some(vec![2, 70_000, 2, 0, 0]));
	}

	#[test]
	fn a_choice_is_the_samplers_and_an_end_is_one_of_the_tokens_that_end_texts() {
		let (mut logits, text): (_, [&[u32]; 2]) = (vec![0.0; 288], [&[1, 2], &[3, 4]]);
		logits[4] = 100.0;
		let ended = claim(text[0], text[1], true);
		assert!(!ended.is_chosen(0, &logits, text) && ended.is_chosen(1, &logits, text) && !ended.is_chosen(2, &logits, text));
		logits[256] = 200.0;
		assert!(!ended.is_chosen(1, &logits, text) && ended.is_chosen(2, &logits, text));
		assert!(!Answer { usable: 256, ..ended }.is_chosen(2, &logits, text));
		assert!(!claim(text[0], text[1], false).is_chosen(2, &logits, text));
	}

	#[test]
	fn settings_out_of_range_give_a_token_like_any_others() {
		let odd = [f32::NAN, f32::INFINITY, -0.0, -1.0];
		for value in odd {
			for logits in [[f32::NAN; 32], [f32::INFINITY; 32], [1.0; 32], [0.0; 32]] {
				let sampling = Sampling {
					temperature: value,
					top_k: 3,
					top_p: value,
					min_p: value,
					repetition: value,
					presence: value,
					frequency: value,
					seed: 1,
				};
				for usable in [0, 32, u32::MAX] {
					let claim = Answer { sampling, usable, ..claim(&[1], &[2], true) };
					let chosen = (0..32).filter(|&told| claim.is_chosen(0, &logits, [&[1], &[told]])).count();
					assert_eq!(chosen, 1, "{value} {usable}");
				}
			}
		}
	}
}
