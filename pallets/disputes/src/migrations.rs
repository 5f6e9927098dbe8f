//! Migrations of stored state from earlier versions to this one.

use crate::{AnswerAudits, AnswerDrawPrice, Config, DisputedAnswers, DrawnAnswers, NotedAnswers, Pallet, UndrawnAnswers};
#[cfg(feature = "try-runtime")]
use alloc::vec::Vec;
use codec::{Decode, Encode};
use core::marker::PhantomData;
use frame_support::{
	migrations::VersionedMigration,
	traits::{Get, UncheckedOnRuntimeUpgrade},
	weights::Weight,
};
use neuroshard_types::{
	answer_audit::PaidAnswersOf,
	dispute::AnswerClaim,
	inference::{CheckpointId, Receipt, SessionId},
	run::OldRunConfig,
	AccountId, Balance, BlockNumber, H256, NEURO,
};

/// From version 1 to 2: runs say whether their rounds overlap, also those whose answers are disputed. Those of before do not.
pub type MigrateV1ToV2<T> = VersionedMigration<1, 2, V1ToV2<T>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV1ToV2`] for a state of version 1, whatever its version is said to be.
pub struct V1ToV2<T>(PhantomData<T>);

/// An [`AnswerClaim`] of version 1.
#[derive(Encode, Decode)]
struct AnswerClaimV1 {
	config: OldRunConfig,
	receipt: Receipt,
}

impl<T: Config> UncheckedOnRuntimeUpgrade for V1ToV2<T> {
	/// Costs a read and a write for each answer about which games are open.
	fn on_runtime_upgrade() -> Weight {
		let mut answers = 0u64;
		DisputedAnswers::<T>::translate_values(|AnswerClaimV1 { config, receipt }| {
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

/// From version 2 to 3: draws of answers have a price, and auditors are listed in the order of the closes.
pub type MigrateV2ToV3<T> = VersionedMigration<2, 3, V2ToV3<T>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV2ToV3`] for a state of version 2, whatever its version is said to be.
pub struct V2ToV3<T>(PhantomData<T>);

/// A [`NotedAnswers`] of version 2.
#[derive(Encode, Decode)]
struct NotedAnswersV2 {
	session: SessionId,
	provider: AccountId,
	before: u32,
	answers: u32,
	receipts: H256,
	checkpoint: CheckpointId,
	epoch: u64,
	paid_at: BlockNumber,
}

impl From<NotedAnswersV2> for NotedAnswers {
	fn from(old: NotedAnswersV2) -> Self {
		let NotedAnswersV2 { session, provider, before, answers, receipts, checkpoint, epoch, paid_at } = old;
		// Nobody knows what was paid: they are drawn as they were to be.
		let answers = PaidAnswersOf { session, provider, before, answers, receipts, checkpoint, paid: Balance::MAX };
		Self { answers, epoch, paid_at }
	}
}

impl<T: Config> UncheckedOnRuntimeUpgrade for V2ToV3<T> {
	/// Costs a read and a write for each claim of pay that waits for its draw, and two of each for each audit of an answer.
	fn on_runtime_upgrade() -> Weight {
		AnswerDrawPrice::<T>::put(NEURO);
		let mut entries = 0u64;
		UndrawnAnswers::<T>::translate_values(|old: NotedAnswersV2| {
			entries = entries.saturating_add(1);
			Some(old.into())
		});
		// All keys of before, which begin as those of now do.
		let _ = DrawnAnswers::<T>::clear(u32::MAX, None);
		for (answer, audit) in AnswerAudits::<T>::iter() {
			entries = entries.saturating_add(2);
			DrawnAnswers::<T>::insert((audit.auditor, audit.closes_at.to_be_bytes(), answer), ());
		}
		T::DbWeight::get().reads_writes(entries.saturating_add(1), entries.saturating_add(1))
	}

	#[cfg(feature = "try-runtime")]
	fn pre_upgrade() -> Result<Vec<u8>, sp_runtime::TryRuntimeError> {
		let noted = UndrawnAnswers::<T>::iter_keys().count();
		Ok(u64::try_from(noted).unwrap_or(u64::MAX).encode())
	}

	#[cfg(feature = "try-runtime")]
	fn post_upgrade(before: Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
		// A value that cannot be decoded would be skipped.
		let decoded = UndrawnAnswers::<T>::iter_values().count();
		let before = u64::decode(&mut before.as_slice()).map_err(|_| "the number of claims of pay is lost")?;
		frame_support::ensure!(u64::try_from(decoded) == Ok(before), "a claim of pay of before cannot be read");
		Pallet::<T>::do_try_state()
	}
}
