//! Implementation of the view functions about audits.

use crate::{answer_audit::page, AuditShare, Config, Drawn, Pallet, ReportTime, SealTime, Verifiers};
use alloc::vec::Vec;
use neuroshard_types::{
	audit::{AuditTerms, AuditView},
	AccountId, RoundIndex, RunId,
};

impl<T: Config> Pallet<T> {
	pub(crate) fn read_audit(run: RunId, round: RoundIndex, auditor: &AccountId) -> Option<AuditView> {
		let now = Self::now();
		let (claim, audit) = Self::audit_by(run, round, auditor)?;
		let (own, partner) = (audit.part(auditor)?, audit.partner(auditor)?);
		Some(AuditView {
			run,
			round,
			subject: claim.who,
			partner: partner.auditor.clone(),
			step: audit.step,
			phase: audit.phase(now),
			deadline: audit.deadline(now),
			sealed: own.sealed,
			report: own.report,
			partner_sealed: partner.sealed.is_some(),
			partner_report: partner.report,
			closes_at: audit.closes_at,
		})
	}

	pub(crate) fn list_audits(auditor: &AccountId, after: Option<(RunId, RoundIndex)>) -> Vec<AuditView> {
		let rounds = match after {
			Some(after) => Drawn::<T>::iter_key_prefix_from(auditor, Drawn::<T>::hashed_key_for(auditor, after)),
			None => Drawn::<T>::iter_key_prefix(auditor),
		};
		rounds.filter_map(|(run, round)| Self::read_audit(run, round, auditor)).take(page()).collect()
	}

	pub(crate) fn list_verifiers() -> Vec<AccountId> {
		let enrolled = Verifiers::<T>::get().into_iter().filter(|verifier| verifier.until.is_none());
		enrolled.map(|verifier| verifier.account).collect()
	}

	pub(crate) fn read_audit_terms() -> AuditTerms {
		let share = AuditShare::<T>::get().deconstruct();
		AuditTerms { share, seal_time: SealTime::<T>::get(), report_time: ReportTime::<T>::get() }
	}
}
