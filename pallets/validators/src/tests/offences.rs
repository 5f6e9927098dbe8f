//! Tests of what an offence costs, and what follows.

use super::*;
use crate::{
	mock::{build_and_execute, BAR, COOLDOWN, FUNDS, MIN_BOND},
	Error, Offender, Owed, Status, MAX_OFFENCE_SESSIONS,
};
use frame_support::assert_noop;

#[test]
fn an_offence_takes_its_fraction_of_every_part_and_burns_it() {
	build_and_execute(|| {
		bond(3, 3_000, 0);
		nominate(5, 3, 777);
		nominate(6, 3, 100);
		nominate(5, 1, 500);
		assert_ok!(Validators::unbond(signed(3), 1_001));
		assert_ok!(Validators::unnominate(signed(5), account(3), 111));
		let issuance = Balances::total_issuance();
		offence(3, 333, 0);
		// 1,999 and 1,001 of its own; 666 and 111 of one nominator; 100 of another: each times 0.333, rounded down.
		assert_eq!(held(3), 3_000 - 665 - 333);
		assert_eq!(held(5), 500 + 777 - 221 - 36);
		assert_eq!(held(6), 100 - 33);
		assert_eq!(issuance - Balances::total_issuance(), 665 + 333 + 221 + 36 + 33);
		assert_eq!(candidate(3).own.stake.active, 1_334);
		assert_eq!(candidate(3).own.stake.unbonding.to_vec(), vec![chunk(668, 1 + COOLDOWN)]);
		assert_eq!(nomination(5, 3).stake.unbonding.to_vec(), vec![chunk(75, 1 + COOLDOWN)]);
		assert_eq!(candidate(3).backing, 445 + 67);
		assert_eq!(nomination(5, 1).stake.active, 500, "nominations of others are untouched");
		let slashed = Event::Slashed { candidate: account(3), session: 0, own: 998, nominations: 290 };
		assert!(events().contains(&slashed));
	});
}

#[test]
fn an_offender_leaves_the_set_with_the_next_election() {
	build_and_execute(|| {
		bond(3, MIN_BOND, 0);
		offence(1, 100, 0);
		assert_eq!(candidate(1).status, Status::Chilled);
		next_session();
		next_session();
		assert_eq!(Session::validators(), vec![account(2), account(3)]);
	});
}

#[test]
fn a_barred_offender_neither_activates_nor_bonds_nor_is_nominated_before_its_time() {
	build_and_execute(|| {
		assert_ok!(Validators::bond_extra(signed(1), MIN_BOND));
		offence(1, 100, 0);
		assert_eq!(Validators::barred_until(account(1)), Some(1 + BAR));
		wait(BAR - 1);
		assert_noop!(Validators::activate(signed(1)), Error::<Test>::Barred);
		assert_noop!(Validators::bond_extra(signed(1), 1), Error::<Test>::Barred);
		assert_noop!(Validators::nominate(signed(5), account(1), 500).map_err(|it| it.error), Error::<Test>::NotActive);
		wait(1);
		assert_eq!(Validators::barred_until(account(1)), None);
		assert_ok!(Validators::activate(signed(1)));
	});
}

#[test]
fn a_barred_offender_that_left_does_not_return_early() {
	build_and_execute(|| {
		bond(3, MIN_BOND, 0);
		offence(3, 500, 0);
		assert_ok!(Validators::unbond(signed(3), 500));
		wait(COOLDOWN);
		assert_ok!(Validators::withdraw_unbonded(signed(3)));
		assert_noop!(Validators::bond(signed(3), MIN_BOND, Perbill::zero()), Error::<Test>::Barred);
		wait(BAR - COOLDOWN);
		assert_ok!(Validators::bond(signed(3), MIN_BOND, Perbill::zero()));
	});
}

#[test]
fn who_unbonded_everything_before_the_report_is_slashed_all_the_same() {
	build_and_execute(|| {
		bond(3, 2_000, 0);
		nominate(5, 3, 600);
		assert_ok!(Validators::unbond(signed(3), 2_000));
		assert_ok!(Validators::unnominate(signed(5), account(3), 600));
		wait(COOLDOWN - 1);
		offence(3, 500, 0);
		assert_eq!((held(3), held(5)), (1_000, 300));
	});
}

