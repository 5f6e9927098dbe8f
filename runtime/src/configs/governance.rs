//! Governance: collectives, treasury, scheduled calls, accounts that act for others, names, and what stops calls.

use super::MAXIMUM_BLOCK_WEIGHT;
use crate::{
	enactment,
	fees::{deposit, DEPOSIT_PER_BYTE, DEPOSIT_PER_ITEM},
	origins,
	proxies::ProxyType,
	safety, AccountId, Balance, Balances, BlockNumber, OriginCaller, Preimage, Runtime, RuntimeCall, RuntimeEvent, RuntimeHoldReason,
	RuntimeOrigin, Signature, System, Treasury, DAYS, NEURO,
};
use frame_support::{
	parameter_types,
	traits::{
		fungible::HoldConsideration,
		tokens::{PayFromAccount, UnityAssetBalanceConversion},
		ConstU128, ConstU32, LinearStoragePrice,
	},
	weights::Weight,
	PalletId,
};
use frame_system::{EnsureRoot, EnsureWithSuccess};
use sp_runtime::{
	traits::{BlakeTwo256, IdentityLookup, Verify},
	Perbill, Permill,
};

parameter_types! {
	/// Weight that motions and scheduled calls may use of a block, so that disputes and blocks' own work always find room beside them.
	pub GovernanceWeight: Weight = Perbill::from_percent(25) * MAXIMUM_BLOCK_WEIGHT;
	pub const CouncilHold: RuntimeHoldReason = RuntimeHoldReason::Council(pallet_collective::HoldReason::ProposalSubmission);
	pub const TechnicalHold: RuntimeHoldReason =
		RuntimeHoldReason::TechnicalCommittee(pallet_collective::HoldReason::ProposalSubmission);
}

/// Deposit of who proposes a motion; it comes back when the motion is gone.
type MotionDeposit = pallet_collective::deposit::Constant<ConstU128<NEURO>>;

impl pallet_collective::Config<origins::CouncilCollective> for Runtime {
	type RuntimeOrigin = RuntimeOrigin;
	type Proposal = RuntimeCall;
	type RuntimeEvent = RuntimeEvent;
	type MotionDuration = ConstU32<{ 7 * DAYS }>;
	type MaxProposals = ConstU32<32>;
	type MaxMembers = ConstU32<32>;
	// Who does not vote is counted as the prime only where most have voted for it.
	type DefaultVote = pallet_collective::MoreThanMajorityThenPrimeDefaultVote;
	type WeightInfo = crate::weights::pallet_collective::WeightInfo<Runtime>;
	type SetMembersOrigin = origins::RootOrTwoThirdsCouncil;
	type MaxProposalWeight = GovernanceWeight;
	type DisapproveOrigin = origins::RootOrTwoThirdsCouncil;
	type KillOrigin = origins::RootOrTwoThirdsCouncil;
	type Consideration = HoldConsideration<AccountId, Balances, CouncilHold, MotionDeposit, u32>;
}

impl pallet_collective::Config<origins::TechnicalCollective> for Runtime {
	type RuntimeOrigin = RuntimeOrigin;
	type Proposal = RuntimeCall;
	type RuntimeEvent = RuntimeEvent;
	type MotionDuration = ConstU32<{ 3 * DAYS }>;
	type MaxProposals = ConstU32<32>;
	type MaxMembers = ConstU32<32>;
	type DefaultVote = pallet_collective::MoreThanMajorityThenPrimeDefaultVote;
	type WeightInfo = crate::weights::pallet_collective::WeightInfo<Runtime>;
	// Both bodies together: one that chose the other would have root alone.
	type SetMembersOrigin = EnsureRoot<AccountId>;
	type MaxProposalWeight = GovernanceWeight;
	type DisapproveOrigin = EnsureRoot<AccountId>;
	type KillOrigin = EnsureRoot<AccountId>;
	type Consideration = HoldConsideration<AccountId, Balances, TechnicalHold, MotionDeposit, u32>;
}

