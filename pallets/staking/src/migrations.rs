//! Migrations of stored state from earlier versions to this one.

use crate::{types::Missed, ActiveCounts, Bond, Config, Pallet, Provider, Providers, RoleCounts};
use codec::{Decode, Encode};
use core::marker::PhantomData;
use frame_support::{
	migrations::VersionedMigration,
	traits::{Get, UncheckedOnRuntimeUpgrade},
	weights::Weight,
};
use neuroshard_types::{
	provider::{ProviderInfo, ProviderStatus, Roles, MAX_GFLOPS},
	BlockNumber,
};

/// From version 1 to 2: providers get a lock, a suspension and a row of missed audits, none of them set, and those that are active are counted.
///
/// It goes over all providers in one block: about 60 microseconds of weight each, so that 10,000 of them take a third of a block.
pub type MigrateV1ToV2<T> = VersionedMigration<1, 2, V1ToV2<T>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV1ToV2`] for a state of version 1, whatever its version is said to be.
pub struct V1ToV2<T>(PhantomData<T>);

/// A provider as version 1 stored it.
#[derive(Clone, Encode, Decode)]
pub(crate) struct ProviderV1 {
	info: ProviderInfo,
	status: ProviderStatus,
	bond: Bond,
	open_claims: u32,
	disputable_until: BlockNumber,
	reputation: u32,
}

impl From<ProviderV1> for Provider {
	fn from(old: ProviderV1) -> Self {
		let ProviderV1 { info, status, bond, open_claims, disputable_until, reputation } = old;
		let (locked_until, suspended_until, missed) = (0, 0, Missed::default());
		Self { info, status, bond, open_claims, disputable_until, reputation, locked_until, suspended_until, missed }
	}
}

impl<T: Config> UncheckedOnRuntimeUpgrade for V1ToV2<T> {
	fn on_runtime_upgrade() -> Weight {
		let (mut active, mut providers) = (RoleCounts::default(), 0u64);
		Providers::<T>::translate(|_, old: ProviderV1| {
			let provider = Provider::from(old);
			active.change(Roles::default(), provider.active_roles());
			providers = providers.saturating_add(1);
			Some(provider)
		});
		ActiveCounts::<T>::put(active);
		T::DbWeight::get().reads_writes(providers.saturating_add(1), providers.saturating_add(1))
	}

	#[cfg(feature = "try-runtime")]
	fn pre_upgrade() -> Result<alloc::vec::Vec<u8>, sp_runtime::TryRuntimeError> {
		let providers = u64::try_from(Providers::<T>::iter_keys().count()).map_err(|_| "too many providers to be counted")?;
		Ok(providers.encode())
	}

	#[cfg(feature = "try-runtime")]
	fn post_upgrade(before: alloc::vec::Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
		let before = u64::decode(&mut &before[..]).map_err(|_| "the number of providers was not noted")?;
		let after = u64::try_from(Providers::<T>::iter().count()).map_err(|_| "too many providers to be counted")?;
		frame_support::ensure!(before == after, "a provider could not be migrated");
		Ok(())
	}
}

/// From version 2 to 3: no registered speed is above [`MAX_GFLOPS`]. What was registered before counts as tested, and would be plausible whatever it claims.
pub type MigrateV2ToV3<T> = VersionedMigration<2, 3, V2ToV3<T>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV2ToV3`] for a state of version 2, whatever its version is said to be.
pub struct V2ToV3<T>(PhantomData<T>);

impl<T: Config> UncheckedOnRuntimeUpgrade for V2ToV3<T> {
	/// Costs a read and a write for each provider.
	fn on_runtime_upgrade() -> Weight {
		let mut providers = 0u64;
		Providers::<T>::translate_values(|mut provider: Provider| {
			providers = providers.saturating_add(1);
			let speed = &mut provider.info.hardware.gflops;
			*speed = MAX_GFLOPS.min(*speed);
			Some(provider)
		});
		T::DbWeight::get().reads_writes(providers, providers)
	}

	#[cfg(feature = "try-runtime")]
	fn pre_upgrade() -> Result<alloc::vec::Vec<u8>, sp_runtime::TryRuntimeError> {
		V1ToV2::<T>::pre_upgrade()
	}

	#[cfg(feature = "try-runtime")]
	fn post_upgrade(before: alloc::vec::Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
		V1ToV2::<T>::post_upgrade(before)?;
		Pallet::<T>::do_try_state()
	}
}
