//! What an upgrade to this runtime does to the state that it finds. Each step looks at the version of its pallet's storage and does nothing if
//! that is another one, so that an upgrade may pass over releases.

use crate::Runtime;

/// All of them, oldest first.
pub type SingleBlock = (pallet_neuro_staking::migrations::MigrateV1ToV2<Runtime>,);