parameter_types! {
	pub const TreasuryId: PalletId = PalletId(*b"py/trsry");
	/// Nothing of the treasury is burned because it was not spent.
	pub const TreasuryBurn: Permill = Permill::zero();
}

impl pallet_treasury::Config for Runtime {
	type Currency = Balances;
	type RejectOrigin = origins::RootOrHalfCouncil;
	type RuntimeEvent = RuntimeEvent;
	type SpendPeriod = ConstU32<{ 7 * DAYS }>;
	type Burn = TreasuryBurn;
	type PalletId = TreasuryId;
	type BurnDestination = ();
	type WeightInfo = pallet_treasury::weights::SubstrateWeight<Runtime>;
	type SpendFunds = ();
	// The deprecated queue of `spend_local` takes nothing: `spend` and `payout` are the one way.
	type MaxApprovals = ConstU32<0>;
	type SpendOrigin = origins::SpendFromTreasury;
	type AssetKind = ();
	type Beneficiary = AccountId;
	type BeneficiaryLookup = IdentityLookup<AccountId>;
	type Paymaster = PayFromAccount<Balances, pallet_treasury::TreasuryAccountId<Runtime>>;
	type BalanceConverter = UnityAssetBalanceConversion;
	type PayoutPeriod = ConstU32<{ 30 * DAYS }>;
	type BlockNumberProvider = System;
	#[cfg(feature = "runtime-benchmarks")]
	type BenchmarkHelper = ();
}

parameter_types! {
	pub const PreimageHold: RuntimeHoldReason = RuntimeHoldReason::Preimage(pallet_preimage::HoldReason::Preimage);
}

impl pallet_preimage::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type WeightInfo = crate::weights::pallet_preimage::WeightInfo<Runtime>;
	type Currency = Balances;
	type ManagerOrigin = origins::RootOrTwoThirdsCouncil;
	type Consideration = HoldConsideration<
		AccountId,
		Balances,
		PreimageHold,
		LinearStoragePrice<ConstU128<DEPOSIT_PER_ITEM>, ConstU128<DEPOSIT_PER_BYTE>, Balance>,
	>;
}

impl pallet_scheduler::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type RuntimeOrigin = RuntimeOrigin;
	type PalletsOrigin = OriginCaller;
	type RuntimeCall = RuntimeCall;
	type MaximumWeight = GovernanceWeight;
	// A call is made later by the very origin that scheduled it.
	type ScheduleOrigin = origins::RootOrHalfOfEither;
	type OriginPrivilegeCmp = origins::BySharesOfVotes;
	type MaxScheduledPerBlock = ConstU32<32>;
	type WeightInfo = crate::weights::pallet_scheduler::WeightInfo<Runtime>;
	type Preimages = Preimage;
	type BlockNumberProvider = System;
}

impl enactment::Config for Runtime {
	type RuntimeCall = RuntimeCall;
	type ClearOrigin = origins::RootOrHalfTechnical;
	type EnactOrigin = origins::RootOrTwoThirdsCouncil;
	type Notice = ConstU32<DAYS>;
	type MaxCleared = ConstU32<16>;
}

impl pallet_multisig::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type RuntimeCall = RuntimeCall;
	type Currency = Balances;
	// A key of two hashed accounts, a time point, an amount and an account.
	type DepositBase = ConstU128<{ deposit(1, 88 + 56) }>;
	type DepositFactor = ConstU128<{ deposit(0, 32) }>;
	type MaxSignatories = ConstU32<32>;
	type WeightInfo = crate::weights::pallet_multisig::WeightInfo<Runtime>;
	type BlockNumberProvider = System;
}

