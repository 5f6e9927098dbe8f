//! Participants that the others report as missing.

use super::*;
use crate::{Error, Event, Missing};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{
	run::{vote_bitmap, MissingReport, Phase, PhaseDurations, RunConfig, VoteBitmap},
	AccountId,
};
use sp_runtime::DispatchResult;

fn bits<const N: usize>(bits: [u8; N]) -> VoteBitmap {
	vote_bitmap(bits.map(|bit| bit == 1)).expect("few bits")
}

/// `who` reports those whose bit is 1, in the phase that the round is in.
fn report<const N: usize>(who: &AccountId, run: RunId, missing: [u8; N]) -> DispatchResult {
	let ((index, attempt), phase) = (at(run), phase(run));
	let sent = Training::report_missing(RuntimeOrigin::signed(who.clone()), run, index, attempt, phase, bits(missing));
	sent.map(|_| ()).map_err(|error| error.error)
}

#[test]
fn nobody_waits_for_who_is_reported_by_two_thirds() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		commit_all(run, &workers[..2]);
		assert_ok!(report(&workers[0], run, [0, 0, 1]));
		let first = MissingReport { who: workers[0].clone(), at: System::block_number(), missing: bits([0, 0, 1]) };
		assert_eq!((phase(run), Training::reported_missing(run)), (Phase::Training, vec![first]));
		skip(1);
		assert_ok!(report(&workers[1], run, [0, 0, 1]));
		assert_eq!((phase(run), round(run).deadline), (Phase::Training, Some(System::block_number() + 1)));
		skip(1);
		// As at the deadline, long before it.
		assert_eq!((phase(run), Training::reported_missing(run)), (Phase::Revealing, vec![]));
		assert!(happened(Event::DroppedOut { run, round: 0, who: worker(3), phase: Phase::Training }));
		assert_eq!((notes(&workers[2]), notes(&workers[0])), ((0, 1), (0, 0)));
		assert_eq!(Training::members(run), workers[..2]);

		reveal_all(run, &workers[..2]);
		vote_all(run, &workers[..2]);
		attest_all(run, &workers[..2], 1);
		assert_eq!(Training::record(run, 0).unwrap().included.len(), 2);
	});
}

#[test]
fn less_than_two_thirds_of_the_stake_end_nothing() {
	build_and_execute(|| {
		provider(&worker(3), |provider| provider.bond = 101);
		for number in [1, 2] {
			provider(&worker(number), |provider| provider.bond = 100);
		}
		let (run, workers) = training(3);
		commit_all(run, &workers[..2]);
		for who in &workers[..2] {
			assert_ok!(report(who, run, [0, 0, 1]));
		}
		assert_eq!(phase(run), Phase::Training);
		// It was only slow.
		assert_ok!(commit(&workers[2], run));
		assert_eq!((phase(run), round(run).counted().count()), (Phase::Revealing, 3));
	});
}

#[test]
fn a_phase_goes_on_as_long_as_one_who_is_waited_for_is_heard_of() {
	build_and_execute(|| {
		for number in [1, 2] {
			provider(&worker(number), |provider| provider.bond = 1_000);
		}
		let (run, workers) = training(4);
		commit_all(run, &workers[..2]);
		for who in &workers[..2] {
			assert_ok!(report(who, run, [0, 0, 0, 1]));
		}
		assert_eq!(phase(run), Phase::Training);
		// Now the third falls silent as well, and each says so.
		assert_ok!(report(&workers[0], run, [0, 0, 1, 1]));
		assert_eq!(phase(run), Phase::Training);
		assert_ok!(report(&workers[1], run, [0, 0, 1, 1]));
		skip(1);
		assert_eq!((phase(run), round(run).counted().count()), (Phase::Revealing, 2));
	});
}

#[test]
fn who_reveals_and_votes_no_more_is_not_waited_for_either() {
	build_and_execute(|| {
		let (run, workers) = training(4);
		commit_all(run, &workers);
		reveal_all(run, &workers[..3]);
		for who in &workers[..3] {
			assert_ok!(report(who, run, [0, 0, 0, 1]));
		}
		skip(1);
		assert_eq!(phase(run), Phase::Availability);
		// Two of three are two thirds.
		for who in &workers[..2] {
			assert_ok!(vote(who, run, &[true, true, true]));
			assert_ok!(report(who, run, [0, 0, 1, 0]));
		}
		skip(1);
		assert_eq!(phase(run), Phase::Checkpointing);
		// Its delta was there when it fell silent.
		let included: Vec<_> = round(run).participants.iter().map(|participant| participant.included).collect();
		assert_eq!(included, [true, true, true, false]);
		attest_all(run, &workers[..2], 1);
		assert_eq!((phase(run), Training::members(run)), (Phase::Training, workers[..2].to_vec()));
	});
}

