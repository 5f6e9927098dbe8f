//! Text to tokens and back, by a Hugging Face tokenizer.

use super::controls::{Controls, Piece};
use codec::Encode;
use neuroshard_data::tokenizer::{around, bytes::is_reserved, file, TokenizerError};
use neuroshard_graph::merkle::{blake2_256, Hash};
use std::{borrow::Cow, collections::BTreeSet, sync::Arc};
use tokenizers::{AddedToken, Tokenizer};

/// Shown for bytes that are no text, or not yet.
const UNKNOWN: char = char::REPLACEMENT_CHARACTER;
/// Last tokens of a prompt that the first ones behind it are read with.
const CONTEXT: usize = 6;
/// Tokens of the largest vocabulary.
const MOST_TOKENS: usize = 1 << 20;

/// Why text has no tokens, or tokens no text.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
	/// The tokenizer's file.
	#[error(transparent)]
	File(#[from] TokenizerError),
	/// The library.
	#[error("the tokenizer is refused: {0}")]
	Tokenizer(tokenizers::Error),
	/// The text.
	#[error("the tokenizer cannot read this text: {0}")]
	Encode(tokenizers::Error),
	/// Text that cannot be told from a control token.
	#[error("the tokenizer makes a control token, {0}, of this text: it can only be sent as tokens")]
	Control(u32),
	/// The tokens.
	#[error("the tokenizer cannot write these tokens: {0}")]
	Decode(tokenizers::Error),
}

/// A tokenizer, and the tokens that begin and end texts.
#[derive(Debug)]
pub struct Text {
	/// Hash of the tokenizer's file.
	file: Hash,
	/// Reads what a chat's template writes: control tokens in it are meant.
	tokenizer: Arc<Tokenizer>,
	/// Reads what users write: it knows no control tokens.
	plain: Tokenizer,
	controls: Controls,
	/// Tokens before every prompt, and behind it.
	around: [Vec<u32>; 2],
	ends: BTreeSet<u32>,
	/// For each number, whether there is a token of it.
	known: Vec<bool>,
	/// A token whose text stands before that of a token by itself: some tokenizers write the first one of a text in another way.
	before: Vec<u32>,
	/// Bytes of the longest token.
	widest: usize,
}

impl Text {
	/// The tokenizer in `json`, a `tokenizer.json`, for texts that end with one of `ends`. Prompts begin with `begin`; without it, with what the
	/// tokenizer puts before them.
	///
	/// # Errors
	/// [`TextError::File`], [`TextError::Tokenizer`].
	pub fn new(json: &[u8], begin: Option<u32>, ends: BTreeSet<u32>) -> Result<Self, TextError> {
		let tokenizer = file::read(json)?;
		let encode = |text: &str, special| tokenizer.encode_fast(text, special).map(|tokens| tokens.get_ids().to_vec());
		let before = encode("a", false).unwrap_or_default();
		let around = match begin {
			Some(begin) => [vec![begin], Vec::new()],
			None => around(&before, &encode("a", true).map_err(TextError::Tokenizer)?),
		};
		let vocab = tokenizer.get_vocab(true);
		let widest = vocab.keys().map(String::len).max().unwrap_or(1);
		let mut known = Vec::new();
		// Those that this project reserves are never chosen: no text has them.
		for id in vocab.iter().filter(|(text, id)| !is_reserved(**id, text)).filter_map(|(_, id)| usize::try_from(*id).ok()) {
			if id < MOST_TOKENS {
				known.resize(known.len().max(id.saturating_add(1)), false);
				known[id] = true;
			}
		}
		let tokenizer = Arc::new(tokenizer);
		let controls = Controls::new(tokenizer.clone(), "");
		let plain = plain(&tokenizer, &controls)?;
		Ok(Self { file: blake2_256(json), tokenizer, plain, controls, around, ends, known, before, widest })
	}

	/// As it is, but the added tokens that `template`, the words of a chat's template, names are control tokens as well.
	///
	/// # Errors
	/// [`TextError::Tokenizer`].
	pub fn with_template(self, template: &str) -> Result<Self, TextError> {
		let controls = Controls::new(self.tokenizer.clone(), template);
		Ok(Self { plain: plain(&self.tokenizer, &controls)?, controls, ..self })
	}

	/// Has texts end with the token that is written like this as well, if there is one.
	pub fn end_at(&mut self, token: &str) {
		self.ends.extend(self.tokenizer.token_to_id(token));
	}

	/// A hash of what makes tokens of a text, and of those that end one.
	pub fn hash(&self) -> Hash {
		blake2_256(&(self.file, &self.around, &self.ends).encode())
	}

	/// Its control tokens.
	pub fn controls(&self) -> &Controls {
		&self.controls
	}

	/// Tokens below this number may be chosen, but for its [holes](Self::holes).
	pub fn usable(&self) -> usize {
		self.known.len()
	}

