//! What an upgrade to this runtime does to the state that it finds. Each step looks at the version of its pallet's storage and does nothing if
//! that is another one, so that an upgrade may pass over releases.

use crate::Runtime;

/// All of them, oldest first.
///
/// A chain that began before there were validators to elect, shares of models and parts of budgets is not among what can be upgraded: these
/// have values of genesis that no step makes. It needs a new genesis.
pub type SingleBlock = (pallet_neuro_staking::migrations::MigrateV1ToV2<Runtime>,);
