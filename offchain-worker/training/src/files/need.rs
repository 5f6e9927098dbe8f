//! Disk space that a model in files takes.

use neuroshard_graph::{span::units, ConfigError, ModelConfig, ParamLayout, TrainConfig};

/// Bytes of a number.
const F32_BYTES: u64 = 4;

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