	/// Numbers below [`Self::usable`] that no token has: they are never chosen.
	pub fn holes(&self) -> impl Iterator<Item = usize> + '_ {
		self.known.iter().enumerate().filter_map(|(id, known)| (!known).then_some(id))
	}

	/// Returns whether a text ends at this token.
	pub fn is_end(&self, token: u32) -> bool {
		self.ends.contains(&token)
	}

	/// The tokens of a prompt. With `marked`, a chat's template has written it, and control tokens are those that the template names. Without, it is
	/// text, whatever it looks like, and the tokenizer adds what it adds to every text.
	///
	/// # Errors
	/// [`TextError::Encode`], [`TextError::Control`].
	pub fn prompt(&self, text: &str, marked: bool) -> Result<Vec<u32>, TextError> {
		if !marked {
			let [before, behind] = &self.around;
			return Ok([&before[..], &self.plain_tokens(text, true)?, behind].concat());
		}
		self.marked(text, true)
	}

	/// The tokens of what a chat's template has written, the `first` part of it or one behind others.
	///
	/// # Errors
	/// As [`Self::prompt`].
	pub(super) fn marked(&self, text: &str, first: bool) -> Result<Vec<u32>, TextError> {
		let mut tokens = Vec::new();
		for piece in self.controls.pieces(text) {
			let first = first && tokens.is_empty();
			tokens.extend(match piece {
				Piece::Template(words) => encode(&self.tokenizer, words, first)?,
				Piece::Text(words) => self.plain_tokens(&words, first)?,
			});
		}
		Ok(tokens)
	}

	/// As [`Self::prompt`] of a text, without what the tokenizer puts behind every text.
	///
	/// # Errors
	/// [`TextError::Encode`], [`TextError::Control`].
	pub fn begun(&self, text: &str) -> Result<Vec<u32>, TextError> {
		let [before, _] = &self.around;
		Ok([&before[..], &self.plain_tokens(text, true)?].concat())
	}

	/// The tokens of what a user wrote, none of which is a control token.
	fn plain_tokens(&self, text: &str, first: bool) -> Result<Vec<u32>, TextError> {
		let tokens = encode(&self.plain, text, first)?;
		if !tokens.iter().any(|id| self.controls.has(*id)) {
			return Ok(tokens);
		}
		// Some tokenizers find them among their words, too. They do not where the words are read in two parts.
		let (mut tokens, mut told) = (Vec::new(), 0);
		let within =
			|(start, _)| text.get(start..).and_then(|rest| rest.chars().next()).map(|first| start.saturating_add(first.len_utf8()));
		for cut in self.controls.find(text).into_iter().filter_map(within).chain([text.len()]) {
			tokens.extend(encode(&self.plain, text.get(told..cut).unwrap_or_default(), first && told == 0)?);
			told = cut;
		}
		match tokens.iter().find(|id| self.controls.has(**id)) {
			Some(id) => Err(TextError::Control(*id)),
			None => Ok(tokens),
		}
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

	/// Returns the text of a token behind another one: nothing for special tokens.
	pub(super) fn written(&self, token: u32) -> String {
		self.behind(token, true)
	}

	fn behind(&self, token: u32, without_special: bool) -> String {
		let decode = |tokens: &[u32]| self.tokenizer.decode(tokens, without_special).unwrap_or_default();
		let (before, all) = (decode(&self.before), decode(&[&self.before[..], &[token]].concat()));
		all.strip_prefix(&before).map_or_else(|| decode(&[token]), str::to_owned)
	}

	/// Returns the token as the tokenizer's file writes it.
	pub(super) fn piece(&self, token: u32) -> Option<String> {
		self.tokenizer.id_to_token(token)
	}
}

/// The same tokenizer, which knows no control tokens.
fn plain(tokenizer: &Tokenizer, controls: &Controls) -> Result<Tokenizer, TextError> {
	let mut plain = tokenizer.clone();
	let added = tokenizer.get_added_tokens_decoder().into_iter().filter(|(id, _)| controls.has(*id));
	let special = added.map(|(_, token)| AddedToken { special: true, ..token });
	plain.add_special_tokens(special).map_err(TextError::Tokenizer)?;
	plain.set_encode_special_tokens(true);
	Ok(plain)
}

