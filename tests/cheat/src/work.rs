//! Work that is not what a round's inner steps on its windows give.

use super::{Deed, Fault};
use neuroshard_compute::{
	exec::StepError,
	player::{PlayError, Story, WorkStart, WorkStory},
	round::{Residual, Sent},
	trace::TraceError,
};
use neuroshard_data::{
	loader::{Assignment, Loader},
	DataError,
};
use neuroshard_graph::{
	commit::{state_root, tensors_root},
	Hash,
};
use neuroshard_roles::{Conduct, Due};
use neuroshard_training::{
	checkpoint::Checkpoint,
	engine::{Engine, EngineError},
	round::{TrainError, Trained, Training},
};
use neuroshard_types::{assignment::Draw, RoundIndex, RunId};
use rand::Rng;
use std::sync::{atomic::AtomicBool, Arc};

/// What `fault` has its worker reveal in place of the work that is `due`, from a checkpoint and with a delta from another one if it is a bridge;
/// `None` if that is to be done as it should be, or is an accomplice's.
///
/// # Errors
/// [`TrainError`] as for honest work.
pub fn false_work(
	fault: &Fault,
	due: Due,
	engine: &mut Engine,
	(checkpoint, base): (&Checkpoint, Option<&Checkpoint>),
	loader: &Loader,
) -> Result<Option<Trained>, TrainError> {
	let Due { run, round, draw, position: place, residual } = due;
	if !fault.happens_in(round) {
		return Ok(None);
	}
	match fault.deed {
		Deed::Noise => noise(fault, (run, round), engine, residual.as_deref()).map(Some),
		Deed::FewerSteps => {
			let windows = Windows::new(engine, loader, draw, place);
			fewer_steps(engine, (checkpoint, base), &windows, residual.as_deref()).map(Some)
		}
		Deed::WrongShard => {
			let draw = Draw { seed: fault.window_seed(run, round, draw.seed), ..draw };
			let training = Training::start(engine, checkpoint, loader, place, draw)?;
			training
				.with_base(base.map(|base| base.params.as_slice()))
				.with_residual(residual)
				.run(&AtomicBool::new(false), |_| {})
				.map(Some)
		}
		Deed::WrongMask => {
			let loader = fault.reader(round, loader.clone());
			let training = Training::start(engine, checkpoint, &loader, place, draw)?.with_base(base.map(|base| base.params.as_slice()));
			let trained = training.with_residual(residual).run(&AtomicBool::new(false), |_| {})?;
			Ok(Some(trained))
		}
		Deed::WrongBase => {
			let Some(right) = engine.model_beside()?.map(Arc::new) else { return Ok(None) };
			engine.load_model(&fault.model_beside(round, right.clone()))?;
			let trained = Training::start(engine, checkpoint, loader, place, draw).and_then(|training| {
				let training = training.with_base(base.map(|base| base.params.as_slice())).with_residual(residual);
				training.run(&AtomicBool::new(false), |_| {})
			});
			engine.load_model(&right)?;
			trained.map(Some)
		}
		Deed::BitFlip(_) | Deed::Silence => {
			let windows = Windows::new(engine, loader, draw, place);
			flipped(fault, (run, round), engine, (checkpoint, base), &windows, residual).map(Some)
		}
		Deed::Copy(_) | Deed::HandOver | Deed::WrongAggregate | Deed::WrongOuterStep | Deed::Slip(_) | Deed::LazyAudit => Ok(None),
	}
}

/// The windows of one participant.
struct Windows<'a> {
	loader: &'a Loader,
	assignment: Assignment,
}

impl<'a> Windows<'a> {
	fn new(engine: &Engine, loader: &'a Loader, draw: Draw, position: u32) -> Self {
		Self { loader, assignment: Assignment::new(engine.train_config(), position, draw) }
	}

	fn read(&self, step: u32, sequence: u32, tokens: &mut [u32]) -> Result<(), DataError> {
		let windows = self.loader.step_windows(&self.assignment, step)?;
		let window = usize::try_from(sequence).ok().and_then(|sequence| windows.get(sequence));
		let missing = || DataError::Invalid(format!("no window was drawn for sequence {sequence}"));
		self.loader.read(*window.ok_or_else(missing)?, tokens)
	}

