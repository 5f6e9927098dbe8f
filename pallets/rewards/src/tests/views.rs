//! View functions.

use crate::mock::*;
use frame_support::assert_ok;
use neuroshard_types::{
	reward::{BudgetParts, Earnings, EraView},
	Balance, NEURO,
};

/// A budget that is all for training.
fn training(budget: Balance) -> BudgetParts {
	BudgetParts { training: budget, ..Default::default() }
}

#[test]
fn era_shows_number_bounds_and_budget() {
	build_and_execute(|| {
		assert_eq!(
			Rewards::era(),
			EraView { index: 0, starts_at: 0, ends_at: 10, budget: 1_000_000, parts: training(1_000_000), total_points: 0 }
		);
		run_to(25);
		bond(&ALICE, 0, 0);
		work(&ALICE, 3);
		let view = EraView { index: 2, starts_at: 20, ends_at: 30, budget: 810_000, parts: training(810_000), total_points: 3 << 32 };
		assert_eq!(Rewards::era(), view);
	});
}

#[test]
fn earnings_show_what_was_what_can_be_and_what_may_be_claimed() {
	build_and_execute(|| {
		assert_eq!(Rewards::earnings(ALICE), Earnings::default());
		work(&ALICE, 1);
		work(&BOB, 1);
		assert_eq!(Rewards::earnings(ALICE), Earnings { claimed: 0, claimable: 0, current_era_estimate: 500_000 });
		run_to_era(1);
		work(&ALICE, 1);
		run_to_era(2);
		assert_eq!(Rewards::earnings(ALICE), Earnings { claimed: 0, claimable: 1_400_000, current_era_estimate: 0 });
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		work(&ALICE, 1);
		assert_eq!(Rewards::earnings(ALICE), Earnings { claimed: 500_000, claimable: 900_000, current_era_estimate: 810_000 });
	});
}

#[test]
fn claimable_eras_are_listed_with_what_a_claim_mints() {
	build_and_execute(|| {
		work(&ALICE, 1);
		work(&BOB, 3);
		run_to_era(2);
		bond(&ALICE, 77, 0);
		work(&ALICE, 1);
		assert_eq!(Rewards::claimable_eras(ALICE), vec![(0, 250_000)]);
		run_to_era(3);
		assert_eq!(Rewards::claimable_eras(ALICE), vec![(0, 250_000), (2, 77)]);
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		assert_eq!(Rewards::claimable_eras(ALICE), vec![(2, 77)]);
	});
}

#[test]
fn an_era_that_brings_nothing_is_not_listed() {
	build_and_execute(|| {
		bond(&ALICE, 0, 0);
		work(&ALICE, 1);
		run_to_era(1);
		assert_eq!(Rewards::claimable_eras(ALICE), vec![]);
	});
}

#[test]
fn an_expired_era_is_not_listed() {
	build_and_execute(|| {
		work(&ALICE, 1);
		run_to_era(DEPTH);
		assert_eq!(Rewards::claimable_eras(ALICE), vec![(0, INITIAL)]);
		run_to_era(DEPTH + 1);
		assert_eq!(Rewards::claimable_eras(ALICE), vec![]);
		assert_eq!(Rewards::earnings(ALICE).claimable, 0);
	});
}

#[test]
fn multiplier_shows_the_fixed_point_value() {
	build_and_execute(|| {
		assert_eq!(Rewards::multiplier(0), 1 << 32);
		assert_eq!(Rewards::multiplier(3_000 * NEURO), 5_153_960_755);
	});
}
