//! Configurations that several tests use.
#![allow(dead_code, reason = "every test binary compiles this module and uses a part of it")]

pub mod text;

use neuroshard_graph::{
	exec::Exec, Aggregator, Code, Compressed, ModelConfig, ParamKind, ParamLayout, Robust, Rule, TopK, TrainConfig, F32,
};

/// Two layers, grouped-query attention, tied head: 47,520 parameters.
pub fn tiny_model() -> ModelConfig {
	ModelConfig { dim: 64, layers: 2, heads: 4, ffn: 96, max_seq: 64, ..ModelConfig::tiny() }
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

/// Inner steps behind so many deltas, where they count: 2, 7, 12 and so on.
pub fn steps_behind(aggregator: Aggregator, count: usize) -> Vec<u32> {
	(0..count as u32).map(|delta| 2 + 5 * delta).filter(|_| aggregator.weighs_steps()).collect()
}

/// Codes of all kinds.
pub fn every_code() -> Vec<Code> {
	let top = |numbers, cosine| Code::TopK(TopK { numbers, decay: F32::new(0.9), cosine });
	vec![Code::Int8, top(8, false), top(4, true), top(64, false), top(32, true)]
}

/// A code, and the mean of what arrives.
pub fn sent_as(code: Code) -> TrainConfig {
	let robust = Robust { clip: F32::new(0.0), rule: Rule::Mean };
	TrainConfig { aggregator: Aggregator::Compressed(Compressed { code, robust }), ..tiny_train() }
}

/// What is sent of a delta.
pub fn sent(train: &TrainConfig, layout: &ParamLayout, delta: &[f32]) -> Vec<f32> {
	let mut delta = delta.to_vec();
	match train.code() {
		Some(code) => code.encode_vector(&Exec::new(1).unwrap(), &layout.tiling(), &mut delta).unwrap(),
		None => delta,
	}
}

/// Every code with every rule that it goes with.
pub fn every_compressed() -> Vec<Aggregator> {
	let pairs = every_code().into_iter().flat_map(|code| every_rule().into_iter().map(move |robust| Compressed { code, robust }));
	let aggregators = pairs.map(Aggregator::Compressed);
	aggregators.filter(|&aggregator| TrainConfig { aggregator, ..tiny_train() }.validate(&tiny_model()).is_ok()).collect()
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
