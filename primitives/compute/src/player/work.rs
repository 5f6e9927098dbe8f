//! Recomputing a round of inner steps, as far as a game asks for it.

mod quorum;

use super::{story::Traced, Job, PickedRecord, PlayError, Story};
use crate::{
	exec::{Arena, Exec, SetupError, StepError, Trainer},
	trace::{Mistake, Trace, TraceError},
};
use neuroshard_graph::{
	commit::{state_root, tensors_root},
	config::{ModelConfig, TrainConfig},
	game::{Contents, Doubt, Part, Records, SpanNodes, Stand},
	merkle::Hash,
};
use quorum::Members;
use std::{collections::BTreeMap, sync::Arc};

/// Most bytes of an interval's states that are kept, unless one state alone has more.
const KEPT_BYTES: usize = 1 << 30;

/// Parameters, first and second moments.
type State = [Arc<Vec<f32>>; 3];

/// States that are kept somewhere: gives the last one after `most` inner steps at most and more than `known`, with the steps that it is after.
pub type States = dyn FnMut(u32, u32) -> Option<(u32, [Vec<f32>; 3])> + Send + Sync;

/// What a round starts from.
pub struct WorkStart {
	/// Parameters of the checkpoint, theta_r.
	pub theta: Vec<f32>,
	/// Root of its outer momentum.
	pub momentum: Hash,
	/// Parameters of the model that an adapter is beside; `None` without an adapter.
	pub model: Option<Arc<Vec<f32>>>,
}

impl From<(Vec<f32>, Hash)> for WorkStart {
	fn from((theta, momentum): (Vec<f32>, Hash)) -> Self {
		Self { theta, momentum, model: None }
	}
}

/// A round that can be run again from its start to any of its steps.
pub struct WorkStory<R> {
	model: ModelConfig,
	train: TrainConfig,
	/// Inner steps of the round.
	steps: u32,
	round: u32,
	exec: Arc<Exec>,
	trainer: Trainer,
	/// Empty while the trace of a step has it.
	arena: Arena,
	start: WorkStart,
	/// What the delta is the difference from, with the root of its outer momentum, if it is not what the inner steps start from.
	base: Option<(Vec<f32>, Hash)>,
	/// Residual before the round, for a code that leaves one.
	residual: Option<Vec<f32>>,
	read: R,
	/// Inner steps that the arena's state is after.
	done: u32,
	/// States to start from again, by the inner steps that they are after: a game goes back into an interval whose end was computed.
	kept: BTreeMap<u32, State>,
	/// Memory of states that are kept no more: fresh memory costs more than the copy into it.
	spare: Vec<Vec<f32>>,
	/// Roots of the vectors, by the inner steps that they are after.
	known: BTreeMap<u32, [Hash; 3]>,
	/// More of them, that would take too much memory.
	stored: Option<Box<States>>,
	/// Step that diverged.
	diverged: Option<u32>,
	traced: Option<(Job, Traced)>,
	mistake: Option<Mistake>,
	/// Who is said to have done it, if that is a quorum.
	members: Option<Members>,
}

impl<E, R: FnMut(u32, u32, &mut [u32]) -> Result<(), E>> WorkStory<R> {
	/// The round that starts from `start` after `round` adopted rounds.
	/// `read(step, sequence, buffer)` fills in the `seq_len + 1` tokens of a sequence of an inner step.
	///
	/// # Errors
	/// [`SetupError`] for a configuration that is refused, or parameters of another model.
	pub fn new(
		exec: Arc<Exec>,
		model: &ModelConfig,
		train: &TrainConfig,
		round: u32,
		start: impl Into<WorkStart>,
		read: R,
	) -> Result<Self, SetupError> {
		let start = start.into();
		let trainer = Trainer::new(exec.clone(), model, train)?;
		let mut arena = Arena::new(trainer.arena_len());
		let beside = trainer.model_mut(&mut arena);
		let lengths = [beside.as_ref().map_or(0, |beside| beside.len()), start.model.as_ref().map_or(0, |model| model.len())];
		if start.theta.len() != trainer.layout().len() || lengths[0] != lengths[1] {
			return Err(neuroshard_graph::config::ConfigError::Dimension.into());
		}
		if let (Some(beside), Some(model)) = (beside, &start.model) {
			exec.copy(model, beside);
		}
		trainer.theta_mut(&mut arena).copy_from_slice(&start.theta);
		let (model, train) = (model.clone(), train.clone());
		let (done, kept, spare, known) = (0, BTreeMap::new(), Vec::new(), BTreeMap::new());
		let (stored, diverged, traced, mistake) = (None, None, None, None);
		Ok(Self {
			model,
			steps: train.inner_steps,
			train,
			round,
			exec,
			trainer,
			arena,
			start,
			base: None,
			residual: None,
			read,
			done,
			kept,
			spare,
			known,
			stored,
			diverged,
			traced,
			mistake,
			members: None,
		})
	}

