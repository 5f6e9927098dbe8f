//! Families: runs that train one model in cohorts, which bridges draw together.
//!
//! What everybody in a run fetches, and what the chain does for each act, grows with its participants. A family has many runs instead, its *cohorts*, each with rounds, votes and
//! disputes of its own, and as many participants as all of them together. When a round of a cohort begins, another cohort is drawn, and one of the participants as the *bridge*: its
//! inner steps start from the newest checkpoint of the other cohort, its delta is the difference from the checkpoint of its own, and everything else is as with everybody. So one delta of
//! n says where the others are; the outer step moves the cohort a part of the way there, under the same rule of aggregation that bears a liar. It is gossip averaging as in NoLoCo
//! (arXiv:2506.10911), with trained ends in place of parameters.
//!
//! A bridge that cannot get the other checkpoint starts from its own cohort's. Which one it was is in its commitment ([`seal_bridged`]).

use crate::{Bridges, Cohorts, Config, Error, Event, Families, Pallet, Round, Run, Runs};
use alloc::vec::Vec;
use codec::Encode;
use frame_support::{
	ensure,
	traits::{ConstU32, Get},
	weights::Weight,
	BoundedVec,
};
use neuroshard_types::{
	run::{seal, seal_bridged, Bridge, Work, MAX_COHORTS},
	AccountId, RoundIndex, RunId, H256,
};
use sp_runtime::DispatchResult;

/// Runs of a family by identifier ascending.
pub type CohortList = BoundedVec<RunId, ConstU32<MAX_COHORTS>>;

/// Adopted rounds that another cohort may be behind: what it has is too old beyond that.
pub const MAX_BEHIND: RoundIndex = 4;
/// Cohorts that are looked at when one is drawn.
pub(crate) const TRIES: usize = 4;

/// Commitment of a participant, opened.
#[derive(Clone, Copy)]
pub(crate) struct Sealed<'a> {
	/// Hash of the genesis block.
	pub(crate) genesis: H256,
	/// Account of the participant.
	pub(crate) who: &'a AccountId,
	/// Its salt.
	pub(crate) salt: &'a [u8; 32],
	/// Its work.
	pub(crate) work: &'a Work,
}

impl<T: Config> Pallet<T> {
	/// Makes `run` a cohort of the family of the run `beside`, which founds one if it is in none.
	pub(crate) fn do_add_cohort(sponsor: &AccountId, beside: RunId, run: RunId) -> DispatchResult {
		let (one, cohort) = (Self::active(beside)?, Self::active(run)?);
		ensure!([&one.sponsor, &cohort.sponsor] == [sponsor; 2], Error::<T>::NotSponsor);
		ensure!(beside != run && one.config.takes_bridges() && is_alike(&one, &cohort), Error::<T>::NotAlike);
		ensure!(!Families::<T>::contains_key(run), Error::<T>::InFamily);
		let family = Families::<T>::get(beside).unwrap_or(beside);
		Cohorts::<T>::try_mutate(family, |cohorts| {
			for id in [beside, run] {
				if let Err(place) = cohorts.binary_search(&id) {
					cohorts.try_insert(place, id).map_err(|_| Error::<T>::FamilyFull)?;
					Families::<T>::insert(id, family);
				}
			}
			Ok::<_, Error<T>>(())
		})?;
		Self::deposit_event(Event::CohortAdded { family, run });
		Ok(())
	}

	/// Takes a run that ends out of its family.
	pub(crate) fn leave_family(id: RunId) {
		let Some(family) = Families::<T>::take(id) else { return };
		let mut cohorts = Cohorts::<T>::get(family);
		cohorts.retain(|cohort| *cohort != id);
		if cohorts.is_empty() {
			Cohorts::<T>::remove(family);
		} else {
			Cohorts::<T>::insert(family, cohorts);
		}
	}

	/// The cohorts of the family that a run is in; none if it is in no family.
	pub(crate) fn cohorts_of(id: RunId) -> Vec<RunId> {
		Families::<T>::get(id).map(|family| Cohorts::<T>::get(family).into_inner()).unwrap_or_default()
	}

