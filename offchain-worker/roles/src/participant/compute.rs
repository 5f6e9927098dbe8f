//! The compute thread: owns engine and checkpoints, runs one job at a time, at low priority.

use crate::{actor::guarded::panicked, content::Content, memory::Needs, participant::decide::task::Drawn, WorkerError};
use neuroshard_compute::exec::StepMemory;
use neuroshard_store::Store;
use neuroshard_support::memory::available_memory;
use neuroshard_training::{
	checkpoint::Checkpoint,
	engine::{Device, Engine, EngineError},
	priority::lower_thread_priority,
};
use neuroshard_types::{run::RunConfig, RunId, H256};
use std::{
	panic::{catch_unwind, AssertUnwindSafe},
	sync::{
		atomic::{AtomicUsize, Ordering},
		Arc, Mutex, MutexGuard, PoisonError,
	},
	time::{Duration, Instant},
};
use tokio::sync::{mpsc, oneshot};

/// State that the compute thread holds between jobs.
pub(super) struct ThreadState {
	threads: usize,
	/// What takes inner steps and measures losses.
	device: Device,
	/// Tells how many bytes of memory are available.
	available: fn() -> Option<u64>,
	engine: Option<(RunId, Engine)>,
	/// The newest adopted checkpoint.
	pub(super) current: Option<Checkpoint>,
	/// Another one that inner steps start from: an earlier one where rounds overlap, one of another cohort at a bridge.
	pub(super) before: Option<Checkpoint>,
	/// The result of the newest outer step.
	pub(super) next: Option<Checkpoint>,
}

impl ThreadState {
	fn new(threads: usize, device: Device, available: fn() -> Option<u64>) -> Self {
		Self { threads, device, available, engine: None, current: None, before: None, next: None }
	}

	/// Threads of a job.
	pub(super) fn threads(&self) -> usize {
		self.threads
	}

	/// Lets go of everything that has a model's size.
	fn clear(&mut self) {
		(self.engine, self.current, self.before, self.next) = (None, None, None, None);
	}

	/// How steps of a run spend this machine's memory.
	fn memory(&self, run: RunId, config: &RunConfig) -> Result<StepMemory, WorkerError> {
		let memory = needs(config)?.participant((self.available)())?;
		if let Some(sequences) = memory.micro_batch {
			tracing::info!(run, sequences, recompute = memory.recompute, "memory is short: steps are taken in micro-batches");
		} else if memory.recompute {
			tracing::info!(run, "memory is short: steps compute activations again");
		}
		Ok(memory)
	}

	/// Has the CPU compute from now on, if `error` is the device's: whoever tries again goes on from what is stored.
	fn leave_device(&mut self, error: &WorkerError) {
		if error.is_of_device() {
			tracing::warn!("{error}. The CPU computes from now on");
			self.clear();
			self.device = Device::Cpu;
		}
	}

	/// The engine of `run`, made anew if the one at hand is another run's; with it, the checkpoints. Nothing is made that does not fit into memory.
	///
	/// # Errors
	/// [`WorkerError::TooLittleMemory`], or [`WorkerError::Engine`] for a configuration that is refused.
	pub(super) fn prepare(&mut self, run: RunId, config: &RunConfig) -> Result<Prepared<'_>, WorkerError> {
		if self.engine.as_ref().is_none_or(|(other, _)| *other != run) {
			// Two arenas at a time could be more than the machine has.
			self.clear();
			let memory = match self.device {
				Device::Cpu => Some(self.memory(run, config)?),
				Device::OpenCl(_) => {
					needs(config)?.beside_device((self.available)())?;
					None
				}
			};
			let engine = Engine::on(self.device, &config.model, &config.train, self.threads, memory)?;
			if !engine.is_on_cpu() {
				tracing::info!(run, "{} takes the inner steps: it computes the bits of the CPU", engine.is_on());
			}
			self.engine = Some((run, engine));
		}
		match &mut self.engine {
			Some((_, engine)) => Ok(Prepared { engine, current: &mut self.current, before: &mut self.before, next: &mut self.next }),
			None => Err(WorkerError::Stopped),
		}
	}
}

fn needs(config: &RunConfig) -> Result<Needs, WorkerError> {
	Ok(Needs::of(config).map_err(|error| EngineError::Setup(error.into()))?)
}

/// Engine and checkpoints of one run.
pub(super) struct Prepared<'a> {
	pub(super) engine: &'a mut Engine,
	pub(super) current: &'a mut Option<Checkpoint>,
	pub(super) before: &'a mut Option<Checkpoint>,
	pub(super) next: &'a mut Option<Checkpoint>,
}

/// Returns a predicate for checkpoints with this root.
fn is(root: H256) -> impl Fn(&&Checkpoint) -> bool {
	move |checkpoint| checkpoint.header.root() == root
}

