//! Eras: their end, and their expiry.

use crate::{
	Config, Current, CurrentTotal, EraLength, Eras, Event, HistoryDepth, Issuance, OldestEra, Pallet, Points, TotalBudget, Unminted,
};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_types::{reward::EraIndex, Balance, BlockNumber};
use scale_info::TypeInfo;

/// The era under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct CurrentEra {
	/// Its number.
	pub index: EraIndex,
	/// Its first block.
	pub starts_at: BlockNumber,
	/// Its budget, in planck.
	pub budget: Balance,
}

/// An ended era with points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct EndedEra {
	/// Most that all its accounts get, in planck.
	pub budget: Balance,
	/// Points of all accounts, in units of 2^-32; never 0.
	pub total_points: u128,
	/// Minted so far, in planck.
	pub minted: Balance,
	/// Points of those who have claimed, in units of 2^-32.
	pub claimed_points: u128,
}

impl<T: Config> Pallet<T> {
	/// Freezes the current era at its end and begins the next one.
	pub(crate) fn end_era_if_over() {
		let CurrentEra { index, starts_at, budget } = Current::<T>::get();
		let ends_at = starts_at.saturating_add(EraLength::<T>::get());
		// The last era that a number can name never ends.
		let Some(next) = index.checked_add(1).filter(|_| Self::now() >= ends_at) else { return };
		let total_points = CurrentTotal::<T>::take();
		TotalBudget::<T>::mutate(|total| *total = total.saturating_add(budget));
		if total_points == 0 {
			Unminted::<T>::mutate(|unminted| *unminted = unminted.saturating_add(budget));
		} else {
			Eras::<T>::insert(index, EndedEra { budget, total_points, minted: 0, claimed_points: 0 });
		}
		Current::<T>::put(CurrentEra { index: next, starts_at: ends_at, budget: Issuance::<T>::get().next(next, budget) });
		Self::deposit_event(Event::EraEnded { era: index, budget, total_points });
	}

	/// The oldest era that can be claimed.
	pub(crate) fn oldest_claimable() -> EraIndex {
		Current::<T>::get().index.saturating_sub(HistoryDepth::<T>::get())
	}

	/// Removes up to `limit` accounts of the oldest expired era, and the era with its last one. Returns how many were removed.
	pub(crate) fn expire(limit: u32) -> u32 {
		let era = OldestEra::<T>::get();
		if era >= Self::oldest_claimable() {
			return 0;
		}
		let at_most = usize::try_from(limit).unwrap_or(usize::MAX);
		let removed = u32::try_from(Points::<T>::drain_prefix(era).take(at_most).count()).unwrap_or(limit);
		if removed < limit {
			OldestEra::<T>::put(era.saturating_add(1));
			if let Some(EndedEra { budget, minted, .. }) = Eras::<T>::take(era) {
				let rest = budget.saturating_sub(minted);
				Unminted::<T>::mutate(|unminted| *unminted = unminted.saturating_add(rest));
				Self::deposit_event(Event::EraExpired { era, unminted: rest });
			}
		}
		removed
	}
}
