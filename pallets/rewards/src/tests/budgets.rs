//! Budgets: their parts, what validators and the treasury get of them, and the cap of all of them.

use crate::{mock::*, Current, Eras, Error, Event, GenesisConfig, Shares, TotalBudget, TotalToTreasury, TotalToValidators, Unminted};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{
	reward::{BudgetParts, BudgetShares, EraRecord},
	traits::BlockRewards,
	Balance, BlockNumber, NEURO,
};
use proptest::prelude::*;
use sp_runtime::DispatchError;

/// Authors every block up to `to`, as `pallet-authorship` does: before the era of the block may begin.
fn author_to(to: BlockNumber) {
	while System::block_number() < to {
		Rewards::pay_block(&VALIDATOR);
		run_to(System::block_number() + 1);
	}
}

/// 1,000,000 planck by [`with_shares`].
const PARTS: BudgetParts = BudgetParts { training: 800_000, validation: 150_000, treasury: 50_000 };

#[test]
fn work_shares_the_part_for_training() {
	execute_with(with_shares(), || {
		work(&ALICE, 3);
		work(&BOB, 1);
		run_to_era(1);
		assert_eq!(Rewards::claimable_eras(ALICE), [(0, 600_000)]);
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(BOB), 0));
		assert_eq!((Balances::free_balance(ALICE), Balances::free_balance(BOB)), (FUNDS + 600_000, FUNDS + 200_000));
		assert_eq!(Eras::<Test>::get(0).map(|era| era.open()), Some(0));
	});
}

#[test]
fn the_treasury_gets_its_part_when_the_era_ends() {
	execute_with(with_shares(), || {
		run_to(ERA - 1);
		assert_eq!(Balances::free_balance(TREASURY), FUNDS);
		run_to(ERA);
		assert_eq!(Balances::free_balance(TREASURY), FUNDS + 50_000);
		run_to(2 * ERA);
		assert_eq!(Balances::free_balance(TREASURY), FUNDS + 50_000 + 45_000);
		assert_eq!(TotalToTreasury::<Test>::get(), 95_000);
	});
}

#[test]
fn every_block_pays_its_author_an_equal_part_at_once() {
	execute_with(with_shares(), || {
		assert_eq!(Rewards::pay_block(&VALIDATOR), 15_000);
		assert_eq!(Balances::free_balance(VALIDATOR), FUNDS + 15_000);
		assert_eq!((Current::<Test>::get().to_validators, TotalToValidators::<Test>::get()), (15_000, 15_000));
		run_to_era(1);
		assert_eq!(Rewards::pay_block(&VALIDATOR), 13_500);
	});
}

#[test]
fn blocks_are_never_paid_more_than_their_part() {
	execute_with(with_shares(), || {
		let paid: Vec<Balance> = (0..12).map(|_| Rewards::pay_block(&VALIDATOR)).collect();
		assert_eq!(paid, [[15_000; 10].as_slice(), &[0, 0]].concat());
		assert_eq!(Current::<Test>::get().to_validators, 150_000);
	});
}

#[test]
fn a_block_is_paid_a_whole_number_of_planck() {
	execute_with(GenesisConfig { initial_budget: 1_060, budget_floor: 0, ..with_shares() }, || {
		// 159 planck for ten blocks; what ten times 15 leaves over is never minted.
		author_to(ERA);
		let era = Eras::<Test>::get(0).expect("an era");
		assert_eq!((era.parts.validation, era.to_validators), (159, 150 - 15));
		// Nobody authored block 1 here: the mock begins with it.
		assert_eq!(Unminted::<Test>::get(), 1_060 - era.parts.treasury - 135);
	});
}

#[test]
fn what_an_account_cannot_hold_is_not_minted() {
	let small = GenesisConfig { initial_budget: 600, budget_floor: 0, ..with_shares() };
	execute_with(small, || {
		// Nine planck a block are less than the existential deposit of ten.
		assert_eq!(Rewards::pay_block(&NOBODY), 0);
		assert_eq!((TotalToValidators::<Test>::get(), Balances::free_balance(NOBODY)), (0, 0));
		assert_eq!(Rewards::pay_block(&VALIDATOR), 9);
	});
}

#[test]
fn all_of_a_budget_can_be_earned() {
	execute_with(GenesisConfig { budget_floor: 0, ..with_shares() }, || {
		work(&ALICE, 3);
		// The mock begins with block 1: the block before had no author.
		assert_eq!(Rewards::pay_block(&VALIDATOR), 15_000);
		author_to(ERA);
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		let era = Eras::<Test>::get(0).expect("an era");
		assert_eq!((era.claimed, era.to_validators, era.to_treasury), (800_000, 150_000, 50_000));
		assert_eq!((era.parts.total(), TotalBudget::<Test>::get(), Unminted::<Test>::get()), (INITIAL, INITIAL, 0));
		assert_eq!(Rewards::do_try_state(), Ok(()));
	});
}

