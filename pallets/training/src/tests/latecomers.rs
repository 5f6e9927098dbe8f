//! Tests of who takes part in a round that is being trained when they join.

use super::{attest_all, training_with, unequal::*, vote_all};
use crate::{mock::*, Event, Latecomers};
use frame_support::assert_ok;
use neuroshard_types::{
	dispute::{Claims as _, OuterJob},
	run::{Phase, RunConfig},
	AccountId, RunId, H256,
};

/// A run of up to six in which 2, 4 and 6 train.
fn three_train() -> (RunId, [AccountId; 3]) {
	let run = create(RunConfig { max_participants: 6, ..unequal(3) });
	let early = [2, 4, 6].map(worker);
	early.iter().for_each(|who| join(who, run).unwrap());
	skip(3);
	assert_eq!(phase(run), Phase::Training);
	(run, early)
}

/// Places of these workers in the round under way.
fn positions(run: RunId, who: &[AccountId]) -> Vec<Option<u32>> {
	let view = Training::round(run).expect("a round");
	who.iter().map(|who| view.position(who)).collect()
}

#[test]
fn whoever_comes_while_a_round_is_trained_has_the_next_place_and_moves_nobody() {
	build_and_execute(|| {
		let (run, early) = three_train();
		for (number, position) in [(5, 3), (1, 4)] {
			assert_ok!(join(&worker(number), run));
			let who = worker(number);
			assert!(happened(Event::CameLate { run, round: 0, attempt: 0, who, position }));
		}
		assert_eq!(positions(run, &early), [Some(0), Some(1), Some(2)]);
		assert_eq!(positions(run, &[worker(5), worker(1), worker(3)]), [Some(3), Some(4), None]);
		// Votes and deltas are in the order of accounts, as ever.
		let order: Vec<_> = round(run).participants.iter().map(|one| one.account.clone()).collect();
		assert_eq!(order, [1, 2, 4, 5, 6].map(worker));
		assert_eq!(Training::run(run).unwrap().joining, []);
	});
}

#[test]
fn the_work_of_a_latecomer_is_included_paid_and_judged_by_its_own_windows() {
	build_and_execute(|| {
		let (run, early) = three_train();
		assert_ok!(Training::approve_run(RuntimeOrigin::root(), run));
		assert_ok!(join(&worker(1), run));
		let all = [1, 2, 4, 6].map(worker);
		let deltas: Vec<_> = all.iter().map(|who| work(who, run).delta_root).collect();
		round_of(run, &all, &[3, 9, 9, 6]);
		let steps = vec![vec![3, 9, 9, 6]];
		assert_eq!(
			Training::outer_job(run),
			Some(OuterJob { first_round: 0, start: H256::repeat_byte(0xff), steps: vec![deltas], inner_steps: steps })
		);
		attest_all(run, &all, 1);
		assert_eq!(fate(&worker(1), run, 0), Some(Fate::Confirmed(3 * 32)));
		let claim = |who: &AccountId| Training::work(run, 0, who).expect("it revealed");
		assert_eq!((claim(&worker(1)).position, claim(&worker(1)).steps), (3, 3));
		assert_eq!(early.map(|who| claim(&who).position), [0, 1, 2]);
		let record = Training::record(run, 0).expect("it is adopted");
		assert_eq!((&record.late[..], record.position(&worker(1))), (&[worker(1)][..], Some(3)));
		// In the next round it is a participant like any other.
		assert_eq!(positions(run, &all), [Some(0), Some(1), Some(2), Some(3)]);
		assert_eq!(Training::round(run).unwrap().late, []);
	});
}

#[test]
fn a_round_takes_nobody_in_once_somebody_has_committed_or_half_of_its_time_is_over() {
	build_and_execute(|| {
		let waits = |run, number| {
			assert_ok!(join(&worker(number), run));
			assert_eq!(positions(run, &[worker(number)]), [None]);
			assert_eq!(Training::run(run).unwrap().joining, [worker(number)]);
		};
		let (committed, early) = three_train();
		assert_ok!(commit_to(&early[0], committed, &work_of(&early[0], committed, 9)));
		waits(committed, 1);
		// Of ten blocks for training, the fifth is the last one.
		let (half, _) = three_train();
		skip(4);
		assert_ok!(join(&worker(1), half));
		assert_eq!(positions(half, &[worker(1)]), [Some(3)]);
		skip(1);
		waits(half, 3);
		let (later, early) = three_train();
		early.iter().for_each(|who| commit_to(who, later, &work_of(who, later, 3)).unwrap());
		assert_eq!(phase(later), Phase::Revealing);
		waits(later, 5);
	});
}

