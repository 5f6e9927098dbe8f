//! `lock`, and what it keeps.

use super::*;
use crate::{
	mock::{build_and_execute, Balances, ALICE, COOLDOWN, DAY, FUNDS, MIN_BOND},
	Error,
};
use frame_support::{assert_noop, traits::fungible::Inspect};
use neuroshard_types::traits::{Providers, SlashTo};

#[test]
fn a_locked_stake_starts_to_leave_when_the_days_are_over_and_then_takes_the_cooldown() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		System::set_block_number(5);
		assert_ok!(Staking::lock(signed(ALICE), 3));
		assert_eq!(events().last(), Some(&Event::Locked { who: ALICE, until: 5 + 3 * DAY }));
		assert_eq!(view(&ALICE).locked_until, 35);
		System::set_block_number(34);
		assert_noop!(Staking::unbond(signed(ALICE), 1), Error::<Test>::Locked);
		assert_noop!(Staking::deregister(signed(ALICE)), Error::<Test>::Locked);
		System::set_block_number(35);
		assert_ok!(Staking::unbond(signed(ALICE), 500));
		assert_eq!(view(&ALICE).unbonding, [chunk(500, 35 + COOLDOWN)]);
		assert_ok!(Staking::deregister(signed(ALICE)));
	});
}

#[test]
fn a_lock_keeps_only_what_is_not_on_its_way_out_yet() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		assert_ok!(Staking::unbond(signed(ALICE), 500));
		assert_ok!(Staking::lock(signed(ALICE), 365));
		System::set_block_number(1 + COOLDOWN);
		assert_ok!(Staking::withdraw_unbonded(signed(ALICE)));
		assert_eq!(Balances::balance(&ALICE), FUNDS - 1_500);
		// It may stop to work all the same.
		assert_ok!(Staking::chill(signed(ALICE)));
		assert_ok!(Staking::bond_extra(signed(ALICE), 10));
		assert_noop!(Staking::unbond(signed(ALICE), 10), Error::<Test>::Locked);
	});
}

#[test]
fn a_lock_is_only_ever_lengthened() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		assert_ok!(Staking::lock(signed(ALICE), 10));
		assert_noop!(Staking::lock(signed(ALICE), 10), Error::<Test>::LockNotLonger);
		assert_noop!(Staking::lock(signed(ALICE), 1), Error::<Test>::LockNotLonger);
		System::set_block_number(2);
		assert_ok!(Staking::lock(signed(ALICE), 10));
		assert_eq!(view(&ALICE).locked_until, 2 + 10 * DAY);
		assert_ok!(Staking::lock(signed(ALICE), 365));
		assert_eq!(view(&ALICE).locked_until, 2 + 365 * DAY);
	});
}

#[test]
fn a_lock_takes_1_to_365_days_and_a_stake() {
	build_and_execute(|| {
		assert_noop!(Staking::lock(signed(ALICE), 1), Error::<Test>::NotRegistered);
		register(&ALICE, MIN_BOND);
		assert_noop!(Staking::lock(signed(ALICE), 0), Error::<Test>::InvalidLock);
		assert_noop!(Staking::lock(signed(ALICE), 366), Error::<Test>::InvalidLock);
		assert_ok!(Staking::unbond(signed(ALICE), 1));
		assert_noop!(Staking::lock(signed(ALICE), 1), Error::<Test>::BondTooSmall);
	});
}

#[test]
fn a_slash_reaches_a_locked_stake_and_who_has_nothing_left_is_free_to_go() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		assert_ok!(Staking::lock(signed(ALICE), 365));
		assert_eq!(Staking::slash(&ALICE, 400, SlashTo::Burn), 400);
		assert_eq!(view(&ALICE).bonded, MIN_BOND - 400);
		assert_eq!(Staking::slash(&ALICE, Balance::MAX, SlashTo::Burn), MIN_BOND - 400);
		assert_ok!(Staking::deregister(signed(ALICE)));
		assert_eq!(Pallet::<Test>::provider(ALICE), None);
	});
}
