//! Tests of who takes part from when on.

use super::*;
use crate::{Error, Event};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::run::Phase;

#[test]
fn only_active_workers_with_enough_bond_join() {
	build_and_execute(|| {
		let run = create(config());
		assert_noop!(join(&worker(50), run), Error::<Test>::NotActiveWorker);
		provider(&worker(1), |provider| provider.active = false);
		assert_noop!(join(&worker(1), run), Error::<Test>::NotActiveWorker);
		provider(&worker(2), |provider| provider.bond = 99);
		assert_noop!(join(&worker(2), run), Error::<Test>::BondTooSmall);
		provider(&worker(2), |provider| provider.bond = 100);
		assert_ok!(join(&worker(2), run));
		assert!(happened(Event::Joined { run, who: worker(2) }));
		assert_noop!(join(&worker(2), run), Error::<Test>::AlreadyMember);
		assert_noop!(join(&worker(3), 9), Error::<Test>::UnknownRun);
	});
}

#[test]
fn members_are_by_account_bytes_whoever_came_first() {
	build_and_execute(|| {
		let run = create(config());
		[3, 1, 2].iter().for_each(|number| join(&worker(*number), run).unwrap());
		assert_eq!(Training::members(run), [worker(1), worker(2), worker(3)]);
		assert_eq!(Training::run(run).unwrap().joining, [worker(1), worker(2), worker(3)]);
	});
}

#[test]
fn the_joining_time_counts_from_when_enough_have_joined() {
	build_and_execute(|| {
		let run = create(config());
		skip(10);
		assert_ok!(join(&worker(1), run));
		skip(10);
		assert_eq!((phase(run), round(run).deadline), (Phase::Joining, None));
		assert_ok!(join(&worker(2), run));
		// Block 21 + 3.
		assert_eq!(round(run).deadline, Some(24));
		run_to(22);
		assert_ok!(join(&worker(3), run));
		assert_eq!(round(run).deadline, Some(24));
		run_to(23);
		assert_eq!(phase(run), Phase::Joining);
		run_to(24);
		assert_eq!(phase(run), Phase::Training);
		assert_eq!(round(run).participants.len(), 3);
	});
}

#[test]
fn a_full_run_starts_in_the_next_block_and_takes_nobody_else() {
	build_and_execute(|| {
		let run = create(config());
		(1..=4).for_each(|number| join(&worker(number), run).unwrap());
		assert_noop!(join(&worker(5), run), Error::<Test>::RunFull);
		assert_eq!(phase(run), Phase::Joining);
		skip(1);
		assert_eq!(phase(run), Phase::Training);
		assert_eq!(round(run).participants.len(), 4);
	});
}

#[test]
fn leaving_before_the_start_gives_up_the_place_and_may_stop_the_clock() {
	build_and_execute(|| {
		let run = create(config());
		(1..=2).for_each(|number| join(&worker(number), run).unwrap());
		skip(1);
		assert_ok!(leave(&worker(1), run));
		assert!(happened(Event::Left { run, who: worker(1) }));
		assert_noop!(leave(&worker(1), run), Error::<Test>::NotMember);
		assert_eq!(round(run).deadline, None);
		skip(20);
		assert_eq!(phase(run), Phase::Joining);
		assert_ok!(join(&worker(3), run));
		assert_eq!(round(run).deadline, Some(25));
	});
}

#[test]
fn who_fills_a_run_and_leaves_does_not_start_it_early() {
	build_and_execute(|| {
		let run = create(config());
		(1..=4).for_each(|number| join(&worker(number), run).unwrap());
		assert_ok!(leave(&worker(4), run));
		skip(1);
		assert_eq!((phase(run), round(run).deadline), (Phase::Joining, Some(4)));
		skip(2);
		assert_eq!(phase(run), Phase::Training);
	});
}

