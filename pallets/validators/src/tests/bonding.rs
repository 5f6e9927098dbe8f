//! Candidates: bonds, holds, status, commission, and how they leave.

use super::*;
use crate::{
	mock::{build_and_execute, ReportPeriod, COOLDOWN, FUNDS, MIN_BOND},
	Error, Limits, Status, MAX_UNBONDING_CHUNKS,
};
use frame_support::assert_noop;

#[test]
fn a_bond_is_held_and_makes_an_active_candidate() {
	build_and_execute(|| {
		bond(3, 1_500, 5);
		assert_eq!(held(3), 1_500);
		assert_eq!(Balances::free_balance(account(3)), FUNDS - 1_500);
		assert_eq!(candidate(3).status, Status::Active);
		let commission = Perbill::from_percent(5);
		assert_eq!(events(), vec![Event::CandidateAdded { who: account(3), bond: 1_500, commission }]);
	});
}

#[test]
fn without_session_keys_nobody_is_a_candidate() {
	build_and_execute(|| {
		assert_noop!(Validators::bond(signed(3), MIN_BOND, Perbill::zero()), Error::<Test>::NoSessionKeys);
		register(3);
		assert_ok!(Validators::bond(signed(3), MIN_BOND, Perbill::zero()));
	});
}

#[test]
fn a_second_candidacy_and_one_below_the_minimum_are_refused() {
	build_and_execute(|| {
		assert_noop!(Validators::bond(signed(1), MIN_BOND, Perbill::zero()), Error::<Test>::AlreadyCandidate);
		register(3);
		assert_noop!(Validators::bond(signed(3), MIN_BOND - 1, Perbill::zero()), Error::<Test>::BondTooSmall);
		assert_noop!(Validators::bond_extra(signed(3), 1), Error::<Test>::NotCandidate);
		assert_noop!(Validators::unbond(signed(3), 1), Error::<Test>::NotCandidate);
		assert_noop!(Validators::withdraw_unbonded(signed(3)), Error::<Test>::NotCandidate);
		assert_noop!(Validators::chill(signed(3)), Error::<Test>::NotCandidate);
		assert_noop!(Validators::activate(signed(3)), Error::<Test>::NotCandidate);
		assert_noop!(Validators::set_commission(signed(3), Perbill::zero()), Error::<Test>::NotCandidate);
	});
}

#[test]
fn there_are_at_most_as_many_candidates_as_the_runtime_says() {
	build_and_execute(|| {
		for tag in 3..=12 {
			bond(tag, MIN_BOND, 0);
		}
		register(13);
		assert_noop!(Validators::bond(signed(13), MIN_BOND, Perbill::zero()), Error::<Test>::TooManyCandidates);
		let Limits { candidates, max_candidates, .. } = Validators::limits();
		assert_eq!((candidates, max_candidates), (12, 12));
	});
}

#[test]
fn a_bond_can_be_raised_and_partly_taken_back() {
	build_and_execute(|| {
		bond(3, 1_500, 0);
		assert_ok!(Validators::bond_extra(signed(3), 700));
		assert_eq!((candidate(3).own.stake.active, held(3)), (2_200, 2_200));
		assert_noop!(Validators::unbond(signed(3), 1_201), Error::<Test>::BondTooSmall);
		assert_noop!(Validators::unbond(signed(3), 2_201), Error::<Test>::AmountExceedsStake);
		assert_noop!(Validators::unbond(signed(3), 0), Error::<Test>::ZeroAmount);
		assert_noop!(Validators::bond_extra(signed(3), 0), Error::<Test>::ZeroAmount);
		assert_ok!(Validators::unbond(signed(3), 1_200));
		assert_eq!(candidate(3).own.stake.unbonding.to_vec(), vec![chunk(1_200, 1 + COOLDOWN)]);
		assert_eq!((candidate(3).status, held(3)), (Status::Active, 2_200), "what unbonds stays on hold");
	});
}

#[test]
fn unbonding_parts_unlock_after_the_cooldown_and_not_before() {
	build_and_execute(|| {
		bond(3, 3_000, 0);
		assert_ok!(Validators::unbond(signed(3), 500));
		wait(10);
		assert_ok!(Validators::unbond(signed(3), 600));
		wait(COOLDOWN - 11);
		assert_noop!(Validators::withdraw_unbonded(signed(3)), Error::<Test>::NothingToWithdraw);
		wait(1);
		assert_ok!(Validators::withdraw_unbonded(signed(3)));
		assert_eq!(held(3), 2_500);
		assert_eq!(candidate(3).own.stake.unbonding.to_vec(), vec![chunk(600, 11 + COOLDOWN)]);
		wait(10);
		assert_ok!(Validators::withdraw_unbonded(signed(3)));
		assert_eq!((held(3), Balances::free_balance(account(3))), (1_900, FUNDS - 1_900));
	});
}

#[test]
fn parts_of_one_block_are_one_chunk_and_a_full_list_refuses_more() {
	build_and_execute(|| {
		bond(3, 10_000, 0);
		for _ in 0..MAX_UNBONDING_CHUNKS {
			assert_ok!(Validators::unbond(signed(3), 10));
			assert_ok!(Validators::unbond(signed(3), 10));
			wait(1);
		}
		assert!(candidate(3).own.stake.unbonding.iter().all(|chunk| chunk.amount == 20));
		assert_noop!(Validators::unbond(signed(3), 10), Error::<Test>::TooManyChunks);
	});
}

