//! Participants that miss a deadline.

use super::*;
use crate::{AbortReason, Error, Event};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::run::Phase;

#[test]
fn who_does_not_commit_in_time_is_out_and_the_others_go_on() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		commit_all(run, &workers[..2]);
		run_to(13);
		assert_eq!(phase(run), Phase::Training);
		run_to(14);
		assert_eq!(phase(run), Phase::Revealing);
		assert!(happened(Event::DroppedOut { run, round: 0, who: worker(3), phase: Phase::Training }));
		assert_eq!((notes(&workers[2]), notes(&workers[0])), ((0, 1), (0, 0)));
		assert_eq!(Training::members(run), workers[..2]);
		assert_noop!(reveal(&workers[2], run), Error::<Test>::DroppedOut);

		// Back in time for the next round.
		assert_ok!(join(&workers[2], run));
		assert_eq!(Training::run(run).unwrap().joining, [worker(3)]);
		reveal_all(run, &workers[..2]);
		vote_all(run, &workers[..2]);
		attest_all(run, &workers[..2], 1);
		assert_eq!(round(run).counted().count(), 3);
		assert_eq!(Training::record(run, 0).unwrap().included.len(), 2);
	});
}

#[test]
fn who_does_not_reveal_in_time_is_out_and_the_others_go_on() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		commit_all(run, &workers);
		reveal_all(run, &workers[1..]);
		run_to_deadline(run);
		assert_eq!(phase(run), Phase::Availability);
		assert!(happened(Event::DroppedOut { run, round: 0, who: worker(1), phase: Phase::Revealing }));
		assert_eq!(notes(&workers[0]), (0, 1));
		assert_noop!(vote(&workers[0], run, &[true, true]), Error::<Test>::DroppedOut);
		// Two bits: only two revealed.
		vote_all(run, &workers[1..]);
		attest_all(run, &workers[1..], 1);
		assert_eq!((fate(&workers[0], run, 0), Submitted::get(), Settled::get()), (None, 2, 2));
		assert_eq!(Training::record(run, 0).unwrap().participants, workers);
	});
}

#[test]
fn who_revealed_and_does_not_vote_leaves_the_denominator_and_is_still_included() {
	build_and_execute(|| {
		let (run, workers) = availability(3);
		assert_ok!(vote(&workers[0], run, &[true, false, true]));
		assert_ok!(vote(&workers[1], run, &[false, true, true]));
		run_to_deadline(run);
		// Without the third, one of two is not two thirds.
		let included: Vec<_> = round(run).participants.iter().map(|participant| participant.included).collect();
		assert_eq!((phase(run), included), (Phase::Checkpointing, vec![false, false, true]));
		assert_noop!(attest(&workers[2], run, 1, 1.0), Error::<Test>::DroppedOut);
		attest_all(run, &workers[..2], 1);
		assert_eq!((fate(&workers[0], run, 0), fate(&workers[2], run, 0)), (Some(Fate::Void), Some(Fate::Unpaid(256))));
		// The dropout lost a point when it dropped out; an unavailable delta costs one too.
		assert_eq!((notes(&workers[0]), notes(&workers[2])), ((0, 1), (0, 1)));
	});
}

#[test]
fn who_missed_the_vote_keeps_its_place_in_the_next_round_if_it_comes_back() {
	build_and_execute(|| {
		let (run, workers) = availability(3);
		vote_all(run, &workers[..2]);
		run_to_deadline(run);
		assert_eq!(Training::members(run), workers[..2]);
		assert_ok!(join(&workers[2], run));
		attest_all(run, &workers[..2], 1);
		assert_eq!(round(run).counted().count(), 3);
	});
}

#[test]
fn who_does_not_attest_in_time_leaves_the_denominator() {
	build_and_execute(|| {
		let (run, workers) = checkpointing(4);
		// Two of four are half, two of three are two thirds.
		assert_ok!(attest(&workers[0], run, 1, 1.0));
		assert_ok!(attest(&workers[1], run, 1, 1.0));
		assert_ok!(attest(&workers[2], run, 2, 1.0));
		skip(1);
		assert_eq!(phase(run), Phase::Checkpointing);
		run_to_deadline(run);
		assert_eq!((phase(run), round(run).round), (Phase::Training, 1));
		assert!(happened(Event::DroppedOut { run, round: 0, who: worker(4), phase: Phase::Checkpointing }));
		assert_eq!(notes(&workers[3]), (0, 1));
		// Its place stays, uncounted, and its delta was included and is paid.
		assert_eq!((round(run).participants.len(), round(run).counted().count()), (4, 3));
		assert!(matches!(fate(&workers[3], run, 0), Some(Fate::Unpaid(_))));
	});
}

