//! The list that auditors are drawn from.

use super::*;
use crate::{Error, Verifiers};

fn enroll(who: &AccountId) -> DispatchResult {
	Disputes::enroll(signed(who))
}

fn resign(who: &AccountId) -> DispatchResult {
	Disputes::resign(signed(who))
}

/// Who can be drawn in an epoch.
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
