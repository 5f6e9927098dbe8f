//! Recomputing a member's part of an interval of inner steps, from what it was given; and all members' parts, for whoever says that one of them is false.

use super::{first_difference, story::Traced, Job, PlayError, Story};
use crate::{
	exec::{Arena, Exec, SetupError, SpanTrainer, StepError},
	trace::{Mistake, Trace, TraceError},
};
use core::convert::Infallible;
use neuroshard_graph::{
	config::{ModelConfig, TrainConfig},
	game::{canonical, state_of, Contents, Part, Record, Records, SpanNodes, Stand, StepRecord},
	merkle::{merkle_root, Hash},
	span::{gave, given, row_tiles, sums, trained_units, Seam, Span},
};
use std::{collections::BTreeMap, sync::Arc};

/// What a member is given in an inner step.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GivenStep {
	/// The batch, each sequence with the token that follows it. Whoever has neither embedding nor end needs no right ones.
	pub tokens: Vec<u32>,
	/// Rows and gradients of the whole batch, in the order of [`given`].
	pub rows: Vec<Vec<f32>>,
	/// Sums of the squares of the gradients of all units.
	pub sums: Vec<f32>,
}

/// What a member gives in an inner step, as far as others need it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GaveStep {
	/// Rows and gradients of the whole batch, in the order of [`gave`].
	pub rows: Vec<Vec<f32>>,
	/// Sums of the squares of the gradients of its units that are trained.
	pub squares: Vec<f32>,
}

/// A member's part of an interval, which can be run again from its start.
pub struct SpanStory {
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
	steps: Vec<GivenStep>,
	/// Steps that the arena is after.
	done: u32,
	traced: Option<(u32, Traced)>,
	mistake: Option<Mistake>,
	/// What it has signed.
	record: Record,
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
		let ways = (1..=train.batch).rev().filter(|micro| train.batch.is_multiple_of(*micro)).map(|micro| (micro, 1));
		// The largest micro-batches that there are: no bit depends on them.
		let mut trainers = ways.filter_map(|way| match SpanTrainer::new(exec.clone(), model, train, span, way) {
			Err(SetupError::MicroBatch { .. }) => None,
			other => Some(other),
		});
		let none = SetupError::MicroBatch { micro_batch: train.batch, batch: train.batch, seq_len: train.seq_len };
		let trainer = trainers.next().ok_or(none)??;
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
			steps: Vec::new(),
			done: 0,
			traced: None,
			mistake: None,
			record: Record::default(),
		};
		story.rewind();
		let base = story.trainer.base().zip(story.base.as_ref()).map(|(held, base)| held.roots(base, 1));
		story.record = Record::new(first, &story.trainer.state_roots(&story.arena), base.as_deref());
		Ok(story)
	}

	/// The same with a mistake in it; its stage is one of the span's plan.
	#[must_use]
	pub fn with_mistake(self, mistake: Mistake) -> Self {
		Self { mistake: Some(mistake), ..self }
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
		let trace = self.of_step(u32::try_from(self.steps.len()).unwrap_or(u32::MAX), &known)?;
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
		let root = |rows: &Vec<f32>| merkle_root(&row_tiles(rows, self.model.dim as usize));
		let roots = |all: &[Vec<f32>]| all.iter().map(root).collect();
		self.record.steps.push(StepRecord::new(roots(&given.rows), roots(&gave.rows), &gave.squares, &given.sums));
		self.steps.push(given);
		self.seek(u32::try_from(self.steps.len()).unwrap_or(u32::MAX))?;
		self.record.state = self.trainer.state_roots(&self.arena);
		Ok(())
	}

	/// The span's parameters, first and second moments after the steps taken so far.
	pub fn state(&self) -> [Vec<f32>; 3] {
		self.trainer.state(&self.arena).map(std::borrow::Cow::into_owned)
	}

	/// Brings the arena to the state after `steps` steps of the interval.
	fn seek(&mut self, steps: u32) -> Result<(), TraceError> {
		if self.done > steps {
			self.rewind();
		}
		while self.done < steps {
			let Some(step) = self.steps.get(self.done as usize).cloned() else { return Err(StepError::Diverged.into()) };
			let number = self.first.saturating_add(self.done);
			if self.mistake.is_some_and(|mistake| mistake.step == number) {
				let trace = self.of_step(self.done, &step)?;
				let state = [0, 1, 2].map(|result| trace.result(result));
				state.iter().enumerate().for_each(|(place, values)| self.trainer.set_vector(&mut self.arena, place, values));
			} else {
				self.step(&step, number)?;
			}
			self.done = self.done.saturating_add(1);
		}
		Ok(())
	}

	/// One step without a mistake.
	fn step(&mut self, step: &GivenStep, number: u32) -> Result<(), TraceError> {
		self.trainer.begin_step(&self.arena, &step.tokens)?;
		let segments = self.trainer.segments().len();
		let mut whole = step.rows.iter();
		let mut given = |is_given: bool| if is_given { whole.next() } else { None };
		let rows: Vec<_> = (0..segments).map(|segment| given(self.trainer.segments()[segment].rows_in.is_some())).collect();
		let gradients: Vec<_> = (0..segments).map(|segment| given(self.trainer.is_given_gradients(segment))).collect();
		let part = self.trainer.micro_tokens() * self.model.dim as usize;
		for micro in 0..self.trainer.micro_batches() {
			let of = |whole: Option<&Vec<f32>>| {
				let part = whole.and_then(|rows| rows.get(micro * part..(micro + 1) * part));
				part.map(<[f32]>::to_vec).unwrap_or_default()
			};
			for (segment, rows) in rows.iter().enumerate() {
				self.trainer.forward(&mut self.arena, segment, (micro, 0), &of(*rows));
			}
			for (segment, gradient) in gradients.iter().enumerate().rev() {
				self.trainer.backward(&mut self.arena, segment, (micro, 0), &of(*gradient));
			}
		}
		let mut own = vec![0.0; self.trainer.sums()];
		self.trainer.squares(&mut self.arena, &mut own);
		let index = u64::from(self.round) * u64::from(self.train.inner_steps) + u64::from(number);
		self.trainer.end_step(&mut self.arena, (&step.sums, 0.0), index, u64::from(number) + 1)?;
		Ok(())
	}

	/// Roots over its subtrees of each vector of the state after `steps` steps.
	fn roots_after(&mut self, steps: u32) -> Result<[Hash; 3], TraceError> {
		self.seek(steps)?;
		Ok(self.trainer.state_roots(&self.arena).map(|roots| merkle_root(&roots)))
	}

	/// Its part of the state after each of the first `count` steps; fewer if they diverge.
	fn states(&mut self, count: u32) -> Result<Vec<Hash>, TraceError> {
		let mut states = Vec::new();
		for step in 0..count {
			match self.roots_after(step.saturating_add(1)) {
				Ok(roots) => states.push(state_of(&roots)),
				Err(TraceError::Step(StepError::Diverged)) => break,
				Err(error) => return Err(error),
			}
		}
		Ok(states)
	}

	/// The trace of step `step` of the interval.
	fn traced(&mut self, step: u32) -> Result<&Traced, PlayError<Infallible>> {
		if self.traced.as_ref().is_none_or(|(traced, _)| *traced != step) {
			self.traced = None;
			self.seek(step)?;
			let given = self.steps.get(step as usize).ok_or(PlayError::Position)?;
			let trace = self.of_step(step, given)?;
			self.traced = Some((step, Traced::new(trace)));
		}
		self.traced.as_ref().map(|(_, traced)| traced).ok_or(PlayError::Position)
	}
}

