//! Transitions between phases: when one ends and what comes after it. Pure: block, members and limits are passed in.

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

/// Result of [`advance`].
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
		return (Vec::new(), adopts(round, root, now));
	}
	if !round.all_acted() && round.deadline.is_none_or(|deadline| now < deadline) {
		return (Vec::new(), Outcome::Waits);
	}
	let absent = round.drop_absent();
	let outcome = next(round, members, now, limits);
	(absent, outcome)
}

/// Adopts `root`, or waits if it is too early for that.
fn adopts(round: &Round, root: H256, now: BlockNumber) -> Outcome {
	if now < round.adoptable_at {
		Outcome::Waits
	} else {
		Outcome::Adopts(root)
	}
}

/// Returns the root that two thirds attest, by which the votes settle the phase without further ado.
pub fn decided(round: &Round) -> Option<H256> {
	match round.stage {
		Stage::Checkpointing { .. } => tally::quorum(&round.participants),
		_ => None,
	}
}

/// Returns whether [`advance`] would only move on to the next phase: nobody is waited for, nobody is dropped, nothing is settled.
pub fn moves_lightly(round: &Round) -> bool {
	round.all_acted()
		&& match round.stage {
			Stage::Training | Stage::Revealing => true,
			Stage::Availability { .. } => tally::availability(&round.participants).contains(&true),
			Stage::Joining | Stage::Checkpointing { .. } => false,
		}
}

