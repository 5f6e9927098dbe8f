//! Money on its way in and out: `bond_extra`, `unbond`, `withdraw_unbonded`.

use super::*;
use crate::{
	mock::{build_and_execute, Balances, ALICE, BOB, COOLDOWN, FUNDS, MIN_BOND},
	Error,
};
use frame_support::{assert_noop, traits::fungible::Inspect};
use neuroshard_types::{provider::ProviderStatus, traits::Providers};
use sp_runtime::TokenError;

#[test]
fn an_extra_bond_adds_to_the_stake() {
	build_and_execute(|| {
		register(&ALICE, 1_000);
		assert_ok!(Staking::bond_extra(signed(ALICE), 250));
		assert_eq!(view(&ALICE).bonded, 1_250);
		assert_eq!(Balances::balance(&ALICE), FUNDS - 1_250);
		assert_eq!(events().last(), Some(&Event::Bonded { who: ALICE, amount: 250 }));
	});
}

#[test]
fn an_extra_bond_needs_a_provider_an_amount_and_the_money() {
	build_and_execute(|| {
		assert_noop!(Staking::bond_extra(signed(ALICE), 1), Error::<Test>::NotRegistered);
		register(&ALICE, MIN_BOND);
		assert_noop!(Staking::bond_extra(signed(ALICE), 0), Error::<Test>::ZeroAmount);
		assert_noop!(Staking::bond_extra(signed(ALICE), FUNDS), TokenError::FundsUnavailable);
	});
}

#[test]
fn an_extra_bond_does_not_wake_a_chilled_provider() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		assert_ok!(Staking::chill(signed(ALICE)));
		assert_ok!(Staking::bond_extra(signed(ALICE), 1));
		assert_eq!(view(&ALICE).status, ProviderStatus::Chilled);
	});
}

#[test]
fn an_unbonded_part_stays_on_hold_until_the_cooldown_is_over() {
	build_and_execute(|| {
		register(&ALICE, 1_500);
		System::set_block_number(5);
		assert_ok!(Staking::unbond(signed(ALICE), 400));
		assert_eq!(view(&ALICE).bonded, 1_100);
		assert_eq!(view(&ALICE).unbonding, [chunk(400, 55)]);
		assert_eq!(view(&ALICE).status, ProviderStatus::Active);
		assert_eq!(events().last(), Some(&Event::Unbonded { who: ALICE, amount: 400, unlocks_at: 55 }));

		System::set_block_number(54);
		assert_noop!(Staking::withdraw_unbonded(signed(ALICE)), Error::<Test>::NothingToWithdraw);
		System::set_block_number(55);
		assert_ok!(Staking::withdraw_unbonded(signed(ALICE)));
		assert_eq!(Balances::balance(&ALICE), FUNDS - 1_100);
		assert_eq!(view(&ALICE).unbonding, []);
		assert_eq!(events().last(), Some(&Event::Withdrawn { who: ALICE, amount: 400 }));
	});
}

#[test]
fn a_withdrawal_takes_only_what_has_unlocked() {
	build_and_execute(|| {
		register(&ALICE, 3_000);
		for (block, amount) in [(1, 100), (11, 200), (21, 300)] {
			System::set_block_number(block);
			assert_ok!(Staking::unbond(signed(ALICE), amount));
		}
		System::set_block_number(61);
		assert_ok!(Staking::withdraw_unbonded(signed(ALICE)));
		assert_eq!(view(&ALICE).unbonding, [chunk(300, 71)]);
		assert_eq!(Balances::balance(&ALICE), FUNDS - 2_700);
	});
}

#[test]
fn parts_unbonded_in_one_block_share_a_chunk() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		assert_ok!(Staking::unbond(signed(ALICE), 100));
		assert_ok!(Staking::unbond(signed(ALICE), 23));
		assert_eq!(view(&ALICE).unbonding, [chunk(123, 1 + COOLDOWN)]);
	});
}

#[test]
fn unbonding_needs_a_provider_an_amount_and_enough_bond() {
	build_and_execute(|| {
		assert_noop!(Staking::unbond(signed(ALICE), 1), Error::<Test>::NotRegistered);
		register(&ALICE, 1_500);
		assert_noop!(Staking::unbond(signed(ALICE), 0), Error::<Test>::ZeroAmount);
		assert_noop!(Staking::unbond(signed(ALICE), 1_501), Error::<Test>::AmountExceedsBond);
	});
}