	/// The same round, whose delta is the difference from other parameters than it starts from; with the root of the outer momentum in their checkpoint.
	///
	/// # Errors
	/// [`SetupError`] for parameters of another model.
	pub fn with_base(self, base: (Vec<f32>, Hash)) -> Result<Self, SetupError> {
		if base.0.len() != self.start.theta.len() {
			return Err(neuroshard_graph::config::ConfigError::Dimension.into());
		}
		Ok(Self { base: Some(base), ..self })
	}

	/// The same round, ended after so many inner steps.
	#[must_use]
	pub fn with_steps(self, steps: u32) -> Self {
		Self { steps, ..self }
	}

	/// The same round with parameters, first and second moments known after `steps` of its inner steps: what follows can be recomputed
	/// without the steps before.
	///
	/// # Errors
	/// [`SetupError`] for vectors of another model.
	pub fn with_state(mut self, steps: u32, state: [Vec<f32>; 3]) -> Result<Self, SetupError> {
		if state.iter().any(|vector| vector.len() != self.start.theta.len()) {
			return Err(neuroshard_graph::config::ConfigError::Dimension.into());
		}
		self.kept.insert(steps, state.map(Arc::new));
		Ok(self)
	}

	/// The same round with this residual of the rounds before it; without, it is one of zeros where deltas are sent as a code that leaves one.
	#[must_use]
	pub fn with_residual(self, residual: Option<Vec<f32>>) -> Self {
		let traced = self.traced.filter(|(job, _)| *job != Job::Delta);
		Self { residual, traced, ..self }
	}

	/// The same round with states known that are read when they save steps: `states(known, most)` gives the last one after more than `known`
	/// and at most `most` inner steps, if there is one. One of another model is as good as none.
	#[must_use]
	pub fn with_states(self, states: Box<States>) -> Self {
		Self { stored: Some(states), ..self }
	}

	/// The same round with a mistake in it.
	#[must_use]
	pub fn with_mistake(self, mistake: Mistake) -> Self {
		Self { mistake: Some(mistake), ..self }
	}

	/// The first thing in revealed work that is not what this round gives; `None` if all of it is.
	///
	/// # Errors
	/// [`PlayError::Source`] or [`PlayError::Trace`].
	pub fn doubt(&mut self, state_roots: &[Hash], delta_root: Hash) -> Result<Option<Doubt>, PlayError<E>> {
		self.audit(state_roots, delta_root, None).map(|(doubt, _)| doubt)
	}

