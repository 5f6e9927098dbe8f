//! Model and training configurations that networks on one machine use.

use neuroshard_data::tokenizer::bytes;
use neuroshard_graph::{config::ARITHMETIC_VERSION, Aggregator, ModelConfig, Optimizer, Products, Robust, Rule, TrainConfig, F32};

/// The configuration of a local network: three workers on two shared cores finish a round in about a minute, and four
/// rounds show that the model learns.
pub fn devnet() -> (ModelConfig, TrainConfig) {
	let model =
		ModelConfig { vocab: bytes::VOCAB, dim: 192, layers: 4, heads: 6, kv_heads: 2, ffn: 512, max_seq: 256, ..ModelConfig::tiny() };
	let train = TrainConfig {
		batch: 24,
		seq_len: 128,
		inner_steps: 60,
		commit_interval: 5,
		lr: F32::new(3e-3),
		lr_min: F32::new(3e-4),
		warmup_steps: 16,
		validation_sequences: 64,
		masked: false,
		adapter: None,
		// Costs little in a run of a few rounds, and learns more in a long one (docs/benchmarks.md, "The outer step").
		outer_lr: F32::new(0.7),
		outer_beta: F32::new(0.5),
		// Bears one liar of five and two of seven or more; with fewer, it is the mean.
		aggregator: Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::MixedKrum { liars: 2 } }),
		..tiny().1
	};
	(model, train)
}

/// A configuration of 13.8 million parameters with a round of a few inner steps: for disputes about a model of some size.
pub fn large() -> (ModelConfig, TrainConfig) {
	let model = ModelConfig { dim: 384, layers: 8, heads: 6, kv_heads: 6, ffn: 960, tied: false, ..devnet().0 };
	let train = TrainConfig { batch: 8, seq_len: 256, inner_steps: 8, commit_interval: 4, ..tiny().1 };
	(model, train)
}

/// The configuration of end-to-end tests: three workers on two shared cores finish a round in a few seconds, long enough
/// for something to happen in the middle of it.
pub fn tiny() -> (ModelConfig, TrainConfig) {
	let model =
		ModelConfig { vocab: bytes::VOCAB, dim: 64, layers: 2, heads: 4, kv_heads: 2, ffn: 160, max_seq: 128, ..ModelConfig::tiny() };
	let train = TrainConfig {
		arithmetic_version: ARITHMETIC_VERSION,
		seed: [42; 32],
		batch: 16,
		seq_len: 64,
		inner_steps: 120,
		commit_interval: 10,
		lr: F32::new(5e-3),
		lr_min: F32::new(5e-4),
		warmup_steps: 4,
		total_steps: 0,
		beta1: F32::new(0.9),
		beta2: F32::new(0.95),
		eps: F32::new(1e-8),
		weight_decay: F32::new(0.1),
		clip: F32::new(1.0),
		outer_lr: F32::new(1.0),
		outer_beta: F32::new(0.0),
		aggregator: Aggregator::Mean,
		validation_sequences: 32,
		masked: false,
		adapter: None,
		products: Products::F32,
		optimizer: Optimizer::AdamW,
	};
	(model, train)
}

#[cfg(test)]
mod tests {
	use super::{Optimizer, TrainConfig, F32};

	#[test]
	fn a_devnet_steps_with_momentum_and_bears_liars_where_there_are_enough_participants() {
		let train = super::devnet().1;
		assert_eq!((train.outer_lr.get(), train.outer_beta.get()), (0.7, 0.5));
		assert_eq!([3, 4, 5, 6, 7, 8].map(|participants| train.aggregator.liars(participants)), [0, 0, 1, 1, 2, 2]);
	}

	#[test]
	fn presets_are_accepted() {
		for (model, train) in [super::devnet(), super::large(), super::tiny()] {
			assert_eq!(train.validate(&model), Ok(()));
			let muon = TrainConfig { optimizer: Optimizer::Muon { momentum: F32::new(0.95) }, ..train };
			assert_eq!(muon.validate(&model), Ok(()));
			assert_eq!(model.vocab, 288, "what comes out can be used");
		}
		// Embedding and head; in each of 8 layers four matrices of attention, three of SwiGLU and two norms; one more at the end.
		let parameters = 2 * 288 * 384 + 8 * (4 * 384 * 384 + 3 * 384 * 960 + 2 * 384) + 384;
		assert_eq!((parameters, super::large().0.parameters()), (13_793_664, 13_793_664));
	}
}
