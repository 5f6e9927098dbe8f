//! Implementation of the view functions about audits of answers.

use crate::{
	AnswerAuditShare, AnswerAudits, AnswerDrawPrice, Config, DeliverTime, Demands, DemandsSpan, DrawnAnswers, GetDisputePeriod, Pallet,
};
use alloc::vec::Vec;
use frame_support::traits::Get;
use neuroshard_types::{
	answer_audit::{AnswerAuditTerms, AnswerAuditView, AnswerId},
	dispute::PAGE,
	span::Span,
	AccountId, BlockNumber,
};

impl<T: Config> Pallet<T> {
	pub(crate) fn read_answer_audit(answer: AnswerId) -> Option<AnswerAuditView> {
		let condemned = Self::is_session_condemned(answer.session, &answer.provider);
		Some(AnswerAudits::<T>::get(&answer)?.shown(answer, condemned))
	}

	/// Audits in which `auditor` has something left to do, in the order of their closes, a page of them behind the one with this close and answer.
	pub(crate) fn list_answer_audits(auditor: &AccountId, after: Option<(BlockNumber, AnswerId)>) -> Vec<AnswerAuditView> {
		let now = Self::now();
		let drawn = match after {
			Some((closes_at, answer)) => {
				let key = DrawnAnswers::<T>::hashed_key_for((auditor, closes_at.to_be_bytes(), answer));
				DrawnAnswers::<T>::iter_key_prefix_from((auditor,), key)
			}
			None => DrawnAnswers::<T>::iter_key_prefix((auditor,)),
		};
		let audits = drawn.filter_map(|(_, answer)| Self::read_answer_audit(answer));
		audits.filter(|audit| audit.is_due(now)).take(page()).collect()
	}

	/// Answers that `provider` has to deliver, in the order of their deadlines, a page of them behind this one.
	pub(crate) fn list_demanded(provider: &AccountId, after: Option<AnswerId>) -> Vec<AnswerAuditView> {
		let (now, Span { first, next }) = (Self::now(), DemandsSpan::<T>::get());
		let own = (first..next).filter_map(Demands::<T>::get).filter(|answer| answer.provider == *provider);
		let rest = own.skip_while(|answer| after.as_ref().is_some_and(|after| after != answer)).skip(usize::from(after.is_some()));
		let waits = |answer: &AnswerId| AnswerAudits::<T>::get(answer).is_some_and(|audit| audit.demand().is_some());
		let audits = rest.filter(waits).filter_map(Self::read_answer_audit);
		audits.filter(|audit| audit.is_due(now)).take(page()).collect()
	}

	pub(crate) fn read_answer_audit_terms() -> AnswerAuditTerms {
		let (share, draw_price) = (AnswerAuditShare::<T>::get().deconstruct(), AnswerDrawPrice::<T>::get());
		let (deliver_time, open_for) = (DeliverTime::<T>::get(), GetDisputePeriod::<T>::get());
		AnswerAuditTerms { share, draw_price, deliver_time, deposit: T::DemandDeposit::get(), open_for }
	}
}

/// Most entries that are listed at once.
pub(crate) fn page() -> usize {
	usize::try_from(PAGE).unwrap_or(usize::MAX)
}