impl Story for SpanStory {
	type Error = Infallible;

	fn roots(&mut self, _: u32, _: u32) -> Result<Vec<Hash>, PlayError<Infallible>> {
		Err(PlayError::Position)
	}

	fn contents(&mut self, _: u32) -> Result<Contents, PlayError<Infallible>> {
		Err(PlayError::Position)
	}

	fn trace(&mut self, job: Job) -> Result<&Traced, PlayError<Infallible>> {
		match job {
			Job::Span { step, .. } => self.traced(step.checked_sub(self.first).ok_or(PlayError::Position)?),
			_ => Err(PlayError::Position),
		}
	}

	fn span_states(&mut self, stand: &Stand) -> Result<Vec<Hash>, PlayError<Infallible>> {
		Ok(self.states(stand.states())?)
	}

	fn span_nodes(&mut self, stand: &Stand) -> Result<SpanNodes, PlayError<Infallible>> {
		let before = self.roots_after(stand.step)?;
		let after = match stand.out {
			None => self.roots_after(stand.step.saturating_add(1))?,
			Some(_) => [Hash::default(); 3],
		};
		let place = stand.step as usize;
		let record = self.record.steps.get(place).cloned().ok_or(PlayError::Position)?;
		let proof = self.record.prove(stand.step).ok_or(PlayError::Position)?;
		let sums = self.steps.get(place).map(|step| canonical(&step.sums)).ok_or(PlayError::Position)?;
		let nodes = self.traced(stand.step)?.nodes.clone();
		Ok(SpanNodes { before, after, record, proof, sums, nodes })
	}
}

/// All members' parts of an interval: of whoever leads a quorum, or says that one of its records is false.
pub struct QuorumStory {
	/// By number of the member.
	pub members: Vec<SpanStory>,
}

