//! Invariants of what is stored of audits of answers.

use super::AuditedSession;
use crate::{
	audit::entries, AnswerAudits, AnswerClosings, AnswerClosingsSpan, AuditedSessions, AuditorOfAnswer, Config, Demands, DemandsSpan,
	DisputedAnswers, DrawnAnswers, HoldReason, Pallet, UndrawnAnswers, UndrawnAnswersSpan,
};
use alloc::collections::{BTreeMap, BTreeSet};
use frame_support::{ensure, traits::fungible::InspectHold};
use neuroshard_types::{
	answer_audit::{AnswerId, MAX_PROVEN},
	AccountId, Balance,
};
use sp_runtime::TryRuntimeError;

impl<T: Config> Pallet<T> {
	/// Checks every invariant of audits of answers and names the first that is broken.
	pub(crate) fn answer_audits_are_sound() -> Result<(), TryRuntimeError> {
		let noted = entries(UndrawnAnswersSpan::<T>::get(), UndrawnAnswers::<T>::iter().collect())?;
		ensure!(noted.is_sorted_by_key(|noted| (noted.epoch, noted.paid_at)), "answers are drawn out of order");
		ensure!(noted.iter().all(|noted| noted.answers.first() < noted.answers.answers), "no answers wait for their draw");
		Self::audited_answers_are_those_of_sessions()?;
		Self::every_audited_answer_has_its_close()?;
		Self::every_demand_has_its_deadline()?;
		Self::deposits_are_those_of_demands()?;
		for (claim, auditor) in AuditorOfAnswer::<T>::iter() {
			ensure!(auditor != claim.who, "a provider audits its own answer");
			ensure!(DisputedAnswers::<T>::contains_key(&claim), "the auditor of an answer is kept that nobody disputes");
		}
		Ok(())
	}

	/// Audits are counted by session and provider, and listed by their auditors, and nothing else is.
	fn audited_answers_are_those_of_sessions() -> Result<(), TryRuntimeError> {
		let (mut counts, mut listed) = (BTreeMap::<_, u32>::new(), 0usize);
		for (answer, audit) in AnswerAudits::<T>::iter() {
			ensure!(audit.auditor != answer.provider, "a provider audits its own answer");
			let behind = audit.answers.checked_sub(answer.place);
			ensure!(behind.is_some_and(|behind| behind > 0 && behind <= MAX_PROVEN), "an answer was drawn that nobody can prove");
			ensure!(audit.demand_by <= audit.closes_at && audit.closes_at <= audit.bound_until, "an audit of an answer has no time");
			let listed_as = (&audit.auditor, audit.closes_at.to_be_bytes(), &answer);
			ensure!(DrawnAnswers::<T>::contains_key(listed_as), "an auditor of an answer is not listed");
			let count = counts.entry((answer.session, answer.provider)).or_default();
			*count = count.saturating_add(1);
			listed = listed.saturating_add(1);
		}
		ensure!(DrawnAnswers::<T>::iter_keys().count() == listed, "an auditor is listed without an answer");
		let marks: BTreeMap<_, _> =
			AuditedSessions::<T>::iter().map(|(session, provider, AuditedSession { audits, .. })| ((session, provider), audits)).collect();
		ensure!(marks == counts, "audits of a session are counted wrongly");
		Ok(())
	}

	/// Every audit waits for its close once.
	fn every_audited_answer_has_its_close() -> Result<(), TryRuntimeError> {
		let closings = entries(AnswerClosingsSpan::<T>::get(), AnswerClosings::<T>::iter().collect())?;
		let (mut waiting, mut last) = (BTreeSet::<AnswerId>::new(), 0);
		for answer in closings {
			let audit = AnswerAudits::<T>::get(&answer).ok_or("an audit of an answer was forgotten before its close")?;
			ensure!(last <= audit.closes_at, "audits of answers close out of order");
			last = audit.closes_at;
			ensure!(waiting.insert(answer), "an audit of an answer closes twice");
		}
		ensure!(AnswerAudits::<T>::iter_keys().count() == waiting.len(), "an audit of an answer never closes");
		Ok(())
	}

	/// Every demand that is not met waits for its deadline once, before its audit closes.
	fn every_demand_has_its_deadline() -> Result<(), TryRuntimeError> {
		let (mut waiting, mut last) = (BTreeSet::<AnswerId>::new(), 0);
		for answer in entries(DemandsSpan::<T>::get(), Demands::<T>::iter().collect())? {
			// Those that were met may be forgotten.
			let Some(audit) = AnswerAudits::<T>::get(&answer) else { continue };
			if let Some(demand) = audit.demand() {
				ensure!(last <= demand.deadline, "demands end out of order");
				last = demand.deadline;
				ensure!(demand.deadline < audit.closes_at, "a demand ends behind its audit");
				ensure!(waiting.insert(answer), "a demand ends twice");
			}
		}
		let open = AnswerAudits::<T>::iter_values().filter(|audit| audit.demand().is_some()).count();
		ensure!(waiting.len() == open, "a demand never ends");
		Ok(())
	}

	/// Checks that the holds for demands of those who demand, or could, are the deposits of their demands.
	fn deposits_are_those_of_demands() -> Result<(), TryRuntimeError> {
		let mut deposits = BTreeMap::<AccountId, Balance>::new();
		for audit in AnswerAudits::<T>::iter_values() {
			deposits.entry(audit.auditor.clone()).or_default();
			if let Some(demand) = audit.demand() {
				let sum = deposits.entry(demand.payer.clone()).or_default();
				*sum = sum.checked_add(demand.deposit).ok_or("deposits exceed what there can be")?;
			}
		}
		for (who, deposits) in deposits {
			let held = T::Currency::balance_on_hold(&HoldReason::Demand.into(), &who);
			ensure!(held == deposits, "what is held differs from the deposits of demands");
		}
		Ok(())
	}
}
