//! When a phase ends and what comes after it. Pure: block, members and limits are passed in.

use crate::{
	round::{Accounts, Round, Stage},
	tally,
};
use alloc::vec::Vec;
use codec::{Decode, DecodeWithMemTracking, Encode};
use neuroshard_types::{run::PhaseDurations, AccountId, BlockNumber, H256};
use scale_info::TypeInfo;

/// Why an attempt ended without a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, TypeInfo)]
pub enum AbortReason {
	/// Nobody committed in time.
	NobodyCommitted,
	/// Nobody revealed in time.
	NobodyRevealed,
	/// Nobody voted or attested in time.
	NobodyLeft,
	/// No delta reached two thirds of the stake, however often the vote was repeated.
	NothingAvailable,
	/// No checkpoint reached two thirds of the stake, however often the vote was repeated.
	NoQuorum,
}

/// What [`advance`] did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
	/// Nothing: somebody is waited for.
	Waits,
	/// The round is in the next phase.
	Moved,
	/// The phase began anew with an empty ballot.
	Repeats,
	/// Nothing yet: the caller ends the round with this checkpoint.
	Adopts(H256),
	/// Nothing yet: the caller ends the attempt.
	Aborts(AbortReason),
}

/// Fixed limits of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
	/// Of its phases, in blocks.
	pub durations: &'a PhaseDurations,
	/// Most repeats of a vote before the attempt is aborted.
	pub repeats: u32,
}

/// Moves `round` on if its phase is over in block `now`, and names those who missed the deadline.
///
/// Does nothing while Joining: who takes part then is not this module's business. `members` are those of the run, before
/// the absent are removed from among them: who is late with a vote keeps its place in the next round if it comes back in time.
pub fn advance(round: &mut Round, members: &Accounts, now: BlockNumber, limits: Limits<'_>) -> (Vec<AccountId>, Outcome) {
	if round.stage == Stage::Joining {
		return (Vec::new(), Outcome::Waits);
	}
	if let Some(root) = decided(round) {
		return (Vec::new(), Outcome::Adopts(root));
	}
	if !round.all_acted() && round.deadline.is_none_or(|deadline| now < deadline) {
		return (Vec::new(), Outcome::Waits);
	}
	let absent = round.drop_absent();
	let outcome = next(round, members, now, limits);
	(absent, outcome)
}

/// Whether the votes settle the phase without further ado: the root that two thirds attest.
pub fn decided(round: &Round) -> Option<H256> {
	match round.stage {
		Stage::Checkpointing { .. } => tally::quorum(&round.participants),
		_ => None,
	}
}

/// Whether [`advance`] would only move on to the next phase: nobody is waited for, nobody is dropped, nothing is settled.
pub fn moves_lightly(round: &Round) -> bool {
	round.all_acted()
		&& match round.stage {
			Stage::Training | Stage::Revealing => true,
			Stage::Availability { .. } => tally::availability(&round.participants).contains(&true),
			Stage::Joining | Stage::Checkpointing { .. } => false,
		}
}

/// The block in which `round` should be looked at again: the next one if nobody is waited for, else the deadline's.
pub fn due(round: &Round, now: BlockNumber) -> Option<BlockNumber> {
	let settled = round.stage != Stage::Joining && (round.all_acted() || decided(round).is_some());
	if settled {
		Some(now.saturating_add(1))
	} else {
		round.deadline
	}
}

fn next(round: &mut Round, members: &Accounts, now: BlockNumber, limits: Limits<'_>) -> Outcome {
	let nobody = round.counted().next().is_none();
	let durations = limits.durations;
	let (stage, duration, outcome) = match &round.stage {
		Stage::Joining => return Outcome::Waits,
		Stage::Training if nobody => return Outcome::Aborts(AbortReason::NobodyCommitted),
		Stage::Training => (Stage::Revealing, durations.revealing, Outcome::Moved),
		Stage::Revealing if nobody => return Outcome::Aborts(AbortReason::NobodyRevealed),
		Stage::Revealing => (Stage::Availability { repeats: 0 }, durations.availability, Outcome::Moved),
		Stage::Availability { .. } | Stage::Checkpointing { .. } if nobody => return Outcome::Aborts(AbortReason::NobodyLeft),
		Stage::Availability { repeats } => {
			let included = tally::availability(&round.participants);
			if included.contains(&true) {
				for (participant, included) in round.participants.iter_mut().zip(included) {
					participant.included = included;
				}
				(Stage::Checkpointing { repeats: 0, next: members.clone() }, durations.checkpointing, Outcome::Moved)
			} else if *repeats < limits.repeats {
				(Stage::Availability { repeats: repeats.saturating_add(1) }, durations.availability, Outcome::Repeats)
			} else {
				return Outcome::Aborts(AbortReason::NothingAvailable);
			}
		}
		Stage::Checkpointing { repeats, next } => match tally::quorum(&round.participants) {
			Some(root) => return Outcome::Adopts(root),
			None if *repeats < limits.repeats => {
				let stage = Stage::Checkpointing { repeats: repeats.saturating_add(1), next: next.clone() };
				(stage, durations.checkpointing, Outcome::Repeats)
			}
			None => return Outcome::Aborts(AbortReason::NoQuorum),
		},
	};
	if outcome == Outcome::Repeats {
		empty_ballot(round);
	}
	round.stage = stage;
	round.deadline = Some(now.saturating_add(duration));
	outcome
}

fn empty_ballot(round: &mut Round) {
	for participant in round.participants.iter_mut() {
		match round.stage {
			Stage::Availability { .. } => participant.vote = None,
			_ => participant.attestation = None,
		}
	}
}
