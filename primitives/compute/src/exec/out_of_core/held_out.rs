//! The held-out loss of a model that is larger than memory: each span goes through all sequences before the next one begins.

use super::{bytes, order, spans_in, OutOfCore, OutOfCoreError, Shelf, Shelved};
use crate::exec::{Exec, SpanTrainer, StepError, ValidationError};
use neuroshard_graph::{
	config::{ModelConfig, Products, TrainConfig},
	corpus::target,
	span::units,
};
use neuroshard_kernels::{
	scalar::{self, NO_TARGET},
	schedule,
};
use std::{mem::swap, sync::Arc};

/// What says which sequences are held out, and what computes their loss.
pub(super) struct HeldOut {
	/// How many there are.
	sequences: usize,
	/// Tokens of each.
	seq_len: usize,
	vocab: u32,
	/// Whether tokens say which of them are targets.
	masked: bool,
	/// Unit of the end.
	end: u32,
	/// Spans with products of 32 bits, where those of training have others, and the rows of their micro-batches.
	spans: Option<(Vec<SpanTrainer>, usize)>,
}

impl HeldOut {
	pub(super) fn new(exec: &Arc<Exec>, model: &ModelConfig, train: &TrainConfig, memory: u64) -> Result<Self, OutOfCoreError> {
		let exact = TrainConfig { products: Products::F32, ..train.clone() };
		let spans = (train.products != Products::F32).then(|| spans_in(exec, model, &exact, memory)).transpose()?;
		Ok(Self {
			sequences: train.validation_sequences as usize,
			seq_len: train.seq_len as usize,
			vocab: model.vocab,
			masked: train.masked,
			end: units(model).saturating_sub(1),
			spans: spans.map(|(spans, micro_batch)| (spans, micro_batch as usize * train.seq_len as usize)),
		})
	}

	fn spans(&self) -> &[SpanTrainer] {
		self.spans.as_ref().map_or(&[], |(spans, _)| spans)
	}

	pub(super) fn bytes(&self) -> u64 {
		bytes(self.spans())
	}

	/// Elements of an arena for these spans.
	pub(super) fn arena_len(&self) -> usize {
		self.spans().iter().map(SpanTrainer::arena_len).max().unwrap_or_default()
	}
}

impl OutOfCore {
	/// Mean loss of the parameters on the shelf over the held-out sequences, as [`crate::exec::Validator::loss`], bit for bit. `sequence(i, tokens)` fills in the
	/// `seq_len + 1` tokens of held-out sequence i, and is asked once for each; tokens stay in memory meanwhile, rows on the shelf.
	///
	/// # Errors
	/// The outer ones are those of the medium. [`ValidationError`]; a loss that is not finite is [`StepError::Diverged`].
	pub fn validate<E>(
		&mut self,
		shelf: &mut impl Shelf,
		mut sequence: impl FnMut(u32, &mut [u32]) -> Result<(), E>,
	) -> Result<Result<f32, ValidationError<E>>, OutOfCoreError> {
		let HeldOut { sequences, seq_len, vocab, masked, .. } = self.held_out;
		let per_sequence = seq_len + 1;
		// The last batch is filled up with sequences that are looked at by nobody.
		let batch = self.batch_tokens().max(per_sequence);
		let mut tokens = vec![0; (sequences * per_sequence).next_multiple_of(batch)];
		for (number, tokens) in (0..).zip(tokens.chunks_exact_mut(per_sequence).take(sequences)) {
			if let Err(source) = sequence(number, tokens) {
				return Ok(Err(ValidationError::Source { sequence: number, source }));
			}
		}
		let held_out = tokens[..sequences * per_sequence].chunks_exact(per_sequence);
		let counts = |tokens: &[u32]| tokens[1..].iter().filter(|&&token| target(token, vocab, masked) != NO_TARGET).count() as u64;
		let targets: u64 = held_out.map(counts).sum();

		self.exchange();
		let losses = self.losses(shelf, &tokens);
		self.exchange();
		let mut partials = losses?;
		// A sequence is a multiple of 32 tokens: no tile of losses holds two.
		partials.truncate(sequences * seq_len / 32);
		let inverse_count = if targets == 0 { 0.0 } else { schedule::reciprocal(targets) };
		let mean = scalar::tree_sum(&mut partials) * inverse_count;
		Ok(if mean.is_finite() { Ok(mean) } else { Err(ValidationError::Step(StepError::Diverged)) })
	}

	/// Puts the spans of held-out sequences in the place of those of training, or back.
	fn exchange(&mut self) {
		if let Some((spans, rows)) = &mut self.held_out.spans {
			swap(spans, &mut self.spans);
			swap(rows, &mut self.rows);
			self.order = order(&self.spans);
		}
	}

	/// Sums of the losses of 32 tokens each, of whole batches.
	fn losses(&mut self, shelf: &mut impl Shelf, tokens: &[u32]) -> Result<Vec<f32>, OutOfCoreError> {
		let mut sums = Vec::with_capacity(tokens.len() / 32);
		for (span, segment) in self.order.clone() {
			self.load(shelf, span)?;
			let units = self.spans[span].segments()[segment].units.clone();
			let micro_batches = self.spans[span].micro_batches();
			for (number, tokens) in tokens.chunks_exact(self.batch_tokens()).enumerate() {
				self.spans[span].begin_step(&self.arena, tokens)?;
				for micro in 0..micro_batches {
					let place = number * micro_batches + micro;
					// Rows take the place of those that they were made from.
					let rows = self.rows(shelf, (units.start > 0).then_some(Shelved::HeldOutRows), place)?;
					let rows = self.spans[span].forward(&mut self.arena, segment, (micro, 0), &rows);
					if !rows.is_empty() {
						shelf.write(Shelved::HeldOutRows, place * rows.len(), &rows)?;
					}
				}
				if units.contains(&self.held_out.end) {
					sums.extend(self.spans[span].loss_tiles(&mut self.arena));
				}
			}
		}
		Ok(sums)
	}
}
