//! Tests of what verifiers need, how many they are, and who is demoted.

use super::*;
use crate::{
	mock::{build_and_execute, new_test_ext, Balances, ALICE, BOB, CHARLIE, MIN_BOND, VERIFIER_BONDS},
	weights::WeightInfo,
	Error, SWEPT,
};
use frame_support::{
	assert_noop,
	dispatch::DispatchResult,
	storage::with_storage_layer,
	traits::{fungible::Mutate, Hooks},
	weights::Weight,
};
use neuroshard_types::{
	provider::{ProviderInfo, Role, Roles, VerifierTerms},
	traits::{Providers, SlashTo},
};
use proptest::prelude::*;

const BOTH: Roles = Roles::only(Role::Worker).with(Role::Verifier);

fn offering(who: &AccountId, roles: Roles) -> ProviderInfo {
	ProviderInfo { roles, ..info(tag(who)) }
}

/// Number `number` of many accounts.
fn account(number: u8) -> AccountId {
	AccountId::new([number; 32])
}

/// Funds and registers an account with these roles, and makes it active.
fn enter(who: &AccountId, roles: Roles, bond: Balance) {
	Balances::set_balance(who, 100_000);
	assert_ok!(Staking::register(signed(who.clone()), offering(who, roles), bond));
	prove(who);
}

/// Verifiers 1 to `number` with the least bond, unless more is needed.
fn crowd(number: u8) {
	for each in 1..=number {
		enter(&account(each), BOTH, View::verifier_terms().next_bond);
	}
}

type View = Pallet<Test>;

fn idle() {
	Staking::on_idle(System::block_number(), Weight::MAX);
	assert_ok!(View::do_try_state());
}

fn verifiers() -> Vec<u8> {
	let mut found: Vec<_> = crate::Providers::<Test>::iter()
		.filter(|(_, provider)| provider.active_roles().contains(Role::Verifier))
		.map(|(who, _)| tag(&who))
		.collect();
	found.sort_unstable();
	assert_eq!(Staking::active_count(Role::Verifier) as usize, found.len());
	found
}

#[test]
fn active_providers_are_counted_in_each_of_their_roles() {
	build_and_execute(|| {
		let counts = || View::active_counts();
		register(&ALICE, MIN_BOND);
		assert_eq!(counts(), [0, 1, 0, 0]);
		enter(&BOB, BOTH.with(Role::Driver), MIN_BOND);
		assert_eq!(counts(), [1, 2, 1, 0]);
		assert_ok!(Staking::update_info(signed(BOB), offering(&BOB, Roles::only(Role::Predictor))));
		assert_eq!(counts(), [0, 1, 0, 1]);
		assert_ok!(Staking::chill(signed(BOB)));
		assert_eq!(counts(), [0, 1, 0, 0]);
		assert_ok!(Staking::activate(signed(BOB)));
		assert_ok!(Staking::unbond(signed(ALICE), 1));
		assert_eq!(counts(), [0, 0, 0, 1]);
		Staking::slash(&BOB, 1, SlashTo::Burn);
		assert_eq!(counts(), [0; 4]);
		register_unproven(&CHARLIE, MIN_BOND);
		assert_eq!(counts(), [0; 4]);
		assert_eq!((Staking::active_count(Role::Worker), Staking::reputation(&CHARLIE), Staking::reputation(&account(9))), (0, 100, 0));
	});
}

#[test]
fn the_terms_are_those_of_the_number_of_active_verifiers() {
	build_and_execute(|| {
		let terms = |verifiers, least_bond, next_bond, holds_to| VerifierTerms { verifiers, least_bond, next_bond, holds_to };
		assert_eq!(View::verifier_terms(), terms(0, 1_000, 1_000, Some(2)));
		crowd(2);
		assert_eq!(View::verifier_terms(), terms(2, 1_000, 2_000, Some(2)));
		crowd_with(3, 9_000);
		assert_eq!(View::verifier_terms(), terms(3, 2_000, 2_000, Some(3)));
		crowd_with(4, 9_000);
		crowd_with(5, 9_000);
		assert_eq!(View::verifier_terms(), terms(5, 4_000, 8_000, Some(5)));
		crowd_with(6, 9_000);
		assert_eq!(View::verifier_terms(), terms(6, 8_000, 8_000, None));
	});
}

fn crowd_with(number: u8, bond: Balance) {
	enter(&account(number), BOTH, bond);
}