	/// Draws the bridge of a `round` that begins, by its seed, or none.
	pub(crate) fn draw_bridge(id: RunId, run: &Run, round: &Round) {
		Bridges::<T>::remove(id, round.round);
		let counted: Vec<&AccountId> = round.counted().map(|one| &one.account).collect();
		// Alone, it would take the cohort all the way. And where outer steps are redone, its delta would be left out.
		if counted.len() < 2 || run.replay.is_some() {
			return;
		}
		let others: Vec<RunId> = Self::cohorts_of(id).into_iter().filter(|other| *other != id).collect();
		let draw = sp_io::hashing::blake2_256(&(b"neuroshard/bridge/1", round.seed, round.attempt).encode());
		let [first, second, ..] = draw.as_chunks::<8>().0 else { return };
		let Some(start) = drawn_of(*first, others.len()) else { return };
		let Some(who) = drawn_of(*second, counted.len()).and_then(|number| counted.get(number)) else { return };
		let mut candidates = others.iter().cycle().skip(start).take(TRIES.min(others.len()));
		let found = candidates.find_map(|other| Some((*other, Runs::<T>::get(other).filter(|other| can_be_taken(run, other))?)));
		let Some((other, Run { rounds_adopted, checkpoint, .. })) = found else { return };
		let bridge = Bridge { who: (*who).clone(), run: other, round: rounds_adopted, checkpoint, taken: false };
		Self::deposit_event(Event::BridgeDrawn {
			run: id,
			round: round.round,
			who: bridge.who.clone(),
			other,
			other_round: rounds_adopted,
			checkpoint,
		});
		Bridges::<T>::insert(id, round.round, bridge);
	}

	/// The bridge of a round, if its work started from the checkpoint of another cohort.
	pub(crate) fn crossed(id: RunId, round: RoundIndex) -> Option<Bridge> {
		Bridges::<T>::get(id, round).filter(|bridge| bridge.taken)
	}

	/// Returns whether this opens the commitment `to` in `round` of run `id`, and notes it if its work started from the checkpoint of another cohort.
	pub(crate) fn opens(id: RunId, (round, attempt): (RoundIndex, u32), to: H256, sealed: Sealed<'_>) -> bool {
		let Sealed { genesis, who, salt, work } = sealed;
		let seal = seal(genesis, id, round, attempt, who, salt, work);
		if seal == to {
			return true;
		}
		let Some(bridge) = Bridges::<T>::get(id, round).filter(|bridge| bridge.who == *who) else { return false };
		let opens = seal_bridged(seal, bridge.checkpoint) == to;
		if opens {
			Bridges::<T>::insert(id, round, Bridge { taken: true, ..bridge });
		}
		opens
	}
}

/// Returns the most that drawing a bridge costs: the family, its cohorts and the runs that are looked at; the bridge, which may be removed before.
pub(crate) fn at_begin<T: Config>() -> Weight {
	T::DbWeight::get().reads_writes(2u64.saturating_add(u64::try_from(TRIES).unwrap_or(u64::MAX)), 2)
}

/// Returns the cost of the end of a run beside the rest: what came late and what inner steps started from, the bridge, and its place in a family.
pub(crate) fn at_end<T: Config>() -> Weight {
	T::DbWeight::get().reads_writes(2, 5)
}

/// One of `count` numbers from 0 on; `None` of none.
fn drawn_of(bytes: [u8; 8], count: usize) -> Option<usize> {
	let count = u64::try_from(count).ok()?;
	usize::try_from(u64::from_le_bytes(bytes).checked_rem(count)?).ok()
}

/// Returns whether two runs train one model in one way, from one checkpoint and on the same data.
pub(crate) fn is_alike(one: &Run, other: &Run) -> bool {
	let (a, b) = (&one.config, &other.config);
	(a.dataset, a.genesis_root, a.overlaps, &a.model, &a.train) == (b.dataset, b.genesis_root, b.overlaps, &b.model, &b.train)
		&& (one.dataset_root, one.shape) == (other.dataset_root, other.shape)
}

/// Returns whether the newest checkpoint of `other` can be used in a round of `run`: something was learned, not too long ago, and no fraud in it is
/// known. Work for a run that nobody approved is not audited: one that is approved takes nothing from it.
fn can_be_taken(run: &Run, other: &Run) -> bool {
	let behind = run.rounds_adopted.saturating_sub(other.rounds_adopted);
	let trusted = other.approved || !run.approved;
	trusted && other.finished_at.is_none() && other.rounds_adopted > 0 && other.replay.is_none() && behind <= MAX_BEHIND
}
