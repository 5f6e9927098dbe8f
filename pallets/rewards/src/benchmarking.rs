//! Benchmarks of every call and hook in their most expensive case.

use crate::{
	AccountPoints, Call, Config, Current, CurrentEra, CurrentTotal, EndedEra, EraLength, Eras, HistoryDepth, OldestEra, Pallet, Points,
	Shares, TotalBudget, TotalClaimed, TotalToTreasury,
};
use frame_benchmarking::v2::*;
use frame_support::traits::fungible::{Inspect, Mutate};
use frame_system::RawOrigin;
use neuroshard_types::{
	reward::{BudgetParts, BudgetShares},
	AccountId, Balance, NEURO,
};

/// Points of one account.
const POINTS: u128 = 1 << 40;
/// Budget of an era: each of three accounts gets a third of it.
const BUDGET: Balance = 3_000 * NEURO;

/// Points of an account that has not claimed.
fn unclaimed(cap: Balance) -> AccountPoints {
	AccountPoints { training: POINTS, audits: 0, cap, claimed: None }
}

/// A budget for training and the treasury.
fn parts() -> BudgetParts {
	BudgetParts { training: BUDGET, treasury: NEURO, ..Default::default() }
}

/// Gives `who` a third of the ended era 0.
fn earn<T: Config>(who: &AccountId) {
	Current::<T>::put(CurrentEra { index: 1, ..Default::default() });
	OldestEra::<T>::put(0);
	let era = EndedEra { parts: parts(), total_points: 3 * POINTS, claimed: 0, to_validators: 0, to_treasury: 0 };
	Eras::<T>::insert(0, era);
	TotalBudget::<T>::put(BUDGET);
	Points::<T>::insert(0, who, unclaimed(Balance::MAX));
	T::Currency::set_balance(who, T::Currency::minimum_balance());
}

/// Returns whether era 0 paid `who` its third.
fn was_paid<T: Config>(who: &AccountId) -> bool {
	TotalClaimed::<T>::get() == BUDGET / 3 && T::Currency::balance(who) == T::Currency::minimum_balance().saturating_add(BUDGET / 3)
}

#[benchmarks]
mod benchmarks {
	use super::*;

	#[benchmark]
	fn claim() {
		let who: AccountId = whitelisted_caller();
		earn::<T>(&who);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), 0);

		assert!(was_paid::<T>(&who));
	}

	#[benchmark]
	fn claim_for() {
		let who: AccountId = account("provider", 0, 0);
		earn::<T>(&who);

		#[extrinsic_call]
		_(RawOrigin::Signed(whitelisted_caller()), who.clone(), 0);

		assert!(was_paid::<T>(&who));
	}

	#[benchmark]
	fn set_shares() {
		let shares = BudgetShares { training: BudgetShares::WHOLE, ..Default::default() };

		#[extrinsic_call]
		_(RawOrigin::Root, shares);

		assert_eq!(Shares::<T>::get(), shares);
	}

	#[benchmark]
	fn rotate(n: Linear<0, 31>) {
		// Era 0 is expired and has n accounts left; the current one ends now and has points.
		earn::<T>(&whitelisted_caller());
		let _ = Points::<T>::clear_prefix(0, u32::MAX, None);
		for index in 0..n {
			Points::<T>::insert(0, account::<AccountId>("provider", index, 0), unclaimed(0));
		}
		let index = HistoryDepth::<T>::get().saturating_add(1);
		Current::<T>::put(CurrentEra { index, parts: parts(), ..Default::default() });
		CurrentTotal::<T>::put(POINTS);
		frame_system::Pallet::<T>::set_block_number(EraLength::<T>::get().into());

		#[block]
		{
			Pallet::<T>::end_era_if_over();
			Pallet::<T>::expire(crate::EXPIRED_PER_BLOCK);
		}

		assert!(!Eras::<T>::contains_key(0) && Eras::<T>::contains_key(index));
		assert_eq!(TotalToTreasury::<T>::get(), NEURO);
	}

	impl_benchmark_test_suite!(Pallet, crate::mock::new_test_ext(), crate::mock::Test);
}
