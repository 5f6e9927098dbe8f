//! Draws: which claims of pay wait for theirs, and what comes of it.

use super::{
	lots::{draw, weighed, Lot},
	AnswerAudit, NotedAnswers, TextOf,
};
use crate::{
	AnswerAuditShare, AnswerAudits, AnswerClosings, AnswerClosingsSpan, AnswerDrawPrice, AuditedSessions, Config, DeliverTime,
	DrawnAnswers, Event, GetDisputePeriod, Pallet, UndrawnAnswers, UndrawnAnswersSpan, Verifiers, WeightInfo, EPOCHS,
};
use alloc::vec::Vec;
use codec::Encode;
use frame_support::{
	traits::{Get, Randomness},
	weights::Weight,
};
use neuroshard_graph::merkle::blake2_256;
use neuroshard_types::{
	answer_audit::{AnswerId, OnPaid, PaidAnswersOf},
	inference::SessionId,
	span::Span,
	traits::PaidAnswers,
	AccountId, Balance, BlockNumber, H256,
};
use sp_runtime::Permill;

/// Most claims of pay that are drawn from in one block; the rest follows in the next blocks. As the bond of a provider is bound for so long, nobody crowds out
/// the draw of its answers with claims: it would need as many as this in each of all those blocks, and more.
pub(crate) const MAX_CLAIMS: u32 = 64;

/// Blocks that an audit of an answer takes from its draw: as many to demand the text in, to deliver it in, and to dispute the answer in.
pub(crate) fn time_needed(deliver_time: BlockNumber) -> BlockNumber {
	deliver_time.saturating_mul(3)
}

impl<T: Config> OnPaid for Pallet<T> {
	fn paid(answers: PaidAnswersOf) {
		if AnswerAuditShare::<T>::get().is_zero() || answers.first() >= answers.answers {
			return;
		}
		let noted = NotedAnswers { answers, epoch: T::Epochs::get(), paid_at: Self::now() };
		UndrawnAnswersSpan::<T>::mutate(|span| UndrawnAnswers::<T>::insert(span.append(), noted));
	}
}

/// Parameters that the draws of one block are made from.
struct Urn {
	randomness: H256,
	share: Permill,
	/// Planck that are paid for a draw, at least and on average.
	price: Balance,
	/// By account bytes ascending.
	verifiers: Vec<AccountId>,
	deliver_time: BlockNumber,
	/// Blocks from a claim of pay in which the provider's bond is bound.
	period: BlockNumber,
}

impl<T: Config> Pallet<T> {
	/// Draws audits of the answers of the oldest claims of pay that wait for it, if it is time. Returns the weight.
	pub(crate) fn draw_answers() -> Weight {
		let mut span = UndrawnAnswersSpan::<T>::get();
		let (idle, epoch) = (T::WeightInfo::draw_answers_idle(), T::Epochs::get());
		let is_due = |noted: &NotedAnswers| noted.epoch.saturating_add(EPOCHS) <= epoch;
		if !span.oldest().is_some_and(|number| UndrawnAnswers::<T>::get(number).as_ref().is_none_or(is_due)) {
			return idle;
		}
		let (urn, mut closings) = (Self::urn(epoch), AnswerClosingsSpan::<T>::get());
		let (mut claims, mut drawn) = (0u32, 0u32);
		while let Some(number) = span.oldest().filter(|_| claims < MAX_CLAIMS) {
			match UndrawnAnswers::<T>::get(number) {
				Some(noted) if !is_due(&noted) => break,
				Some(noted) => drawn = drawn.saturating_add(Self::draw_claim(&urn, number, noted, &mut closings)),
				None => {}
			}
			UndrawnAnswers::<T>::remove(number);
			span.pass();
			claims = claims.saturating_add(1);
		}
		UndrawnAnswersSpan::<T>::put(span);
		AnswerClosingsSpan::<T>::put(closings);
		idle.saturating_add(T::WeightInfo::draw_answers(claims, drawn))
	}

	fn urn(epoch: u64) -> Urn {
		let verifiers = Verifiers::<T>::get().into_iter().filter(|verifier| verifier.takes_part(epoch));
		let (randomness, _) = T::AuditRandomness::random(b"neuroshard/answer-audit");
		Urn {
			randomness,
			share: AnswerAuditShare::<T>::get(),
			price: AnswerDrawPrice::<T>::get(),
			verifiers: verifiers.map(|verifier| verifier.account).collect(),
			deliver_time: DeliverTime::<T>::get(),
			period: GetDisputePeriod::<T>::get(),
		}
	}

	/// Draws audits of the answers of the claim of pay with this number, and returns how many.
	fn draw_claim(urn: &Urn, number: u64, noted: NotedAnswers, closings: &mut Span) -> u32 {
		let NotedAnswers { answers, paid_at, .. } = noted;
		let places = answers.first()..answers.answers;
		let PaidAnswersOf { session, provider, answers, receipts, checkpoint, paid, .. } = answers;
		let demand_by = Self::now().saturating_add(urn.deliver_time);
		let closes_at = Self::now().saturating_add(time_needed(urn.deliver_time));
		let bound_until = paid_at.saturating_add(urn.period);
		if closes_at > bound_until {
			Self::deposit_event(Event::AnswerAuditsSkipped { session, provider, answers });
			return 0;
		}
		if Self::is_session_condemned(session, &provider) {
			return 0;
		}
		// With its number: claims that pay for the same answers in parts have lots of their own. Else answers would be drawn as rarely as the largest part alone
		// says, however many there are.
		let seed = H256(blake2_256(&(b"neuroshard/answer-draw/2", urn.randomness, session, &provider, answers, number).encode()));
		let share = weighed(urn.share, urn.price, paid, answers.saturating_sub(places.start));
		let mut drawn = 0u32;
		for Lot { place, auditor } in draw(seed, share, places, &provider, &urn.verifiers) {
			let answer = AnswerId { session, provider: provider.clone(), place };
			// Only where a rest is paid for answers of before.
			if AnswerAudits::<T>::contains_key(&answer) {
				continue;
			}
			DrawnAnswers::<T>::insert((&auditor, closes_at.to_be_bytes(), &answer), ());
			AnswerClosings::<T>::insert(closings.append(), &answer);
			let text = TextOf::Undemanded;
			let audit = AnswerAudit {
				auditor: auditor.clone(),
				answers,
				receipts,
				checkpoint,
				demand_by,
				closes_at,
				bound_until,
				text,
				disputed: None,
			};
			AnswerAudits::<T>::insert(&answer, audit);
			Self::deposit_event(Event::AnswerAuditDrawn { answer, auditor, demand_by, closes_at });
			drawn = drawn.saturating_add(1);
		}
		if drawn > 0 {
			AuditedSessions::<T>::mutate(session, &provider, |entry| {
				let session = entry.get_or_insert_default();
				session.audits = session.audits.saturating_add(drawn);
			});
		}
		drawn
	}

	/// Returns whether an answer of `provider` in `session` was proven false, not defended or withheld.
	pub(crate) fn is_session_condemned(session: SessionId, provider: &AccountId) -> bool {
		T::PaidAnswers::is_condemned(session, provider)
			|| AuditedSessions::<T>::get(session, provider).is_some_and(|session| session.condemned)
	}

	/// An answer of `provider` in `session` was proven false, not defended or withheld: nothing more is paid, disputed or demanded of that session.
	pub(crate) fn condemn_session(session: SessionId, provider: &AccountId) {
		T::PaidAnswers::condemn(session, provider);
		AuditedSessions::<T>::mutate_exists(session, provider, |entry| entry.iter_mut().for_each(|session| session.condemned = true));
	}
}
