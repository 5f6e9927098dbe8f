//! Invariants of the storage.

use crate::{Config, Holdings, Models, Pallet, FRACTION_BITS};
use alloc::collections::BTreeMap;
use frame_support::{
	ensure,
	traits::{fungible::Inspect as _, fungibles::Inspect as _},
};
use neuroshard_types::{Balance, RunId};
use sp_core::U256;
use sp_runtime::TryRuntimeError;

/// Of all holders of a model.
#[derive(Default)]
struct Sums {
	/// Shares that earn.
	earning: u128,
	/// Debt to holders, in units of 2^-96 planck.
	owed: U256,
}

impl<T: Config> Pallet<T> {
	/// Checks every invariant of this pallet's storage and names the first that is broken.
	pub fn do_try_state() -> Result<(), TryRuntimeError> {
		let mut sums = Self::holdings_are_covered()?;
		let mut open: Balance = 0;
		for (id, model) in Models::<T>::iter() {
			let Sums { earning, owed } = sums.remove(&id).unwrap_or_default();
			ensure!(earning == model.earning, "shares that earn do not sum to their total");
			ensure!(model.earning <= T::Shares::total_issuance(id), "more shares earn than there are");
			let unpaid = model.revenue.checked_sub(model.paid).ok_or("more was paid than earned")?;
			let known = owed.checked_add(model.remainder).ok_or("what is owed overflows")?;
			ensure!(known == U256::from(unpaid) << FRACTION_BITS, "revenue is neither paid, nor owed, nor the remainder");
			open = open.checked_add(unpaid).ok_or("what is owed overflows")?;
		}
		let needed = open.checked_add(T::Currency::minimum_balance()).ok_or("what is owed overflows")?;
		ensure!(T::Currency::balance(&Self::pot()) >= needed, "the pot has less than it owes");
		Ok(())
	}

	/// Every holding belongs to a model, has shares that earn or is owed something, is not settled ahead of time, and its shares are in its
	/// account. One without shares is of a time when who left was not paid at once: it stays until it is claimed.
	fn holdings_are_covered() -> Result<BTreeMap<RunId, Sums>, TryRuntimeError> {
		let mut sums = BTreeMap::<RunId, Sums>::new();
		for (who, id, mut holding) in Holdings::<T>::iter() {
			let model = Models::<T>::get(id).ok_or("shares of an unknown model")?;
			ensure!(holding.earning > 0 || holding.claimable() > 0, "a holding is stored that is over");
			ensure!(holding.settled_at <= model.per_share, "a holding was settled ahead of time");
			ensure!(holding.earning <= T::Shares::balance(id, &who), "shares earn that are not in the account");
			holding.settle(&model);
			let sum = sums.entry(id).or_default();
			sum.earning = sum.earning.checked_add(holding.earning).ok_or("shares that earn overflow")?;
			sum.owed = sum.owed.checked_add(holding.owed).ok_or("what is owed overflows")?;
		}
		Ok(sums)
	}
}
