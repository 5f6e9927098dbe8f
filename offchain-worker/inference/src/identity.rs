//! Identity of a model, besides its parameters.

use codec::Encode;
use neuroshard_graph::{merkle::blake2_256, Adapter, Hash, ModelConfig};

/// Hash of what is computed with parameters. How long texts may be is no part of it: that changes no answer, but where one is cut.
pub fn of_shape(model: &ModelConfig) -> Hash {
	blake2_256(&ModelConfig { max_seq: 0, ..model.clone() }.encode())
}

/// Identity of the model of this configuration with parameters of this hash.
pub fn of_model(model: &ModelConfig, parameters: Hash) -> Hash {
	blake2_256(&[&b"neuroshard/model/1"[..], &parameters, &of_shape(model)].concat())
}

/// Identity of the model `root` with an adapter beside it, by its parameters.
pub fn beside(root: Hash, adapter: &Adapter, params: &[f32]) -> Hash {
	let params = params.iter().flat_map(|value| value.to_le_bytes());
	let before = [&b"neuroshard/adapter/1"[..], &root, &adapter.encode()].concat();
	blake2_256(&before.into_iter().chain(params).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::Card;
	use neuroshard_data::tokenizer::Tokenizer;
	use neuroshard_graph::{Family, RopeScaling, F32};
	use neuroshard_training::{checkpoint::Checkpoint, export::export, presets};

	#[test]
	fn whatever_changes_an_answer_changes_the_identity_of_a_model_and_its_longest_text_does_not() {
		let config = presets::tiny().0;
		let with = |change: &dyn Fn(&mut ModelConfig)| {
			let mut config = config.clone();
			change(&mut config);
			config
		};
		let scaled = |scaling| with(&|config| config.rope_scaling = scaling);
		let linear = |factor| scaled(RopeScaling::Linear { factor: F32::new(factor) });
		let llama3 = |original| {
			let [factor, low, high] = [2.0, 1.0, 4.0].map(F32::new);
			scaled(RopeScaling::Llama3 { factor, low, high, original })
		};
		let all = [
			config.clone(),
			with(&|config| config.rope_theta = 500_000),
			with(&|config| config.norm_eps = F32::new(1e-6)),
			with(&|config| config.heads /= 2),
			with(&|config| config.tied = !config.tied),
			with(&|config| config.family = Family::Qwen2),
			with(&|config| config.family = Family::Qwen3),
			with(&|config| config.head_dim = Some(64)),
			linear(2.0),
			linear(4.0),
			llama3(64),
			llama3(128),
		];
		for (index, one) in all.iter().enumerate() {
			for other in &all[..index] {
				assert_ne!((of_shape(one), of_model(one, [7; 32])), (of_shape(other), of_model(other, [7; 32])), "{one:?} {other:?}");
			}
		}
		assert_ne!(of_model(&config, [7; 32]), of_model(&config, [8; 32]));
		assert_eq!(of_shape(&with(&|config| config.max_seq = 64)), of_shape(&config));
	}

	#[test]
	fn folders_with_the_same_parameters_and_another_configuration_are_other_models() {
		let (config, train) = presets::tiny();
		let params = Checkpoint::genesis(0, &config, &train, 1).unwrap().params;
		let card = |rope_theta| {
			let folder = tempfile::tempdir().unwrap();
			export(folder.path(), &ModelConfig { rope_theta, ..config.clone() }, &Tokenizer::bytes(), &params).unwrap();
			let (card, config, _) = Card::of_folder(folder.path(), 1).unwrap();
			assert_eq!(config.rope_theta, rope_theta);
			(card.root, card.shape)
		};
		let (one, other) = (card(10_000), card(500_000));
		assert_eq!(one, card(10_000));
		assert!(one.0 != other.0 && one.1 != other.1);
	}
}
