//! Migrations that an upgrade to this runtime applies to the state that it finds. Each step looks at what is there, the version of its pallet's
//! storage or what a pallet has left behind, and does nothing if there is nothing to do, so that an upgrade may pass over releases.

use crate::{enactment, holds::UnownedModels, offences::RunningKeys, parameters, Runtime};
use frame_support::{
	ensure,
	migrations::{RemovePallet, VersionedMigration},
	parameter_types,
	traits::{Get, OnRuntimeUpgrade, UncheckedOnRuntimeUpgrade},
	weights::constants::ParityDbWeight,
};
use neuroshard_graph::config::ARITHMETIC_VERSION;
use sp_runtime::TryRuntimeError;

parameter_types! {
	/// The pallet that kept roots of earlier sets of validators, of which nothing reads any more.
	pub const Historical: &'static str = "Historical";
}

/// All of them, oldest first: what a chain needs that began with `spec_version` 2 or later.
///
/// A chain that began before there were validators to elect, shares of models and parts of budgets is not among what can be upgraded: these
/// have values of genesis that no step makes. It needs a new genesis.
pub type SingleBlock = (
	pallet_neuro_staking::migrations::MigrateV1ToV2<Runtime>,
	pallet_neuro_staking::migrations::MigrateV2ToV3<Runtime>,
	RemovePallet<Historical, ParityDbWeight>,
	pallet_neuro_validators::migrations::MigrateV1ToV2<Runtime, RunningKeys>,
	pallet_neuro_dataset::migrations::MigrateV1ToV2<Runtime>,
	pallet_neuro_training::migrations::MigrateV1ToV2<Runtime, UnownedModels>,
	pallet_neuro_training::migrations::MigrateV2ToV3<Runtime>,
	pallet_neuro_disputes::migrations::MigrateV1ToV2<Runtime>,
	pallet_neuro_disputes::migrations::MigrateV2ToV3<Runtime>,
	pallet_neuro_rewards::migrations::MigrateV2ToV3<Runtime>,
	GetsVersion<parameters::Pallet<Runtime>>,
	GetsVersion<enactment::Pallet<Runtime>>,
	// It reads runs as they are then.
	KeepsArithmetic,
);

/// A pallet whose storage had no version, 0 on chain, has the first one. What it stores stays as it is.
pub type GetsVersion<Pallet> = VersionedMigration<0, 1, Unchanged, Pallet, ParityDbWeight>;

/// Changes nothing.
pub struct Unchanged;

impl UncheckedOnRuntimeUpgrade for Unchanged {}

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
/// If there is a run of another arithmetic version: nobody could be judged about it.
pub fn keeps_arithmetic() -> Result<(), TryRuntimeError> {
	let history = <Runtime as pallet_neuro_training::Config>::HistoryPeriod::get();
	let now = frame_system::Pallet::<Runtime>::block_number();
	for run in pallet_neuro_training::Runs::<Runtime>::iter_values() {
		let needed = run.finished_at.is_none_or(|end| now < end.saturating_add(history));
		ensure!(
			!needed || run.config.train.arithmetic_version == ARITHMETIC_VERSION,
			"a run that is not over has another arithmetic version"
		);
	}
	Ok(())
}
