//! Equivocation: how long it can be reported, and what follows from a report.

use crate::{parameters, AccountId, BlockNumber, Historical, Runtime, RuntimeCall, Session, System, UncheckedExtrinsic, Validators};
use alloc::vec::Vec;
use frame_support::{dispatch::DispatchClass, traits::Get, weights::Weight};
use pallet_neuro_validators::Exposure;
use pallet_session::{historical, SessionManager};
use sp_runtime::{Perbill, SaturatedConversion};
use sp_staking::{
	offence::{OffenceDetails, OffenceSeverity, OnOffenceHandler},
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

/// Sessions whose validators are remembered: those that can be reported about, the current one, and the next one.
pub struct SessionsKept;

impl Get<u64> for SessionsKept {
	fn get() -> u64 {
		u64::from(parameters::ReportEpochs::<Runtime>::get()).saturating_add(2)
	}
}

/// Elects the validators of sessions, and forgets those of sessions that cannot be reported about any more.
pub struct Rotation;

impl SessionManager<AccountId> for Rotation {
	fn new_session(index: SessionIndex) -> Option<Vec<AccountId>> {
		<Validators as SessionManager<AccountId>>::new_session(index)
	}

	fn new_session_genesis(index: SessionIndex) -> Option<Vec<AccountId>> {
		<Validators as SessionManager<AccountId>>::new_session_genesis(index)
	}

	fn start_session(index: SessionIndex) {
		<Validators as SessionManager<AccountId>>::start_session(index);
		let kept = SessionIndex::try_from(SessionsKept::get()).unwrap_or(SessionIndex::MAX);
		if let Some(first) = index.checked_sub(kept) {
			Historical::prune_up_to(first);
		}
	}

	fn end_session(index: SessionIndex) {
		<Validators as SessionManager<AccountId>>::end_session(index);
	}
}

impl historical::SessionManager<AccountId, Exposure> for Rotation {
	fn new_session(index: SessionIndex) -> Option<Vec<(AccountId, Exposure)>> {
		<Validators as historical::SessionManager<AccountId, Exposure>>::new_session(index)
	}

	fn new_session_genesis(index: SessionIndex) -> Option<Vec<(AccountId, Exposure)>> {
		<Validators as historical::SessionManager<AccountId, Exposure>>::new_session_genesis(index)
	}

	fn start_session(index: SessionIndex) {
		<Self as SessionManager<AccountId>>::start_session(index);
	}

	fn end_session(index: SessionIndex) {
		<Self as SessionManager<AccountId>>::end_session(index);
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
