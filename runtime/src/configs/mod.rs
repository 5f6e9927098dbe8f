//! Configuration of every pallet: here the frame, money and fees; consensus, governance, and NeuroShard's own pallets, in files of their own.

mod consensus;
mod governance;
mod inference;
mod neuro;
mod ownership;

use crate::{
	fees,
	offences::NoSignedReports,
	parameters,
	weights::overhead::{BlockExecutionWeight, ExtrinsicBaseWeight},
	AccountId, Balance, Balances, Block, BlockNumber, Hash, Nonce, OriginCaller, Ownership, PalletInfo, Runtime, RuntimeCall, RuntimeEvent,
	RuntimeFreezeReason, RuntimeHoldReason, RuntimeOrigin, RuntimeTask, SafeMode, System, TxPause, EXISTENTIAL_DEPOSIT, SS58_PREFIX,
	VERSION,
};
use frame_support::{
	derive_impl,
	dispatch::DispatchClass,
	parameter_types,
	traits::{ConstU128, ConstU16, ConstU32, ConstU8, InsideBoth, VariantCountOf},
	weights::{
		constants::{ParityDbWeight, WEIGHT_REF_TIME_PER_SECOND},
		Weight,
	},
};
use frame_system::limits::{BlockLength, BlockWeights};
use sp_runtime::{FixedU128, Perbill};
use sp_version::RuntimeVersion;

/// Of a 3 s block, 2 s may be spent executing extrinsics.
const MAXIMUM_BLOCK_WEIGHT: Weight = Weight::from_parts(WEIGHT_REF_TIME_PER_SECOND.saturating_mul(2), u64::MAX);
/// Bytes that a block may have, its header included.
pub const MAX_BLOCK_LENGTH: u32 = 5 * 1024 * 1024;
/// Bytes that an author's part of a header may have: room for what consensus puts there, and too little to keep nodes from comparing headers.
pub const MAX_HEADER_SIZE: u32 = 16 * 1024;
/// Share of a block that normal extrinsics may fill; the rest is kept for operational ones.
const NORMAL_DISPATCH_RATIO: Perbill = Perbill::from_percent(75);
/// Share of a block that operational extrinsics may fill: they come first, and would leave nothing to others otherwise.
const OPERATIONAL_DISPATCH_RATIO: Perbill = Perbill::from_percent(50);

fn block_weights() -> BlockWeights {
	let normal = NORMAL_DISPATCH_RATIO * MAXIMUM_BLOCK_WEIGHT;
	let mut weights = BlockWeights::builder()
		.base_block(BlockExecutionWeight::get())
		.for_class(DispatchClass::all(), |weights| weights.base_extrinsic = ExtrinsicBaseWeight::get())
		.for_class(DispatchClass::Normal, |weights| weights.max_total = Some(normal))
		.for_class(DispatchClass::Operational, |weights| {
			weights.max_total = Some(MAXIMUM_BLOCK_WEIGHT);
			weights.reserved = Some(MAXIMUM_BLOCK_WEIGHT - normal);
		})
		.avg_block_initialization(Perbill::from_percent(5))
		.build_or_panic();
	// Only now: the builder takes the largest of these limits for the block's.
	let operational = OPERATIONAL_DISPATCH_RATIO * MAXIMUM_BLOCK_WEIGHT;
	let others = MAXIMUM_BLOCK_WEIGHT.saturating_sub(operational);
	let class = weights.per_class.get_mut(DispatchClass::Operational);
	class.max_total = Some(operational);
	class.max_extrinsic = class.max_extrinsic.map(|most| most.saturating_sub(others));
	weights
}

parameter_types! {
	pub const BlockHashCount: BlockNumber = 2_400;
	pub const Version: RuntimeVersion = VERSION;
	pub RuntimeBlockWeights: BlockWeights = block_weights();
	pub RuntimeBlockLength: BlockLength = BlockLength::builder()
		.max_length(MAX_BLOCK_LENGTH)
		.max_header_size(MAX_HEADER_SIZE)
		.modify_max_length_for_class(DispatchClass::Normal, |length| *length = NORMAL_DISPATCH_RATIO * *length)
		.build();
}

#[derive_impl(frame_system::config_preludes::SolochainDefaultConfig)]
impl frame_system::Config for Runtime {
	type BaseCallFilter = InsideBoth<InsideBoth<NoSignedReports, Ownership>, InsideBoth<SafeMode, TxPause>>;
	type Block = Block;
	type BlockWeights = RuntimeBlockWeights;
	type BlockLength = RuntimeBlockLength;
	type BlockHashCount = BlockHashCount;
	type AccountId = AccountId;
	type Nonce = Nonce;
	type Hash = Hash;
	type DbWeight = ParityDbWeight;
	type Version = Version;
	type AccountData = pallet_balances::AccountData<Balance>;
	type Lookup = sp_runtime::traits::AccountIdLookup<AccountId, ()>;
	type SS58Prefix = ConstU16<SS58_PREFIX>;
	type MaxConsumers = ConstU32<64>;
	type SingleBlockMigrations = crate::migrations::SingleBlock;
	type SystemWeightInfo = crate::weights::frame_system::WeightInfo<Runtime>;
	type ExtensionsWeightInfo = crate::weights::frame_system_extensions::WeightInfo<Runtime>;
}

impl parameters::Config for Runtime {}

impl pallet_balances::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type RuntimeHoldReason = RuntimeHoldReason;
	type RuntimeFreezeReason = RuntimeFreezeReason;
	type WeightInfo = crate::weights::pallet_balances::WeightInfo<Runtime>;
	type Balance = Balance;
	type DustRemoval = ();
	type ExistentialDeposit = ConstU128<EXISTENTIAL_DEPOSIT>;
	type AccountStore = System;
	type ReserveIdentifier = [u8; 8];
	type FreezeIdentifier = RuntimeFreezeReason;
	type MaxLocks = ConstU32<16>;
	type MaxReserves = ConstU32<16>;
	type MaxFreezes = VariantCountOf<RuntimeFreezeReason>;
	type DoneSlashHandler = ();
}

parameter_types! {
	pub FeeMultiplier: pallet_transaction_payment::Multiplier = FixedU128::from_u32(1);
}

impl pallet_transaction_payment::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type OnChargeTransaction = pallet_transaction_payment::FungibleAdapter<Balances, fees::ToAuthor>;
	type WeightToFee = fees::WeightFee;
	type LengthToFee = fees::LengthFee;
	type FeeMultiplierUpdate = pallet_transaction_payment::ConstFeeMultiplier<FeeMultiplier>;
	type OperationalFeeMultiplier = ConstU8<5>;
	type WeightInfo = crate::weights::pallet_transaction_payment::WeightInfo<Runtime>;
}

impl pallet_sudo::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type RuntimeCall = RuntimeCall;
	type WeightInfo = crate::weights::pallet_sudo::WeightInfo<Runtime>;
}

impl pallet_utility::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type RuntimeCall = RuntimeCall;
	type PalletsOrigin = OriginCaller;
	type WeightInfo = crate::weights::pallet_utility::WeightInfo<Runtime>;
}
