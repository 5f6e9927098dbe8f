//! Tokenizers of datasets: text to tokens.
//!
//! - [`bytes`]: the one that is used where none is named. [`file`]: any `tokenizer.json`; `short`: how most become tokens. [`train`]: one made from text.

pub mod bytes;
mod end;
pub mod file;
mod short;
#[cfg(test)]
mod tests;
pub mod train;

use neuroshard_graph::tiles::content_id;
use neuroshard_types::{
	dataset::{TextTokens, Tokenizer as TokenizerId, MAX_TOKENIZER_BYTES, MAX_VOCAB},
	H256,
};
use short::Short;
use std::{io::Read, path::Path, sync::OnceLock};
use tokenizers::Tokenizer as Library;

/// Why a tokenizer cannot be used, or a text has no tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
	/// The file is no JSON of the kind that it must be.
	#[error("the tokenizer is not understood: {0}")]
	Json(String),
	/// The numbers of its tokens contradict each other.
	#[error("the numbers of the tokenizer's tokens contradict each other: {0}")]
	Ids(String),
	/// The library refuses it.
	#[error("the tokenizer is refused: {0}")]
	Tokenizer(tokenizers::Error),
	/// The file cannot be read.
	#[error("{0}")]
	Io(std::io::Error),
	/// The file is larger than the chain lets it be.
	#[error("a tokenizer has up to {MAX_TOKENIZER_BYTES} bytes, and this file is larger")]
	TooLarge,
	/// More tokens than a model may have.
	#[error("it has {tokens} tokens, and a model up to {MAX_VOCAB}: train a smaller one with `neuroshard-worker tokenizer train`")]
	Vocabulary {
		/// Tokens, numbers that none has included.
		tokens: u64,
	},
	/// A number below the highest one that no token has: a model could choose it.
	#[error("no token has number {hole}, although there are higher ones: number the tokens without holes")]
	Hole {
		/// The first such number.
		hole: u32,
	},
	/// Nothing says which token ends a document.
	#[error("nothing says which token ends a document: name one of its special tokens with --end-token, such as {example:?}")]
	NoEnd {
		/// One of its special tokens, or none.
		example: String,
	},
	/// The token that is to end documents is not there.
	#[error("{named:?} is to end documents, and is no token: name one of its special tokens with --end-token")]
	UnknownEnd {
		/// How it is written.
		named: String,
	},
	/// The library cannot read the text.
	#[error("the tokenizer cannot read a text that begins with {beginning:?}: {source}")]
	Encode {
		/// Its first characters.
		beginning: String,
		/// Why.
		source: tokenizers::Error,
	},
	/// A text that cannot be told from a special token.
	#[error(
		"the tokenizer makes its special token {token} of the text {named:?}, which is text here: take --special-tokens if it is meant"
	)]
	Special {
		/// Number of the token.
		token: u32,
		/// How it is written.
		named: String,
	},
}

/// What makes tokens.
enum Reader {
	/// Each byte is one.
	Bytes,
	/// A tokenizer of the library, which takes the special tokens in a text as text unless it was told otherwise.
	Library(Box<Plain>),
}

/// A tokenizer of the library.
struct Plain {
	library: Library,
	/// How it is read where that is faster. Made for the first text: most workers that check a tokenizer read none with it.
	short: OnceLock<Option<Short>>,
	/// Tokens before every text, and behind it.
	around: [Vec<u32>; 2],
	/// Special tokens by number, and how they are written, but for that of unknown words: no text is made into them.
	specials: Vec<(u32, String)>,
}

/// A tokenizer as a dataset has it.
pub struct Tokenizer {
	json: Vec<u8>,
	tokens: TextTokens,
	vocab: u32,
	special: bool,
	reader: Reader,
}

impl Tokenizer {
	/// Returns the byte-level tokenizer.
	pub fn bytes() -> Self {
		Self {
			json: bytes::tokenizer_json().into_bytes(),
			tokens: TextTokens::BYTES,
			vocab: bytes::VOCAB,
			special: false,
			reader: Reader::Bytes,
		}
	}

	/// Reads the `tokenizer.json` at `path`. Documents end with the token that is written as `end`; without it, with the one that the files beside it
	/// name, or the one that is usual. With `special`, special tokens that a text names are meant.
	///
	/// # Errors
	/// [`TokenizerError`], all but the last two.
	pub fn open(path: &Path, end: Option<&str>, special: bool) -> Result<Self, TokenizerError> {
		let mut json = Vec::new();
		let most = u64::from(MAX_TOKENIZER_BYTES);
		let file = std::fs::File::open(path).map_err(TokenizerError::Io)?;
		file.take(most.saturating_add(1)).read_to_end(&mut json).map_err(TokenizerError::Io)?;
		if json.len() as u64 > most {
			return Err(TokenizerError::TooLarge);
		}
		if json == bytes::tokenizer_json().as_bytes() {
			return Ok(Self::bytes());
		}
		let library = file::read(&json)?;
		let end = end::of(&library, path, end)?;
		Self::new(json, library, end, special)
	}

