//! Training steps of a model that is larger than memory: its spans one after the other, and what they leave in files, or wherever the caller keeps it.
//!
//! Each span goes through all micro-batches before the next one begins, so that its parameters are read twice in a step, and once more to be changed. Of a
//! layer's forward pass only the rows that it was given are kept. All bits are those of a [`super::Trainer`] that has the model in memory.

mod held_out;

use super::{Arena, Exec, SetupError, SpanTrainer, StepError, StepOutcome};
use held_out::HeldOut;
use neuroshard_graph::{
	config::{ModelConfig, TrainConfig},
	cover::merge,
	merkle::Hash,
	span::{units, Held, Span},
};
use std::{io, sync::Arc};

/// What is kept outside of memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shelved {
	/// Parameters, in their layout.
	Parameters,
	/// First moments.
	FirstMoment,
	/// Second moments.
	SecondMoment,
	/// Gradients of the step under way.
	Gradient,
	/// The model that an adapter is beside, in its own layout.
	Base,
	/// Rows that a unit is given, of all tokens of the batch.
	Rows(u32),
	/// The gradient of these.
	RowGradients(u32),
	/// Rows that the next unit is given, of all held-out tokens.
	HeldOutRows,
}

/// Where vectors of floats are kept. What was never written need not be readable.
pub trait Shelf {
	/// Reads the numbers from number `first` on.
	///
	/// # Errors
	/// Those of the medium.
	fn read(&mut self, what: Shelved, first: usize, values: &mut [f32]) -> io::Result<()>;

	/// Writes numbers from number `first` on.
	///
	/// # Errors
	/// Those of the medium.
	fn write(&mut self, what: Shelved, first: usize, values: &[f32]) -> io::Result<()>;
}

