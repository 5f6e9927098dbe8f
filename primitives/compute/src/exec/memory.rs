//! How a training step spends memory: all of a batch at once or in micro-batches, with all activations kept or computed again. No bit depends on it.

use super::SetupError;
use neuroshard_graph::{
	config::{ConfigError, ModelConfig, Products, TrainConfig},
	layout::ParamLayout,
	plan::{Plan, ALIGNMENT},
	span::Span,
};
use neuroshard_kernels::shape::SEGMENT;
use std::ops::Range;

/// What of a training step is in memory at the same time. Its results do not depend on it, bit for bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StepMemory {
	/// Sequences of a micro-batch, whose gradients are accumulated; `None` for the whole batch at once.
	pub micro_batch: Option<u32>,
	/// Whether only what layers begin with is kept of the forward pass, and the rest computed again before a layer's backward pass. That takes about a
	/// third of the time of a step without it on top.
	pub recompute: bool,
}

impl StepMemory {
	/// All ways to spend memory on a step of `train`, those first that cost least time; among these, those first that take most memory.
	pub fn ways(train: &TrainConfig) -> impl Iterator<Item = Self> {
		let (batch, seq) = (train.batch, train.seq_len);
		let micro_batches = (1..batch).rev().filter(move |&micro| divides(micro, batch, seq)).map(Some);
		let all = core::iter::once(None).chain(micro_batches);
		[false, true].into_iter().flat_map(move |recompute| all.clone().map(move |micro_batch| Self { micro_batch, recompute }))
	}

	/// Elements of the arena of a [`super::Trainer`] that spends memory in this way.
	///
	/// # Errors
	/// [`SetupError`] if the configuration is refused, or has no such micro-batches.
	pub fn arena_len(self, model: &ModelConfig, train: &TrainConfig) -> Result<u64, SetupError> {
		let plan = self.plan(model, train)?;
		match self.micro_batch {
			Some(_) => u64::try_from(Accumulated::new(&plan, model, train)?.end).map_err(|_| SetupError::Memory),
			None => Ok(plan.arena_len()),
		}
	}

	/// The plan of the step, or of a micro-batch.
	///
	/// # Errors
	/// Those of [`StepMemory::arena_len`].
	pub(super) fn plan(self, model: &ModelConfig, train: &TrainConfig) -> Result<Plan, SetupError> {
		let make = if self.recompute { Plan::recomputing } else { Plan::training };
		let Some(micro_batch) = self.micro_batch else { return Ok(make(model, train)?) };
		if !divides(micro_batch, train.batch, train.seq_len) {
			return Err(SetupError::MicroBatch { micro_batch, batch: train.batch, seq_len: train.seq_len });
		}
		Ok(make(model, &TrainConfig { batch: micro_batch, ..train.clone() })?)
	}

	/// The plan of what falls to a span of the step, or of a micro-batch.
	///
	/// # Errors
	/// Those of [`StepMemory::arena_len`].
	pub(super) fn of_span(self, model: &ModelConfig, train: &TrainConfig, span: Span) -> Result<Plan, SetupError> {
		let micro_batch = self.micro_batch.unwrap_or(train.batch);
		if !divides(micro_batch, train.batch, train.seq_len) {
			return Err(SetupError::MicroBatch { micro_batch, batch: train.batch, seq_len: train.seq_len });
		}
		Ok(Plan::span(model, &TrainConfig { batch: micro_batch, ..train.clone() }, span)?)
	}
}

/// Whether the gradients of micro-batches of so many sequences add up to those of the batch: no two have to be told apart within a chain over tokens.
pub(super) fn divides(micro: u32, batch: u32, seq: u32) -> bool {
	let (part, all) = (u64::from(micro) * u64::from(seq), u64::from(batch) * u64::from(seq));
	let segment = SEGMENT as u64;
	batch.is_multiple_of(micro) && (all <= segment || part > 0 && segment.is_multiple_of(part))
}

/// Sums of chains over tokens after the first segment, while they are not complete.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Later {
	/// A batch has one segment.
	Nothing,
	/// A micro-batch is a segment: room for the largest weight.
	Any(usize),
	/// From here on, room for every parameter's, in their layout; and where that begins for the gradient.
	All(usize, usize),
}

/// What a step in micro-batches keeps of all of them, behind the memory of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Accumulated {
	/// Losses of all tokens; empty where the end of the model is not.
	pub losses: Range<usize>,
	/// Their sums over tiles, up to a whole row.
	pub sums: Range<usize>,
	/// Gradients of what the first layer begins with, for all tokens.
	pub stream: Range<usize>,
	later: Later,
	/// Elements of the arena.
	pub end: usize,
}

