//! Sampling text from a checkpoint, one token at a time with a cache of keys and values.

use crate::data::tokenizer;
use neuroshard_graph::{
	exec::{DecodeError, Decoder, Exec, SetupError},
	ModelConfig,
};
use rand::{rngs::StdRng, Rng, SeedableRng};
use std::sync::Arc;

/// How text is sampled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampling {
	/// Most tokens to generate. The model's `max_seq` bounds prompt and generated text together.
	pub max_tokens: u32,
	/// 0 always takes the likeliest token; 1 samples from the model's own distribution; lower is more careful.
	pub temperature: f32,
	/// Seed of the random choices: the same seed gives the same text.
	pub seed: u64,
}

impl Default for Sampling {
	fn default() -> Self {
		Self { max_tokens: 200, temperature: 0.7, seed: 0 }
	}
}

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
	/// The model is refused.
	#[error(transparent)]
	Setup(#[from] SetupError),
	/// The prompt does not fit, or the parameters are another model's.
	#[error(transparent)]
	Decode(#[from] DecodeError),
	/// A temperature that is none.
	#[error("the temperature must be a number from 0 to 10, not {0}")]
	Temperature(f32),
	/// The model was not trained with the byte-level tokenizer.
	#[error("the model's vocabulary has {0} tokens, the byte-level tokenizer {vocab}", vocab = tokenizer::VOCAB)]
	Vocabulary(u32),
}

/// Text that continues `prompt`, without the prompt itself. It ends at the end-of-text token, after `max_tokens`, or when
/// the model's longest sequence is full. Bytes that are not UTF-8 appear as U+FFFD.
///
/// # Errors
/// [`GenerateError`].
pub fn generate(exec: Arc<Exec>, model: &ModelConfig, params: &[f32], prompt: &str, sampling: &Sampling) -> Result<String, GenerateError> {
	if !(0.0..=10.0).contains(&sampling.temperature) {
		return Err(GenerateError::Temperature(sampling.temperature));
	}
	if model.vocab != tokenizer::VOCAB {
		return Err(GenerateError::Vocabulary(model.vocab));
	}
	let capacity = model.max_seq as usize;
	let mut decoder = Decoder::new(exec, model, capacity)?;
	let mut random = StdRng::seed_from_u64(sampling.seed);
	let mut next: Vec<u16> = std::iter::once(tokenizer::END_OF_TEXT).chain(tokenizer::encode(prompt.as_bytes())).collect();
	let mut text = Vec::new();
	for _ in 0..sampling.max_tokens {
		if !text.is_empty() && decoder.len() == capacity {
			break;
		}
		let token = choose(decoder.extend(params, &next)?, sampling.temperature, &mut random);
		if token == tokenizer::END_OF_TEXT {
			break;
		}
		text.push(token);
		next = vec![token];
	}
	Ok(tokenizer::decode(text.into_iter().map(u32::from)))
}

/// A token drawn from `softmax(logits / temperature)`, reserved tokens left out.
fn choose(logits: &[f32], temperature: f32, random: &mut StdRng) -> u16 {
	let usable = &logits[..logits.len().min(usize::from(tokenizer::END_OF_TEXT) + 1)];
	let best = (0u16..).zip(usable).max_by(|(_, a), (_, b)| a.total_cmp(b));
	let Some((best, max)) = best.filter(|_| temperature > 0.0) else {
		return best.map_or(tokenizer::END_OF_TEXT, |(token, _)| token);
	};
	let weight = |logit: &f32| f64::from((logit - max) / temperature).exp();
	let total: f64 = usable.iter().map(weight).sum();
	let mut left = random.gen::<f64>() * total;
	for (token, logit) in (0u16..).zip(usable) {
		left -= weight(logit);
		if left < 0.0 {
			return token;
		}
	}
	best
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn sampling_follows_the_distribution() {
		// Weights 1 : 2 : 1.
		let mut logits = vec![f32::NEG_INFINITY; 288];
		(logits[65], logits[66], logits[67]) = (0.0, 2f32.ln(), 0.0);
		let mut random = StdRng::seed_from_u64(1);
		let drawn: Vec<u16> = (0..4000).map(|_| choose(&logits, 1.0, &mut random)).collect();
		let share = |token| drawn.iter().filter(|other| **other == token).count() as f64 / 4000.0;
		assert!((share(66) - 0.5).abs() < 0.04 && (share(65) - 0.25).abs() < 0.04, "{} {}", share(65), share(66));
		assert!(drawn.iter().all(|token| (65..=67).contains(token)));
	}

	#[test]
	fn temperature_zero_takes_the_likeliest_and_reserved_tokens_are_never_taken() {
		let mut logits = vec![0.0; 288];
		logits[97] = 1.0;
		logits[287] = 100.0;
		let mut random = StdRng::seed_from_u64(1);
		assert_eq!(choose(&logits, 0.0, &mut random), 97);
		assert!((0..1000).all(|_| choose(&logits, 5.0, &mut random) <= 256));
	}
}
