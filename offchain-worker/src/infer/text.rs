//! Text to tokens and back, by a Hugging Face tokenizer.

use std::{collections::BTreeSet, path::Path};
use tokenizers::Tokenizer;

/// Shown for bytes that are no text, or not yet.
const UNKNOWN: char = char::REPLACEMENT_CHARACTER;
/// Last tokens of a prompt that the first ones behind it are read with.
const CONTEXT: usize = 6;

/// Why text has no tokens, or tokens no text.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
	/// The tokenizer's file.
	#[error("the tokenizer is refused: {0}")]
	Tokenizer(tokenizers::Error),
	/// The text.
	#[error("the tokenizer cannot read this text: {0}")]
	Encode(tokenizers::Error),
	/// The tokens.
	#[error("the tokenizer cannot write these tokens: {0}")]
	Decode(tokenizers::Error),
}

/// A tokenizer, and the tokens that begin and end texts.
#[derive(Debug)]
pub struct Text {
	tokenizer: Tokenizer,
	/// Put before a text whose tokens do not begin with it.
	begin: Option<u32>,
	ends: BTreeSet<u32>,
	usable: usize,
	/// A token whose text stands before that of a token by itself: some tokenizers write the first one of a text in another way.
	before: Vec<u32>,
	/// Bytes of the longest token.
	widest: usize,
}

impl Text {
	/// The tokenizer in `json`, a `tokenizer.json`, for texts that begin with `begin` and end with one of `ends`.
	///
	/// # Errors
	/// [`TextError::Tokenizer`].
	pub fn new(json: &str, begin: Option<u32>, ends: BTreeSet<u32>) -> Result<Self, TextError> {
		Ok(Self::of(json.parse().map_err(TextError::Tokenizer)?, begin, ends))
	}

	/// As [`Self::new`], from a file.
	///
	/// # Errors
	/// [`TextError::Tokenizer`].
	pub fn read(path: &Path, begin: Option<u32>, ends: BTreeSet<u32>) -> Result<Self, TextError> {
		Ok(Self::of(Tokenizer::from_file(path).map_err(TextError::Tokenizer)?, begin, ends))
	}

	fn of(mut tokenizer: Tokenizer, begin: Option<u32>, ends: BTreeSet<u32>) -> Self {
		// Prompts are neither cut nor filled up.
		tokenizer.with_padding(None);
		// Taking it away cannot fail.
		let _ = tokenizer.with_truncation(None);
		let before = tokenizer.encode_fast("a", false).map(|tokens| tokens.get_ids().to_vec()).unwrap_or_default();
		let widest = tokenizer.get_vocab(true).keys().map(String::len).max().unwrap_or(1);
		// Reserved tokens at the vocabulary's end are never chosen: no text has them.
		let reserved = |id: u32| tokenizer.id_to_token(id).is_none_or(|token| token.starts_with("<|reserved"));
		let mut usable = tokenizer.get_vocab_size(true);
		while let Some(last) = usable.checked_sub(1).filter(|last| u32::try_from(*last).is_ok_and(reserved)) {
			usable = last;
		}
		Self { tokenizer, begin, ends, usable, before, widest }
	}

	/// Tokens below this number may be chosen.
	pub fn usable(&self) -> usize {
		self.usable
	}

	/// Whether a text ends at this token.
	pub fn is_end(&self, token: u32) -> bool {
		self.ends.contains(&token)
	}

	/// The tokens of a prompt. With `marked`, special tokens are those that the text itself names, as a chat template does; without, they are those that
	/// the tokenizer adds to every text.
	///
	/// # Errors
	/// [`TextError::Encode`].
	pub fn prompt(&self, text: &str, marked: bool) -> Result<Vec<u32>, TextError> {
		let mut tokens = self.tokenizer.encode_fast(text, !marked).map_err(TextError::Encode)?.get_ids().to_vec();
		if let Some(begin) = self.begin.filter(|begin| tokens.first() != Some(begin)) {
			tokens.insert(0, begin);
		}
		Ok(tokens)
	}

	/// The text of tokens, special ones left out.
	///
	/// # Errors
	/// [`TextError::Decode`].
	pub fn decode(&self, tokens: &[u32]) -> Result<String, TextError> {
		self.tokenizer.decode(tokens, true).map_err(TextError::Decode)
	}