/// The tokens of a text that is the `first` part of a prompt, or one behind others: some tokenizers put a blank before the first word.
fn encode(tokenizer: &Tokenizer, text: &str, first: bool) -> Result<Vec<u32>, TextError> {
	let encode = |text: Cow<'_, str>| tokenizer.encode_fast(text, false).map_err(TextError::Encode);
	if !first {
		let (line_end, all) = (encode("\n".into())?, encode(format!("\n{text}").into())?);
		if let Some(tokens) = all.get_ids().strip_prefix(line_end.get_ids()) {
			return Ok(tokens.to_vec());
		}
	}
	Ok(encode(text.into())?.get_ids().to_vec())
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

	/// Returns the rest at the end: bytes that did not become a character.
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
	use neuroshard_data::tokenizer::bytes::{encode as encode_shard, tokenizer_json, END_OF_TEXT};

	fn bytes() -> Text {
		let end = END_OF_TEXT;
		Text::new(tokenizer_json().as_bytes(), Some(end), BTreeSet::from([end])).unwrap()
	}

	/// As Llama 2's: bytes where words are lacking, a blank before the first word, and special tokens that are words as well.
	fn words() -> Text {
		let pieces = ["<unk>", "<s>", "</s>", "\u{2581}", "\u{2581}a", "a", "b", "<", ">", "/", "s"].map(str::to_owned);
		let pieces: Vec<String> = pieces.into_iter().chain((0..=255).map(|byte| format!("<0x{byte:02X}>"))).collect();
		let special = |id: usize| serde_json::json!({ "id": id, "content": pieces[id], "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true });
		let blank = serde_json::json!({ "type": "Replace", "pattern": { "String": " " }, "content": "\u{2581}" });
		let text = |id: &str| serde_json::json!({ "Sequence": { "id": id, "type_id": 0 } });
		let begin = serde_json::json!({ "SpecialToken": { "id": "<s>", "type_id": 0 } });
		let file = serde_json::json!({
			"version": "1.0",
			"added_tokens": [special(0), special(1), special(2)],
			"normalizer": { "type": "Sequence", "normalizers": [{ "type": "Prepend", "prepend": "\u{2581}" }, blank] },
			"post_processor": {
				"type": "TemplateProcessing", "single": [begin, text("A")], "pair": [text("A"), text("B")],
				"special_tokens": { "<s>": { "id": "<s>", "ids": [1], "tokens": ["<s>"] } },
			},
			"model": { "type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": pieces.iter().map(|piece| (piece, if piece.len() > 5 { 0.0 } else { -1.0 })).collect::<Vec<_>>() },
		});
		Text::new(file.to_string().as_bytes(), None, BTreeSet::from([2])).unwrap()
	}

	#[test]
	fn what_users_write_is_text_in_prompts_as_in_shards() {
		let prompt = "a<|endoftext|>b";
		let shard: Vec<u32> = encode_shard(prompt.as_bytes()).collect();
		assert_eq!(bytes().prompt(prompt, false).unwrap(), [&[256], &shard[..]].concat());
		assert_eq!(shard.len(), 15);
		let a = words().prompt("a</s>b", false).unwrap();
		// Blank and a, then the four letters, and b.
		assert_eq!(a, [1, 4, 7, 9, 10, 8, 6]);
	}

	#[test]
	fn what_users_write_is_text_in_chats_and_what_templates_write_is_not() {
		let text = words();
		let marked = text.controls().mark("a</s><s>b");
		let tokens = text.prompt(&format!("<s>{marked}</s>"), true).unwrap();
		assert_eq!((tokens.first(), tokens.last()), (Some(&1), Some(&2)));
		assert!(!tokens[1..tokens.len() - 1].iter().any(|id| text.controls.has(*id)), "{tokens:?}");
		assert_eq!(text.tokenizer.decode(&tokens, true).unwrap().replace(['\u{2581}', ' '], ""), "a</s><s>b");
		let text = bytes();
		let marked = text.controls().mark("x<|endoftext|>y");
		let plain: Vec<u32> = encode_shard(b"x<|endoftext|>y").collect();
		assert_eq!(text.prompt(&format!("<|endoftext|>{marked}<|endoftext|>"), true).unwrap(), [&[256], &plain[..], &[256]].concat());
	}

	#[test]
	fn added_tokens_that_a_template_names_are_control_tokens_though_they_are_not_special() {
		let mut file: serde_json::Value = serde_json::from_str(&tokenizer_json()).unwrap();
		file["added_tokens"][1]["special"] = false.into();
		let text = Text::new(file.to_string().as_bytes(), None, BTreeSet::new()).unwrap();
		assert_eq!(text.prompt("<|reserved_1|>", false).unwrap(), [257]);
		let text = text.with_template("<|reserved_1|>\0'x'").unwrap();
		assert_eq!(text.prompt("<|reserved_1|>", false).unwrap().len(), 14);
		assert_eq!(text.prompt("<|reserved_1|>", true).unwrap(), [257]);
		assert_eq!(text.prompt(&text.controls().mark("<|reserved_1|>"), true).unwrap().len(), 14);
	}

	#[test]
	fn every_token_that_the_tokenizer_knows_may_be_chosen_and_no_other() {
		let mut file: serde_json::Value = serde_json::from_str(&tokenizer_json()).unwrap();
		let vocab = file["model"]["vocab"].as_object_mut().unwrap();
		vocab.retain(|text, _| !text.starts_with("<|"));
		vocab.insert("<|im_end|>".into(), 300.into());
		let token = |id: u32, text: &str| serde_json::json!({ "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true });
		file["added_tokens"] = serde_json::json!([token(302, "<|more|>"), token(300, "<|im_end|>")]);
		let text = Text::new(file.to_string().as_bytes(), None, BTreeSet::new()).unwrap();
		let holes: Vec<usize> = (256..300).chain([301]).collect();
		assert_eq!((text.usable(), text.holes().collect::<Vec<_>>()), (303, holes));
		assert_eq!((text.token(300).as_str(), text.token(302).as_str()), ("<|im_end|>", "<|more|>"));
		assert_eq!(text.prompt("<|im_end|><|more|>", true).unwrap(), [300, 302]);
		assert_eq!((bytes().usable(), bytes().holes().count()), (257, 0));
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