/// The block in which `round` should be looked at again: the next one if nobody is waited for, or the first one in which it may be adopted
/// if that is decided; else the deadline's.
pub fn due(round: &Round, now: BlockNumber) -> Option<BlockNumber> {
	let next = now.saturating_add(1);
	if decided(round).is_some() {
		Some(next.max(round.adoptable_at))
	} else if round.stage != Stage::Joining && round.all_acted() {
		Some(next)
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
			Some(root) => return adopts(round, root, now),
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

/// Begins Checkpointing anew with an empty ballot and its full time, because what there is to compute has changed. Not a repeat: nobody
/// failed to agree. It counts as another attempt all the same: an attestation that is on its way must not become one of what was not
/// computed. Does nothing in another phase, and returns whether this is the one.
pub fn restart_checkpointing(round: &mut Round, now: BlockNumber, durations: &PhaseDurations) -> bool {
	let restarts = matches!(round.stage, Stage::Checkpointing { .. });
	if restarts {
		empty_ballot(round);
		round.attempt = round.attempt.saturating_add(1);
		round.deadline = Some(now.saturating_add(durations.checkpointing));
	}
	restarts
}

fn empty_ballot(round: &mut Round) {
	for participant in round.participants.iter_mut() {
		match round.stage {
			Stage::Availability { .. } => participant.vote = None,
			_ => participant.attestation = None,
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::round::{Commitment, Participant};
	use frame_support::BoundedVec;
	use neuroshard_types::run::{vote_bitmap, Attestation, Phase};

	const DURATIONS: PhaseDurations = PhaseDurations { joining: 1, training: 2, revealing: 3, availability: 4, checkpointing: 5 };
	const LIMITS: Limits<'static> = Limits { durations: &DURATIONS, repeats: 1 };

	fn account(number: u8) -> AccountId {
		AccountId::new([number; 32])
	}

	/// A round in Training until block 10, with as many participants of stake 10.
	fn training(count: u8) -> Round {
		let participants = (1..=count).map(|number| Participant::new(account(number), 10, true)).collect::<Vec<_>>();
		let participants = BoundedVec::truncate_from(participants);
		Round { stage: Stage::Training, deadline: Some(10), participants, ..Round::joining(0, 0, None) }
	}

	/// Participants in these places do what the phase asks for.
	fn act(round: &mut Round, places: &[usize], bits: &[bool], root: u8) {
		let phase = round.stage.phase();
		for place in places {
			let participant = &mut round.participants[*place];
			match phase {
				Phase::Joining => {}
				Phase::Training => participant.commitment = Some(Commitment { sealed: H256::zero(), at: 0 }),
				Phase::Revealing => participant.delta_root = Some(H256::repeat_byte(u8::try_from(*place).unwrap())),
				Phase::Availability => participant.vote = vote_bitmap(bits.iter().copied()),
				Phase::Checkpointing => {
					let checkpoint = H256::repeat_byte(root);
					participant.attestation = Some(Attestation { checkpoint, validation_loss: Default::default() });
				}
			}
		}
	}

	fn step(round: &mut Round, now: BlockNumber) -> (Vec<AccountId>, Outcome) {
		let members = BoundedVec::truncate_from(vec![account(1), account(9)]);
		advance(round, &members, now, LIMITS)
	}

	#[test]
	fn a_phase_waits_until_its_deadline_and_no_longer() {
		let mut round = training(2);
		act(&mut round, &[0], &[], 0);
		assert_eq!(step(&mut round, 9), (vec![], Outcome::Waits));
		assert_eq!(due(&round, 9), Some(10));
		assert_eq!(step(&mut round, 10), (vec![account(2)], Outcome::Moved));
		assert_eq!((&round.stage, round.deadline), (&Stage::Revealing, Some(13)));
	}

	#[test]
	fn phases_follow_each_other_and_the_members_hold_the_next_places() {
		let mut round = training(2);
		let mut stages = Vec::new();
		for _ in 0..3 {
			act(&mut round, &[0, 1], &[true, true], 0);
			assert!(moves_lightly(&round));
			assert_eq!(step(&mut round, 0), (vec![], Outcome::Moved));
			stages.push((round.stage.phase(), round.deadline));
		}
		assert_eq!(stages, [(Phase::Revealing, Some(3)), (Phase::Availability, Some(4)), (Phase::Checkpointing, Some(5))]);
		let next = BoundedVec::truncate_from(vec![account(1), account(9)]);
		assert_eq!(round.stage, Stage::Checkpointing { repeats: 0, next });
		act(&mut round, &[0, 1], &[], 7);
		assert!(!moves_lightly(&round));
		assert_eq!((due(&round, 3), decided(&round)), (Some(4), Some(H256::repeat_byte(7))));
		assert_eq!(step(&mut round, 4), (vec![], Outcome::Adopts(H256::repeat_byte(7))));
	}

	/// A round of three in Availability until block 4.
	fn availability() -> Round {
		let mut round = training(3);
		act(&mut round, &[0, 1, 2], &[], 0);
		step(&mut round, 0);
		act(&mut round, &[0, 1, 2], &[], 0);
		step(&mut round, 0);
		round
	}

	#[test]
	fn a_quorum_drops_nobody_not_even_at_the_deadline() {
		let mut round = availability();
		act(&mut round, &[0, 1, 2], &[true; 3], 0);
		step(&mut round, 0);
		act(&mut round, &[0, 1], &[], 7);
		assert_eq!(step(&mut round, 5), (vec![], Outcome::Adopts(H256::repeat_byte(7))));
		assert_eq!(round.counted().count(), 3);
	}

	#[test]
	fn the_absent_leave_before_votes_are_counted_at_the_deadline() {
		let mut round = availability();
		act(&mut round, &[0, 1], &[true, true, false], 0);
		assert_eq!(step(&mut round, 4), (vec![account(3)], Outcome::Moved));
		act(&mut round, &[0], &[], 7);
		assert_eq!(step(&mut round, 9), (vec![account(2)], Outcome::Adopts(H256::repeat_byte(7))));
	}

	#[test]
	fn a_vote_repeats_as_often_as_allowed_and_then_aborts() {
		let mut round = availability();
		act(&mut round, &[0, 1, 2], &[false; 3], 0);
		assert!(!moves_lightly(&round));
		assert_eq!(step(&mut round, 1), (vec![], Outcome::Repeats));
		assert_eq!((&round.stage, round.deadline), (&Stage::Availability { repeats: 1 }, Some(5)));
		assert!(!round.all_acted());
		act(&mut round, &[0, 1, 2], &[false; 3], 0);
		assert_eq!(step(&mut round, 2), (vec![], Outcome::Aborts(AbortReason::NothingAvailable)));
	}

	#[test]
	fn nobody_left_aborts_every_phase() {
		let (mut round, mut reasons) = (training(1), Vec::new());
		for _ in 0..4 {
			let mut deserted = round.clone();
			reasons.push(step(&mut deserted, 99).1);
			act(&mut round, &[0], &[true], 0);
			step(&mut round, 0);
		}
		use AbortReason::*;
		assert_eq!(reasons, [NobodyCommitted, NobodyRevealed, NobodyLeft, NobodyLeft].map(Outcome::Aborts));
	}

	#[test]
	fn a_decision_waits_until_the_round_may_be_adopted_whatever_its_deadline() {
		let mut round = training(3);
		round.participants.iter_mut().for_each(|participant| participant.delta_root = Some(H256::zero()));
		(round.stage, round.adoptable_at) = (Stage::Checkpointing { repeats: 0, next: Default::default() }, 15);
		act(&mut round, &[0, 1], &[], 7);
		assert_eq!((decided(&round), due(&round, 3), due(&round, 20)), (Some(H256::repeat_byte(7)), Some(15), Some(21)));
		// The deadline is block 10. The third may still attest, and nobody is late.
		for now in [4, 10, 14] {
			assert_eq!(advance(&mut round, &Accounts::default(), now, LIMITS), (Vec::new(), Outcome::Waits));
		}
		assert!(round.participants.iter().all(|participant| participant.counted));
		let adopted = advance(&mut round, &Accounts::default(), 15, LIMITS);
		assert_eq!(adopted, (Vec::new(), Outcome::Adopts(H256::repeat_byte(7))));
	}

	#[test]
	fn a_quorum_of_those_who_were_in_time_waits_too() {
		let mut round = training(3);
		round.participants.iter_mut().for_each(|participant| participant.delta_root = Some(H256::zero()));
		(round.stage, round.adoptable_at) = (Stage::Checkpointing { repeats: 0, next: Default::default() }, 15);
		act(&mut round, &[0], &[], 7);
		let (absent, outcome) = advance(&mut round, &Accounts::default(), 10, LIMITS);
		assert_eq!((absent, outcome), (vec![account(2), account(3)], Outcome::Waits));
		assert_eq!(advance(&mut round, &Accounts::default(), 15, LIMITS).1, Outcome::Adopts(H256::repeat_byte(7)));
	}

	#[test]
	fn a_round_that_waits_for_members_is_left_alone() {
		let mut round = Round::joining(0, 0, Some(5));
		assert_eq!(step(&mut round, 99), (vec![], Outcome::Waits));
		assert_eq!(due(&round, 0), Some(5));
	}
}