#[test]
fn a_session_costs_the_highest_fraction_once() {
	build_and_execute(|| {
		bond(3, 2_000, 0);
		nominate(5, 3, 1_000);
		offence(3, 500, 7);
		offence(3, 500, 7);
		offence(3, 250, 7);
		assert_eq!((held(3), held(5)), (1_000, 500));
		offence(3, 800, 7);
		assert_eq!((held(3), held(5)), (400, 200), "four fifths of all that was at stake");
		offence(3, 500, 8);
		assert_eq!((held(3), held(5)), (200, 100), "another session costs again");
	});
}

#[test]
fn the_same_report_again_does_not_bar_for_longer() {
	build_and_execute(|| {
		bond(3, 2_000, 0);
		offence(3, 500, 7);
		wait(10);
		offence(3, 500, 7);
		assert_eq!(Validators::barred_until(account(3)), Some(1 + BAR));
		offence(3, 500, 8);
		assert_eq!(Validators::barred_until(account(3)), Some(11 + BAR));
	});
}

#[test]
fn a_fraction_of_everything_ends_the_candidacy_and_its_nominations() {
	build_and_execute(|| {
		bond(3, 1_024, 0);
		nominate(5, 3, 1_024);
		authored(3, 2_000);
		let issuance = Balances::total_issuance();
		offence(3, 1_000, 0);
		assert_eq!(Candidates::<Test>::get(account(3)), None);
		assert_eq!((held(3), held(5)), (0, 0));
		assert_eq!(issuance - Balances::total_issuance(), 2_048);
		assert_eq!((Owed::<Test>::get(account(3)), Owed::<Test>::get(account(5))), (1_000, 1_000), "what was earned stays owed");
		assert_ok!(Validators::claim_rewards(signed(5), account(3)));
		assert_eq!(Balances::free_balance(account(5)), FUNDS - 1_024 + 1_000);
	});
}

#[test]
fn stakes_earn_by_what_is_left_of_them_after_a_slash() {
	build_and_execute(|| {
		bond(3, 2_048, 0);
		nominate(5, 3, 2_048);
		authored(3, 1_000);
		offence(3, 500, 0);
		// Slashed by half like everybody else, one nominator adds nothing, so that shares stay as they were.
		authored(3, 3_000);
		assert_eq!((Validators::claimable(account(3)), Validators::claimable(account(5))), (2_000, 2_000));
	});
}

#[test]
fn an_offence_of_who_is_no_candidate_bars_it() {
	build_and_execute(|| {
		let issuance = Balances::total_issuance();
		offence(9, 500, 0);
		assert_eq!(Balances::total_issuance(), issuance);
		register(9);
		assert_noop!(Validators::bond(signed(9), MIN_BOND, Perbill::zero()), Error::<Test>::Barred);
	});
}

#[test]
fn what_is_missing_to_a_higher_fraction_is_taken_of_what_is_left() {
	let mut offender = Offender::default();
	let percent = Perbill::from_percent;
	assert_eq!(offender.note(3, percent(20)), Some(percent(20)));
	assert_eq!(offender.note(3, percent(20)), None);
	assert_eq!(offender.note(3, percent(10)), None);
	// 0.8 are left, and 0.4 of the whole are missing.
	assert_eq!(offender.note(3, percent(60)), Some(percent(50)));
	assert_eq!(offender.note(3, percent(100)), Some(percent(100)));
	assert_eq!(offender.note(3, percent(100)), None);
}

#[test]
fn the_oldest_session_is_forgotten_when_too_many_are_remembered() {
	let mut offender = Offender::default();
	let percent = Perbill::from_percent;
	for session in 10..10 + MAX_OFFENCE_SESSIONS {
		assert_eq!(offender.note(session, percent(1)), Some(percent(1)));
	}
	assert_eq!(offender.note(9, percent(1)), Some(percent(1)));
	assert_eq!(offender.note(11, percent(1)), None);
	let sessions: Vec<_> = offender.slashed.iter().map(|(session, _)| *session).collect();
	assert!(sessions.windows(2).all(|pair| pair[0] < pair[1]) && sessions.len() == 32, "{sessions:?}");
}
