//! Tests of the lists that auditors and providers read of what waits for them.

use super::*;
use neuroshard_types::dispute::PAGE;

/// All that `auditor` has to look at, page by page, and how many pages that takes.
fn all_of(auditor: &AccountId) -> (Vec<AnswerAuditView>, usize) {
	let (mut all, mut pages) = (Vec::<AnswerAuditView>::new(), 0);
	loop {
		let after = all.last().map(|last| (last.closes_at, last.answer.clone()));
		let page = Disputes::answer_audits_of(auditor.clone(), after);
		assert!(page.len() <= PAGE as usize);
		pages += 1;
		let was_last = page.len() < PAGE as usize;
		all.extend(page);
		if was_last {
			return (all, pages);
		}
	}
}

#[test]
fn an_answer_that_is_drawn_after_a_thousand_others_is_listed_and_demanded_in_time() {
	build_and_execute(|| {
		enrolled(1);
		give(FUNDS);
		(0..251).for_each(|session| pay(&HONEST, session, [0, 4], H256::zero()));
		draw();
		(0..3).for_each(|_| next_block());
		let (before, pages) = all_of(&verifier(0));
		assert_eq!((before.len(), pages), (1_004, 4));
		pay(&LIAR, 999, [0, 1], H256::zero());
		draw();
		let (all, _) = all_of(&verifier(0));
		assert!(all.is_sorted_by_key(|audit| audit.closes_at));
		let last = all.last().expect("audits");
		assert_eq!((all.len(), last.answer.session, &last.answer.provider), (1_005, 999, &LIAR));
		assert!(all.iter().map(|audit| &audit.answer).collect::<std::collections::BTreeSet<_>>().len() == all.len(), "each once");
		assert_ok!(Disputes::demand_answer(signed(&verifier(0)), 999, LIAR, 0));
	});
}

#[test]
fn what_is_over_is_not_listed() {
	build_and_execute(|| {
		let answers = said(&LIAR, 2);
		enrolled(1);
		give(FUNDS);
		pay(&LIAR, SESSION, [0, 2], root(&answers));
		pay(&HONEST, 77, [0, 1], H256::zero());
		draw();
		let listed = || all_of(&verifier(0)).0.into_iter().map(|audit| (audit.answer.session, audit.answer.place)).collect::<Vec<_>>();
		assert_eq!(listed().len(), 3);
		assert_ok!(demand(&verifier(0), &answers[0]));
		// It is late: nothing more is to be done about the session.
		run_to(System::block_number() + DELIVER_TIME + 1);
		assert_eq!((withheld_of(&answers[0]), listed()), (Delivery::Withheld, vec![(77, 0)]));
	});
}

fn withheld_of(answer: &Answered) -> Delivery {
	view(answer).expect("an audit").delivery
}

#[test]
fn a_provider_reads_all_that_is_demanded_of_it_the_most_urgent_first() {
	build_and_execute(|| {
		enrolled(4);
		give(1_000 * FUNDS);
		(0..75).for_each(|session| pay(&HONEST, session, [0, 4], H256::zero()));
		draw();
		next_block();
		let mut demanded = Vec::new();
		for (number, (answer, audit)) in AnswerAudits::<Test>::iter().collect::<Vec<_>>().into_iter().enumerate() {
			if number == 150 {
				next_block();
			}
			assert_ok!(Disputes::demand_answer(signed(&audit.auditor), answer.session, answer.provider.clone(), answer.place));
			demanded.push(answer);
		}
		let first = Disputes::answers_demanded_of(HONEST, None);
		assert_eq!(first.len(), PAGE as usize);
		let rest = Disputes::answers_demanded_of(HONEST, first.last().map(|last| last.answer.clone()));
		let all: Vec<AnswerId> = first.iter().chain(&rest).map(|audit| audit.answer.clone()).collect();
		assert_eq!(all, demanded);
		assert_eq!(Disputes::answers_demanded_of(HONEST, all.last().cloned()), []);
	});
}
