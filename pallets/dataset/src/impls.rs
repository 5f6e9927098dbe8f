//! Shared parts of the calls, and the trait through which other pallets use datasets.

use crate::{Config, Dataset, Datasets as DatasetMap, Error, Event, HoldReason, Leaving, Pallet};
use frame_support::{
	defensive, ensure,
	storage::with_storage_layer,
	traits::{
		fungible::{InspectHold, MutateHold},
		tokens::{Fortitude, Precision, Restriction},
		Defensive,
	},
};
use neuroshard_types::{
	dataset::{DatasetStatus, Manifest},
	traits::{ActiveDataset, Datasets},
	AccountId, Balance, BlockNumber, DatasetId,
};
use sp_runtime::{ArithmeticError, DispatchResult, SaturatedConversion};

impl<T: Config> Pallet<T> {
	pub(crate) fn now() -> BlockNumber {
		frame_system::Pallet::<T>::block_number().saturated_into()
	}

	pub(crate) fn hold(reason: HoldReason, who: &AccountId, amount: Balance) -> DispatchResult {
		T::Currency::hold(&reason.into(), who, amount)
	}

	pub(crate) fn held(reason: HoldReason, who: &AccountId) -> Balance {
		T::Currency::balance_on_hold(&reason.into(), who)
	}

	/// Gives back what is on hold, which cannot fail: it changes neither the issuance nor the account's total.
	pub(crate) fn release_hold(reason: HoldReason, who: &AccountId, amount: Balance) {
		let released = with_storage_layer(|| T::Currency::release(&reason.into(), who, amount, Precision::Exact));
		if released != Ok(amount) {
			defensive!("what is on hold was not released");
		}
	}

	/// Takes what is on hold of `from`: half of it goes to `to`, if there is somebody, and the rest is burned. So is what `to` cannot receive,
	/// because its account is gone and it would be too little for a new one. Returns both parts.
	pub(crate) fn forfeit(reason: HoldReason, from: &AccountId, amount: Balance, to: Option<&AccountId>) -> (Balance, Balance) {
		let reason = reason.into();
		let moved = to.map(|to| {
			with_storage_layer(|| {
				let (precision, restriction, force) = (Precision::Exact, Restriction::Free, Fortitude::Force);
				T::Currency::transfer_on_hold(&reason, from, to, amount / 2, precision, restriction, force)
			})
		});
		let rewarded = moved.and_then(Result::ok).unwrap_or(0);
		let rest = amount.saturating_sub(rewarded);
		let burned = with_storage_layer(|| T::Currency::burn_held(&reason, from, rest, Precision::Exact, Fortitude::Force));
		(rewarded, burned.defensive_unwrap_or(0))
	}

	/// Dataset `id`, if `who` proposed it.
	pub(crate) fn proposed_by(who: &AccountId, id: DatasetId) -> Result<Dataset, Error<T>> {
		let dataset = DatasetMap::<T>::get(id).ok_or(Error::<T>::UnknownDataset)?;
		ensure!(dataset.proposer == *who, Error::<T>::NotProposer);
		Ok(dataset)
	}

	/// Retires `dataset`, whoever wants it.
	pub(crate) fn do_retire(id: DatasetId, mut dataset: Dataset) -> DispatchResult {
		match dataset.status {
			DatasetStatus::Proposed | DatasetStatus::Active => dataset.status = DatasetStatus::Retired,
			DatasetStatus::Retired => return Err(Error::<T>::AlreadyRetired.into()),
			DatasetStatus::Condemned => return Err(Error::<T>::Condemned.into()),
		}
		Self::deposit_event(Event::Retired { id });
		Self::store(id, dataset);
		Ok(())
	}

	/// Stores `dataset`, and notes since when it takes no new runs and is unused, if it is so.
	pub(crate) fn store(id: DatasetId, dataset: Dataset) {
		if !dataset.is_open() && dataset.users == 0 && !Leaving::<T>::contains_key(id) {
			Leaving::<T>::insert(id, Self::now());
		}
		DatasetMap::<T>::insert(id, dataset);
	}

	/// See [`crate::Call::remove`].
	pub(crate) fn do_remove(id: DatasetId) -> DispatchResult {
		let dataset = DatasetMap::<T>::get(id).ok_or(Error::<T>::UnknownDataset)?;
		let removable_at = Self::removable_at(id).ok_or(Error::<T>::InUse)?;
		ensure!(Self::now() >= removable_at, Error::<T>::StillLeaving);
		let deposit = dataset.deposit;
		// The proposer of a condemned dataset has lost it, and may have no account any more.
		if deposit > 0 {
			T::Currency::release(&HoldReason::Manifest.into(), &dataset.proposer, deposit, Precision::Exact)?;
		}
		DatasetMap::<T>::remove(id);
		Leaving::<T>::remove(id);
		Self::deposit_event(Event::Removed { id, deposit });
		Ok(())
	}
}

impl<T: Config> Datasets for Pallet<T> {
	fn active(id: DatasetId) -> Option<ActiveDataset> {
		let Dataset { manifest: Manifest { shape, vocab, masked, tokenizer, root, .. }, status, .. } = DatasetMap::<T>::get(id)?;
		(status == DatasetStatus::Active).then_some(ActiveDataset { shape, vocab, masked, tokenizer, root })
	}

	fn acquire(id: DatasetId) -> DispatchResult {
		DatasetMap::<T>::try_mutate_exists(id, |entry| {
			let dataset = entry.as_mut().ok_or(Error::<T>::UnknownDataset)?;
			ensure!(dataset.status == DatasetStatus::Active, Error::<T>::NotActive);
			dataset.users = dataset.users.checked_add(1).ok_or(ArithmeticError::Overflow)?;
			Ok(())
		})
	}

	fn release(id: DatasetId) {
		let Some(mut dataset) = DatasetMap::<T>::get(id) else { return };
		let Some(users) = dataset.users.checked_sub(1) else { return };
		dataset.users = users;
		Self::store(id, dataset);
	}
}
