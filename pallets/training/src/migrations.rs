//! Migrations of stored state from earlier versions to this one.

use crate::{replay::Spans, Config, HoldReason, Pallet, Run, Runs};
use alloc::vec::Vec;
use codec::{Decode, Encode};
use core::marker::PhantomData;
use frame_support::{
	defensive,
	migrations::VersionedMigration,
	traits::{fungible::MutateHold, tokens::Precision, Get, UncheckedOnRuntimeUpgrade},
	weights::Weight,
};
use neuroshard_types::{dataset::DatasetShape, run::OldRunConfig, AccountId, Balance, BlockNumber, RoundIndex, H256};

/// From version 1 to 2: deposits that stayed on hold for models without shares go back. No stored value changes.
///
/// `Unowned` gives how many entries of the state it has read, and the accounts whose deposits for models go back, all of each: this pallet
/// keeps nothing of runs that are gone.
pub type MigrateV1ToV2<T, Unowned> = VersionedMigration<1, 2, V1ToV2<T, Unowned>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV1ToV2`] for a state of version 1, whatever its version is said to be.
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
}

/// From version 2 to 3: runs say whether their rounds overlap. Those of before do not.
pub type MigrateV2ToV3<T> = VersionedMigration<2, 3, V2ToV3<T>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV2ToV3`] for a state of version 2, whatever its version is said to be.
pub struct V2ToV3<T>(PhantomData<T>);

/// A [`Run`] of version 2.
#[derive(Encode, Decode)]
struct RunV2 {
	sponsor: AccountId,
	deposit: Balance,
	config: OldRunConfig,
	shape: DatasetShape,
	dataset_root: H256,
	approved: bool,
	rounds_adopted: RoundIndex,
	checkpoint: H256,
	replay: Option<RoundIndex>,
	spans: Spans,
	finished_at: Option<BlockNumber>,
}

impl From<RunV2> for Run {
	fn from(run: RunV2) -> Self {
		let RunV2 { sponsor, deposit, config, shape, dataset_root, approved, rounds_adopted, checkpoint, replay, spans, finished_at } = run;
		let config = config.into();
		Self { sponsor, deposit, config, shape, dataset_root, approved, rounds_adopted, checkpoint, replay, spans, finished_at }
	}
}

impl<T: Config> UncheckedOnRuntimeUpgrade for V2ToV3<T> {
	/// Costs a read and a write for each run that is kept, which each has paid a deposit for.
	fn on_runtime_upgrade() -> Weight {
		let mut runs = 0u64;
		Runs::<T>::translate_values(|run: RunV2| {
			runs = runs.saturating_add(1);
			Some(run.into())
		});
		T::DbWeight::get().reads_writes(runs.saturating_add(1), runs)
	}

	#[cfg(feature = "try-runtime")]
	fn pre_upgrade() -> Result<Vec<u8>, sp_runtime::TryRuntimeError> {
		let runs = Runs::<T>::iter_keys().count();
		Ok(u64::try_from(runs).unwrap_or(u64::MAX).encode())
	}

	#[cfg(feature = "try-runtime")]
	fn post_upgrade(before: Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
		// A value that cannot be decoded would be skipped.
		let decoded = Runs::<T>::iter_values().count();
		let before = u64::decode(&mut before.as_slice()).map_err(|_| "the number of runs is lost")?;
		frame_support::ensure!(u64::try_from(decoded) == Ok(before), "a run of before cannot be read");
		Pallet::<T>::do_try_state()
	}
}
