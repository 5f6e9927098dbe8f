//! The NeuroShard runtime: wires the pallets, and carries the same kernel source that workers run.
#![cfg_attr(not(feature = "std"), no_std)]
// No float, and no cast that loses a sign or precision. Truncating ones cannot be denied: derives of the codec have some.
#![cfg_attr(
	not(any(test, feature = "runtime-benchmarks")),
	deny(clippy::cast_possible_wrap, clippy::cast_precision_loss, clippy::cast_sign_loss, clippy::float_arithmetic)
)]
#![allow(missing_docs, reason = "the runtime macros generate undocumented items")]
// `#[frame_support::runtime]` and `impl_runtime_apis!` expand to deeply nested types.
#![recursion_limit = "512"]

#[cfg(feature = "std")]
include!(concat!(env!("OUT_DIR"), "/wasm_binary.rs"));

extern crate alloc;

// First, since the interfaces use its macros.
#[cfg(feature = "runtime-benchmarks")]
#[macro_use]
mod benchmarks;

pub mod answers;
pub mod apis;
pub mod carriers;
pub mod configs;
pub mod enactment;
pub mod fees;
pub mod genesis;
pub mod holds;
pub mod invariants;
pub mod kernels_api;
pub mod migrations;
pub mod offences;
pub mod origins;
pub mod parameters;
pub mod proxies;
pub mod safety;
pub mod sources;
pub mod weights;

use alloc::{borrow::Cow, vec::Vec};
use sp_runtime::{
	generic, impl_opaque_keys,
	traits::{BlakeTwo256, IdentifyAccount, Verify},
	MultiAddress, MultiSignature,
};
use sp_version::{runtime_version, RuntimeVersion};

pub use apis::RuntimeApi;
pub use neuroshard_types::{Balance, BlockNumber, NEURO};

/// Signature of an extrinsic.
pub type Signature = MultiSignature;
/// Account identifier.
pub type AccountId = <<Signature as Verify>::Signer as IdentifyAccount>::AccountId;
/// Transaction index of an account.
pub type Nonce = u32;
/// Hash of blocks, extrinsics and storage.
pub type Hash = sp_core::H256;
/// Address format of calls.
pub type Address = MultiAddress<AccountId, ()>;
/// Block header.
pub type Header = generic::Header<BlockNumber, BlakeTwo256>;
/// Block.
pub type Block = generic::Block<Header, UncheckedExtrinsic>;
/// Those checks and effects around signed extrinsics that tell operational ones from others, and what is between them.
pub type ByClass = (
	frame_system::CheckWeight<Runtime>,
	pallet_transaction_payment::ChargeTransactionPayment<Runtime>,
	frame_metadata_hash_extension::CheckMetadataHash<Runtime>,
	frame_system::WeightReclaim<Runtime>,
);
/// Checks and effects around every signed extrinsic.
pub type TxExtension = (
	frame_system::AuthorizeCall<Runtime>,
	frame_system::CheckNonZeroSender<Runtime>,
	frame_system::CheckSpecVersion<Runtime>,
	frame_system::CheckTxVersion<Runtime>,
	frame_system::CheckGenesis<Runtime>,
	frame_system::CheckEra<Runtime>,
	frame_system::CheckNonce<Runtime>,
	pallet_neuro_disputes::CheckTurn<Runtime>,
	pallet_neuro_disputes::MovesAlone<Runtime, ByClass>,
);
/// Extrinsic as it travels.
pub type UncheckedExtrinsic = generic::UncheckedExtrinsic<Address, RuntimeCall, Signature, TxExtension>;
/// Payload that is signed.
pub type SignedPayload = generic::SignedPayload<RuntimeCall, TxExtension>;
/// Executes blocks.
pub type Executive = frame_executive::Executive<Runtime, Block, frame_system::ChainContext<Runtime>, Runtime, AllPalletsWithSystem>;

/// A block without knowledge of this runtime's calls, as the node's services handle it.
pub mod opaque {
	use super::{generic, BlakeTwo256, BlockNumber};
	pub use sp_runtime::OpaqueExtrinsic as UncheckedExtrinsic;
	/// Opaque header.
	pub type Header = generic::Header<BlockNumber, BlakeTwo256>;
	/// Opaque block.
	pub type Block = generic::Block<Header, UncheckedExtrinsic>;
}

impl_opaque_keys! {
	/// Keys that a validator rotates together.
	#[derive(codec::MaxEncodedLen)]
	pub struct SessionKeys {
		/// Block production.
		pub babe: Babe,
		/// Finality.
		pub grandpa: Grandpa,
	}
}

/// Version of this runtime.
#[runtime_version]
pub const VERSION: RuntimeVersion = RuntimeVersion {
	spec_name: Cow::Borrowed("neuroshard"),
	impl_name: Cow::Borrowed("neuroshard"),
	authoring_version: 1,
	spec_version: 20,
	impl_version: 1,
	apis: apis::RUNTIME_API_VERSIONS,
	transaction_version: 4,
	system_version: 1,
};

