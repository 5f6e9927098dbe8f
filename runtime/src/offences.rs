//! Equivocation: how long it can be reported, and what follows from a report.

use crate::{
	parameters, AccountId, BlockNumber, Hash, Header, Offences, Runtime, RuntimeCall, Session, System, UncheckedExtrinsic, Validators,
};
use codec::{Decode, DecodeWithMemTracking, Encode};
use frame_support::{
	dispatch::{DispatchClass, DispatchResult},
	traits::{Contains, Get, KeyOwnerProofSystem},
	weights::Weight,
};
use pallet_grandpa::SetIdSession;
use pallet_neuro_validators::Exposure;
use scale_info::TypeInfo;
use sp_consensus_babe::Slot;
use sp_consensus_grandpa::SetId;
use sp_runtime::{
	transaction_validity::{InvalidTransaction, TransactionValidityError},
	KeyTypeId, Perbill, SaturatedConversion,
};
use sp_session::{GetSessionNumber, GetValidatorCount};
use sp_staking::{
	offence::{OffenceDetails, OffenceReportSystem, OffenceSeverity, OnOffenceHandler},
	SessionIndex,
};

/// Blocks in which an equivocation can be reported.
pub struct ReportTime;

impl Get<u64> for ReportTime {
	fn get() -> u64 {
		parameters::EpochLength::<Runtime>::get().saturating_mul(parameters::ReportEpochs::<Runtime>::get().into())
	}
}

/// Blocks from the moment an author is out of the next election until nothing that it does in the set can be reported any more: it stays for
/// the rest of this session and for the next one.
pub struct ReportPeriod;

impl Get<BlockNumber> for ReportPeriod {
	fn get() -> BlockNumber {
		let stays = parameters::EpochLength::<Runtime>::get().saturating_mul(2);
		ReportTime::get().saturating_add(stays).saturated_into()
	}
}

/// Sessions before the running one that can be reported about.
pub struct SessionsKept;

impl Get<SessionIndex> for SessionsKept {
	fn get() -> SessionIndex {
		parameters::ReportEpochs::<Runtime>::get()
	}
}

/// Sets of finalizers whose last session is remembered: one for each session that can be reported about, one for the running session, and the
/// one before all of these.
pub struct SetChangesKept;

impl Get<u64> for SetChangesKept {
	fn get() -> u64 {
		u64::from(SessionsKept::get()).saturating_add(2)
	}
}

/// Ownership of a session key in a session, as reports of equivocation name it. It proves nothing by itself: the chain remembers all sets that can be
/// reported about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, TypeInfo)]
pub struct KeyOwnership {
	/// The session.
	pub session: SessionIndex,
	/// Its validators.
	pub validators: u32,
}

impl GetSessionNumber for KeyOwnership {
	fn session(&self) -> SessionIndex {
		self.session
	}
}

impl GetValidatorCount for KeyOwnership {
	fn validator_count(&self) -> u32 {
		self.validators
	}
}

/// Finds the owners of session keys in the sets as they were planned, so that nobody escapes a report by registering other keys or none.
pub struct KeyOwners;

impl KeyOwners {
	/// Returns the owner of `key` in the session of `slot`, whichever session runs now.
	pub fn at_slot(slot: Slot, key: &[u8]) -> Option<KeyOwnership> {
		Self::in_session(session_of(slot), sp_consensus_babe::KEY_TYPE, key)
	}

	/// Returns the owner of `key` in the latest session of the set `set` of finalizers.
	pub fn in_set(set: SetId, key: &[u8]) -> Option<KeyOwnership> {
		Self::in_session(SetIdSession::<Runtime>::get(set)?, sp_consensus_grandpa::KEY_TYPE, key)
	}

	fn in_session(session: SessionIndex, id: KeyTypeId, key: &[u8]) -> Option<KeyOwnership> {
		let (_, validators) = Validators::key_owner(session, id, key)?;
		Some(KeyOwnership { session, validators })
	}
}

impl<D: AsRef<[u8]>> KeyOwnerProofSystem<(KeyTypeId, D)> for KeyOwners {
	type Proof = KeyOwnership;
	type IdentificationTuple = (AccountId, Exposure);

	fn prove((id, key): (KeyTypeId, D)) -> Option<KeyOwnership> {
		Self::in_session(Session::current_index(), id, key.as_ref())
	}

	fn check_proof((id, key): (KeyTypeId, D), claim: KeyOwnership) -> Option<(AccountId, Exposure)> {
		// A slash depends on the number of validators.
		let (owner, validators) = Validators::key_owner(claim.session, id, key.as_ref())?;
		(validators == claim.validators).then_some(owner)
	}
}

/// The session of a slot, as BABE knows it: epochs that passed without a block have none.
fn session_of(slot: Slot) -> SessionIndex {
	let epoch = slot.saturating_sub(*pallet_babe::GenesisSlot::<Runtime>::get());
	let epoch = (*epoch).checked_div(parameters::EpochLength::<Runtime>::get()).unwrap_or_default();
	let skipped = pallet_babe::SkippedEpochs::<Runtime>::get();
	let before = skipped.iter().rev().find(|(skipped, _)| *skipped <= epoch);
	// Of the epoch itself or of the latest that was skipped before it.
	let gap = before.map_or(0, |(skipped, session)| skipped.saturating_sub((*session).into()));
	epoch.saturating_sub(gap).saturated_into()
}

