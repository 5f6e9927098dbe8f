//! Invariants of the storage.

use crate::{Claimed, Config, Current, CurrentTotal, Eras, OldestEra, Pallet, Points, TotalBudget, TotalClaimed, Unminted};
use frame_support::ensure;
use neuroshard_types::{reward::EraIndex, Balance};
use sp_runtime::TryRuntimeError;

impl<T: Config> Pallet<T> {
	/// Checks every invariant of this pallet's storage and names the first that is broken.
	pub fn do_try_state() -> Result<(), TryRuntimeError> {
		let current = Current::<T>::get().index;
		ensure!(Self::points_of(current)? == CurrentTotal::<T>::get(), "points of the current era do not sum to their total");
		Self::ended_eras_add_up(current)?;
		Self::no_points_without_an_era(current)?;
		Self::claims_sum_to_their_total()?;
		Self::budgets_are_accounted_for()
	}

	/// Sum of the stored points of an era.
	fn points_of(era: EraIndex) -> Result<u128, TryRuntimeError> {
		Points::<T>::iter_prefix_values(era)
			.try_fold(0u128, |sum, entry| sum.checked_add(entry.points))
			.ok_or("points of an era overflow".into())
	}

	/// Within an ended era nothing is minted beyond the budget, and stored and claimed points are all there were, until it expires.
	fn ended_eras_add_up(current: EraIndex) -> Result<(), TryRuntimeError> {
		for (index, era) in Eras::<T>::iter() {
			ensure!(index < current && index >= OldestEra::<T>::get(), "an era is stored that has not ended or has expired");
			ensure!(era.total_points > 0, "an era without points is stored");
			ensure!(era.minted <= era.budget, "an era minted more than its budget");
			let points = Self::points_of(index)?.checked_add(era.claimed_points).ok_or("points of an era overflow")?;
			let expiring = index < Self::oldest_claimable();
			ensure!(
				points == era.total_points || (expiring && points < era.total_points),
				"points of an ended era do not sum to their total"
			);
		}
		Ok(())
	}

	/// Points belong to the current era or to a stored one, and are never 0.
	fn no_points_without_an_era(current: EraIndex) -> Result<(), TryRuntimeError> {
		for (index, _, entry) in Points::<T>::iter() {
			ensure!(index == current || Eras::<T>::contains_key(index), "points belong to no era");
			ensure!(entry.points > 0, "an account is stored without points");
		}
		Ok(())
	}

	/// What accounts claimed is what was claimed.
	fn claims_sum_to_their_total() -> Result<(), TryRuntimeError> {
		let sum = Claimed::<T>::iter_values().try_fold(0 as Balance, |sum, claimed| sum.checked_add(claimed));
		ensure!(sum == Some(TotalClaimed::<T>::get()), "claims do not sum to their total");
		Ok(())
	}

	/// Every planck of every ended era's budget was minted, can still be minted, or never will be.
	fn budgets_are_accounted_for() -> Result<(), TryRuntimeError> {
		let known = TotalClaimed::<T>::get().checked_add(Unminted::<T>::get());
		let open = Eras::<T>::iter_values().try_fold(0 as Balance, |sum, era| sum.checked_add(era.budget.checked_sub(era.minted)?));
		let sum = known.and_then(|known| known.checked_add(open?));
		ensure!(sum == Some(TotalBudget::<T>::get()), "a part of the budgets is not accounted for");
		Ok(())
	}
}
