//! Work that is not what a round's inner steps on its windows give.

use super::{Deed, Fault};
use crate::{
	data::{
		loader::{Assignment, Loader},
		DataError,
	},
	engine::{Engine, EngineError},
	train::{
		checkpoint::Checkpoint,
		round::{TrainError, Trained, Training},
	},
};
use neuroshard_graph::{
	commit::{state_root, tensors_root},
	exec::StepError,
	player::{PlayError, Story, WorkStory},
	tiles,
	trace::TraceError,
};
use neuroshard_types::{run::Work, RoundIndex, RunId, H256};
use rand::Rng;
use std::sync::atomic::AtomicBool;

/// Where in a run the work is due.
#[derive(Clone, Copy, Debug)]
pub struct Position {
	/// The run.
	pub run: RunId,
	/// Its round.
	pub round: RoundIndex,
	/// Seed of the round's windows, and place among the participants.
	pub windows: (H256, u32),
}

/// What `fault` has its worker reveal in place of the work that is due at `position`; `None` if that is to be done as it should be, or
/// is an accomplice's.
///
/// # Errors
/// [`TrainError`] as for honest work.
pub fn false_work(
	fault: &Fault,
	position: Position,
	engine: &mut Engine,
	checkpoint: &Checkpoint,
	loader: &Loader,
) -> Result<Option<Trained>, TrainError> {
	let Position { run, round, windows: (seed, place) } = position;
	if !fault.happens_in(round) {
		return Ok(None);
	}
	match fault.deed {
		Deed::Noise => noise(fault, (run, round), engine).map(Some),
		Deed::FewerSteps => {
			let windows = Windows::new(engine, loader, seed, place);
			fewer_steps(engine, checkpoint, &windows).map(Some)
		}
		Deed::WrongShard => {
			let training = Training::start(engine, checkpoint, loader, place, fault.window_seed(run, round, seed))?;
			training.run(&AtomicBool::new(false), |_| {}).map(Some)
		}
		Deed::BitFlip | Deed::Silence => {
			let windows = Windows::new(engine, loader, seed, place);
			flipped(fault, (run, round), engine, checkpoint, &windows).map(Some)
		}
		Deed::Copy(_) | Deed::HandOver | Deed::WrongAggregate | Deed::WrongOuterStep | Deed::LazyAudit => Ok(None),
	}
}

/// The windows of one participant.
struct Windows<'a> {
	loader: &'a Loader,
	assignment: Assignment,
}

impl<'a> Windows<'a> {
	fn new(engine: &Engine, loader: &'a Loader, seed: H256, position: u32) -> Self {
		Self { loader, assignment: crate::train::round::assignment(engine, position, seed) }
	}

	fn read(&self, step: u32, sequence: u32, tokens: &mut [u16]) -> Result<(), DataError> {
		let windows = self.loader.step_windows(&self.assignment, step)?;
		let window = usize::try_from(sequence).ok().and_then(|sequence| windows.get(sequence));
		let missing = || DataError::Invalid(format!("no window was drawn for sequence {sequence}"));
		self.loader.read(*window.ok_or_else(missing)?, tokens)
	}

	/// All tokens of a step.
	fn batch(&self, step: u32) -> Result<Vec<u16>, DataError> {
		let Assignment { batch, seq_len, .. } = self.assignment;
		let mut all = Vec::new();
		for sequence in 0..batch {
			let mut tokens = vec![0; seq_len as usize + 1];
			self.read(step, sequence, &mut tokens)?;
			all.extend(tokens);
		}
		Ok(all)
	}
}

/// Steps after which a state is committed.
fn committed(engine: &Engine) -> impl Iterator<Item = u32> {
	let train = engine.train_config().clone();
	(1..=train.inner_steps).filter(move |&done| train.commits_after(done))
}

