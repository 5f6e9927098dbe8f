//! Work units: how much a piece of work counts, from what a run's configuration fixes and from nothing that anybody says about itself.

use crate::{ModelConfig, TrainConfig};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

/// Thousandths in a work unit.
pub const UNIT: u32 = 1_000;
/// Most that an operation may count, in thousandths.
pub const MAX_OPERATION: u32 = 1_000_000;

/// Weights of each kind of operation on one layer for one token, in thousandths of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct OperationUnits {
	/// Forward pass.
	pub forward: u32,
	/// Backward pass.
	pub backward: u32,
	/// Exchange of gradients, once a round, counted on the tokens of one inner step.
	pub sync: u32,
	/// Loss over held-out text.
	pub validation: u32,
	/// The next checkpoint, once a round, counted on the tokens of one inner step.
	pub checkpoint: u32,
}

impl Default for OperationUnits {
	/// 1.0, 1.5, 0.5, 2.0 and 0.3.
	fn default() -> Self {
		Self { forward: 1_000, backward: 1_500, sync: 500, validation: 2_000, checkpoint: 300 }
	}
}

impl OperationUnits {
	/// Returns whether no operation counts more than [`MAX_OPERATION`].
	pub fn is_valid(&self) -> bool {
		[self.forward, self.backward, self.sync, self.validation, self.checkpoint].iter().all(|units| *units <= MAX_OPERATION)
	}

	/// Units of one participant's round of `steps` inner steps, rounded down; saturates.
	///
	/// ```text
	/// layers x (tokens of the round x (forward + backward) + tokens of a step x (sync + checkpoint) + held-out tokens x validation)
	/// ```
	///
	/// With an adapter backward counts half: the model's weights have no gradients, which are as many operations as the gradients that go on to the
	/// layer before.
	pub fn of_round(&self, model: &ModelConfig, train: &TrainConfig, steps: u32) -> u128 {
		let times = |tokens: u128, units: [u32; 2]| {
			let [one, other] = units.map(u128::from);
			tokens.saturating_mul(one.saturating_add(other))
		};
		let held_out = u128::from(train.validation_sequences).saturating_mul(train.seq_len.into());
		let backward = if train.adapter.is_some() { self.backward / 2 } else { self.backward };
		let training = times(train.tokens_after(steps).into(), [self.forward, backward]);
		let exchange = times(train.tokens_per_step().into(), [self.sync, self.checkpoint]);
		let validation = times(held_out, [self.validation, 0]);
		let per_layer = training.saturating_add(exchange).saturating_add(validation);
		per_layer.saturating_mul(model.layers.into()).checked_div(UNIT.into()).unwrap_or_default()
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{Adapter, F32};
	use neuroshard_graph::Projections;

	fn train(batch: u32, seq_len: u32, inner_steps: u32, validation_sequences: u32) -> TrainConfig {
		TrainConfig { batch, seq_len, inner_steps, validation_sequences, ..TrainConfig::tiny() }
	}

	#[test]
	fn a_round_counts_what_an_independent_table_says() {
		// layers, batch, sequence, steps, held-out sequences: units by Python's integers.
		let table = [
			(1, 2, 32, 4, 4, 947),
			(4, 8, 128, 30, 16, 326_860),
			(12, 16, 1_024, 500, 64, 247_490_150),
			(128, 1, 32, 1, 1, 21_708),
			(0, 8, 128, 30, 16, 0),
		];
		for (layers, batch, seq_len, steps, held_out, units) in table {
			let model = ModelConfig { layers, ..ModelConfig::tiny() };
			let found = OperationUnits::default().of_round(&model, &train(batch, seq_len, steps, held_out), steps);
			assert_eq!(found, units, "{layers} layers of {batch} x {seq_len}, {steps} steps");
		}
	}

	#[test]
	fn each_operation_counts_its_own_tokens() {
		let nothing = OperationUnits { forward: 0, backward: 0, sync: 0, validation: 0, checkpoint: 0 };
		let model = ModelConfig { layers: 3, ..ModelConfig::tiny() };
		let units = |operations: OperationUnits| operations.of_round(&model, &train(2, 32, 5, 7), 5);
		assert_eq!(units(nothing), 0);
		assert_eq!(units(OperationUnits { forward: 1_000, ..nothing }), 3 * 2 * 32 * 5);
		assert_eq!(units(OperationUnits { backward: 1_000, ..nothing }), 3 * 2 * 32 * 5);
		assert_eq!(units(OperationUnits { sync: 1_000, ..nothing }), 3 * 2 * 32);
		assert_eq!(units(OperationUnits { checkpoint: 1_000, ..nothing }), 3 * 2 * 32);
		assert_eq!(units(OperationUnits { validation: 1_000, ..nothing }), 3 * 7 * 32);
		let shorter = OperationUnits { forward: 1_000, sync: 1_000, ..nothing };
		assert_eq!(shorter.of_round(&model, &train(2, 32, 5, 7), 2), 3 * (2 * 32 * 2 + 2 * 32), "of two of five steps");
	}

	#[test]
	fn half_of_the_backward_pass_counts_where_an_adapter_is_trained() {
		let adapter = Adapter { base: [0; 32], rank: 8, alpha: F32::new(16.0), projections: Projections::ALL };
		let (model, train) = (ModelConfig { layers: 3, ..ModelConfig::tiny() }, train(2, 32, 5, 7));
		let beside = TrainConfig { adapter: Some(adapter), ..train.clone() };
		let units = |train: &TrainConfig| OperationUnits::default().of_round(&model, train, 5);
		// 320 tokens in three layers: 2.5 units each, or 1.75.
		assert_eq!(units(&train) - units(&beside), 3 * 320 * 3 / 4);
	}

	#[test]
	fn extremes_neither_overflow_nor_wrap() {
		let most = [MAX_OPERATION; 5];
		let [forward, backward, sync, validation, checkpoint] = most;
		let most = OperationUnits { forward, backward, sync, validation, checkpoint };
		assert!(most.is_valid());
		assert!(!OperationUnits { sync: MAX_OPERATION + 1, ..most }.is_valid());
		let model = ModelConfig { layers: u32::MAX, ..ModelConfig::tiny() };
		assert_eq!(
			most.of_round(&model, &train(u32::MAX, u32::MAX, u32::MAX, u32::MAX), u32::MAX),
			396_140_812_368_407_503_186_979_454_975_000
		);
	}
}
