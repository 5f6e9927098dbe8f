//! Eras: their end, what they pay validators and the treasury, and their expiry.

use crate::{
	Config, Current, CurrentTotal, EraLength, Eras, Event, HistoryDepth, Issuance, OldestEra, Pallet, Points, Shares, TotalBudget,
	TotalToTreasury, TotalToValidators, Unminted,
};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::traits::{fungible::Mutate, Get};
use neuroshard_types::{
	reward::{BudgetParts, EraIndex},
	traits::BlockRewards,
	AccountId, Balance, BlockNumber,
};
use scale_info::TypeInfo;

/// The era under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct CurrentEra {
	/// Its number.
	pub index: EraIndex,
	/// Its first block.
	pub starts_at: BlockNumber,
	/// Its budget, in parts.
	pub parts: BudgetParts,
	/// Minted for blocks so far, in planck: never more than the part for validation.
	pub to_validators: Balance,
}

/// An ended era.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct EndedEra {
	/// Its budget, in parts.
	pub parts: BudgetParts,
	/// Points of all accounts, in units of 2^-32.
	pub total_points: u128,
	/// Minted by claims so far, in planck: never more than the part for training.
	pub claimed: Balance,
	/// Minted for blocks, in planck.
	pub to_validators: Balance,
	/// Minted for the treasury, in planck.
	pub to_treasury: Balance,
}

impl EndedEra {
	/// Returns the amount that can still be claimed, in planck: without points, nothing.
	pub fn open(&self) -> Balance {
		match self.total_points {
			0 => 0,
			_ => self.parts.training.saturating_sub(self.claimed),
		}
	}

	/// Returns the part of the budget that can never be minted from the era's end on, in planck.
	fn lost_at_end(&self) -> Balance {
		let minted = self.to_validators.saturating_add(self.to_treasury);
		self.parts.total().saturating_sub(minted).saturating_sub(self.open())
	}
}

impl<T: Config> Pallet<T> {
	/// Freezes the current era at its end, pays the treasury, and begins the next one.
	pub(crate) fn end_era_if_over() {
		let CurrentEra { index, starts_at, parts, to_validators } = Current::<T>::get();
		let ends_at = starts_at.saturating_add(EraLength::<T>::get());
		// The last era that a number can name never ends.
		let Some(next) = index.checked_add(1).filter(|_| Self::now() >= ends_at) else { return };
		let total_points = CurrentTotal::<T>::take();
		let to_treasury = Self::mint(&T::Treasury::get(), parts.treasury);
		TotalToTreasury::<T>::mutate(|total| *total = total.saturating_add(to_treasury));
		let era = EndedEra { parts, total_points, claimed: 0, to_validators, to_treasury };
		Unminted::<T>::mutate(|unminted| *unminted = unminted.saturating_add(era.lost_at_end()));
		Eras::<T>::insert(index, era);
		let budget = parts.total();
		let spent = TotalBudget::<T>::get().saturating_add(budget);
		TotalBudget::<T>::put(spent);
		let parts = Shares::<T>::get().split(Issuance::<T>::get().next(next, budget, spent));
		Current::<T>::put(CurrentEra { index: next, starts_at: ends_at, parts, to_validators: 0 });
		Self::deposit_event(Event::EraEnded { era: index, parts: era.parts, total_points, to_validators, to_treasury });
	}

	/// Mints `amount` to `who` and returns it; nothing if that cannot be: too little for an account that does not exist.
	fn mint(who: &AccountId, amount: Balance) -> Balance {
		match amount {
			0 => 0,
			_ => T::Currency::mint_into(who, amount).unwrap_or(0),
		}
	}

	/// The oldest era that can be claimed.
	pub(crate) fn oldest_claimable() -> EraIndex {
		Current::<T>::get().index.saturating_sub(HistoryDepth::<T>::get())
	}

	/// Removes up to `limit` accounts of the oldest expired era, and the era with its last one. Returns how many were removed.
	pub(crate) fn expire(limit: u32) -> u32 {
		let index = OldestEra::<T>::get();
		if index >= Self::oldest_claimable() {
			return 0;
		}
		let at_most = usize::try_from(limit).unwrap_or(usize::MAX);
		let removed = u32::try_from(Points::<T>::drain_prefix(index).take(at_most).count()).unwrap_or(limit);
		if removed < limit {
			OldestEra::<T>::put(index.saturating_add(1));
			if let Some(era) = Eras::<T>::take(index) {
				let unminted = era.open();
				Unminted::<T>::mutate(|total| *total = total.saturating_add(unminted));
				Self::deposit_event(Event::EraExpired { era: index, unminted });
			}
		}
		removed
	}
}

impl<T: Config> BlockRewards<AccountId, Balance> for Pallet<T> {
	fn pay_block(pot: &AccountId) -> Balance {
		let mut current = Current::<T>::get();
		let part = current.parts.validation;
		let due = part.checked_div(EraLength::<T>::get().into()).unwrap_or_default();
		let minted = Self::mint(pot, due.min(part.saturating_sub(current.to_validators)));
		if minted > 0 {
			current.to_validators = current.to_validators.saturating_add(minted);
			Current::<T>::put(current);
			TotalToValidators::<T>::mutate(|total| *total = total.saturating_add(minted));
		}
		minted
	}
}
