//! Migrations of stored state from earlier versions to this one.

use crate::{sets::ValidatorOf, Config, Exposures, FirstSessions, Pallet, Planned, Sessions};
use alloc::{collections::BTreeMap, vec::Vec};
use core::marker::PhantomData;
use frame_support::{
	migrations::VersionedMigration,
	traits::{Get, UncheckedOnRuntimeUpgrade},
	weights::Weight,
};
use neuroshard_types::AccountId;
use sp_staking::SessionIndex;

/// From version 1 to 2: the running and the planned set are remembered with the keys that they go by. Earlier ones cannot be reported about.
///
/// `Running` gives the keys of [`Sessions::validators`], in their order: the session pallet does not keep them.
pub type MigrateV1ToV2<T, Running> = VersionedMigration<1, 2, V1ToV2<T, Running>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV1ToV2`] for a state of version 1, whatever its version is said to be.
pub struct V1ToV2<T, Running>(PhantomData<(T, Running)>);

type KeysOf<T> = <<T as Config>::Sessions as Sessions>::Keys;

impl<T: Config, Running: Get<Vec<KeysOf<T>>>> UncheckedOnRuntimeUpgrade for V1ToV2<T, Running> {
	fn on_runtime_upgrade() -> Weight {
		let (validators, keys) = (T::Sessions::validators(), Running::get());
		// Keys of others would have the wrong ones slashed.
		if validators.len() == keys.len() {
			remember::<T>(T::Sessions::current(), validators.into_iter().zip(keys));
		}
		remember::<T>(Planned::<T>::get(), T::Sessions::queued().into_iter());
		T::DbWeight::get().reads_writes(12, 4)
	}

	#[cfg(feature = "try-runtime")]
	fn post_upgrade(_: Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
		Pallet::<T>::do_try_state()
	}
}

/// Remembers the set of a session with what it was elected by, unless it is.
fn remember<T: Config>(session: SessionIndex, set: impl Iterator<Item = (AccountId, KeysOf<T>)>) {
	if FirstSessions::<T>::contains_key(session) {
		return;
	}
	let exposures: BTreeMap<_, _> = Exposures::<T>::get(session).into_iter().collect();
	let with_exposure = |(who, keys): (AccountId, KeysOf<T>)| -> ValidatorOf<T> {
		let exposure = exposures.get(&who).copied().unwrap_or_default();
		(who, exposure, keys)
	};
	Pallet::<T>::remember_with_keys(session, set.map(with_exposure).collect());
}