/// Milliseconds between blocks.
pub const BLOCK_TIME_MS: u64 = 3_000;
/// Blocks of a day.
pub const DAYS: BlockNumber = 86_400_000 / 3_000;
/// Smallest balance that keeps an account alive: 0.001 NEURO.
pub const EXISTENTIAL_DEPOSIT: Balance = NEURO / 1_000;
/// SS58 prefix of addresses.
pub const SS58_PREFIX: u16 = 42;
/// Most block authors.
pub const MAX_AUTHORITIES: u32 = 100;
/// Most candidates for block authoring. All of them are read in every session.
pub const MAX_CANDIDATES: u32 = 1_000;

/// Primary and secondary slots: every slot has an author, so block times stay regular. Secondary ones carry a VRF output too, since
/// training draws its seeds from every block.
pub const BABE_GENESIS_EPOCH_CONFIG: sp_consensus_babe::BabeEpochConfiguration =
	sp_consensus_babe::BabeEpochConfiguration { c: (1, 4), allowed_slots: sp_consensus_babe::AllowedSlots::PrimaryAndSecondaryVRFSlots };

#[frame_support::runtime]
mod runtime {
	use super::*;

	/// The runtime.
	#[runtime::runtime]
	#[runtime::derive(
		RuntimeCall,
		RuntimeEvent,
		RuntimeError,
		RuntimeOrigin,
		RuntimeFreezeReason,
		RuntimeHoldReason,
		RuntimeSlashReason,
		RuntimeLockId,
		RuntimeTask,
		RuntimeViewFunction
	)]
	pub struct Runtime;

	#[runtime::pallet_index(0)]
	pub type System = frame_system;
	#[runtime::pallet_index(1)]
	pub type Timestamp = pallet_timestamp;
	#[runtime::pallet_index(2)]
	pub type Parameters = crate::parameters;
	#[runtime::pallet_index(3)]
	pub type Babe = pallet_babe;
	#[runtime::pallet_index(4)]
	pub type Balances = pallet_balances;
	#[runtime::pallet_index(5)]
	pub type Validators = pallet_neuro_validators;
	// A session begins before the author of its first block is looked up among its validators.
	#[runtime::pallet_index(6)]
	pub type Session = pallet_session;
	#[runtime::pallet_index(8)]
	pub type Grandpa = pallet_grandpa;
	#[runtime::pallet_index(9)]
	pub type Sudo = pallet_sudo;
	#[runtime::pallet_index(10)]
	pub type Utility = pallet_utility;
	#[runtime::pallet_index(11)]
	pub type Council = pallet_collective<Instance1>;
	#[runtime::pallet_index(12)]
	pub type TechnicalCommittee = pallet_collective<Instance2>;
	#[runtime::pallet_index(13)]
	pub type Treasury = pallet_treasury;
	#[runtime::pallet_index(14)]
	pub type Preimage = pallet_preimage;
	#[runtime::pallet_index(15)]
	pub type Scheduler = pallet_scheduler;
	#[runtime::pallet_index(16)]
	pub type Multisig = pallet_multisig;
	#[runtime::pallet_index(17)]
	pub type Proxy = pallet_proxy;
	#[runtime::pallet_index(18)]
	pub type Identity = pallet_identity;
	#[runtime::pallet_index(19)]
	pub type SafeMode = pallet_safe_mode;
	#[runtime::pallet_index(27)]
	pub type TxPause = pallet_tx_pause;
	#[runtime::pallet_index(31)]
	pub type Enactment = crate::enactment;
	#[runtime::pallet_index(28)]
	pub type Authorship = pallet_authorship;
	#[runtime::pallet_index(29)]
	pub type Offences = pallet_offences;
	#[runtime::pallet_index(30)]
	pub type TransactionPayment = pallet_transaction_payment;

	// Genesis is built in the order of the indices, not of these lines. `Disputes` comes last: it reads the durations of `Ponw`, `Staking` and
	// `Training` to check that they are longer than claims can be disputed.
	#[runtime::pallet_index(20)]
	pub type Ponw = pallet_neuro_ponw;
	#[runtime::pallet_index(25)]
	pub type Disputes = pallet_neuro_disputes;
	#[runtime::pallet_index(21)]
	pub type Staking = pallet_neuro_staking;
	#[runtime::pallet_index(22)]
	pub type Dataset = pallet_neuro_dataset;
	#[runtime::pallet_index(23)]
	pub type Training = pallet_neuro_training;
	#[runtime::pallet_index(24)]
	pub type Rewards = pallet_neuro_rewards;
	#[runtime::pallet_index(26)]
	pub type Ownership = pallet_neuro_ownership;
	#[runtime::pallet_index(32)]
	pub type Inference = pallet_neuro_inference;
	#[runtime::pallet_index(40)]
	pub type Assets = pallet_assets;
}