	/// The tokenizer in `json` as a manifest has stated it.
	///
	/// # Errors
	/// [`TokenizerError`], all but the last two.
	pub fn stated(json: Vec<u8>, tokens: TextTokens) -> Result<Self, TokenizerError> {
		Self::stated_with(json, tokens, false)
	}

	/// As [`Self::stated`]; with `special`, special tokens that a text names are meant.
	///
	/// # Errors
	/// [`TokenizerError`], all but the last two.
	pub(crate) fn stated_with(json: Vec<u8>, tokens: TextTokens, special: bool) -> Result<Self, TokenizerError> {
		if json == bytes::tokenizer_json().as_bytes() {
			return Ok(Self::bytes());
		}
		let library = file::read(&json)?;
		Self::new(json, library, tokens.end, special)
	}

	fn new(json: Vec<u8>, mut library: Library, end: u32, special: bool) -> Result<Self, TokenizerError> {
		let usable = without_holes(&library)?;
		let encode = |text: &str, special| library.encode_fast(text, special).map(|tokens| tokens.get_ids().to_vec());
		let alone = encode("a", false).unwrap_or_default();
		let around = around(&alone, &encode("a", true).map_err(TokenizerError::Tokenizer)?);
		let unknown = unknown(&library, &json);
		let added = library.get_added_tokens_decoder().into_iter();
		let mut specials: Vec<(u32, String)> =
			added.filter(|(id, token)| !special && token.special && Some(*id) != unknown).map(|(id, token)| (id, token.content)).collect();
		specials.sort_unstable();
		library.set_encode_special_tokens(!special);
		let reader = Reader::Library(Box::new(Plain { library, short: OnceLock::new(), around, specials }));
		Ok(Self { json, tokens: TextTokens { usable, end }, vocab: usable.next_multiple_of(32), special, reader })
	}

	/// Its file.
	pub fn json(&self) -> &[u8] {
		&self.json
	}

	/// What texts are made of.
	pub fn tokens(&self) -> TextTokens {
		self.tokens
	}

	/// Rows of the embedding of a model that reads it, a multiple of 32.
	pub fn vocab(&self) -> u32 {
		self.vocab
	}

	/// Returns whether special tokens that a text names are meant.
	pub(crate) fn takes_special_tokens(&self) -> bool {
		self.special
	}

	/// Returns whether it is the byte-level one.
	pub fn is_bytes(&self) -> bool {
		matches!(self.reader, Reader::Bytes)
	}

	/// Returns the token that it puts before every text, if it is one.
	pub fn begin(&self) -> Option<u32> {
		match &self.reader {
			Reader::Bytes => None,
			Reader::Library(plain) => plain.around.first().and_then(|before| before.first().filter(|_| before.len() == 1).copied()),
		}
	}

	/// Returns the tokens that it puts before every text, and behind it.
	pub fn around(&self) -> [&[u32]; 2] {
		match &self.reader {
			Reader::Bytes => [&[], &[]],
			Reader::Library(plain) => plain.around.each_ref().map(Vec::as_slice),
		}
	}

	/// Returns a special token as its file writes it.
	pub fn written(&self, token: u32) -> Option<String> {
		match &self.reader {
			Reader::Bytes => (token == bytes::END_OF_TEXT).then(|| bytes::END_OF_TEXT_TEXT.to_owned()),
			Reader::Library(plain) => plain.library.id_to_token(token),
		}
	}

	/// What a manifest says of it.
	pub fn id(&self) -> TokenizerId {
		// No longer than it may be.
		let bytes = u32::try_from(self.json.len()).unwrap_or(u32::MAX);
		TokenizerId { root: H256(content_id(&self.json, 1)), bytes, tokens: self.tokens }
	}

	/// Returns the bytes of the text that these tokens stand for.
	///
	/// # Errors
	/// [`TokenizerError::Tokenizer`].
	pub(crate) fn text_bytes(&self, tokens: &[u32]) -> Result<usize, TokenizerError> {
		match &self.reader {
			Reader::Bytes => Ok(tokens.iter().filter(|token| **token < bytes::END_OF_TEXT).count()),
			Reader::Library(plain) => Ok(plain.library.decode(tokens, false).map_err(TokenizerError::Tokenizer)?.len()),
		}
	}

