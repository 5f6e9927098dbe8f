//! Proofs that are held while they are disputed, and those of condemned accounts.

use crate::{mock::*, Error, Event, LastProven, Pending, Queue, Standings};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::traits::WorkProofs;

/// Submits and confirms the proof of a round with as many units as its number and one.
fn confirm(who: &neuroshard_types::AccountId, round: u32) {
	assert_ok!(submit(who, key(0, round)));
	Ponw::confirm(who, key(0, round), u128::from(round) + 1);
}

fn paid() -> Vec<u128> {
	Credited::get().iter().map(|(.., units)| *units).collect()
}

#[test]
fn a_held_proof_is_paid_at_once_when_the_last_dispute_ends_after_the_window() {
	build_and_execute(|| {
		confirm(&ALICE, 0);
		Ponw::hold(&ALICE, key(0, 0));
		Ponw::hold(&ALICE, key(0, 0));
		run_to(1 + 3 * WINDOW);
		check_invariants();
		assert_eq!((paid(), Queue::<Test>::iter().count()), (vec![], 0));
		Ponw::release(&ALICE, key(0, 0));
		assert_eq!((paid(), Claims::get()[&ALICE]), (vec![], 1));
		check_invariants();
		Ponw::release(&ALICE, key(0, 0));
		assert_eq!((paid(), Claims::get()[&ALICE]), (vec![1], 0));
		System::assert_last_event(Event::Finalized { who: ALICE, key: key(0, 0), units: 1 }.into());
		assert_eq!(Standings::<Test>::get(ALICE), None);
	});
}

#[test]
fn a_proof_that_is_released_within_its_window_is_paid_at_its_end() {
	build_and_execute(|| {
		confirm(&ALICE, 0);
		Ponw::hold(&ALICE, key(0, 0));
		run_to(WINDOW);
		Ponw::release(&ALICE, key(0, 0));
		assert_eq!(paid(), []);
		run_to(1 + WINDOW);
		assert_eq!(paid(), [1]);
	});
}

#[test]
fn a_held_proof_delays_no_other() {
	build_and_execute(|| {
		(0..3).for_each(|round| confirm(&ALICE, round));
		confirm(&BOB, 3);
		Ponw::hold(&ALICE, key(0, 1));
		run_to(2 + WINDOW);
		assert_eq!(paid(), [1, 3, 4]);
	});
}

#[test]
fn nothing_is_held_that_is_not_confirmed_and_nothing_released_that_is_not_held() {
	build_and_execute(|| {
		Ponw::hold(&ALICE, key(0, 0));
		Ponw::release(&ALICE, key(0, 0));
		assert_ok!(submit(&ALICE, key(0, 0)));
		Ponw::hold(&ALICE, key(0, 0));
		Ponw::confirm(&ALICE, key(0, 0), 1);
		Ponw::release(&ALICE, key(0, 0));
		run_to(1 + WINDOW);
		assert_eq!(paid(), [1]);
		// Final: it is too late for a hold.
		Ponw::hold(&ALICE, key(0, 0));
		Ponw::release(&ALICE, key(0, 0));
		assert_eq!((paid(), Pending::<Test>::iter().count()), (vec![1], 0));
	});
}

#[test]
fn everything_that_is_pending_for_a_condemned_account_is_void_and_nothing_else() {
	build_and_execute(|| {
		// Confirmed, held, and not confirmed yet.
		confirm(&ALICE, 0);
		confirm(&ALICE, 1);
		Ponw::hold(&ALICE, key(0, 1));
		assert_ok!(submit(&ALICE, key(0, 2)));
		assert_ok!(submit(&ALICE, key(1, 0)));
		confirm(&BOB, 9);
		Ponw::condemn(&ALICE);
		// Work that was done later.
		confirm(&ALICE, 3);
		assert_eq!(Ponw::pending(ALICE).into_inner().into_iter().map(|(key, _)| key).collect::<Vec<_>>(), [key(0, 3)]);

		Ponw::confirm(&ALICE, key(0, 2), 3);
		System::assert_last_event(Event::Voided { who: ALICE, key: key(0, 2) }.into());
		Ponw::void(&ALICE, key(1, 0));
		assert_eq!(Claims::get()[&ALICE], 3);
		check_invariants();
		run_to(2 + WINDOW);
		check_invariants();
		// The other dispute ends: there is nothing to release.
		Ponw::release(&ALICE, key(0, 1));
		assert_eq!((paid(), Claims::get()[&ALICE], Claims::get()[&BOB]), (vec![10, 4], 0, 0));
		assert_eq!(Standings::<Test>::iter().count(), 0);
	});
}

#[test]
fn a_proof_held_beyond_its_window_is_void_if_its_account_is_condemned_meanwhile() {
	build_and_execute(|| {
		confirm(&ALICE, 0);
		Ponw::hold(&ALICE, key(0, 0));
		run_to(2 * WINDOW);
		Ponw::condemn(&ALICE);
		assert_eq!(Claims::get()[&ALICE], 1);
		Ponw::release(&ALICE, key(0, 0));
		assert_eq!((paid(), Claims::get()[&ALICE]), (vec![], 0));
	});
}

#[test]
fn the_proof_of_a_false_claim_is_voided_at_once_whoever_else_disputes_it() {
	build_and_execute(|| {
		confirm(&ALICE, 0);
		Ponw::hold(&ALICE, key(0, 0));
		Ponw::hold(&ALICE, key(0, 0));
		run_to(2 * WINDOW);
		Ponw::void(&ALICE, key(0, 0));
		assert_eq!(Claims::get()[&ALICE], 0);
		Ponw::release(&ALICE, key(0, 0));
		assert_eq!(paid(), []);
	});
}

#[test]
fn a_key_that_was_confirmed_for_a_condemned_account_stays_used() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(0, 2)));
		Ponw::condemn(&ALICE);
		Ponw::confirm(&ALICE, key(0, 2), 3);
		assert_eq!(LastProven::<Test>::get(0, ALICE), Some(2));
		assert_noop!(submit(&ALICE, key(0, 2)), Error::<Test>::AlreadyProven);
	});
}
