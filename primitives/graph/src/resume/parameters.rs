//! The numbers that operators need beside their inputs.

use crate::config::{ConfigError, ModelConfig, TrainConfig, F32};
use alloc::vec::Vec;
use neuroshard_kernels::{
	schedule::{bias_correction, complement, decay_factor, muon_scale, reciprocal, LearningRate, RopeScaling},
	shape::{AdamW, Muon},
};

/// What a configuration, and for a training step its place in the run, give to operators.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameters {
	/// Width of the residual stream.
	pub dim: usize,
	/// Tokens of the vocabulary.
	pub vocab: u32,
	/// Whether tokens say which of them are targets of the loss.
	pub masked: bool,
	/// Tokens of a sequence.
	pub seq: usize,
	/// Query heads.
	pub heads: usize,
	/// Key and value heads.
	pub kv_heads: usize,
	/// Numbers in a head.
	pub head_dim: usize,
	pub(crate) rope_theta: u32,
	pub(crate) rope_scaling: RopeScaling,
	/// What the products of an adapter are multiplied by; 0 without one.
	pub adapter_scale: f32,
	/// Added under the root of a norm.
	pub norm_eps: f32,
	/// One by the tokens of a batch.
	pub inverse_tokens: f32,
	/// Greatest norm of a gradient.
	pub clip: f32,
	/// Scalars of AdamW but for the clip factor, which is 1.
	pub adamw: AdamW,
	/// Decay of Muon's momentum; 0 without Muon.
	pub momentum: f32,
	/// Learning rate of the outer step.
	pub outer_lr: f32,
	/// Momentum of the outer step.
	pub outer_beta: f32,
	/// Behind each delta of an outer step, where deltas weigh by them.
	pub inner_steps: Vec<u32>,
}

/// AdamW's scalars but for the clip factor, which is 1. `schedule_index` counts the steps of the whole run from 0, `t` those since the
/// moments were reset, from 1.
pub fn adamw(train: &TrainConfig, schedule_index: u64, t: u64) -> AdamW {
	let rate = LearningRate {
		peak: train.lr.get(),
		min: train.lr_min.get(),
		warmup_steps: u64::from(train.warmup_steps),
		total_steps: u64::from(train.total_steps),
	};
	let lr = rate.at(schedule_index);
	let (beta1, beta2) = (train.beta1.get(), train.beta2.get());
	AdamW {
		lr,
		beta1,
		complement1: complement(beta1),
		beta2,
		complement2: complement(beta2),
		correction1: bias_correction(beta1, t),
		correction2: bias_correction(beta2, t),
		eps: train.eps.get(),
		decay: decay_factor(lr, train.weight_decay.get()),
		clip: 1.0,
	}
}

/// Decay of Muon's momentum; 0 without Muon.
pub fn momentum(train: &TrainConfig) -> f32 {
	train.optimizer.momentum().map_or(0.0, F32::get)
}

/// Muon's scalars for a matrix with so many rows and columns: learning rate, decay and clip factor are those of AdamW.
pub fn muon(step: &AdamW, momentum: f32, (rows, cols): (usize, usize)) -> Muon {
	Muon { rate: step.lr * muon_scale(rows.max(cols)), momentum, decay: step.decay, clip: step.clip }
}

impl Parameters {
	/// For inner step `step` (from 0) of a round after `adopted_rounds` adopted rounds. Jobs on whole checkpoints have no step: any will
	/// do.
	///
	/// # Errors
	/// [`ConfigError::Dimension`] or [`ConfigError::Heads`] for a configuration that [`TrainConfig::validate`] refuses.
	pub fn new(model: &ModelConfig, train: &TrainConfig, adopted_rounds: u32, step: u32) -> Result<Self, ConfigError> {
		let size = |value: u32| usize::try_from(value).map_err(|_| ConfigError::TooLarge);
		let tokens = train.tokens_per_step();
		if tokens == 0 || !train.seq_len.is_multiple_of(32) || model.head_dim() < 2 {
			return Err(ConfigError::Dimension);
		}
		if model.kv_heads == 0 || !model.heads.is_multiple_of(model.kv_heads) {
			return Err(ConfigError::Heads);
		}
		let index = u64::from(adopted_rounds).saturating_mul(u64::from(train.inner_steps)).saturating_add(u64::from(step));
		Ok(Self {
			dim: size(model.dim)?,
			vocab: model.vocab,
			masked: train.masked,
			seq: size(train.seq_len)?,
			heads: size(model.heads)?,
			kv_heads: size(model.kv_heads)?,
			head_dim: size(model.head_dim())?,
			rope_theta: model.rope_theta,
			rope_scaling: model.rope_scaling.into(),
			adapter_scale: train.adapter.map_or(0.0, |adapter| adapter.scale()),
			norm_eps: model.norm_eps.get(),
			inverse_tokens: reciprocal(tokens),
			clip: train.clip.get(),
			adamw: adamw(train, index, u64::from(step) + 1),
			momentum: momentum(train),
			outer_lr: train.outer_lr.get(),
			outer_beta: train.outer_beta.get(),
			inner_steps: Vec::new(),
		})
	}

	/// For an outer step whose deltas have so many inner steps behind them; none where deltas do not weigh by them.
	///
	/// # Errors
	/// Those of [`Parameters::new`].
	pub fn outer(model: &ModelConfig, train: &TrainConfig, inner_steps: &[u32]) -> Result<Self, ConfigError> {
		Ok(Self { inner_steps: inner_steps.to_vec(), ..Self::new(model, train, 0, 0)? })
	}

	/// For reading `tokens` tokens: see [`crate::plan::Plan::reading`]. How the model was trained does not matter.
	///
	/// # Errors
	/// Those of [`Parameters::new`].
	pub fn reading(model: &ModelConfig, train: &TrainConfig, tokens: u32) -> Result<Self, ConfigError> {
		let seq = usize::try_from(tokens).map_err(|_| ConfigError::TooLarge)?;
		if tokens == 0 || !tokens.is_multiple_of(32) {
			return Err(ConfigError::Dimension);
		}
		Ok(Self { seq, masked: false, inverse_tokens: reciprocal(tokens.into()), ..Self::new(model, train, 0, 0)? })
	}

	/// Tiles of a sequence.
	#[inline]
	pub(crate) fn sequence_tiles(&self) -> u32 {
		u32::try_from(self.seq / super::SIDE).unwrap_or(u32::MAX).max(1)
	}

	/// Query heads that share a key head.
	#[inline]
	pub(crate) fn group(&self) -> usize {
		self.heads / self.kv_heads
	}

	/// Pieces of a chain over the elements of a head.
	pub(crate) fn head_pieces(&self) -> u32 {
		u32::try_from(self.head_dim.div_ceil(super::SIDE)).unwrap_or(u32::MAX).div_ceil(super::WIDTH)
	}

	/// Elements of a head that piece `piece` covers.
	#[inline]
	pub(crate) fn head_span(&self, piece: u32) -> core::ops::Range<usize> {
		let width = super::SIDE * 8;
		let first = usize::try_from(piece).unwrap_or(usize::MAX).saturating_mul(width).min(self.head_dim);
		first..first.saturating_add(width).min(self.head_dim)
	}
}
