//! Time, block production, finality, sessions, and what becomes of equivocation.

use crate::{
	offences::{DisableAndSlash, KeyOwnership, ReportPeriod, Reports, SessionsKept, SetChangesKept},
	origins, parameters, AccountId, Babe, Balances, Rewards, Runtime, RuntimeEvent, RuntimeHoldReason, Session, SessionKeys, Validators,
	MAX_AUTHORITIES, MAX_CANDIDATES, NEURO,
};
use frame_support::{
	parameter_types,
	traits::{ConstU128, ConstU32, Get},
	weights::Weight,
	PalletId,
};
use pallet_session::disabling::UpToLimitWithReEnablingDisablingStrategy;
use sp_runtime::traits::{ConvertInto, OpaqueKeys};

impl pallet_timestamp::Config for Runtime {
	type Moment = u64;
	type OnTimestampSet = Babe;
	type MinimumPeriod = parameters::GetMinimumPeriod<Runtime>;
	type WeightInfo = crate::weights::pallet_timestamp::WeightInfo<Runtime>;
}

impl pallet_babe::Config for Runtime {
	type EpochDuration = parameters::GetEpochLength<Runtime>;
	type ExpectedBlockTime = parameters::GetSlotDuration<Runtime>;
	type EpochChangeTrigger = pallet_babe::ExternalTrigger;
	type DisabledValidators = Session;
	type WeightInfo = ();
	type MaxAuthorities = ConstU32<MAX_AUTHORITIES>;
	type MaxNominators = ConstU32<{ pallet_neuro_validators::MAX_NOMINATORS }>;
	type KeyOwnerProof = KeyOwnership;
	type EquivocationReportSystem = Reports;
}

impl pallet_grandpa::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type WeightInfo = ();
	type MaxAuthorities = ConstU32<MAX_AUTHORITIES>;
	type MaxNominators = ConstU32<{ pallet_neuro_validators::MAX_NOMINATORS }>;
	type MaxSetIdSessionEntries = SetChangesKept;
	type KeyOwnerProof = KeyOwnership;
	type EquivocationReportSystem = Reports;
}

impl pallet_authorship::Config for Runtime {
	type FindAuthor = pallet_session::FindAccountFromAuthorIndex<Self, Babe>;
	type EventHandler = Validators;
}

impl pallet_session::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type ValidatorId = AccountId;
	type ValidatorIdOf = ConvertInto;
	type ShouldEndSession = pallet_neuro_validators::EndedHere;
	type NextSessionRotation = Babe;
	type SessionManager = Validators;
	type SessionHandler = <SessionKeys as OpaqueKeys>::KeyTypeIdProviders;
	type Keys = SessionKeys;
	type DisablingStrategy = UpToLimitWithReEnablingDisablingStrategy;
	type WeightInfo = pallet_session::weights::SubstrateWeight<Runtime>;
	type Currency = Balances;
	type KeyDeposit = ConstU128<NEURO>;
}

impl pallet_offences::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type IdentificationTuple = (AccountId, pallet_neuro_validators::Exposure);
	type OnOffenceHandler = DisableAndSlash;
}

/// Weight of what BABE does with an epoch's randomness: it reads and deletes all VRF outputs of the epoch, of which at least 64 are one item of
/// storage.
pub struct EpochChange;

impl Get<Weight> for EpochChange {
	fn get() -> Weight {
		let items = parameters::GetEpochLength::<Runtime>::get().div_ceil(64);
		<Runtime as frame_system::Config>::DbWeight::get().reads_writes(items, items)
	}
}

parameter_types! {
	pub const AuthorsPot: PalletId = PalletId(*b"ns/authr");
}

impl pallet_neuro_validators::Config for Runtime {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type BlockRewards = Rewards;
	type Sessions = Session;
	type SessionEnd = Babe;
	type ConsensusWeight = EpochChange;
	type AdminOrigin = origins::RootOrHalfCouncil;
	type ReportPeriod = ReportPeriod;
	type SessionsKept = SessionsKept;
	type PotId = AuthorsPot;
	type MaxValidators = ConstU32<MAX_AUTHORITIES>;
	type MaxCandidates = ConstU32<MAX_CANDIDATES>;
	type WeightInfo = crate::weights::Validators;
}
