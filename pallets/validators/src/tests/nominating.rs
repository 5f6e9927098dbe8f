//! Nominations: holds, limits, the smallest one's place, and how they end.

use super::*;
use crate::{
	mock::{build_and_execute, COOLDOWN, FUNDS, MIN_BOND, MIN_NOMINATION},
	Error, PositionView, MAX_NOMINATIONS, MAX_NOMINATORS,
};
use frame_support::assert_noop;

#[test]
fn a_nomination_is_held_and_backs_its_candidate() {
	build_and_execute(|| {
		nominate(5, 1, 300);
		nominate(5, 1, 50);
		nominate(6, 1, 200);
		nominate(5, 2, 100);
		assert_eq!((held(5), held(6)), (450, 200));
		assert_eq!(candidate(1).exposure(), Exposure { total: MIN_BOND + 550, own: MIN_BOND });
		assert_eq!(candidate(1).nominators, 2);
		let position = |candidate: u8, active| PositionView { candidate: account(candidate), active, unbonding: vec![], pending: 0 };
		assert_eq!(Validators::positions(account(5)), vec![position(1, 350), position(2, 100)]);
	});
}

#[test]
fn nominations_that_make_no_sense_are_refused() {
	build_and_execute(|| {
		let nominate = |tag, id, amount| Validators::nominate(signed(tag), account(id), amount);
		assert_noop!(nominate(5, 1, 0).map_err(|it| it.error), Error::<Test>::ZeroAmount);
		assert_noop!(nominate(5, 9, 500).map_err(|it| it.error), Error::<Test>::NotCandidate);
		assert_noop!(nominate(1, 1, 500).map_err(|it| it.error), Error::<Test>::OwnCandidacy);
		assert_noop!(nominate(5, 1, FUNDS).map_err(|it| it.error), sp_runtime::TokenError::FundsUnavailable);
		assert_ok!(Validators::chill(signed(1)));
		assert_noop!(nominate(5, 1, 500).map_err(|it| it.error), Error::<Test>::NotActive);
		assert_noop!(Validators::unnominate(signed(5), account(1), 1), Error::<Test>::NotNominated);
		assert_noop!(Validators::withdraw_nomination(signed(5), account(1)), Error::<Test>::NotNominated);
	});
}

#[test]
fn a_nomination_stays_at_the_minimum_or_goes() {
	build_and_execute(|| {
		let refused = Validators::nominate(signed(5), account(1), MIN_NOMINATION - 1).map_err(|it| it.error);
		assert_noop!(refused, Error::<Test>::NominationTooSmall);
		nominate(5, 1, 250);
		assert_noop!(Validators::unnominate(signed(5), account(1), 151), Error::<Test>::NominationTooSmall);
		assert_noop!(Validators::unnominate(signed(5), account(1), 251), Error::<Test>::AmountExceedsStake);
		assert_ok!(Validators::unnominate(signed(5), account(1), 150));
		assert_ok!(Validators::unnominate(signed(5), account(1), 100));
		assert_eq!(nomination(5, 1).stake.active, 0);
		assert_eq!((candidate(1).backing, candidate(1).nominators), (0, 1), "it is slashable, and so it is counted");
	});
}

#[test]
fn what_is_taken_back_is_free_after_the_cooldown() {
	build_and_execute(|| {
		nominate(5, 1, 300);
		assert_ok!(Validators::unnominate(signed(5), account(1), 200));
		assert_eq!(nomination(5, 1).stake.unbonding.to_vec(), vec![chunk(200, 1 + COOLDOWN)]);
		wait(COOLDOWN - 1);
		assert_noop!(Validators::withdraw_nomination(signed(5), account(1)), Error::<Test>::NothingToWithdraw);
		wait(1);
		assert_ok!(Validators::withdraw_nomination(signed(5), account(1)));
		assert_eq!(held(5), 100);
		assert_ok!(Validators::unnominate(signed(5), account(1), 100));
		wait(COOLDOWN);
		assert_ok!(Validators::withdraw_nomination(signed(5), account(1)));
		assert_eq!((held(5), Balances::free_balance(account(5))), (0, FUNDS));
		assert_eq!(candidate(1).nominators, 0);
		assert!(!crate::NominationsOf::<Test>::contains_key(account(5)));
	});
}

#[test]
fn nominations_of_a_chilled_candidate_can_be_taken_back() {
	build_and_execute(|| {
		nominate(5, 1, 300);
		assert_ok!(Validators::chill(signed(1)));
		assert_ok!(Validators::unnominate(signed(5), account(1), 300));
		wait(COOLDOWN);
		assert_ok!(Validators::withdraw_nomination(signed(5), account(1)));
	});
}

#[test]
fn a_larger_nomination_takes_the_place_of_the_smallest() {
	build_and_execute(|| {
		let most = u8::try_from(MAX_NOMINATORS).expect("few");
		for tag in 0..most {
			nominate(10 + tag, 1, 200 + Balance::from(tag));
		}
		// What is unbonding counts, since it can be slashed.
		assert_ok!(Validators::unnominate(signed(10), account(1), 200));
		assert_eq!(Validators::lowest_nomination(account(1)), Some(201));
		let refused = frame_support::storage::with_storage_layer(|| Validators::nominate(signed(90), account(1), 200));
		assert_eq!(refused.map_err(|it| it.error), Err(Error::<Test>::NominatorsFull.into()));
		let backing = candidate(1).backing;
		nominate(90, 1, 201);
		assert_eq!((held(10), Balances::free_balance(account(10))), (0, FUNDS), "the smallest is free at once");
		assert_eq!(candidate(1).backing, backing + 201);
		assert_eq!(candidate(1).nominators, MAX_NOMINATORS);
		assert_eq!(Validators::positions(account(10)), vec![]);
		// Of two with 201 planck the lower account goes next.
		nominate(91, 1, 500);
		assert_eq!((held(11), held(90)), (0, 201));
		// Who is there already adds what it likes.
		nominate(90, 1, 1);
	});
}

#[test]
fn an_account_nominates_a_bounded_number_of_candidates() {
	build_and_execute(|| {
		// The mock has fewer candidates than that.
		let full = (0..MAX_NOMINATIONS).map(|tag| account(200 + u8::try_from(tag).expect("few"))).collect::<Vec<_>>();
		crate::NominationsOf::<Test>::insert(account(5), frame_support::BoundedVec::truncate_from(full));
		let refused = frame_support::storage::with_storage_layer(|| Validators::nominate(signed(5), account(1), 500));
		assert_eq!(refused.map_err(|it| it.error), Err(Error::<Test>::TooManyNominations.into()));
		crate::NominationsOf::<Test>::remove(account(5));
	});
}

#[test]
fn the_smallest_nomination_that_is_taken_can_be_asked_for() {
	build_and_execute(|| {
		assert_eq!(Validators::lowest_nomination(account(1)), Some(MIN_NOMINATION));
		assert_ok!(Validators::chill(signed(1)));
		assert_eq!(Validators::lowest_nomination(account(1)), None);
		assert_eq!(Validators::lowest_nomination(account(9)), None);
	});
}
