//! `chill`, `activate` and `deregister`.

use super::*;
use crate::{
	mock::{build_and_execute, Balances, ALICE, COOLDOWN, FUNDS, MIN_BOND},
	Error,
};
use frame_support::{assert_noop, traits::fungible::Inspect};
use neuroshard_types::{
	provider::{ProviderStatus, Role},
	traits::{Providers, SlashTo},
};

#[test]
fn a_chilled_provider_is_not_active_and_can_come_back() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		assert_ok!(Staking::chill(signed(ALICE)));
		assert_eq!(view(&ALICE).status, ProviderStatus::Chilled);
		assert!(!Staking::is_active(&ALICE, Role::Worker));
		assert_ok!(Staking::activate(signed(ALICE)));
		assert_eq!(view(&ALICE).status, ProviderStatus::Active);
		assert!(Staking::is_active(&ALICE, Role::Worker));
		assert_eq!(events()[2..], [Event::Chilled { who: ALICE }, Event::Activated { who: ALICE }]);
	});
}

#[test]
fn chilling_needs_an_active_provider() {
	build_and_execute(|| {
		assert_noop!(Staking::chill(signed(ALICE)), Error::<Test>::NotRegistered);
		register(&ALICE, MIN_BOND);
		assert_ok!(Staking::chill(signed(ALICE)));
		assert_noop!(Staking::chill(signed(ALICE)), Error::<Test>::AlreadyChilled);
	});
}

#[test]
fn activating_needs_a_chilled_provider_with_the_minimum_bond() {
	build_and_execute(|| {
		assert_noop!(Staking::activate(signed(ALICE)), Error::<Test>::NotRegistered);
		register(&ALICE, MIN_BOND);
		assert_noop!(Staking::activate(signed(ALICE)), Error::<Test>::AlreadyActive);
		assert_ok!(Staking::unbond(signed(ALICE), 1));
		assert_noop!(Staking::activate(signed(ALICE)), Error::<Test>::BondTooSmall);
		assert_ok!(Staking::bond_extra(signed(ALICE), 1));
		assert_ok!(Staking::activate(signed(ALICE)));
	});
}

#[test]
fn leaving_unbonds_everything_and_ends_with_the_withdrawal() {
	build_and_execute(|| {
		register(&ALICE, 1_500);
		assert_ok!(Staking::unbond(signed(ALICE), 100));
		System::set_block_number(4);
		assert_ok!(Staking::deregister(signed(ALICE)));
		assert_eq!(view(&ALICE).bonded, 0);
		assert_eq!(view(&ALICE).status, ProviderStatus::Chilled);
		assert_eq!(view(&ALICE).unbonding, [chunk(100, 51), chunk(1_400, 54)]);
		assert_noop!(Staking::deregister(signed(ALICE)), Error::<Test>::AlreadyLeaving);

		System::set_block_number(4 + COOLDOWN);
		assert_ok!(Staking::withdraw_unbonded(signed(ALICE)));
		assert_eq!(Pallet::<Test>::provider(ALICE), None);
		assert_eq!(Balances::balance(&ALICE), FUNDS);
	});
}

#[test]
fn leaving_does_not_escape_a_slash() {
	build_and_execute(|| {
		register(&ALICE, 1_500);
		assert_ok!(Staking::deregister(signed(ALICE)));
		assert_eq!(Staking::slash(&ALICE, 600, SlashTo::Burn), 600);
		assert_eq!(view(&ALICE).unbonding, [chunk(900, 51)]);
	});
}

#[test]
fn a_provider_without_anything_left_is_removed_at_once() {
	build_and_execute(|| {
		assert_noop!(Staking::deregister(signed(ALICE)), Error::<Test>::NotRegistered);
		register(&ALICE, MIN_BOND);
		assert_eq!(Staking::slash(&ALICE, MIN_BOND, SlashTo::Burn), MIN_BOND);
		assert_ok!(<Staking as Providers<_, _>>::open_claim(&ALICE));
		assert_noop!(Staking::deregister(signed(ALICE)), Error::<Test>::OpenClaims);
		Staking::close_claim(&ALICE);
		// It can still be challenged about other claims, which may be part of a model.
		Staking::note_disputable(&ALICE);
		assert_noop!(Staking::deregister(signed(ALICE)), Error::<Test>::Disputable);
		System::set_block_number(view(&ALICE).disputable_until);
		assert_ok!(Staking::deregister(signed(ALICE)));
		assert_eq!(Pallet::<Test>::provider(ALICE), None);
		assert_eq!(events().last(), Some(&Event::Deregistered { who: ALICE }));
	});
}
