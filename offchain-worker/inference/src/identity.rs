//! Identity of a model, besides its parameters.

use super::parameters::Shape;
use codec::Encode;
use neuroshard_compute::exec::RopeScaling;
use neuroshard_graph::{merkle::blake2_256, Hash, ModelConfig};

impl Shape {
	/// Hash of what is computed with parameters. How long texts may be is no part of it: that changes no answer, but where one is cut.
	pub fn hash(&self) -> Hash {
		let mut bytes = ModelConfig { max_seq: 0, ..self.config.clone() }.encode();
		match self.scaling {
			RopeScaling::None => bytes.push(0),
			RopeScaling::Linear { factor } => (1u8, factor.to_bits()).encode_to(&mut bytes),
			RopeScaling::Llama3 { factor, low, high, original } => {
				(2u8, factor.to_bits(), low.to_bits(), high.to_bits(), original).encode_to(&mut bytes);
			}
		}
		blake2_256(&bytes)
	}

	/// Identity of the model of this shape with parameters of this hash.
	pub fn of(&self, parameters: Hash) -> Hash {
		blake2_256(&[&b"neuroshard/model/1"[..], &parameters, &self.hash()].concat())
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::Card;
	use neuroshard_data::tokenizer::Tokenizer;
	use neuroshard_graph::F32;
	use neuroshard_training::{checkpoint::Checkpoint, export::export, presets};

	#[test]
	fn whatever_changes_an_answer_changes_the_identity_of_a_model_and_its_longest_text_does_not() {
		let config = presets::tiny().0;
		let plain = Shape { config: config.clone(), scaling: RopeScaling::None };
		let with = |config| Shape { config, scaling: RopeScaling::None };
		let scaled = |scaling| Shape { config: config.clone(), scaling };
		let all = [
			plain.clone(),
			with(ModelConfig { rope_theta: 500_000, ..config.clone() }),
			with(ModelConfig { norm_eps: F32::new(1e-6), ..config.clone() }),
			with(ModelConfig { heads: config.heads / 2, ..config.clone() }),
			with(ModelConfig { tied: !config.tied, ..config.clone() }),
			scaled(RopeScaling::Linear { factor: 2.0 }),
			scaled(RopeScaling::Linear { factor: 4.0 }),
			scaled(RopeScaling::Llama3 { factor: 2.0, low: 1.0, high: 4.0, original: 64 }),
			scaled(RopeScaling::Llama3 { factor: 2.0, low: 1.0, high: 4.0, original: 128 }),
		];
		for (index, one) in all.iter().enumerate() {
			for other in &all[..index] {
				assert_ne!((one.hash(), one.of([7; 32])), (other.hash(), other.of([7; 32])), "{one:?} {other:?}");
			}
		}
		assert_ne!(plain.of([7; 32]), plain.of([8; 32]));
		assert_eq!(with(ModelConfig { max_seq: 64, ..config.clone() }).hash(), plain.hash());
	}

	#[test]
	fn folders_with_the_same_parameters_and_another_configuration_are_other_models() {
		let (config, train) = presets::tiny();
		let params = Checkpoint::genesis(0, &config, &train, 1).unwrap().params;
		let card = |rope_theta| {
			let folder = tempfile::tempdir().unwrap();
			export(folder.path(), &ModelConfig { rope_theta, ..config.clone() }, &Tokenizer::bytes(), &params).unwrap();
			let (card, shape, _) = Card::of_folder(folder.path(), 1).unwrap();
			assert_eq!(shape.config.rope_theta, rope_theta);
			(card.root, card.shape)
		};
		let (one, other) = (card(10_000), card(500_000));
		assert_eq!(one, card(10_000));
		assert!(one.0 != other.0 && one.1 != other.1);
	}
}
