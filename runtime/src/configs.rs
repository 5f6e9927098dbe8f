//! Configuration of every pallet.

use crate::{
	carriers, fees, parameters,
	sources::{ChainTime, Epochs, Outlasting, VrfRandomness},
	AccountId, Babe, Balance, Balances, Block, BlockNumber, Dataset, Disputes, Hash, Nonce, OriginCaller, PalletInfo, Ponw, Rewards,
	Runtime, RuntimeCall, RuntimeEvent, RuntimeFreezeReason, RuntimeHoldReason, RuntimeOrigin, RuntimeTask, Session, SessionKeys, Staking,
	System, Training, BLOCK_TIME_MS, DAYS, EXISTENTIAL_DEPOSIT, MAX_AUTHORITIES, NEURO, SS58_PREFIX, VERSION,
};
use frame_support::{
	derive_impl,
	dispatch::DispatchClass,
	parameter_types,
	traits::{ConstU128, ConstU16, ConstU32, ConstU64, ConstU8, VariantCountOf},
	weights::{
		constants::{BlockExecutionWeight, ExtrinsicBaseWeight, ParityDbWeight, WEIGHT_REF_TIME_PER_SECOND},
		Weight,
	},
};
use frame_system::limits::{BlockLength, BlockWeights};
use sp_runtime::{
	traits::{ConvertInto, OpaqueKeys},
	FixedU128, Perbill,
};
use sp_version::RuntimeVersion;

/// Of a 3 s block, 2 s may be spent executing extrinsics.
const MAXIMUM_BLOCK_WEIGHT: Weight = Weight::from_parts(WEIGHT_REF_TIME_PER_SECOND.saturating_mul(2), u64::MAX);
/// Share of a block that normal extrinsics may fill; the rest is kept for operational ones.
const NORMAL_DISPATCH_RATIO: Perbill = Perbill::from_percent(75);

parameter_types! {
	pub const BlockHashCount: BlockNumber = 2_400;
	pub const Version: RuntimeVersion = VERSION;
	pub RuntimeBlockWeights: BlockWeights = BlockWeights::builder()
		.base_block(BlockExecutionWeight::get())
		.for_class(DispatchClass::all(), |weights| weights.base_extrinsic = ExtrinsicBaseWeight::get())
		.for_class(DispatchClass::Normal, |weights| weights.max_total = Some(NORMAL_DISPATCH_RATIO * MAXIMUM_BLOCK_WEIGHT))
		.for_class(DispatchClass::Operational, |weights| {
			weights.max_total = Some(MAXIMUM_BLOCK_WEIGHT);
			weights.reserved = Some(MAXIMUM_BLOCK_WEIGHT - NORMAL_DISPATCH_RATIO * MAXIMUM_BLOCK_WEIGHT);
		})
		.avg_block_initialization(Perbill::from_percent(5))
		.build_or_panic();
	pub RuntimeBlockLength: BlockLength = BlockLength::builder()
		.max_length(5 * 1024 * 1024)
		.modify_max_length_for_class(DispatchClass::Normal, |length| *length = NORMAL_DISPATCH_RATIO * *length)
		.build();
}

#[derive_impl(frame_system::config_preludes::SolochainDefaultConfig)]
impl frame_system::Config for Runtime {
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
	type SystemWeightInfo = frame_system::weights::SubstrateWeight<Runtime>;
}

impl parameters::Config for Runtime {}

impl pallet_timestamp::Config for Runtime {
	type Moment = u64;
	type OnTimestampSet = Babe;
	type MinimumPeriod = ConstU64<{ BLOCK_TIME_MS / 2 }>;
	type WeightInfo = pallet_timestamp::weights::SubstrateWeight<Runtime>;
}

impl pallet_babe::Config for Runtime {
	type EpochDuration = parameters::GetEpochLength<Runtime>;
	type ExpectedBlockTime = ConstU64<BLOCK_TIME_MS>;
	type EpochChangeTrigger = pallet_babe::ExternalTrigger;
	type DisabledValidators = Session;
	type WeightInfo = ();
	type MaxAuthorities = ConstU32<MAX_AUTHORITIES>;
	type MaxNominators = ConstU32<0>;
	type KeyOwnerProof = sp_core::Void;
	type EquivocationReportSystem = ();
}

impl pallet_grandpa::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type WeightInfo = ();
	type MaxAuthorities = ConstU32<MAX_AUTHORITIES>;
	type MaxNominators = ConstU32<0>;
	type MaxSetIdSessionEntries = ConstU64<0>;
	type KeyOwnerProof = sp_core::Void;
	type EquivocationReportSystem = ();
}

impl pallet_authorship::Config for Runtime {
	type FindAuthor = pallet_session::FindAccountFromAuthorIndex<Self, Babe>;
	type EventHandler = ();
}

