//! Invariants of the storage.

use crate::{
	Claimed, Config, Current, CurrentTotal, EndedEra, Eras, Issuance, OldestEra, Pallet, Points, Shares, TotalBudget, TotalClaimed,
	TotalToTreasury, TotalToValidators, Unminted,
};
use frame_support::ensure;
use neuroshard_types::{reward::EraIndex, Balance};
use sp_runtime::TryRuntimeError;

impl<T: Config> Pallet<T> {
	/// Checks every invariant of this pallet's storage and names the first that is broken.
	pub fn do_try_state() -> Result<(), TryRuntimeError> {
		let current = Current::<T>::get().index;
		let (points, claimed) = Self::sums_of(current)?;
		ensure!(points == CurrentTotal::<T>::get(), "points of the current era do not sum to their total");
		ensure!(claimed == 0, "something of the current era was claimed");
		Self::budgets_are_within_the_cap()?;
		Self::ended_eras_add_up(current)?;
		Self::no_points_without_an_era(current)?;
		Self::claims_sum_to_their_total()?;
		Self::budgets_are_accounted_for()
	}

	/// Sums of the stored points and claims of an era.
	fn sums_of(era: EraIndex) -> Result<(u128, Balance), TryRuntimeError> {
		Points::<T>::iter_prefix_values(era)
			.try_fold((0u128, 0 as Balance), |(points, claimed), entry| {
				let of_entry = entry.training.checked_add(entry.audits)?;
				Some((points.checked_add(of_entry)?, claimed.checked_add(entry.claimed.unwrap_or_default())?))
			})
			.ok_or("points or claims of an era overflow".into())
	}

	/// Shares add up, blocks are paid no more than their part, and no budget goes beyond the cap.
	fn budgets_are_within_the_cap() -> Result<(), TryRuntimeError> {
		let current = Current::<T>::get();
		ensure!(Shares::<T>::get().is_valid(), "the shares of a budget do not add up to all of it");
		ensure!(current.to_validators <= current.parts.validation, "blocks of the current era were paid more than their part");
		let budgets = TotalBudget::<T>::get().checked_add(current.parts.total());
		ensure!(budgets.is_some_and(|budgets| budgets <= Issuance::<T>::get().cap), "budgets exceed the cap of the issuance");
		Ok(())
	}

	/// Every ended era that has not expired is stored, minted nothing beyond its parts, and its accounts' points and claims are its own.
	fn ended_eras_add_up(current: EraIndex) -> Result<(), TryRuntimeError> {
		let oldest = OldestEra::<T>::get();
		let mut count = 0u32;
		for (index, era) in Eras::<T>::iter() {
			ensure!(index < current && index >= oldest, "an era is stored that has not ended or has expired");
			count = count.saturating_add(1);
			let EndedEra { parts, total_points, claimed, to_validators, to_treasury } = era;
			let within = claimed <= parts.training && to_validators <= parts.validation && to_treasury <= parts.treasury;
			ensure!(within, "an era minted more than a part of its budget");
			let expiring = index < Self::oldest_claimable();
			let (points, paid) = Self::sums_of(index)?;
			ensure!(points == total_points || (expiring && points < total_points), "points of an ended era do not sum to their total");
			ensure!(paid == claimed || (expiring && paid < claimed), "claims of an ended era do not sum to what it minted");
		}
		ensure!(count == current.saturating_sub(oldest), "an ended era is not stored");
		Ok(())
	}

	/// Points belong to the current era or to a stored one, are never 0, and nobody claimed more than the cap of the account.
	fn no_points_without_an_era(current: EraIndex) -> Result<(), TryRuntimeError> {
		for (index, _, entry) in Points::<T>::iter() {
			ensure!(index == current || Eras::<T>::contains_key(index), "points belong to no era");
			ensure!(entry.points() > 0, "an account is stored without points");
			ensure!(entry.claimed.is_none_or(|claimed| claimed <= entry.cap), "an account claimed more than its slashable bond");
		}
		Ok(())
	}

	/// Checks that the claims of accounts add up to the total that was claimed.
	fn claims_sum_to_their_total() -> Result<(), TryRuntimeError> {
		let sum = Claimed::<T>::iter_values().try_fold(0 as Balance, |sum, claimed| sum.checked_add(claimed));
		ensure!(sum == Some(TotalClaimed::<T>::get()), "claims do not sum to their total");
		Ok(())
	}

	/// Every planck of every ended era's budget was minted, can still be claimed, or never will be minted.
	fn budgets_are_accounted_for() -> Result<(), TryRuntimeError> {
		let minted = [TotalClaimed::<T>::get(), TotalToValidators::<T>::get(), TotalToTreasury::<T>::get(), Unminted::<T>::get()];
		let known = minted.into_iter().try_fold(0 as Balance, Balance::checked_add);
		let sum = Eras::<T>::iter_values().try_fold(known.ok_or("what was minted overflows")?, |sum, era| sum.checked_add(era.open()));
		// What the current era minted for its blocks is no part of the budgets of ended ones.
		let budgets = TotalBudget::<T>::get().checked_add(Current::<T>::get().to_validators);
		ensure!(sum.is_some() && sum == budgets, "a part of the budgets is not accounted for");
		Ok(())
	}
}
