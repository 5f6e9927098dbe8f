//! Whatever happens in whatever order: no more than the curve is minted, nobody is paid twice, and every planck is accounted for.

use crate::{mock::*, Eras, GenesisConfig, TotalBudget, TotalClaimed};
use neuroshard_types::{
	reward::{BudgetShares, EraIndex},
	traits::{BlockRewards, InferenceFees},
	AccountId, Balance, BlockNumber,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Something that may happen.
#[derive(Clone, Debug)]
enum Step {
	/// An account is credited.
	Work { who: u8, units: u128 },
	/// An account's bond changes.
	Bond { who: u8, active: Balance, unbonding: Balance },
	/// Somebody claims an era this many eras back.
	Claim { who: u8, back: EraIndex },
	/// Blocks pass, of which some are paid.
	Wait { blocks: BlockNumber, paid: bool },
	/// Budgets are to be split otherwise.
	Share { training: u32, validation: u32 },
	/// Somebody pays a fee to somebody.
	Fee { from: u8, to: u8, amount: Balance },
}

fn step() -> impl Strategy<Value = Step> {
	let who = || 0u8..4;
	let amount = || prop_oneof![0..2_000_000u128, Just(u128::MAX), any::<u128>()];
	prop_oneof![
		4 => (who(), prop_oneof![1..1_000u128, any::<u128>()]).prop_map(|(who, units)| Step::Work { who, units }),
		1 => (who(), amount(), amount()).prop_map(|(who, active, unbonding)| Step::Bond { who, active, unbonding }),
		4 => (who(), 0..6u32).prop_map(|(who, back)| Step::Claim { who, back }),
		3 => (1..15u32, any::<bool>()).prop_map(|(blocks, paid)| Step::Wait { blocks, paid }),
		1 => (0..=500_000u32, 0..=500_000u32).prop_map(|(training, validation)| Step::Share { training, validation }),
		1 => (who(), who(), 0..2_000u128).prop_map(|(from, to, amount)| Step::Fee { from, to, amount }),
	]
}

fn nth(who: u8) -> AccountId {
	AccountId::new([who.saturating_add(1); 32])
}

/// Budgets of the eras that have ended, by the curve written out: nine tenths each, not below half.
fn budgets_of_ended(eras: EraIndex) -> Balance {
	let mut next = INITIAL;
	let mut sum = 0;
	for _ in 0..eras {
		sum += next;
		next = (next * 9 / 10).max(INITIAL / 2);
	}
	sum
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(128))]

	#[test]
	fn never_more_than_the_curve_and_never_twice(steps in prop::collection::vec(step(), 1..80)) {
		ext_with(GenesisConfig { max_points_per_proof: u64::MAX, ..with_shares() }).execute_with(|| {
			let before = Balances::total_issuance();
			let mut paid = BTreeSet::new();
			let mut minted = BTreeMap::<EraIndex, Balance>::new();
			for step in steps {
				match step {
					Step::Work { who, units } => work(&nth(who), units),
					Step::Bond { who, active, unbonding } => bond(&nth(who), active, unbonding),
					Step::Wait { blocks, paid } => for _ in 0..blocks {
						if paid {
							Rewards::pay_block(&VALIDATOR);
						}
						run_to(System::block_number() + 1);
					},
					Step::Share { training, validation } => {
						let shares = BudgetShares { training, validation, treasury: 1_000_000 - training - validation };
						prop_assert!(Rewards::set_shares(RuntimeOrigin::root(), shares).is_ok());
					},
					Step::Fee { from, to, amount } => {
						let (from, to) = (nth(from), nth(to));
						// Refused if there is too little money, and then nothing has changed.
						let _ = Rewards::pay_fee(&from, amount, &to, &[(to.clone(), 3), (from.clone(), 1)]);
					},
					Step::Claim { who, back } => {
						let who = nth(who);
						let index = Rewards::era().index.saturating_sub(back);
						let announced = Rewards::claimable_eras(who.clone()).into_iter().find(|(era, _)| *era == index);
						let (had, total) = (Balances::free_balance(&who), TotalClaimed::<Test>::get());
						let done = frame_support::storage::with_storage_layer(|| Rewards::claim(RuntimeOrigin::signed(who.clone()), index));
						let got = Balances::free_balance(&who) - had;
						prop_assert_eq!(TotalClaimed::<Test>::get() - total, got);
						if done.is_ok() {
							prop_assert_eq!(announced.map_or(0, |(_, amount)| amount), got);
							prop_assert!(paid.insert((who, index)), "paid twice");
							*minted.entry(index).or_default() += got;
						} else {
							prop_assert_eq!(got, 0);
						}
					},
				}
				check_invariants(before);
			}
			let ended = Rewards::era().index;
			prop_assert_eq!(TotalBudget::<Test>::get(), budgets_of_ended(ended));
			prop_assert!(Rewards::issuance().minted() <= budgets_of_ended(ended + 1));
			for (era, minted) in minted {
				prop_assert!(minted <= budgets_of_ended(era + 1) - budgets_of_ended(era));
				prop_assert!(Eras::<Test>::get(era).is_none_or(|ended| ended.claimed == minted));
			}
			Ok(())
		})?;
	}
}