	/// Appends the tokens of a document and the one that ends it. What the tokenizer puts before every text is there, too, unless that is what ends the
	/// document before.
	///
	/// # Errors
	/// [`TokenizerError::Encode`], [`TokenizerError::Special`].
	pub fn encode(&self, document: &str, tokens: &mut Vec<u32>) -> Result<(), TokenizerError> {
		match &self.reader {
			Reader::Bytes => tokens.extend(bytes::encode(document.as_bytes())),
			Reader::Library(plain) => {
				let [before, behind] = &plain.around;
				if before[..] != [self.tokens.end] {
					tokens.extend(before);
				}
				let make = || neuroshard_support::json_file::parse(&self.json).ok().and_then(|file| Short::of(&file, self.special));
				plain.encode(plain.short.get_or_init(make).as_ref(), document, tokens)?;
				tokens.extend(behind);
			}
		}
		if tokens.last() != Some(&self.tokens.end) {
			tokens.push(self.tokens.end);
		}
		Ok(())
	}
}

impl Plain {
	/// Appends the tokens of `text`, none of which is a special one.
	fn encode(&self, short: Option<&Short>, text: &str, tokens: &mut Vec<u32>) -> Result<(), TokenizerError> {
		let start = tokens.len();
		self.read(short, text, tokens)?;
		// Most tokens are below the first of them.
		let first = self.specials.first().map_or(u32::MAX, |(id, _)| *id);
		let special =
			|token: &u32| self.specials.binary_search_by_key(token, |(id, _)| *id).ok().and_then(|place| self.specials.get(place));
		let is_special = |tokens: &[u32]| tokens.iter().filter(|token| **token >= first).find_map(special);
		if is_special(&tokens[start..]).is_none() {
			return Ok(());
		}
		// Some tokenizers have them among their words, too. They do not where the words are read in two parts.
		tokens.truncate(start);
		let mut rest = text;
		while let Some(cut) = self.first_within(rest) {
			let (piece, behind) = rest.split_at(cut);
			self.read(short, piece, tokens)?;
			rest = behind;
		}
		self.read(short, rest, tokens)?;
		match is_special(&tokens[start..]) {
			Some((token, named)) => Err(TokenizerError::Special { token: *token, named: named.clone() }),
			None => Ok(()),
		}
	}

	/// Returns the place behind the first character of the first special token that `text` names.
	fn first_within(&self, text: &str) -> Option<usize> {
		let places = self.specials.iter().filter_map(|(_, named)| {
			let place = text.find(named.as_str())?;
			Some(place.saturating_add(named.chars().next()?.len_utf8()))
		});
		places.min().filter(|place| *place < text.len())
	}

	fn read(&self, short: Option<&Short>, text: &str, tokens: &mut Vec<u32>) -> Result<(), TokenizerError> {
		let failed = |source| TokenizerError::Encode { beginning: text.chars().take(20).collect(), source };
		if let Some(short) = short {
			if short.encode(&self.library, text, tokens).map_err(failed)? {
				return Ok(());
			}
		}
		tokens.extend(self.library.encode_fast(text, false).map_err(failed)?.get_ids());
		Ok(())
	}
}

/// Returns one more than the highest number of a token.
fn without_holes(library: &Library) -> Result<u32, TokenizerError> {
	let mut ids: Vec<u32> = library.get_vocab(true).into_values().collect();
	ids.sort_unstable();
	ids.dedup();
	let tokens = ids.last().map_or(0, |last| u64::from(*last).saturating_add(1));
	if tokens > u64::from(MAX_VOCAB) || tokens == 0 {
		return Err(TokenizerError::Vocabulary { tokens });
	}
	match (0u32..).zip(&ids).find(|(number, id)| number != *id) {
		Some((hole, _)) => Err(TokenizerError::Hole { hole }),
		None => Ok(u32::try_from(ids.len()).unwrap_or(u32::MAX)),
	}
}

/// Returns the token that stands for unknown words.
fn unknown(library: &Library, json: &[u8]) -> Option<u32> {
	use tokenizers::ModelWrapper::{Unigram, WordLevel, WordPiece, BPE};
	#[derive(serde::Deserialize)]
	struct File {
		model: Model,
	}
	#[derive(serde::Deserialize)]
	struct Model {
		unk_id: Option<u32>,
	}
	match library.get_model() {
		BPE(model) => library.token_to_id(model.unk_token.as_deref()?),
		WordPiece(model) => library.token_to_id(&model.unk_token),
		WordLevel(model) => library.token_to_id(&model.unk_token),
		// The library tells nobody.
		Unigram(_) => serde_json::from_slice::<File>(json).ok()?.model.unk_id,
	}
}

/// Returns the tokens before `alone`, and those behind it, in `all`.
pub fn around(alone: &[u32], all: &[u32]) -> [Vec<u32>; 2] {
	let place = all.windows(alone.len().max(1)).position(|window| window == alone);
	let (before, rest) = all.split_at(place.unwrap_or(all.len()));
	[before.to_vec(), rest.get(alone.len()..).unwrap_or_default().to_vec()]
}
