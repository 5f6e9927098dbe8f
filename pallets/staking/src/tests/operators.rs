//! Operators: who acts for whom, and what only the provider itself does.

use super::*;
use crate::{
	mock::{build_and_execute, Balances, ALICE, BOB, CHARLIE, COOLDOWN, FUNDS, MIN_BOND, NOBODY},
	Error, OwnerOf,
};
use frame_support::{assert_noop, traits::fungible::Inspect};
use neuroshard_types::{
	provider::Role,
	traits::{Providers, SlashTo},
};

type View = Pallet<Test>;

/// Whom `ALICE`, `BOB`, `CHARLIE` and `NOBODY` act for.
fn acting() -> [AccountId; 4] {
	[ALICE, BOB, CHARLIE, NOBODY].map(Staking::acts_for)
}

/// `ALICE`, registered with `BOB` as its operator.
fn operated() {
	register_unproven(&ALICE, MIN_BOND);
	assert_ok!(Staking::set_operator(signed(ALICE), Some(BOB)));
	assert_ok!(Staking::serve(signed(BOB), Some(ALICE)));
}

#[test]
fn an_account_acts_for_itself_until_it_is_named_and_has_agreed() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		assert_ok!(Staking::set_operator(signed(ALICE), Some(BOB)));
		assert_eq!((View::operator_of(ALICE), View::owner_of(BOB)), (Some(BOB), None));
		assert_eq!(acting(), [ALICE, BOB, CHARLIE, NOBODY], "nobody works for others without wanting to");
		assert_noop!(Staking::serve(signed(CHARLIE), Some(ALICE)), Error::<Test>::NotNamed);
		assert_noop!(Staking::serve(signed(BOB), Some(CHARLIE)), Error::<Test>::NotNamed);
		assert_ok!(Staking::serve(signed(BOB), Some(ALICE)));
		assert_eq!((View::operator_of(ALICE), View::owner_of(BOB)), (Some(BOB), Some(ALICE)));
		assert_eq!(acting(), [ALICE, ALICE, CHARLIE, NOBODY]);
		let named = Event::OperatorNamed { owner: ALICE, operator: Some(BOB) };
		assert_eq!(events()[2..], [named, Event::OperatorServes { owner: ALICE, operator: BOB }]);
	});
}

#[test]
fn the_operator_proves_the_machine_changes_what_is_registered_and_pauses() {
	build_and_execute(|| {
		operated();
		assert_ok!(Staking::prove_arithmetic(signed(BOB), answer(challenge(&ALICE))));
		assert!(Staking::is_active(&ALICE, Role::Worker));
		assert_ok!(Staking::update_info(signed(BOB), info(7)));
		assert_eq!(view(&ALICE).info, info(7));
		assert_ok!(Staking::chill(signed(BOB)));
		assert_ok!(Staking::activate(signed(BOB)));
		assert_eq!(View::provider(BOB), None);
		let about_alice = [Event::InfoUpdated { who: ALICE }, Event::Chilled { who: ALICE }, Event::Activated { who: ALICE }];
		assert_eq!(events()[4..], about_alice);
	});
}

#[test]
fn no_call_of_the_operator_moves_the_stake_or_the_money_of_its_owner() {
	build_and_execute(|| {
		operated();
		assert_ok!(Staking::unbond(signed(ALICE), 1));
		System::set_block_number(1 + COOLDOWN);
		let money = || (view(&ALICE), Balances::balance(&ALICE), Balances::total_balance(&ALICE));
		let before = money();
		let unknown = sp_runtime::DispatchError::from(Error::<Test>::NotRegistered);
		assert_noop!(Staking::register(signed(BOB), info(2), MIN_BOND), Error::<Test>::IsOperator);
		assert_noop!(Staking::bond_extra(signed(BOB), 1), unknown);
		assert_noop!(Staking::unbond(signed(BOB), 1), unknown);
		assert_noop!(Staking::withdraw_unbonded(signed(BOB)), unknown);
		assert_noop!(Staking::deregister(signed(BOB)), unknown);
		assert_noop!(Staking::lock(signed(BOB), 365), unknown);
		assert_noop!(Staking::set_operator(signed(BOB), Some(CHARLIE)), unknown);
		assert_noop!(Staking::set_operator(signed(BOB), None), unknown);
		assert_noop!(Staking::report_sybil(signed(BOB), ALICE), sp_runtime::DispatchError::BadOrigin);
		assert_eq!(money(), before);
	});
}

