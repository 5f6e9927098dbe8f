//! The list that auditors are drawn from.

use super::*;
use crate::{Error, Verifiers, WeightInfo};
use frame_support::{traits::Hooks, weights::Weight};

fn enroll(who: &AccountId) -> DispatchResult {
	Disputes::enroll(signed(who))
}

fn resign(who: &AccountId) -> DispatchResult {
	Disputes::resign(signed(who))
}

/// Returns the accounts that can be drawn in an epoch.
fn drawn_from(epoch: u64) -> Vec<AccountId> {
	let verifiers = Verifiers::<Test>::get().into_iter().filter(|verifier| verifier.takes_part(epoch));
	verifiers.map(|verifier| verifier.account).collect()
}

#[test]
fn only_active_verifiers_enroll_and_only_once() {
	build_and_execute(|| {
		Inactive::set([ALICE].into());
		assert_noop!(enroll(&ALICE), Error::<Test>::NotVerifier);
		assert_ok!(enroll(&CHARLIE));
		assert_ok!(enroll(&BOB));
		assert_noop!(enroll(&BOB), Error::<Test>::AlreadyEnrolled);
		assert_eq!(Disputes::verifiers(), [BOB, CHARLIE]);
		assert_noop!(resign(&ALICE), Error::<Test>::NotEnrolled);
		assert_ok!(resign(&BOB));
		assert_noop!(resign(&BOB), Error::<Test>::NotEnrolled);
		assert_eq!(Disputes::verifiers(), [CHARLIE]);
		let enrolled = [CHARLIE, BOB].map(|who| Event::VerifierEnrolled { who });
		assert_eq!(events(), enrolled.into_iter().chain([Event::VerifierResigned { who: BOB }]).collect::<Vec<_>>());
	});
}

#[test]
fn who_comes_or_goes_does_so_two_epochs_later() {
	build_and_execute(|| {
		Epoch::set(5);
		assert_ok!(enroll(&ALICE));
		assert_eq!((drawn_from(6), drawn_from(7)), (vec![], vec![ALICE]));
		Epoch::set(9);
		assert_ok!(resign(&ALICE));
		assert_eq!((drawn_from(10), drawn_from(11)), (vec![ALICE], vec![]));
		// Nor can it change its mind when the next draw is known.
		Epoch::set(10);
		assert_noop!(enroll(&ALICE), Error::<Test>::AlreadyEnrolled);
		Epoch::set(11);
		assert_ok!(enroll(&ALICE));
		assert_eq!((drawn_from(12), drawn_from(13)), (vec![], vec![ALICE]));
	});
}

/// So many blocks begin, and have room for what is done when they have.
fn idle(blocks: u32) {
	for _ in 0..blocks {
		next_block();
		Disputes::on_idle(System::block_number(), Weight::MAX);
		check_invariants();
	}
}

#[test]
fn who_is_active_no_more_leaves_the_list_within_as_many_blocks_as_it_has_places_and_two_epochs_later() {
	build_and_execute(|| {
		for who in [&ALICE, &BOB, &CHARLIE] {
			assert_ok!(enroll(who));
		}
		assert_ok!(resign(&CHARLIE));
		Epoch::set(7);
		Inactive::set([BOB, CHARLIE].into());
		let before = events().len();
		idle(3);
		assert_eq!(events()[before..], [Event::VerifierDropped { who: BOB }]);
		assert_eq!(Disputes::verifiers(), [ALICE]);
		// The next draw is of those who were enrolled before the lots could be known.
		assert_eq!((drawn_from(8), drawn_from(9)), (vec![ALICE, BOB], vec![ALICE]));
		Inactive::set(Default::default());
		assert_noop!(enroll(&BOB), Error::<Test>::AlreadyEnrolled);
		idle(6);
		assert_eq!(Disputes::verifiers(), [ALICE], "whoever is active stays");
		Epoch::set(9);
		assert_ok!(enroll(&BOB));
	});
}

#[test]
fn nobody_is_looked_at_in_a_full_block_or_on_an_empty_list() {
	build_and_execute(|| {
		idle(2);
		assert_ok!(enroll(&ALICE));
		Inactive::set([ALICE].into());
		let little = <Test as crate::Config>::WeightInfo::sweep().saturating_sub(Weight::from_parts(1, 0));
		assert_eq!(Disputes::on_idle(System::block_number(), little), Weight::zero());
		assert_eq!(Disputes::verifiers(), [ALICE]);
		idle(1);
		assert!(Disputes::verifiers().is_empty());
	});
}

#[test]
fn inactive_verifiers_keep_nobody_out_of_a_full_list_for_long() {
	build_and_execute(|| {
		let who = |number: u16| AccountId::new([number.to_be_bytes(); 16].concat().try_into().expect("32 bytes"));
		for number in 0..512 {
			assert_ok!(enroll(&who(number)));
		}
		let newcomer = account(4);
		Inactive::set((1..512).map(who).collect());
		assert_noop!(enroll(&newcomer), Error::<Test>::TooManyVerifiers);
		(0..512).for_each(|block| {
			System::set_block_number(2 + block);
			Disputes::on_idle(2 + block, Weight::MAX);
		});
		assert_eq!(Disputes::verifiers(), [who(0)]);
		assert_noop!(enroll(&newcomer), Error::<Test>::TooManyVerifiers);
		Epoch::set(2);
		assert_ok!(enroll(&newcomer));
		assert_eq!(Verifiers::<Test>::get().len(), 2);
	});
}

#[test]
fn a_full_list_takes_nobody_until_somebody_is_gone() {
	build_and_execute(|| {
		let who = |number: u16| {
			let mut bytes = [0; 32];
			bytes[..2].copy_from_slice(&number.to_be_bytes());
			AccountId::new(bytes)
		};
		for number in 0..512 {
			assert_ok!(enroll(&who(number)));
		}
		assert_noop!(enroll(&ALICE), Error::<Test>::TooManyVerifiers);
		assert_ok!(resign(&who(100)));
		assert_noop!(enroll(&ALICE), Error::<Test>::TooManyVerifiers);
		Epoch::set(2);
		assert_ok!(enroll(&ALICE));
		assert_noop!(enroll(&BOB), Error::<Test>::TooManyVerifiers);
	});
}
