//! Places among the holders of a model: who makes one pays a deposit, and gets it back.

use crate::{mock::*, Call, Error, Event, Holdings};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{traits::FinalWork, AccountId};
use pallet_assets::Call as Wallet;
use sp_runtime::TokenError;

type OfAssets = pallet_assets::Error<Test>;
type OfSystem = frame_system::Error<Test>;

/// Alice has free shares and such that earn.
fn alice_has_both() {
	Ownership::final_work(&ALICE, MODEL, 100);
	assert_ok!(send(&ALICE, Call::release { model: MODEL, shares: 50 }));
}

fn reserved(who: &AccountId) -> u128 {
	Balances::reserved_balance(who)
}

fn refund(who: &AccountId, allow_burn: bool) -> sp_runtime::DispatchResult {
	send(who, Wallet::refund { id: MODEL, allow_burn })
}

fn refund_other(who: &AccountId, of: &AccountId) -> sp_runtime::DispatchResult {
	send(who, Wallet::refund_other { id: MODEL, who: of.clone() })
}

#[test]
fn no_way_of_sending_shares_makes_a_place() {
	build_and_execute(|| {
		alice_has_both();
		assert_ok!(send(&ALICE, Wallet::approve_transfer { id: MODEL, delegate: CAROL, amount: 10 }));
		for to in [BOB, NOBODY] {
			let calls: [(AccountId, Wallet<Test>); 4] = [
				(ALICE, wallet_sends(&to, 1)),
				(ALICE, Wallet::transfer_keep_alive { id: MODEL, target: to.clone(), amount: 1 }),
				(ALICE, Wallet::transfer_all { id: MODEL, dest: to.clone(), keep_alive: false }),
				(CAROL, Wallet::transfer_approved { id: MODEL, owner: ALICE, destination: to.clone(), amount: 1 }),
			];
			for (who, call) in calls {
				assert_noop!(send(&who, call), OfSystem::CallFiltered);
			}
			assert_noop!(send(&ALICE, Call::transfer { model: MODEL, to: to.clone(), shares: 1 }), Error::<Test>::NoPlace);
			assert!(!Ownership::has_place(&to, MODEL));
		}
		assert!(!System::account_exists(&NOBODY));
	});
}

#[test]
fn every_way_of_sending_shares_leads_to_who_has_a_place() {
	build_and_execute(|| {
		alice_has_both();
		assert_ok!(make_place(&BOB, &BOB));
		assert_ok!(send(&ALICE, Wallet::approve_transfer { id: MODEL, delegate: CAROL, amount: 10 }));
		assert_ok!(send(&ALICE, wallet_sends(&BOB, 1)));
		assert_ok!(send(&ALICE, Wallet::transfer_keep_alive { id: MODEL, target: BOB, amount: 2 }));
		assert_ok!(send(&CAROL, Wallet::transfer_approved { id: MODEL, owner: ALICE, destination: BOB, amount: 10 }));
		assert_ok!(send(&ALICE, Call::transfer { model: MODEL, to: BOB, shares: 50 }));
		assert_ok!(send(&ALICE, Wallet::transfer_all { id: MODEL, dest: BOB, keep_alive: false }));
		assert_eq!((has(&ALICE), has(&BOB)), ((0, 0, 0), (50, 50, 0)));
	});
}

#[test]
fn shares_that_do_not_exist_are_refused_as_such() {
	build_and_execute(|| {
		assert_noop!(send(&ALICE, wallet_sends(&BOB, 1)), OfAssets::Unknown);
		assert_noop!(make_place(&ALICE, &BOB), OfAssets::Unknown);
	});
}

#[test]
fn a_place_of_work_costs_nothing_and_is_gone_with_its_last_share() {
	build_and_execute(|| {
		alice_has_both();
		Ownership::final_work(&BOB, MODEL, 1);
		assert_eq!((reserved(&ALICE), reserved(&BOB)), (0, 0));
		assert_ok!(send(&BOB, Call::transfer { model: MODEL, to: ALICE, shares: 1 }));
		assert!(!Ownership::has_place(&BOB, MODEL));
		assert_noop!(send(&ALICE, wallet_sends(&BOB, 1)), OfSystem::CallFiltered);
		Ownership::final_work(&BOB, MODEL, 2);
		assert_eq!((has(&BOB), reserved(&BOB)), ((2, 0, 0), 0));
	});
}

#[test]
fn work_needs_neither_deposit_nor_references_to_the_account() {
	build_and_execute(|| {
		// More models than an account may have registrations.
		let models = 2 * <<Test as frame_system::Config>::MaxConsumers as frame_support::traits::Get<u32>>::get();
		for who in [ALICE, NOBODY] {
			(0..models).for_each(|model| Ownership::final_work(&who, model, 1));
			assert!((0..models).all(|model| Ownership::shares(who.clone(), model).earning == 1));
			assert_eq!((System::consumers(&who), reserved(&who)), (0, 0));
		}
	});
}

