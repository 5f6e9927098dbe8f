//! The thread that writes inner states of a round beside training: those that a defence may need ([`super::kept`]), and the one that a
//! restarted worker goes on from ([`super::hot`]).
//!
//! Training waits for a copy, never for the disk. A state that cannot be written soon enough, because the one before is still on its way, is
//! not kept: so beside training they take 12 bytes of memory for every parameter, the copy that is being written, and nothing more.

use super::{
	hot::{self, Pace},
	kept::{self, OwnRound},
	priority::lower_thread_priority,
};
use neuroshard_compute::round::InnerState;
use neuroshard_graph::{merkle::Hash, TrainConfig};
use neuroshard_store::{Store, StoreError};
use std::{
	io,
	sync::{
		atomic::{AtomicBool, AtomicU64, Ordering},
		mpsc::{sync_channel, SyncSender},
		Arc,
	},
	time::{Duration, Instant},
};

/// Part of the store's limit that all inner states may take.
const SHARE: u64 = 4;

/// Pause between two looks whether what is on its way has been written.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// A state to write. It is encoded while it is copied, so that there is never a second copy: 12 bytes for every parameter.
pub(super) struct Job {
	pub(super) name: String,
	/// Header and vectors, as in the file.
	pub(super) parts: [Vec<u8>; 4],
	/// Time at which copying began, if this is a hot checkpoint.
	pub(super) hot: Option<Instant>,
}

impl Job {
	/// A state that a defence may need; `None`, as below, if the device failed that it lies on.
	pub(super) fn kept(round: OwnRound, state: &InnerState<'_>, root: Hash) -> Option<Self> {
		let [params, first, second] = state.vectors.map(encode)?;
		Some(Self { name: round.name(state.step), parts: [kept::header(round, root), params, first, second], hot: None })
	}

	/// The state that a restarted worker goes on from.
	pub(super) fn hot(round: OwnRound, state: &InnerState<'_>, begun: Instant) -> Option<Self> {
		let [params, first, second] = state.vectors.map(encode)?;
		Some(Self { name: hot::NAME.into(), parts: [hot::header(round, state), params, first, second], hot: Some(begun) })
	}

	pub(super) fn write(&self, store: &Store) -> Result<bool, StoreError> {
		let digest = self.hot.map(|_| hot::digest(&self.parts));
		let parts = self.parts.iter().map(Vec::as_slice).chain(digest.as_ref().map(Hash::as_slice));
		store.put_spare(&self.name, &parts.collect::<Vec<_>>(), store.usage().limit / SHARE)
	}
}

/// Training waits for this: it is as fast as a copy.
fn encode(values: &[f32]) -> Vec<u8> {
	let mut bytes = vec![0; size_of_val(values)];
	bytes.as_chunks_mut().0.iter_mut().zip(values).for_each(|(bytes, value)| *bytes = value.to_le_bytes());
	bytes
}

/// Writes a state, or says why it is not written: training goes on.
fn say(job: &Job, store: &Store) {
	match (job.write(store), job.hot) {
		(Ok(true), _) => {}
		(Ok(false), None) => tracing::debug!("there is no room for an inner state, a dispute about it would take longer"),
		(Ok(false), Some(_)) => tracing::warn!("there is no room for a hot checkpoint: a restart would begin this round anew"),
		(Err(error), None) => tracing::warn!("an inner state is not kept, a dispute about it would take longer: {error}"),
		(Err(error), Some(_)) => tracing::warn!("no hot checkpoint, a restart would begin this round anew: {error}"),
	}
}

/// Handle of the thread that writes states, which ends with the last of them.
#[derive(Clone)]
pub struct Keeper {
	store: Store,
	jobs: SyncSender<Job>,
	/// True if a state is on its way to the disk.
	busy: Arc<AtomicBool>,
	/// Cost of the last hot checkpoint, in microseconds from the first copied byte to the last one on the disk.
	cost: Arc<AtomicU64>,
}

