//! A small model, how it is trained, and what each of its workers learns from, for examples that compare losses.

use crate::text::{Random, Text};
use neuroshard_graph::{ModelConfig, TrainConfig, F32};

/// A model of 104,768 parameters.
pub fn model() -> ModelConfig {
	ModelConfig { vocab: 288, dim: 64, layers: 2, heads: 2, kv_heads: 1, ffn: 160, max_seq: 64, ..ModelConfig::tiny() }
}

/// So many rounds of so many inner steps of 128 tokens.
pub fn train(rounds: u32, inner_steps: u32) -> TrainConfig {
	TrainConfig {
		batch: 2,
		seq_len: 64,
		inner_steps,
		commit_interval: inner_steps,
		lr: F32::new(3e-3),
		lr_min: F32::new(3e-4),
		warmup_steps: 20,
		total_steps: rounds * inner_steps,
		validation_sequences: 512,
		..TrainConfig::tiny()
	}
}

/// Tokens of the batch of an inner step of a worker: the same for every method that is compared.
pub fn batch(text: &Text, train: &TrainConfig, seed: u8, step: u32, worker: u64) -> Vec<u32> {
	let mut random = Random(u64::from(seed) << 56 | u64::from(step) << 16 | worker);
	// Seeds are neighbours: their first numbers are, too.
	for _ in 0..8 {
		random.next();
	}
	text.batch(train, &mut random)
}
