//! Members who take part in the round under way, instead of the next one.
//!
//! Where deltas weigh by the inner steps behind them, a round can be joined while it is trained: whoever comes takes as many steps as are left. Its place is behind those of all
//! others, so that nobody's windows move.

use crate::{Config, Event, Latecomers, Pallet, Participant, Round, Rounds, Run, Stage};
use neuroshard_types::{AccountId, Balance, BlockNumber, RunId, MAX_PARTICIPANTS};

/// Returns whether a place can be had in block `now` in `round` of `run`: in the first half of the time for training, and before anybody has
/// committed to its work. Later, all would wait for the newcomer.
fn is_open(run: &Run, round: &Round, now: BlockNumber) -> bool {
	let (began, _) = round.started_at;
	let half = round.deadline.map_or(0, |deadline| deadline.saturating_sub(began) / 2);
	let early = now < began.saturating_add(half) && round.participants.iter().all(|one| one.commitment.is_none());
	// Places of those who are gone count: their windows are nobody else's.
	let room = u32::try_from(round.participants.len()).is_ok_and(|places| places < run.config.max_participants);
	run.config.train.weighs_steps() && round.stage == Stage::Training && early && room
}

impl<T: Config> Pallet<T> {
	/// Gives a new member with this `stake` a place in the round under way, if one can be had. Who had one in this round gets no other.
	pub(crate) fn let_in(id: RunId, run: &Run, who: &AccountId, stake: Balance) {
		let Some(mut round) = Rounds::<T>::get(id).filter(|round| is_open(run, round, Self::now())) else { return };
		let Err(number) = round.participants.binary_search_by(|other| other.account.cmp(who)) else { return };
		// Behind all others; see `assignment::place`.
		let position = u32::try_from(round.participants.len()).unwrap_or(MAX_PARTICIPANTS);
		if !Self::note_late_quorum(id, &round, who) {
			return;
		}
		// Both have room for `MAX_PARTICIPANTS`, which no run exceeds.
		if round.participants.try_insert(number, Participant::new(who.clone(), stake, true)).is_err() {
			return;
		}
		Latecomers::<T>::mutate(id, round.round, |late| {
			let _ = late.try_push(who.clone());
		});
		Self::deposit_event(Event::CameLate { run: id, round: round.round, attempt: round.attempt, who: who.clone(), position });
		Rounds::<T>::insert(id, round);
	}
}