fn trained(engine: &Engine, roots: Vec<H256>, delta: &[f32]) -> Result<Trained, TrainError> {
	let bytes = tiles::encode(engine.layout(), delta);
	let count = roots.len();
	let work = Work {
		state_roots: roots.try_into().map_err(|_| TrainError::StateRoots(count))?,
		delta_root: H256(tensors_root(engine.layout(), delta, engine.exec().threads())),
		delta_bytes: bytes.len() as u64,
		tokens: engine.train_config().tokens_per_round(),
	};
	Ok(Trained { work, delta: bytes, losses: Vec::new() })
}

/// Numbers as small as those of a delta, and roots of nothing.
fn noise(fault: &Fault, (run, round): (RunId, RoundIndex), engine: &Engine) -> Result<Trained, TrainError> {
	let mut random = fault.random(run, round);
	let roots = committed(engine).map(|_| H256(random.gen())).collect();
	let delta: Vec<f32> = (0..engine.layout().len()).map(|_| random.gen_range(-1e-3f32..1e-3)).collect();
	trained(engine, roots, &delta)
}

/// Stops half way, and goes on committing to that state as if steps were still done.
fn fewer_steps(engine: &mut Engine, checkpoint: &Checkpoint, windows: &Windows<'_>) -> Result<Trained, TrainError> {
	let train = engine.train_config().clone();
	let half = train.inner_steps.div_ceil(2);
	let first_index = u64::from(checkpoint.header.round).saturating_mul(train.inner_steps.into());
	let mut roots = Vec::new();
	let mut commit = |engine: &Engine, done: u32| -> Result<(), TrainError> {
		let [params, first, second] = engine.state_roots()?;
		roots.push(H256(state_root(&params, &first, &second, done, u64::from(done).saturating_mul(train.batch.into()))));
		Ok(())
	};
	engine.load(&checkpoint.params)?;
	for done in 1..=train.inner_steps {
		if let Some(step) = done.checked_sub(1).filter(|&step| step < half) {
			let index = first_index.saturating_add(step.into());
			engine.train_step(&windows.batch(step)?, index, done.into()).map_err(|error| match error {
				EngineError::Step(StepError::Diverged) => TrainError::Diverged(Some(step)),
				other => other.into(),
			})?;
		}
		if train.commits_after(done) {
			commit(engine, done)?;
		}
	}
	let end = engine.theta()?;
	let mut delta = vec![0.0; end.len()];
	engine.exec().sub(&checkpoint.params, &end, &mut delta);
	trained(engine, roots, &delta)
}

/// The round with one wrong bit.
fn flipped(
	fault: &Fault,
	(run, round): (RunId, RoundIndex),
	engine: &Engine,
	checkpoint: &Checkpoint,
	windows: &Windows<'_>,
) -> Result<Trained, TrainError> {
	let (model, train) = (engine.model(), engine.train_config());
	let mistake = fault.mistake(run, round, model, train).map_err(|error| EngineError::Setup(error.into()))?;
	tracing::warn!(?mistake, "one wrong bit in round {round}");
	let start = (checkpoint.params.clone(), checkpoint.header.momentum.0);
	let read = |step: u32, sequence: u32, tokens: &mut [u16]| windows.read(step, sequence, tokens);
	let story = WorkStory::new(engine.exec().clone(), model, train, checkpoint.header.round, start, read).map_err(EngineError::from)?;
	let mut story = match mistake {
		Some(mistake) => story.with_mistake(mistake),
		None => story,
	};
	let mut roots = Vec::new();
	for done in committed(engine) {
		roots.extend(story.roots(done.saturating_sub(1), 1).map_err(untold)?.into_iter().map(H256));
	}
	let (delta, _) = story.delta().map_err(untold)?.ok_or(TrainError::Diverged(None))?;
	trained(engine, roots, &delta)
}

/// Why there is no story to be told.
fn untold(error: PlayError<DataError>) -> TrainError {
	match error {
		PlayError::Source(error) => error.into(),
		PlayError::Trace(TraceError::Setup(error)) => EngineError::Setup(error).into(),
		PlayError::Trace(TraceError::Step(error)) => EngineError::Step(error).into(),
		_ => TrainError::Diverged(None),
	}
}
