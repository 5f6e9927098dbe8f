//! Revenue, claims and transfers.

use crate::{mock::*, Call, Error, Event, Holdings, Models, FRACTION_BITS};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{ownership::ModelView, traits::FinalWork};
use sp_core::U256;
use sp_runtime::{ArithmeticError, TokenError};

/// Three quarters are of Alice, one is of Bob.
fn three_to_one() {
	Ownership::final_work(&ALICE, MODEL, 300);
	Ownership::final_work(&BOB, MODEL, 100);
}

#[test]
fn revenue_is_paid_pro_rata_at_claim() {
	build_and_execute(|| {
		three_to_one();
		assert_ok!(earn(1_000));
		assert_eq!(Balances::free_balance(PAYER), WEALTH - 1_000);
		System::assert_last_event(Event::RevenueDeposited { from: PAYER, model: MODEL, amount: 1_000 }.into());
		assert_eq!((has(&ALICE).2, has(&BOB).2), (750, 250));
		assert_ok!(send(&ALICE, Call::claim { model: MODEL }));
		System::assert_last_event(Event::Claimed { who: ALICE, model: MODEL, amount: 750 }.into());
		assert_ok!(send(&CAROL, Call::claim_for { who: BOB, model: MODEL }));
		assert_eq!((Balances::free_balance(ALICE), Balances::free_balance(BOB), Balances::free_balance(CAROL)), (1_750, 1_250, 1_000));
		assert_eq!(Balances::free_balance(Ownership::pot()), ED);
		assert_eq!(Ownership::model(MODEL), Some(ModelView { shares: 400, earning: 400, revenue: 1_000, paid: 1_000 }));
		assert_noop!(send(&ALICE, Call::claim { model: MODEL }), Error::<Test>::NothingToClaim);
	});
}

#[test]
fn who_contributes_later_has_no_part_in_earlier_revenue() {
	build_and_execute(|| {
		Ownership::final_work(&ALICE, MODEL, 100);
		assert_ok!(earn(1_000));
		Ownership::final_work(&BOB, MODEL, 300);
		assert_eq!((has(&ALICE).2, has(&BOB).2), (1_000, 0));
		assert_ok!(earn(1_000));
		assert_eq!((has(&ALICE).2, has(&BOB).2), (1_250, 750));
	});
}

#[test]
fn what_shares_earned_stays_with_who_had_them_then() {
	build_and_execute(|| {
		three_to_one();
		assert_ok!(make_place(&CAROL, &CAROL));
		assert_ok!(earn(400));
		assert_ok!(send(&ALICE, Call::transfer { model: MODEL, to: CAROL, shares: 200 }));
		System::assert_last_event(Event::Transferred { from: ALICE, to: CAROL, model: MODEL, shares: 200 }.into());
		assert_eq!((has(&ALICE), has(&BOB), has(&CAROL)), ((100, 0, 300), (100, 0, 100), (200, 0, 0)));
		assert_ok!(earn(400));
		assert_eq!((has(&ALICE), has(&BOB), has(&CAROL)), ((100, 0, 400), (100, 0, 200), (200, 0, 200)));
		assert_eq!((Assets::balance(MODEL, ALICE), Assets::balance(MODEL, CAROL)), (100, 200));
	});
}

#[test]
fn a_transfer_of_all_shares_pays_what_they_have_earned() {
	build_and_execute(|| {
		three_to_one();
		assert_ok!(earn(400));
		assert_ok!(send(&ALICE, Call::transfer { model: MODEL, to: BOB, shares: 300 }));
		assert_eq!((has(&ALICE), has(&BOB), Balances::free_balance(ALICE)), ((0, 0, 0), (400, 0, 100), FUNDS + 300));
		assert!(!Holdings::<Test>::contains_key(ALICE, MODEL));
		assert_ok!(earn(400));
		assert_eq!(has(&BOB), (400, 0, 500));
		assert_noop!(send(&ALICE, Call::claim { model: MODEL }), Error::<Test>::NothingToClaim);
	});
}

