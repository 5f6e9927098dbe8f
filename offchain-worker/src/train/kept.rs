//! Inner states that a worker keeps of its own rounds, so that it can defend a claim without running the round again from its start.
//!
//! They are spare files of the content store: written beside training by a thread of their own, and the first to go when there is no room.
//! Those of a round take at most a sixteenth of the store's limit, so that of a large model only every k-th committed state is kept; all
//! together take at most a quarter. A state that cannot be written soon enough, because the one before is still on its way, is not kept: so
//! beside training they take 12 bytes of memory for every parameter, the copy that is being written, and nothing more.

use super::priority::lower_thread_priority;
use neuroshard_graph::{
	commit::{state_root, tensors_root},
	player::States,
	round::Committed,
	ParamLayout, TrainConfig,
};
use neuroshard_store::{Store, StoreError};
use neuroshard_types::{RoundIndex, RunId, H256};
use std::{
	io,
	sync::{
		atomic::{AtomicBool, Ordering},
		mpsc::{sync_channel, SyncSender},
		Arc,
	},
};

/// Part of the store's limit that the states of all rounds may take.
const SHARE: u64 = 4;
/// Part of it that those of one round may take.
const ROUND_SHARE: u64 = 16;
/// Bytes before the vectors: seed and state root.
const HEADER: usize = 64;

/// A round of this worker: a round that is started anew has another seed, and other states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnRound {
	/// Run.
	pub run: RunId,
	/// Round.
	pub round: RoundIndex,
	/// Seed of its windows.
	pub seed: H256,
}

impl OwnRound {
	/// Its states' names are ordered like runs, rounds and steps.
	fn name(self, step: u32) -> String {
		format!("{}{step:010}", prefix(self.run, self.round))
	}
}

fn prefix(run: RunId, round: RoundIndex) -> String {
	format!("{run:010}-{round:010}-")
}

fn step_of(name: &str) -> Option<u32> {
	name.rsplit('-').next()?.parse().ok()
}

/// Deletes the states of a round.
///
/// # Errors
/// The disk's.
pub fn forget(store: &Store, run: RunId, round: RoundIndex) -> Result<(), StoreError> {
	store.remove_spares(&prefix(run, round))
}

/// How many commits apart states of a round are kept where the store has `limit` bytes; `None` if not even one has room.
fn commits_apart(train: &TrainConfig, elements: usize, limit: u64) -> Option<u32> {
	let bytes = u64::try_from(elements).ok()?.saturating_mul(12).saturating_add(u64::try_from(HEADER).ok()?);
	let states = (limit / ROUND_SHARE).checked_div(bytes).filter(|states| *states > 0)?;
	Some(train.state_roots().div_ceil(u32::try_from(states).unwrap_or(u32::MAX)).max(1))
}

/// A state to write. It is encoded while it is copied, so that there is never a second copy: 12 bytes for every parameter.
struct Job {
	name: String,
	/// Header and vectors, as in the file.
	parts: [Vec<u8>; 4],
}

impl Job {
	fn new(round: OwnRound, Committed { step, root, vectors }: Committed<'_>) -> Self {
		let [params, first, second] = vectors.map(encode);
		Self { name: round.name(step), parts: [[round.seed.0, root].concat(), params, first, second] }
	}
}

/// Training waits for this: it is as fast as a copy.
fn encode(values: &[f32]) -> Vec<u8> {
	let mut bytes = vec![0; size_of_val(values)];
	bytes.as_chunks_mut().0.iter_mut().zip(values).for_each(|(bytes, value)| *bytes = value.to_le_bytes());
	bytes
}

/// Handle of the thread that writes states, which ends with the last of them.
#[derive(Clone)]
pub struct Keeper {
	store: Store,
	jobs: SyncSender<Job>,
	busy: Arc<AtomicBool>,
}

impl Keeper {
	/// Starts the thread.
	///
	/// # Errors
	/// The system has no thread to give.
	pub fn start(store: Store) -> io::Result<Self> {
		let (jobs, incoming) = sync_channel::<Job>(1);
		let (busy, kept) = (Arc::new(AtomicBool::new(false)), store.clone());
		let done = busy.clone();
		std::thread::Builder::new().name("keeper".into()).spawn(move || {
			lower_thread_priority();
			for job in incoming {
				if let Err(error) = write(&kept, &job) {
					tracing::warn!("an inner state is not kept, a dispute about it would take longer: {error}");
				}
				drop(job);
				done.store(false, Ordering::Release);
			}
		})?;
		Ok(Self { store, jobs, busy })
	}

