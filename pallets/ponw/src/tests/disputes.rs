//! Proofs of accounts something of which is disputed, and those of condemned ones.

use crate::{mock::*, Error, Event, Held, LastProven, Overdue, Pending, Queue, Released, Standings};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::traits::WorkProofs;

/// Submits and confirms the proof of a round with as many units as its number and one.
fn confirm(who: &neuroshard_types::AccountId, round: u32) {
	assert_ok!(submit(who, key(0, round)));
	Ponw::confirm(who, key(0, round), u128::from(round) + 1, true);
}

fn paid() -> Vec<u128> {
	Credited::get().iter().map(|(.., units)| *units).collect()
}

/// Overdue proofs, and accounts whose overdue proofs are to be ended.
fn waiting() -> (usize, usize) {
	(Overdue::<Test>::iter_keys().count(), Released::<Test>::iter_keys().count())
}

#[test]
fn no_proof_of_a_held_account_becomes_final_and_all_are_paid_after_its_release_a_few_in_each_block() {
	build_and_execute(|| {
		Ponw::hold(&ALICE);
		// Submitted, confirmed and due while it is held.
		(0..5).for_each(|round| confirm(&ALICE, round));
		run_to(1 + 3 * WINDOW);
		check_invariants();
		assert_eq!((paid(), Queue::<Test>::iter().count(), waiting()), (vec![], 0, (5, 0)));
		Ponw::release(&ALICE);
		check_invariants();
		assert_eq!((paid(), Claims::get()[&ALICE], waiting()), (vec![], 5, (5, 1)));
		run_to(2 + 3 * WINDOW);
		check_invariants();
		assert_eq!(paid().len(), 3);
		run_to(4 + 3 * WINDOW);
		let mut paid = paid();
		paid.sort();
		assert_eq!((paid, Claims::get()[&ALICE], waiting()), (vec![1, 2, 3, 4, 5], 0, (0, 0)));
		assert_eq!((Standings::<Test>::get(ALICE), Held::<Test>::iter().count()), (None, 0));
	});
}

#[test]
fn proofs_of_an_account_that_is_released_within_their_window_are_paid_at_its_end() {
	build_and_execute(|| {
		confirm(&ALICE, 0);
		Ponw::hold(&ALICE);
		run_to(WINDOW);
		Ponw::release(&ALICE);
		assert_eq!((paid(), waiting()), (vec![], (0, 0)));
		run_to(1 + WINDOW);
		assert_eq!(paid(), [1]);
	});
}

#[test]
fn a_held_account_delays_no_other() {
	build_and_execute(|| {
		(0..3).for_each(|round| confirm(&ALICE, round));
		confirm(&BOB, 3);
		Ponw::hold(&ALICE);
		run_to(2 + WINDOW);
		assert_eq!(paid(), [4]);
	});
}

#[test]
fn an_account_that_is_held_again_keeps_what_is_overdue() {
	build_and_execute(|| {
		confirm(&ALICE, 0);
		Ponw::hold(&ALICE);
		run_to(1 + WINDOW);
		Ponw::release(&ALICE);
		Ponw::hold(&ALICE);
		run_to(5 + WINDOW);
		assert_eq!((paid(), waiting()), (vec![], (1, 0)));
		Ponw::release(&ALICE);
		run_to(6 + WINDOW);
		assert_eq!(paid(), [1]);
		System::assert_last_event(Event::Finalized { who: ALICE, key: key(0, 0), units: 1 }.into());
	});
}

#[test]
fn nothing_is_released_that_is_not_held() {
	build_and_execute(|| {
		Ponw::release(&ALICE);
		confirm(&ALICE, 0);
		Ponw::release(&ALICE);
		run_to(1 + WINDOW);
		assert_eq!(paid(), [1]);
		// Final: it is too late for a hold.
		Ponw::hold(&ALICE);
		Ponw::release(&ALICE);
		assert_eq!((paid(), Pending::<Test>::iter().count(), waiting()), (vec![1], 0, (0, 0)));
	});
}

#[test]
fn everything_that_is_pending_for_a_condemned_account_is_void_and_nothing_else() {
	build_and_execute(|| {
		// Confirmed, and not confirmed yet.
		confirm(&ALICE, 0);
		confirm(&ALICE, 1);
		Ponw::hold(&ALICE);
		assert_ok!(submit(&ALICE, key(0, 2)));
		assert_ok!(submit(&ALICE, key(1, 0)));
		confirm(&BOB, 9);
		Ponw::condemn(&ALICE);
		// Work that was done later.
		confirm(&ALICE, 3);
		assert_eq!(Ponw::pending(ALICE).into_inner().into_iter().map(|(key, _)| key).collect::<Vec<_>>(), [key(0, 3)]);

		Ponw::confirm(&ALICE, key(0, 2), 3, true);
		System::assert_last_event(Event::Voided { who: ALICE, key: key(0, 2) }.into());
		Ponw::void(&ALICE, key(1, 0));
		assert_eq!(Claims::get()[&ALICE], 3);
		check_invariants();
		run_to(2 + WINDOW);
		check_invariants();
		assert_eq!((paid(), waiting()), (vec![10], (3, 0)));
		// The last dispute ends.
		Ponw::release(&ALICE);
		run_to(4 + WINDOW);
		assert_eq!((paid(), Claims::get()[&ALICE], Claims::get()[&BOB]), (vec![10, 4], 0, 0));
		assert_eq!(Standings::<Test>::iter().count(), 0);
	});
}

#[test]
fn overdue_proofs_are_void_if_their_account_is_condemned_even_in_the_block_of_its_release() {
	build_and_execute(|| {
		(0..2).for_each(|round| confirm(&ALICE, round));
		Ponw::hold(&ALICE);
		run_to(2 * WINDOW);
		// The last game ends by fraud.
		Ponw::release(&ALICE);
		Ponw::condemn(&ALICE);
		assert_eq!(Claims::get()[&ALICE], 2);
		run_to(2 * WINDOW + 1);
		assert_eq!((paid(), Claims::get()[&ALICE]), (vec![], 0));
	});
}

#[test]
fn the_proof_of_a_false_claim_is_voided_at_once_whoever_else_disputes_it() {
	build_and_execute(|| {
		confirm(&ALICE, 0);
		Ponw::hold(&ALICE);
		run_to(2 * WINDOW);
		Ponw::void(&ALICE, key(0, 0));
		assert_eq!(Claims::get()[&ALICE], 0);
		check_invariants();
		Ponw::release(&ALICE);
		run_to(2 * WINDOW + 2);
		assert_eq!((paid(), waiting()), (vec![], (0, 0)));
	});
}

#[test]
fn a_key_that_was_confirmed_for_a_condemned_account_stays_used() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(0, 2)));
		Ponw::condemn(&ALICE);
		Ponw::confirm(&ALICE, key(0, 2), 3, true);
		assert_eq!(LastProven::<Test>::get(0, ALICE), Some(2));
		assert_noop!(submit(&ALICE, key(0, 2)), Error::<Test>::AlreadyProven);
	});
}
