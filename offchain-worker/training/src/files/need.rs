//! Disk space that a model in files takes.

use neuroshard_graph::{plan::Plan, span::units, ConfigError, ModelConfig, ParamLayout, TrainConfig};

/// Bytes of a number.
const F32_BYTES: u64 = 4;

/// Vectors of the model's size that are in memory beside the engine of a replay, and the deltas: two checkpoints, a delta and its encoding, and the
/// pseudo-gradient, or two residuals.
const REPLAY_VECTORS: u64 = 8;
/// Bytes of parts of files that are in memory beside steps out of core, and for each delta of an outer step.
const PARTS_BYTES: u64 = 80 << 20;
const DELTA_BYTES: u64 = 1 << 20;

/// Bytes of memory that the replay of rounds with at most so many deltas takes where all of a model is in memory.
///
/// # Errors
/// A model that the chain would refuse.
pub fn replay_bytes(model: &ModelConfig, train: &TrainConfig, deltas: usize) -> Result<u64, ConfigError> {
	let arena = Plan::training(model, train)?.arena_len().max(Plan::validation(model, train)?.arena_len());
	let vector = u64::try_from(ParamLayout::trained(model, train)?.len()).unwrap_or(u64::MAX);
	let vectors = REPLAY_VECTORS.saturating_add(u64::try_from(deltas).unwrap_or(u64::MAX));
	Ok(vector.saturating_mul(vectors).saturating_add(arena).saturating_mul(F32_BYTES))
}

/// Bytes that are left for steps out of core of so many, beside what is read of files and of so many deltas.
pub fn steps_bytes(memory: u64, deltas: usize) -> u64 {
	let deltas = u64::try_from(deltas).unwrap_or(u64::MAX).saturating_mul(DELTA_BYTES);
	memory.saturating_sub(PARTS_BYTES).saturating_sub(deltas)
}

/// Disk space of a round out of core, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FilesNeed {
	/// What steps keep outside of memory: parameters, moments and gradients, the model that an adapter is beside, and rows between all units of a batch, with
	/// their gradients, or of the held-out sequences.
	pub shelf: u64,
	/// A delta as it is sent, with the residual that it leaves, if it does.
	pub delta: u64,
	/// A checkpoint: parameters and outer momentum.
	pub checkpoint: u64,
}

impl FilesNeed {
	/// That of a run that trains `model` like this.
	///
	/// # Errors
	/// A model that the chain would refuse.
	pub fn new(model: &ModelConfig, train: &TrainConfig) -> Result<Self, ConfigError> {
		let size = |len: usize| u64::try_from(len).unwrap_or(u64::MAX);
		let trained = ParamLayout::trained(model, train)?;
		let base = train.adapter.map_or(Ok(0), |_| ParamLayout::new(model).map(|layout| size(layout.len())))?;
		// The last batch of held-out sequences is filled up.
		let held_out = u64::from(train.validation_sequences).div_ceil(train.batch.max(1).into()).saturating_mul(train.tokens_per_step());
		let seams = u64::from(units(model).saturating_sub(1)).saturating_mul(train.tokens_per_step()).saturating_mul(2);
		let rows = seams.saturating_add(held_out).saturating_mul(model.dim.into());
		let numbers = size(trained.len()).saturating_mul(4).saturating_add(base).saturating_add(rows);
		let encoded = size(trained.encoded_len());
		let residual = if train.leaves_residual() { encoded } else { 0 };
		Ok(Self {
			shelf: numbers.saturating_mul(F32_BYTES),
			delta: size(ParamLayout::of_deltas(model, train)?.encoded_len()).saturating_add(residual),
			checkpoint: encoded.saturating_mul(2),
		})
	}

	/// All that there is at once while so many deltas are computed, and the checkpoint that they give.
	pub fn total(&self, deltas: u32) -> u64 {
		self.delta.saturating_mul(deltas.into()).saturating_add(self.shelf).saturating_add(self.checkpoint)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::engine::Engine;

	#[test]
	fn a_replay_takes_the_arena_of_its_engine_and_vectors_beside_it() {
		let (model, train) = crate::presets::tiny();
		let engine = Engine::new(&model, &train, 1).unwrap();
		let vector = 4 * model.parameters();
		assert_eq!(replay_bytes(&model, &train, 3).unwrap(), engine.arena_bytes() as u64 + 11 * vector);
		assert_eq!(steps_bytes(100 << 20, 5), 15 << 20);
		assert_eq!(steps_bytes(79 << 20, 0), 0);
	}

	#[test]
	fn what_a_large_model_takes_of_the_disk_was_worked_out_by_hand() {
		let (model, train) = crate::presets::large();
		let need = FilesNeed::new(&model, &train).unwrap();
		// 13,793,664 parameters, four times; rows of 384 numbers of 2,048 tokens between ten units, and their gradients; and 64 held-out sequences.
		let held_out = u64::from(train.validation_sequences.div_ceil(8) * 2_048);
		assert_eq!(need.shelf, 4 * (4 * model.parameters() + 384 * (2 * 9 * 2_048 + held_out)));
		assert_eq!((need.delta, need.checkpoint), (13_668 * 4_096, 2 * 13_668 * 4_096));
		assert_eq!(need.total(8), need.shelf + need.checkpoint + 8 * need.delta);
	}
}