#[test]
fn a_transfer_of_all_shares_to_oneself_is_a_claim() {
	build_and_execute(|| {
		three_to_one();
		assert_ok!(earn(401));
		assert_ok!(send(&BOB, Call::transfer { model: MODEL, to: BOB, shares: 100 }));
		assert_eq!((has(&BOB), Balances::free_balance(BOB)), ((100, 0, 0), FUNDS + 100));
		assert_ok!(earn(400));
		assert_eq!(has(&BOB), (100, 0, 100));
	});
}

#[test]
fn released_shares_earn_no_more_and_the_others_share_all() {
	build_and_execute(|| {
		three_to_one();
		assert_ok!(earn(400));
		assert_ok!(send(&ALICE, Call::release { model: MODEL, shares: 300 }));
		assert_ok!(earn(100));
		assert_eq!((has(&ALICE), has(&BOB), Balances::free_balance(ALICE)), ((0, 300, 0), (100, 0, 200), FUNDS + 300));
		assert_ok!(send(&ALICE, Call::enrol { model: MODEL, shares: 100 }));
		assert_ok!(earn(100));
		assert_eq!((has(&ALICE), has(&BOB)), ((100, 200, 50), (100, 0, 250)));
	});
}

#[test]
fn revenue_without_anybody_who_earns_is_refused() {
	build_and_execute(|| {
		assert_noop!(earn(1), Error::<Test>::UnknownModel);
		Ownership::final_work(&ALICE, MODEL, 1);
		assert_ok!(send(&ALICE, Call::release { model: MODEL, shares: 1 }));
		assert_noop!(earn(1), Error::<Test>::NobodyEarns);
		assert_ok!(send(&ALICE, Call::enrol { model: MODEL, shares: 1 }));
		assert_noop!(earn(0), Error::<Test>::ZeroAmount);
		assert_ok!(earn(1));
	});
}

#[test]
fn who_pays_keeps_the_existential_deposit() {
	build_and_execute(|| {
		three_to_one();
		let deposit = |amount| send(&CAROL, Call::deposit_revenue { model: MODEL, amount });
		assert_noop!(deposit(FUNDS + 1), TokenError::FundsUnavailable);
		assert_noop!(deposit(FUNDS - ED + 1), TokenError::NotExpendable);
		assert_ok!(deposit(FUNDS - ED));
		assert_eq!(Balances::free_balance(CAROL), ED);
	});
}

#[test]
fn amounts_that_are_not_there_or_nothing_are_refused() {
	build_and_execute(|| {
		assert_noop!(send(&ALICE, Call::claim { model: MODEL }), Error::<Test>::UnknownModel);
		assert_noop!(send(&ALICE, Call::enrol { model: MODEL, shares: 1 }), Error::<Test>::UnknownModel);
		assert_noop!(send(&ALICE, Call::release { model: MODEL, shares: 1 }), Error::<Test>::UnknownModel);
		three_to_one();
		assert_noop!(send(&ALICE, Call::release { model: MODEL, shares: 301 }), Error::<Test>::NotEnoughEarning);
		assert_noop!(send(&ALICE, Call::transfer { model: MODEL, to: BOB, shares: 301 }), Error::<Test>::NotEnoughEarning);
		assert_noop!(send(&CAROL, Call::transfer { model: MODEL, to: BOB, shares: 1 }), Error::<Test>::NotEnoughEarning);
		assert_noop!(send(&ALICE, Call::enrol { model: MODEL, shares: 0 }), Error::<Test>::ZeroAmount);
		assert_noop!(send(&ALICE, Call::release { model: MODEL, shares: 0 }), Error::<Test>::ZeroAmount);
		assert_noop!(send(&ALICE, Call::transfer { model: MODEL, to: BOB, shares: 0 }), Error::<Test>::ZeroAmount);
		assert_noop!(send(&CAROL, Call::claim { model: MODEL }), Error::<Test>::NothingToClaim);
	});
}