impl Keeper {
	/// Starts the thread.
	///
	/// # Errors
	/// The system has no thread to give.
	pub fn start(store: Store) -> io::Result<Self> {
		let (jobs, incoming) = sync_channel::<Job>(1);
		let (busy, cost) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
		let (kept, done, measured) = (store.clone(), busy.clone(), cost.clone());
		std::thread::Builder::new().name("keeper".into()).spawn(move || {
			lower_thread_priority();
			for job in incoming {
				say(&job, &kept);
				if let Some(begun) = job.hot {
					measured.store(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
				}
				drop(job);
				done.store(false, Ordering::Release);
			}
		})?;
		Ok(Self { store, jobs, busy, cost })
	}

	/// Returns a function that takes the states of a round of a model with so many `elements` while it is trained. The one at which `stopping` is raised
	/// is written before training ends: a worker that is stopped in good order loses no step.
	pub fn of<'a>(
		&'a self,
		round: OwnRound,
		train: &'a TrainConfig,
		elements: usize,
		stopping: &'a AtomicBool,
	) -> impl FnMut(InnerState<'_>) + 'a {
		let mut keep = self.paced(round, train, elements, Pace::begin(Instant::now()));
		move |state| match stopping.load(Ordering::Relaxed) {
			true => self.leave(round, &state),
			false => keep(state),
		}
	}

	fn paced(&self, round: OwnRound, train: &TrainConfig, elements: usize, mut pace: Pace) -> impl FnMut(InnerState<'_>) {
		let (keeper, train) = (self.clone(), train.clone());
		let apart = kept::commits_apart(&train, elements, self.store.usage().limit);
		move |state| {
			let intervals = |steps: u32| steps.div_ceil(train.commit_interval.max(1));
			let left = intervals(train.inner_steps.saturating_sub(state.step));
			// Counted from the end: a dispute about the delta needs the last one. Where nobody knows which that is, from the beginning.
			let number = if train.weighs_steps() { intervals(state.step) } else { left };
			let root = state.root(&train).filter(|_| apart.is_some_and(|apart| number % apart == 0));
			let now = Instant::now();
			let due = left > 0 && pace.is_due(now, Duration::from_micros(keeper.cost.load(Ordering::Relaxed)));
			if due {
				if keeper.keep(|| Job::hot(round, &state, now)) {
					pace.note(now);
				}
			} else if let Some(root) = root {
				keeper.keep(|| Job::kept(round, &state, root));
			}
		}
	}

	/// Writes the hot checkpoint that a stopped worker leaves, after what is on its way.
	fn leave(&self, round: OwnRound, state: &InnerState<'_>) {
		while self.busy.swap(true, Ordering::Acquire) {
			std::thread::sleep(BETWEEN_LOOKS);
		}
		if let Some(job) = Job::hot(round, state, Instant::now()) {
			say(&job, &self.store);
		}
		self.busy.store(false, Ordering::Release);
	}

	/// Has a state written, and says whether it is: one at a time, since more could be more than the machine has.
	fn keep(&self, job: impl FnOnce() -> Option<Job>) -> bool {
		if self.busy.swap(true, Ordering::Acquire) {
			return false;
		}
		let taken = job().is_some_and(|job| self.jobs.try_send(job).is_ok());
		if !taken {
			self.busy.store(false, Ordering::Release);
		}
		taken
	}

	/// Waits until nothing is on its way to the disk.
	#[cfg(test)]
	pub(super) fn settle(&self) {
		while self.busy.load(Ordering::Acquire) {
			std::thread::yield_now();
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::testing::{layout, open, state, train, vectors, ROUND};

	#[test]
	fn as_many_states_of_a_round_are_kept_as_its_share_holds_the_last_one_among_them() {
		let model_bytes = 12 * layout().len() as u64 + 64;
		let (_dir, store) = open(kept::ROUND_SHARE * 2 * model_bytes);
		let keeper = Keeper::start(store.clone()).unwrap();
		let (train, going) = (train(), AtomicBool::new(false));
		let mut keep = keeper.of(ROUND, &train, layout().len(), &going);
		for step in 1..=10 {
			keep(state(step, &vectors(step)));
			keeper.settle();
		}
		assert_eq!(store.spares(""), [ROUND.name(6), ROUND.name(10)]);
	}

	#[test]
	fn a_hot_checkpoint_is_written_when_one_is_due_and_not_again_with_the_next_step() {
		let (_dir, store) = open(1 << 30);
		let keeper = Keeper::start(store.clone()).unwrap();
		let hot = || store.spare(hot::NAME).unwrap();
		let (train, going) = (train(), AtomicBool::new(false));
		let mut keep = keeper.of(ROUND, &train, layout().len(), &going);
		keep(state(1, &vectors(1)));
		keeper.settle();
		assert_eq!(hot(), None, "a round has only begun");

		// Whoever stops leaves where it is.
		going.store(true, Ordering::Relaxed);
		keep(state(2, &vectors(2)));
		assert_eq!(hot::read(&store, ROUND, &layout(), &train).unwrap().step, 2);

		let Some(long_ago) = Instant::now().checked_sub(Duration::from_secs(200)) else { return };
		let mut keep = keeper.paced(ROUND, &train, layout().len(), Pace::begin(long_ago));
		keep(state(4, &vectors(4)));
		keeper.settle();
		let first = hot().unwrap();
		keep(state(5, &vectors(5)));
		keeper.settle();
		assert_eq!(hot(), Some(first));
		assert!(keeper.cost.load(Ordering::Relaxed) > 0);
		assert_eq!(hot::read(&store, ROUND, &layout(), &train).unwrap().step, 4);
	}

	#[test]
	fn a_state_that_waits_for_the_disk_takes_12_bytes_for_every_parameter() {
		let vectors = vectors(3);
		let job = Job::kept(ROUND, &state(3, &vectors), [9; 32]).unwrap();
		assert_eq!(job.parts.iter().map(Vec::capacity).sum::<usize>(), 12 * layout().len() + kept::HEADER);
		let values = vectors.iter().flatten().flat_map(|value| value.to_le_bytes());
		let expected: Vec<u8> = [[5; 32], [9; 32]].concat().into_iter().chain(values).collect();
		assert_eq!(job.parts.concat(), expected);
	}

	#[test]
	fn training_never_waits_for_the_disk() {
		let (_dir, store) = open(1 << 30);
		let keeper = Keeper::start(store.clone()).unwrap();
		keeper.busy.store(true, Ordering::Release);
		keeper.of(ROUND, &train(), layout().len(), &AtomicBool::new(false))(state(3, &vectors(3)));
		drop(keeper);
		assert_eq!(store.spares(""), [""; 0]);
	}
}