impl Prepared<'_> {
	/// Loads the model that the run's adapter is beside into the engine, if it is not there yet.
	///
	/// # Errors
	/// [`WorkerError`] if it is not in the store.
	pub(super) fn load_base(&mut self, config: &RunConfig, store: &Store) -> Result<(), WorkerError> {
		if self.engine.lacks_model() {
			if let Some(params) = Content::read_base(store, config)? {
				self.engine.load_model(&params)?;
			}
		}
		Ok(())
	}

	/// Engine and the checkpoint with this root: the loaded one or, where rounds overlap, an earlier one, which is read from the store if need be.
	///
	/// # Errors
	/// [`WorkerError::NotLoaded`] if it is neither, or damaged.
	pub(super) fn at(
		&mut self,
		(run, config): (RunId, &RunConfig),
		root: H256,
		store: &Store,
	) -> Result<(&mut Engine, &Checkpoint), WorkerError> {
		let (engine, checkpoint, _) = self.found(run, (root, None), config.overlaps, store)?;
		Ok((engine, checkpoint))
	}

	/// Engine and the checkpoint that the inner steps of `drawn` start from: as [`Self::at`], and at a bridge one of another cohort, with the one that the
	/// delta is the difference from.
	///
	/// # Errors
	/// [`WorkerError::NotLoaded`] if one is not here, or damaged.
	pub(super) fn starting_at(
		&mut self,
		(run, config): (RunId, &RunConfig),
		drawn: &Drawn,
		store: &Store,
	) -> Result<(&mut Engine, &Checkpoint, Option<&Checkpoint>), WorkerError> {
		self.found(run, (drawn.start, drawn.base), config.overlaps || drawn.base.is_some(), store)
	}

	/// The checkpoint with this root, read from the `store` if it `may_be_read`, and the loaded one if `base` is its root.
	fn found(
		&mut self,
		run: RunId,
		(root, base): (H256, Option<H256>),
		may_be_read: bool,
		store: &Store,
	) -> Result<(&mut Engine, &Checkpoint, Option<&Checkpoint>), WorkerError> {
		let here = [&*self.current, &*self.before].into_iter().flatten().any(|one| is(root)(&one));
		if may_be_read && !here {
			let threads = self.engine.exec().threads();
			let read = Content::read_checkpoint(store, run, root, self.engine.layout(), threads);
			*self.before = read.inspect_err(|error| tracing::warn!("{error}")).ok();
		}
		let (current, before) = (self.current.as_ref(), self.before.as_ref());
		let start = [current, before].into_iter().flatten().find(is(root)).ok_or(WorkerError::NotLoaded { root })?;
		let loaded = |root| current.filter(is(root)).ok_or(WorkerError::NotLoaded { root });
		Ok((self.engine, start, base.map(loaded).transpose()?))
	}
}

type Job = Box<dyn FnOnce(&mut ThreadState) + Send>;

/// Handle of the compute thread, which ends with the last of them.
#[derive(Clone)]
pub(super) struct Compute {
	jobs: mpsc::Sender<Job>,
	/// Jobs that wait for the one under way.
	waiting: Arc<AtomicUsize>,
	busy: Arc<Mutex<Busy>>,
	started: Instant,
}

/// Time that jobs took.
#[derive(Default)]
struct Busy {
	/// Those that are over.
	over: Duration,
	/// Time at which the one under way began.
	since: Option<Instant>,
}

