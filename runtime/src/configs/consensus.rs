//! Time, block production, finality, sessions, and what becomes of equivocation.

use crate::{
	offences::{DisableAndSlash, ReportPeriod, ReportTime, Rotation, SessionsKept},
	origins, parameters, AccountId, Babe, Balances, Historical, Offences, Rewards, Runtime, RuntimeEvent, RuntimeHoldReason, Session,
	SessionKeys, Validators, BLOCK_TIME_MS, MAX_AUTHORITIES, MAX_CANDIDATES, NEURO,
};
use frame_support::{
	parameter_types,
	traits::{ConstU128, ConstU32, ConstU64, KeyOwnerProofSystem},
	PalletId,
};
use pallet_session::disabling::UpToLimitWithReEnablingDisablingStrategy;
use sp_core::crypto::KeyTypeId;
use sp_runtime::traits::{ConvertInto, OpaqueKeys};

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
	type MaxNominators = ConstU32<{ pallet_neuro_validators::MAX_NOMINATORS }>;
	type KeyOwnerProof = <Historical as KeyOwnerProofSystem<(KeyTypeId, pallet_babe::AuthorityId)>>::Proof;
	type EquivocationReportSystem = pallet_babe::EquivocationReportSystem<Self, Offences, Historical, ReportTime>;
}

impl pallet_grandpa::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type WeightInfo = ();
	type MaxAuthorities = ConstU32<MAX_AUTHORITIES>;
	type MaxNominators = ConstU32<{ pallet_neuro_validators::MAX_NOMINATORS }>;
	type MaxSetIdSessionEntries = SessionsKept;
	type KeyOwnerProof = <Historical as KeyOwnerProofSystem<(KeyTypeId, pallet_grandpa::AuthorityId)>>::Proof;
	type EquivocationReportSystem = pallet_grandpa::EquivocationReportSystem<Self, Offences, Historical, ReportTime>;
}

impl pallet_authorship::Config for Runtime {
	type FindAuthor = pallet_session::FindAccountFromAuthorIndex<Self, Babe>;
	type EventHandler = Validators;
}

impl pallet_session::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type ValidatorId = AccountId;
	type ValidatorIdOf = ConvertInto;
	type ShouldEndSession = Babe;
	type NextSessionRotation = Babe;
	type SessionManager = pallet_session::historical::NoteHistoricalRoot<Self, Rotation>;
	type SessionHandler = <SessionKeys as OpaqueKeys>::KeyTypeIdProviders;
	type Keys = SessionKeys;
	type DisablingStrategy = UpToLimitWithReEnablingDisablingStrategy;
	type WeightInfo = pallet_session::weights::SubstrateWeight<Runtime>;
	type Currency = Balances;
	type KeyDeposit = ConstU128<NEURO>;
}

impl pallet_session::historical::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type FullIdentification = pallet_neuro_validators::Exposure;
	type FullIdentificationOf = pallet_neuro_validators::ExposureOf<Self>;
}

impl pallet_offences::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type IdentificationTuple = pallet_session::historical::IdentificationTuple<Self>;
	type OnOffenceHandler = DisableAndSlash;
}

parameter_types! {
	pub const AuthorsPot: PalletId = PalletId(*b"ns/authr");
}

impl pallet_neuro_validators::Config for Runtime {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type BlockRewards = Rewards;
	type Sessions = Session;
	type AdminOrigin = origins::RootOrHalfCouncil;
	type ReportPeriod = ReportPeriod;
	type PotId = AuthorsPot;
	type MaxValidators = ConstU32<MAX_AUTHORITIES>;
	type MaxCandidates = ConstU32<MAX_CANDIDATES>;
	type WeightInfo = pallet_neuro_validators::weights::SubstrateWeight<Runtime>;
}
