//! From pending to final, and the ways out.

use crate::{mock::*, ChallengeWindow, Error, Event, LastProven, Pending, Queue, QueueBounds};
use frame_support::{
	assert_noop, assert_ok,
	traits::{BuildGenesisConfig, Get},
};
use neuroshard_types::{
	proof::{PendingProof, ProofKind},
	provider::Role,
	span::Span,
	traits::WorkProofs,
	AccountId,
};

#[test]
#[should_panic(expected = "work must be open to disputes for at least one block")]
fn a_genesis_without_a_challenge_window_is_refused() {
	let genesis = crate::GenesisConfig::<Test> { challenge_window: 0, ..Default::default() };
	sp_io::TestExternalities::default().execute_with(|| genesis.build());
}

#[test]
fn a_confirmed_proof_is_paid_when_its_window_is_over() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(1, 2)));
		run_to(5);
		Ponw::confirm(&ALICE, key(1, 2), 42, true);
		assert_eq!(Pending::<Test>::get(ALICE, key(1, 2)).map(PendingProof::from), Some(PendingProof { units: 42, final_at: Some(15) }));
		System::assert_last_event(Event::Confirmed { who: ALICE, key: key(1, 2), units: 42, final_at: 15 }.into());
		run_to(14);
		assert_eq!(Credited::get(), vec![]);
		assert_eq!(Claims::get().get(&ALICE), Some(&1));
		run_to(15);
		assert_eq!(Credited::get(), vec![(ALICE, ProofKind::Training, Role::Worker, 42)]);
		assert_eq!(Claims::get().get(&ALICE), Some(&0));
		assert_eq!(Successes::get().get(&ALICE), Some(&1));
		assert_eq!(Pending::<Test>::get(ALICE, key(1, 2)), None);
		System::assert_last_event(Event::Finalized { who: ALICE, key: key(1, 2), units: 42 }.into());
	});
}

#[test]
fn final_work_counts_for_ownership_of_its_run_and_void_work_does_not() {
	build_and_execute(|| {
		for key in [key(1, 0), key(2, 0), key(3, 0)] {
			assert_ok!(submit(&ALICE, key));
			Ponw::confirm(&ALICE, key, 42, key.run == 1);
		}
		Ponw::void(&ALICE, key(2, 0));
		run_to(WINDOW);
		assert_eq!(Owned::get(), vec![]);
		run_to(1 + WINDOW);
		assert_eq!(Owned::get(), vec![(ALICE, 1, 42), (ALICE, 3, 42)]);
		// Unpaid work counts as well.
		assert_eq!(Credited::get().len(), 1);
	});
}

#[test]
fn an_unconfirmed_proof_is_never_paid() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(0, 0)));
		run_to(100);
		assert_eq!(Credited::get(), vec![]);
		assert_eq!(Pending::<Test>::get(ALICE, key(0, 0)).map(PendingProof::from), Some(PendingProof { units: 0, final_at: None }));
	});
}

#[test]
fn unpaid_work_becomes_final_without_credit_or_reputation() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(0, 0)));
		Ponw::confirm(&ALICE, key(0, 0), 9, false);
		run_to(1 + WINDOW);
		assert_eq!(Credited::get(), vec![]);
		assert_eq!(Successes::get().get(&ALICE), None);
		assert_eq!(Claims::get().get(&ALICE), Some(&0));
	});
}

#[test]
fn a_second_confirmation_changes_nothing() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(0, 0)));
		Ponw::confirm(&ALICE, key(0, 0), 7, true);
		run_to(3);
		Ponw::confirm(&ALICE, key(0, 0), 700, true);
		run_to(50);
		assert_eq!(Credited::get(), vec![(ALICE, ProofKind::Training, Role::Worker, 7)]);
	});
}

#[test]
fn confirming_or_voiding_what_was_never_submitted_does_nothing() {
	build_and_execute(|| {
		Ponw::confirm(&ALICE, key(0, 0), 7, true);
		Ponw::void(&ALICE, key(0, 0));
		run_to(50);
		assert_eq!(Credited::get(), vec![]);
		assert_eq!(System::events(), vec![]);
		assert_eq!(LastProven::<Test>::get(0, ALICE), None);
	});
}

#[test]
fn a_voided_proof_closes_its_claim_and_frees_its_key_for_the_retried_round() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(0, 3)));
		Ponw::void(&ALICE, key(0, 3));
		assert_eq!(Claims::get().get(&ALICE), Some(&0));
		System::assert_last_event(Event::Voided { who: ALICE, key: key(0, 3) }.into());
		assert_ok!(submit(&ALICE, key(0, 3)));
		Ponw::confirm(&ALICE, key(0, 3), 9, true);
		run_to(50);
		assert_eq!(Credited::get(), vec![(ALICE, ProofKind::Training, Role::Worker, 9)]);
	});
}