impl Accumulated {
	/// Behind the memory of `plan`, a micro-batch of `train`.
	///
	/// # Errors
	/// [`SetupError::Memory`].
	pub fn new(plan: &Plan, model: &ModelConfig, train: &TrainConfig) -> Result<Self, SetupError> {
		let size = |value: u64| usize::try_from(value).map_err(|_| SetupError::Memory);
		let job = plan.job.ok_or(ConfigError::Dimension)?;
		let gradient = size(job.update.ok_or(ConfigError::Dimension)?.gradient)?;
		let layout = ParamLayout::trained(model, train)?;
		let stream = if train.adapter.is_some() { 0 } else { size(model.dim.into())? };
		Self::behind(size(plan.arena_len())?, (&layout, gradient), train, size(job.sizes.tokens.into())?, (true, stream))
	}

	/// Behind element `first` of an arena in which the gradients of `layout` are at `gradient`, of micro-batches of so many tokens. `losses`: whether there
	/// are any; `wide`: numbers for each token of the gradient of what the first layer begins with.
	///
	/// # Errors
	/// [`SetupError::Memory`].
	pub fn behind(
		first: usize,
		(layout, gradient): (&ParamLayout, usize),
		train: &TrainConfig,
		part: usize,
		(losses, wide): (bool, usize),
	) -> Result<Self, SetupError> {
		let size = |value: u64| usize::try_from(value).map_err(|_| SetupError::Memory);
		let tokens = size(train.tokens_per_step())?;
		let measured = if losses { tokens } else { 0 };
		let mut end = first;
		let mut room = |len: Option<usize>| {
			let first = end;
			let next = len.and_then(|len| first.checked_add(len)?.checked_next_multiple_of(ALIGNMENT as usize));
			end = next.ok_or(SetupError::Memory)?;
			Ok::<_, SetupError>(first..first.saturating_add(len.unwrap_or_default()))
		};
		// A sequence is a multiple of 32 tokens.
		let (losses, sums) = (room(Some(measured))?, room(Some((measured / 32).next_multiple_of(32)))?);
		// Of an adapter there is no gradient of the embedding.
		let stream = room(tokens.checked_mul(wide))?;
		let later = if tokens <= SEGMENT {
			Later::Nothing
		} else if part == SEGMENT {
			Later::Any(room(Some(layout.tensors().iter().map(|tensor| tensor.len()).max().unwrap_or_default()))?.start)
		} else {
			Later::All(room(Some(layout.len()))?.start, gradient)
		};
		Ok(Self { losses, sums, stream, later, end })
	}

	/// Where the later segments of the weight are summed up whose gradient is at `gradient`.
	pub fn later(&self, gradient: &Range<usize>) -> Range<usize> {
		if gradient.is_empty() {
			// A head that is not trained.
			return 0..0;
		}
		let first = match self.later {
			Later::Nothing => return 0..0,
			Later::Any(first) => first,
			Later::All(first, all) => first + (gradient.start - all),
		};
		first..first + gradient.len()
	}
}

/// Numbers of the largest operand that is quantized for products of a step; 0 where none is.
pub fn largest_quantized(model: &ModelConfig, train: &TrainConfig) -> u64 {
	let widest = u64::from(model.ffn.max(model.q_dim()).max(model.dim));
	match train.products {
		Products::F32 => 0,
		Products::Int8 => widest.saturating_mul(train.tokens_per_step()).max(widest.saturating_mul(model.dim.into())),
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn micro_batches_end_where_chains_over_tokens_do() {
		// (batch, sequence length): sequences of micro-batches.
		for ((batch, seq_len), expected) in [
			((6, 32), vec![3, 2, 1]),
			((1, 32), vec![]),
			// Of 4,224 tokens, which are no multiple of 4,096: 128, 64 and 32 would divide a segment, but not the batch.
			((132, 32), vec![4, 2, 1]),
			((256, 32), vec![128, 64, 32, 16, 8, 4, 2, 1]),
			// No sequence of 1,536 ends with a segment.
			((4, 1_536), vec![]),
		] {
			let train = TrainConfig { batch, seq_len, ..TrainConfig::tiny() };
			let ways: Vec<_> = StepMemory::ways(&train).collect();
			let found = |recompute| -> Vec<_> {
				let those = ways.iter().filter(|way| way.recompute == recompute);
				those.map(|way| way.micro_batch).collect()
			};
			let all: Vec<_> = core::iter::once(None).chain(expected.into_iter().map(Some)).collect();
			assert_eq!([found(false), found(true)], [all.clone(), all], "{batch} of {seq_len}");
		}
	}

	#[test]
	fn micro_batches_and_recomputing_take_less_memory() {
		let model = ModelConfig { layers: 4, ..ModelConfig::tiny() };
		let train = TrainConfig { batch: 64, ..TrainConfig::tiny() };
		let len = |micro_batch, recompute| StepMemory { micro_batch, recompute }.arena_len(&model, &train).unwrap();
		let (plain, micro, recomputed, both) = (len(None, false), len(Some(4), false), len(None, true), len(Some(4), true));
		assert!(micro < plain / 2 && recomputed < plain && both < micro, "{plain} {micro} {recomputed} {both}");
		let refused = StepMemory { micro_batch: Some(5), recompute: false }.arena_len(&model, &train);
		assert_eq!(refused, Err(SetupError::MicroBatch { micro_batch: 5, batch: 64, seq_len: train.seq_len }));
	}
}