#[test]
fn where_everybody_takes_the_same_steps_newcomers_wait_for_the_next_round() {
	build_and_execute(|| {
		let (run, _) = training_with(config(), 3);
		assert_ok!(join(&worker(4), run));
		assert_eq!(positions(run, &[worker(4)]), [None]);
		assert_eq!(Latecomers::<Test>::iter_keys().count(), 0);
	});
}

#[test]
fn no_more_places_are_given_than_windows_are_drawn_for() {
	build_and_execute(|| {
		let run = create(RunConfig { max_participants: 4, ..unequal(3) });
		[1, 2, 3].iter().for_each(|number| join(&worker(*number), run).unwrap());
		skip(3);
		assert_ok!(join(&worker(4), run));
		// Its place stays, and so does that of one who was there from the beginning.
		assert_ok!(leave(&worker(4), run));
		assert_ok!(leave(&worker(1), run));
		assert_ok!(join(&worker(5), run));
		assert_eq!(positions(run, &[worker(5)]), [None]);
		// Whoever has a place in this round keeps that one.
		assert_ok!(join(&worker(4), run));
		assert_eq!((positions(run, &[worker(4)]), Latecomers::<Test>::get(run, 0).len()), (vec![Some(3)], 1));
	});
}

#[test]
fn after_an_aborted_attempt_latecomers_are_there_from_the_beginning() {
	build_and_execute(|| {
		let (run, early) = three_train();
		assert_ok!(join(&worker(1), run));
		// Nobody commits: all drop out, and three come back.
		run_to_deadline(run);
		assert_eq!(phase(run), Phase::Joining);
		let back = [worker(1), early[0].clone(), early[2].clone()];
		back.iter().for_each(|who| join(who, run).unwrap());
		skip(3);
		assert_eq!((phase(run), at(run)), (Phase::Training, (0, 1)));
		assert_eq!(positions(run, &back), [Some(0), Some(1), Some(2)]);
		assert_eq!(Latecomers::<Test>::iter_keys().count(), 0);
	});
}

#[test]
fn who_came_late_is_forgotten_with_the_run() {
	build_and_execute(|| {
		let (run, early) = three_train();
		assert_ok!(join(&worker(1), run));
		let all = [1, 2, 4, 6].map(worker);
		round_of(run, &all, &[3, 9, 9, 9]);
		attest_all(run, &all, 1);
		assert_ok!(join(&worker(3), run));
		assert_eq!([0, 1].map(|round| Latecomers::<Test>::contains_key(run, round)), [true, true]);
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), run));
		assert_ok!(Training::do_try_state());
		assert_eq!([0, 1].map(|round| Latecomers::<Test>::contains_key(run, round)), [true, false]);
		skip(20);
		assert_ok!(Training::remove_run(RuntimeOrigin::signed(SPONSOR), run, 9));
		assert_eq!(Latecomers::<Test>::iter_keys().count(), 0);
		assert_eq!(early.len(), 3);
	});
}

#[test]
fn a_latecomer_votes_with_its_stake_and_drops_out_like_any_other() {
	build_and_execute(|| {
		let (run, early) = three_train();
		assert_ok!(join(&worker(1), run));
		early.iter().for_each(|who| commit_to(who, run, &work_of(who, run, 9)).unwrap());
		assert_eq!(phase(run), Phase::Training);
		run_to_deadline(run);
		assert!(happened(Event::DroppedOut { run, round: 0, who: worker(1), phase: Phase::Training }));
		early.iter().for_each(|who| reveal_work(who, run, work_of(who, run, 9)).unwrap());
		vote_all(run, &early);
		attest_all(run, &early, 1);
		let record = Training::record(run, 0).expect("it is adopted");
		assert_eq!((record.participants.len(), record.included.len()), (4, 3));
	});
}