/// Why a model cannot be trained out of core.
#[derive(Debug, thiserror::Error)]
pub enum OutOfCoreError {
	/// The configuration.
	#[error(transparent)]
	Setup(#[from] SetupError),
	/// A unit of the model does not fit.
	#[error("the largest part of the model needs {needed} bytes of memory for a step, and {given} are given")]
	TooSmall {
		/// Bytes that it needs, with the smallest micro-batches.
		needed: u64,
		/// Bytes that are given.
		given: u64,
	},
	/// The step.
	#[error(transparent)]
	Step(#[from] StepError),
	/// The medium.
	#[error("what the step leaves outside of memory could not be kept: {0}")]
	Shelf(#[from] io::Error),
}

/// Runs training steps in a part of the memory that the model needs. Parameters and moments stay with the caller's [`Shelf`].
pub struct OutOfCore {
	spans: Vec<SpanTrainer>,
	/// Span and segment, by the units that they have.
	order: Vec<(usize, usize)>,
	arena: Arena,
	/// Numbers of a row.
	width: usize,
	/// Rows of a micro-batch.
	rows: usize,
	held_out: HeldOut,
}

/// Bytes of an arena for whichever of these spans.
fn bytes(spans: &[SpanTrainer]) -> u64 {
	spans.iter().map(|span| span.arena_len() as u64).max().unwrap_or_default().saturating_mul(4)
}

impl OutOfCore {
	/// For steps in so many bytes of memory, besides the shelf's own.
	///
	/// # Errors
	/// [`OutOfCoreError::Setup`], [`OutOfCoreError::TooSmall`].
	pub fn new(exec: &Arc<Exec>, model: &ModelConfig, train: &TrainConfig, memory: u64) -> Result<Self, OutOfCoreError> {
		let (steps, held_out) = (spans_in(exec, model, train, memory), HeldOut::new(exec, model, train, memory));
		if let (Err(OutOfCoreError::TooSmall { needed, .. }), Err(OutOfCoreError::TooSmall { needed: other, .. })) = (&steps, &held_out) {
			return Err(OutOfCoreError::TooSmall { needed: *needed.max(other), given: memory });
		}
		let ((spans, micro_batch), held_out) = (steps?, held_out?);
		let order = order(&spans);
		let arena = Arena::new(spans.iter().map(SpanTrainer::arena_len).max().unwrap_or_default().max(held_out.arena_len()));
		let (width, rows) = (model.dim as usize, micro_batch as usize * train.seq_len as usize);
		Ok(Self { spans, order, arena, width, rows, held_out })
	}

	/// Spans that the model is cut into, one of which is in memory at a time.
	pub fn spans(&self) -> usize {
		self.spans.len()
	}

	/// Bytes of memory that it takes, at most those that were given.
	pub fn bytes(&self) -> u64 {
		bytes(&self.spans).max(self.held_out.bytes())
	}

	/// Tokens of a batch, as [`super::Trainer::batch_tokens`].
	pub fn batch_tokens(&self) -> usize {
		self.spans.first().map_or(0, SpanTrainer::batch_tokens)
	}

	/// One step, as [`super::Trainer::train_step`].
	///
	/// # Errors
	/// [`OutOfCoreError`]. Parameters and moments are unchanged after [`StepError::Diverged`]; after an error of the shelf they may be those of the step before
	/// in some spans and of this one in others, so the step has to be begun again from a state that was kept elsewhere.
	pub fn train_step(
		&mut self,
		shelf: &mut impl Shelf,
		tokens: &[u32],
		schedule_index: u64,
		t: u64,
	) -> Result<StepOutcome, OutOfCoreError> {
		for span in &mut self.spans {
			span.begin_step(&self.arena, tokens)?;
		}
		let order = self.order.clone();
		let mut squares = vec![0.0; self.spans.first().map_or(0, SpanTrainer::sums)];
		let mut loss = f32::NAN;
		// Segments of each span whose backward pass is still to come.
		let mut left: Vec<usize> = self.spans.iter().map(|span| span.segments().len()).collect();
		if let Some((&(end, segment), before)) = order.split_last() {
			for &(span, segment) in before {
				self.forward(shelf, span, segment)?;
			}
			self.end(shelf, end, segment)?;
			loss = self.spans[end].loss(&mut self.arena).unwrap_or(f32::NAN);
			self.leave(shelf, end, &mut left, &mut squares)?;
			for &(span, segment) in before.iter().rev() {
				self.backward(shelf, span, segment, left[span] < self.spans[span].segments().len())?;
				self.leave(shelf, span, &mut left, &mut squares)?;
			}
		}
		let mut outcome = Err(StepError::Diverged);
		for span in 0..self.spans.len() {
			outcome = Ok(self.update(shelf, span, (&squares, loss), schedule_index, t)?);
		}
		Ok(outcome?)
	}

	/// Brings the parameters of a span into the arena.
	fn load(&mut self, shelf: &mut impl Shelf, span: usize) -> Result<(), OutOfCoreError> {
		let trainer = &self.spans[span];
		if let Some((base, at)) = trainer.base().zip(trainer.base_at()) {
			read(shelf, Shelved::Base, base, &mut self.arena[at])?;
		}
		read(shelf, Shelved::Parameters, trainer.held(), &mut self.arena[trainer.vector_at(0)])
	}

	/// Rows of micro-batch `micro` on the shelf: what a unit is given, or its gradient; none where there are none.
	fn rows(&mut self, shelf: &mut impl Shelf, what: Option<Shelved>, micro: usize) -> Result<Vec<f32>, OutOfCoreError> {
		let Some(what) = what else { return Ok(Vec::new()) };
		let mut rows = vec![0.0; self.rows * self.width];
		shelf.read(what, micro * rows.len(), &mut rows)?;
		Ok(rows)
	}

	fn forward(&mut self, shelf: &mut impl Shelf, span: usize, segment: usize) -> Result<(), OutOfCoreError> {
		self.load(shelf, span)?;
		let units = self.spans[span].segments()[segment].units.clone();
		for micro in 0..self.spans[span].micro_batches() {
			let rows = self.rows(shelf, (units.start > 0).then_some(Shelved::Rows(units.start)), micro)?;
			let rows = self.spans[span].forward(&mut self.arena, segment, (micro, 0), &rows);
			shelf.write(Shelved::Rows(units.end), micro * rows.len(), &rows)?;
		}
		Ok(())
	}

	/// Both passes of the last segment.
	fn end(&mut self, shelf: &mut impl Shelf, span: usize, segment: usize) -> Result<(), OutOfCoreError> {
		self.load(shelf, span)?;
		let units = self.spans[span].segments()[segment].units.clone();
		for micro in 0..self.spans[span].micro_batches() {
			let rows = self.rows(shelf, (units.start > 0).then_some(Shelved::Rows(units.start)), micro)?;
			self.spans[span].forward(&mut self.arena, segment, (micro, 0), &rows);
			let gradient = self.spans[span].backward(&mut self.arena, segment, (micro, 0), &[]);
			if !gradient.is_empty() {
				shelf.write(Shelved::RowGradients(units.start), micro * gradient.len(), &gradient)?;
			}
		}
		Ok(())
	}

	/// The backward pass of a segment, for which its forward pass is computed again. `begun`: another segment of the span has left gradients.
	fn backward(&mut self, shelf: &mut impl Shelf, span: usize, segment: usize, begun: bool) -> Result<(), OutOfCoreError> {
		self.load(shelf, span)?;
		if begun {
			let trainer = &self.spans[span];
			read(shelf, Shelved::Gradient, trainer.held(), &mut self.arena[trainer.vector_at(3)])?;
		}
		let units = self.spans[span].segments()[segment].units.clone();
		for micro in 0..self.spans[span].micro_batches() {
			let asked = self.spans[span].is_given_gradients(segment);
			let gradient = self.rows(shelf, asked.then_some(Shelved::RowGradients(units.end)), micro)?;
			if units.end > 1 {
				let rows = self.rows(shelf, (units.start > 0).then_some(Shelved::Rows(units.start)), micro)?;
				self.spans[span].forward(&mut self.arena, segment, (micro, 0), &rows);
			}
			let gradient = self.spans[span].backward(&mut self.arena, segment, (micro, 0), &gradient);
			if !gradient.is_empty() {
				shelf.write(Shelved::RowGradients(units.start), micro * gradient.len(), &gradient)?;
			}
		}
		Ok(())
	}

	/// Keeps the gradients of a span, one more segment of which is through; and its sums, if that was the last one.
	fn leave(&mut self, shelf: &mut impl Shelf, span: usize, left: &mut [usize], squares: &mut [f32]) -> Result<(), OutOfCoreError> {
		left[span] = left[span].saturating_sub(1);
		let trainer = &mut self.spans[span];
		if left[span] == 0 {
			trainer.squares(&mut self.arena, squares);
		}
		write(shelf, Shelved::Gradient, trainer.held(), &trainer.gradient(&self.arena))
	}

	fn update(
		&mut self,
		shelf: &mut impl Shelf,
		span: usize,
		sums: (&[f32], f32),
		schedule_index: u64,
		t: u64,
	) -> Result<StepOutcome, OutOfCoreError> {
		let trainer = &mut self.spans[span];
		for (place, what) in [Shelved::Parameters, Shelved::FirstMoment, Shelved::SecondMoment, Shelved::Gradient].into_iter().enumerate() {
			read(shelf, what, trainer.held(), &mut self.arena[trainer.vector_at(place)])?;
		}
		let outcome = trainer.end_step(&mut self.arena, sums, schedule_index, t)?;
		let state = trainer.state(&self.arena);
		for (what, values) in [Shelved::Parameters, Shelved::FirstMoment, Shelved::SecondMoment].into_iter().zip(state) {
			write(shelf, what, trainer.held(), &values)?;
		}
		Ok(outcome)
	}

	/// Root over the tiles of a vector in the layout of what is trained; `None` for other things on the shelf.
	///
	/// # Errors
	/// [`OutOfCoreError::Shelf`].
	pub fn root(&mut self, shelf: &mut impl Shelf, what: Shelved) -> Result<Option<Hash>, OutOfCoreError> {
		let mut parts = Vec::new();
		for span in &self.spans {
			// Where parameters are while a step is under way.
			let at = span.vector_at(0);
			read(shelf, what, span.held(), &mut self.arena[at.clone()])?;
			parts.push((span.held().cover(), span.held().roots(&self.arena[at], span.exec().threads())));
		}
		let leaves = self.spans.first().map_or(0, |span| span.held().all_tiles);
		let parts: Vec<_> = parts.iter().map(|(cover, roots)| (cover, roots.as_slice())).collect();
		Ok(merge(leaves, &parts))
	}
}

/// Spans that a step fits so many bytes of memory with, as few as there can be, and the sequences of a micro-batch.
fn spans_in(exec: &Arc<Exec>, model: &ModelConfig, train: &TrainConfig, memory: u64) -> Result<(Vec<SpanTrainer>, u32), OutOfCoreError> {
	let mut needed = u64::MAX;
	let micro_batches = core::iter::once(train.batch).chain((1..train.batch).rev());
	for micro_batch in micro_batches.filter(|&micro| super::memory::divides(micro, train.batch, train.seq_len)) {
		let make = |span| SpanTrainer::new(exec.clone(), model, train, span, (micro_batch, 1));
		// The smallest spans there are, of which as many are put together as fit.
		let mut spans: Vec<(Span, SpanTrainer)> = Vec::new();
		let mut too_large = None;
		for span in smallest(model) {
			let trainer = make(span)?;
			let own = bytes(core::slice::from_ref(&trainer));
			if own > memory {
				too_large = too_large.max(Some(own));
			}
			let Some((last, _)) = spans.last().filter(|_| own <= memory) else {
				spans.push((span, trainer));
				continue;
			};
			let both = Span { first: last.first, count: last.count.saturating_add(span.count) };
			let together = make(both)?;
			if bytes(core::slice::from_ref(&together)) <= memory {
				spans.pop();
				spans.push((both, together));
			} else {
				spans.push((span, trainer));
			}
		}
		match too_large {
			None => return Ok((spans.into_iter().map(|(_, trainer)| trainer).collect(), micro_batch)),
			Some(own) => needed = needed.min(own),
		}
	}
	Err(match needed {
		u64::MAX => SetupError::MicroBatch { micro_batch: train.batch, batch: train.batch, seq_len: train.seq_len }.into(),
		needed => OutOfCoreError::TooSmall { needed, given: memory },
	})
}

/// Spans and their segments, by the units that they have.
fn order(spans: &[SpanTrainer]) -> Vec<(usize, usize)> {
	let segments = |(span, trainer): (usize, &SpanTrainer)| (0..trainer.segments().len()).map(move |segment| (span, segment));
	let mut order: Vec<_> = spans.iter().enumerate().flat_map(segments).collect();
	order.sort_unstable_by_key(|&(span, segment)| spans[span].segments()[segment].units.start);
	order
}

/// The smallest spans that a model can be cut into, around the ring from its end on.
fn smallest(model: &ModelConfig) -> impl Iterator<Item = Span> {
	let (units, end) = (units(model), units(model).saturating_sub(1));
	let ends = match model.tied {
		true => [Some(Span { first: end, count: 2 }), None],
		false => [Some(Span { first: end, count: 1 }), Some(Span { first: 0, count: 1 })],
	};
	ends.into_iter().flatten().chain((1..units.saturating_sub(1)).map(|first| Span { first, count: 1 }))
}

/// What a span holds of a vector on the shelf, into `values`.
fn read(shelf: &mut impl Shelf, what: Shelved, held: &Held, values: &mut [f32]) -> Result<(), OutOfCoreError> {
	let mut rest = values;
	for range in &held.elements {
		let (part, after) = rest.split_at_mut(range.len());
		shelf.read(what, range.start, part)?;
		rest = after;
	}
	Ok(())
}

/// What a span holds of a vector, onto the shelf.
fn write(shelf: &mut impl Shelf, what: Shelved, held: &Held, values: &[f32]) -> Result<(), OutOfCoreError> {
	let mut rest = values;
	for range in &held.elements {
		let (part, after) = rest.split_at(range.len());
		shelf.write(what, range.start, part)?;
		rest = after;
	}
	Ok(())
}