#[test]
fn what_does_not_divide_is_paid_later_to_the_planck() {
	build_and_execute(|| {
		for who in [&ALICE, &BOB, &CAROL] {
			Ownership::final_work(who, MODEL, 1);
		}
		assert_ok!(earn(1));
		assert_eq!((has(&ALICE).2, has(&BOB).2, has(&CAROL).2), (0, 0, 0));
		// 2^96 is not divisible by 3: one unit is left.
		assert_eq!(Models::<Test>::get(MODEL).map(|model| model.remainder), Some(U256::one()));
		assert_ok!(earn(1));
		assert_ok!(earn(1));
		assert_eq!((has(&ALICE).2, has(&BOB).2, has(&CAROL).2), (1, 1, 1));
		assert_eq!(Models::<Test>::get(MODEL).map(|model| model.remainder), Some(U256::zero()));
		for who in [&ALICE, &BOB, &CAROL] {
			assert_ok!(send(who, Call::claim { model: MODEL }));
		}
		assert_eq!(Balances::free_balance(Ownership::pot()), ED);
	});
}

#[test]
fn the_fraction_of_a_planck_of_who_leaves_goes_to_those_who_stay() {
	build_and_execute(|| {
		Ownership::final_work(&ALICE, MODEL, 1);
		Ownership::final_work(&BOB, MODEL, 1);
		assert_ok!(earn(1));
		assert_ok!(send(&ALICE, Call::release { model: MODEL, shares: 1 }));
		assert!(!Holdings::<Test>::contains_key(ALICE, MODEL));
		assert_eq!(Models::<Test>::get(MODEL).map(|model| model.remainder), Some(U256::one() << (FRACTION_BITS - 1)));
		assert_ok!(earn(1));
		assert_ok!(send(&BOB, Call::claim { model: MODEL }));
		assert_eq!(Balances::free_balance(BOB), FUNDS + 2);
	});
}

#[test]
fn money_sent_to_the_pot_by_mistake_is_owed_to_nobody() {
	build_and_execute(|| {
		three_to_one();
		assert_ok!(send(&PAYER, pallet_balances::Call::<Test>::transfer_keep_alive { dest: Ownership::pot(), value: 5_000 }));
		assert_ok!(earn(400));
		assert_eq!((has(&ALICE).2, has(&BOB).2), (300, 100));
	});
}

#[test]
fn the_largest_amounts_are_spread_and_paid() {
	build_and_execute(|| {
		Ownership::final_work(&ALICE, MODEL, u128::MAX - 1);
		Ownership::final_work(&BOB, MODEL, 1);
		let all = WEALTH - ED;
		assert_ok!(earn(all));
		// Bob's part is far less than a planck. What does not divide is less than 2^-96 of a planck for a share: 2^32 for all of
		// them.
		let earned = has(&ALICE).2;
		assert!(all - earned <= (1 << 32) + 1, "{earned} of {all}");
		assert_eq!(has(&BOB).2, 0);
		assert_ok!(send(&ALICE, Call::claim { model: MODEL }));
		assert_eq!(Balances::free_balance(ALICE), FUNDS + earned);
		// Alone, she gets the rest with the next revenue.
		assert_ok!(send(&ALICE, Call::release { model: MODEL, shares: u128::MAX - 2 }));
		assert_ok!(send(&BOB, Call::release { model: MODEL, shares: 1 }));
		assert_ok!(send(&ALICE, Call::deposit_revenue { model: MODEL, amount: 1 }));
		assert_eq!(has(&ALICE).2, all - earned + 1);
	});
}

#[test]
fn revenue_that_would_overflow_the_sum_is_refused() {
	build_and_execute(|| {
		three_to_one();
		assert_ok!(earn(4));
		Models::<Test>::mutate(MODEL, |model| model.as_mut().expect("minted").revenue = u128::MAX);
		assert_noop!(earn(1), ArithmeticError::Overflow);
		Models::<Test>::mutate(MODEL, |model| model.as_mut().expect("minted").revenue = 4);
	});
}