	/// What [`Self::doubt`] says, and the root of the state after inner step `sampled`, counted from 0, whatever was revealed: `None` if the
	/// round diverges before, or has no such step. Each step is computed once.
	///
	/// # Errors
	/// [`PlayError::Source`] or [`PlayError::Trace`].
	pub fn audit(
		&mut self,
		state_roots: &[Hash],
		delta_root: Hash,
		sampled: Option<u32>,
	) -> Result<(Option<Doubt>, Option<Hash>), PlayError<E>> {
		let until = sampled.map(|step| step.saturating_add(1)).filter(|&until| until <= self.steps);
		let mut sample = None;
		for (number, claimed) in (0..self.train.state_roots_after(self.steps)).zip(state_roots) {
			let first = self.train.commit_interval.saturating_mul(number);
			let end = self.steps.min(first.saturating_add(self.train.commit_interval));
			if self.seek(first)? {
				self.keep_only_before(first);
				self.keep();
			}
			if let Some(until) = until.filter(|&until| first < until && until <= end) {
				sample = self.root_after(until)?;
			}
			if self.root_after(end)? != Some(*claimed) {
				if let Some(until) = until.filter(|&until| end < until) {
					sample = self.root_after(until)?;
				}
				return Ok((Some(Doubt::Interval(number)), sample));
			}
		}
		if !self.seek(self.steps)? {
			return Ok((None, sample));
		}
		// After the states come the residual before the round, which is agreed on, and the one after it.
		let residual = state_roots.iter().skip(self.train.state_roots_after(self.steps) as usize).nth(1);
		let claimed = core::iter::once(&delta_root).chain(residual);
		let differs = !self.trace(Job::Delta)?.trace.all_result_roots().iter().eq(claimed);
		Ok((differs.then_some(Doubt::Delta), sample))
	}

	/// Root of the state after `steps` inner steps; `None` if the round diverges before.
	fn root_after(&mut self, steps: u32) -> Result<Option<Hash>, PlayError<E>> {
		let cursor = u64::from(steps) * u64::from(self.train.batch);
		let roots = self.vector_roots(steps)?;
		Ok(roots.map(|[params, first, second]| state_root(&params, &first, &second, steps, cursor)))
	}

	/// Roots of parameters and moments after `steps` inner steps, which are computed once; `None` if the round diverges before.
	fn vector_roots(&mut self, steps: u32) -> Result<Option<[Hash; 3]>, PlayError<E>> {
		if let Some(&roots) = self.known.get(&steps) {
			return Ok(Some(roots));
		}
		if !self.kept.contains_key(&steps) && !self.seek(steps)? {
			return Ok(None);
		}
		let kept = self.kept.get(&steps).map(|state| state.each_ref().map(|vector| vector.as_slice()));
		let vectors = kept.unwrap_or_else(|| self.vectors());
		let roots = vectors.map(|values| tensors_root(self.trainer.layout(), values, self.exec.threads()));
		self.known.insert(steps, roots);
		Ok(Some(roots))
	}

	/// What the code of the delta leaves as the residual, and its root; `None` if the round diverges, or the code leaves none.
	///
	/// # Errors
	/// [`PlayError::Source`] or [`PlayError::Trace`].
	pub fn residual(&mut self) -> Result<Option<(Vec<f32>, Hash)>, PlayError<E>> {
		if !self.seek(self.steps)? {
			return Ok(None);
		}
		let trace = &self.trace(Job::Delta)?.trace;
		let root = trace.all_result_roots().get(1).copied();
		Ok(root.map(|root| (trace.result(1), root)))
	}

	/// Delta of the whole round as it is sent, and its root; `None` if it diverges.
	///
	/// # Errors
	/// [`PlayError::Source`] or [`PlayError::Trace`].
	pub fn delta(&mut self) -> Result<Option<(Vec<f32>, Hash)>, PlayError<E>> {
		if !self.seek(self.steps)? {
			return Ok(None);
		}
		let trace = &self.trace(Job::Delta)?.trace;
		Ok(Some((trace.result(0), trace.result_roots::<1>().ok_or(PlayError::Position)?[0])))
	}

	fn vectors(&self) -> [&[f32]; 3] {
		[self.trainer.theta(&self.arena), self.trainer.first_moment(&self.arena), self.trainer.second_moment(&self.arena)]
	}

	/// How many steps apart states of an interval of `count` steps are kept, so that they take at most [`KEPT_BYTES`].
	fn steps_between_kept(&self, count: u32) -> u32 {
		let room = KEPT_BYTES.checked_div(12 * self.start.theta.len()).and_then(|states| u32::try_from(states).ok()).unwrap_or(1);
		count.div_ceil(room.max(1)).max(1)
	}