/// Returns whether `session` is one of those in which the set `set` finalizes.
fn is_session_of(set: SetId, session: SessionIndex) -> bool {
	let last = SetIdSession::<Runtime>::get(set);
	let is_later = match set.checked_sub(1) {
		Some(before) => SetIdSession::<Runtime>::get(before).is_some_and(|before| session > before),
		None => true,
	};
	is_later && last.is_some_and(|last| session <= last)
}

/// Reports of equivocation. Their proofs are checked before they enter a pool or a block, so that a report that proves nothing stands in
/// nobody's way: a pool holds one report about an author and a slot. So is the session that they name, so that there is one report of an offence and
/// not one for each session that is remembered.
pub struct Reports;

type BabeProof = sp_consensus_babe::EquivocationProof<Header>;
type BabeReports = pallet_babe::EquivocationReportSystem<Runtime, Offences, KeyOwners, ReportTime>;
type GrandpaProof = sp_consensus_grandpa::EquivocationProof<Hash, BlockNumber>;
type GrandpaReports = pallet_grandpa::EquivocationReportSystem<Runtime, Offences, KeyOwners, ReportTime>;

impl OffenceReportSystem<Option<AccountId>, (BabeProof, KeyOwnership)> for Reports {
	type Longevity = ReportTime;

	fn publish_evidence(evidence: (BabeProof, KeyOwnership)) -> Result<(), ()> {
		if !sp_consensus_babe::check_equivocation_proof(evidence.0.clone()) {
			return Err(());
		}
		BabeReports::publish_evidence(evidence)
	}

	fn check_evidence(evidence: (BabeProof, KeyOwnership)) -> Result<(), TransactionValidityError> {
		BabeReports::check_evidence(evidence.clone())?;
		let (proof, owner) = evidence;
		if owner.session != session_of(proof.slot) || !sp_consensus_babe::check_equivocation_proof(proof) {
			return Err(InvalidTransaction::BadProof.into());
		}
		Ok(())
	}

	fn process_evidence(reporter: Option<AccountId>, evidence: (BabeProof, KeyOwnership)) -> DispatchResult {
		BabeReports::process_evidence(reporter, evidence)
	}
}

impl OffenceReportSystem<Option<AccountId>, (GrandpaProof, KeyOwnership)> for Reports {
	type Longevity = ReportTime;

	fn publish_evidence(evidence: (GrandpaProof, KeyOwnership)) -> Result<(), ()> {
		GrandpaReports::publish_evidence(evidence)
	}

	fn check_evidence(evidence: (GrandpaProof, KeyOwnership)) -> Result<(), TransactionValidityError> {
		GrandpaReports::check_evidence(evidence.clone())?;
		let (proof, owner) = evidence;
		if !is_session_of(proof.set_id(), owner.session) || !sp_consensus_grandpa::check_equivocation_proof(proof) {
			return Err(InvalidTransaction::BadProof.into());
		}
		Ok(())
	}

	fn process_evidence(reporter: Option<AccountId>, evidence: (GrandpaProof, KeyOwnership)) -> DispatchResult {
		GrandpaReports::process_evidence(reporter, evidence)
	}
}

/// Refuses reports that are signed: whoever sends one pays nothing for it, so that anybody could fill blocks with them. Authors bring what their
/// nodes have noticed into their own blocks.
pub struct NoSignedReports;

impl Contains<RuntimeCall> for NoSignedReports {
	fn contains(call: &RuntimeCall) -> bool {
		!matches!(
			call,
			RuntimeCall::Babe(pallet_babe::Call::report_equivocation { .. })
				| RuntimeCall::Grandpa(pallet_grandpa::Call::report_equivocation { .. })
		)
	}
}

/// Keeps an offender from authoring for the rest of the session, takes its stake, and keeps it out of the sessions that follow.
pub struct DisableAndSlash;

impl OnOffenceHandler<AccountId, (AccountId, Exposure), Weight> for DisableAndSlash {
	fn on_offence(offenders: &[OffenceDetails<AccountId, (AccountId, Exposure)>], fractions: &[Perbill], session: SessionIndex) -> Weight {
		for (details, fraction) in offenders.iter().zip(fractions) {
			Session::report_offence(details.offender.0.clone(), OffenceSeverity(*fraction));
		}
		let weight = Validators::on_offence(offenders, fractions, session);
		// A report is charged for one offender, and brings those that were reported for the same moment before it along.
		System::register_extra_weight_unchecked(weight, DispatchClass::Mandatory);
		weight
	}
}

impl<C> frame_system::offchain::CreateTransactionBase<C> for Runtime
where
	RuntimeCall: From<C>,
{
	type Extrinsic = UncheckedExtrinsic;
	type RuntimeCall = RuntimeCall;
}

impl<C> frame_system::offchain::CreateBare<C> for Runtime
where
	RuntimeCall: From<C>,
{
	fn create_bare(call: RuntimeCall) -> UncheckedExtrinsic {
		UncheckedExtrinsic::new_bare(call)
	}
}
