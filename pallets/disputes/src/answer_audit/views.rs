//! What the view functions answer about audits of answers.

use crate::{
	AnswerAuditShare, AnswerAudits, Config, DeliverTime, Demands, DemandsSpan, DrawnAnswers, GetDisputePeriod, Pallet, MAX_LISTED,
};
use alloc::vec::Vec;
use frame_support::traits::Get;
use neuroshard_types::{
	answer_audit::{AnswerAuditTerms, AnswerAuditView, AnswerId},
	span::Span,
	AccountId,
};

impl<T: Config> Pallet<T> {
	pub(crate) fn read_answer_audit(answer: AnswerId) -> Option<AnswerAuditView> {
		let condemned = Self::is_session_condemned(answer.session, &answer.provider);
		Some(AnswerAudits::<T>::get(&answer)?.shown(answer, condemned))
	}

	pub(crate) fn list_answer_audits(auditor: &AccountId) -> Vec<AnswerAuditView> {
		let mut audits: Vec<_> = DrawnAnswers::<T>::iter_key_prefix(auditor).filter_map(Self::read_answer_audit).collect();
		audits.sort_by_key(|audit| audit.closes_at);
		audits.truncate(usize::try_from(MAX_LISTED).unwrap_or(usize::MAX));
		audits
	}

	pub(crate) fn list_demanded(provider: &AccountId) -> Vec<AnswerAuditView> {
		let Span { first, next } = DemandsSpan::<T>::get();
		let waits = |answer: &AnswerId| AnswerAudits::<T>::get(answer).is_some_and(|audit| audit.demand().is_some());
		let demanded = (first..next).filter_map(Demands::<T>::get).filter(|answer| answer.provider == *provider && waits(answer));
		let limit = usize::try_from(MAX_LISTED).unwrap_or(usize::MAX);
		demanded.take(limit).filter_map(Self::read_answer_audit).collect()
	}

	pub(crate) fn read_answer_audit_terms() -> AnswerAuditTerms {
		let share = AnswerAuditShare::<T>::get().deconstruct();
		let (deliver_time, open_for) = (DeliverTime::<T>::get(), GetDisputePeriod::<T>::get());
		AnswerAuditTerms { share, deliver_time, deposit: T::DemandDeposit::get(), open_for }
	}
}
