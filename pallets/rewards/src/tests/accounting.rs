//! Whatever happens in whatever order: no more than the curve is minted, nobody is paid twice, and every planck is accounted for.

use crate::{mock::*, Eras, TotalBudget, TotalClaimed};
use neuroshard_types::{reward::EraIndex, AccountId, Balance, BlockNumber};
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
	/// Blocks pass.
	Wait { blocks: BlockNumber },
}

fn step() -> impl Strategy<Value = Step> {
	let who = || 0u8..4;
	let amount = || prop_oneof![0..2_000_000u128, Just(u128::MAX), any::<u128>()];
	prop_oneof![
		4 => (who(), prop_oneof![1..1_000u128, any::<u128>()]).prop_map(|(who, units)| Step::Work { who, units }),
		1 => (who(), amount(), amount()).prop_map(|(who, active, unbonding)| Step::Bond { who, active, unbonding }),
		4 => (who(), 0..6u32).prop_map(|(who, back)| Step::Claim { who, back }),
		3 => (1..15u32).prop_map(|blocks| Step::Wait { blocks }),
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
		new_test_ext().execute_with(|| {
			let before = Balances::total_issuance();
			let mut paid = BTreeSet::new();
			let mut minted = BTreeMap::<EraIndex, Balance>::new();
			for step in steps {
				match step {
					Step::Work { who, units } => work(&nth(who), units),
					Step::Bond { who, active, unbonding } => bond(&nth(who), active, unbonding),
					Step::Wait { blocks } => run_to(System::block_number() + blocks),
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
				Rewards::do_try_state().expect("invariants hold after every step");
			}
			let ended = Rewards::era().index;
			prop_assert_eq!(TotalBudget::<Test>::get(), budgets_of_ended(ended));
			prop_assert!(TotalClaimed::<Test>::get() <= budgets_of_ended(ended));
			for (era, minted) in minted {
				prop_assert!(minted <= budgets_of_ended(era + 1) - budgets_of_ended(era));
				prop_assert!(Eras::<Test>::get(era).is_none_or(|ended| ended.minted == minted));
			}
			prop_assert_eq!(Balances::total_issuance() - before, TotalClaimed::<Test>::get());
			Ok(())
		})?;
	}
}
