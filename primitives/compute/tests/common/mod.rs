//! What several tests begin with.
#![allow(dead_code, reason = "every test binary compiles this module and uses a part of it")]

#[path = "../../../graph/tests/common/mod.rs"]
pub mod small;
pub mod text;

use neuroshard_compute::exec::{encode_vector, Exec};
use neuroshard_graph::{
	Adapter, Aggregator, Code, Compressed, Hash, ParamKind, ParamLayout, Projection, Projections, Robust, Rule, TopK, TrainConfig, F32,
};
pub use small::{every_rule, tiny_model, tiny_train};

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
		Some(code) => encode_vector(code, &Exec::new(1).unwrap(), &layout.tiling(), &mut delta).unwrap(),
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

/// An adapter beside a base of this root.
pub fn adapter(base: Hash, rank: u32, projections: Projections) -> Adapter {
	Adapter { base, rank, alpha: F32::new(12.0), projections }
}

/// Ranks and projections: less than a tile, a whole one, more than one, and one of a single row.
pub fn adapters() -> [(u32, Projections); 4] {
	use Projection::{Down, Gate, Q, V};
	[(8, Projections::ALL), (32, [Q, V].into_iter().collect()), (40, [Down].into_iter().collect()), (1, [Gate, V].into_iter().collect())]
}

/// Random tokens of a batch.
pub fn random_tokens(count: usize, vocab: u32, seed: u64) -> Vec<u32> {
	let mut random = Lcg(seed);
	(0..count).map(|_| random.next() % vocab).collect()
}
