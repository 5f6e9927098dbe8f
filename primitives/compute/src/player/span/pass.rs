//! Steps of a member without a mistake: passes in memory, which cost what training costs.

use super::{GivenStep, SpanStory};
use crate::{exec::StepError, trace::TraceError};
use neuroshard_graph::span::own_sums;

impl<E> SpanStory<E> {
	/// The step that the arena is before.
	pub(super) fn step(&mut self, step: &GivenStep) -> Result<(), TraceError> {
		self.trainer.begin_step(&self.arena, &step.tokens)?;
		let segments = self.trainer.segments().len();
		let mut whole = step.rows.iter();
		let mut given = |is_given: bool| if is_given { whole.next() } else { None };
		let rows: Vec<_> = (0..segments).map(|segment| given(self.trainer.segments()[segment].rows_in.is_some())).collect();
		let gradients: Vec<_> = (0..segments).map(|segment| given(self.trainer.is_given_gradients(segment))).collect();
		for micro in 0..self.trainer.micro_batches() {
			for (segment, rows) in rows.iter().enumerate() {
				self.forward(segment, micro, rows.map_or(&[], Vec::as_slice));
			}
			for (segment, gradient) in gradients.iter().enumerate().rev() {
				self.backward(segment, micro, gradient.map_or(&[], Vec::as_slice));
			}
		}
		self.squares();
		self.end(&step.sums)
	}

	/// Begins the step that the arena is before, segment by segment.
	pub(super) fn begin(&mut self, tokens: &[u32]) -> Result<(), TraceError> {
		Ok(self.trainer.begin_step(&self.arena, tokens)?)
	}

	/// A micro-batch's part of the rows or gradients of a batch.
	fn part<'a>(&self, micro: usize, whole: &'a [f32]) -> &'a [f32] {
		let part = self.trainer.micro_tokens() * self.model.dim as usize;
		whole.get(micro * part..(micro + 1) * part).unwrap_or_default()
	}

	fn forward(&mut self, segment: usize, micro: usize, rows: &[f32]) -> Vec<f32> {
		let rows = self.part(micro, rows);
		self.trainer.forward(&mut self.arena, segment, (micro, 0), rows).into_owned()
	}

	fn backward(&mut self, segment: usize, micro: usize, gradient: &[f32]) -> Vec<f32> {
		let gradient = self.part(micro, gradient);
		self.trainer.backward(&mut self.arena, segment, (micro, 0), gradient).into_owned()
	}

	/// The rows that a segment gives.
	pub(super) fn rows(&mut self, segment: usize, rows: &[f32]) -> Vec<f32> {
		(0..self.trainer.micro_batches()).flat_map(|micro| self.forward(segment, micro, rows)).collect()
	}

	/// The gradient that a segment gives; empty if it gives none. Of several micro-batches, and of the end, the forward pass comes before: memory is that of one.
	pub(super) fn gradient(&mut self, segment: usize, (rows, gradient): (&[f32], &[f32])) -> Vec<f32> {
		let micros = self.trainer.micro_batches();
		let is_done = micros == 1 && self.trainer.segments()[segment].rows_out.is_some();
		let mut all = Vec::new();
		for micro in 0..micros {
			if !is_done {
				self.forward(segment, micro, rows);
			}
			all.extend(self.backward(segment, micro, gradient));
		}
		all
	}

	/// Sums of the squares of the gradients of the span's units, once all passes are through.
	pub(super) fn squares(&mut self) -> Vec<f32> {
		let mut all = vec![0.0; self.trainer.sums()];
		self.trainer.squares(&mut self.arena, &mut all);
		own_sums(&self.model, self.train.adapter.is_some(), self.span, &all)
	}

	/// Ends the step that the arena is in, from the sums of all units.
	pub(super) fn end(&mut self, sums: &[f32]) -> Result<(), TraceError> {
		let number = self.first.saturating_add(self.done);
		let index = u64::from(self.round) * u64::from(self.train.inner_steps) + u64::from(number);
		let loss = self.trainer.loss(&mut self.arena).filter(|_| !self.goes_on).unwrap_or_default();
		match self.trainer.end_step(&mut self.arena, (sums, loss), index, u64::from(number) + 1) {
			Err(StepError::Diverged) if self.goes_on => {}
			Err(StepError::Diverged) => {
				self.diverged = Some(self.done);
				return Err(StepError::Diverged.into());
			}
			other => drop(other?),
		}
		self.done = self.done.saturating_add(1);
		Ok(())
	}
}