#[test]
fn who_is_reported_may_still_act_in_the_block_that_decides_it() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		commit_all(run, &workers[..2]);
		for who in &workers[..2] {
			assert_ok!(report(who, run, [0, 0, 1]));
		}
		assert_ok!(commit(&workers[2], run));
		assert_eq!((phase(run), round(run).counted().count()), (Phase::Revealing, 3));
	});
}

#[test]
fn reports_of_different_interruptions_do_not_add_up() {
	build_and_execute(|| {
		let (run, workers) = training_with(RunConfig { durations: PhaseDurations { training: 100, ..config().durations }, ..config() }, 3);
		commit_all(run, &workers[..2]);
		assert_ok!(report(&workers[0], run, [0, 0, 1]));
		skip(29);
		assert_noop!(report(&workers[0], run, [0, 0, 1]), Error::<Test>::AlreadyActed);
		skip(1);
		assert_ok!(report(&workers[1], run, [0, 0, 1]));
		skip(1);
		assert_eq!(phase(run), Phase::Training, "the first one counts no more");
		assert_ok!(report(&workers[0], run, [0, 0, 1]));
		skip(1);
		assert_eq!(phase(run), Phase::Revealing);
	});
}

#[test]
fn an_availability_that_repeats_at_once_begins_without_reports() {
	build_and_execute(|| {
		let (run, workers) = availability(3);
		for who in &workers[..2] {
			assert_ok!(vote(who, run, &[false; 3]));
			assert_ok!(report(who, run, [0, 0, 1]));
		}
		skip(1);
		assert_eq!((phase(run), Training::reported_missing(run)), (Phase::Availability, vec![]));
		assert_eq!(round(run).counted().count(), 2);
		assert_noop!(report(&workers[0], run, [0, 1, 0]), Error::<Test>::NotActed);
	});
}

#[test]
fn a_report_is_taken_from_who_has_acted_in_the_phase_it_is_about() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		let origin = |who: &AccountId| RuntimeOrigin::signed(who.clone());
		assert_noop!(report(&workers[0], run, [0, 0, 1]), Error::<Test>::NotActed);
		commit_all(run, &workers[..2]);
		assert_noop!(report(&worker(9), run, [0, 0, 1]), Error::<Test>::NotParticipant);
		let call = |round, attempt, phase, missing| Training::report_missing(origin(&workers[0]), run, round, attempt, phase, missing);
		let good = || bits([0, 0, 1]);
		assert_noop!(call(1, 0, Phase::Training, good()), Error::<Test>::WrongRound);
		assert_noop!(call(0, 1, Phase::Training, good()), Error::<Test>::WrongAttempt);
		assert_noop!(call(0, 0, Phase::Revealing, good()), Error::<Test>::WrongPhase);
		assert_noop!(call(0, 0, Phase::Training, bits([0, 0, 0, 1])), Error::<Test>::BadVote);
		assert_noop!(call(0, 0, Phase::Training, VoteBitmap::default()), Error::<Test>::BadVote);
		assert_ok!(report(&workers[0], run, [0, 0, 1]));
		assert_noop!(report(&workers[0], run, [0, 0, 1]), Error::<Test>::AlreadyActed);
		// Heard of again.
		assert_ok!(report(&workers[0], run, [0, 0, 0]));
		assert_ok!(report(&workers[1], run, [0, 0, 1]));
		assert_eq!(phase(run), Phase::Training);
		provider(&workers[0], |provider| provider.bond = 1);
		assert_noop!(report(&workers[0], run, [0, 0, 1]), Error::<Test>::StakeGone);
	});
}

#[test]
fn what_was_reported_counts_in_no_other_phase_and_goes_with_the_run() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		commit_all(run, &workers[..2]);
		assert_ok!(report(&workers[0], run, [0, 0, 1]));
		assert_ok!(commit(&workers[2], run));
		reveal_all(run, &workers[..2]);
		assert_ok!(report(&workers[1], run, [0, 0, 1]));
		assert_eq!((phase(run), Training::reported_missing(run).len()), (Phase::Revealing, 1));
		assert_ok!(reveal(&workers[2], run));
		vote_all(run, &workers);
		assert_noop!(report(&workers[0], run, [0, 0, 1]), Error::<Test>::WrongPhase);
		assert!(Missing::<Test>::contains_key(run));
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), run));
		assert!(!Missing::<Test>::contains_key(run));
	});
}