	/// What takes the states of a round of a model with so many `elements` while it is trained.
	pub fn of(&self, round: OwnRound, train: &TrainConfig, elements: usize) -> impl FnMut(Committed<'_>) {
		let (keeper, train) = (self.clone(), train.clone());
		let apart = commits_apart(&train, elements, self.store.usage().limit);
		move |state| {
			// Counted from the end: a dispute about the delta needs the last one.
			let left = train.inner_steps.saturating_sub(state.step).div_ceil(train.commit_interval.max(1));
			if apart.is_some_and(|apart| left % apart == 0) {
				keeper.keep(round, state);
			}
		}
	}

	fn keep(&self, round: OwnRound, state: Committed<'_>) {
		// One state at a time: more could be more than the machine has.
		if self.busy.swap(true, Ordering::Acquire) {
			return;
		}
		if self.jobs.try_send(Job::new(round, state)).is_err() {
			self.busy.store(false, Ordering::Release);
		}
	}
}

fn write(store: &Store, Job { name, parts }: &Job) -> Result<bool, StoreError> {
	store.put_spare(name, &parts.each_ref().map(Vec::as_slice), store.usage().limit / SHARE)
}

/// What [`neuroshard_graph::player::WorkStory::with_states`] takes: the states of `round` in `store`, each compared with the root that it
/// was committed by.
pub fn states(store: Store, round: OwnRound, layout: ParamLayout, batch: u32, threads: usize) -> Box<States> {
	Box::new(move |known, most| {
		let names = store.spares(&prefix(round.run, round.round)).into_iter().rev();
		let fitting = names.filter_map(|name| Some((step_of(&name)?, name))).filter(|(step, _)| known < *step && *step <= most);
		for (step, name) in fitting {
			let bytes = store.spare(&name).inspect_err(|error| tracing::warn!("{error}")).ok().flatten();
			if let Some(vectors) = bytes.and_then(|bytes| read(&bytes, round.seed, step, &layout, batch, threads)) {
				return Some((step, vectors));
			}
			tracing::debug!(%name, "a kept state is not what was committed, or of another attempt");
			if let Err(error) = store.remove_spares(&name) {
				tracing::warn!("{error}");
			}
		}
		None
	})
}