impl Compute {
	/// Starts the thread; jobs compute on a device, and with `threads` threads.
	pub(super) fn start(threads: usize, device: Device) -> std::io::Result<Self> {
		let (jobs, mut incoming) = mpsc::channel::<Job>(1);
		let (waiting, busy) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Busy::default())));
		let noted = busy.clone();
		std::thread::Builder::new().name("compute".into()).spawn(move || {
			if !lower_thread_priority() {
				tracing::debug!("the system keeps the compute thread at normal priority");
			}
			let mut state = ThreadState::new(threads, device, available_memory);
			while let Some(job) = incoming.blocking_recv() {
				let begun = Instant::now();
				lock(&noted).since = Some(begun);
				job(&mut state);
				let mut busy = lock(&noted);
				(busy.over, busy.since) = (busy.over.saturating_add(begun.elapsed()), None);
			}
		})?;
		Ok(Self { jobs, waiting, busy, started: Instant::now() })
	}

	/// Returns a function that tells whether another job waits for the one under way, which may let it go first.
	pub(super) fn is_wanted(&self) -> impl Fn() -> bool + Send + 'static {
		let waiting = self.waiting.clone();
		move || waiting.load(Ordering::Relaxed) > 0
	}

	/// Time that jobs took, the one under way included, and time since the thread was started.
	pub(super) fn times(&self) -> (Duration, Duration) {
		let (busy, now) = (lock(&self.busy), Instant::now());
		let under_way = busy.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
		(busy.over.saturating_add(under_way), now.saturating_duration_since(self.started))
	}

	/// Runs `job` when those before it are done. If the caller stops waiting, the job still runs to its end.
	///
	/// # Errors
	/// What the job fails with; [`WorkerError::Panicked`] if it panics. Engine and checkpoints are gone then, and the next job finds a thread as
	/// before.
	pub(super) async fn run<T: Send + 'static>(
		&self,
		job: impl FnOnce(&mut ThreadState) -> Result<T, WorkerError> + Send + 'static,
	) -> Result<T, WorkerError> {
		let (answer, result) = oneshot::channel();
		let waits = Waits::begin(&self.waiting);
		let job: Job = Box::new(move |state| {
			drop(waits);
			let done = catch_unwind(AssertUnwindSafe(|| job(state))).unwrap_or_else(|panic| {
				state.clear();
				Err(panicked("a computation", panic.as_ref()))
			});
			if let Err(error) = &done {
				state.leave_device(error);
			}
			let _ = answer.send(done);
		});
		self.jobs.send(job).await.map_err(|_| WorkerError::Stopped)?;
		result.await.map_err(|_| WorkerError::Stopped)?
	}
}

fn lock(busy: &Mutex<Busy>) -> MutexGuard<'_, Busy> {
	busy.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A job that waits; until it begins, or is given up before it is handed over.
struct Waits(Arc<AtomicUsize>);

impl Waits {
	fn begin(waiting: &Arc<AtomicUsize>) -> Self {
		waiting.fetch_add(1, Ordering::Relaxed);
		Self(waiting.clone())
	}
}

impl Drop for Waits {
	fn drop(&mut self) {
		self.0.fetch_sub(1, Ordering::Relaxed);
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::participant::decide::plan::tests::training;
	use neuroshard_types::{ModelConfig, TrainConfig};

	#[tokio::test]
	async fn jobs_run_one_after_the_other_and_share_what_the_thread_holds() {
		let compute = Compute::start(2, Device::Cpu).unwrap();
		assert_eq!((compute.times().0, compute.run(|state| Ok(state.threads())).await.unwrap()), (Duration::ZERO, 2));
		let job = || Ok((0..1 << 20).fold(Instant::now(), |begun, _| std::hint::black_box(begun)).elapsed());
		let took = compute.run(move |_| job()).await.unwrap();
		// It is noted before the next one begins.
		compute.run(|_| Ok(())).await.unwrap();
		let (computing, running) = compute.times();
		assert!(took <= computing && computing <= running);
		let missing = compute.run(|state| Ok(state.current.is_none())).await.unwrap();
		assert!(missing);
	}

	#[tokio::test]
	async fn a_job_that_panics_is_an_error_and_the_next_one_runs() {
		let compute = Compute::start(1, Device::Cpu).unwrap();
		let died = compute.run::<()>(|_| panic!("a job that panics")).await;
		assert!(matches!(died, Err(WorkerError::Panicked { .. })));
		assert_eq!(compute.run(|state| Ok(state.threads())).await.unwrap(), 1);
	}

	#[tokio::test]
	async fn where_a_device_fails_the_next_job_finds_the_cpu() {
		let config = RunConfig { model: ModelConfig::tiny(), train: TrainConfig::tiny(), ..training().0.run.unwrap().view.config };
		let compute = Compute::start(1, Device::OpenCl(usize::MAX)).unwrap();
		let is_on_cpu = async || {
			let config = config.clone();
			compute.run(move |state| Ok(state.prepare(7, &config)?.engine.is_on_cpu())).await
		};
		let error = is_on_cpu().await.unwrap_err();
		assert!(error.is_of_device() && error.to_string().contains("no OpenCL device"), "{error}");
		assert!(is_on_cpu().await.unwrap());
	}

	#[test]
	fn nothing_is_made_of_a_run_that_does_not_fit_and_what_was_there_makes_room() {
		let config = RunConfig { model: ModelConfig::tiny(), train: TrainConfig::tiny(), ..training().0.run.unwrap().view.config };
		let mut state = ThreadState::new(1, Device::Cpu, || Some(u64::MAX));
		state.prepare(7, &config).unwrap();
		state.available = || Some(4_096);
		state.prepare(7, &config).unwrap();
		let refused = state.prepare(8, &config).map(drop);
		assert!(matches!(refused, Err(WorkerError::TooLittleMemory { available: 4_096, .. })) && state.engine.is_none());
		// A machine that does not say what it has is taken at its word.
		state.available = || None;
		state.prepare(8, &config).unwrap();
	}
}
