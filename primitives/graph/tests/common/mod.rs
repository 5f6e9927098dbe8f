//! Configurations that several tests use.
#![allow(dead_code)] // each test binary uses some of these

use neuroshard_graph::{Aggregator, ModelConfig, ParamKind, ParamLayout, TrainConfig, F32};

/// Two layers, grouped-query attention, tied head: 47,520 parameters.
pub fn tiny_model() -> ModelConfig {
	ModelConfig {
		vocab: 64,
		dim: 64,
		layers: 2,
		heads: 4,
		kv_heads: 2,
		ffn: 96,
		max_seq: 64,
		tied: true,
		rope_theta: 10_000,
		norm_eps: F32::new(1e-5),
	}
}

/// Two sequences of 32 tokens per step.
pub fn tiny_train() -> TrainConfig {
	TrainConfig {
		arithmetic_version: 1,
		seed: [7; 32],
		batch: 2,
		seq_len: 32,
		inner_steps: 6,
		commit_interval: 2,
		lr: F32::new(3e-3),
		lr_min: F32::new(3e-4),
		warmup_steps: 4,
		total_steps: 0,
		beta1: F32::new(0.9),
		beta2: F32::new(0.99),
		eps: F32::new(1e-8),
		weight_decay: F32::new(0.1),
		clip: F32::new(1.0),
		outer_lr: F32::new(0.7),
		outer_beta: F32::new(0.9),
		aggregator: Aggregator::Mean,
		validation_sequences: 4,
	}
}

/// Reproducible numbers that have nothing to do with the crate's own generator.
pub struct Lcg(pub u64);

impl Lcg {
	pub fn next(&mut self) -> u32 {
		self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
		(self.0 >> 33) as u32
	}

	/// Uniform in [-1, 1).
	pub fn unit(&mut self) -> f32 {
		self.next() as f32 / (1u32 << 30) as f32 - 1.0
	}
}

/// Parameters large enough for every gradient to matter.
pub fn lively_theta(layout: &ParamLayout, seed: u64) -> Vec<f32> {
	let mut random = Lcg(seed);
	let mut theta = vec![0.0; layout.len()];
	for tensor in layout.tensors() {
		for value in &mut theta[tensor.range()] {
			*value = if tensor.kind == ParamKind::Norm { 1.0 + 0.3 * random.unit() } else { 0.25 * random.unit() };
		}
	}
	theta
}

/// Random tokens of a batch.
pub fn random_tokens(count: usize, vocab: u32, seed: u64) -> Vec<u16> {
	let mut random = Lcg(seed);
	(0..count).map(|_| u16::try_from(random.next() % vocab).unwrap()).collect()
}
