//! What makes stored state of earlier versions that of this one.

use crate::{Config, HoldReason, Pallet};
use alloc::vec::Vec;
use core::marker::PhantomData;
use frame_support::{
	defensive,
	migrations::VersionedMigration,
	traits::{fungible::MutateHold, tokens::Precision, Get, UncheckedOnRuntimeUpgrade},
	weights::Weight,
};
use neuroshard_types::AccountId;

/// From version 1 to 2: deposits that stayed on hold for models without shares go back. No stored value changes.
///
/// `Unowned` gives how many entries of the state it has read, and the accounts whose deposits for models go back, all of each: this pallet
/// keeps nothing of runs that are gone.
pub type MigrateV1ToV2<T, Unowned> = VersionedMigration<1, 2, V1ToV2<T, Unowned>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// What [`MigrateV1ToV2`] does to a state of version 1, whatever its version is said to be.
pub struct V1ToV2<T, Unowned>(PhantomData<(T, Unowned)>);

impl<T: Config, Unowned: Get<(u64, Vec<AccountId>)>> UncheckedOnRuntimeUpgrade for V1ToV2<T, Unowned> {
	fn on_runtime_upgrade() -> Weight {
		let (read, accounts) = Unowned::get();
		let mut touched = 0u64;
		for who in accounts {
			// What is on hold of an account can always be released. If it could not, it stayed where it is.
			if T::Currency::release_all(&HoldReason::Model.into(), &who, Precision::BestEffort).is_err() {
				defensive!("a deposit for a model cannot be released");
			}
			touched = touched.saturating_add(2);
		}
		T::DbWeight::get().reads_writes(read.saturating_add(touched), touched)
	}

	#[cfg(feature = "try-runtime")]
	fn post_upgrade(_: Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
		Pallet::<T>::do_try_state()
	}
}