#[test]
fn who_takes_everything_out_is_chilled_and_forgotten_with_the_last_withdrawal() {
	build_and_execute(|| {
		bond(3, MIN_BOND, 0);
		nominate(5, 3, 400);
		assert_ok!(Validators::unbond(signed(3), MIN_BOND));
		assert_eq!(candidate(3).status, Status::Chilled);
		assert_noop!(Validators::activate(signed(3)), Error::<Test>::BondTooSmall);
		wait(COOLDOWN);
		assert_ok!(Validators::withdraw_unbonded(signed(3)));
		assert_eq!(Candidates::<Test>::get(account(3)), None);
		assert_eq!((held(3), held(5)), (0, 0), "nominations of who leaves are free at once");
		assert_eq!(Validators::positions(account(5)), vec![]);
		let released = Event::NominationReleased { nominator: account(5), candidate: account(3), amount: 400 };
		assert!(events().contains(&released));
		assert_eq!(events().last(), Some(&Event::CandidateRemoved { who: account(3) }));
	});
}

#[test]
fn a_validator_does_not_leave_before_it_is_out_of_the_set() {
	build_and_execute(|| {
		assert_ok!(Validators::unbond(signed(1), MIN_BOND));
		next_session();
		wait(COOLDOWN);
		assert_noop!(Validators::withdraw_unbonded(signed(1)), Error::<Test>::StillElected);
		next_session();
		assert_eq!(Session::validators(), vec![account(2)]);
		let until = System::block_number() + ReportPeriod::get();
		assert_eq!(Validators::candidate(account(1)).map(|view| view.reportable_until), Some(until));
		wait(ReportPeriod::get() - 1);
		assert_noop!(Validators::withdraw_unbonded(signed(1)), Error::<Test>::StillReportable);
		wait(1);
		assert_ok!(Validators::withdraw_unbonded(signed(1)));
	});
}

#[test]
fn who_stays_in_the_set_for_want_of_others_can_be_reported_after_its_cooldown() {
	build_and_execute(|| {
		assert_ok!(Validators::unbond(signed(1), MIN_BOND));
		assert_ok!(Validators::unbond(signed(2), MIN_BOND));
		for _ in 0..4 {
			wait(COOLDOWN);
			next_session();
		}
		assert_noop!(Validators::withdraw_unbonded(signed(1)), Error::<Test>::StillElected);
		bond(3, MIN_BOND, 0);
		next_session();
		next_session();
		assert_eq!(Session::validators(), vec![account(3)]);
		assert_noop!(Validators::withdraw_unbonded(signed(1)), Error::<Test>::StillReportable);
		offence(1, 1_000, 5);
		assert_eq!(held(1), 0);
	});
}

#[test]
fn a_validator_withdraws_a_part_while_it_is_in_the_set() {
	build_and_execute(|| {
		assert_ok!(Validators::bond_extra(signed(1), 500));
		assert_ok!(Validators::unbond(signed(1), 500));
		wait(COOLDOWN);
		assert_ok!(Validators::withdraw_unbonded(signed(1)));
		assert_eq!(held(1), MIN_BOND);
	});
}

#[test]
fn a_chilled_candidate_keeps_its_stake_and_comes_back() {
	build_and_execute(|| {
		bond(3, MIN_BOND, 0);
		assert_noop!(Validators::activate(signed(3)), Error::<Test>::AlreadyActive);
		assert_ok!(Validators::chill(signed(3)));
		assert_noop!(Validators::chill(signed(3)), Error::<Test>::AlreadyChilled);
		assert_eq!((candidate(3).status, held(3)), (Status::Chilled, MIN_BOND));
		assert_ok!(Validators::activate(signed(3)));
		assert_eq!(candidate(3).status, Status::Active);
	});
}

#[test]
fn a_candidate_without_keys_is_not_activated() {
	build_and_execute(|| {
		bond(3, MIN_BOND, 0);
		assert_ok!(Validators::chill(signed(3)));
		assert_ok!(Session::purge_keys(signed(3)));
		assert_noop!(Validators::activate(signed(3)), Error::<Test>::NoSessionKeys);
	});
}

#[test]
fn who_is_leaving_comes_back_by_bonding_the_minimum_again() {
	build_and_execute(|| {
		bond(3, 2_000, 0);
		assert_ok!(Validators::unbond(signed(3), 2_000));
		assert_noop!(Validators::bond_extra(signed(3), MIN_BOND - 1), Error::<Test>::BondTooSmall);
		assert_ok!(Validators::bond_extra(signed(3), MIN_BOND));
		assert_ok!(Validators::activate(signed(3)));
		assert_eq!(held(3), 3_000);
	});
}

#[test]
fn a_lower_commission_applies_at_once_and_a_higher_one_after_the_cooldown() {
	build_and_execute(|| {
		bond(3, 1_024, 20);
		let percent = |parts| Perbill::from_percent(parts);
		let commission = || Validators::candidate(account(3)).map(|view| (view.commission, view.next_commission));
		assert_ok!(Validators::set_commission(signed(3), percent(10)));
		assert_eq!(commission(), Some((percent(10), None)));
		assert_ok!(Validators::set_commission(signed(3), percent(50)));
		assert_eq!(commission(), Some((percent(10), Some((percent(50), 1 + COOLDOWN)))));
		wait(COOLDOWN - 1);
		authored(3, 1_000);
		assert_eq!(Validators::claimable(account(3)), 1_000, "the only stake is its own");
		assert_eq!(crate::Owed::<Test>::get(account(3)), 100, "ten percent are its own before the rest is shared");
		wait(1);
		assert_eq!(commission(), Some((percent(50), None)));
		assert_ok!(Validators::set_commission(signed(3), percent(40)));
		assert_eq!(commission(), Some((percent(40), None)));
	});
}