impl QuorumStory {
	/// Takes the next inner step of all members on a batch: what each gives the others are given. `tell` may put other rows, gradients and sums in the place
	/// of what a member gives.
	///
	/// # Errors
	/// [`TraceError`].
	pub fn step(&mut self, tokens: &[u32], mut tell: impl FnMut(usize, &mut GaveStep)) -> Result<(), TraceError> {
		let Some(first) = self.members.first() else { return Ok(()) };
		let (model, adapter) = (first.model.clone(), first.train.adapter.is_some());
		let mut known = BTreeMap::<Seam, Vec<f32>>::new();
		let mut gaves: Vec<GaveStep> = vec![GaveStep::default(); self.members.len()];
		let order: Vec<Vec<Seam>> = self.members.iter().map(|member| given(&model, adapter, member.span)).collect();
		let outs: Vec<Vec<Seam>> = self.members.iter().map(|member| gave(&model, adapter, member.span)).collect();
		let rows_of = |seams: &[Seam], known: &BTreeMap<Seam, Vec<f32>>| -> Vec<Vec<f32>> {
			seams.iter().map(|seam| known.get(seam).cloned().unwrap_or_default()).collect()
		};
		// Forwards, then backwards: every seam once, by whoever gives it.
		let units = model.layers.saturating_add(2);
		let forwards = (1..units).map(Seam::Rows);
		for seam in forwards.chain((1..units).rev().map(Seam::Gradient)) {
			let Some(member) = outs.iter().position(|outs| outs.contains(&seam)) else { continue };
			let step = GivenStep { tokens: tokens.to_vec(), rows: rows_of(&order[member], &known), sums: Vec::new() };
			let mut gives = self.members[member].gives(&step)?;
			tell(member, &mut gives);
			let place = outs[member].iter().position(|out| *out == seam);
			if let Some(rows) = place.and_then(|place| gives.rows.get(place)) {
				known.insert(seam, rows.clone());
			}
		}
		let mut all = vec![0.0; sums(&model, adapter) as usize];
		for (member, gaves) in gaves.iter_mut().enumerate() {
			let step = GivenStep { tokens: tokens.to_vec(), rows: rows_of(&order[member], &known), sums: Vec::new() };
			*gaves = self.members[member].gives(&step)?;
			tell(member, gaves);
			for (unit, square) in trained_units(&model, adapter, self.members[member].span).into_iter().zip(&gaves.squares) {
				all[unit as usize] = *square;
			}
		}
		for (member, gave) in gaves.iter().enumerate() {
			let step = GivenStep { tokens: tokens.to_vec(), rows: rows_of(&order[member], &known), sums: all.clone() };
			self.members[member].take(step, gave)?;
		}
		Ok(())
	}

	/// The first thing that a member says and that is not what this story gives: the member, the step, and which result; `None` for its state.
	fn doubt(&self, posted: &Records) -> Option<(u32, u32, Option<u32>)> {
		let first = self.members.first()?;
		let (model, adapter) = (&first.model, first.train.adapter.is_some());
		let units = model.layers.saturating_add(2);
		let seams: Vec<Seam> = (1..units).map(Seam::Rows).chain((1..units).rev().map(Seam::Gradient)).collect();
		let number = |place: usize| u32::try_from(place).ok();
		let steps = first.record.steps.len();
		for step in 0..steps {
			for seam in &seams {
				for (member, story) in self.members.iter().enumerate() {
					let Some(place) = gave(model, adapter, story.span).iter().position(|out| out == seam) else { continue };
					let said = posted.records.get(member)?.0.steps.get(step)?;
					if said.gave.get(place) != story.record.steps.get(step)?.gave.get(place) {
						return Some((number(member)?, number(step)?, number(place.saturating_add(3))));
					}
				}
			}
			for (member, story) in self.members.iter().enumerate() {
				let (said, own) = (posted.records.get(member)?.0.steps.get(step)?, story.record.steps.get(step)?);
				if let Some(place) = said.squares.iter().zip(&own.squares).position(|(said, own)| said != own) {
					let result = place.saturating_add(own.gave.len()).saturating_add(3);
					return Some((number(member)?, number(step)?, number(result)));
				}
			}
		}
		let differs = |(member, story): (usize, &SpanStory)| Some(posted.records.get(member)?.0.state != story.record.state);
		let member = self.members.iter().enumerate().position(|member| differs(member) == Some(true))?;
		Some((number(member)?, number(steps.checked_sub(1)?)?, None))
	}
}

impl Story for QuorumStory {
	type Error = Infallible;

	fn roots(&mut self, _: u32, _: u32) -> Result<Vec<Hash>, PlayError<Infallible>> {
		Err(PlayError::Position)
	}

	fn contents(&mut self, _: u32) -> Result<Contents, PlayError<Infallible>> {
		Err(PlayError::Position)
	}

	fn trace(&mut self, job: Job) -> Result<&Traced, PlayError<Infallible>> {
		match job {
			Job::Span { member, .. } => self.members.get_mut(member as usize).ok_or(PlayError::Position)?.trace(job),
			_ => Err(PlayError::Position),
		}
	}

	fn span_states(&mut self, stand: &Stand) -> Result<Vec<Hash>, PlayError<Infallible>> {
		self.members.get_mut(stand.member as usize).ok_or(PlayError::Position)?.span_states(stand)
	}

	fn span_nodes(&mut self, stand: &Stand) -> Result<SpanNodes, PlayError<Infallible>> {
		self.members.get_mut(stand.member as usize).ok_or(PlayError::Position)?.span_nodes(stand)
	}

	fn pick_record(&mut self, records: &Records, parts: &[Part]) -> Result<super::PickedRecord, PlayError<Infallible>> {
		let (member, step, out) = self.doubt(records).ok_or(PlayError::Nothing)?;
		let part = *parts.get(member as usize).ok_or(PlayError::Position)?;
		Ok(super::PickedRecord { member, part, step, out })
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