#[test]
fn who_makes_its_own_place_gets_the_deposit_back_when_it_is_empty() {
	build_and_execute(|| {
		alice_has_both();
		assert_ok!(send(&BOB, Wallet::touch { id: MODEL }));
		assert_eq!(reserved(&BOB), DEPOSIT);
		assert_ok!(send(&ALICE, wallet_sends(&BOB, 5)));
		assert_noop!(refund(&BOB, false), OfAssets::WouldBurn);
		assert_ok!(send(&BOB, wallet_sends(&ALICE, 5)));
		assert_ok!(refund(&BOB, false));
		assert_eq!((reserved(&BOB), Balances::free_balance(BOB)), (0, FUNDS));
		assert!(!Ownership::has_place(&BOB, MODEL));
	});
}

#[test]
fn who_makes_a_place_for_another_gets_the_deposit_back_when_it_is_empty() {
	build_and_execute(|| {
		alice_has_both();
		assert_ok!(make_place(&ALICE, &NOBODY));
		assert_eq!((reserved(&ALICE), reserved(&NOBODY)), (DEPOSIT, 0));
		assert_noop!(make_place(&CAROL, &NOBODY), OfAssets::AlreadyExists);
		assert_ok!(send(&ALICE, Call::transfer { model: MODEL, to: NOBODY, shares: 5 }));
		assert_noop!(refund_other(&ALICE, &NOBODY), OfAssets::WouldBurn);
		assert_ok!(send(&NOBODY, Call::transfer { model: MODEL, to: ALICE, shares: 5 }));
		assert_noop!(refund_other(&CAROL, &NOBODY), OfAssets::NoPermission);
		assert_ok!(refund_other(&ALICE, &NOBODY));
		assert_eq!((reserved(&ALICE), Balances::free_balance(ALICE)), (0, FUNDS));
		assert!(!Ownership::has_place(&NOBODY, MODEL));
	});
}

#[test]
fn work_fills_a_place_that_was_made_and_leaves_its_deposit() {
	build_and_execute(|| {
		alice_has_both();
		assert_ok!(make_place(&CAROL, &NOBODY));
		Ownership::final_work(&NOBODY, MODEL, 3);
		assert_eq!((has(&NOBODY), reserved(&CAROL)), ((3, 0, 0), DEPOSIT));
		assert_noop!(refund_other(&CAROL, &NOBODY), OfAssets::WouldBurn);
	});
}

#[test]
fn a_deposit_that_cannot_be_paid_makes_no_place() {
	build_and_execute(|| {
		alice_has_both();
		assert!(make_place(&NOBODY, &NOBODY).is_err());
		assert!(!Ownership::has_place(&NOBODY, MODEL));
	});
}

#[test]
fn no_holding_outlives_its_place() {
	build_and_execute(|| {
		alice_has_both();
		assert_ok!(make_place(&ALICE, &BOB));
		assert_ok!(send(&ALICE, Call::transfer { model: MODEL, to: BOB, shares: 25 }));
		assert_ok!(earn(100));
		assert_eq!((has(&ALICE), has(&BOB)), ((25, 50, 50), (25, 0, 50)));
		assert_ok!(send(&BOB, Call::transfer { model: MODEL, to: ALICE, shares: 25 }));
		System::assert_has_event(Event::Claimed { who: BOB, model: MODEL, amount: 50 }.into());
		assert_eq!((Balances::free_balance(BOB), Holdings::<Test>::contains_key(BOB, MODEL)), (FUNDS + 50, false));
		assert_ok!(refund_other(&ALICE, &BOB));
		assert_eq!((has(&ALICE), has(&BOB)), ((50, 50, 50), (0, 0, 0)));
	});
}

#[test]
fn the_last_share_stays_while_what_it_earned_is_too_little_for_an_account_to_exist() {
	build_and_execute(|| {
		Ownership::final_work(&NOBODY, MODEL, 1);
		Ownership::final_work(&ALICE, MODEL, 1);
		assert_ok!(earn(2 * ED - 2));
		assert_noop!(send(&NOBODY, Call::release { model: MODEL, shares: 1 }), TokenError::BelowMinimum);
		assert_noop!(send(&NOBODY, Call::transfer { model: MODEL, to: ALICE, shares: 1 }), TokenError::BelowMinimum);
		assert_ok!(send(&PAYER, pallet_balances::Call::<Test>::transfer_keep_alive { dest: NOBODY, value: ED }));
		assert_ok!(send(&NOBODY, Call::transfer { model: MODEL, to: ALICE, shares: 1 }));
		assert_eq!((Balances::free_balance(NOBODY), has(&ALICE)), (2 * ED - 1, (2, 0, ED - 1)));
	});
}
