//! The test of arithmetic between `register` and the first work.

use super::*;
use crate::{
	mock::{build_and_execute, Balances, Random, ALICE, BOB, COOLDOWN, FUNDS, MIN_BOND},
	Error, HoldReason, TestedSpeeds,
};
use frame_support::{
	assert_noop,
	traits::fungible::{Inspect, InspectHold},
};
use neuroshard_types::{
	provider::{ProviderInfo, Role, Roles},
	traits::{Providers, SlashTo},
};

#[test]
fn a_new_provider_has_no_role_before_it_has_answered() {
	build_and_execute(|| {
		let all = [Role::Driver, Role::Worker, Role::Verifier, Role::Predictor];
		let roles = all.into_iter().fold(Roles::default(), Roles::with);
		assert_ok!(Staking::register(signed(ALICE), ProviderInfo { roles, ..info(1) }, MIN_BOND));
		assert!(all.iter().all(|role| !Staking::is_active(&ALICE, *role)));
		prove(&ALICE);
		assert!(all.iter().all(|role| Staking::is_active(&ALICE, *role)));
		assert_eq!(view(&ALICE).status, ProviderStatus::Active);
		assert_eq!(events()[1..], [Event::ArithmeticProven { who: ALICE }]);
	});
}

#[test]
fn a_wrong_answer_changes_nothing_and_may_be_followed_by_the_right_one() {
	build_and_execute(|| {
		register_unproven(&ALICE, MIN_BOND);
		let right = answer(challenge(&ALICE));
		for bit in [0, 100, 255] {
			let mut wrong = right;
			wrong.0[bit / 8] ^= 1 << (bit % 8);
			assert_noop!(Staking::prove_arithmetic(signed(ALICE), wrong), Error::<Test>::WrongAnswer);
		}
		assert_eq!(Balances::balance_on_hold(&HoldReason::Bond.into(), &ALICE), MIN_BOND);
		assert_ok!(Staking::prove_arithmetic(signed(ALICE), right));
	});
}

#[test]
fn answering_needs_an_open_challenge() {
	build_and_execute(|| {
		assert_noop!(Staking::prove_arithmetic(signed(ALICE), H256::zero()), Error::<Test>::NotRegistered);
		register_unproven(&ALICE, MIN_BOND);
		let right = answer(challenge(&ALICE));
		prove(&ALICE);
		assert_noop!(Staking::prove_arithmetic(signed(ALICE), right), Error::<Test>::AlreadyProven);
		assert_ok!(Staking::chill(signed(ALICE)));
		assert_noop!(Staking::prove_arithmetic(signed(ALICE), right), Error::<Test>::AlreadyProven);
		assert_ok!(Staking::activate(signed(ALICE)));
		assert!(Staking::is_active(&ALICE, Role::Worker), "what was proven stays so");
	});
}

