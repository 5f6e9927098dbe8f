//! Eras: when they end, what they freeze, when they expire.

use crate::{
	mock::*, AccountPoints, Current, CurrentEra, CurrentTotal, EndedEra, Eras, Event, GenesisConfig, OldestEra, Points, TotalBudget,
	Unminted, EXPIRED_PER_BLOCK,
};
use frame_support::assert_ok;
use neuroshard_types::{
	reward::{BudgetParts, EraIndex},
	AccountId, Balance, BlockNumber, NEURO,
};

/// A budget that is all for training.
fn training(budget: Balance) -> BudgetParts {
	BudgetParts { training: budget, ..Default::default() }
}

/// An era under way whose budget is all for training.
fn era(index: EraIndex, starts_at: BlockNumber, budget: Balance) -> CurrentEra {
	CurrentEra { index, starts_at, parts: training(budget), to_validators: 0 }
}

/// The event of the end of era 0.
fn ended_event(total_points: u128) -> Event<Test> {
	Event::EraEnded { era: 0, parts: training(INITIAL), total_points, to_validators: 0, to_treasury: 0 }
}

#[test]
fn an_era_ends_with_its_last_block() {
	build_and_execute(|| {
		work(&ALICE, 1);
		run_to(ERA - 1);
		assert_eq!(Current::<Test>::get(), era(0, 0, INITIAL));
		run_to(ERA);
		assert_eq!(Current::<Test>::get(), era(1, ERA, 900_000));
		run_to(3 * ERA);
		assert_eq!(Current::<Test>::get(), era(3, 3 * ERA, 729_000));
	});
}

#[test]
fn the_end_of_an_era_freezes_its_budget_and_points() {
	build_and_execute(|| {
		work(&ALICE, 2);
		run_to_era(1);
		// Two units at 1.1 each, whose fixed-point value is 4,724,464,025.
		let ended = EndedEra { parts: training(INITIAL), total_points: 9_448_928_050, claimed: 0, to_validators: 0, to_treasury: 0 };
		assert_eq!(Eras::<Test>::get(0), Some(ended));
		assert_eq!(CurrentTotal::<Test>::get(), 0);
		System::assert_last_event(ended_event(9_448_928_050).into());
		work(&ALICE, 5);
		assert_eq!(Eras::<Test>::get(0), Some(ended));
	});
}

#[test]
fn the_budget_of_an_era_without_points_is_never_minted() {
	build_and_execute(|| {
		run_to_era(1);
		assert_eq!(Eras::<Test>::get(0).map(|era| (era.total_points, era.open())), Some((0, 0)));
		assert_eq!(Unminted::<Test>::get(), INITIAL);
		assert_eq!(TotalBudget::<Test>::get(), INITIAL);
		System::assert_last_event(ended_event(0).into());
		// It does not raise the next budget.
		work(&ALICE, 1);
		run_to_era(2);
		assert_eq!(Eras::<Test>::get(1).map(|era| era.parts.total()), Some(900_000));
	});
}

#[test]
fn a_credit_is_weighed_with_the_bond_of_its_moment() {
	build_and_execute(|| {
		work(&ALICE, 10);
		bond(&ALICE, 3_000 * NEURO, 0);
		work(&ALICE, 10);
		// 10 x 1.1 and 10 x 1.2.
		assert_eq!(CurrentTotal::<Test>::get(), 47_244_640_250 + 51_539_607_550);
	});
}

#[test]
fn unbonding_money_counts_for_the_cap_and_not_for_the_multiplier() {
	build_and_execute(|| {
		bond(&ALICE, 0, 500);
		work(&ALICE, 3);
		assert_eq!(Points::<Test>::get(0, ALICE), Some(AccountPoints { training: 3 << 32, audits: 0, cap: 500, claimed: None }));
	});
}

#[test]
fn the_cap_is_the_smallest_slashable_bond_of_the_era() {
	build_and_execute(|| {
		for slashable in [700, 300, 900] {
			bond(&ALICE, slashable, 0);
			work(&ALICE, 1);
		}
		assert_eq!(Points::<Test>::get(0, ALICE).map(|entry| entry.cap), Some(300));
		// A new era forgets it.
		run_to_era(1);
		work(&ALICE, 1);
		assert_eq!(Points::<Test>::get(1, ALICE).map(|entry| entry.cap), Some(900));
	});
}

#[test]
fn a_credit_of_nothing_leaves_no_trace() {
	build_and_execute(|| {
		work(&ALICE, 0);
		assert_eq!(Points::<Test>::iter().count(), 0);
		assert_eq!(System::events().len(), 0);
	});
}

