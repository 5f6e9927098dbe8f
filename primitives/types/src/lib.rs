//! SCALE types and the small traits that pallets, RPC and worker share.
#![cfg_attr(not(feature = "std"), no_std)]
// No float, and no cast that loses a sign or precision. Truncating ones cannot be denied: derives of the codec have some.
#![cfg_attr(not(test), deny(clippy::cast_possible_wrap, clippy::cast_precision_loss, clippy::cast_sign_loss, clippy::float_arithmetic))]
extern crate alloc;

pub mod announcement;
pub mod answer_audit;
pub mod assignment;
pub mod audit;
pub mod dataset;
pub mod dispute;
pub mod grounds;
pub mod inference;
pub mod offence;
pub mod ownership;
pub mod proof;
pub mod provider;
pub mod quorum;
pub mod reward;
pub mod run;
pub mod soundness;
pub mod span;
pub mod traits;
pub mod work;

pub use neuroshard_graph::{
	config::{LEAST_LIMIT, MAX_CLIP, MAX_MOVES, MAX_RADIUS},
	Adapter, Aggregator, Code, Compressed, ConfigError, Family, ModelConfig, Optimizer, Products, Projection, Projections, Robust,
	RopeScaling, Rule, TopK, TrainConfig, F32, MAX_LAYERS, MAX_RANK,
};
pub use sp_core::H256;

/// Account of the chain: an sr25519, ed25519 or ecdsa public key's identifier.
pub type AccountId = sp_runtime::AccountId32;
/// Amount in planck; one NEURO is [`NEURO`] planck.
pub type Balance = u128;
/// Height of a block.
pub type BlockNumber = u32;
/// Chain time in milliseconds since the Unix epoch.
pub type Moment = u64;
/// Identifier of a dataset, counted from 0.
pub type DatasetId = u32;
/// Identifier of a training run, counted from 0.
pub type RunId = u32;
/// Number of a round within its run: theta_r is the checkpoint that round r starts from.
pub type RoundIndex = u32;

/// One NEURO in planck (12 decimals).
pub const NEURO: Balance = 1_000_000_000_000;
/// Most participants of one run.
pub const MAX_PARTICIPANTS: u32 = 128;
/// Most state roots that one reveal carries.
pub const MAX_STATE_ROOTS: u32 = 64;