#[test]
fn challenges_differ_by_randomness_account_and_block() {
	build_and_execute(|| {
		let mut drawn = vec![Pallet::<Test>::draw_challenge(&ALICE), Pallet::<Test>::draw_challenge(&BOB)];
		System::set_block_number(2);
		drawn.push(Pallet::<Test>::draw_challenge(&ALICE));
		Random::set(H256::repeat_byte(1));
		drawn.push(Pallet::<Test>::draw_challenge(&ALICE));
		assert_eq!(Pallet::<Test>::draw_challenge(&ALICE), drawn[3]);
		assert_eq!(drawn.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
	});
}

#[test]
fn an_unproven_provider_cannot_chill_or_activate_but_may_change_its_info_and_bond() {
	build_and_execute(|| {
		register_unproven(&ALICE, MIN_BOND);
		let before = challenge(&ALICE);
		assert_noop!(Staking::chill(signed(ALICE)), Error::<Test>::Unproven);
		assert_noop!(Staking::activate(signed(ALICE)), Error::<Test>::Unproven);
		assert_ok!(Staking::update_info(signed(ALICE), info(7)));
		assert_ok!(Staking::bond_extra(signed(ALICE), 5));
		assert_eq!(challenge(&ALICE), before);
		prove(&ALICE);
	});
}

#[test]
fn below_the_minimum_bond_nobody_is_proven_into_activity() {
	build_and_execute(|| {
		register_unproven(&ALICE, MIN_BOND);
		register_unproven(&BOB, MIN_BOND);
		assert_ok!(Staking::unbond(signed(ALICE), 1));
		assert_eq!(Staking::slash(&BOB, 1, SlashTo::Burn), 1);
		for who in [ALICE, BOB] {
			let right = answer(challenge(&who));
			assert_noop!(Staking::prove_arithmetic(signed(who.clone()), right), Error::<Test>::BondTooSmall);
			assert_ok!(Staking::bond_extra(signed(who.clone()), 1));
			assert_ok!(Staking::prove_arithmetic(signed(who), right));
		}
		assert!(!events().iter().any(|event| matches!(event, Event::Chilled { .. })), "who does not work is not stopped");
	});
}

#[test]
fn whoever_cannot_answer_gets_the_whole_bond_back_and_is_tested_anew_when_it_returns() {
	build_and_execute(|| {
		register_unproven(&ALICE, 1_500);
		let first = challenge(&ALICE);
		assert_ok!(Staking::deregister(signed(ALICE)));
		assert_noop!(Staking::deregister(signed(ALICE)), Error::<Test>::AlreadyLeaving);
		assert_eq!(challenge(&ALICE), first);
		assert_noop!(Staking::prove_arithmetic(signed(ALICE), answer(first)), Error::<Test>::BondTooSmall);
		System::set_block_number(1 + COOLDOWN);
		assert_ok!(Staking::withdraw_unbonded(signed(ALICE)));
		assert_eq!(Pallet::<Test>::provider(ALICE), None);
		assert_eq!(Balances::balance(&ALICE), FUNDS);

		register_unproven(&ALICE, MIN_BOND);
		let second = challenge(&ALICE);
		assert_ne!(second, first);
		assert_noop!(Staking::prove_arithmetic(signed(ALICE), answer(first)), Error::<Test>::WrongAnswer);
		prove(&ALICE);
		assert_ok!(Staking::deregister(signed(ALICE)));
		System::set_block_number(1 + 2 * COOLDOWN);
		assert_ok!(Staking::withdraw_unbonded(signed(ALICE)));
		register_unproven(&ALICE, MIN_BOND);
		assert!(!Staking::is_active(&ALICE, Role::Worker), "it was proven before it left");
	});
}

#[test]
fn an_unproven_provider_without_anything_left_is_removed_at_once() {
	build_and_execute(|| {
		register_unproven(&ALICE, MIN_BOND);
		assert_eq!(Staking::slash(&ALICE, MIN_BOND, SlashTo::Burn), MIN_BOND);
		assert_ok!(Staking::deregister(signed(ALICE)));
		assert_eq!(Pallet::<Test>::provider(ALICE), None);
	});
}

/// `info(1)` with this speed.
fn fast(gflops: u32) -> ProviderInfo {
	let mut info = info(1);
	info.hardware.gflops = gflops;
	info
}

/// Returns the speed that the chain has for it.
fn speed(who: &AccountId) -> Option<u32> {
	Staking::hardware(who).map(|hardware| hardware.gflops)
}

#[test]
fn a_speed_above_the_tested_one_counts_after_another_test_only() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		assert_eq!(speed(&ALICE), Some(200));
		assert_ok!(Staking::update_info(signed(ALICE), fast(150)));
		assert_eq!((speed(&ALICE), Staking::is_active(&ALICE, Role::Worker)), (Some(150), true));
		// It was tested with that.
		assert_ok!(Staking::update_info(signed(ALICE), fast(200)));
		assert_eq!((speed(&ALICE), Staking::is_active(&ALICE, Role::Worker)), (Some(200), true));
		assert_ok!(Staking::update_info(signed(ALICE), fast(150)));
		assert_ok!(Staking::update_info(signed(ALICE), fast(1_000_000)));
		let drawn = challenge(&ALICE);
		assert!(events().contains(&Event::TestDrawn { who: ALICE, challenge: drawn }));
		assert_eq!((speed(&ALICE), Staking::is_active(&ALICE, Role::Worker)), (Some(200), false));
		// Nor does it count while it is not tested yet, whatever is registered meanwhile.
		for gflops in [300, 200, 100, 400] {
			assert_ok!(Staking::update_info(signed(ALICE), fast(gflops)));
			assert_eq!((speed(&ALICE), challenge(&ALICE)), (Some(gflops.min(200)), drawn));
		}
		prove(&ALICE);
		assert_eq!((speed(&ALICE), Staking::is_active(&ALICE, Role::Worker)), (Some(400), true));
		assert_eq!(TestedSpeeds::<Test>::iter().count(), 0);
	});
}

#[test]
fn nobody_raises_its_speed_while_what_it_claimed_is_judged() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		assert_ok!(Staking::open_claim(&ALICE));
		assert_noop!(Staking::update_info(signed(ALICE), fast(201)), Error::<Test>::OpenClaims);
		assert_ok!(Staking::update_info(signed(ALICE), fast(199)));
		assert_ok!(Staking::update_info(signed(ALICE), fast(200)));
		Staking::close_claim(&ALICE);
		Staking::note_disputable(&ALICE);
		assert_noop!(Staking::update_info(signed(ALICE), fast(201)), Error::<Test>::Disputable);
		System::set_block_number(view(&ALICE).disputable_until);
		assert_ok!(Staking::update_info(signed(ALICE), fast(201)));
	});
}

#[test]
fn a_provider_that_was_never_tested_may_register_any_speed_and_leaves_nothing_behind() {
	build_and_execute(|| {
		register_unproven(&ALICE, MIN_BOND);
		assert_ok!(Staking::update_info(signed(ALICE), fast(900)));
		prove(&ALICE);
		assert_eq!(speed(&ALICE), Some(900));
		assert_ok!(Staking::update_info(signed(ALICE), fast(1)));
		assert_ok!(Staking::deregister(signed(ALICE)));
		System::set_block_number(1 + COOLDOWN);
		assert_ok!(Staking::withdraw_unbonded(signed(ALICE)));
		assert_eq!(TestedSpeeds::<Test>::iter().count(), 0);
	});
}
