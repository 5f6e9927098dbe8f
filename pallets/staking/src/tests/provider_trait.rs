//! The trait through which other pallets see, slash and rate providers.

use super::*;
use crate::mock::{build_and_execute, Balances, ALICE, BOB, ED, FUNDS, MIN_BOND, NOBODY};
use frame_support::{assert_noop, traits::fungible::Inspect};
use neuroshard_types::{
	provider::{ProviderStatus, Role, Roles},
	traits::{Providers, SlashTo},
};
use sp_runtime::ArithmeticError;

#[test]
fn an_unknown_account_has_nothing() {
	build_and_execute(|| {
		assert!(!Staking::is_active(&ALICE, Role::Worker));
		assert_eq!(<Staking as Providers<_, _>>::bond(&ALICE), 0);
		assert_eq!(Staking::slashable(&ALICE), 0);
		assert_eq!(Staking::ponw_key(&ALICE), None);
		assert_eq!(Staking::hardware(&ALICE), None);
		assert_eq!(Staking::slash(&ALICE, 100, SlashTo::Burn), 0);
		assert_noop!(<Staking as Providers<_, _>>::open_claim(&ALICE), crate::Error::<Test>::NotRegistered);
		Staking::close_claim(&ALICE);
		Staking::note_disputable(&ALICE);
		Staking::note_success(&ALICE);
		Staking::note_failure(&ALICE, 1);
		assert_eq!(events(), []);
	});
}

#[test]
fn a_provider_is_active_in_its_roles_only() {
	build_and_execute(|| {
		let mut offered = info(1);
		offered.roles = Roles::only(Role::Worker).with(Role::Verifier);
		assert_ok!(Staking::register(signed(ALICE), offered, MIN_BOND));
		prove(&ALICE);
		assert!(Staking::is_active(&ALICE, Role::Worker));
		assert!(Staking::is_active(&ALICE, Role::Verifier));
		assert!(!Staking::is_active(&ALICE, Role::Driver));
		assert!(!Staking::is_active(&ALICE, Role::Predictor));
	});
}

#[test]
fn stake_excludes_unbonding_parts_but_slashes_reach_them() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		assert_ok!(Staking::unbond(signed(ALICE), 300));
		assert_eq!(<Staking as Providers<_, _>>::bond(&ALICE), 1_700);
		assert_eq!(Staking::slashable(&ALICE), 2_000);
		assert_eq!(Staking::ponw_key(&ALICE), Some(info(1).ponw_key));
		assert_eq!(Staking::hardware(&ALICE), Some(info(1).hardware));
	});
}

#[test]
fn a_slash_takes_the_latest_unbonding_part_first_and_the_active_bond_last() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		assert_ok!(Staking::unbond(signed(ALICE), 100));
		System::set_block_number(2);
		assert_ok!(Staking::unbond(signed(ALICE), 200));

		assert_eq!(Staking::slash(&ALICE, 50, SlashTo::Burn), 50);
		assert_eq!(view(&ALICE).unbonding, [chunk(100, 51), chunk(150, 52)]);
		assert_eq!(Staking::slash(&ALICE, 170, SlashTo::Burn), 170);
		assert_eq!(view(&ALICE).unbonding, [chunk(80, 51)]);
		assert_eq!(view(&ALICE).bonded, 1_700);
		assert_eq!(Staking::slash(&ALICE, 90, SlashTo::Burn), 90);
		assert_eq!(view(&ALICE).unbonding, []);
		assert_eq!(view(&ALICE).bonded, 1_690);
	});
}

#[test]
fn a_burned_slash_lowers_the_total_issuance() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		assert_eq!(Staking::slash(&ALICE, 700, SlashTo::Burn), 700);
		assert_eq!(Balances::total_issuance(), 3 * FUNDS - 700);
		assert_eq!(Balances::total_balance(&ALICE), FUNDS - 700);
		assert_eq!(events()[2], Event::Slashed { who: ALICE, amount: 700, to: None });
	});
}

#[test]
fn a_paid_slash_goes_to_the_free_balance_of_its_destination() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		assert_eq!(Staking::slash(&ALICE, 700, SlashTo::Account(&BOB)), 700);
		assert_eq!(Balances::total_issuance(), 3 * FUNDS);
		assert_eq!(Balances::balance(&BOB), FUNDS + 700);
		assert_eq!(Balances::total_balance(&ALICE), FUNDS - 700);
		assert_eq!(events()[2], Event::Slashed { who: ALICE, amount: 700, to: Some(BOB) });
	});
}

#[test]
fn a_slash_that_its_destination_cannot_receive_is_burned() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		assert_eq!(Staking::slash(&ALICE, ED - 1, SlashTo::Account(&NOBODY)), ED - 1);
		assert_eq!(Balances::total_issuance(), 3 * FUNDS - (ED - 1));
		assert_eq!(events()[2], Event::Slashed { who: ALICE, amount: ED - 1, to: None });
		assert_eq!(Staking::slash(&ALICE, ED, SlashTo::Account(&NOBODY)), ED);
		assert_eq!(Balances::balance(&NOBODY), ED);
	});
}

#[test]
fn a_slash_stops_at_what_there_is() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		assert_ok!(Staking::unbond(signed(ALICE), 500));
		assert_eq!(Staking::slash(&ALICE, 0, SlashTo::Burn), 0);
		assert_eq!(Staking::slash(&ALICE, u128::MAX, SlashTo::Burn), 2_000);
		assert_eq!(Staking::slashable(&ALICE), 0);
		assert_eq!(Balances::balance(&ALICE), FUNDS - 2_000);
		assert_eq!(Staking::slash(&ALICE, 1, SlashTo::Burn), 0);
	});
}

#[test]
fn a_slash_below_the_minimum_chills() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND + 1);
		assert_eq!(Staking::slash(&ALICE, 1, SlashTo::Burn), 1);
		assert_eq!(view(&ALICE).status, ProviderStatus::Active);
		assert_eq!(Staking::slash(&ALICE, 1, SlashTo::Burn), 1);
		assert_eq!(view(&ALICE).status, ProviderStatus::Chilled);
		assert_eq!(events().last(), Some(&Event::Chilled { who: ALICE }));
	});
}

#[test]
fn claims_are_counted() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		assert_ok!(<Staking as Providers<_, _>>::open_claim(&ALICE));
		assert_eq!(view(&ALICE).open_claims, 1);
		Staking::close_claim(&ALICE);
		Staking::close_claim(&ALICE);
		assert_eq!(view(&ALICE).open_claims, 0);
		crate::Providers::<Test>::mutate_extant(&ALICE, |provider| provider.open_claims = u32::MAX);
		assert_noop!(<Staking as Providers<_, _>>::open_claim(&ALICE), ArithmeticError::Overflow);
	});
}

#[test]
fn reputation_starts_at_100_and_stays_within_its_bounds() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		Staking::note_success(&ALICE);
		assert_eq!(view(&ALICE).reputation, 101);
		Staking::note_failure(&ALICE, 40);
		assert_eq!(view(&ALICE).reputation, 61);
		Staking::note_failure(&ALICE, 62);
		assert_eq!(view(&ALICE).reputation, 0);
		(0..1_001).for_each(|_| Staking::note_success(&ALICE));
		assert_eq!(view(&ALICE).reputation, 1_000);
	});
}
