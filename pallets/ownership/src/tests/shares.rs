//! Minting, and what wallets can and cannot do with shares.

use crate::{mock::*, Error, Event, Holdings, Models};
use frame_support::{assert_noop, assert_ok, traits::fungibles::metadata::Inspect as _};
use neuroshard_types::{ownership::ModelView, traits::FinalWork, RunId};
use pallet_assets::Error as AssetsError;
use sp_runtime::{DispatchError, TokenError};

type NotThere = AssetsError<Test>;

#[test]
fn final_work_becomes_shares_that_earn_and_that_wallets_show() {
	build_and_execute(|| {
		Ownership::final_work(&ALICE, MODEL, 256);
		Ownership::final_work(&ALICE, MODEL, 44);
		Ownership::final_work(&BOB, MODEL, 100);
		assert_eq!((has(&ALICE), has(&BOB)), ((300, 0, 0), (100, 0, 0)));
		assert_eq!((Assets::balance(MODEL, ALICE), Assets::balance(MODEL, BOB)), (300, 100));
		assert_eq!(Ownership::model(MODEL), Some(ModelView { shares: 400, earning: 400, revenue: 0, paid: 0 }));
		assert_eq!(
			(Assets::name(MODEL), Assets::symbol(MODEL), Assets::decimals(MODEL)),
			(b"NeuroShard model 7".into(), b"NSM7".into(), 0)
		);
		System::assert_last_event(Event::Minted { who: BOB, model: MODEL, shares: 100 }.into());
	});
}

#[test]
fn every_model_has_shares_of_its_own() {
	build_and_execute(|| {
		Ownership::final_work(&ALICE, MODEL, 3);
		Ownership::final_work(&ALICE, RunId::MAX, 5);
		assert_ok!(earn(30));
		assert_eq!((Ownership::shares(ALICE, MODEL).claimable, Ownership::shares(ALICE, RunId::MAX).claimable), (30, 0));
		assert_eq!(Assets::symbol(RunId::MAX), b"NSM4294967295");
	});
}

#[test]
fn work_without_units_makes_no_model() {
	build_and_execute(|| {
		Ownership::final_work(&ALICE, MODEL, 0);
		assert_eq!((Models::<Test>::iter().count(), Holdings::<Test>::iter().count()), (0, 0));
		assert!(!<Assets as frame_support::traits::fungibles::Inspect<_>>::asset_exists(MODEL));
	});
}

#[test]
fn a_contributor_needs_no_money_to_have_shares() {
	build_and_execute(|| {
		Ownership::final_work(&NOBODY, MODEL, 1);
		assert_eq!(has(&NOBODY), (1, 0, 0));
		assert!(System::account_exists(&NOBODY));
	});
}

#[test]
fn shares_that_would_overflow_the_supply_are_not_minted_and_said_to_be_not() {
	build_and_execute(|| {
		Ownership::final_work(&ALICE, MODEL, u128::MAX);
		Ownership::final_work(&BOB, MODEL, 1);
		assert_eq!((has(&ALICE), has(&BOB)), ((u128::MAX, 0, 0), (0, 0, 0)));
		let error = DispatchError::Arithmetic(sp_runtime::ArithmeticError::Overflow);
		System::assert_last_event(Event::NotMinted { who: BOB, model: MODEL, shares: 1, error }.into());
	});
}

#[test]
fn no_way_of_a_wallet_moves_shares_that_earn() {
	build_and_execute(|| {
		Ownership::final_work(&ALICE, MODEL, 100);
		assert_ok!(make_place(&BOB, &BOB));
		assert_noop!(send(&ALICE, wallet_sends(&BOB, 1)), NotThere::BalanceLow);
		assert_noop!(send(&ALICE, wallet_sends(&BOB, 100)), NotThere::BalanceLow);
		let all = pallet_assets::Call::<Test>::transfer_all { id: MODEL, dest: BOB, keep_alive: false };
		// All that can be sent is nothing.
		assert_ok!(send(&ALICE, all));
		assert_ok!(send(&ALICE, pallet_assets::Call::<Test>::approve_transfer { id: MODEL, delegate: BOB, amount: 100 }));
		let approved = pallet_assets::Call::<Test>::transfer_approved { id: MODEL, owner: ALICE, destination: BOB, amount: 100 };
		assert_noop!(send(&BOB, approved), NotThere::BalanceLow);
		assert!(send(&ALICE, pallet_assets::Call::<Test>::refund { id: MODEL, allow_burn: true }).is_err());
		assert_eq!((has(&ALICE), has(&BOB)), ((100, 0, 0), (0, 0, 0)));
	});
}

