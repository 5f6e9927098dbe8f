//! Configurations that several tests use.
#![allow(dead_code)] // each test binary uses some of these

use neuroshard_graph::{Aggregator, ModelConfig, TrainConfig, F32};

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
