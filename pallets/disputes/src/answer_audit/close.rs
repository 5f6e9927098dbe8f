//! End of audits of answers.

use super::AnswerAudit;
use crate::{AnswerAudits, AnswerClosings, AnswerClosingsSpan, AuditedSessions, Config, DrawnAnswers, Pallet, WeightInfo};
use frame_support::weights::Weight;
use neuroshard_types::answer_audit::AnswerId;

/// Most audits of answers that are closed in one block; the rest follows in the next blocks.
pub(crate) const MAX_CLOSED: u32 = 64;

impl<T: Config> Pallet<T> {
	/// Closes audits of answers whose time has come, oldest first. Returns the weight.
	pub(crate) fn close_answers() -> Weight {
		let (now, mut span) = (Self::now(), AnswerClosingsSpan::<T>::get());
		let mut closed = 0u32;
		while let Some(number) = span.oldest().filter(|_| closed < MAX_CLOSED) {
			let found = AnswerClosings::<T>::get(number).and_then(|answer| Some((AnswerAudits::<T>::get(&answer)?, answer)));
			if let Some((audit, answer)) = found {
				// Where many demands end at once, it takes more than a block to end them.
				if now < audit.closes_at || audit.demand().is_some() {
					break;
				}
				Self::forget_audit(&answer, &audit);
			}
			AnswerClosings::<T>::remove(number);
			span.pass();
			closed = closed.saturating_add(1);
		}
		if closed > 0 {
			AnswerClosingsSpan::<T>::put(span);
		}
		T::WeightInfo::close_answers(closed)
	}

	/// Forgets an audit, and with the last one of its session what is known of that.
	fn forget_audit(answer: &AnswerId, audit: &AnswerAudit) {
		AnswerAudits::<T>::remove(answer);
		DrawnAnswers::<T>::remove((&audit.auditor, audit.closes_at.to_be_bytes(), answer));
		AuditedSessions::<T>::mutate_exists(answer.session, &answer.provider, |entry| {
			let left = entry.take().map(|mut session| {
				session.audits = session.audits.saturating_sub(1);
				session
			});
			*entry = left.filter(|session| session.audits > 0);
		});
	}
}
