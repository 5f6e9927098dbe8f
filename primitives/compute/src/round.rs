//! A participant's round: H inner steps from theta_r, with the state committed on the way, and the delta at the end.
//!
//! Training and replay run this same function: what it returns depends on its arguments only.

use crate::exec::{At, Backend, CodeError, DeviceError, Exec, StepError, StepOutcome, Trainer};
use neuroshard_graph::{
	commit::{state_root, tensors_root},
	config::{Code, F32},
	layout::ParamLayout,
	merkle::Hash,
	tiles::TILE,
	TrainConfig,
};
use std::{borrow::Cow, ops::ControlFlow};

/// What a round produced.
#[derive(Clone, PartialEq, Debug)]
pub struct RoundOutcome {
	/// `theta_r - theta_H`, or the difference of another base, or its code: what is sent, in [`ParamLayout::of_deltas`].
	pub delta: Vec<f32>,
	/// Merkle root over its tiles.
	pub delta_root: Hash,
	/// What the code does not say, if it leaves that to the next round.
	pub residual: Option<Residual>,
	/// State root after every `commit_interval` steps and after the last one.
	pub state_roots: Vec<Hash>,
	/// Loss of each step.
	pub losses: Vec<f32>,
}

impl RoundOutcome {
	/// Inner steps that were taken.
	pub fn steps(&self) -> u32 {
		u32::try_from(self.losses.len()).unwrap_or(u32::MAX)
	}
}

/// The residual that a round leaves.
#[derive(Clone, PartialEq, Debug)]
pub struct Residual {
	/// After the round, in parameter layout.
	pub after: Vec<f32>,
	/// Merkle roots over the tiles of the one before the round and of the one after it.
	pub roots: [Hash; 2],
}

/// What a participant sends of its delta.
#[derive(Clone, PartialEq, Debug)]
pub struct Sent {
	/// The delta or its code, in [`ParamLayout::of_deltas`].
	pub delta: Vec<f32>,
	/// Merkle root over its tiles.
	pub delta_root: Hash,
	/// What the code does not say, if it leaves that to the next round.
	pub residual: Option<Residual>,
}

impl Sent {
	/// Of `delta`, with the residual of the rounds before; for a code that leaves one, `None` is one of zeros.
	///
	/// # Errors
	/// As [`Self::of`].
	pub fn new(exec: &Exec, layout: &ParamLayout, train: &TrainConfig, delta: &[f32], residual: Option<&[f32]>) -> Result<Self, CodeError> {
		// The difference from zeros.
		let len = delta.len();
		let mut arena = vec![0.0; 2 * len];
		Self::of(exec, &mut arena[..], layout, train, (delta, 0..len), len..2 * len, residual)
	}

	/// Of the difference between `base` and what lies at `end`, as [`Self::new`]. What lies at `x`, which has the same length, is overwritten.
	///
	/// # Errors
	/// [`CodeError::Length`] for vectors of another model, or a residual where there is none; [`CodeError::Value`] if the delta is not finite, or what the code
	/// leaves of it. Nothing of it counts if the backend has failed.
	pub fn of<B: Backend>(
		backend: &B,
		arena: &mut B::Arena,
		layout: &ParamLayout,
		train: &TrainConfig,
		(base, end): (&[f32], At),
		x: At,
		residual: Option<&[f32]>,
	) -> Result<Self, CodeError> {
		[base.len(), end.len(), x.len()].into_iter().try_for_each(|len| CodeError::expect(layout.len(), len))?;
		let (code, residual) = (train.code(), residual.filter(|_| train.code().is_some()));
		let decay = code.and_then(Code::decay);
		match (decay, residual) {
			(None, None) => {}
			(None, Some(residual)) => CodeError::expect(0, residual.len())?,
			(Some(_), None) => backend.fill(arena, x.clone(), 0.0),
			(Some(_), Some(residual)) => {
				CodeError::expect(layout.len(), residual.len())?;
				backend.write(arena, x.start, residual);
			}
		}
		let before = decay.map(|_| backend.tensors_root(arena, layout, x.clone()));
		backend.delta(arena, base, end, decay.map(F32::get), x.clone());
		let numbers = code.map(|code| backend.encode(arena, code, &layout.tiling(), x.clone())).transpose()?;
		if !backend.is_finite(arena, x.clone()) {
			return Err(CodeError::Value);
		}
		let after = |arena: &B::Arena| (backend.view(arena, x.clone()).into_owned(), backend.tensors_root(arena, layout, x.clone()));
		let residual = before.map(|before| {
			let (after, root) = after(arena);
			Residual { after, roots: [before, root] }
		});
		let (delta, delta_root) = match numbers {
			None => after(arena),
			Some(numbers) => {
				let root = tensors_root(&ParamLayout::of_code(numbers.len() / TILE), &numbers, backend.host().threads());
				(numbers, root)
			}
		};
		Ok(Self { delta, delta_root, residual })
	}
}