#[test]
fn at_most_32_chunks_wait_at_once() {
	build_and_execute(|| {
		register(&ALICE, 5_000);
		for block in 1..=32 {
			System::set_block_number(block);
			assert_ok!(Staking::unbond(signed(ALICE), 1));
		}
		// The last chunk may still grow in its own block.
		assert_ok!(Staking::unbond(signed(ALICE), 1));
		System::set_block_number(33);
		assert_noop!(Staking::unbond(signed(ALICE), 1), Error::<Test>::TooManyChunks);
		assert_noop!(Staking::deregister(signed(ALICE)), Error::<Test>::TooManyChunks);

		System::set_block_number(51);
		assert_ok!(Staking::withdraw_unbonded(signed(ALICE)));
		assert_ok!(Staking::unbond(signed(ALICE), 1));
	});
}

#[test]
fn unbonding_below_the_minimum_chills() {
	build_and_execute(|| {
		register(&ALICE, 1_200);
		assert_ok!(Staking::unbond(signed(ALICE), 200));
		assert_eq!(view(&ALICE).status, ProviderStatus::Active);
		assert_ok!(Staking::unbond(signed(ALICE), 1));
		assert_eq!(view(&ALICE).status, ProviderStatus::Chilled);
		assert_eq!(events().last(), Some(&Event::Chilled { who: ALICE }));
	});
}

#[test]
fn nothing_is_withdrawn_while_a_claim_is_open() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		assert_ok!(Staking::unbond(signed(ALICE), 500));
		assert_ok!(<Staking as Providers<_, _>>::open_claim(&ALICE));
		assert_ok!(<Staking as Providers<_, _>>::open_claim(&ALICE));
		System::set_block_number(1 + COOLDOWN);
		assert_noop!(Staking::withdraw_unbonded(signed(ALICE)), Error::<Test>::OpenClaims);
		Staking::close_claim(&ALICE);
		assert_noop!(Staking::withdraw_unbonded(signed(ALICE)), Error::<Test>::OpenClaims);
		Staking::close_claim(&ALICE);
		assert_ok!(Staking::withdraw_unbonded(signed(ALICE)));
	});
}

#[test]
fn nothing_is_withdrawn_while_something_that_was_claimed_can_be_disputed() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		register(&BOB, 2_000);
		assert_ok!(Staking::unbond(signed(ALICE), 500));
		assert_ok!(Staking::unbond(signed(BOB), 500));
		// In two rounds; disputes take 20 blocks in this mock.
		for block in [30, 1 + COOLDOWN] {
			System::set_block_number(block);
			Staking::note_disputable(&ALICE);
		}
		assert_eq!((view(&ALICE).disputable_until, view(&BOB).disputable_until), (1 + COOLDOWN + 20, 0));
		assert_ok!(Staking::withdraw_unbonded(signed(BOB)));
		System::set_block_number(COOLDOWN + 20);
		assert_noop!(Staking::withdraw_unbonded(signed(ALICE)), Error::<Test>::Disputable);
		assert_eq!(Staking::slashable(&ALICE), 2_000);
		System::set_block_number(1 + COOLDOWN + 20);
		assert_ok!(Staking::withdraw_unbonded(signed(ALICE)));
		assert_eq!(Staking::slashable(&ALICE), 1_500);
	});
}

#[test]
fn withdrawing_needs_a_provider() {
	build_and_execute(|| {
		assert_noop!(Staking::withdraw_unbonded(signed(ALICE)), Error::<Test>::NotRegistered);
	});
}

#[test]
fn withdrawing_everything_ends_the_registration() {
	build_and_execute(|| {
		register(&ALICE, 1_500);
		assert_ok!(Staking::unbond(signed(ALICE), 1_500));
		System::set_block_number(1 + COOLDOWN);
		assert_ok!(Staking::withdraw_unbonded(signed(ALICE)));
		assert_eq!(Pallet::<Test>::provider(ALICE), None);
		assert_eq!(Balances::balance(&ALICE), FUNDS);
		assert_eq!(events()[4..], [Event::Withdrawn { who: ALICE, amount: 1_500 }, Event::Deregistered { who: ALICE }]);
		// Key and peer id are free for somebody else.
		assert_ok!(Staking::register(signed(BOB), info(1), MIN_BOND));
	});
}
