//! Migrations of stored state from earlier versions to this one.

use crate::{Config, Current, CurrentEra, EndedEra, Eras, Pallet, Shares};
#[cfg(feature = "try-runtime")]
use alloc::vec::Vec;
use codec::{Decode, Encode};
use core::marker::PhantomData;
use frame_support::{
	defensive,
	migrations::VersionedMigration,
	traits::{Get, UncheckedOnRuntimeUpgrade},
	weights::Weight,
};
use neuroshard_types::{
	reward::{BudgetParts, BudgetShares, EraIndex},
	Balance, BlockNumber,
};

/// From version 2 to 3: budgets have no parts for inference and for data, which nobody could earn. From the era under way on they are part of that for training.
/// Ended eras keep their other parts: what was never minted was noted when they ended.
pub type MigrateV2ToV3<T> = VersionedMigration<2, 3, V2ToV3<T>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV2ToV3`] for a state of version 2, whatever its version is said to be.
pub struct V2ToV3<T>(PhantomData<T>);

/// [`BudgetShares`] of version 2.
#[derive(Encode, Decode)]
struct SharesV2 {
	training: u32,
	inference: u32,
	data: u32,
	validation: u32,
	treasury: u32,
}

/// [`BudgetParts`] of version 2.
#[derive(Encode, Decode)]
struct PartsV2 {
	training: Balance,
	inference: Balance,
	data: Balance,
	validation: Balance,
	treasury: Balance,
}

/// A [`CurrentEra`] of version 2.
#[derive(Encode, Decode)]
struct CurrentV2 {
	index: EraIndex,
	starts_at: BlockNumber,
	parts: PartsV2,
	to_validators: Balance,
}

/// An [`EndedEra`] of version 2.
#[derive(Encode, Decode)]
struct EndedV2 {
	parts: PartsV2,
	total_points: u128,
	claimed: Balance,
	to_validators: Balance,
	to_treasury: Balance,
}

impl From<SharesV2> for BudgetShares {
	fn from(SharesV2 { training, inference, data, validation, treasury }: SharesV2) -> Self {
		Self { training: training.saturating_add(inference).saturating_add(data), validation, treasury }
	}
}

impl From<CurrentV2> for CurrentEra {
	fn from(CurrentV2 { index, starts_at, parts, to_validators }: CurrentV2) -> Self {
		let PartsV2 { training, inference, data, validation, treasury } = parts;
		let training = training.saturating_add(inference).saturating_add(data);
		Self { index, starts_at, parts: BudgetParts { training, validation, treasury }, to_validators }
	}
}

impl From<EndedV2> for EndedEra {
	fn from(EndedV2 { parts, total_points, claimed, to_validators, to_treasury }: EndedV2) -> Self {
		let PartsV2 { training, validation, treasury, .. } = parts;
		Self { parts: BudgetParts { training, validation, treasury }, total_points, claimed, to_validators, to_treasury }
	}
}

impl<T: Config> UncheckedOnRuntimeUpgrade for V2ToV3<T> {
	/// Costs a read and a write for each ended era that is kept.
	fn on_runtime_upgrade() -> Weight {
		if Shares::<T>::translate(|old: Option<SharesV2>| old.map(Into::into)).is_err() {
			defensive!("the shares of budgets cannot be read");
		}
		if Current::<T>::translate(|old: Option<CurrentV2>| old.map(Into::into)).is_err() {
			defensive!("the era under way cannot be read");
		}
		let mut eras = 0u64;
		Eras::<T>::translate_values(|old: EndedV2| {
			eras = eras.saturating_add(1);
			Some(old.into())
		});
		T::DbWeight::get().reads_writes(eras.saturating_add(2), eras.saturating_add(2))
	}

	#[cfg(feature = "try-runtime")]
	fn pre_upgrade() -> Result<Vec<u8>, sp_runtime::TryRuntimeError> {
		let eras = Eras::<T>::iter_keys().count();
		Ok(u64::try_from(eras).unwrap_or(u64::MAX).encode())
	}

	#[cfg(feature = "try-runtime")]
	fn post_upgrade(before: Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
		// A value that cannot be decoded would be skipped.
		let decoded = Eras::<T>::iter_values().count();
		let before = u64::decode(&mut before.as_slice()).map_err(|_| "the number of ended eras is lost")?;
		frame_support::ensure!(u64::try_from(decoded) == Ok(before), "an era of before cannot be read");
		Pallet::<T>::do_try_state()
	}
}
