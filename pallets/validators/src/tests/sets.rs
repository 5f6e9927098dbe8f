//! Tests of what is remembered of sets and their keys.

use super::*;
use crate::{
	mock::{build_and_execute, KEPT, MIN_BOND},
	FirstSessions, Sets,
};
use sp_runtime::{key_types::DUMMY, testing::UintAuthorityId};

/// Returns the owner of the key number `key` in a session, and the size of its set.
fn owner(session: SessionIndex, key: u64) -> Option<((AccountId, Exposure), u32)> {
	Validators::key_owner(session, DUMMY, &key.to_le_bytes())
}

/// Registers the session key number `key` of an account.
fn register_key(tag: u8, key: u64) {
	let mut keys = crate::mock::Keys { dummy: UintAuthorityId(key) };
	let proof = keys.dummy.generate_proof_of_possession(&account(tag).encode()).expect("the mock's keys prove their possession");
	assert_ok!(Session::set_keys(signed(tag), keys, proof.encode()));
}

#[test]
fn a_key_belongs_to_its_validator_for_its_sessions_and_to_nobody_in_others() {
	build_and_execute(|| {
		let exposure = Exposure { total: MIN_BOND, own: MIN_BOND };
		assert_eq!(owner(0, 1), Some(((account(1), exposure), 2)));
		assert_eq!(owner(1, 2), Some(((account(2), exposure), 2)));
		assert_eq!(owner(0, 3), None, "nobody has the key");
		assert_eq!(owner(2, 1), None, "the session is not planned yet");
		bond(3, 3_000, 0);
		next_session();
		assert_eq!(owner(1, 3), None);
		assert_eq!(owner(2, 3), Some(((account(3), Exposure { total: 3_000, own: 3_000 }), 2)));
		assert_eq!(owner(2, 2), None, "it is not elected any more");
	});
}

#[test]
fn whoever_purges_its_keys_still_owns_those_that_sessions_go_by() {
	build_and_execute(|| {
		assert_ok!(Session::purge_keys(signed(1)));
		assert_eq!(owner(0, 1).map(|((who, _), _)| who), Some(account(1)));
		assert_eq!(owner(1, 1).map(|((who, _), _)| who), Some(account(1)));
		next_session();
		assert_eq!(owner(2, 1), None, "the session after them goes without it");
		next_session();
		next_session();
		assert_eq!(owner(1, 1).map(|((who, _), _)| who), Some(account(1)), "also when they are over");
	});
}

#[test]
fn new_keys_begin_a_new_set_and_old_ones_belong_to_the_old() {
	build_and_execute(|| {
		register_key(1, 77);
		next_session();
		assert_eq!((owner(1, 77), owner(2, 1)), (None, None));
		assert_eq!(owner(1, 1).map(|((who, _), _)| who), Some(account(1)));
		assert_eq!(owner(2, 77).map(|((who, _), _)| who), Some(account(1)));
		assert_eq!([0, 1, 2].map(FirstSessions::<Test>::get), [Some(0), Some(0), Some(2)]);
	});
}

#[test]
fn where_nobody_can_be_elected_those_without_keys_take_no_part() {
	build_and_execute(|| {
		assert_ok!(Validators::chill(signed(1)));
		assert_ok!(Validators::chill(signed(2)));
		assert_ok!(Session::purge_keys(signed(2)));
		next_session();
		assert_eq!((owner(2, 2), owner(2, 1).map(|(_, count)| count)), (None, Some(1)));
		next_session();
		assert_eq!(Session::validators(), vec![account(1)]);
	});
}

#[test]
fn a_validator_is_identified_by_what_it_was_elected_by_also_when_its_stake_changes() {
	build_and_execute(|| {
		nominate(5, 1, 500);
		bond(3, 2_000, 0);
		next_session();
		next_session();
		let identified = Some(((account(1), Exposure { total: MIN_BOND + 500, own: MIN_BOND }), 2));
		assert_eq!(owner(2, 1), identified);
		nominate(6, 1, 900);
		assert_ok!(Validators::bond_extra(signed(1), 10));
		next_session();
		assert_eq!((owner(2, 1), owner(3, 1)), (identified.clone(), identified));
	});
}

#[test]
fn sets_are_kept_once_and_as_long_as_a_session_of_theirs_can_be_reported_about() {
	build_and_execute(|| {
		let sessions = || {
			let mut sessions: Vec<_> = FirstSessions::<Test>::iter_keys().collect();
			sessions.sort_unstable();
			sessions
		};
		let firsts = || {
			let mut firsts: Vec<_> = Sets::<Test>::iter_keys().collect();
			firsts.sort_unstable();
			firsts
		};
		bond(3, 3_000, 0);
		next_session();
		assert_eq!((sessions(), firsts()), (vec![0, 1, 2], vec![0, 2]));
		for _ in 0..KEPT {
			next_session();
		}
		assert_eq!((sessions(), firsts()), (vec![1, 2, 3, 4], vec![0, 2]), "session 3 runs, and 1 can be reported about");
		next_session();
		assert_eq!((sessions(), firsts()), (vec![2, 3, 4, 5], vec![2]));
		for _ in 0..9 {
			next_session();
		}
		assert_eq!((sessions(), firsts()), (vec![11, 12, 13, 14], vec![2]), "the set never changed");
		assert_eq!(owner(10, 3), None);
	});
}

#[test]
fn the_sessions_of_one_set_cost_the_highest_fraction_once() {
	build_and_execute(|| {
		bond(3, 2_000, 0);
		for _ in 0..3 {
			next_session();
		}
		// Session 2 is the first with the third validator.
		offence(3, 500, 2);
		assert_eq!(held(3), 1_000);
		offence(3, 500, 3);
		offence(3, 400, 4);
		assert_eq!(held(3), 1_000, "the same set");
		offence(3, 750, 3);
		assert_eq!(held(3), 500, "three quarters of 2,000");
		offence(3, 500, 1);
		assert_eq!(held(3), 250, "the set before is another one");
	});
}
