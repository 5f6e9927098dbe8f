//! Invariants of the pallet's storage.

use crate::{types::manifest_problem, Config, Datasets, NextId, Pallet, MAX_DATASETS};
use alloc::collections::BTreeMap;
use frame_support::ensure;
use neuroshard_types::{dataset::DatasetStatus, AccountId, Balance};
use sp_runtime::TryRuntimeError;

impl<T: Config> Pallet<T> {
	/// Checks every invariant; its cost grows with the number of datasets, so it is no part of a block.
	///
	/// - The counter equals the number of datasets and is within [`MAX_DATASETS`]; identifiers are below the next one.
	/// - Every manifest is one that `propose` accepts.
	/// - A proposed dataset has no users; a retired one has some, or it would be gone.
	/// - The deposits of every proposer add up to what is on hold for it.
	pub fn do_try_state() -> Result<(), TryRuntimeError> {
		let next = NextId::<T>::get();
		let mut count = 0u32;
		let mut deposits = BTreeMap::<AccountId, Balance>::new();
		for (id, dataset) in Datasets::<T>::iter() {
			count = count.saturating_add(1);
			ensure!(id < next, "a dataset with an identifier that was never given");
			ensure!(manifest_problem(&dataset.manifest).is_none(), "an invalid manifest");
			ensure!(dataset.status != DatasetStatus::Proposed || dataset.users == 0, "a proposed dataset with users");
			ensure!(dataset.status != DatasetStatus::Retired || dataset.users > 0, "an unused retired dataset");
			let sum = deposits.entry(dataset.proposer).or_default();
			*sum = sum.checked_add(dataset.deposit).ok_or("deposits overflow")?;
		}
		ensure!(count == Datasets::<T>::count(), "counter differs from the number of datasets");
		ensure!(count <= MAX_DATASETS, "too many datasets");
		ensure!(deposits.iter().all(|(who, sum)| Self::held(who) == *sum), "deposits differ from the hold");
		Ok(())
	}
}
