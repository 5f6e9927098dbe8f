//! What an upgrade to this runtime does to the state that it finds. Each step looks at what is there, the version of its pallet's storage or
//! what a pallet has left behind, and does nothing if there is nothing to do, so that an upgrade may pass over releases.

use crate::{offences::RunningKeys, Runtime};
use frame_support::{migrations::RemovePallet, parameter_types, weights::constants::ParityDbWeight};

parameter_types! {
	/// The pallet that kept roots of earlier sets of validators, of which nothing reads any more.
	pub const Historical: &'static str = "Historical";
}

/// All of them, oldest first.
///
/// A chain that began before there were validators to elect, shares of models and parts of budgets is not among what can be upgraded: these
/// have values of genesis that no step makes. It needs a new genesis. So does one with attestations of datasets, or removed runs, of a runtime before
/// the fourth: accounts had no list of what they attest, and deposits stayed for models without shares.
pub type SingleBlock = (
	pallet_neuro_staking::migrations::MigrateV1ToV2<Runtime>,
	RemovePallet<Historical, ParityDbWeight>,
	pallet_neuro_validators::migrations::MigrateV1ToV2<Runtime, RunningKeys>,
);
