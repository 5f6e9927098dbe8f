//! Migrations of stored state from earlier versions to this one.

use crate::{replay::Spans, Config, Pallet, Run, Runs};
#[cfg(feature = "try-runtime")]
use alloc::vec::Vec;
use codec::{Decode, Encode};
use core::marker::PhantomData;
use frame_support::{
	migrations::VersionedMigration,
	traits::{Get, UncheckedOnRuntimeUpgrade},
	weights::Weight,
};
use neuroshard_types::{dataset::DatasetShape, run::OldRunConfig, AccountId, Balance, BlockNumber, RoundIndex, H256};

/// From version 3 to 4: runs say what texts are made of and whether all of it counts, models of which family they are, and where these start. Those of
/// before speak bytes, all of which count, are Llamas, and start from their seed.
pub type MigrateV3ToV4<T> = VersionedMigration<3, 4, V3ToV4<T>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV3ToV4`] for a state of version 3, whatever its version is said to be.
pub struct V3ToV4<T>(PhantomData<T>);

/// A [`Run`] of version 3.
#[derive(Encode, Decode)]
pub(crate) struct RunV3 {
	pub sponsor: AccountId,
	pub deposit: Balance,
	pub config: OldRunConfig,
	pub shape: DatasetShape,
	pub dataset_root: H256,
	pub approved: bool,
	pub rounds_adopted: RoundIndex,
	pub checkpoint: H256,
	pub replay: Option<RoundIndex>,
	pub spans: Spans,
	pub finished_at: Option<BlockNumber>,
}

impl From<RunV3> for Run {
	fn from(run: RunV3) -> Self {
		let RunV3 { sponsor, deposit, config, shape, dataset_root, approved, rounds_adopted, checkpoint, replay, spans, finished_at } = run;
		let config = config.into();
		Self { sponsor, deposit, config, shape, dataset_root, approved, rounds_adopted, checkpoint, replay, spans, finished_at }
	}
}

impl<T: Config> UncheckedOnRuntimeUpgrade for V3ToV4<T> {
	/// Costs a read and a write for each run that is kept, which each has paid a deposit for.
	fn on_runtime_upgrade() -> Weight {
		let mut runs = 0u64;
		Runs::<T>::translate_values(|run: RunV3| {
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