	/// Bytes that a text of so many tokens can have: a longer one has more tokens.
	pub fn most_bytes(&self, tokens: usize) -> usize {
		tokens.saturating_mul(self.widest)
	}

	/// The text of one token by itself, special ones included.
	pub fn token(&self, token: u32) -> String {
		self.behind(token, false)
	}

	/// What of a token is in a text, behind another one: nothing of special ones.
	pub(super) fn written(&self, token: u32) -> String {
		self.behind(token, true)
	}

	fn behind(&self, token: u32, without_special: bool) -> String {
		let decode = |tokens: &[u32]| self.tokenizer.decode(tokens, without_special).unwrap_or_default();
		let (before, all) = (decode(&self.before), decode(&[&self.before[..], &[token]].concat()));
		all.strip_prefix(&before).map_or_else(|| decode(&[token]), str::to_owned)
	}

	/// How the tokenizer's file writes a token.
	pub(super) fn piece(&self, token: u32) -> Option<String> {
		self.tokenizer.id_to_token(token)
	}
}

/// Text that grows by tokens. Each of its characters is told once, when it is complete.
#[derive(Default, Debug)]
pub struct Growing {
	tokens: Vec<u32>,
	/// From this token on, text is made anew: what a token writes can depend on the one before.
	from: usize,
	/// Tokens up to here are told.
	told: usize,
}

impl Growing {
	/// Text that goes on behind a prompt of these tokens.
	pub fn after(prompt: &[u32]) -> Self {
		let tokens = prompt.get(prompt.len().saturating_sub(CONTEXT)..).unwrap_or_default().to_vec();
		Self { from: 0, told: tokens.len(), tokens }
	}

	/// Adds a token, and returns the text that is complete by it.
	///
	/// # Errors
	/// [`TextError::Decode`].
	pub fn push(&mut self, text: &Text, token: u32) -> Result<String, TextError> {
		self.tokens.push(token);
		let new = self.untold(text)?;
		if new.is_empty() || new.ends_with(UNKNOWN) {
			return Ok(String::new());
		}
		(self.from, self.told) = (self.told, self.tokens.len());
		Ok(new)
	}

	/// What is left at the end: bytes that did not become a character.
	///
	/// # Errors
	/// [`TextError::Decode`].
	pub fn finish(self, text: &Text) -> Result<String, TextError> {
		self.untold(text)
	}

	fn untold(&self, text: &Text) -> Result<String, TextError> {
		let before = text.decode(self.tokens.get(self.from..self.told).unwrap_or_default())?;
		let mut all = text.decode(self.tokens.get(self.from..).unwrap_or_default())?;
		match all.starts_with(&before) {
			true => Ok(all.split_off(before.len())),
			// What was told reads otherwise now, because bytes behind it are no character: it stays as it was told.
			false => text.decode(self.tokens.get(self.told..).unwrap_or_default()),
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::data::tokenizer::{tokenizer_json, END_OF_TEXT};

	fn bytes() -> Text {
		let end = u32::from(END_OF_TEXT);
		Text::new(&tokenizer_json(), Some(end), BTreeSet::from([end])).unwrap()
	}

	#[test]
	fn a_prompt_begins_once_and_reserved_tokens_are_not_usable() {
		let text = bytes();
		assert_eq!(text.prompt("hi", false).unwrap(), [256, 104, 105]);
		assert_eq!(text.prompt("<|endoftext|>hi", true).unwrap(), [256, 104, 105]);
		assert_eq!((text.usable(), text.is_end(256), text.is_end(255)), (257, true, false));
		assert_eq!(text.decode(&[256, 104, 105]).unwrap(), "hi");
	}

	#[test]
	fn characters_are_told_when_they_are_complete_and_broken_ones_at_the_end() {
		let text = bytes();
		let mut growing = Growing::default();
		let told: Vec<String> = "aß世".bytes().map(|byte| growing.push(&text, byte.into()).unwrap()).collect();
		assert_eq!(told, ["a", "", "ß", "", "", "世"]);
		assert_eq!(growing.push(&text, 0xe4).unwrap(), "");
		assert_eq!(growing.finish(&text).unwrap(), "\u{fffd}");
	}
}
