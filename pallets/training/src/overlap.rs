//! Rounds whose inner steps begin while the round before is under way.
//!
//! In a run whose rounds overlap, the next round is drawn when a round begins: its seed, its places, and the checkpoint that its inner steps start from,
//! which is the newest one at that moment. So whoever has done its inner steps goes on with those of the next round at once, and what is exchanged, voted
//! on and attested meanwhile costs no time. The price is that inner steps start from a checkpoint that is one outer step older. A round that begins out of
//! Joining, and an attempt after an aborted one, have nothing to overlap: their inner steps start from the newest checkpoint.

use crate::{expected, round::Accounts, Config, Drawn, Event, Pallet, Run, Starts};
use codec::{Decode, Encode, MaxEncodedLen};
use frame_support::traits::Randomness;
use neuroshard_types::{run::AheadView, traits::Clock, Moment, RoundIndex, RunId, H256};
use scale_info::TypeInfo;

/// Checkpoint that the inner steps of a round start from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Start {
	/// Root of the checkpoint.
	pub checkpoint: H256,
	/// Round that this is the newest checkpoint of.
	pub round: RoundIndex,
	/// Chain time from which on the inner steps could be taken.
	pub drawn_at: Moment,
}

/// A round that was drawn when the one before it began.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Draw {
	/// Seed of the window permutation.
	pub seed: H256,
	/// Checkpoint that its inner steps start from.
	pub start: Start,
	/// Its places.
	pub places: Accounts,
}

impl<T: Config> Pallet<T> {
	/// Seed of an attempt that is drawn now.
	pub(crate) fn draw_seed(id: RunId, run: &Run, round: RoundIndex, attempt: u32) -> H256 {
		let (randomness, _) = T::Randomness::random(b"neuroshard/seed");
		expected::seed(run.checkpoint, randomness, id, round, attempt)
	}

	/// Returns the start of a round that is drawn now: the newest checkpoint.
	pub(crate) fn start_now(run: &Run) -> Start {
		Start { checkpoint: run.checkpoint, round: run.rounds_adopted, drawn_at: T::Clock::now() }
	}

	/// Draws the round after `round`, which begins now with this `attempt`, for the holders of `places`, unless `round` is the last one. What is drawn in another attempt has another
	/// seed, whatever the randomness: places may differ, and nobody may take work for the windows of one draw for that of another.
	pub(crate) fn draw_ahead(id: RunId, run: &Run, (round, attempt): (RoundIndex, u32), places: Accounts) {
		let round = round.saturating_add(1);
		if !Self::has_round(run, round) {
			return;
		}
		let draw = Draw { seed: Self::draw_seed(id, run, round, attempt), start: Self::start_now(run), places };
		let (seed, checkpoint, participants) = (draw.seed, draw.start.checkpoint, draw.places.to_vec());
		Self::deposit_event(Event::RoundDrawn { run: id, round, checkpoint, seed, participants });
		Drawn::<T>::insert(id, draw);
	}

	/// Returns whether a run has a round of this number, if it is not stopped before.
	pub(crate) fn has_round(run: &Run, round: RoundIndex) -> bool {
		run.config.rounds.is_none_or(|rounds| round < rounds) && round < RoundIndex::MAX
	}

	/// Checkpoint that the inner steps of a round start from, and the round that starts from it; `start` is that of its outer step.
	pub(crate) fn inner_start(id: RunId, round: RoundIndex, start: H256) -> (H256, RoundIndex) {
		Starts::<T>::get(id, round).map_or((start, round), |found| (found.checkpoint, found.round))
	}

	pub(crate) fn ahead_view(id: RunId, round: RoundIndex) -> Option<AheadView> {
		let Draw { seed, start, places } = Drawn::<T>::get(id)?;
		Some(AheadView { round: round.saturating_add(1), start: start.checkpoint, seed, places: places.into_inner() })
	}
}