/// A step that has just ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
	/// Inner steps done, from 1.
	pub step: u32,
	/// What the step measured.
	pub outcome: StepOutcome,
	/// State root, if the state was committed after this step.
	pub state_root: Option<Hash>,
}

/// Why a round goes on no further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
	/// It is complete: its time is over, and it may end here ([`TrainConfig::may_end_after`]).
	Ends,
	/// It is given up.
	Abandoned,
}

/// Why a round has no outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RoundError<E> {
	/// The tokens of a sequence could not be had.
	#[error("no tokens for step {step}: {source}")]
	Source {
		/// Inner step, from 0.
		step: u32,
		/// Why.
		source: E,
	},
	/// A step failed; [`StepError::Diverged`] is an outcome to report, not a fault.
	#[error("inner step {step}: {source}")]
	Step {
		/// Inner step, from 0.
		step: u32,
		/// Why.
		source: StepError,
	},
	/// The progress callback gave it up.
	#[error("stopped before the round was complete")]
	Stopped,
	/// The progress callback ended it after so many steps, where no round may end.
	#[error("a round of this run cannot end after {0} inner steps")]
	Early(u32),
	/// The delta is not finite.
	#[error("diverged: the parameters left the finite numbers")]
	Diverged,
	/// The inner state to go on from is none of this round's.
	#[error("the inner state after {0} steps is none of this round's")]
	State(u32),
	/// Parameters or arena have a wrong length.
	#[error("{found} elements where {expected} are needed")]
	Length {
		/// Elements needed.
		expected: usize,
		/// Elements given.
		found: usize,
	},
}

impl<E> From<CodeError> for RoundError<E> {
	fn from(error: CodeError) -> Self {
		match error {
			CodeError::Length { expected, found } => Self::Length { expected, found },
			CodeError::Value => Self::Diverged,
		}
	}
}

/// Parameters, first and second moments, in parameter layout.
#[derive(Clone, Copy)]
pub enum Vectors<'a> {
	/// In this machine's memory.
	Here([&'a [f32]; 3]),
	/// Where they are computed: each is read when it is asked for.
	There(&'a dyn Fn(usize) -> Option<Cow<'a, [f32]>>),
}

impl<'a> Vectors<'a> {
	/// One of the vectors, by its place; a device's is copied each time. `None` if the device failed.
	pub fn one(&self, place: usize) -> Option<Cow<'a, [f32]>> {
		match self {
			Self::Here(vectors) => vectors.get(place).map(|vector| Cow::Borrowed(*vector)),
			Self::There(read) => read(place),
		}
	}

	/// All of them, one after the other, as `of` makes them; `None` if the device failed.
	pub fn map<T>(&self, of: impl Fn(&[f32]) -> T) -> Option<[T; 3]> {
		let one = |place| self.one(place).map(|vector| of(&vector));
		Some([one(0)?, one(1)?, one(2)?])
	}
}

/// Where a round is after some inner steps: all that its other steps depend on, and what it has given so far.
#[derive(Clone, Copy)]
pub struct InnerState<'a> {
	/// Inner steps done.
	pub step: u32,
	/// Parameters and moments.
	pub vectors: Vectors<'a>,
	/// Roots of the states that were committed, this one among them if it is one of them.
	pub state_roots: &'a [Hash],
	/// Loss of each step.
	pub losses: &'a [f32],
}

impl InnerState<'_> {
	/// A copy to go on from; `None` if the device failed.
	pub fn to_owned(&self) -> Option<Reached> {
		let (state_roots, losses) = (self.state_roots.to_vec(), self.losses.to_vec());
		Some(Reached { step: self.step, vectors: self.vectors.map(<[f32]>::to_vec)?, state_roots, losses })
	}

	/// Its root, if it is one that is committed.
	pub fn root(&self, config: &TrainConfig) -> Option<Hash> {
		self.state_roots.last().filter(|_| config.commits_after(self.step)).copied()
	}
}

/// An [`InnerState`] to go on from.
#[derive(Clone, PartialEq, Debug)]
pub struct Reached {
	/// Inner steps done.
	pub step: u32,
	/// Parameters, first and second moments.
	pub vectors: [Vec<f32>; 3],
	/// Roots of the states that were committed.
	pub state_roots: Vec<Hash>,
	/// Loss of each step.
	pub losses: Vec<f32>,
}

impl Reached {
	/// Whether a round of this configuration and so many parameters can be there.
	pub fn is_of(&self, config: &TrainConfig, parameters: usize) -> bool {
		let committed = (1..=self.step.min(config.inner_steps)).filter(|step| config.commits_after(*step)).count();
		(1..=config.inner_steps).contains(&self.step)
			&& self.vectors.iter().all(|vector| vector.len() == parameters)
			&& (self.state_roots.len(), u32::try_from(self.losses.len())) == (committed, Ok(self.step))
	}
}

