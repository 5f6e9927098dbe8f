//! Migrations that an upgrade to this runtime applies to a state of the release before.

use crate::Runtime;
use frame_support::{
	ensure,
	traits::{Get, OnRuntimeUpgrade},
	weights::Weight,
};
use neuroshard_graph::config::{ARITHMETIC_VERSION, OLDEST_ARITHMETIC};
use sp_runtime::TryRuntimeError;

/// All of them, in the order in which they are applied.
///
/// A chain of an older release goes through the one before first: nothing here reads what earlier ones stored. Tools that try an upgrade beforehand refuse
/// it where the storage of a pallet is of another version than the code's.
pub type SingleBlock = (
	pallet_neuro_dataset::migrations::MigrateV2ToV3<Runtime>,
	pallet_neuro_training::migrations::MigrateV3ToV4<Runtime>,
	pallet_neuro_disputes::migrations::MigrateV3ToV4<Runtime>,
	pallet_neuro_disputes::migrations::MigrateV4ToV5<Runtime>,
	OutlastsDisputes,
	// Last: it reads runs as this runtime stores them.
	KeepsArithmetic,
);

/// Games about the work of quorums last longer than others. Where the cooldown of unbonding is not longer than claims can be disputed now, as on development networks,
/// it becomes so.
pub struct OutlastsDisputes;

impl OnRuntimeUpgrade for OutlastsDisputes {
	fn on_runtime_upgrade() -> Weight {
		let needed = pallet_neuro_disputes::GetDisputePeriod::<Runtime>::get().saturating_add(1);
		pallet_neuro_staking::Cooldown::<Runtime>::mutate(|cooldown| *cooldown = (*cooldown).max(needed));
		<Runtime as frame_system::Config>::DbWeight::get().reads_writes(4, 1)
	}
}

/// Makes tools that try an upgrade beforehand refuse it as [`keeps_arithmetic`] does. It does nothing on chain: a block cannot refuse it any more.
pub struct KeepsArithmetic;

impl OnRuntimeUpgrade for KeepsArithmetic {
	#[cfg(feature = "try-runtime")]
	fn pre_upgrade() -> Result<alloc::vec::Vec<u8>, TryRuntimeError> {
		keeps_arithmetic().map(|()| alloc::vec::Vec::new())
	}
}

/// Checks that this runtime computes as all runs do that are live, or of which something may still be disputed.
///
/// # Errors
/// If there is a run of an arithmetic version that it does not have: nobody could be judged about it.
pub fn keeps_arithmetic() -> Result<(), TryRuntimeError> {
	let history = <Runtime as pallet_neuro_training::Config>::HistoryPeriod::get();
	let now = frame_system::Pallet::<Runtime>::block_number();
	for run in pallet_neuro_training::Runs::<Runtime>::iter_values() {
		let needed = run.finished_at.is_none_or(|end| now < end.saturating_add(history));
		ensure!(
			!needed || (OLDEST_ARITHMETIC..=ARITHMETIC_VERSION).contains(&run.config.train.arithmetic_version),
			"a run that is not over has an arithmetic version that this runtime does not have"
		);
	}
	Ok(())
}