impl pallet_proxy::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type RuntimeCall = RuntimeCall;
	type Currency = Balances;
	type ProxyType = ProxyType;
	// A key and an amount; and for every proxy an account, its type and its delay.
	type ProxyDepositBase = ConstU128<{ deposit(1, 48) }>;
	type ProxyDepositFactor = ConstU128<{ deposit(0, 37) }>;
	type MaxProxies = ConstU32<32>;
	type WeightInfo = crate::weights::pallet_proxy::WeightInfo<Runtime>;
	type MaxPending = ConstU32<32>;
	type CallHasher = BlakeTwo256;
	// A key and an amount; and for every announcement an account, a hash and a height.
	type AnnouncementDepositBase = ConstU128<{ deposit(1, 48) }>;
	type AnnouncementDepositFactor = ConstU128<{ deposit(0, 68) }>;
	type BlockNumberProvider = System;
}

impl pallet_identity::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type Currency = Balances;
	// A key and amounts; what the identity says is charged byte by byte.
	type BasicDeposit = ConstU128<{ deposit(1, 64) }>;
	type ByteDeposit = ConstU128<{ deposit(0, 1) }>;
	type UsernameDeposit = ConstU128<{ deposit(1, 96) }>;
	// An item of its own, and an account in the list of its owner.
	type SubAccountDeposit = ConstU128<{ deposit(1, 64 + 32 + 32) }>;
	type MaxSubAccounts = ConstU32<32>;
	type IdentityInformation = pallet_identity::legacy::IdentityInfo<ConstU32<16>>;
	type MaxRegistrars = ConstU32<16>;
	type Slashed = Treasury;
	type ForceOrigin = origins::RootOrHalfCouncil;
	type RegistrarOrigin = origins::RootOrHalfCouncil;
	type OffchainSignature = Signature;
	type SigningPublicKey = <Signature as Verify>::Signer;
	type UsernameAuthorityOrigin = origins::RootOrHalfCouncil;
	type PendingUsernameExpiration = ConstU32<{ 7 * DAYS }>;
	type UsernameGracePeriod = ConstU32<{ 30 * DAYS }>;
	type MaxSuffixLength = ConstU32<7>;
	type MaxUsernameLength = ConstU32<32>;
	type WeightInfo = crate::weights::pallet_identity::WeightInfo<Runtime>;
	#[cfg(feature = "runtime-benchmarks")]
	type BenchmarkHelper = ();
}

parameter_types! {
	/// Blocks for which the technical committee enters safe mode: four hours.
	pub const SafeModeEntered: BlockNumber = DAYS / 6;
	/// Blocks by which the council extends it.
	pub const SafeModeExtended: BlockNumber = DAYS;
	/// Nobody enters or extends safe mode for money.
	pub const NotForMoney: Option<Balance> = None;
	pub const NoRelease: Option<BlockNumber> = None;
}

impl pallet_safe_mode::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type WhitelistedCalls = safety::InSafeMode;
	type EnterDuration = SafeModeEntered;
	type ExtendDuration = SafeModeExtended;
	type EnterDepositAmount = NotForMoney;
	type ExtendDepositAmount = NotForMoney;
	type ForceEnterOrigin = EnsureWithSuccess<origins::RootOrHalfTechnical, AccountId, SafeModeEntered>;
	type ForceExtendOrigin = EnsureWithSuccess<origins::RootOrHalfCouncil, AccountId, SafeModeExtended>;
	type ForceExitOrigin = origins::RootOrHalfOfEither;
	type ForceDepositOrigin = EnsureRoot<AccountId>;
	type Notify = ();
	type ReleaseDelay = NoRelease;
	type WeightInfo = crate::weights::pallet_safe_mode::WeightInfo<Runtime>;
}

impl pallet_tx_pause::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type RuntimeCall = RuntimeCall;
	type PauseOrigin = origins::RootOrHalfTechnical;
	type UnpauseOrigin = origins::RootOrHalfOfEither;
	type WhitelistedCalls = safety::NeverPaused;
	// Longer than every name there is: a call with a longer one would count as paused.
	type MaxNameLen = ConstU32<64>;
	type WeightInfo = crate::weights::pallet_tx_pause::WeightInfo<Runtime>;
}
