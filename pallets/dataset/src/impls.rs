//! What the calls share, and the trait through which other pallets use datasets.

use crate::{Config, Dataset, Datasets as DatasetMap, Error, Event, HoldReason, Pallet};
use frame_support::{
	ensure,
	storage::with_storage_layer,
	traits::{
		fungible::{InspectHold, MutateHold},
		tokens::Precision,
		Defensive,
	},
};
use neuroshard_types::{
	assignment::training_windows,
	dataset::{DatasetShape, DatasetStatus},
	traits::Datasets,
	AccountId, Balance, DatasetId, H256,
};
use sp_runtime::{ArithmeticError, DispatchResult};

impl<T: Config> Pallet<T> {
	/// Refuses a dataset that is not active or has fewer than `needed` training windows of `seq_len` tokens
	/// ([`neuroshard_types::assignment::windows_needed`] of a round).
	pub fn ensure_windows(id: DatasetId, seq_len: u32, needed: u64) -> DispatchResult {
		let (shape, _) = <Self as Datasets>::active(id).ok_or(Error::<T>::NotActive)?;
		ensure!(training_windows(&shape, seq_len) >= needed, Error::<T>::TooFewWindows);
		Ok(())
	}

	pub(crate) fn hold(who: &AccountId, amount: Balance) -> DispatchResult {
		T::Currency::hold(&HoldReason::Manifest.into(), who, amount)
	}

	pub(crate) fn held(who: &AccountId) -> Balance {
		T::Currency::balance_on_hold(&HoldReason::Manifest.into(), who)
	}

	/// Dataset `id`, if `who` proposed it.
	pub(crate) fn proposed_by(who: &AccountId, id: DatasetId) -> Result<Dataset, Error<T>> {
		let dataset = DatasetMap::<T>::get(id).ok_or(Error::<T>::UnknownDataset)?;
		ensure!(dataset.proposer == *who, Error::<T>::NotProposer);
		Ok(dataset)
	}

	/// Stores `dataset`, or removes it and returns its deposit if it is retired and unused.
	pub(crate) fn store_or_remove(id: DatasetId, dataset: Dataset) -> DispatchResult {
		if dataset.status != DatasetStatus::Retired || dataset.users > 0 {
			DatasetMap::<T>::insert(id, dataset);
			return Ok(());
		}
		let deposit = dataset.deposit;
		T::Currency::release(&HoldReason::Manifest.into(), &dataset.proposer, deposit, Precision::Exact)?;
		DatasetMap::<T>::remove(id);
		Self::deposit_event(Event::Removed { id, deposit });
		Ok(())
	}
}

impl<T: Config> Datasets for Pallet<T> {
	fn active(id: DatasetId) -> Option<(DatasetShape, u32)> {
		let dataset = DatasetMap::<T>::get(id)?;
		(dataset.status == DatasetStatus::Active).then_some((dataset.manifest.shape, dataset.manifest.vocab))
	}

	fn root(id: DatasetId) -> Option<H256> {
		DatasetMap::<T>::get(id).map(|dataset| dataset.manifest.root)
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
		// Cannot fail: the deposit is on hold, and giving it back changes neither the issuance nor the account's total.
		// If it did, the dataset would stay, counted as used, and its deposit with it.
		let _ = with_storage_layer(|| Self::store_or_remove(id, dataset)).defensive();
	}
}
