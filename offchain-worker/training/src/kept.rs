//! Inner states that a worker keeps of its own rounds, so that it can defend a claim without running the round again from its start.
//!
//! They are spare files of the content store, written by the [keeper](super::keeper), and the first to go when there is no room.
//! Those of a round take at most a sixteenth of the store's limit, so that of a large model only every k-th committed state is kept; all
//! together take at most a quarter.

use neuroshard_compute::player::States;
use neuroshard_graph::{
	commit::{state_root, tensors_root},
	merkle::Hash,
	ParamLayout, TrainConfig,
};
use neuroshard_store::{Store, StoreError};
use neuroshard_types::{run::seal_bridged, RoundIndex, RunId, H256};

/// Part of the store's limit that the states of one round may take.
pub(super) const ROUND_SHARE: u64 = 16;
/// Bytes before the vectors: seed and state root.
pub(super) const HEADER: usize = 64;

/// Returns the header that stands before the vectors of a state.
pub(super) fn header(round: OwnRound, root: Hash) -> Vec<u8> {
	[round.seed.0, root].concat()
}

/// A round of this worker: a round that is started anew has another seed, and other states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnRound {
	/// Run.
	pub run: RunId,
	/// Round.
	pub round: RoundIndex,
	/// Seed of its windows; of a bridge, hashed with where it starts.
	pub seed: H256,
}

impl OwnRound {
	/// The round with this seed. Inner steps that start from the `checkpoint` of another cohort go through other states.
	pub fn new(run: RunId, round: RoundIndex, seed: H256, bridged: Option<H256>) -> Self {
		Self { run, round, seed: bridged.map_or(seed, |checkpoint| seal_bridged(seed, checkpoint)) }
	}

	/// Its states' names are ordered like runs, rounds and steps.
	pub(super) fn name(self, step: u32) -> String {
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

/// Returns how many commits apart states of a round are kept where the store has `limit` bytes; `None` if not even one has room.
pub(super) fn commits_apart(train: &TrainConfig, elements: usize, limit: u64) -> Option<u32> {
	let bytes = u64::try_from(elements).ok()?.saturating_mul(12).saturating_add(u64::try_from(HEADER).ok()?);
	let states = (limit / ROUND_SHARE).checked_div(bytes).filter(|states| *states > 0)?;
	Some(train.state_roots().div_ceil(u32::try_from(states).unwrap_or(u32::MAX)).max(1))
}

/// Returns the source of states for [`neuroshard_compute::player::WorkStory::with_states`]: the states of `round` in `store`, each compared with the
/// root that it was committed by.
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
	use crate::{
		keeper::Job,
		testing::{layout, open, state, train, vectors, ROUND},
	};

	/// Stores the state after `step` steps under another root if `damaged`.
	fn put(store: &Store, step: u32, damaged: bool) {
		let vectors = vectors(step);
		let [params, first, second] = vectors.each_ref().map(|values| tensors_root(&layout(), values, 1));
		let mut root = state_root(&params, &first, &second, step, u64::from(step) * 2);
		root[0] ^= u8::from(damaged);
		assert!(Job::kept(ROUND, &state(step, &vectors), root).unwrap().write(store).unwrap());
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
	}
}
