//! The compute thread: owns engine and checkpoints, runs one job at a time, at low priority.

use crate::{
	engine::{Engine, EngineError},
	hardware::available_memory,
	run::{actor::guarded::panicked, memory::Needs, WorkerError},
	train::{checkpoint::Checkpoint, priority::lower_thread_priority},
};
use neuroshard_types::{run::RunConfig, RunId, H256};
use std::{
	panic::{catch_unwind, AssertUnwindSafe},
	sync::{
		atomic::{AtomicU64, Ordering},
		Arc,
	},
	time::{Duration, Instant},
};
use tokio::sync::{mpsc, oneshot};

/// What the compute thread holds between jobs.
pub(super) struct Bench {
	threads: usize,
	/// Tells how many bytes of memory are available.
	available: fn() -> Option<u64>,
	engine: Option<(RunId, Engine)>,
	/// The newest adopted checkpoint.
	pub(super) current: Option<Checkpoint>,
	/// The result of the newest outer step.
	pub(super) next: Option<Checkpoint>,
}

impl Bench {
	fn new(threads: usize, available: fn() -> Option<u64>) -> Self {
		Self { threads, available, engine: None, current: None, next: None }
	}

	/// Threads of a job.
	pub(super) fn threads(&self) -> usize {
		self.threads
	}

	/// Lets go of everything that has a model's size.
	fn clear(&mut self) {
		(self.engine, self.current, self.next) = (None, None, None);
	}

	/// The engine of `run`, made anew if the one at hand is another run's; with it, the checkpoints. Nothing is made that does not fit into memory.
	///
	/// # Errors
	/// [`WorkerError::TooLittleMemory`], or [`WorkerError::Engine`] for a configuration that is refused.
	pub(super) fn prepare(&mut self, run: RunId, config: &RunConfig) -> Result<Prepared<'_>, WorkerError> {
		if self.engine.as_ref().is_none_or(|(other, _)| *other != run) {
			// Two arenas at a time could be more than the machine has.
			self.clear();
			Needs::of(config).map_err(|error| EngineError::Setup(error.into()))?.check_participant((self.available)())?;
			self.engine = Some((run, Engine::new(&config.model, &config.train, self.threads)?));
		}
		match &mut self.engine {
			Some((_, engine)) => Ok(Prepared { engine, current: &mut self.current, next: &mut self.next }),
			None => Err(WorkerError::Stopped),
		}
	}
}

/// Engine and checkpoints of one run.
pub(super) struct Prepared<'a> {
	pub(super) engine: &'a mut Engine,
	pub(super) current: &'a mut Option<Checkpoint>,
	pub(super) next: &'a mut Option<Checkpoint>,
}

impl Prepared<'_> {
	/// Engine and the loaded checkpoint, which must have this root.
	pub(super) fn at(&mut self, root: H256) -> Result<(&mut Engine, &Checkpoint), WorkerError> {
		match self.current.as_ref().filter(|checkpoint| checkpoint.header.root() == root) {
			Some(checkpoint) => Ok((self.engine, checkpoint)),
			None => Err(WorkerError::NotLoaded { root }),
		}
	}
}

type Job = Box<dyn FnOnce(&mut Bench) + Send>;

/// Handle of the compute thread, which ends with the last of them.
#[derive(Clone)]
pub(super) struct Compute {
	jobs: mpsc::Sender<Job>,
	/// Microseconds that finished jobs took.
	busy: Arc<AtomicU64>,
}

impl Compute {
	/// Starts the thread; jobs compute with `threads` threads.
	pub(super) fn start(threads: usize) -> std::io::Result<Self> {
		let (jobs, mut incoming) = mpsc::channel::<Job>(1);
		let busy = Arc::new(AtomicU64::new(0));
		let noted = busy.clone();
		std::thread::Builder::new().name("compute".into()).spawn(move || {
			if !lower_thread_priority() {
				tracing::debug!("the system keeps the compute thread at normal priority");
			}
			let mut bench = Bench::new(threads, available_memory);
			while let Some(job) = incoming.blocking_recv() {
				let begun = Instant::now();
				job(&mut bench);
				noted.fetch_add(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
			}
		})?;
		Ok(Self { jobs, busy })
	}

	/// Time that jobs took which are over.
	pub(super) fn busy(&self) -> Duration {
		Duration::from_micros(self.busy.load(Ordering::Relaxed))
	}

	/// Runs `job` when those before it are done. If the caller stops waiting, the job still runs to its end.
	///
	/// # Errors
	/// What the job fails with; [`WorkerError::Panicked`] if it panics. Engine and checkpoints are gone then, and the next job finds a thread as
	/// before.
	pub(super) async fn run<T: Send + 'static>(
		&self,
		job: impl FnOnce(&mut Bench) -> Result<T, WorkerError> + Send + 'static,
	) -> Result<T, WorkerError> {
		let (answer, result) = oneshot::channel();
		let job: Job = Box::new(move |bench| {
			let done = catch_unwind(AssertUnwindSafe(|| job(bench))).unwrap_or_else(|panic| {
				bench.clear();
				Err(panicked("a computation", panic.as_ref()))
			});
			let _ = answer.send(done);
		});
		self.jobs.send(job).await.map_err(|_| WorkerError::Stopped)?;
		result.await.map_err(|_| WorkerError::Stopped)?
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::run::participant::decide::plan::tests::training;
	use neuroshard_types::{ModelConfig, TrainConfig};

	#[tokio::test]
	async fn jobs_run_one_after_the_other_and_share_what_the_thread_holds() {
		let compute = Compute::start(2).unwrap();
		assert_eq!((compute.busy(), compute.run(|bench| Ok(bench.threads())).await.unwrap()), (Duration::ZERO, 2));
		let job = || Ok((0..1 << 20).fold(Instant::now(), |begun, _| std::hint::black_box(begun)).elapsed());
		let took = compute.run(move |_| job()).await.unwrap();
		// It is noted before the next one begins.
		compute.run(|_| Ok(())).await.unwrap();
		assert!(compute.busy() >= Duration::from_micros(u64::try_from(took.as_micros()).unwrap()));
		let missing = compute.run(|bench| Ok(bench.current.is_none())).await.unwrap();
		assert!(missing);
	}

	#[tokio::test]
	async fn a_job_that_panics_is_an_error_and_the_next_one_runs() {
		let compute = Compute::start(1).unwrap();
		let died = compute.run::<()>(|_| panic!("a job that panics")).await;
		assert!(matches!(died, Err(WorkerError::Panicked { .. })));
		assert_eq!(compute.run(|bench| Ok(bench.threads())).await.unwrap(), 1);
	}

	#[test]
	fn nothing_is_made_of_a_run_that_does_not_fit_and_what_was_there_makes_room() {
		let config = RunConfig { model: ModelConfig::tiny(), train: TrainConfig::tiny(), ..training().0.run.unwrap().view.config };
		let mut bench = Bench::new(1, || Some(u64::MAX));
		bench.prepare(7, &config).unwrap();
		bench.available = || Some(4_096);
		bench.prepare(7, &config).unwrap();
		let refused = bench.prepare(8, &config).map(drop);
		assert!(matches!(refused, Err(WorkerError::TooLittleMemory { available: 4_096, .. })) && bench.engine.is_none());
		// A machine that does not say what it has is taken at its word.
		bench.available = || None;
		bench.prepare(8, &config).unwrap();
	}
}
