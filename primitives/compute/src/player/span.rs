//! Recomputing a member's part of an interval of inner steps, from what it was given.

mod given;
mod pass;
mod quorum;

use super::{first_difference, story::Traced, Job, PlayError, Story};
use crate::{
	exec::{Arena, Exec, SetupError, SpanTrainer, StepError},
	trace::{Mistake, Trace, TraceError},
};
use core::convert::Infallible;
pub use given::{GaveStep, GivenStep, ReadGiven};
use given::{SeekError, Steps};
use neuroshard_graph::{
	config::{ModelConfig, TrainConfig},
	game::{canonical, state_of, Contents, Record, SpanNodes, Stand, StepRecord},
	merkle::{merkle_root, Hash},
	plan::Plan,
	span::{gave, given, row_tiles, trained_units, Span},
};
pub use quorum::QuorumStory;
use std::sync::Arc;

/// A member's part of an interval, which can be run again from its start.
pub struct SpanStory<E = Infallible> {
	exec: Arc<Exec>,
	model: ModelConfig,
	train: TrainConfig,
	span: Span,
	/// Round, and the interval's first inner step in it.
	round: u32,
	first: u32,
	trainer: SpanTrainer,
	arena: Arena,
	/// Parameters, first and second moments before the interval.
	start: [Arc<Vec<f32>>; 3],
	base: Option<Arc<Vec<f32>>>,
	steps: Steps<E>,
	/// Steps that the arena is after.
	done: u32,
	traced: Option<(u32, Traced)>,
	mistake: Option<Mistake>,
	/// The step, from 0 in the interval, behind which there is no state: its loss or norm is not finite.
	diverged: Option<u32>,
	/// Whether it goes on past such a step all the same.
	goes_on: bool,
	/// What it has signed.
	record: Record,
}

/// The trainer of a span with the largest micro-batches that there are: no bit depends on them.
fn trainer(exec: Arc<Exec>, (model, train, span): (&ModelConfig, &TrainConfig, Span)) -> Result<SpanTrainer, SetupError> {
	let ways = (1..=train.batch).rev().filter(|micro| train.batch.is_multiple_of(*micro)).map(|micro| (micro, 1));
	let mut trainers = ways.filter_map(|way| match SpanTrainer::new(exec.clone(), model, train, span, way) {
		Err(SetupError::MicroBatch { .. }) => None,
		other => Some(other),
	});
	trainers.next().ok_or(SetupError::MicroBatch { micro_batch: train.batch, batch: train.batch, seq_len: train.seq_len })?
}

impl<E> SpanStory<E> {
	/// Bytes of memory that a story of this span takes: the state that the interval began with, the one that a step is traced from, one that is copied for that, and all
	/// that the step computes.
	///
	/// # Errors
	/// [`TraceError::Setup`].
	pub fn bytes(exec: Arc<Exec>, of: (&ModelConfig, &TrainConfig, Span)) -> Result<u64, TraceError> {
		let trainer = trainer(exec, of)?;
		let states = trainer.held().layout.len().saturating_mul(7).saturating_add(trainer.arena_len());
		let traced = Plan::span(of.0, of.1, of.2)?.arena_len();
		Ok(u64::try_from(states).unwrap_or(u64::MAX).saturating_add(traced).saturating_mul(4))
	}

	/// Of what was kept of an interval that has ended: what the member has signed about it, and what it was given in each step.
	///
	/// # Errors
	/// [`TraceError::Setup`].
	///
	/// # Panics
	/// As [`SpanStory::new`].
	pub fn kept(
		exec: Arc<Exec>,
		(model, train, span): (&ModelConfig, &TrainConfig, Span),
		round: u32,
		(start, base): ([Vec<f32>; 3], Option<Vec<f32>>),
		(record, read): (Record, ReadGiven<E>),
	) -> Result<Self, TraceError> {
		let count = u32::try_from(record.steps.len()).unwrap_or(u32::MAX);
		let story = Self::of(exec, (model, train, span), (round, record.first), start, base, Steps::Kept(count, read))?;
		Ok(Self { record, ..story })
	}

	fn of(
		exec: Arc<Exec>,
		(model, train, span): (&ModelConfig, &TrainConfig, Span),
		(round, first): (u32, u32),
		start: [Vec<f32>; 3],
		base: Option<Vec<f32>>,
		steps: Steps<E>,
	) -> Result<Self, TraceError> {
		let trainer = trainer(exec.clone(), (model, train, span))?;
		let mut story = Self {
			arena: Arena::new(trainer.arena_len()),
			exec,
			model: model.clone(),
			train: train.clone(),
			span,
			round,
			first,
			trainer,
			start: start.map(Arc::new),
			base: base.map(Arc::new),
			steps,
			done: 0,
			traced: None,
			mistake: None,
			diverged: None,
			goes_on: false,
			record: Record::default(),
		};
		story.rewind();
		Ok(story)
	}

