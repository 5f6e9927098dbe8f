//! Implementation of the view functions.

use crate::{Bridges, Config, Latecomers, Members, Pallet, Records, Rounds, Runs, Works};
use alloc::vec::Vec;
use neuroshard_types::{
	run::{ParticipantView, RoundRecord, RoundView, RunView},
	AccountId, RoundIndex, RunId,
};

impl<T: Config> Pallet<T> {
	pub(crate) fn run_ids() -> Vec<RunId> {
		let mut ids: Vec<RunId> = Runs::<T>::iter_keys().collect();
		ids.sort_unstable();
		ids
	}

	pub(crate) fn run_view(id: RunId) -> Option<RunView> {
		let run = Runs::<T>::get(id)?;
		let round = Rounds::<T>::get(id);
		let takes_part =
			|who: &AccountId| round.as_ref().and_then(|round| round.participant(who)).is_some_and(|participant| participant.counted);
		let joining = Members::<T>::get(id).into_iter().filter(|who| !takes_part(who)).collect();
		Some(RunView {
			status: run.status(),
			sponsor: run.sponsor,
			config: run.config,
			approved: run.approved,
			rounds_adopted: run.rounds_adopted,
			checkpoint: run.checkpoint,
			joining,
		})
	}

	pub(crate) fn round_view(id: RunId) -> Option<RoundView> {
		let (run, round) = (Runs::<T>::get(id)?, Rounds::<T>::get(id)?);
		let participants = round.participants.into_iter().map(|participant| ParticipantView {
			work: participant.delta_root.and_then(|_| Works::<T>::get(id, &participant.account)),
			account: participant.account,
			sealed: participant.commitment.map(|commitment| commitment.sealed),
			vote: participant.vote,
			attestation: participant.attestation,
			included: participant.included,
			counted: participant.counted,
		});
		Some(RoundView {
			round: round.round,
			attempt: round.attempt,
			phase: round.stage.phase(),
			deadline: round.deadline,
			checkpoint: run.checkpoint,
			start: Self::inner_start(id, round.round, run.checkpoint).0,
			seed: round.seed,
			started_at: round.started_at,
			participants: participants.collect(),
			late: Latecomers::<T>::get(id, round.round).into_inner(),
			ahead: Self::ahead_view(id, round.round),
			bridge: Bridges::<T>::get(id, round.round),
		})
	}

	pub(crate) fn record_view(id: RunId, round: RoundIndex) -> Option<RoundRecord> {
		let record = Records::<T>::get(id, round)?;
		let (inner_start, _) = Self::inner_start(id, round, record.start);
		Some(record.view(inner_start, Latecomers::<T>::get(id, round).into_inner(), Bridges::<T>::get(id, round)))
	}
}