#[test]
fn a_provider_replaces_or_dismisses_its_operator_at_once() {
	build_and_execute(|| {
		operated();
		assert_ok!(Staking::set_operator(signed(ALICE), Some(CHARLIE)));
		assert_eq!(acting(), [ALICE, BOB, CHARLIE, NOBODY]);
		assert_noop!(Staking::chill(signed(BOB)), Error::<Test>::NotRegistered);
		assert_noop!(Staking::serve(signed(BOB), Some(ALICE)), Error::<Test>::NotNamed);
		assert_ok!(Staking::serve(signed(CHARLIE), Some(ALICE)));
		assert_eq!(acting(), [ALICE, BOB, ALICE, NOBODY]);
		assert_ok!(Staking::set_operator(signed(ALICE), None));
		assert_eq!((acting(), View::operator_of(ALICE)), ([ALICE, BOB, CHARLIE, NOBODY], None));
		assert_eq!(events().last(), Some(&Event::OperatorNamed { owner: ALICE, operator: None }));
	});
}

#[test]
fn naming_what_is_named_changes_nothing() {
	build_and_execute(|| {
		assert_noop!(Staking::set_operator(signed(ALICE), Some(BOB)), Error::<Test>::NotRegistered);
		operated();
		assert_noop!(Staking::set_operator(signed(ALICE), Some(BOB)), Error::<Test>::OperatorUnchanged);
		register_unproven(&CHARLIE, MIN_BOND);
		assert_noop!(Staking::set_operator(signed(CHARLIE), None), Error::<Test>::OperatorUnchanged);
	});
}

#[test]
fn an_operator_ends_its_service_itself() {
	build_and_execute(|| {
		assert_noop!(Staking::serve(signed(BOB), None), Error::<Test>::NotOperator);
		operated();
		assert_ok!(Staking::serve(signed(BOB), None));
		assert_eq!((acting(), View::operator_of(ALICE)), ([ALICE, BOB, CHARLIE, NOBODY], None));
		assert_eq!(events().last(), Some(&Event::OperatorLeft { owner: ALICE, operator: BOB }));
		assert_noop!(Staking::serve(signed(BOB), Some(ALICE)), Error::<Test>::NotNamed);
	});
}

#[test]
fn two_providers_may_name_one_account_and_it_serves_one_of_them() {
	build_and_execute(|| {
		operated();
		register_unproven(&CHARLIE, MIN_BOND);
		assert_ok!(Staking::set_operator(signed(CHARLIE), Some(BOB)));
		assert_noop!(Staking::serve(signed(BOB), Some(CHARLIE)), Error::<Test>::AlreadyServes);
		assert_eq!(acting(), [ALICE, ALICE, CHARLIE, NOBODY]);
		// Whoever has only named it does not end its service for the other.
		assert_ok!(Staking::set_operator(signed(CHARLIE), None));
		assert_eq!(acting(), [ALICE, ALICE, CHARLIE, NOBODY]);
		assert_ok!(Staking::set_operator(signed(CHARLIE), Some(BOB)));
		assert_ok!(Staking::set_operator(signed(ALICE), None));
		assert_ok!(Staking::serve(signed(BOB), Some(CHARLIE)));
		assert_eq!(acting(), [ALICE, CHARLIE, CHARLIE, NOBODY]);
	});
}

#[test]
fn no_provider_is_an_operator() {
	build_and_execute(|| {
		register_unproven(&ALICE, MIN_BOND);
		assert_noop!(Staking::set_operator(signed(ALICE), Some(ALICE)), Error::<Test>::IsProvider);
		// Being named keeps nobody from registering; serving then is refused.
		assert_ok!(Staking::set_operator(signed(ALICE), Some(BOB)));
		register_unproven(&BOB, MIN_BOND);
		assert_noop!(Staking::serve(signed(BOB), Some(ALICE)), Error::<Test>::IsProvider);
		assert_noop!(Staking::set_operator(signed(BOB), Some(ALICE)), Error::<Test>::IsProvider);
	});
}

#[test]
fn whoever_leaves_has_no_operator_any_more() {
	build_and_execute(|| {
		operated();
		assert_ok!(Staking::deregister(signed(ALICE)));
		System::set_block_number(1 + COOLDOWN);
		assert_eq!(Staking::acts_for(BOB), ALICE, "what is claimed is still to be defended");
		assert_ok!(Staking::withdraw_unbonded(signed(ALICE)));
		assert_eq!((acting(), View::operator_of(ALICE)), ([ALICE, BOB, CHARLIE, NOBODY], None));
		assert_eq!(Balances::balance(&ALICE), FUNDS);
		// Nothing is left of it for a new registration.
		register_unproven(&ALICE, MIN_BOND);
		assert_eq!(OwnerOf::<Test>::iter().count(), 0);
		assert_ok!(Staking::register(signed(BOB), info(2), MIN_BOND));
	});
}

#[test]
fn a_provider_that_lost_everything_leaves_with_its_operator() {
	build_and_execute(|| {
		operated();
		assert_eq!(Staking::slash(&ALICE, MIN_BOND, SlashTo::Burn), MIN_BOND);
		assert_eq!(Staking::acts_for(BOB), ALICE);
		assert_ok!(Staking::deregister(signed(ALICE)));
		assert_eq!((acting(), View::operator_of(ALICE)), ([ALICE, BOB, CHARLIE, NOBODY], None));
	});
}