	/// A copy of the arena's state.
	fn state(&mut self) -> State {
		let mut spare = core::mem::take(&mut self.spare);
		let state = self.vectors().map(|values| {
			let mut copy = spare.pop().unwrap_or_else(|| vec![0.0; values.len()]);
			self.exec.copy(values, &mut copy);
			Arc::new(copy)
		});
		self.spare = spare;
		state
	}

	/// Keeps the arena's state.
	fn keep(&mut self) {
		if !self.kept.contains_key(&self.done) {
			let state = self.state();
			self.kept.insert(self.done, state);
		}
	}

	/// Of the states that are kept, leaves only the last one up to `steps`.
	fn keep_only_before(&mut self, steps: u32) {
		let last = self.kept.range(..=steps).next_back().map(|(&kept, _)| kept);
		let gone = core::mem::take(&mut self.kept).into_iter();
		let (left, gone): (BTreeMap<_, _>, BTreeMap<_, _>) = gone.partition(|(kept, _)| Some(*kept) == last);
		self.kept = left;
		self.spare.extend(gone.into_values().flatten().filter_map(Arc::into_inner));
	}

	fn tokens(&mut self, step: u32) -> Result<Vec<u32>, PlayError<E>> {
		let mut batch = vec![0; self.trainer.batch_tokens()];
		let per_sequence = batch.len() / self.train.batch as usize;
		for (sequence, buffer) in (0..).zip(batch.chunks_exact_mut(per_sequence)) {
			(self.read)(step, sequence, buffer).map_err(PlayError::Source)?;
		}
		Ok(batch)
	}

	/// Takes the arena back from the trace that has it, which is gone then.
	fn take_arena(&mut self) {
		if self.arena.is_empty() {
			self.arena = self.traced.take().map(|(_, traced)| traced.trace.into_arena()).unwrap_or_default();
		}
	}

	/// Brings the arena to the state after `steps` inner steps. `false` if the round diverges before.
	fn seek(&mut self, steps: u32) -> Result<bool, PlayError<E>> {
		self.take_arena();
		if self.diverged.is_some_and(|step| step < steps) {
			return Ok(false);
		}
		let kept = self.kept.range(..=steps).next_back();
		if let Some((&kept, state)) = kept.filter(|(kept, _)| self.done > steps || self.done < **kept) {
			self.trainer.set_state(&mut self.arena, state.each_ref().map(|vector| vector.as_slice()));
			self.done = kept;
		} else if self.done > steps {
			self.trainer.theta_mut(&mut self.arena).copy_from_slice(&self.start.theta);
			self.trainer.reset_moments(&mut self.arena);
			self.done = 0;
		}
		// One step is sooner computed than read.
		let stored = self.stored.as_mut().filter(|_| steps.saturating_sub(self.done) > 1).and_then(|states| states(self.done, steps));
		let (known, len) = (self.done, self.start.theta.len());
		let fits = |at: u32, state: &[Vec<f32>; 3]| (known + 1..=steps).contains(&at) && state.iter().all(|vector| vector.len() == len);
		if let Some((at, state)) = stored.filter(|(at, state)| fits(*at, state)) {
			self.trainer.set_state(&mut self.arena, state.each_ref().map(Vec::as_slice));
			self.done = at;
		}
		while self.done < steps {
			let (step, tokens) = (self.done, self.tokens(self.done)?);
			if self.mistake.is_some_and(|mistake| mistake.step == step) {
				let before = self.state();
				let trace = self.step(step, before, &tokens)?.computed(Arena::default(), 0);
				self.trainer.set_state(&mut self.arena, [0, 1, 2].map(|result| trace.result(result)).each_ref().map(Vec::as_slice));
			} else {
				let index = u64::from(self.round) * u64::from(self.train.inner_steps) + u64::from(step);
				match self.trainer.train_step(&mut self.arena, &tokens, index, u64::from(step) + 1) {
					Ok(_) => {}
					Err(StepError::Diverged) => {
						self.diverged = Some(step);
						return Ok(false);
					}
					Err(error) => return Err(TraceError::from(error).into()),
				}
			}
			self.done = step + 1;
		}
		Ok(true)
	}