fn read(bytes: &[u8], seed: H256, step: u32, layout: &ParamLayout, batch: u32, threads: usize) -> Option<[Vec<f32>; 3]> {
	let (header, values) = bytes.split_at_checked(HEADER)?;
	let (found, root) = header.split_at_checked(32)?;
	if found != seed.as_bytes() || values.len() != 12 * layout.len() {
		return None;
	}
	let vector = |part: &[u8]| part.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect::<Vec<f32>>();
	let vectors: [Vec<f32>; 3] = values.chunks_exact(4 * layout.len()).map(vector).collect::<Vec<_>>().try_into().ok()?;
	let [params, first, second] = vectors.each_ref().map(|values| tensors_root(layout, values, threads));
	let cursor = u64::from(step) * u64::from(batch);
	(state_root(&params, &first, &second, step, cursor) == root).then_some(vectors)
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_graph::ModelConfig;

	const ROUND: OwnRound = OwnRound { run: 3, round: 7, seed: H256::repeat_byte(5) };

	fn layout() -> ParamLayout {
		ParamLayout::new(&ModelConfig::tiny()).unwrap()
	}

	fn train() -> TrainConfig {
		TrainConfig { inner_steps: 10, commit_interval: 3, ..TrainConfig::tiny() }
	}

	fn vectors(step: u32) -> [Vec<f32>; 3] {
		[1.0, 2.0, 3.0].map(|part| (0..layout().len()).map(|at| part + at as f32 * step as f32).collect())
	}

	/// Stores the state after `step` steps under another root if `damaged`.
	fn put(store: &Store, step: u32, damaged: bool) {
		let vectors = vectors(step);
		let [params, first, second] = vectors.each_ref().map(|values| tensors_root(&layout(), values, 1));
		let mut root = state_root(&params, &first, &second, step, u64::from(step) * 2);
		root[0] ^= u8::from(damaged);
		let vectors = vectors.each_ref().map(Vec::as_slice);
		assert!(write(store, &Job::new(ROUND, Committed { step, root, vectors })).unwrap());
	}

	fn open(limit: u64) -> (tempfile::TempDir, Store) {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), limit).unwrap();
		(dir, store)
	}

	#[test]
	fn the_last_state_before_a_step_is_read_back_as_it_was() {
		let (_dir, store) = open(1 << 30);
		put(&store, 3, false);
		put(&store, 6, false);
		let mut states = states(store.clone(), ROUND, layout(), 2, 1);
		assert_eq!(states(0, 5).unwrap(), (3, vectors(3)));
		assert_eq!(states(0, 6).unwrap(), (6, vectors(6)));
		assert!(states(3, 5).is_none() && states(6, 10).is_none());
		forget(&store, 3, 8).unwrap();
		assert!(states(0, 3).is_some());
		forget(&store, 3, 7).unwrap();
		assert!(states(0, 10).is_none());
	}

	#[test]
	fn a_state_that_is_not_what_was_committed_is_dropped_and_the_one_before_taken() {
		let (_dir, store) = open(1 << 30);
		put(&store, 3, false);
		put(&store, 6, true);
		assert_eq!(states(store.clone(), ROUND, layout(), 2, 1)(0, 9).unwrap().0, 3);
		assert_eq!(store.spares(""), [ROUND.name(3)]);
		let other = OwnRound { seed: H256::zero(), ..ROUND };
		assert!(states(store, other, layout(), 2, 1)(0, 9).is_none(), "another attempt has other states");
	}

	#[test]
	fn as_many_states_of_a_round_are_kept_as_its_share_holds_the_last_one_among_them() {
		let bytes = 12 * 100 + 64;
		let apart = |states: u64| commits_apart(&train(), 100, ROUND_SHARE * bytes * states);
		// States after 3, 6, 9 and 10 steps.
		assert_eq!((apart(0), apart(1), apart(2), apart(3), apart(4), apart(99)), (None, Some(4), Some(2), Some(2), Some(1), Some(1)));

		let model_bytes = 12 * layout().len() as u64 + 64;
		let (_dir, store) = open(ROUND_SHARE * 2 * model_bytes);
		let keeper = Keeper::start(store.clone()).unwrap();
		let mut keep = keeper.of(ROUND, &train(), layout().len());
		for step in [3, 6, 9, 10] {
			let vectors = vectors(step);
			keep(Committed { step, root: [0; 32], vectors: vectors.each_ref().map(Vec::as_slice) });
			while keeper.busy.load(Ordering::Acquire) {
				std::thread::yield_now();
			}
		}
		assert_eq!(store.spares(""), [ROUND.name(6), ROUND.name(10)]);
	}

	#[test]
	fn a_state_that_waits_for_the_disk_takes_12_bytes_for_every_parameter() {
		let vectors = vectors(3);
		let job = Job::new(ROUND, Committed { step: 3, root: [9; 32], vectors: vectors.each_ref().map(Vec::as_slice) });
		assert_eq!(job.parts.iter().map(Vec::capacity).sum::<usize>(), 12 * layout().len() + HEADER);
		let values = vectors.iter().flatten().flat_map(|value| value.to_le_bytes());
		let expected: Vec<u8> = [[5; 32], [9; 32]].concat().into_iter().chain(values).collect();
		assert_eq!(job.parts.concat(), expected);
	}

	#[test]
	fn training_never_waits_for_the_disk() {
		let (_dir, store) = open(1 << 30);
		let keeper = Keeper::start(store.clone()).unwrap();
		keeper.busy.store(true, Ordering::Release);
		let vectors = vectors(3);
		keeper.of(ROUND, &train(), layout().len())(Committed { step: 3, root: [0; 32], vectors: vectors.each_ref().map(Vec::as_slice) });
		drop(keeper);
		assert_eq!(store.spares(""), [""; 0]);
	}
}
