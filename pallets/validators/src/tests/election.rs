//! Tests of who is elected, and what the session pallet is told.

use super::*;
use crate::{
	mock::{build_and_execute, genesis, storage, ConsensusWeight, ReportPeriod, MIN_BOND, SESSION},
	Error, Sessions, WeightInfo,
};
use frame_support::{assert_noop, traits::Hooks, weights::Weight};
use sp_runtime::{testing::UintAuthorityId, DispatchError};

fn accounts(tags: &[u8]) -> Vec<AccountId> {
	tags.iter().map(|tag| account(*tag)).collect()
}

fn elected() -> Vec<AccountId> {
	Validators::elected().into_iter().map(|(who, _)| who).collect()
}

#[test]
fn the_candidates_of_genesis_are_the_first_set() {
	build_and_execute(|| {
		assert_eq!(Session::validators(), accounts(&[1, 2]));
		next_session();
		assert_eq!(Session::validators(), accounts(&[1, 2]));
		let exposure = Exposure { total: MIN_BOND, own: MIN_BOND };
		assert_eq!(Validators::elected(), vec![(account(1), exposure), (account(2), exposure)]);
	});
}

#[test]
fn a_session_ends_in_the_block_in_which_it_is_over_and_costs_what_its_size_says() {
	build_and_execute(|| {
		bond(3, 3_000, 0);
		let free = Weight::zero();
		assert_eq!((Validators::on_initialize(SESSION + 1), Session::current()), (free, 0));
		// Three candidates and two validators, and what consensus does.
		let cost = <()>::rotate_session(3, 2).saturating_add(ConsensusWeight::get());
		assert_eq!(Validators::on_initialize(2 * SESSION), cost);
		assert_eq!((Session::current(), elected()), (1, accounts(&[1, 3])));
		assert_eq!(Session::on_initialize(2 * SESSION), free, "the session pallet ends it once more");
	});
}

#[test]
fn who_bonds_most_is_elected_for_the_session_after_the_next() {
	build_and_execute(|| {
		bond(4, 2_000, 0);
		bond(3, 3_000, 0);
		next_session();
		assert_eq!(elected(), accounts(&[3, 4]));
		assert_eq!(Session::validators(), accounts(&[1, 2]), "a set is queued for a session");
		next_session();
		assert_eq!(Session::validators(), accounts(&[3, 4]));
		assert_eq!(events().last(), Some(&Event::Elected { session: 2, validators: 2 }));
	});
}

#[test]
fn backing_counts_as_self_bond_does() {
	build_and_execute(|| {
		bond(3, 1_500, 0);
		nominate(5, 1, 400);
		nominate(5, 2, 501);
		next_session();
		assert_eq!(elected(), accounts(&[2, 3]));
		nominate(6, 1, 102);
		next_session();
		assert_eq!(elected(), accounts(&[1, 2]));
		assert_ok!(Validators::unnominate(signed(5), account(1), 400));
		next_session();
		assert_eq!(elected(), accounts(&[2, 3]), "what is unbonding does not count");
	});
}

#[test]
fn of_equal_stakes_the_lower_account_is_elected() {
	build_and_execute(|| {
		for tag in [9, 4, 7] {
			bond(tag, MIN_BOND, 0);
		}
		next_session();
		assert_eq!(elected(), accounts(&[1, 2]));
		assert_ok!(Validators::chill(signed(1)));
		next_session();
		assert_eq!(elected(), accounts(&[2, 4]));
	});
}

#[test]
fn the_number_of_validators_is_set_by_its_origin_alone() {
	build_and_execute(|| {
		bond(3, 3_000, 0);
		assert_noop!(Validators::set_validator_count(signed(1), 3), DispatchError::BadOrigin);
		assert_noop!(Validators::set_validator_count(RuntimeOrigin::root(), 0), Error::<Test>::InvalidValidatorCount);
		assert_noop!(Validators::set_validator_count(RuntimeOrigin::root(), 33), Error::<Test>::InvalidValidatorCount);
		assert_ok!(Validators::set_validator_count(RuntimeOrigin::root(), 3));
		next_session();
		assert_eq!(elected(), accounts(&[1, 2, 3]));
		assert_ok!(Validators::set_validator_count(RuntimeOrigin::root(), 1));
		next_session();
		assert_eq!(elected(), accounts(&[3]));
	});
}

