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
use pallet_neuro_validators::Exposure;
use scale_info::TypeInfo;
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

/// Who had a session key in a session, as reports of equivocation name it. It proves nothing by itself: the chain remembers all sets that can be
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

impl<D: AsRef<[u8]>> KeyOwnerProofSystem<(KeyTypeId, D)> for KeyOwners {
	type Proof = KeyOwnership;
	type IdentificationTuple = (AccountId, Exposure);

	fn prove((id, key): (KeyTypeId, D)) -> Option<KeyOwnership> {
		let session = Session::current_index();
		let (_, validators) = Validators::key_owner(session, id, key.as_ref())?;
		Some(KeyOwnership { session, validators })
	}

	fn check_proof((id, key): (KeyTypeId, D), claim: KeyOwnership) -> Option<(AccountId, Exposure)> {
		// A slash depends on the number of validators.
		let (owner, validators) = Validators::key_owner(claim.session, id, key.as_ref())?;
		(validators == claim.validators).then_some(owner)
	}
}

/// Reports of equivocation. Their proofs are checked before they enter a pool or a block, so that a report that proves nothing stands in
/// nobody's way: a pool holds one report about an author and a slot.
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
		if !sp_consensus_babe::check_equivocation_proof(evidence.0) {
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
		if !sp_consensus_grandpa::check_equivocation_proof(evidence.0) {
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
