//! A tokenizer made from text: byte-level BPE.

use super::{bytes::END_OF_TEXT_TEXT, TokenizerError};
use neuroshard_types::dataset::MAX_VOCAB;
use tokenizers::{
	decoders::byte_level::ByteLevel as Decoder,
	models::bpe::{BpeTrainer, BPE},
	pre_tokenizers::byte_level::ByteLevel,
	processors::template::TemplateProcessing,
	AddedToken, TokenizerBuilder, TokenizerImpl,
};

/// Least vocabulary: the bytes, and the end of a document.
pub const LEAST_VOCAB: u32 = 257;

/// Trains a byte-level BPE of `vocab` tokens on `documents`, the last of them the end of a document, which also begins every text. Fewer tokens if the text
/// has no more pairs that are met twice. The file of it, a `tokenizer.json`: the same bytes for the same documents in any order.
///
/// # Errors
/// [`TokenizerError::Vocabulary`] if `vocab` is out of range, [`TokenizerError::Tokenizer`] if the library fails.
pub fn train<'a>(documents: impl Iterator<Item = &'a str> + Send, vocab: u32) -> Result<Vec<u8>, TokenizerError> {
	if !(LEAST_VOCAB..=MAX_VOCAB).contains(&vocab) {
		return Err(TokenizerError::Vocabulary { tokens: vocab.into() });
	}
	let failed = TokenizerError::Tokenizer;
	let size = usize::try_from(vocab.saturating_sub(1)).unwrap_or(usize::MAX);
	let mut trainer = BpeTrainer::builder()
		.vocab_size(size)
		.min_frequency(2)
		.show_progress(false)
		.initial_alphabet(ByteLevel::alphabet().into_iter().collect())
		.build();
	let mut tokenizer: TokenizerImpl<BPE, tokenizers::NormalizerWrapper, ByteLevel, TemplateProcessing, Decoder> =
		TokenizerBuilder::default()
			.with_model(BPE::default())
			.with_normalizer(None)
			.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)))
			.with_post_processor(None)
			.with_decoder(Some(Decoder::default()))
			.build()
			.map_err(failed)?;
	tokenizer.train(&mut trainer, documents).map_err(failed)?;
	tokenizer.add_special_tokens([AddedToken::from(END_OF_TEXT_TEXT, true)]).map_err(failed)?;
	let end = tokenizer.token_to_id(END_OF_TEXT_TEXT).unwrap_or_default();
	let processor = TemplateProcessing::builder()
		.try_single(format!("{END_OF_TEXT_TEXT} $A"))
		.and_then(|builder| builder.try_pair(format!("{END_OF_TEXT_TEXT} $A {END_OF_TEXT_TEXT}:1 $B:1")))
		.map_err(|words| failed(words.into()))?
		.special_tokens(vec![(END_OF_TEXT_TEXT, end)])
		.build()
		.map_err(|error| failed(error.into()))?;
	tokenizer.with_post_processor(Some(processor));
	tokenizer.to_string(true).map(String::into_bytes).map_err(failed)
}
