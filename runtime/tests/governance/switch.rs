//! The stop switch of runs and models.

use super::*;
use frame_support::traits::{fungible::InspectHold, Get};
use neuroshard_runtime::Balances;
use neuroshard_types::traits::Models;
use pallet_neuro_training::{Call, Event, Reason};

fn reason() -> Reason {
	Reason::truncate_from(b"it is dangerous".to_vec())
}

fn stop() -> RuntimeCall {
	Call::force_stop_run { run: 0, reason: reason() }.into()
}

#[test]
fn each_collective_alone_stops_a_run_and_its_sponsor_cannot_hinder_it() {
	let bodies: [fn(RuntimeCall) -> DispatchResult; 2] = [|call| council(call), |call| committee(call)];
	for by in bodies {
		execute(|| {
			create_run();
			let deposit = Balances::total_balance_on_hold(&account(Ferdie));
			assert_eq!(dispatch(Ferdie, stop()), Err(DispatchError::BadOrigin));
			assert!(is_active());
			assert_ok!(by(stop()));
			assert!(!is_active());
			System::assert_has_event(Event::RunForceStopped { run: 0, reason: reason() }.into());
			// The deposit is not lost; it comes back with the history.
			assert_eq!(Balances::total_balance_on_hold(&account(Ferdie)), deposit);
			let history: u32 = <Runtime as pallet_neuro_training::Config>::HistoryPeriod::get();
			System::set_block_number(System::block_number() + history);
			assert_ok!(Training::remove_run(signed(Ferdie), 0, 0));
			assert_ok!(Dataset::retire(signed(Ferdie), 0));
			System::set_block_number(System::block_number() + 2 * Dataset::attestation_terms().answer_time);
			assert_ok!(Dataset::remove(signed(Ferdie), 0));
			assert_eq!(Balances::total_balance_on_hold(&account(Ferdie)), 0);
		});
	}
}

#[test]
fn one_motion_stops_a_run_and_halts_its_model() {
	execute(|| {
		create_run();
		let halt = Call::halt_model { run: 0, reason: reason() }.into();
		assert_ok!(committee(pallet_utility::Call::batch_all { calls: vec![stop(), halt] }));
		assert!(!is_active() && !Training::may_serve(0));
	});
}

#[test]
fn a_model_is_halted_and_the_halt_lifted_by_the_same_origin() {
	execute(|| {
		create_run();
		let halt = || Call::halt_model { run: 0, reason: reason() };
		let lift = || Call::lift_halt { run: 0, reason: reason() };
		assert_eq!(dispatch(Ferdie, halt()), Err(DispatchError::BadOrigin));
		assert_ok!(committee(halt()));
		assert!(!Training::may_serve(0) && is_active());
		assert_eq!(dispatch(Ferdie, lift()), Err(DispatchError::BadOrigin));
		assert_ok!(council(lift()));
		assert!(Training::may_serve(0));
	});
}
