//! Migrations of stored state from earlier versions to this one.

use crate::{Config, DisputedAnswers, Pallet};
#[cfg(feature = "try-runtime")]
use alloc::vec::Vec;
use codec::{Decode, Encode};
use core::marker::PhantomData;
use frame_support::{
	migrations::VersionedMigration,
	traits::{Get, UncheckedOnRuntimeUpgrade},
	weights::Weight,
};
use neuroshard_types::{dispute::AnswerClaim, inference::Receipt, run::OldRunConfig};

/// From version 3 to 4: runs say what texts are made of, and models of which family they are, also those whose answers are disputed. Those of before
/// speak bytes, and are Llamas.
pub type MigrateV3ToV4<T> = VersionedMigration<3, 4, V3ToV4<T>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV3ToV4`] for a state of version 3, whatever its version is said to be.
pub struct V3ToV4<T>(PhantomData<T>);

/// An [`AnswerClaim`] of version 3.
#[derive(Encode, Decode)]
pub(crate) struct AnswerClaimV3 {
	pub config: OldRunConfig,
	pub receipt: Receipt,
}

impl<T: Config> UncheckedOnRuntimeUpgrade for V3ToV4<T> {
	/// Costs a read and a write for each answer about which games are open.
	fn on_runtime_upgrade() -> Weight {
		let mut answers = 0u64;
		DisputedAnswers::<T>::translate_values(|AnswerClaimV3 { config, receipt }| {
			answers = answers.saturating_add(1);
			Some(AnswerClaim { config: config.into(), receipt })
		});
		T::DbWeight::get().reads_writes(answers.saturating_add(1), answers)
	}

	#[cfg(feature = "try-runtime")]
	fn pre_upgrade() -> Result<Vec<u8>, sp_runtime::TryRuntimeError> {
		let answers = DisputedAnswers::<T>::iter_keys().count();
		Ok(u64::try_from(answers).unwrap_or(u64::MAX).encode())
	}

	#[cfg(feature = "try-runtime")]
	fn post_upgrade(before: Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
		// A value that cannot be decoded would be skipped.
		let decoded = DisputedAnswers::<T>::iter_values().count();
		let before = u64::decode(&mut before.as_slice()).map_err(|_| "the number of disputed answers is lost")?;
		frame_support::ensure!(u64::try_from(decoded) == Ok(before), "a disputed answer of before cannot be read");
		Pallet::<T>::do_try_state()
	}
}