#[test]
fn points_beyond_what_a_total_holds_do_not_count() {
	build_and_execute(|| {
		work(&ALICE, 1);
		let entry = Points::<Test>::get(0, ALICE).expect("points");
		Points::<Test>::insert(0, &ALICE, AccountPoints { training: u128::MAX - 5, ..entry });
		CurrentTotal::<Test>::put(u128::MAX - 5);
		// Five of their units of 2^-32 are left; then nothing.
		work(&BOB, 1);
		assert_eq!((CurrentTotal::<Test>::get(), Points::<Test>::get(0, BOB).map(|entry| entry.points())), (u128::MAX, Some(5)));
		work(&NOBODY, 1);
		assert_eq!((CurrentTotal::<Test>::get(), Points::<Test>::get(0, NOBODY)), (u128::MAX, None));
		run_to_era(1);
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		assert_eq!(Balances::free_balance(ALICE), FUNDS + INITIAL - 1);
	});
}

#[test]
fn an_expired_era_is_removed_over_several_blocks_and_accounted_for() {
	build_and_execute(|| {
		let accounts = 2 * EXPIRED_PER_BLOCK + 1;
		for n in 0..accounts {
			let mut id = [7; 32];
			id[..4].copy_from_slice(&n.to_le_bytes());
			let who = AccountId::new(id);
			bond(&who, 1_000, 0);
			work(&who, 1);
		}
		work(&ALICE, u128::from(accounts));
		run_to_era(1);
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		let paid = Balances::free_balance(ALICE) - FUNDS;

		// The block that begins era DEPTH + 1 removes the first accounts, the next one more, the third the era itself.
		run_to_era(DEPTH);
		assert_eq!(Points::<Test>::iter_prefix(0).count(), 66);
		let first = (DEPTH + 1) * ERA;
		run_to(first);
		assert_eq!(Points::<Test>::iter_prefix(0).count(), 34);
		assert!(Rewards::do_try_state().is_ok(), "a half-removed era keeps the invariants");
		run_to(first + 1);
		assert_eq!(Points::<Test>::iter_prefix(0).count(), 2);
		assert!(Eras::<Test>::contains_key(0));
		// Eras 1 to 3 had no points.
		let empty = 900_000 + 810_000 + 729_000;
		assert_eq!(Unminted::<Test>::get(), empty);
		run_to(first + 2);
		assert_eq!(Points::<Test>::iter_prefix(0).count(), 0);
		assert!(!Eras::<Test>::contains_key(0));
		assert_eq!(OldestEra::<Test>::get(), 1);
		assert_eq!(Unminted::<Test>::get(), empty + INITIAL - paid);
		System::assert_last_event(Event::EraExpired { era: 0, unminted: INITIAL - paid }.into());
	});
}

#[test]
fn expired_eras_without_points_are_passed_over() {
	build_and_execute(|| {
		run_to_era(DEPTH + 6);
		run_to((DEPTH + 6) * ERA + 9);
		assert_eq!(OldestEra::<Test>::get(), 6);
		assert_eq!(TotalBudget::<Test>::get(), Unminted::<Test>::get());
	});
}

#[test]
#[should_panic(expected = "an era has at least one block")]
fn genesis_refuses_eras_without_blocks() {
	storage(GenesisConfig { era_length: 0, ..genesis() });
}

#[test]
#[should_panic(expected = "at least one era")]
fn genesis_refuses_eras_that_nobody_can_claim() {
	storage(GenesisConfig { history_depth: 0, ..genesis() });
}

#[test]
#[should_panic(expected = "at most 1000")]
fn genesis_refuses_a_history_that_views_could_not_read() {
	storage(GenesisConfig { history_depth: 1_001, ..genesis() });
}

#[test]
#[should_panic(expected = "shares of a budget")]
fn genesis_refuses_shares_that_are_not_the_whole() {
	storage(GenesisConfig { budget_shares: [800_000, 150_000, 49_999], ..genesis() });
}

#[test]
#[should_panic(expected = "issuance curve")]
fn genesis_refuses_a_cap_below_the_first_budget() {
	storage(GenesisConfig { initial_budget: NEURO + 1, issuance_cap: 1, ..genesis() });
}

#[test]
#[should_panic(expected = "operation counts")]
fn genesis_refuses_operations_beyond_a_thousand_units() {
	storage(GenesisConfig { operation_units: [0, 1_000_001, 0, 0, 0], ..genesis() });
}

#[test]
#[should_panic(expected = "issuance curve")]
fn genesis_refuses_a_rising_curve() {
	storage(GenesisConfig { decay_ratio: 1_000_000_000_000_000_001, ..genesis() });
}

#[test]
#[should_panic(expected = "rates")]
fn genesis_refuses_rates_beyond_a_thousandfold() {
	storage(GenesisConfig { training_rate: 1_000_001, ..genesis() });
}
