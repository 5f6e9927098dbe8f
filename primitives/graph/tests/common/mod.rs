//! Configurations that several tests use.
#![allow(dead_code, reason = "every test binary compiles this module and uses a part of it")]

use neuroshard_graph::{Adapter, Family, ModelConfig, Optimizer, Projections, Robust, RopeScaling, Rule, TrainConfig, F32};

/// Two layers, grouped-query attention, tied head: 47,520 parameters.
pub fn tiny_model() -> ModelConfig {
	ModelConfig { dim: 64, layers: 2, heads: 4, ffn: 96, max_seq: 64, ..ModelConfig::tiny() }
}

/// A model with biases, and one with norms of heads, whose heads are not as wide together as the residual stream and turn by scaled angles.
pub fn other_families() -> [ModelConfig; 2] {
	let llama3 = RopeScaling::Llama3 { factor: F32::new(8.0), low: F32::new(1.0), high: F32::new(4.0), original: 32 };
	let linear = RopeScaling::Linear { factor: F32::new(2.5) };
	[
		ModelConfig { family: Family::Qwen2, head_dim: Some(48), rope_scaling: linear, ..tiny_model() },
		ModelConfig { family: Family::Qwen3, head_dim: Some(32), rope_scaling: llama3, tied: false, ..tiny_model() },
	]
}

/// Two sequences of 32 tokens per step.
pub fn tiny_train() -> TrainConfig {
	TrainConfig {
		seed: [7; 32],
		inner_steps: 6,
		lr: F32::new(3e-3),
		lr_min: F32::new(3e-4),
		warmup_steps: 4,
		beta2: F32::new(0.99),
		outer_lr: F32::new(0.7),
		outer_beta: F32::new(0.9),
		..TrainConfig::tiny()
	}
}

/// The same with Muon.
pub fn muon_train() -> TrainConfig {
	TrainConfig { optimizer: Optimizer::Muon { momentum: F32::new(0.95) }, ..tiny_train() }
}

/// An adapter of any base.
pub fn adapter(rank: u32, projections: Projections) -> Adapter {
	Adapter { base: [0; 32], rank, alpha: F32::new(1.0), projections }
}

/// Every rule that bears liars, with and without shortening what comes before it.
pub fn every_rule() -> Vec<Robust> {
	let (radius, floor) = (F32::new(1.0), F32::new(0.5));
	let rules = [
		Rule::Mean,
		Rule::Median,
		Rule::TrimmedMean { trim: 1 },
		Rule::Krum { liars: 1 },
		Rule::MultiKrum { liars: 2 },
		Rule::CentredClipping { liars: 1, radius, steps: 2 },
		Rule::GeometricMedian { liars: 2, floor, steps: 2 },
		Rule::WeightedMean { least_steps: 1 },
		Rule::MixedKrum { liars: 2 },
	];
	rules.into_iter().flat_map(|rule| [0.0, 1.0].map(|clip| Robust { clip: F32::new(clip), rule })).collect()
}
