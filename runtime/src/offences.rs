//! Equivocation: how long it can be reported, and what follows from a report.

use crate::{parameters, AccountId, Historical, Runtime, RuntimeCall, Session, Staking, UncheckedExtrinsic};
use alloc::vec::Vec;
use frame_support::{traits::Get, weights::Weight};
use pallet_session::{historical, SessionManager};
use sp_runtime::{traits::Convert, Perbill};
use sp_staking::{
	offence::{OffenceDetails, OffenceSeverity, OnOffenceHandler},
	SessionIndex,
};

/// Blocks in which an equivocation can be reported: as long as the money of whoever did it stays slashable.
pub struct ReportTime;

impl Get<u64> for ReportTime {
	fn get() -> u64 {
		u64::from(Staking::limits().1)
	}
}

/// Sessions whose validators are remembered: those of [`ReportTime`], and the current one and the one before.
pub struct SessionsKept;

impl Get<u64> for SessionsKept {
	fn get() -> u64 {
		let length = <parameters::GetEpochLength<Runtime> as Get<u64>>::get().max(1);
		ReportTime::get().div_ceil(length).saturating_add(2)
	}
}

/// Everybody can be identified, and nothing but the account is kept.
pub struct Identified;

impl Convert<AccountId, Option<()>> for Identified {
	fn convert(_: AccountId) -> Option<()> {
		Some(())
	}
}

/// Elects the validators of sessions, and forgets those of sessions that cannot be reported about any more.
pub struct Rotation;

impl SessionManager<AccountId> for Rotation {
	fn new_session(index: SessionIndex) -> Option<Vec<AccountId>> {
		<() as SessionManager<AccountId>>::new_session(index)
	}

	fn new_session_genesis(index: SessionIndex) -> Option<Vec<AccountId>> {
		<() as SessionManager<AccountId>>::new_session_genesis(index)
	}

	fn start_session(index: SessionIndex) {
		let kept = SessionIndex::try_from(SessionsKept::get()).unwrap_or(SessionIndex::MAX);
		if let Some(first) = index.checked_sub(kept) {
			Historical::prune_up_to(first);
		}
	}

	fn end_session(_: SessionIndex) {}
}

impl historical::SessionManager<AccountId, ()> for Rotation {
	fn new_session(index: SessionIndex) -> Option<Vec<(AccountId, ())>> {
		<Self as SessionManager<AccountId>>::new_session(index).map(identified)
	}

	fn new_session_genesis(index: SessionIndex) -> Option<Vec<(AccountId, ())>> {
		<Self as SessionManager<AccountId>>::new_session_genesis(index).map(identified)
	}

	fn start_session(index: SessionIndex) {
		<Self as SessionManager<AccountId>>::start_session(index);
	}

	fn end_session(index: SessionIndex) {
		<Self as SessionManager<AccountId>>::end_session(index);
	}
}

fn identified(validators: Vec<AccountId>) -> Vec<(AccountId, ())> {
	validators.into_iter().map(|validator| (validator, ())).collect()
}

/// Keeps an offender from authoring for the rest of the session, and no longer: nothing is at stake yet.
pub struct Disable;

impl OnOffenceHandler<AccountId, (AccountId, ()), Weight> for Disable {
	fn on_offence(offenders: &[OffenceDetails<AccountId, (AccountId, ())>], fractions: &[Perbill], _: SessionIndex) -> Weight {
		for (details, fraction) in offenders.iter().zip(fractions) {
			let (validator, ()) = &details.offender;
			Session::report_offence(validator.clone(), OffenceSeverity(*fraction));
		}
		Weight::zero()
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
