//! States that should never be.

use super::*;
use crate::{AnswerClosings, AnswerClosingsSpan, AuditedSession, AuditedSessions, Demands, DrawnAnswers, TextOf, UndrawnAnswers};

/// Returns the invariant that is broken in a state of two audits, one with a demand, after this change.
fn broken(change: impl FnOnce(&AnswerId, &AccountId)) -> Option<&'static str> {
	new_test_ext().execute_with(|| {
		let answers = said(&HONEST, 2);
		let auditors = drawn(&answers);
		pay(&HONEST, SESSION, [2, 4], H256::zero());
		assert_ok!(demand(&auditors[0], &answers[0]));
		check_invariants();
		change(&id(&answers[0]), &auditors[0]);
		match Disputes::do_try_state() {
			Ok(()) => None,
			Err(sp_runtime::DispatchError::Other(words)) => Some(words),
			Err(error) => panic!("{error:?}"),
		}
	})
}

/// The close of an audit, as auditors are listed by it.
fn close_of(answer: &AnswerId) -> [u8; 4] {
	AnswerAudits::<Test>::get(answer).expect("an audit").closes_at.to_be_bytes()
}

fn change(answer: &AnswerId, change: impl FnOnce(&mut crate::AnswerAudit)) {
	AnswerAudits::<Test>::mutate(answer, |audit| change(audit.as_mut().expect("an audit")));
}

#[test]
fn states_that_should_never_be_are_noticed() {
	assert_eq!(broken(|_, _| {}), None);
	let hold = crate::HoldReason::Demand.into();
	assert_eq!(
		broken(|_, auditor| {
			use frame_support::traits::fungible::MutateHold;
			assert_ok!(Balances::hold(&hold, auditor, 1));
		}),
		Some("what is held differs from the deposits of demands")
	);
	assert_eq!(broken(|answer, _| AnswerAudits::<Test>::remove(answer)), Some("an auditor is listed without an answer"));
	assert_eq!(
		broken(|answer, auditor| DrawnAnswers::<Test>::remove((auditor, close_of(answer), answer))),
		Some("an auditor of an answer is not listed")
	);
	assert_eq!(broken(|_, _| AuditedSessions::<Test>::remove(SESSION, HONEST)), Some("audits of a session are counted wrongly"));
	let more = AuditedSession { audits: 3, condemned: false };
	assert_eq!(broken(|_, _| AuditedSessions::<Test>::insert(SESSION, HONEST, more)), Some("audits of a session are counted wrongly"));
	assert_eq!(broken(|_, _| AuditedSessions::<Test>::insert(SESSION, LIAR, more)), Some("audits of a session are counted wrongly"));
	assert_eq!(broken(|_, _| AnswerClosings::<Test>::remove(0)), Some("a queue has a gap"));
	assert_eq!(
		broken(|answer, _| AnswerClosings::<Test>::insert(0, AnswerId { place: 1, ..answer.clone() })),
		Some("an audit of an answer closes twice")
	);
	assert_eq!(
		broken(|_, _| {
			AnswerClosings::<Test>::remove(1);
			AnswerClosingsSpan::<Test>::mutate(|span| span.next -= 1);
		}),
		Some("an audit of an answer never closes")
	);
	assert_eq!(broken(|_, _| Demands::<Test>::insert(0, AnswerId { session: 99, provider: LIAR, place: 0 })), Some("a demand never ends"));
	assert_eq!(
		broken(|answer, _| change(answer, |audit| audit.text = TextOf::Withheld)),
		Some("what is held differs from the deposits of demands")
	);
	assert_eq!(broken(|answer, _| change(answer, |audit| audit.auditor = HONEST)), Some("a provider audits its own answer"));
	assert_eq!(broken(|answer, _| change(answer, |audit| audit.answers = 0)), Some("an answer was drawn that nobody can prove"));
	assert_eq!(broken(|answer, _| change(answer, |audit| audit.answers = 257)), Some("an answer was drawn that nobody can prove"));
	assert_eq!(broken(|answer, _| change(answer, |audit| audit.bound_until = 0)), Some("an audit of an answer has no time"));
	assert_eq!(broken(|_, _| UndrawnAnswers::<Test>::remove(1)), Some("a queue has a gap"));
}
