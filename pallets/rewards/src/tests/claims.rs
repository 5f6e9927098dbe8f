//! Claims: amounts, and every refusal.

use crate::{mock::*, Claimed, Eras, Error, Event, Points, TotalClaimed};
use frame_support::{assert_noop, assert_ok};
use sp_runtime::{DispatchError, TokenError};

#[test]
fn a_claim_mints_the_share_of_the_budget() {
	build_and_execute(|| {
		work(&ALICE, 3);
		work(&BOB, 1);
		run_to_era(1);
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		assert_eq!(Balances::free_balance(ALICE), FUNDS + 750_000);
		assert_eq!(Claimed::<Test>::get(ALICE), 750_000);
		assert_eq!(TotalClaimed::<Test>::get(), 750_000);
		System::assert_last_event(Event::Claimed { who: ALICE, era: 0, amount: 750_000 }.into());
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(BOB), 0));
		assert_eq!(Balances::free_balance(BOB), FUNDS + 250_000);
		assert_eq!(Balances::total_issuance(), 4 * FUNDS + INITIAL);
	});
}

#[test]
fn a_share_is_rounded_down_and_the_remainder_stays_unminted() {
	build_and_execute(|| {
		work(&ALICE, 1);
		work(&BOB, 2);
		run_to_era(1);
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(BOB), 0));
		assert_eq!((Claimed::<Test>::get(ALICE), Claimed::<Test>::get(BOB)), (333_333, 666_666));
		assert_eq!(Eras::<Test>::get(0).map(|era| era.open()), Some(1));
	});
}

#[test]
fn a_claim_is_capped_by_the_slashable_bond_at_credit_time() {
	build_and_execute(|| {
		bond(&ALICE, 400, 100);
		work(&ALICE, 1);
		bond(&ALICE, 1_000_000, 0);
		run_to_era(1);
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		assert_eq!(Balances::free_balance(ALICE), FUNDS + 500);
	});
}

#[test]
fn anybody_may_trigger_the_payment_of_anybody() {
	build_and_execute(|| {
		work(&ALICE, 1);
		run_to_era(1);
		assert_ok!(Rewards::claim_for(RuntimeOrigin::signed(BOB), ALICE, 0));
		assert_eq!(Balances::free_balance(ALICE), FUNDS + INITIAL);
		assert_eq!(Balances::free_balance(BOB), FUNDS);
	});
}

#[test]
fn nobody_is_paid_twice_for_an_era() {
	build_and_execute(|| {
		work(&ALICE, 1);
		work(&BOB, 1);
		run_to_era(1);
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		assert_noop!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0), Error::<Test>::NothingToClaim);
		assert_noop!(Rewards::claim_for(RuntimeOrigin::signed(BOB), ALICE, 0), Error::<Test>::NothingToClaim);
	});
}

#[test]
fn who_earned_nothing_cannot_claim() {
	build_and_execute(|| {
		work(&ALICE, 1);
		run_to_era(2);
		assert_noop!(Rewards::claim(RuntimeOrigin::signed(BOB), 0), Error::<Test>::NothingToClaim);
		// Nobody earned anything in era 1.
		assert_noop!(Rewards::claim(RuntimeOrigin::signed(ALICE), 1), Error::<Test>::NothingToClaim);
	});
}

#[test]
fn an_era_that_has_not_ended_cannot_be_claimed() {
	build_and_execute(|| {
		work(&ALICE, 1);
		assert_noop!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0), Error::<Test>::EraNotEnded);
		assert_noop!(Rewards::claim(RuntimeOrigin::signed(ALICE), 7), Error::<Test>::EraNotEnded);
	});
}

#[test]
fn an_era_can_be_claimed_until_the_history_depth() {
	build_and_execute(|| {
		work(&ALICE, 1);
		work(&BOB, 1);
		run_to((DEPTH + 1) * ERA - 1);
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		run_to_era(DEPTH + 1);
		assert_noop!(Rewards::claim(RuntimeOrigin::signed(BOB), 0), Error::<Test>::EraExpired);
	});
}

#[test]
fn an_amount_below_the_existential_deposit_waits_until_the_account_exists() {
	build_and_execute(|| {
		bond(&NOBODY, ED - 1, 0);
		work(&NOBODY, 1);
		run_to_era(1);
		let refused = DispatchError::Token(TokenError::BelowMinimum);
		assert_noop!(Rewards::claim_for(RuntimeOrigin::signed(ALICE), NOBODY, 0), refused);
		assert_ok!(Balances::transfer_allow_death(RuntimeOrigin::signed(ALICE), NOBODY, ED));
		assert_ok!(Rewards::claim_for(RuntimeOrigin::signed(ALICE), NOBODY, 0));
		assert_eq!(Balances::free_balance(NOBODY), 2 * ED - 1);
	});
}

#[test]
fn a_share_of_nothing_is_settled_without_minting() {
	build_and_execute(|| {
		bond(&ALICE, 0, 0);
		work(&ALICE, 1);
		run_to_era(1);
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		assert_eq!(Points::<Test>::get(0, ALICE).map(|entry| entry.claimed), Some(Some(0)));
		assert_noop!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0), Error::<Test>::NothingToClaim);
		assert_eq!(TotalClaimed::<Test>::get(), 0);
	});
}

#[test]
fn only_signed_claims_are_taken() {
	build_and_execute(|| {
		work(&ALICE, 1);
		run_to_era(1);
		assert_noop!(Rewards::claim(RuntimeOrigin::none(), 0), DispatchError::BadOrigin);
		assert_noop!(Rewards::claim_for(RuntimeOrigin::root(), ALICE, 0), DispatchError::BadOrigin);
	});
}
