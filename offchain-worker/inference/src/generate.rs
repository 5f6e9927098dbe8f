//! Sampling one text from a model.

use super::{
	adapter::Adapted,
	text::{Growing, TextError},
	Model,
};
use neuroshard_compute::exec::{InferenceError, Piece, Sequence, Wanted, PAGE_TOKENS};
use neuroshard_graph::sampler::{sample, Counts, Sampling, SamplingError};

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
	/// The model is refused, or the prompt does not fit.
	#[error(transparent)]
	Inference(#[from] InferenceError),
	/// A setting.
	#[error(transparent)]
	Sampling(#[from] SamplingError),
	/// The tokenizer.
	#[error(transparent)]
	Text(#[from] TextError),
}

/// Text that continues `prompt`, without the prompt itself. It ends at an end-of-text token, after `most` tokens, or when the model's longest
/// sequence is full. Bytes that are not UTF-8 appear as U+FFFD. Where there is an `adapter`, that is beside the model.
///
/// # Errors
/// [`GenerateError`].
pub fn generate(
	model: &mut Model,
	adapter: Option<&Adapted>,
	prompt: &str,
	most: u32,
	sampling: &Sampling,
) -> Result<String, GenerateError> {
	sampling.validate()?;
	let usable = model.usable();
	let Model { engine, text, .. } = model;
	let longest = engine.longest();
	let pages = engine.pages(longest.div_ceil(PAGE_TOKENS));
	let mut sequence = Sequence::default().beside(adapter.map(|adapter| adapter.packed.clone()));
	let mut counts = Counts::default();
	let mut tokens = text.prompt(prompt, false)?;
	let first = tokens.len();
	counts.prompt(&tokens);
	for _ in 0..most {
		if tokens.len() > first && sequence.len() == longest {
			break;
		}
		let new = tokens.get(sequence.len()..).unwrap_or_default();
		let logits = engine.logits(&pages, &mut [Piece { sequence: &mut sequence, tokens: new, wanted: Wanted::Last }])?;
		let position = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
		let token = sample(logits, usable, &counts, sampling, position);
		if text.is_end(token) {
			break;
		}
		counts.generated(token);
		tokens.push(token);
	}
	let (prompt, answer) = tokens.split_at(first);
	let mut growing = Growing::after(prompt);
	let mut written = String::new();
	for token in answer {
		written += &growing.push(text, *token)?;
	}
	Ok(written + &growing.finish(text)?)
}
