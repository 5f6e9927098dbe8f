//! Migrations of stored state from earlier versions to this one.

use crate::{Attestations, AttestedBy, Config, Datasets, Pallet, WeightInfo};
use alloc::vec::Vec;
use core::marker::PhantomData;
use frame_support::{
	migrations::VersionedMigration,
	traits::{Get, UncheckedOnRuntimeUpgrade},
	weights::Weight,
};
use neuroshard_types::{AccountId, DatasetId};

/// From version 1 to 2: what accounts attest is listed for each of them. No stored value changes.
///
/// It goes over all attestations in one block: about 75 microseconds of weight each, so that 8,000 of them take a third of a block.
pub type MigrateV1ToV2<T> = VersionedMigration<1, 2, V1ToV2<T>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV1ToV2`] for a state of version 1, whatever its version is said to be.
///
/// There are states of version 1 with lists already: what is listed stays as it is. Of the other attestations, two kinds end, at nobody's
/// expense: their deposits and the bonds of those who challenged them go back.
/// - Those of datasets that are gone: they may have left before a challenge could be answered, and the attester would be slashed for that.
/// - Those that have no place in the list of their account, which had no limit: it keeps those of the first datasets.
pub struct V1ToV2<T>(PhantomData<T>);

impl<T: Config> UncheckedOnRuntimeUpgrade for V1ToV2<T> {
	fn on_runtime_upgrade() -> Weight {
		let mut keys: Vec<(DatasetId, AccountId)> = Attestations::<T>::iter_keys().collect();
		keys.sort_unstable();
		let (mut all, mut ended) = (0u64, 0u64);
		for (id, who) in keys {
			all = all.saturating_add(1);
			if !is_listed::<T>(id, &who) {
				end::<T>(id, who);
				ended = ended.saturating_add(1);
			}
		}
		let reads = all.saturating_mul(3).saturating_add(1);
		T::DbWeight::get().reads_writes(reads, all).saturating_add(T::WeightInfo::conclude_challenge().saturating_mul(ended))
	}

	#[cfg(feature = "try-runtime")]
	fn post_upgrade(_: Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
		Pallet::<T>::do_try_state()
	}
}

/// Returns whether the attestation is in the list of its account, after it was put there if it could be.
fn is_listed<T: Config>(id: DatasetId, who: &AccountId) -> bool {
	let mut listed = AttestedBy::<T>::get(who);
	if listed.contains(&id) {
		return true;
	}
	if !Datasets::<T>::contains_key(id) || listed.try_push(id).is_err() {
		return false;
	}
	AttestedBy::<T>::insert(who, listed);
	true
}

/// Ends an attestation with its challenges.
fn end<T: Config>(id: DatasetId, who: AccountId) {
	Pallet::<T>::end_moot(id, &who);
	if let Some(attestation) = Attestations::<T>::get(id, &who) {
		Pallet::<T>::end_attestation(id, who, &attestation);
	}
}
