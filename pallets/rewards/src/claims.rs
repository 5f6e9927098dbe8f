//! Claims: who gets what of an era, once.

use crate::{AccountPoints, Claimed, Config, Current, CurrentTotal, EndedEra, Eras, Error, Event, Pallet, Points, TotalClaimed};
use alloc::vec::Vec;
use frame_support::{ensure, traits::fungible::Mutate};
use neuroshard_types::{
	reward::{Earnings, EraIndex},
	AccountId, Balance,
};
use sp_runtime::{helpers_128bit::multiply_by_rational_with_rounding, DispatchResult, Rounding};

impl AccountPoints {
	/// The account's part of `budget` at `total_points`, rounded down and capped, in planck.
	pub fn share(&self, budget: Balance, total_points: u128) -> Balance {
		// Points never exceed their total, so the part never exceeds the budget. No points at all: no part.
		multiply_by_rational_with_rounding(budget, self.points, total_points, Rounding::Down).unwrap_or(0).min(self.cap)
	}
}

impl<T: Config> Pallet<T> {
	/// See [`crate::Call::claim`].
	pub(crate) fn do_claim(who: AccountId, index: EraIndex) -> DispatchResult {
		ensure!(index < Current::<T>::get().index, Error::<T>::EraNotEnded);
		ensure!(index >= Self::oldest_claimable(), Error::<T>::EraExpired);
		let mut era = Eras::<T>::get(index).ok_or(Error::<T>::NothingToClaim)?;
		let entry = Points::<T>::take(index, &who).ok_or(Error::<T>::NothingToClaim)?;
		// Shares are rounded down, so their sum stays within the budget by itself.
		let amount = entry.share(era.budget, era.total_points).min(era.budget.saturating_sub(era.minted));
		if amount > 0 {
			T::Currency::mint_into(&who, amount)?;
		}
		era.minted = era.minted.saturating_add(amount);
		era.claimed_points = era.claimed_points.saturating_add(entry.points);
		Eras::<T>::insert(index, era);
		Claimed::<T>::mutate(&who, |claimed| *claimed = claimed.saturating_add(amount));
		TotalClaimed::<T>::mutate(|total| *total = total.saturating_add(amount));
		Self::deposit_event(Event::Claimed { who, era: index, amount });
		Ok(())
	}

	/// See the view function `claimable_eras`.
	pub(crate) fn claimable_eras_of(who: &AccountId) -> Vec<(EraIndex, Balance)> {
		(Self::oldest_claimable()..Current::<T>::get().index)
			.filter_map(|index| {
				let entry = Points::<T>::get(index, who)?;
				let EndedEra { budget, total_points, .. } = Eras::<T>::get(index)?;
				Some((index, entry.share(budget, total_points)))
			})
			.filter(|(_, amount)| *amount > 0)
			.collect()
	}

	/// See the view function `earnings`.
	pub(crate) fn earnings_of(who: &AccountId) -> Earnings {
		let current = Current::<T>::get();
		let claimable = Self::claimable_eras_of(who).into_iter().fold(0, |sum: Balance, (_, amount)| sum.saturating_add(amount));
		let current_era_estimate =
			Points::<T>::get(current.index, who).map_or(0, |entry| entry.share(current.budget, CurrentTotal::<T>::get()));
		Earnings { claimed: Claimed::<T>::get(who), claimable, current_era_estimate }
	}
}