#[test]
fn nobody_takes_the_role_without_the_bond_for_one_more() {
	build_and_execute(|| {
		crowd(2);
		let (who, needed) = (account(3), Error::<Test>::VerifierBondTooSmall);
		Balances::set_balance(&who, 100_000);
		assert_noop!(Staking::register(signed(who.clone()), offering(&who, BOTH), 1_999), needed);
		// As a worker it may come, but not become more.
		enter(&who, Roles::only(Role::Worker), 1_999);
		let needed = Error::<Test>::VerifierBondTooSmall;
		assert_noop!(Staking::update_info(signed(who.clone()), offering(&who, BOTH)), needed);
		assert_eq!(verifiers(), [1, 2]);
		assert_ok!(Staking::bond_extra(signed(who.clone()), 1));
		assert_ok!(Staking::update_info(signed(who.clone()), offering(&who, BOTH)));
		assert_eq!(verifiers(), [1, 2, 3]);
		assert!(Staking::is_active(&who, Role::Verifier));
	});
}

#[test]
fn who_registered_in_time_must_still_have_the_bond_when_it_becomes_active() {
	build_and_execute(|| {
		crowd(1);
		let late = account(2);
		Balances::set_balance(&late, 100_000);
		assert_ok!(Staking::register(signed(late.clone()), offering(&late, BOTH), 1_000));
		crowd_with(3, 1_000);
		let answer = answer(challenge(&late));
		assert_noop!(Staking::prove_arithmetic(signed(late.clone()), answer), Error::<Test>::VerifierBondTooSmall);
		// Whoever was chilled meanwhile as well.
		assert_ok!(Staking::chill(signed(account(1))));
		assert_ok!(Staking::prove_arithmetic(signed(late.clone()), answer));
		assert_noop!(Staking::activate(signed(account(1))), Error::<Test>::VerifierBondTooSmall);
		assert_ok!(Staking::update_info(signed(account(1)), offering(&account(1), Roles::only(Role::Worker))));
		assert_ok!(Staking::activate(signed(account(1))));
		assert_eq!((verifiers(), Staking::is_active(&account(1), Role::Worker)), (vec![2, 3], true));
	});
}

#[test]
fn who_changes_its_addresses_keeps_a_role_that_it_has() {
	build_and_execute(|| {
		crowd(3);
		let mut moved = offering(&account(1), BOTH);
		moved.addresses[0] = vec![9].try_into().expect("a byte fits");
		assert_ok!(Staking::update_info(signed(account(1)), moved));
		assert_eq!(verifiers(), [1, 2, 3]);
	});
}

#[test]
fn unbonding_or_a_slash_below_the_least_bond_of_a_verifier_leaves_a_worker() {
	build_and_execute(|| {
		(1..=3).for_each(|number| crowd_with(number, 3_000));
		assert_eq!(View::verifier_terms().least_bond, 2_000);
		assert_ok!(Staking::unbond(signed(account(1)), 1_000));
		assert_eq!(verifiers(), [1, 2, 3]);
		assert_ok!(Staking::unbond(signed(account(1)), 1));
		assert_eq!(events().last(), Some(&Event::Demoted { who: account(1), least_bond: 2_000 }));
		assert_eq!((view(&account(1)).status, view(&account(1)).info.roles), (ProviderStatus::Active, Roles::only(Role::Worker)));
		assert_eq!(verifiers(), [2, 3]);
		// With two left, 1,000 are enough.
		Staking::slash(&account(2), 2_000, SlashTo::Burn);
		assert_eq!(verifiers(), [2, 3]);
		crowd_with(4, 3_000);
		Staking::slash(&account(3), 1_001, SlashTo::Burn);
		assert_eq!((verifiers(), Staking::is_active(&account(3), Role::Worker)), (vec![2, 4], true));
	});
}

#[test]
fn who_was_nothing_but_a_verifier_goes_on_as_a_worker_and_who_did_more_goes_on_with_that() {
	build_and_execute(|| {
		enter(&account(1), Roles::only(Role::Verifier), 4_000);
		enter(&account(2), Roles::only(Role::Verifier).with(Role::Driver), 4_000);
		(3..=5).for_each(|number| crowd_with(number, 4_000));
		assert_ok!(Staking::unbond(signed(account(1)), 1));
		assert_eq!(view(&account(1)).info.roles, Roles::only(Role::Worker));
		crowd_with(6, 4_000);
		assert_ok!(Staking::unbond(signed(account(2)), 1));
		assert_eq!(view(&account(2)).info.roles, Roles::only(Role::Driver));
		assert_eq!(verifiers(), [3, 4, 5, 6]);
	});
}

#[test]
fn a_risen_number_displaces_as_many_of_the_smaller_bonds_as_it_takes() {
	build_and_execute(|| {
		crowd(2);
		crowd_with(3, 2_000);
		// Nobody who was drawn for something lost its say by that alone.
		assert!((1..=3).all(|number| Staking::is_active(&account(number), Role::Verifier)));
		idle();
		let left = verifiers();
		assert!(left == [1, 3] || left == [2, 3], "{left:?}");
		// Two of them need no more than they have.
		idle();
		assert_eq!(verifiers(), left);
		let demoted = events().into_iter().filter(|event| matches!(event, Event::Demoted { least_bond: 2_000, .. })).count();
		assert_eq!(demoted, 1);
	});
}