	/// The same with a mistake in it; its stage is one of the span's plan.
	#[must_use]
	pub fn with_mistake(self, mistake: Mistake) -> Self {
		Self { mistake: Some(mistake), ..self }
	}

	/// The same, that goes on past a loss or norm that is not finite, as if there were none: what nobody may do.
	#[must_use]
	pub fn going_on(self) -> Self {
		Self { goes_on: true, ..self }
	}

	/// What it holds.
	pub fn span(&self) -> Span {
		self.span
	}

	/// What it says about the interval, as far as it has recorded steps.
	pub fn record(&mut self) -> &mut Record {
		&mut self.record
	}

	fn rewind(&mut self) {
		for (place, values) in self.start.iter().enumerate() {
			self.trainer.set_vector(&mut self.arena, place, values);
		}
		if let Some(base) = &self.base {
			self.trainer.set_base(&mut self.arena, base);
		}
		self.done = 0;
	}

	/// The trace of step `step` of the interval from the state that the arena is in, with what is given as far as it is known.
	fn of_step(&self, step: u32, given: &GivenStep) -> Result<Trace, TraceError> {
		let state = self.trainer.state(&self.arena).map(|vector| Arc::new(vector.to_vec()));
		let rows = given.rows.iter().map(|rows| Arc::new(rows.clone()));
		let vectors = state.into_iter().chain(self.base.clone()).chain(rows).chain([Arc::new(given.sums.clone())]).collect();
		let number = self.first.saturating_add(step);
		let mistake = self.mistake.filter(|mistake| mistake.step == number);
		Trace::of_span(&self.exec, (&self.model, &self.train, self.span), vectors, &given.tokens, (self.round, number), mistake)
	}

	/// The span's parameters, first and second moments after the steps taken so far.
	pub fn state(&self) -> [Vec<f32>; 3] {
		self.trainer.state(&self.arena).map(std::borrow::Cow::into_owned)
	}

	/// Brings the arena to the state after `steps` steps of the interval.
	fn seek(&mut self, steps: u32) -> Result<(), SeekError<E>> {
		if self.done > steps {
			self.rewind();
		}
		while self.done < steps {
			let given = self.steps.get(self.done).map_err(SeekError::Source)?;
			let Some(step) = given.filter(|_| self.diverged != Some(self.done)) else {
				return Err(SeekError::Trace(StepError::Diverged.into()));
			};
			if self.is_mistaken(self.done) {
				let trace = self.of_step(self.done, &step)?;
				let state = [0, 1, 2].map(|result| trace.result(result));
				state.iter().enumerate().for_each(|(place, values)| self.trainer.set_vector(&mut self.arena, place, values));
				self.done = self.done.saturating_add(1);
			} else {
				self.step(&step)?;
			}
		}
		Ok(())
	}

	/// Whether a mistake is made in step `step` of the interval.
	fn is_mistaken(&self, step: u32) -> bool {
		self.mistake.is_some_and(|mistake| mistake.step == self.first.saturating_add(step))
	}

	/// Roots over its subtrees of each vector of the state after `steps` steps.
	fn roots_after(&mut self, steps: u32) -> Result<[Hash; 3], SeekError<E>> {
		self.seek(steps)?;
		Ok(self.trainer.state_roots(&self.arena).map(|roots| merkle_root(&roots)))
	}

	/// Its part of the state after each of the first `count` steps; fewer if they diverge.
	fn states(&mut self, count: u32) -> Result<Vec<Hash>, SeekError<E>> {
		let mut states = Vec::new();
		for step in 0..count {
			match self.roots_after(step.saturating_add(1)) {
				Ok(roots) => states.push(state_of(&roots)),
				Err(SeekError::Trace(TraceError::Step(StepError::Diverged))) => break,
				Err(error) => return Err(error),
			}
		}
		Ok(states)
	}

	/// The trace of step `step` of the interval.
	fn traced(&mut self, step: u32) -> Result<&Traced, PlayError<E>> {
		if self.traced.as_ref().is_none_or(|(traced, _)| *traced != step) {
			self.traced = None;
			self.seek(step)?;
			let given = self.steps.get(step).map_err(PlayError::Source)?.ok_or(PlayError::Position)?;
			let trace = self.of_step(step, &given)?;
			self.traced = Some((step, Traced::new(trace)));
		}
		self.traced.as_ref().map(|(_, traced)| traced).ok_or(PlayError::Position)
	}
}