/// What a round starts from.
#[derive(Clone, PartialEq, Debug)]
pub struct RoundStart<'a> {
	/// Parameters of the checkpoint, theta_r.
	pub theta: &'a [f32],
	/// Rounds that were adopted before it.
	pub adopted_rounds: u32,
	/// Parameters that the delta is the difference from, if not from [`Self::theta`].
	pub base: Option<&'a [f32]>,
	/// Residual of the rounds before; for a code that leaves one, `None` is one of zeros.
	pub residual: Option<&'a [f32]>,
	/// Where this round was before, if it goes on. It gives the same as from its first step if this was its state there.
	pub reached: Option<Reached>,
	/// Whether it ends where it was, if it may.
	pub ends: bool,
}

impl<'a> RoundStart<'a> {
	/// A round from its first step on.
	pub fn new(theta: &'a [f32], adopted_rounds: u32) -> Self {
		Self { theta, adopted_rounds, base: None, residual: None, reached: None, ends: false }
	}
}

/// Runs a round from `start`. Of an adapter, the model beside it is in the arena: see [`Trainer::model_mut`].
///
/// `tokens(step, sequence, buffer)` fills in the `seq_len + 1` tokens of a sequence of an inner step, both from 0.
/// `inner_state` sees the state after every step; then `progress` hears of the step, and may end the round there or give it up. Moments start at zero, t at 1; the schedule
/// index of a step is `adopted_rounds * inner_steps + step`. Afterwards the arena holds the last inner state.
///
/// # Errors
/// [`RoundError`].
pub fn run_round<E, B: Backend>(
	trainer: &mut Trainer<B>,
	arena: &mut B::Arena,
	start: RoundStart<'_>,
	mut tokens: impl FnMut(u32, u32, &mut [u32]) -> Result<(), E>,
	mut progress: impl FnMut(Progress) -> ControlFlow<Stop>,
	mut inner_state: impl FnMut(InnerState<'_>),
) -> Result<RoundOutcome, RoundError<E>> {
	let RoundStart { theta, adopted_rounds, base, residual, reached, ends } = start;
	let base = base.unwrap_or(theta);
	let expect = |expected: usize, found: usize, good: bool| if good { Ok(()) } else { Err(RoundError::Length { expected, found }) };
	expect(trainer.layout().len(), theta.len(), theta.len() == trainer.layout().len())?;
	expect(theta.len(), base.len(), base.len() == theta.len())?;
	let backend = trainer.exec().clone();
	expect(trainer.arena_len(), backend.len(arena), backend.len(arena) >= trainer.arena_len())?;
	let config = trainer.config().clone();
	let (done_before, mut state_roots, mut losses) = match reached {
		None => {
			trainer.begin(arena, theta);
			(0, Vec::new(), Vec::new())
		}
		Some(state) if state.is_of(&config, theta.len()) => {
			trainer.set_state(arena, state.vectors.each_ref().map(Vec::as_slice));
			(state.step, state.state_roots, state.losses)
		}
		Some(state) => return Err(RoundError::State(state.step)),
	};

	let first_index = u64::from(adopted_rounds) * u64::from(config.inner_steps);
	let mut batch = vec![0; trainer.batch_tokens()];
	let per_sequence = batch.len() / config.batch as usize;
	let last = if ends && config.may_end_after(done_before) { done_before } else { config.inner_steps };
	for step in done_before..last {
		for (sequence, buffer) in (0..).zip(batch.chunks_exact_mut(per_sequence)) {
			tokens(step, sequence, buffer).map_err(|source| RoundError::Source { step, source })?;
		}
		let (done, t) = (step + 1, u64::from(step) + 1);
		let outcome =
			trainer.train_step(arena, &batch, first_index + u64::from(step), t).map_err(|source| RoundError::Step { step, source })?;
		losses.push(outcome.loss);
		let failed = |error: DeviceError| RoundError::Step { step, source: error.into() };
		// What a device that fails meanwhile gives is never taken for a state.
		let read = |place: usize| {
			let vector = trainer.vector(&*arena, place)?;
			backend.settled().is_ok().then_some(vector)
		};
		let state_root = config.commits_after(done).then(|| {
			let [params, first, second] = trainer.state_roots(&*arena);
			state_root(&params, &first, &second, done, u64::from(done) * u64::from(config.batch))
		});
		backend.settled().map_err(failed)?;
		state_roots.extend(state_root);
		inner_state(InnerState { step: done, vectors: Vectors::There(&read), state_roots: &state_roots, losses: &losses });
		backend.settled().map_err(failed)?;
		match progress(Progress { step: done, outcome, state_root }) {
			ControlFlow::Continue(()) => {}
			ControlFlow::Break(Stop::Abandoned) => return Err(RoundError::Stopped),
			ControlFlow::Break(Stop::Ends) if config.may_end_after(done) => break,
			ControlFlow::Break(Stop::Ends) => return Err(RoundError::Early(done)),
		}
	}
	let sent = trainer.sent(arena, base, residual);
	backend.settled().map_err(|error| RoundError::Step { step: last, source: error.into() })?;
	let Sent { delta, delta_root, residual } = sent?;
	Ok(RoundOutcome { delta, delta_root, residual, state_roots, losses })
}
