//! Votes by stake, that fail, repeat, and give up.

use super::*;
use crate::{AbortReason, Event};
use frame_support::assert_ok;
use neuroshard_types::{run::Phase, Balance, H256};

/// Bonds of workers 1, 2, ... before they join.
fn bonds(bonds: &[Balance]) {
	for (number, bond) in (1..).zip(bonds) {
		provider(&worker(number), |provider| provider.bond = *bond);
	}
}

fn included(run: RunId) -> Vec<bool> {
	round(run).participants.iter().map(|participant| participant.included).collect()
}

#[test]
fn a_delta_with_exactly_two_thirds_of_the_stake_is_included() {
	build_and_execute(|| {
		bonds(&[200, 100]);
		let (run, workers) = availability(2);
		assert_ok!(vote(&workers[0], run, &[true, false]));
		assert_ok!(vote(&workers[1], run, &[false, true]));
		assert_eq!((phase(run), included(run)), (Phase::Checkpointing, vec![true, false]));
	});
}

#[test]
fn a_delta_one_planck_short_of_two_thirds_is_not() {
	build_and_execute(|| {
		bonds(&[200, 101]);
		let (run, workers) = availability(2);
		assert_ok!(vote(&workers[0], run, &[true, true]));
		assert_ok!(vote(&workers[1], run, &[false, true]));
		assert_eq!((phase(run), included(run)), (Phase::Checkpointing, vec![false, true]));
	});
}

#[test]
fn a_checkpoint_with_exactly_two_thirds_of_the_stake_is_adopted() {
	build_and_execute(|| {
		bonds(&[200, 100]);
		let (run, workers) = checkpointing(2);
		assert_ok!(attest(&workers[0], run, 5, 1.0));
		skip(1);
		assert_eq!(Training::run(run).unwrap().checkpoint, H256::repeat_byte(5));
	});
}

#[test]
fn a_checkpoint_one_planck_short_of_two_thirds_is_not() {
	build_and_execute(|| {
		bonds(&[200, 101]);
		let (run, workers) = checkpointing(2);
		assert_ok!(attest(&workers[0], run, 5, 1.0));
		skip(1);
		assert_eq!(phase(run), Phase::Checkpointing);
		assert_ok!(attest(&workers[1], run, 5, 1.0));
		skip(1);
		assert_eq!(phase(run), Phase::Training);
	});
}

#[test]
fn bonds_that_change_in_mid_round_change_no_denominator() {
	build_and_execute(|| {
		bonds(&[100, 100, 100]);
		let (run, workers) = checkpointing(3);
		provider(&workers[0], |provider| provider.bond = 1_000_000);
		assert_ok!(attest(&workers[0], run, 5, 1.0));
		skip(1);
		assert_eq!(phase(run), Phase::Checkpointing);
		// What unbonds can be slashed as before.
		provider(&workers[1], |provider| (provider.bond, provider.unbonding) = (0, 100));
		assert_ok!(attest(&workers[1], run, 5, 1.0));
		skip(1);
		// Adopted with 200 of 300. From here on the new bonds count.
		let stakes: Vec<_> = round(run).participants.iter().map(|place| (place.stake, place.counted)).collect();
		assert_eq!(stakes, [(1_000_000, true), (0, false), (100, true)]);
	});
}

#[test]
fn a_vote_without_a_result_repeats_with_an_empty_ballot() {
	build_and_execute(|| {
		let (run, workers) = availability(2);
		let start = System::block_number();
		assert_ok!(vote(&workers[0], run, &[true, false]));
		assert_ok!(vote(&workers[1], run, &[false, true]));
		// All have voted: settled when the next block begins, without waiting for the deadline.
		assert_eq!(phase(run), Phase::Availability);
		skip(1);
		let deadline = Some(start + 1 + 6);
		assert_eq!((phase(run), round(run).deadline), (Phase::Availability, deadline));
		assert!(happened(Event::PhaseRepeated { run, round: 0, attempt: 0, phase: Phase::Availability, repeats: 1, deadline }));
		assert!(round(run).participants.iter().all(|participant| participant.vote.is_none()));
		vote_all(run, &workers);
		assert_eq!((phase(run), included(run)), (Phase::Checkpointing, vec![true, true]));
		assert_eq!(notes(&workers[0]), (0, 0));
	});
}

#[test]
fn deltas_that_stay_unavailable_abort_the_attempt() {
	build_and_execute(|| {
		let (run, workers) = availability(2);
		for _ in 0..3 {
			assert_eq!(phase(run), Phase::Availability);
			workers.iter().for_each(|who| vote(who, run, &[false, false]).unwrap());
			skip(1);
		}
		let reason = AbortReason::NothingAvailable;
		assert!(happened(Event::RoundAborted { run, round: 0, attempt: 0, reason }));
		// Nobody dropped out, so the round starts anew at once.
		assert_eq!((phase(run), round(run).round, round(run).attempt), (Phase::Training, 0, 1));
		assert_eq!(round(run).counted().count(), 2);
		assert_eq!((fate(&workers[0], run, 0), Settled::get()), (Some(Fate::Void), 2));
	});
}

#[test]
fn checkpoints_that_stay_split_abort_the_attempt() {
	build_and_execute(|| {
		let (run, workers) = checkpointing(2);
		for repeats in 0..3 {
			assert_ok!(attest(&workers[0], run, 5, 1.0));
			assert_ok!(attest(&workers[1], run, 6, 1.0));
			skip(1);
			if repeats < 2 {
				let deadline = round(run).deadline;
				let phase = Phase::Checkpointing;
				assert!(happened(Event::PhaseRepeated { run, round: 0, attempt: 0, phase, repeats: repeats + 1, deadline }));
			}
		}
		assert!(happened(Event::RoundAborted { run, round: 0, attempt: 0, reason: AbortReason::NoQuorum }));
		assert_eq!((phase(run), round(run).attempt), (Phase::Training, 1));
		assert_eq!(Training::run(run).unwrap().rounds_adopted, 0);
		assert_eq!((Submitted::get(), Settled::get()), (2, 2));
		full_round(run, &workers, 7);
		assert_eq!(Training::run(run).unwrap().rounds_adopted, 1);
	});
}

#[test]
fn members_who_joined_meanwhile_take_part_in_a_retried_round() {
	build_and_execute(|| {
		let (run, workers) = availability(2);
		assert_ok!(join(&worker(3), run));
		for _ in 0..3 {
			workers.iter().for_each(|who| vote(who, run, &[false, false]).unwrap());
			skip(1);
		}
		assert_eq!(round(run).counted().count(), 3);
	});
}

#[test]
fn a_minority_root_is_outvoted_and_its_attester_paid_for_its_delta() {
	build_and_execute(|| {
		let (run, workers) = checkpointing(3);
		assert_ok!(attest(&workers[0], run, 6, 9.0));
		assert_ok!(attest(&workers[1], run, 5, 1.0));
		assert_ok!(attest(&workers[2], run, 5, 1.0));
		skip(1);
		let record = Training::record(run, 0).unwrap();
		assert_eq!((record.checkpoint, record.validation_loss.get()), (H256::repeat_byte(5), 1.0));
		assert!(matches!(fate(&workers[0], run, 0), Some(Fate::Unpaid(_))));
	});
}
