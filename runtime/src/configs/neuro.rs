//! NeuroShard's own pallets, and how they meet.

use crate::{
	answers, carriers, fees, origins, parameters,
	sources::{ChainTime, Epochs, Outlasting, VrfRandomness},
	AccountId, Balances, Dataset, Disputes, Inference, Ownership, Ponw, Rewards, Runtime, RuntimeHoldReason, Staking, Training, Treasury,
	DAYS, NEURO,
};
use frame_support::{
	parameter_types,
	traits::{ConstU128, ConstU32},
};
use pallet_neuro_disputes::Share;
use sp_runtime::Perbill;

impl pallet_neuro_staking::Config for Runtime {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type DisputePeriod = pallet_neuro_disputes::GetDisputePeriod<Runtime>;
	type Randomness = VrfRandomness;
	type BlocksPerDay = ConstU32<DAYS>;
	type SlashOrigin = origins::RootOrTwoThirdsCouncil;
	type WeightInfo = crate::weights::Staking;
}

impl pallet_neuro_dataset::Config for Runtime {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type DepositBase = ConstU128<{ 10 * NEURO }>;
	type DepositPerByte = ConstU128<{ NEURO / 100 }>;
	type Providers = Staking;
	type RetireOrigin = origins::RetireDataset;
	// What is attested, by a hashed account and an identifier; and the list of what the account attests, by the hashed account. Keys and values.
	type AttestationDeposit = ConstU128<{ fees::deposit(2, (60 + 32) + (48 + 5)) }>;
	type ChallengeBond = ConstU128<{ 10 * NEURO }>;
	// What the seed takes for an invalid proof.
	type FailurePenalty = ConstU128<{ 100 * NEURO }>;
	type WeightInfo = crate::weights::Dataset;
	#[cfg(feature = "runtime-benchmarks")]
	type BenchmarkHelper = crate::benchmarks::Helper;
}

impl pallet_neuro_training::Config for Runtime {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type Providers = Staking;
	type Datasets = Dataset;
	type Proofs = Ponw;
	type Units = Rewards;
	type Clock = ChainTime;
	type Randomness = VrfRandomness;
	type OnAdopted = Disputes;
	type ApproveOrigin = origins::RootOrTwoThirdsCouncil;
	type StopOrigin = origins::StopRun;
	type RunDeposit = ConstU128<{ 50 * NEURO }>;
	type RecordDeposit = ConstU128<{ NEURO / 100 }>;
	type Shares = Ownership;
	// What nobody removes of a model: its class of shares, their names, and its revenue. Keys and values.
	type ModelDeposit = ConstU128<{ fees::deposit(3, (20 + 190) + (20 + 61) + (12 + 112)) }>;
	type DisputePeriod = pallet_neuro_disputes::GetDisputePeriod<Runtime>;
	type RecordsKept = ConstU32<4_096>;
	type HistoryPeriod = ConstU32<{ 14 * DAYS }>;
	// Deposits come back, so the bound is generous: taking every place to keep others out ties up 128 of them, and governance may stop any run.
	type MaxActiveRuns = ConstU32<128>;
	type MaxPhaseDuration = ConstU32<{ 7 * DAYS }>;
	type MaxRepeats = ConstU32<3>;
	type MaxReplay = ConstU32<MAX_REPLAY>;
	type WeightInfo = crate::weights::Training;
	#[cfg(feature = "runtime-benchmarks")]
	type BenchmarkHelper = crate::benchmarks::Helper;
}

impl pallet_neuro_ponw::Config for Runtime {
	type Providers = Staking;
	type Credits = Rewards;
	type OnFinal = Ownership;
	type Clock = ChainTime;
	type Slack = ConstU32<{ pallet_neuro_ponw::DEFAULT_SLACK }>;
	type MaxFinalPerBlock = ConstU32<64>;
	type WeightInfo = crate::weights::Ponw;
	#[cfg(feature = "runtime-benchmarks")]
	type BenchmarkHelper = crate::benchmarks::Helper;
}

/// Most outer steps of one Checkpointing: rounds of a day, the challenge window of most chain specs, if they take a minute and a half each.
const MAX_REPLAY: u32 = 1_024;

parameter_types! {
	/// Half of a slash is paid out and only the other half deters, so it takes everything.
	pub const SlashShare: Perbill = Perbill::one();
	/// A sixteenth. So 32 games against an account hold twice its stake, and half of that is burned if all of them are lost: as much as
	/// the account has, whatever that is.
	pub const BondShare: Perbill = Perbill::from_parts(62_500_000);
	/// Three eighths of a block for moves. With what acts have, that is the half of the time that operational extrinsics have at most.
	pub const MovesShare: Share =
		Share { bytes: super::MAX_BLOCK_LENGTH / 8 * 3, time: super::MAXIMUM_BLOCK_WEIGHT.ref_time() / 8 * 3 };
	/// An eighth of the time for acts in rounds, and of the bytes what 128 reveals of the longest work have: a sixteenth.
	pub const ActsShare: Share = Share { bytes: super::MAX_BLOCK_LENGTH / 16, time: super::MAXIMUM_BLOCK_WEIGHT.ref_time() / 8 };
}

impl pallet_neuro_disputes::Config for Runtime {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type Claims = Training;
	type Providers = Staking;
	type PaidAnswers = Inference;
	type Credits = Rewards;
	type Epochs = Epochs;
	type EpochLength = parameters::GetEpochLength<Runtime>;
	type AuditRandomness = pallet_babe::RandomnessFromOneEpochAgo<Runtime>;
	type ChallengeWindow = pallet_neuro_ponw::GetChallengeWindow<Runtime>;
	type Bond = ConstU128<{ 100 * NEURO }>;
	type BondShare = BondShare;
	type MaxGamesPerDefender = ConstU32<32>;
	type LeastStake = pallet_neuro_staking::GetMinBond<Runtime>;
	type DemandDeposit = ConstU128<NEURO>;
	type SlashShare = SlashShare;
	type MaxReplay = ConstU32<MAX_REPLAY>;
	type MaxEndsPerBlock = ConstU32<32>;
	type Outlasting = Outlasting;
	type Carriers = carriers::AllCarriers;
	type Answers = answers::ToChallenges;
	type Rounds = answers::ActsInRounds;
	type MovesShare = MovesShare;
	type ActsShare = ActsShare;
	type WeightInfo = crate::weights::Disputes;
	#[cfg(feature = "runtime-benchmarks")]
	type BenchmarkHelper = crate::benchmarks::Helper;
}

parameter_types! {
	/// Account of the treasury.
	pub TreasuryAccount: AccountId = Treasury::account_id();
}

impl pallet_neuro_rewards::Config for Runtime {
	type Currency = Balances;
	type Providers = Staking;
	type AdminOrigin = origins::RootOrTwoThirdsCouncil;
	type Treasury = TreasuryAccount;
	type ValidatorPool = fees::ToValidators;
	type WeightInfo = crate::weights::Rewards;
}