	/// Step `step` from the state before it, to be traced.
	fn step(&self, step: u32, before: State, tokens: &[u32]) -> Result<Trace, TraceError> {
		let before = before.into_iter().chain(self.start.model.clone()).collect();
		Trace::of_step(&self.exec, &self.model, &self.train, before, tokens, (self.round, step), self.mistake)
	}
}

impl<E, R: FnMut(u32, u32, &mut [u32]) -> Result<(), E>> Story for WorkStory<R> {
	type Error = E;

	fn roots(&mut self, first: u32, count: u32) -> Result<Vec<Hash>, PlayError<E>> {
		// Whoever posts these will be asked for one of the steps.
		self.keep_only_before(first);
		let every = self.steps_between_kept(count);
		let mut roots = Vec::new();
		for (number, done) in (0..count).zip(first..) {
			if !self.seek(done)? {
				break;
			}
			if number % every == 0 {
				self.keep();
			}
			let Some(root) = self.root_after(done.saturating_add(1))? else { break };
			roots.push(root);
		}
		Ok(roots)
	}

	fn contents(&mut self, step: u32) -> Result<Contents, PlayError<E>> {
		if step == 0 {
			let params = tensors_root(self.trainer.layout(), &self.start.theta, self.exec.threads());
			return Ok(Contents::Checkpoint([params, self.start.momentum]));
		}
		self.vector_roots(step)?.map(Contents::State).ok_or(PlayError::Position)
	}

	fn base(&mut self) -> Result<[Hash; 2], PlayError<E>> {
		let (params, momentum) =
			self.base.as_ref().map_or((&self.start.theta, self.start.momentum), |(params, momentum)| (params, *momentum));
		Ok([tensors_root(self.trainer.layout(), params, self.exec.threads()), momentum])
	}

	fn span_states(&mut self, stand: &Stand) -> Result<Vec<Hash>, PlayError<E>> {
		self.member_states(stand)
	}

	fn span_nodes(&mut self, stand: &Stand) -> Result<SpanNodes, PlayError<E>> {
		self.member_nodes(stand)
	}

	fn pick_record(&mut self, records: &Records, parts: &[Part]) -> Result<PickedRecord, PlayError<E>> {
		self.picked_record(records, parts)
	}

	fn trace(&mut self, job: Job) -> Result<&Traced, PlayError<E>> {
		if let Job::Span { step, .. } = job {
			return self.member_traced(job, step);
		}
		if self.traced.as_ref().is_none_or(|(traced, _)| *traced != job) {
			// Two traces at a time could be more than the machine has.
			self.take_arena();
			self.traced = None;
			let trace = match job {
				Job::Step(step) => {
					if !self.kept.contains_key(&step) && !self.seek(step)? {
						return Err(PlayError::Position);
					}
					let before = match self.kept.get(&step) {
						Some(kept) => kept.clone(),
						None => self.state(),
					};
					let tokens = self.tokens(step)?;
					// Memory that has been used costs less than fresh memory. The state at its beginning stays.
					let trace = self.step(step, before, &tokens)?;
					let trace = trace.computed(core::mem::take(&mut self.arena), self.trainer.state_end());
					match step.checked_add(1).and_then(|after| self.known.get(&after)) {
						Some(roots) => trace.with_result_roots(roots),
						None => trace,
					}
				}
				Job::Delta if self.seek(self.steps)? => {
					let base = self.base.as_ref().map_or(&self.start.theta, |(params, _)| params);
					let ends = [&**base, self.trainer.theta(&self.arena)];
					let mistake = self.mistake.filter(|mistake| mistake.step == self.steps);
					Trace::of_delta(&self.exec, &self.model, &self.train, ends, self.residual.as_deref(), mistake)?
				}
				Job::Delta | Job::Outer(_) | Job::Read | Job::Span { .. } => return Err(PlayError::Position),
			};
			self.traced = Some((job, Traced::new(trace)));
		}
		self.traced.as_ref().map(|(_, traced)| traced).ok_or(PlayError::Position)
	}
}
