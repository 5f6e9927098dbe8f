//! Tests of what is forgotten, and that forgetting lets nothing through.

use crate::{
	cleaning::FORGOTTEN_PER_BLOCK, mock::*, weights::SubstrateWeight, Activities, Activity, Error, FinishedRuns, LastProven, SweptTo,
	WeightInfo,
};
use frame_support::{assert_noop, assert_ok, traits::Hooks, weights::Weight};
use neuroshard_types::{traits::WorkProofs, AccountId};

fn idle() {
	Ponw::on_idle(System::block_number(), Weight::MAX);
}

fn nth(n: u32) -> AccountId {
	let mut id = [7; 32];
	id[..4].copy_from_slice(&n.to_le_bytes());
	AccountId::new(id)
}

#[test]
fn a_finished_run_takes_no_proofs_while_it_is_forgotten() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(5, 0)));
		Ponw::confirm(&ALICE, key(5, 0), 1, true);
		Ponw::finish_run(5);
		assert_noop!(submit(&ALICE, key(5, 1)), Error::<Test>::RunFinished);
		assert_ok!(submit(&ALICE, key(6, 0)));
	});
}

#[test]
fn a_finished_run_is_forgotten_in_bounded_steps() {
	build_and_execute(|| {
		for n in 0..FORGOTTEN_PER_BLOCK + 1 {
			LastProven::<Test>::insert(5, nth(n), 1);
			LastProven::<Test>::insert(6, nth(n), 1);
		}
		Ponw::finish_run(5);
		idle();
		assert_eq!(LastProven::<Test>::iter_prefix(5).count(), 1);
		assert!(FinishedRuns::<Test>::contains_key(5));
		idle();
		assert_eq!(LastProven::<Test>::iter_prefix(5).count(), 0);
		assert!(!FinishedRuns::<Test>::contains_key(5));
		assert_eq!(LastProven::<Test>::iter_prefix(6).count(), 33);
	});
}

#[test]
fn proofs_of_a_forgotten_run_still_become_final() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(5, 0)));
		Ponw::confirm(&ALICE, key(5, 0), 8, true);
		Ponw::finish_run(5);
		idle();
		run_to(1 + WINDOW);
		assert_eq!(Credited::get().len(), 1);
	});
}

#[test]
fn an_account_that_has_long_been_silent_is_forgotten() {
	build_and_execute(|| {
		assert_ok!(submit_uptime(&ALICE, uptime(START)));
		Now::set(START + HOUR + 10 * MINUTE);
		idle();
		assert!(Activities::<Test>::contains_key(ALICE));
		Now::set(START + HOUR + 10 * MINUTE + 1);
		idle();
		assert!(!Activities::<Test>::contains_key(ALICE));
	});
}

#[test]
fn an_hour_of_uptime_cannot_be_proven_again_after_its_account_was_forgotten() {
	build_and_execute(|| {
		// The earliest and the latest chain time at which a proof of the same hour is fresh.
		Now::set(START - 5 * MINUTE);
		assert_ok!(submit_uptime(&ALICE, uptime(START)));
		Now::set(START + HOUR + 5 * MINUTE - 1);
		idle();
		assert_noop!(submit_uptime(&ALICE, uptime(START + HOUR - 1)), Error::<Test>::AlreadyProven);
	});
}

#[test]
fn the_search_for_silent_accounts_goes_round() {
	build_and_execute(|| {
		let silent = Activity { accepted: vec![START - 2 * HOUR].try_into().expect("one fits"), uptime_hour: None };
		for n in 0..20 {
			Activities::<Test>::insert(nth(n), silent.clone());
		}
		assert_ok!(submit(&ALICE, key(0, 0)));
		idle();
		assert!(Activities::<Test>::iter().count() >= 13, "no more than 8 in a block");
		assert!(SweptTo::<Test>::exists());
		idle();
		idle();
		idle();
		assert_eq!(Activities::<Test>::iter_keys().collect::<Vec<_>>(), vec![ALICE]);
	});
}

#[test]
fn a_full_block_leaves_the_cleaning_for_later() {
	build_and_execute(|| {
		LastProven::<Test>::insert(5, ALICE, 1);
		Ponw::finish_run(5);
		let share = <SubstrateWeight<Test> as WeightInfo>::clean();
		assert_eq!(Ponw::on_idle(1, share.saturating_sub(Weight::from_parts(1, 0))), Weight::zero());
		assert!(FinishedRuns::<Test>::contains_key(5));
		assert_eq!(Ponw::on_idle(1, share), share);
		assert!(!FinishedRuns::<Test>::contains_key(5));
	});
}
