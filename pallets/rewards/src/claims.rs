//! Claims: who gets what of an era, once.

use crate::{AccountPoints, Claimed, Config, Current, Eras, Error, Event, Pallet, Points, TotalClaimed};
use frame_support::{ensure, traits::fungible::Mutate};
use neuroshard_types::{
	reward::{part_of, EraIndex},
	AccountId, Balance,
};
use sp_runtime::DispatchResult;

impl AccountPoints {
	/// The account's part of `budget` at `total_points`, rounded down and capped, in planck.
	pub fn share(&self, budget: Balance, total_points: u128) -> Balance {
		part_of(budget, self.points(), total_points).min(self.cap)
	}
}

impl<T: Config> Pallet<T> {
	/// See [`crate::Call::claim`].
	pub(crate) fn do_claim(who: AccountId, index: EraIndex) -> DispatchResult {
		ensure!(index < Current::<T>::get().index, Error::<T>::EraNotEnded);
		ensure!(index >= Self::oldest_claimable(), Error::<T>::EraExpired);
		let mut era = Eras::<T>::get(index).ok_or(Error::<T>::NothingToClaim)?;
		let mut entry = Points::<T>::get(index, &who).ok_or(Error::<T>::NothingToClaim)?;
		ensure!(entry.claimed.is_none(), Error::<T>::NothingToClaim);
		// Shares are rounded down, so their sum stays within the budget by itself.
		let amount = entry.share(era.parts.training, era.total_points).min(era.open());
		if amount > 0 {
			T::Currency::mint_into(&who, amount)?;
		}
		entry.claimed = Some(amount);
		Points::<T>::insert(index, &who, entry);
		era.claimed = era.claimed.saturating_add(amount);
		Eras::<T>::insert(index, era);
		Claimed::<T>::mutate(&who, |claimed| *claimed = claimed.saturating_add(amount));
		TotalClaimed::<T>::mutate(|total| *total = total.saturating_add(amount));
		Self::deposit_event(Event::Claimed { who, era: index, amount });
		Ok(())
	}
}
