//! The held-out validation loss.

use super::{runner::Runner, Backend, Exec, SetupError, StepError};
use neuroshard_graph::{
	config::{ModelConfig, TrainConfig},
	layout::ParamLayout,
	plan::Plan,
};
use neuroshard_kernels::{scalar, schedule};
use std::sync::Arc;

/// Why there is no validation loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ValidationError<E> {
	/// The tokens of a sequence could not be had.
	#[error("held-out sequence {sequence} is not available: {source}")]
	Source {
		/// Number of the sequence.
		sequence: u32,
		/// Why.
		source: E,
	},
	/// The batch gives no result.
	#[error(transparent)]
	Step(StepError),
}

/// Measures the validation loss on an arena of [`Validator::arena_len`] elements, of which the first are the parameters, and the model beside an adapter lies
/// where it does in training, as in a [`super::Trainer`]'s arena, which is always long enough.
pub struct Validator<B: Backend = Exec> {
	runner: Runner<B>,
	sequences: u32,
	group: usize,
	tokens: Vec<u32>,
	partials: Vec<f32>,
}

impl<B: Backend> Validator<B> {
	/// A validator that computes with `exec`.
	///
	/// # Errors
	/// [`SetupError`] if the configuration is refused or does not fit this machine.
	pub fn new(exec: Arc<B>, model: &ModelConfig, train: &TrainConfig) -> Result<Self, SetupError> {
		let runner = Runner::new(exec, model, train, Plan::validation(model, train)?, (None, false))?;
		let size = |value: u64| usize::try_from(value).map_err(|_| SetupError::Memory);
		let all_tokens = u64::from(train.validation_sequences) * u64::from(train.seq_len);
		Ok(Self {
			tokens: vec![0; runner.batch_tokens()],
			runner,
			sequences: train.validation_sequences,
			group: size(train.validation_batch().into())?,
			// A sequence is a multiple of 32 tokens: no tile of losses holds two.
			partials: vec![0.0; size(all_tokens / 32)?],
		})
	}

	/// Elements of the arena.
	pub fn arena_len(&self) -> usize {
		self.runner.arena_len
	}

	/// Layout of the parameters at the arena's beginning.
	pub fn layout(&self) -> &ParamLayout {
		&self.runner.layout
	}

	/// Mean cross-entropy over the targets that count of all held-out sequences, nats per token; 0 if there are none. `sequence(i, tokens)` fills in the `seq_len + 1`
	/// tokens of held-out sequence i.
	///
	/// # Errors
	/// [`ValidationError`]; a loss that is not finite is [`StepError::Diverged`].
	pub fn loss<E>(
		&mut self,
		arena: &mut B::Arena,
		mut sequence: impl FnMut(u32, &mut [u32]) -> Result<(), E>,
	) -> Result<f32, ValidationError<E>> {
		let per_sequence = self.tokens.len() / self.group;
		// Zeros follow the group's partial sums up to a whole row.
		let first = self.runner.job.loss.map_or(0, |loss| self.runner.range(loss).start);
		let loss = first..first + self.group * (per_sequence - 1) / 32;
		let (mut numbers, mut targets) = (0..self.sequences, 0u64);
		for partials in self.partials.chunks_exact_mut(loss.len()) {
			for (tokens, number) in self.tokens.chunks_exact_mut(per_sequence).zip(&mut numbers) {
				sequence(number, tokens).map_err(|source| ValidationError::Source { sequence: number, source })?;
			}
			self.runner.load(arena, &self.tokens).map_err(ValidationError::Step)?;
			targets = targets.saturating_add(self.runner.target_count());
			self.runner.run(arena, 0..self.runner.plan.stages().len(), None);
			partials.copy_from_slice(&self.runner.exec.view(arena, loss.clone()));
			self.runner.exec.settled().map_err(|error| ValidationError::Step(error.into()))?;
		}
		let inverse_count = if targets == 0 { 0.0 } else { schedule::reciprocal(targets) };
		let mean = scalar::tree_sum(&mut self.partials) * inverse_count;
		if mean.is_finite() {
			Ok(mean)
		} else {
			Err(ValidationError::Step(StepError::Diverged))
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{
		exec::{Arena, Trainer},
		trace::Trace,
	};
	use core::convert::Infallible;
	use neuroshard_graph::{corpus::MASK, init::theta_0};

	#[test]
	fn the_loss_of_a_batch_is_that_of_its_step_with_logits_of_any_number_of_rows_at_a_time() {
		// Some tokens, and all, are no targets.
		let cases = [(3, true, 0), (3, false, 0), (130, true, 0), (3, true, 2), (130, true, 3), (3, true, 1)];
		for (batch, tied, masked) in cases {
			let model = ModelConfig { tied, ..ModelConfig::tiny() };
			let train = TrainConfig { batch, validation_sequences: batch, masked: masked > 0, ..TrainConfig::tiny() };
			let layout = ParamLayout::new(&model).unwrap();
			let (theta, zeros) = (theta_0(&model, &layout, &train.seed), vec![0.0; layout.len()]);
			let places = 0..batch * (train.seq_len + 1);
			let mask = |place: u32| if masked > 0 && place.is_multiple_of(masked) { MASK } else { 0 };
			let tokens: Vec<_> = places.map(|place| (place * 7_919 % 1_009 % model.vocab) | mask(place)).collect();
			let exec = Arc::new(Exec::new(2).unwrap());
			let trace = Trace::step(&exec, &model, &train, &[&theta, &zeros, &zeros], &tokens, 0, 0).unwrap();
			let expected = trace.tensor(trace.plan().job.unwrap().loss.unwrap())[0];
			assert_eq!(expected == 0.0, masked == 1);
			for rows in [32, 64, 96] {
				let mut validator = Validator::new(exec.clone(), &model, &train).unwrap();
				validator.runner.logit_rows = rows;
				let mut arena = Arena::new(validator.arena_len());
				arena.fill(f32::NAN);
				arena[..theta.len()].copy_from_slice(&theta);
				let loss = validator.loss(&mut arena, |sequence, buffer| {
					let first = sequence as usize * buffer.len();
					buffer.copy_from_slice(&tokens[first..first + buffer.len()]);
					Ok::<_, Infallible>(())
				});
				assert_eq!(loss.unwrap().to_bits(), expected.to_bits(), "{batch} sequences, {rows} rows at a time");
				// The arena of training is the larger one.
				assert!(validator.arena_len() <= Trainer::new(exec.clone(), &model, &train).unwrap().arena_len());
			}
		}
	}
}