#[test]
fn a_proof_voided_within_its_window_is_not_paid_and_its_key_stays_used() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(0, 3)));
		Ponw::confirm(&ALICE, key(0, 3), 9, true);
		run_to(5);
		Ponw::void(&ALICE, key(0, 3));
		assert_eq!(Claims::get().get(&ALICE), Some(&0));
		assert_noop!(submit(&ALICE, key(0, 3)), Error::<Test>::AlreadyProven);
		run_to(50);
		assert_eq!(Credited::get(), vec![]);
		assert_eq!(Successes::get().get(&ALICE), None);
	});
}

#[test]
fn after_confirmation_no_round_up_to_it_is_accepted() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(0, 3)));
		Ponw::confirm(&ALICE, key(0, 3), 1, true);
		assert_noop!(submit(&ALICE, key(0, 3)), Error::<Test>::AlreadyProven);
		run_to(50);
		assert_noop!(submit(&ALICE, key(0, 3)), Error::<Test>::AlreadyProven);
		assert_noop!(submit(&ALICE, key(0, 2)), Error::<Test>::AlreadyProven);
		assert_ok!(submit(&ALICE, key(0, 4)));
		assert_ok!(submit(&ALICE, key(1, 0)));
		assert_ok!(submit(&BOB, key(0, 0)));
	});
}

#[test]
fn a_late_confirmation_of_an_earlier_round_keeps_later_rounds_used() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(0, 1)));
		assert_ok!(submit(&ALICE, key(0, 2)));
		Ponw::confirm(&ALICE, key(0, 2), 2, true);
		Ponw::confirm(&ALICE, key(0, 1), 1, true);
		assert_noop!(submit(&ALICE, key(0, 2)), Error::<Test>::AlreadyProven);
	});
}

#[test]
fn proofs_beyond_a_block_s_share_follow_in_order_and_none_is_lost() {
	build_and_execute(|| {
		for round in 0..8 {
			assert_ok!(submit(&ALICE, key(0, round)));
			Ponw::confirm(&ALICE, key(0, round), u128::from(round) + 1, true);
		}
		run_to(2);
		assert_ok!(submit(&BOB, key(0, 0)));
		Ponw::confirm(&BOB, key(0, 0), 100, true);
		let units = || Credited::get().iter().map(|(.., units)| *units).collect::<Vec<_>>();
		run_to(1 + WINDOW);
		assert_eq!(units(), [1, 2, 3]);
		check_invariants();
		run_to(2 + WINDOW);
		assert_eq!(units(), [1, 2, 3, 4, 5, 6]);
		run_to(3 + WINDOW);
		assert_eq!(units(), [1, 2, 3, 4, 5, 6, 7, 8, 100]);
		assert_eq!(QueueBounds::<Test>::get(), Span { first: 9, next: 9 });
		assert_eq!(Queue::<Test>::iter().count(), 0);
	});
}

#[test]
fn the_window_is_a_genesis_value_that_others_can_read() {
	build_and_execute(|| {
		assert_eq!(<crate::GetChallengeWindow<Test> as Get<u32>>::get(), WINDOW);
		ChallengeWindow::<Test>::put(0);
		assert_ok!(submit(&ALICE, key(0, 0)));
		Ponw::confirm(&ALICE, key(0, 0), 5, true);
		run_to(2);
		assert_eq!(Credited::get().len(), 1);
	});
}

#[test]
fn a_part_of_a_place_is_a_proof_of_its_own_that_is_paid_held_and_voided_like_any_other() {
	build_and_execute(|| {
		for run in 1..4 {
			Ponw::confirm_part(&BOB, key(run, 5), 7, true);
		}
		assert_eq!(Claims::get().get(&BOB), Some(&3));
		assert_eq!(
			Pending::<Test>::get(BOB, key(1, 5)).map(PendingProof::from),
			Some(PendingProof { units: 7, final_at: Some(1 + WINDOW) })
		);
		// No round is paid twice, whoever proves it, and no other one before it.
		assert_noop!(submit(&BOB, key(1, 5)), Error::<Test>::AlreadyProven);
		Ponw::confirm_part(&BOB, key(1, 5), 7, true);
		Ponw::confirm_part(&BOB, key(1, 4), 7, true);
		assert_eq!(Claims::get().get(&BOB), Some(&3));
		// Whoever is no provider has none.
		Ponw::confirm_part(&AccountId::new([9; 32]), key(1, 5), 7, true);
		Ponw::void(&BOB, key(2, 5));
		Ponw::hold(&BOB);
		run_to(1 + WINDOW);
		assert_eq!(Credited::get(), vec![]);
		Ponw::release(&BOB);
		run_to(3 + WINDOW);
		assert_eq!(Credited::get(), vec![(BOB, ProofKind::Training, Role::Worker, 7); 2]);
		assert_eq!(Claims::get().get(&BOB), Some(&0));
	});
}