#[test]
fn members_that_are_no_longer_eligible_do_not_start() {
	build_and_execute(|| {
		let run = create(config());
		(1..=3).for_each(|number| join(&worker(number), run).unwrap());
		provider(&worker(1), |provider| provider.active = false);
		provider(&worker(2), |provider| provider.bond = 99);
		skip(3);
		assert!(happened(Event::Left { run, who: worker(1) }));
		assert_eq!(Training::members(run), [worker(3)]);
		assert_eq!((phase(run), round(run).deadline), (Phase::Joining, None));
		assert_ok!(join(&worker(4), run));
		skip(3);
		assert_eq!(phase(run), Phase::Training);
		assert_eq!(round(run).attempt, 0);
	});
}

#[test]
fn a_late_joiner_takes_part_in_the_next_round() {
	build_and_execute(|| {
		let (run, mut workers) = training(2);
		assert_ok!(join(&worker(3), run));
		assert_eq!(Training::run(run).unwrap().joining, [worker(3)]);
		assert_noop!(commit(&worker(3), run), Error::<Test>::NotParticipant);
		full_round(run, &workers, 1);
		workers.push(worker(3));
		assert_eq!(Training::run(run).unwrap().joining, []);
		full_round(run, &workers, 2);
		assert_eq!(Training::record(run, 1).unwrap().included.len(), 3);
	});
}

#[test]
fn who_joins_while_the_next_checkpoint_is_known_waits_one_round_more() {
	build_and_execute(|| {
		let (run, workers) = checkpointing(2);
		assert_ok!(join(&worker(3), run));
		attest_all(run, &workers, 1);
		assert_eq!(round(run).participants.len(), 2);
		assert_eq!(Training::run(run).unwrap().joining, [worker(3)]);
		full_round(run, &workers, 2);
		assert_eq!(round(run).participants.len(), 3);
	});
}

#[test]
fn who_leaves_while_the_next_checkpoint_is_known_moves_nobody_elses_windows() {
	build_and_execute(|| {
		let (run, workers) = checkpointing(3);
		assert_ok!(leave(&workers[0], run));
		attest_all(run, &workers, 1);
		let round = round(run);
		let counted: Vec<_> = round.participants.iter().map(|participant| participant.counted).collect();
		assert_eq!(counted, [false, true, true]);
		assert_noop!(commit(&workers[0], run), Error::<Test>::DroppedOut);
		// Nobody waits for the empty place.
		full_round(run, &workers[1..], 2);
		let record = Training::record(run, 1).unwrap();
		assert_eq!((record.participants, record.included.len()), (workers.clone(), 2));
		assert_eq!(notes(&workers[0]), (0, 0));
	});
}

#[test]
fn who_chills_in_mid_round_finishes_it_and_has_no_part_in_the_next() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		commit_all(run, &workers);
		provider(&workers[2], |provider| provider.active = false);
		reveal_all(run, &workers);
		vote_all(run, &workers);
		attest_all(run, &workers, 1);
		assert!(matches!(fate(&workers[2], run, 0), Some(Fate::Unpaid(_))));
		assert!(happened(Event::Left { run, who: worker(3) }));
		assert_eq!(round(run).counted().count(), 2);
		assert_eq!(Training::members(run), workers[..2]);
	});
}

#[test]
fn leaving_in_mid_round_frees_the_place_for_somebody_else() {
	build_and_execute(|| {
		let (run, workers) = training(4);
		assert_noop!(join(&worker(5), run), Error::<Test>::RunFull);
		assert_ok!(leave(&workers[3], run));
		assert_ok!(join(&worker(5), run));
		full_round(run, &workers, 1);
		let places: Vec<_> = round(run).participants.iter().map(|participant| participant.account.clone()).collect();
		assert_eq!(places, [worker(1), worker(2), worker(3), worker(5)]);
	});
}

#[test]
fn a_round_with_too_few_members_left_waits_for_more() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		assert_ok!(leave(&workers[1], run));
		full_round(run, &workers, 1);
		assert_eq!((phase(run), round(run).round, round(run).deadline), (Phase::Joining, 1, None));
		assert_ok!(join(&worker(3), run));
		skip(3);
		assert_eq!((phase(run), round(run).round, round(run).attempt), (Phase::Training, 1, 0));
	});
}