#[test]
fn who_has_no_keys_is_not_elected() {
	build_and_execute(|| {
		bond(3, 3_000, 0);
		assert_ok!(Session::purge_keys(signed(3)));
		next_session();
		assert_eq!(elected(), accounts(&[1, 2]));
	});
}

#[test]
fn where_nobody_can_be_elected_the_set_goes_on() {
	build_and_execute(|| {
		assert_ok!(Validators::chill(signed(1)));
		assert_ok!(Validators::chill(signed(2)));
		for _ in 0..3 {
			next_session();
			assert_eq!(Session::validators(), accounts(&[1, 2]));
			assert_eq!(elected(), accounts(&[1, 2]));
		}
		assert_ok!(Validators::activate(signed(2)));
		next_session();
		next_session();
		assert_eq!(Session::validators(), accounts(&[2]));
	});
}

#[test]
fn where_nobody_can_be_elected_who_has_no_keys_leaves_and_finality_hears_of_it() {
	build_and_execute(|| {
		assert_ok!(Validators::chill(signed(1)));
		assert_ok!(Validators::chill(signed(2)));
		assert_ok!(Session::purge_keys(signed(2)));
		next_session();
		assert!(pallet_session::QueuedChanged::<Test>::get());
		assert_eq!(elected(), accounts(&[1]));
		next_session();
		assert_eq!(Session::validators(), accounts(&[1]));
		assert!(!pallet_session::QueuedChanged::<Test>::get());
		assert_eq!(candidate(2).reportable_until, System::block_number() + ReportPeriod::get(), "it has left");
	});
}

#[test]
fn where_nobody_can_be_elected_offenders_leave_as_long_as_somebody_stays() {
	build_and_execute(|| {
		assert_ok!(Validators::chill(signed(1)));
		offence(2, 500, 0);
		next_session();
		assert_eq!(elected(), accounts(&[1]));
		offence(1, 500, 1);
		next_session();
		assert_eq!(elected(), accounts(&[1]), "somebody has to make blocks");
		next_session();
		assert_eq!(Session::validators(), accounts(&[1]));
	});
}

#[test]
fn an_unchanged_set_needs_no_change_of_authorities() {
	build_and_execute(|| {
		nominate(5, 2, 700);
		for _ in 0..3 {
			next_session();
		}
		assert!(!pallet_session::QueuedChanged::<Test>::get());
		assert!(!events().iter().any(|event| matches!(event, Event::Elected { .. })));
	});
}

#[test]
fn new_keys_change_the_set_of_the_same_accounts() {
	build_and_execute(|| {
		next_session();
		assert!(!Session::differs(&accounts(&[1, 2])));
		let mut keys = crate::mock::Keys { dummy: UintAuthorityId(77) };
		let proof = keys.dummy.generate_proof_of_possession(&account(1).encode()).expect("a proof");
		assert_ok!(Session::set_keys(signed(1), keys, proof.encode()));
		next_session();
		assert!(pallet_session::QueuedChanged::<Test>::get());
	});
}

#[test]
fn sets_of_sessions_that_are_over_are_forgotten() {
	build_and_execute(|| {
		for _ in 0..5 {
			next_session();
		}
		let mut sessions: Vec<_> = crate::Exposures::<Test>::iter_keys().collect();
		sessions.sort_unstable();
		assert_eq!(sessions, vec![5, 6], "the one that runs, and the planned one");
	});
}

#[test]
fn without_candidates_the_session_pallet_begins_with_its_own_validators() {
	let mut ext = sp_io::TestExternalities::new(storage(crate::GenesisConfig { candidates: vec![], ..genesis() }));
	ext.execute_with(|| {
		assert_eq!(elected(), vec![]);
		bond(3, MIN_BOND, 0);
		next_session();
		next_session();
		assert_eq!(Session::validators(), accounts(&[3]));
		Validators::do_try_state().expect("invariants hold");
	});
}