impl pallet_session::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type ValidatorId = AccountId;
	type ValidatorIdOf = ConvertInto;
	type ShouldEndSession = Babe;
	type NextSessionRotation = Babe;
	// The validator set is fixed at genesis: no manager ever names another one.
	type SessionManager = ();
	type SessionHandler = <SessionKeys as OpaqueKeys>::KeyTypeIdProviders;
	type Keys = SessionKeys;
	type DisablingStrategy = ();
	type WeightInfo = pallet_session::weights::SubstrateWeight<Runtime>;
	type Currency = Balances;
	type KeyDeposit = ConstU128<NEURO>;
}

impl pallet_balances::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type RuntimeHoldReason = RuntimeHoldReason;
	type RuntimeFreezeReason = RuntimeFreezeReason;
	type WeightInfo = pallet_balances::weights::SubstrateWeight<Runtime>;
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
	type WeightInfo = pallet_transaction_payment::weights::SubstrateWeight<Runtime>;
}

impl pallet_sudo::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type RuntimeCall = RuntimeCall;
	type WeightInfo = pallet_sudo::weights::SubstrateWeight<Runtime>;
}

impl pallet_utility::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type RuntimeCall = RuntimeCall;
	type PalletsOrigin = OriginCaller;
	type WeightInfo = pallet_utility::weights::SubstrateWeight<Runtime>;
}

impl pallet_neuro_staking::Config for Runtime {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type DisputePeriod = pallet_neuro_disputes::GetDisputePeriod<Runtime>;
	type Randomness = VrfRandomness;
	type WeightInfo = pallet_neuro_staking::weights::SubstrateWeight<Runtime>;
}

impl pallet_neuro_dataset::Config for Runtime {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type DepositBase = ConstU128<{ 10 * NEURO }>;
	type DepositPerByte = ConstU128<{ NEURO / 100 }>;
	type WeightInfo = pallet_neuro_dataset::weights::SubstrateWeight<Runtime>;
}

impl pallet_neuro_training::Config for Runtime {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type Providers = Staking;
	type Datasets = Dataset;
	type Proofs = Ponw;
	type Clock = ChainTime;
	type Randomness = VrfRandomness;
	type OnAdopted = Disputes;
	type ApproveOrigin = frame_system::EnsureRoot<AccountId>;
	type RunDeposit = ConstU128<{ 50 * NEURO }>;
	type RecordDeposit = ConstU128<{ NEURO / 100 }>;
	type DisputePeriod = pallet_neuro_disputes::GetDisputePeriod<Runtime>;
	type RecordsKept = ConstU32<4_096>;
	type HistoryPeriod = ConstU32<{ 14 * DAYS }>;
	// Deposits come back, so the bound is generous: taking every place to keep others out ties up 128 of them, and root may stop any run.
	type MaxActiveRuns = ConstU32<128>;
	type MaxPhaseDuration = ConstU32<{ 7 * DAYS }>;
	type MaxRepeats = ConstU32<3>;
	type MaxReplay = ConstU32<MAX_REPLAY>;
	type WeightInfo = pallet_neuro_training::weights::SubstrateWeight<Runtime>;
}

impl pallet_neuro_ponw::Config for Runtime {
	type Providers = Staking;
	type Credits = Rewards;
	type Clock = ChainTime;
	type Slack = ConstU32<{ pallet_neuro_ponw::DEFAULT_SLACK }>;
	type MaxFinalPerBlock = ConstU32<64>;
	type WeightInfo = pallet_neuro_ponw::weights::SubstrateWeight<Runtime>;
}

/// Most outer steps of one Checkpointing: rounds of a day, the challenge window of most chain specs, if they take a minute and a half each.
const MAX_REPLAY: u32 = 1_024;

parameter_types! {
	/// Half of a slash is paid out and only the other half deters, so it takes everything.
	pub const SlashShare: Perbill = Perbill::one();
	/// A sixteenth. So 32 games against an account hold twice its stake, and half of that is burned if all of them are lost: as much as
	/// the account has, whatever that is.
	pub const BondShare: Perbill = Perbill::from_parts(62_500_000);
}

impl pallet_neuro_disputes::Config for Runtime {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type Claims = Training;
	type Providers = Staking;
	type Credits = Rewards;
	type Epochs = Epochs;
	type EpochLength = parameters::GetEpochLength<Runtime>;
	type AuditRandomness = pallet_babe::RandomnessFromOneEpochAgo<Runtime>;
	type ChallengeWindow = pallet_neuro_ponw::GetChallengeWindow<Runtime>;
	type Bond = ConstU128<{ 100 * NEURO }>;
	type BondShare = BondShare;
	type MaxGamesPerDefender = ConstU32<32>;
	type SlashShare = SlashShare;
	type MaxReplay = ConstU32<MAX_REPLAY>;
	type MaxEndsPerBlock = ConstU32<32>;
	type Outlasting = Outlasting;
	type Carriers = carriers::UtilityAndSudo;
	type WeightInfo = pallet_neuro_disputes::weights::SubstrateWeight<Runtime>;
}

impl pallet_neuro_rewards::Config for Runtime {
	type Currency = Balances;
	type Providers = Staking;
	type WeightInfo = pallet_neuro_rewards::weights::SubstrateWeight<Runtime>;
}
