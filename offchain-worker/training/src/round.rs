//! A participant's round: inner steps on the assigned windows, then the delta and what is revealed of it.

use super::checkpoint::Checkpoint;
use crate::engine::{Engine, EngineError, JobError};
use neuroshard_compute::{
	exec::{StepError, ValidationError},
	round::{InnerState, Progress, Reached, Residual, RoundError, RoundOutcome, RoundStart, Sent, Stop},
};
use neuroshard_data::{
	loader::{Assignment, Loader},
	DataError,
};
use neuroshard_graph::{tiles, Hash};
use neuroshard_types::{
	assignment::{Draw, Window},
	run::Work,
	F32, H256,
};
use std::{
	ops::ControlFlow,
	sync::atomic::{AtomicBool, Ordering},
};

/// Why a round gives no work.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
	/// The engine failed.
	#[error(transparent)]
	Engine(#[from] EngineError),
	/// A window could not be read.
	#[error("inner step {step}: {source}")]
	Data {
		/// Inner step, from 0.
		step: u32,
		/// Why.
		source: DataError,
	},
	/// A held-out window could not be read.
	#[error("validation sequence {sequence}: {source}")]
	Validation {
		/// Sequence, from 0.
		sequence: u32,
		/// Why.
		source: DataError,
	},
	/// The dataset does not fit the run.
	#[error(transparent)]
	Dataset(#[from] DataError),
	/// The loss, the gradient norm or the delta is not finite. An outcome of the job: excluded and unpaid, not a fault.
	#[error("the training diverged{at}: nothing to reveal in this round", at = .0.map(|step| format!(" in inner step {step}")).unwrap_or_default())]
	Diverged(Option<u32>),
	/// The caller cancelled it.
	#[error("the round was cancelled")]
	Cancelled,
	/// The inner state to go on from is none of this round's.
	#[error("the inner state after {0} steps is none of this round's")]
	State(u32),
	/// Work of other bounds than the chain's; a validated configuration has none.
	#[error("the round gave {0} state roots, more than a reveal may carry")]
	StateRoots(usize),
}

/// A round that is about to be trained.
pub struct Training<'a> {
	engine: &'a mut Engine,
	checkpoint: &'a Checkpoint,
	loader: &'a Loader,
	windows: Vec<Vec<Window>>,
	/// Parameters that the delta is the difference from, if not the checkpoint's.
	base: Option<&'a [f32]>,
	residual: Option<Vec<f32>>,
	/// Decides whether the round ends after so many inner steps; called where it may.
	ends: Box<dyn FnMut(u32) -> bool + 'a>,
}

/// A trained round: what is committed to, revealed, and handed to the others.
#[derive(Clone, PartialEq, Debug)]
pub struct Trained {
	/// Work that is sealed and later revealed.
	pub work: Work,
	/// The encoded delta, as it is sent; its content identifier is `work.delta_root`.
	pub delta: Vec<u8>,
	/// The encoded residual after the round, where deltas are sent as a code that leaves one; its content identifier is the last of `work.state_roots`.
	pub residual: Option<Vec<u8>>,
	/// Loss of each inner step.
	pub losses: Vec<f32>,
}

impl Trained {
	/// Puts together a round of so many inner steps with these state roots that sends `sent`.
	///
	/// # Errors
	/// [`TrainError::StateRoots`] for more roots than a reveal carries.
	pub fn new(engine: &Engine, steps: u32, state_roots: Vec<Hash>, sent: Sent, losses: Vec<f32>) -> Result<Self, TrainError> {
		let Sent { delta, delta_root, residual } = sent;
		let delta = tiles::encode(engine.delta_layout(), &delta);
		let of_residual = residual.iter().flat_map(|residual| residual.roots);
		let roots: Vec<H256> = state_roots.into_iter().chain(of_residual).map(H256).collect();
		let count = roots.len();
		let work = Work {
			state_roots: roots.try_into().map_err(|_| TrainError::StateRoots(count))?,
			delta_root: H256(delta_root),
			delta_bytes: delta.len() as u64,
			tokens: engine.train_config().tokens_after(steps),
		};
		let residual = residual.map(|Residual { after, .. }| tiles::encode(engine.layout(), &after));
		Ok(Self { work, delta, residual, losses })
	}
}

impl<'a> Training<'a> {
	/// Draws the windows of the participant at `position` (its place among the round's participants, account bytes
	/// ascending) for the round that starts from `checkpoint` and has this draw.
	///
	/// # Errors
	/// [`TrainError::Dataset`] if the dataset is too small, [`TrainError::Engine`] for a checkpoint of another model.
	pub fn start(
		engine: &'a mut Engine,
		checkpoint: &'a Checkpoint,
		loader: &'a Loader,
		position: u32,
		draw: Draw,
	) -> Result<Self, TrainError> {
		let assignment = Assignment::new(engine.train_config(), position, draw);
		let (expected, found) = (engine.layout().len(), checkpoint.params.len());
		if expected != found {
			return Err(EngineError::Parameters { expected, found }.into());
		}
		let windows = (0..assignment.inner_steps).map(|step| loader.step_windows(&assignment, step)).collect::<Result<_, _>>()?;
		Ok(Self { engine, checkpoint, loader, windows, base: None, residual: None, ends: Box::new(|_| false) })
	}