#[test]
fn an_era_that_nobody_worked_for_mints_for_blocks_and_treasury_only() {
	execute_with(with_shares(), || {
		author_to(ERA);
		let minted = 9 * 15_000 + 50_000;
		assert_eq!(Unminted::<Test>::get(), INITIAL - minted);
		assert_eq!(TotalBudget::<Test>::get(), INITIAL);
		let record = EraRecord { index: 0, parts: PARTS, total_points: 0, claimed: 0, to_validators: 135_000, to_treasury: 50_000 };
		assert_eq!(Rewards::era_history(0, 9), [record]);
		let event = Event::EraEnded { era: 0, parts: PARTS, total_points: 0, to_validators: 135_000, to_treasury: 50_000 };
		System::assert_last_event(event.into());
	});
}

#[test]
fn other_shares_hold_from_the_next_era_on() {
	execute_with(with_shares(), || {
		let shares = BudgetShares { training: 333_333, validation: 333_333, treasury: 333_334 };
		assert_ok!(Rewards::set_shares(RuntimeOrigin::root(), shares));
		System::assert_last_event(Event::SharesSet { shares }.into());
		assert_eq!((Rewards::shares(), Rewards::era().parts), (shares, PARTS));
		run_to_era(1);
		let parts = BudgetParts { training: 299_999, validation: 299_999, treasury: 300_002 };
		assert_eq!(Rewards::era().parts, parts);
	});
}

#[test]
fn shares_that_are_not_the_whole_are_refused() {
	execute_with(with_shares(), || {
		for training in [0, 799_999, 800_001, u32::MAX] {
			let shares = BudgetShares { training, ..Shares::<Test>::get() };
			assert_noop!(Rewards::set_shares(RuntimeOrigin::root(), shares), Error::<Test>::SharesNotWhole);
		}
	});
}

#[test]
fn only_the_admin_sets_shares() {
	execute_with(with_shares(), || {
		let shares = Shares::<Test>::get();
		assert_noop!(Rewards::set_shares(RuntimeOrigin::signed(ALICE), shares), DispatchError::BadOrigin);
		assert_noop!(Rewards::set_shares(RuntimeOrigin::none(), shares), DispatchError::BadOrigin);
	});
}

#[test]
fn budgets_end_with_the_cap() {
	// Three NEURO for budgets of 1.25, 1.125, then the 0.625 that are left, then nothing.
	let genesis = GenesisConfig { initial_budget: 5 * NEURO / 4, budget_floor: NEURO, issuance_cap: 3, ..with_shares() };
	execute_with(genesis, || {
		let budgets: Vec<Balance> = (0..6)
			.map(|era| {
				run_to(era * ERA);
				author_to(era * ERA + 1);
				Rewards::era().budget
			})
			.collect();
		assert_eq!(budgets, [1_250_000_000_000, 1_125_000_000_000, 625_000_000_000, 0, 0, 0]);
		assert_eq!(TotalBudget::<Test>::get(), 3 * NEURO);
		assert_eq!(Rewards::issuance().cap, 3 * NEURO);
		assert_eq!(Rewards::pay_block(&VALIDATOR), 0);
		// Work of an era without a budget earns points and no money.
		work(&ALICE, 1);
		run_to_era(6);
		assert!(Rewards::claimable_eras(ALICE).is_empty());
	});
}

#[test]
fn a_cap_beyond_all_planck_is_all_planck() {
	let genesis = GenesisConfig { initial_budget: Balance::MAX / 2, budget_floor: 0, issuance_cap: u64::MAX, ..with_shares() };
	// 2^64 NEURO are less than 2^128 planck.
	assert!(std::panic::catch_unwind(|| storage(genesis)).is_err());
	let most = 18_446_744_073_709_551_615 * NEURO;
	execute_with(GenesisConfig { initial_budget: most, budget_floor: most, issuance_cap: u64::MAX, ..with_shares() }, || {
		author_to(ERA);
		assert_eq!((Rewards::era().budget, TotalBudget::<Test>::get()), (0, most));
	});
}

proptest! {
	#[test]
	fn parts_add_up_for_any_budget_and_shares(budget: Balance, cuts in prop::array::uniform2(0..=BudgetShares::WHOLE)) {
		let mut cuts = cuts;
		cuts.sort_unstable();
		let [a, b] = cuts;
		let shares = BudgetShares { training: a, validation: b - a, treasury: BudgetShares::WHOLE - b };
		prop_assert!(shares.is_valid());
		let parts = shares.split(budget);
		prop_assert_eq!(parts.total(), budget);
		// The treasury gets no less than its share, and less than two planck more.
		let least = (budget / 1_000_000) * Balance::from(shares.treasury);
		prop_assert!(parts.treasury >= least);
		prop_assert!(parts.training <= budget && parts.validation <= budget);
	}

	#[test]
	fn budgets_never_exceed_the_cap(initial in 1..1_000_000u128, floor in 0..1_000_000u128, cap in 1..10_000_000u128, ratio in 0..=10u64) {
		let cap = cap.max(initial.max(floor));
		let ratio = ratio * 100_000_000_000_000_000;
		let curve = crate::Curve { initial: initial.max(floor), floor: initial.min(floor), ratio, eras_per_step: 1, cap };
		prop_assert!(curve.is_valid());
		let (mut budget, mut spent) = (curve.initial, 0);
		for era in 1..60 {
			spent += budget;
			prop_assert!(spent <= cap);
			let next = curve.next(era, budget, spent);
			prop_assert!(next <= budget);
			// While there is room, no budget is below the floor.
			prop_assert!(next >= curve.floor.min(cap - spent));
			budget = next;
		}
	}
}
