//! Tests of what wallets read.

use super::*;
use crate::{
	mock::{build_and_execute, BAR, COOLDOWN, MIN_BOND, MIN_NOMINATION},
	CandidateView, Limits, PositionView, Status,
};

#[test]
fn a_candidate_is_shown_with_all_that_matters_to_it() {
	build_and_execute(|| {
		bond(3, 2_048, 25);
		nominate(5, 3, 2_048);
		authored(3, 1_000);
		assert_ok!(Validators::unbond(signed(3), 48));
		let mut view = CandidateView {
			status: Status::Active,
			own: 2_000,
			unbonding: vec![chunk(48, 1 + COOLDOWN)],
			backing: 2_048,
			nominators: 1,
			commission: Perbill::from_percent(25),
			next_commission: None,
			has_keys: true,
			validating: false,
			elected: false,
			reportable_until: 0,
			barred_until: None,
			claimable: 250 + 375,
		};
		assert_eq!(Validators::candidate(account(3)), Some(view.clone()));
		next_session();
		view.elected = true;
		assert_eq!(Validators::candidate(account(3)), Some(view.clone()));
		next_session();
		view.validating = true;
		assert_eq!(Validators::candidate(account(3)), Some(view.clone()));
		offence(3, 500, 1);
		(view.status, view.own, view.backing) = (Status::Chilled, 1_000, 1_024);
		(view.unbonding, view.barred_until) = (vec![chunk(24, 1 + COOLDOWN)], Some(1 + BAR));
		assert_eq!(Validators::candidate(account(3)), Some(view));
		assert_eq!(Validators::candidate(account(9)), None);
	});
}

#[test]
fn pages_go_over_all_candidates_once() {
	build_and_execute(|| {
		for tag in 3..=8 {
			bond(tag, MIN_BOND, 0);
		}
		let (mut seen, mut after) = (Vec::new(), None);
		loop {
			let page = Validators::candidates(after.clone(), 3);
			assert!(page.len() <= 3);
			seen.extend(page.iter().map(|(who, _)| who.clone()));
			after = page.last().map(|(who, _)| who.clone());
			if page.len() < 3 {
				break;
			}
		}
		seen.sort();
		assert_eq!(seen, (1..=8).map(account).collect::<Vec<_>>());
		assert_eq!(Validators::candidates(None, u32::MAX).len(), 8);
	});
}

#[test]
fn a_nominator_sees_its_positions_and_what_each_earned() {
	build_and_execute(|| {
		bond(3, 1_024, 0);
		nominate(5, 3, 1_124);
		assert_ok!(Validators::unnominate(signed(5), account(3), 100));
		nominate(5, 1, 200);
		authored(3, 1_000);
		let view = |tag, active, unbonding, pending| PositionView { candidate: account(tag), active, unbonding, pending };
		assert_eq!(Validators::positions(account(5)), vec![view(3, 1_024, vec![chunk(100, 1 + COOLDOWN)], 500), view(1, 200, vec![], 0)]);
		assert_eq!(Validators::claimable(account(5)), 500);
	});
}

#[test]
fn the_limits_are_those_of_genesis_and_of_the_runtime() {
	build_and_execute(|| {
		let limits = Limits {
			min_self_bond: MIN_BOND,
			min_nomination: MIN_NOMINATION,
			cooldown: COOLDOWN,
			bar_period: BAR,
			validator_count: 2,
			candidates: 2,
			max_candidates: 12,
			max_nominators: 64,
			max_nominations: 16,
		};
		assert_eq!(Validators::limits(), limits);
	});
}