	/// The same round, whose delta is the difference from these parameters, if there are any; otherwise it is from those that it starts from.
	#[must_use]
	pub fn with_base(self, base: Option<&'a [f32]>) -> Self {
		Self { base, ..self }
	}

	/// The same round with this residual of the rounds before it; without, it is one of zeros where deltas are sent as a code that leaves one.
	#[must_use]
	pub fn with_residual(self, residual: Option<Vec<f32>>) -> Self {
		Self { residual, ..self }
	}

	/// The same round, which `ends` is asked about after every inner step after which it may end: whether it does.
	#[must_use]
	pub fn ending(self, ends: impl FnMut(u32) -> bool + 'a) -> Self {
		Self { ends: Box::new(ends), ..self }
	}

	/// Runs the inner steps. `progress` hears of each; raising `cancel` ends the round after the current step.
	///
	/// # Errors
	/// [`TrainError`]; [`TrainError::Diverged`] and [`TrainError::Cancelled`] are outcomes, not faults.
	pub fn run(self, cancel: &AtomicBool, progress: impl FnMut(&Progress)) -> Result<Trained, TrainError> {
		self.run_keeping(None, cancel, progress, |_| {})
	}

	/// [`Self::run`] from where this round was before, if it goes on; `keep` is given the state after every step.
	///
	/// # Errors
	/// As [`Self::run`].
	pub fn run_keeping(
		self,
		reached: Option<Reached>,
		cancel: &AtomicBool,
		mut progress: impl FnMut(&Progress),
		keep: impl FnMut(InnerState<'_>),
	) -> Result<Trained, TrainError> {
		let Self { engine, checkpoint, loader, windows, base, residual, mut ends } = self;
		let train = engine.train_config().clone();
		let window = |step: u32, sequence: u32| windows.get(step as usize)?.get(sequence as usize).copied();
		let read = |step: u32, sequence: u32, tokens: &mut [u32]| match window(step, sequence) {
			Some(window) => loader.read(window, tokens),
			None => Err(DataError::Invalid(format!("no window was drawn for sequence {sequence}"))),
		};
		let is_over = reached.as_ref().is_some_and(|reached| train.may_end_after(reached.step) && ends(reached.step));
		let heard = |step: Progress| {
			progress(&step);
			if cancel.load(Ordering::Relaxed) {
				return ControlFlow::Break(Stop::Abandoned);
			}
			match train.may_end_after(step.step) && ends(step.step) {
				true => ControlFlow::Break(Stop::Ends),
				false => ControlFlow::Continue(()),
			}
		};
		let (theta, adopted_rounds, residual) = (checkpoint.params.as_slice(), checkpoint.header.round, residual.as_deref());
		let start = RoundStart { theta, adopted_rounds, base, residual, reached, ends: is_over };
		let outcome = engine.run_round(start, read, heard, keep);
		let outcome = outcome.map_err(round_error)?;
		let RoundOutcome { delta, delta_root, residual, state_roots, losses } = outcome;
		let steps = u32::try_from(losses.len()).unwrap_or(u32::MAX);
		Trained::new(engine, steps, state_roots, Sent { delta, delta_root, residual }, losses)
	}
}

/// Held-out loss of `params`, nats per token: the same bits on every machine.
///
/// # Errors
/// [`TrainError::Validation`], [`TrainError::Dataset`], [`TrainError::Diverged`] or [`TrainError::Engine`].
pub fn validation_loss(engine: &mut Engine, params: &[f32], loader: &Loader) -> Result<F32, TrainError> {
	let (count, seq_len) = (engine.train_config().validation_sequences, engine.train_config().seq_len);
	let windows = loader.validation_windows(count, seq_len)?;
	let read = |sequence: u32, tokens: &mut [u32]| match windows.get(sequence as usize) {
		Some(window) => loader.read(*window, tokens),
		None => Err(DataError::Invalid("no such sequence".into())),
	};
	engine.validation_loss(params, read).map(F32::new).map_err(round_error)
}

pub(crate) fn round_error(error: JobError<DataError>) -> TrainError {
	match error {
		JobError::Engine(error) => error.into(),
		JobError::Round(RoundError::Source { step, source }) => TrainError::Data { step, source },
		JobError::Round(RoundError::Step { step, source: StepError::Diverged }) => TrainError::Diverged(Some(step)),
		JobError::Round(RoundError::Step { source, .. }) => EngineError::Step(source).into(),
		JobError::Round(RoundError::Stopped) => TrainError::Cancelled,
		JobError::Round(RoundError::Diverged) | JobError::Validation(ValidationError::Step(StepError::Diverged)) => {
			TrainError::Diverged(None)
		}
		JobError::Round(RoundError::State(step) | RoundError::Early(step)) => TrainError::State(step),
		JobError::Round(RoundError::Length { expected, found }) => EngineError::Parameters { expected, found }.into(),
		JobError::Validation(ValidationError::Source { sequence, source }) => TrainError::Validation { sequence, source },
		JobError::Validation(ValidationError::Step(source)) => EngineError::Step(source).into(),
	}
}