#[test]
fn an_account_that_paid_a_deposit_for_its_place_cannot_burn_shares_that_earn() {
	build_and_execute(|| {
		Ownership::final_work(&ALICE, MODEL, 100);
		assert_ok!(send(&BOB, pallet_assets::Call::<Test>::touch { id: MODEL }));
		assert_ok!(send(&ALICE, crate::Call::transfer { model: MODEL, to: BOB, shares: 60 }));
		let burn = || pallet_assets::Call::<Test>::refund { id: MODEL, allow_burn: true };
		assert_noop!(send(&BOB, burn()), NotThere::ContainsFreezes);
		assert_ok!(send(&BOB, crate::Call::release { model: MODEL, shares: 60 }));
		assert_ok!(send(&BOB, burn()));
		assert_eq!(Ownership::model(MODEL).map(|model| (model.shares, model.earning)), Some((40, 40)));
	});
}

#[test]
fn free_shares_travel_by_wallet_and_earn_only_once_they_are_enrolled() {
	build_and_execute(|| {
		Ownership::final_work(&ALICE, MODEL, 100);
		assert_ok!(make_place(&ALICE, &BOB));
		assert_ok!(send(&ALICE, crate::Call::release { model: MODEL, shares: 40 }));
		assert_noop!(send(&ALICE, wallet_sends(&BOB, 41)), NotThere::BalanceLow);
		assert_ok!(send(&ALICE, wallet_sends(&BOB, 40)));
		assert_eq!((has(&ALICE), has(&BOB)), ((60, 0, 0), (0, 40, 0)));
		assert_ok!(earn(60));
		assert_eq!((has(&ALICE), has(&BOB)), ((60, 0, 60), (0, 40, 0)));
		assert_noop!(send(&BOB, crate::Call::enrol { model: MODEL, shares: 41 }), Error::<Test>::NotEnoughFree);
		assert_ok!(send(&BOB, crate::Call::enrol { model: MODEL, shares: 40 }));
		assert_ok!(earn(100));
		assert_eq!((has(&ALICE), has(&BOB)), ((60, 0, 120), (40, 0, 40)));
		assert_noop!(send(&BOB, crate::Call::enrol { model: MODEL, shares: 1 }), Error::<Test>::NotEnoughFree);
	});
}

#[test]
fn nobody_makes_classes_of_shares_or_rules_over_them() {
	build_and_execute(|| {
		Ownership::final_work(&ALICE, MODEL, 100);
		let calls: [pallet_assets::Call<Test>; 9] = [
			pallet_assets::Call::create { id: 8, admin: ALICE, min_balance: 1 },
			pallet_assets::Call::force_create { id: 8, owner: ALICE, is_sufficient: true, min_balance: 1 },
			pallet_assets::Call::mint { id: MODEL, beneficiary: ALICE, amount: 1 },
			pallet_assets::Call::burn { id: MODEL, who: ALICE, amount: 1 },
			pallet_assets::Call::force_transfer { id: MODEL, source: ALICE, dest: BOB, amount: 1 },
			pallet_assets::Call::freeze { id: MODEL, who: ALICE },
			pallet_assets::Call::freeze_asset { id: MODEL },
			pallet_assets::Call::set_metadata { id: MODEL, name: vec![], symbol: vec![], decimals: 1 },
			pallet_assets::Call::start_destroy { id: MODEL },
		];
		for call in calls {
			for origin in [RuntimeOrigin::signed(ALICE), RuntimeOrigin::root()] {
				let call = RuntimeCall::Assets(call.clone());
				assert!(sp_runtime::traits::Dispatchable::dispatch(call.clone(), origin).is_err(), "{call:?}");
			}
		}
		assert_eq!((has(&ALICE), Assets::total_supply(MODEL)), ((100, 0, 0), 100));
	});
}

#[test]
fn payment_that_is_too_small_for_an_account_to_exist_stays_owed() {
	build_and_execute(|| {
		Ownership::final_work(&NOBODY, MODEL, 1);
		assert_ok!(earn(ED - 1));
		assert_noop!(send(&ALICE, crate::Call::claim_for { who: NOBODY, model: MODEL }), TokenError::BelowMinimum);
		assert_eq!(has(&NOBODY), (1, 0, ED - 1));
		assert_ok!(earn(1));
		assert_ok!(send(&ALICE, crate::Call::claim_for { who: NOBODY, model: MODEL }));
		assert_eq!(Balances::free_balance(NOBODY), ED);
	});
}