#[test]
fn bonds_that_are_enough_let_the_number_grow() {
	build_and_execute(|| {
		(1..=6).for_each(|number| crowd_with(number, 8_000));
		(0..3).for_each(|_| idle());
		assert_eq!(verifiers(), [1, 2, 3, 4, 5, 6]);
	});
}

#[test]
fn a_block_looks_at_eight_providers_and_the_next_goes_on_until_all_were() {
	build_and_execute(|| {
		let workers = 20u8;
		for number in 100..100 + workers {
			enter(&account(number), Roles::only(Role::Worker), MIN_BOND);
		}
		(1..=5).for_each(|number| crowd_with(number, 4_000));
		// The bar rises after all of them came.
		crate::VerifierMinimums::<Test>::mutate(|bonds| (bonds.steps[3].1, bonds.above) = (5_000, 8_000));
		assert_eq!(View::verifier_terms().least_bond, 5_000);
		let looks = (usize::from(workers) + 5).div_ceil(SWEPT);
		let before: Vec<_> = (0..looks).map(|_| (idle(), verifiers().len()).1).collect();
		assert_eq!(before.last(), Some(&4), "one leaves, and for four of them 2,000 are enough: {before:?}");
		// The cursor begins anew.
		let cursor: Vec<_> = (0..2 * looks).map(|_| (idle(), crate::SweepCursor::<Test>::get()).1).collect();
		assert!(cursor.windows(2).any(|pair| pair[0] != pair[1]) && cursor.contains(&None), "{cursor:?}");
	});
}

#[test]
fn a_full_block_and_few_verifiers_are_not_swept() {
	build_and_execute(|| {
		crowd(2);
		assert_eq!(Staking::on_idle(1, Weight::MAX), <()>::sweep_idle());
		crowd_with(3, 2_000);
		assert_eq!(Staking::on_idle(1, Weight::zero()), Weight::zero());
		assert_eq!(verifiers(), [1, 2, 3]);
	});
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(48))]

	/// Whoever comes and goes with whatever bond: blocks with room end with verifiers all of which have what their number asks for, and take
	/// the role off nobody while the number holds at its step.
	#[test]
	fn whoever_comes_and_goes_verifiers_end_with_the_bond_that_their_number_asks_for(
		moves in prop::collection::vec((1..12u8, 0..4u8, 1_000..9_000u128), 1..60),
	) {
		new_test_ext().execute_with(|| {
			for (number, kind, amount) in moves {
				let who = account(number);
				let origin = || signed(who.clone());
				// A refused call changes nothing, as the dispatcher guarantees on chain.
				let call = |call: &dyn Fn() -> DispatchResult| { let _ = with_storage_layer(call); };
				if View::provider(who.clone()).is_none() {
					Balances::set_balance(&who, 1_000_000);
					call(&|| Staking::register(origin(), offering(&who, BOTH), amount));
					if View::provider(who.clone()).is_some() {
						prove(&who);
					}
					continue;
				}
				match kind {
					0 => call(&|| Staking::bond_extra(origin(), amount)),
					1 => call(&|| Staking::unbond(origin(), amount)),
					2 => call(&|| Staking::update_info(origin(), offering(&who, BOTH))),
					_ => call(&|| Staking::chill(origin()).or_else(|_| Staking::activate(origin()))),
				}
				prop_assert_eq!(View::do_try_state(), Ok(()));
			}
			for _ in 0..12usize.div_ceil(SWEPT) * 4 {
				let before = View::verifier_terms();
				idle();
				let after = View::verifier_terms();
				let bonds = VERIFIER_BONDS;
				// It stops at the first number whose bond is lower.
				let held = after.verifiers == before.verifiers || bonds.least(after.verifiers + 1) > MIN_BOND;
				prop_assert!(held, "{:?} became {:?}", before, after);
			}
			let terms = View::verifier_terms();
			let funded = crate::Providers::<Test>::iter_values().filter(|one| one.active_roles().contains(Role::Verifier));
			prop_assert!(funded.into_iter().all(|one| one.bond.active >= terms.least_bond), "{:?}", terms);
			Ok(())
		})?;
	}
}

#[test]
fn the_mock_has_the_bonds_that_these_tests_count_with() {
	assert!(VERIFIER_BONDS.ascends());
	assert_eq!(VERIFIER_BONDS.steps[0], (2, MIN_BOND));
}