impl SpanStory {
	/// Of the interval that begins with inner step `first` of a round, from the span's own parameters and moments before it, and of an adapter its part of
	/// the base.
	///
	/// # Errors
	/// [`TraceError::Setup`].
	///
	/// # Panics
	/// If a vector has another length than the span's layout.
	pub fn new(
		exec: Arc<Exec>,
		(model, train, span): (&ModelConfig, &TrainConfig, Span),
		(round, first): (u32, u32),
		start: [Vec<f32>; 3],
		base: Option<Vec<f32>>,
	) -> Result<Self, TraceError> {
		let mut story = Self::of(exec, (model, train, span), (round, first), start, base, Steps::Memory(Vec::new()))?;
		let base = story.trainer.base().zip(story.base.as_ref()).map(|(held, base)| held.roots(base, 1));
		story.record = Record::new(first, &story.trainer.state_roots(&story.arena), base.as_deref());
		Ok(story)
	}

	/// What the member gives in the next step, as far as it follows from what it is given: what is not known yet is empty.
	///
	/// # Errors
	/// [`TraceError`].
	pub fn gives(&self, given_rows: &GivenStep) -> Result<GaveStep, TraceError> {
		let rows = self.train.tokens_per_step() as usize * self.model.dim as usize;
		let mut known = given_rows.clone();
		known.rows.resize(given(&self.model, self.train.adapter.is_some(), self.span).len(), Vec::new());
		known.rows.iter_mut().for_each(|part| part.resize(rows, 0.0));
		known.sums.resize(self.trainer.sums(), 0.0);
		let trace = self.of_step(self.steps.len(), &known)?;
		let count = gave(&self.model, self.train.adapter.is_some(), self.span).len();
		let result = |place: usize| trace.result(place.saturating_add(3));
		let squares = trained_units(&self.model, self.train.adapter.is_some(), self.span).len();
		Ok(GaveStep { rows: (0..count).map(result).collect(), squares: (count..count + squares).flat_map(result).collect() })
	}

	/// Takes the next step, and notes it in the record.
	///
	/// # Errors
	/// [`TraceError`].
	pub fn take(&mut self, given: GivenStep, gave: &GaveStep) -> Result<(), TraceError> {
		self.note(given, gave);
		self.catch_up()?;
		self.record.state = self.trainer.state_roots(&self.arena);
		Ok(())
	}

	/// Notes the next step in the record.
	fn note(&mut self, given: GivenStep, gave: &GaveStep) {
		let root = |rows: &Vec<f32>| merkle_root(&row_tiles(rows, self.model.dim as usize));
		let roots = |all: &[Vec<f32>]| all.iter().map(root).collect();
		self.record.steps.push(StepRecord::new(roots(&given.rows), roots(&gave.rows), &gave.squares, &given.sums));
		if let Steps::Memory(steps) = &mut self.steps {
			steps.push(Arc::new(given));
		}
	}

	/// Brings the arena to the state after all steps so far.
	fn catch_up(&mut self) -> Result<(), TraceError> {
		self.seek(self.steps.len()).map_err(|error| match error {
			SeekError::Trace(error) => error,
			SeekError::Source(never) => match never {},
		})
	}
}

impl<E> Story for SpanStory<E> {
	type Error = E;

	fn roots(&mut self, _: u32, _: u32) -> Result<Vec<Hash>, PlayError<E>> {
		Err(PlayError::Position)
	}

	fn contents(&mut self, _: u32) -> Result<Contents, PlayError<E>> {
		Err(PlayError::Position)
	}

	fn trace(&mut self, job: Job) -> Result<&Traced, PlayError<E>> {
		match job {
			Job::Span { step, .. } => self.traced(step.checked_sub(self.first).ok_or(PlayError::Position)?),
			_ => Err(PlayError::Position),
		}
	}

	fn span_states(&mut self, stand: &Stand) -> Result<Vec<Hash>, PlayError<E>> {
		Ok(self.states(stand.states())?)
	}

	fn span_nodes(&mut self, stand: &Stand) -> Result<SpanNodes, PlayError<E>> {
		let before = self.roots_after(stand.step)?;
		let after = match stand.out {
			None => self.roots_after(stand.step.saturating_add(1))?,
			Some(_) => [Hash::default(); 3],
		};
		let place = stand.step as usize;
		let record = self.record.steps.get(place).cloned().ok_or(PlayError::Position)?;
		let proof = self.record.prove(stand.step).ok_or(PlayError::Position)?;
		let given = self.steps.get(stand.step).map_err(PlayError::Source)?.ok_or(PlayError::Position)?;
		let sums = canonical(&given.sums);
		let nodes = self.traced(stand.step)?.nodes.clone();
		Ok(SpanNodes { before, after, record, proof, sums, nodes })
	}
}

/// The entry to pick in a member's list of states: the first that is false, or the disputed step behind them.
pub(super) fn pick_state<E>(stand: &Stand, own: &[Hash], posted: &[Hash]) -> Result<u32, PlayError<E>> {
	match (first_difference(own, posted), stand.out) {
		(Some(index), _) => Ok(index),
		(None, Some(_)) => Ok(stand.states()),
		(None, None) => Err(PlayError::Nothing),
	}
}