	/// All tokens of a step.
	fn batch(&self, step: u32) -> Result<Vec<u32>, DataError> {
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

/// What is revealed of a round with these state roots and this delta.
fn trained(engine: &Engine, roots: Vec<Hash>, delta: Vec<f32>, residual: Option<&[f32]>) -> Result<Trained, TrainError> {
	let sent = Sent::new(engine.exec(), engine.layout(), engine.train_config(), &delta, residual);
	Trained::new(engine, engine.train_config().inner_steps, roots, sent.map_err(|_| TrainError::Diverged(None))?, Vec::new())
}

/// Numbers as small as those of a delta, and roots of nothing.
fn noise(fault: &Fault, (run, round): (RunId, RoundIndex), engine: &Engine, residual: Option<&[f32]>) -> Result<Trained, TrainError> {
	let mut random = fault.random(run, round);
	let roots = committed(engine).map(|_| random.gen()).collect();
	let delta: Vec<f32> = (0..engine.layout().len()).map(|_| random.gen_range(-1e-3f32..1e-3)).collect();
	trained(engine, roots, delta, residual)
}

/// Stops half way, and goes on committing to that state as if steps were still done.
fn fewer_steps(
	engine: &mut Engine,
	(checkpoint, base): (&Checkpoint, Option<&Checkpoint>),
	windows: &Windows<'_>,
	residual: Option<&[f32]>,
) -> Result<Trained, TrainError> {
	let train = engine.train_config().clone();
	let half = train.inner_steps.div_ceil(2);
	let first_index = u64::from(checkpoint.header.round).saturating_mul(train.inner_steps.into());
	let mut roots = Vec::new();
	let mut commit = |engine: &Engine, done: u32| -> Result<(), TrainError> {
		let [params, first, second] = engine.state_roots()?;
		roots.push(state_root(&params, &first, &second, done, u64::from(done).saturating_mul(train.batch.into())));
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
	engine.exec().sub(&base.unwrap_or(checkpoint).params, &end, &mut delta);
	trained(engine, roots, delta, residual)
}

/// The round with one wrong bit.
fn flipped(
	fault: &Fault,
	(run, round): (RunId, RoundIndex),
	engine: &Engine,
	(checkpoint, base): (&Checkpoint, Option<&Checkpoint>),
	windows: &Windows<'_>,
	residual: Option<Vec<f32>>,
) -> Result<Trained, TrainError> {
	let (model, train) = (engine.model(), engine.train_config());
	let mistake = fault.mistake(run, round, model, train).map_err(|error| EngineError::Setup(error.into()))?;
	tracing::warn!(?mistake, "one wrong bit in round {round}");
	let (theta, momentum, beside) = (checkpoint.params.clone(), checkpoint.header.momentum.0, engine.model_beside()?.map(Arc::new));
	let start = WorkStart { theta, momentum, model: beside };
	let read = |step: u32, sequence: u32, tokens: &mut [u32]| windows.read(step, sequence, tokens);
	let story = WorkStory::new(engine.exec().clone(), model, train, checkpoint.header.round, start, read).map_err(EngineError::from)?;
	let story = match base {
		Some(base) => story.with_base((base.params.clone(), base.header.momentum.0)).map_err(EngineError::from)?,
		None => story,
	};
	let before = residual.clone();
	let story = story.with_residual(residual);
	let mut story = match mistake {
		Some(mistake) => story.with_mistake(mistake),
		None => story,
	};
	let mut roots = Vec::new();
	for done in committed(engine) {
		roots.extend(story.roots(done.saturating_sub(1), 1).map_err(untold)?);
	}
	let (delta, delta_root) = story.delta().map_err(untold)?.ok_or(TrainError::Diverged(None))?;
	let residual = story.residual().map_err(untold)?.map(|(after, root)| {
		let zeros = vec![0.0; after.len()];
		let before = tensors_root(engine.layout(), before.as_deref().unwrap_or(&zeros), engine.exec().threads());
		Residual { after, roots: [before, root] }
	});
	Trained::new(engine, engine.train_config().inner_steps, roots, Sent { delta, delta_root, residual }, Vec::new())
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