#[test]
fn a_dropout_may_vote_no_more_when_the_phase_repeats() {
	build_and_execute(|| {
		let (run, workers) = availability(3);
		assert_ok!(vote(&workers[0], run, &[false; 3]));
		run_to_deadline(run);
		assert_eq!(phase(run), Phase::Availability);
		assert_noop!(vote(&workers[1], run, &[true; 3]), Error::<Test>::DroppedOut);
		// The one that is left decides alone.
		assert_ok!(vote(&workers[0], run, &[true; 3]));
		assert_eq!(phase(run), Phase::Checkpointing);
	});
}

#[test]
fn who_keeps_missing_deadlines_waits_longer_each_time_until_a_delta_is_included() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		let (idle, busy) = (&workers[2], &workers[..2]);
		// A round that the third misses, asking at once to be back for the next one.
		let missed = |root| {
			commit_all(run, busy);
			run_to_deadline(run);
			let joined = join(idle, run);
			reveal_all(run, busy);
			vote_all(run, busy);
			attest_all(run, busy, root);
			joined
		};
		assert_ok!(missed(1));
		assert_eq!(Training::next_join(run, idle.clone()), None);
		assert_eq!(missed(2), Err(Error::<Test>::CoolingOff.into()));
		// Once the time for training, 10 blocks, from the deadline on, which was one block ago.
		let until = System::block_number() - 1 + 10;
		assert_eq!(Training::next_join(run, idle.clone()), Some(until));
		run_to(until - 1);
		assert_noop!(join(idle, run), Error::<Test>::CoolingOff);
		run_to(until);
		assert_ok!(join(idle, run));
		full_round(run, busy, 3);
		// The row goes on: three times as long.
		assert_eq!(missed(4), Err(Error::<Test>::CoolingOff.into()));
		let until = System::block_number() - 1 + 30;
		assert_eq!(Training::next_join(run, idle.clone()), Some(until));
		while System::block_number() < until {
			full_round(run, busy, 5);
		}
		assert_ok!(join(idle, run));
		full_round(run, busy, 6);
		// An included delta ends the row.
		full_round(run, &workers, 7);
		assert_ok!(missed(8));
	});
}

#[test]
fn dropouts_are_forgotten_with_their_run() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		commit_all(run, &workers[1..]);
		run_to_deadline(run);
		assert_eq!(crate::Absences::<Test>::get(run).len(), 1);
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), run));
		assert!(!crate::Absences::<Test>::contains_key(run));
		assert_eq!(Training::next_join(run, workers[0].clone()), None);
	});
}

/// Expects that the attempt is aborted for `reason` when nobody acts any more, and that `proofs` were voided.
fn aborts(run: RunId, reason: AbortReason, proofs: u32) {
	run_to_deadline(run);
	assert!(happened(Event::RoundAborted { run, round: 0, attempt: 0, reason }));
	assert_eq!((Submitted::get(), Settled::get()), (proofs, proofs));
	// Everybody dropped out, so the round waits for members.
	let round = round(run);
	assert_eq!((round.stage.phase(), round.round, round.attempt, round.deadline), (Phase::Joining, 0, 1, None));
	assert_eq!(Training::members(run), []);
	assert!(Fates::get().values().all(|fate| *fate == Fate::Void));
}

#[test]
fn a_round_in_which_nobody_commits_starts_anew() {
	build_and_execute(|| {
		let (run, _) = training(3);
		aborts(run, AbortReason::NobodyCommitted, 0);
	});
}

#[test]
fn a_round_in_which_nobody_reveals_starts_anew() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		commit_all(run, &workers);
		aborts(run, AbortReason::NobodyRevealed, 0);
	});
}

#[test]
fn a_round_in_which_nobody_votes_starts_anew() {
	build_and_execute(|| {
		let (run, _) = availability(3);
		aborts(run, AbortReason::NobodyLeft, 3);
	});
}

#[test]
fn a_round_in_which_nobody_attests_starts_anew() {
	build_and_execute(|| {
		let (run, _) = checkpointing(3);
		aborts(run, AbortReason::NobodyLeft, 3);
	});
}

#[test]
fn a_retried_round_has_another_seed_and_can_be_proven_again() {
	build_and_execute(|| {
		let (run, workers) = checkpointing(2);
		let before = round(run).seed;
		run_to_deadline(run);
		workers.iter().for_each(|who| join(who, run).unwrap());
		skip(3);
		assert_eq!((round(run).round, round(run).attempt), (0, 1));
		assert_ne!(round(run).seed, before);
		full_round(run, &workers, 1);
		assert_eq!((fate(&workers[0], run, 0), Settled::get()), (Some(Fate::Unpaid(256)), 4));
		assert_eq!((round(run).round, round(run).attempt), (1, 0));
	});
}
