//! The stop switch.

use super::*;
use crate::{Error, Event, Halt, Halted, HoldReason, Reason};
use frame_support::{assert_noop, assert_ok, traits::fungible::InspectHold};
use neuroshard_types::{dispute::Claims, run::RunStatus, traits::Models, H256};
use sp_runtime::DispatchError;

fn signed(who: AccountId) -> RuntimeOrigin {
	RuntimeOrigin::signed(who)
}

fn reason() -> Reason {
	Reason::truncate_from(b"it answers what it must not".to_vec())
}

#[test]
fn only_the_stopping_origin_stops_by_force_halts_and_lifts() {
	build_and_execute(|| {
		let run = create(config());
		for origin in [signed(SPONSOR), signed(worker(1)), RuntimeOrigin::root(), RuntimeOrigin::none()] {
			assert_noop!(Training::force_stop_run(origin.clone(), run, reason()), DispatchError::BadOrigin);
			assert_noop!(Training::halt_model(origin.clone(), run, reason()), DispatchError::BadOrigin);
			assert_noop!(Training::lift_halt(origin, run, reason()), DispatchError::BadOrigin);
		}
		assert_ok!(Training::force_stop_run(signed(STOPPER), run, reason()));
		assert_noop!(Training::force_stop_run(signed(STOPPER), run, reason()), Error::<Test>::RunFinished);
		assert_noop!(Training::force_stop_run(signed(STOPPER), 9, reason()), Error::<Test>::UnknownRun);
	});
}

#[test]
fn a_run_that_is_stopped_by_force_ends_at_once_and_keeps_what_was_adopted() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		assert_ok!(Training::approve_run(RuntimeOrigin::root(), run));
		full_round(run, &workers, 1);
		commit_all(run, &workers);
		reveal_all(run, &workers[..2]);
		let earned: Vec<_> = workers.iter().map(|who| fate(who, run, 0)).collect();
		let work = Training::work(run, 0, &workers[0]);
		assert!(work.is_some());

		assert_ok!(Training::force_stop_run(signed(STOPPER), run, reason()));
		assert!(happened(Event::RunForceStopped { run, reason: reason() }));
		assert!(happened(Event::RunFinished { run, rounds: 1, checkpoint: H256::repeat_byte(1), stopped: true }));
		assert_eq!(Training::run(run).map(|run| run.status), Some(RunStatus::Finished));
		assert_eq!((Training::round(run), Training::members(run)), (None, vec![]));
		// The round under way is void; the adopted one is earned, and its claims are judged as before.
		assert_eq!(fate(&workers[0], run, 1), Some(Fate::Void));
		assert_eq!(workers.iter().map(|who| fate(who, run, 0)).collect::<Vec<_>>(), earned);
		assert_eq!(Training::work(run, 0, &workers[0]), work);
		condemn_work(run, 0, &workers[0]);
		assert!(Training::is_condemned(&claim(run, 0, neuroshard_types::dispute::ClaimKind::Work, &workers[0])));

		// Nothing of it goes on, and the sponsor's deposit comes back with the history.
		assert_noop!(join(&workers[0], run), Error::<Test>::RunFinished);
		skip(20);
		assert_eq!(Training::run(run).map(|run| run.rounds_adopted), Some(1));
		assert_ok!(Training::remove_run(signed(SPONSOR), run, 9));
		assert_eq!(Balances::balance_on_hold(&HoldReason::Run.into(), &SPONSOR), 0);
	});
}

#[test]
fn a_halted_model_may_not_be_used_until_the_halt_is_lifted() {
	build_and_execute(|| {
		let run = create(config());
		assert!(Training::may_serve(run) && !Training::may_serve(run + 1));
		assert_noop!(Training::lift_halt(signed(STOPPER), run, reason()), Error::<Test>::NotHalted);
		assert_noop!(Training::halt_model(signed(STOPPER), run + 1, reason()), Error::<Test>::UnknownRun);

		let since = System::block_number();
		assert_ok!(Training::halt_model(signed(STOPPER), run, reason()));
		assert!(happened(Event::ModelHalted { run, reason: reason() }));
		assert_eq!(Training::halted(run), Some(Halt { since, reason: reason() }));
		assert!(!Training::may_serve(run));
		assert_noop!(Training::halt_model(signed(STOPPER), run, reason()), Error::<Test>::AlreadyHalted);
		// Its training is another switch.
		assert_eq!(Training::run(run).map(|run| run.status), Some(RunStatus::Active));

		let why = Reason::truncate_from(b"a better answer was found".to_vec());
		assert_ok!(Training::lift_halt(signed(STOPPER), run, why.clone()));
		assert!(happened(Event::HaltLifted { run, reason: why }));
		assert_eq!((Training::halted(run), Training::may_serve(run)), (None, true));
	});
}

#[test]
fn a_halt_outlasts_the_end_of_its_run_and_goes_with_it() {
	build_and_execute(|| {
		let run = create(config());
		assert_ok!(Training::halt_model(signed(STOPPER), run, reason()));
		assert_ok!(Training::stop_run(signed(SPONSOR), run));
		skip(20);
		assert!(!Training::may_serve(run));
		assert_ok!(Training::remove_run(signed(SPONSOR), run, 9));
		assert!(!Halted::<Test>::contains_key(run) && !Training::may_serve(run));
	});
}

#[test]
fn checkpoints_are_those_that_rounds_start_from_and_that_have_not_fallen() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		let (first, second) = (config().genesis_root, H256::repeat_byte(1));
		assert!(Training::is_checkpoint(run, 0, first) && !Training::is_checkpoint(run, 1, first));
		full_round(run, &workers, 1);
		assert!(Training::is_checkpoint(run, 0, first) && Training::is_checkpoint(run, 1, second));
		for (round, root) in [(0, second), (1, first), (2, second), (u32::MAX, second)] {
			assert!(!Training::is_checkpoint(run, round, root), "{round}");
		}
		assert!(!Training::is_checkpoint(run + 1, 0, first));
		assert_eq!((Training::layers(run), Training::layers(run + 1)), (Some(config().model.layers), None));
		// The last one of a run that is over is one still.
		assert_ok!(Training::force_stop_run(signed(STOPPER), run, reason()));
		assert!(Training::is_checkpoint(run, 1, second));
		crate::Records::<Test>::mutate(run, 0, |record| record.as_mut().expect("a record").fallen = true);
		assert!(Training::is_checkpoint(run, 0, first) && !Training::is_checkpoint(run, 1, second));
	});
}
