//! Tests of when answers are drawn, and which.

use super::*;
use crate::{AnswerAuditShare, AnswerDrawPrice, UndrawnAnswers};
use neuroshard_types::NEURO;
use sp_runtime::{BuildStorage, Permill};

/// Places of answers that were drawn, by session.
fn places(session: u64) -> Vec<u32> {
	let mut places: Vec<_> =
		AnswerAudits::<Test>::iter_keys().filter(|answer| answer.session == session).map(|answer| answer.place).collect();
	places.sort_unstable();
	places
}

fn skipped() -> Vec<(u64, AccountId, u32)> {
	let skipped = |event| match event {
		Event::AnswerAuditsSkipped { session, provider, answers } => Some((session, provider, answers)),
		_ => None,
	};
	events().into_iter().filter_map(skipped).collect()
}

fn waiting() -> usize {
	UndrawnAnswers::<Test>::iter().count()
}

#[test]
fn answers_are_drawn_two_epochs_after_they_were_paid_for_and_not_before() {
	build_and_execute(|| {
		enrolled(3);
		let answers = said(&HONEST, 2);
		pay(&HONEST, SESSION, [0, 2], root(&answers));
		let paid_in = Epoch::get();
		for epoch in [paid_in, paid_in + 1] {
			Epoch::set(epoch);
			next_block();
			assert_eq!((places(SESSION), waiting()), (vec![], 1));
		}
		Epoch::set(paid_in + 2);
		next_block();
		assert_eq!((places(SESSION), waiting()), (vec![0, 1], 0));
		// Drawn in block 4: six blocks to demand it in, six to deliver it in, and six to dispute it in.
		let shown = view(&answers[1]).expect("an audit");
		assert_eq!((shown.demand_by, shown.closes_at, shown.delivery, shown.condemned), (10, 22, Delivery::Undemanded, false));
		assert_eq!((shown.answers, shown.receipts, shown.checkpoint.run), (2, root(&answers), 0));
		assert!((0..3).any(|number| verifier(number) == shown.auditor));
		assert!(Disputes::answer_audits_of(shown.auditor.clone(), None).contains(&shown));
		let event = |event| matches!(event, Event::AnswerAuditDrawn { answer, closes_at: 22, .. } if answer == id(&answers[1]));
		assert!(events().into_iter().any(event));
	});
}

#[test]
fn only_new_answers_are_drawn_and_of_many_only_the_last_256_and_four_of_a_claim() {
	build_and_execute(|| {
		enrolled(3);
		pay(&HONEST, 1, [5, 8], H256::zero());
		pay(&HONEST, 2, [100, 1_000], H256::zero());
		pay(&HONEST, 3, [0, 4], H256::zero());
		draw();
		assert_eq!((places(1), places(3)), (vec![5, 6, 7], vec![0, 1, 2, 3]));
		assert!(places(2).len() == 4 && places(2).iter().all(|place| (744..1_000).contains(place)), "{:?}", places(2));
	});
}

#[test]
fn nobody_audits_its_own_answers() {
	build_and_execute(|| {
		// Providers verify as well.
		enrolled(2);
		for session in 0..20 {
			pay(&verifier(0), session, [0, 4], H256::zero());
		}
		draw();
		assert_eq!(Disputes::answer_audits_of(verifier(0), None), []);
		assert_eq!(Disputes::answer_audits_of(verifier(1), None).len(), 80);
	});
}

#[test]
fn who_enrolled_later_than_the_answers_were_paid_for_audits_none() {
	build_and_execute(|| {
		enrolled(1);
		pay(&HONEST, 1, [0, 4], H256::zero());
		Epoch::mutate(|epoch| *epoch += 1);
		assert_ok!(Disputes::enroll(signed(&verifier(1))));
		Epoch::mutate(|epoch| *epoch += 1);
		next_block();
		assert_eq!((Disputes::answer_audits_of(verifier(0), None).len(), Disputes::answer_audits_of(verifier(1), None).len()), (4, 0));
	});
}

#[test]
fn the_share_of_the_answers_is_drawn() {
	build_and_execute(|| {
		enrolled(3);
		AnswerAuditShare::<Test>::put(Permill::from_percent(25));
		(0..60).for_each(|session| pay(&HONEST, session, [0, 10], H256::zero()));
		draw();
		// 150 of 600; six standard deviations are 64, and five of ten are drawn in 8% of all cases.
		let count = AnswerAudits::<Test>::iter().count();
		assert!((80..=214).contains(&count), "{count}");
	});
}

#[test]
fn nothing_is_noted_where_nothing_is_drawn_or_nothing_was_answered() {
	build_and_execute(|| {
		enrolled(3);
		pay(&HONEST, 1, [0, 0], H256::zero());
		AnswerAuditShare::<Test>::kill();
		pay(&HONEST, 1, [3, 9], H256::zero());
		assert_eq!(waiting(), 0);
	});
}

#[test]
fn answers_are_drawn_by_what_is_paid_for_them_and_never_for_nothing() {
	build_and_execute(|| {
		enrolled(3);
		AnswerDrawPrice::<Test>::put(NEURO);
		// 256 answers for a planck each time.
		(0..100).for_each(|session| pay_for(&LIAR, session, [0, 256], H256::zero(), 1));
		// One in 256 of 256 answers, each time: 100 on average, and six standard deviations are 60.
		(100..200).for_each(|session| pay_for(&LIAR, session, [0, 256], H256::zero(), NEURO));
		// As dear as draws are, or dearer.
		(200..210).for_each(|session| pay_for(&HONEST, session, [0, 3], H256::zero(), 3 * NEURO));
		pay_for(&HONEST, 210, [0, 3], H256::zero(), Balance::MAX);
		draw();
		(0..4).for_each(|_| next_block());
		let count = |sessions: core::ops::Range<u64>| sessions.map(places).map(|places| places.len()).sum::<usize>();
		assert_eq!((count(0..100), count(200..211), waiting()), (0, 33, 0));
		assert!((40..=160).contains(&count(100..200)), "{}", count(100..200));
	});
}

#[test]
fn what_an_escrow_had_too_little_for_is_drawn_from_when_it_is_paid() {
	build_and_execute(|| {
		enrolled(3);
		AnswerDrawPrice::<Test>::put(NEURO);
		pay_for(&LIAR, 1, [0, 3], H256::zero(), 1);
		draw();
		assert!(places(1).is_empty());
		pay_for(&LIAR, 1, [3, 3], H256::zero(), 3 * NEURO);
		draw();
		assert_eq!(places(1), [0, 1, 2]);
		// What is audited already is not drawn again.
		let audits: Vec<_> = AnswerAudits::<Test>::iter().collect();
		pay_for(&LIAR, 1, [3, 3], H256::zero(), 3 * NEURO);
		draw();
		assert_eq!(AnswerAudits::<Test>::iter().collect::<Vec<_>>(), audits);
	});
}

#[test]
fn answers_that_are_paid_for_in_parts_are_drawn_as_often_as_if_they_were_paid_for_at_once() {
	build_and_execute(|| {
		enrolled(3);
		AnswerDrawPrice::<Test>::put(NEURO);
		// By each half, every second answer.
		for session in 0..200 {
			pay_for(&LIAR, session, [0, 1], H256::zero(), NEURO / 2);
			pay_for(&LIAR, session, [1, 1], H256::zero(), NEURO / 2);
		}
		draw();
		(0..6).for_each(|_| next_block());
		// Three of four by one of the halves at least: 150, and six standard deviations are 37.
		let count = AnswerAudits::<Test>::iter().count();
		assert!(waiting() == 0 && (113..=187).contains(&count), "{count}");
	});
}

#[test]
fn nothing_is_drawn_where_nobody_verifies_or_the_session_has_a_false_answer_already() {
	build_and_execute(|| {
		pay(&HONEST, 1, [0, 4], H256::zero());
		draw();
		enrolled(3);
		Lied::set([(2, LIAR)].into());
		pay(&LIAR, 2, [0, 4], H256::zero());
		draw();
		assert_eq!((waiting(), AnswerAudits::<Test>::iter().count()), (0, 0));
	});
}

#[test]
fn a_draw_that_comes_too_late_is_skipped() {
	build_and_execute(|| {
		enrolled(3);
		pay(&HONEST, 1, [0, 4], H256::zero());
		let paid_at = System::block_number();
		let period = WINDOW + crate::longest_game(CLOCK, EXTENSION);
		// An audit that begins in this block ends with the last one in which the bond is bound.
		System::set_block_number(paid_at + period - LASTS - 1);
		draw();
		assert_eq!((places(1).len(), skipped()), (4, vec![]));
		pay(&LIAR, 2, [0, 4], H256::zero());
		System::set_block_number(System::block_number() + period - LASTS);
		draw();
		assert_eq!((places(2), skipped()), (vec![], vec![(2, LIAR, 4)]));
	});
}

#[test]
fn a_block_draws_from_64_claims_the_oldest_first() {
	build_and_execute(|| {
		enrolled(3);
		(0..70).for_each(|session| pay(&HONEST, session, [0, 1], H256::zero()));
		draw();
		assert_eq!((AnswerAudits::<Test>::iter().count(), places(63), places(64), waiting()), (64, vec![0], vec![], 6));
		// These wait for another epoch.
		pay(&HONEST, 70, [0, 1], H256::zero());
		next_block();
		assert_eq!((AnswerAudits::<Test>::iter().count(), waiting()), (70, 1));
	});
}

#[test]
fn audits_close_in_their_block_and_leave_nothing() {
	build_and_execute(|| {
		let answers = said(&HONEST, 3);
		drawn(&answers);
		let closes_at = view(&answers[0]).expect("an audit").closes_at;
		assert_eq!(closes_at, System::block_number() + LASTS);
		run_to(closes_at - 1);
		assert!(view(&answers[0]).is_some());
		run_to(closes_at);
		assert_forgotten();
	});
}

#[test]
fn terms_are_those_of_the_genesis() {
	build_and_execute(|| {
		let terms = Disputes::answer_audit_terms();
		assert_eq!((terms.share, terms.deliver_time, terms.deposit), (1_000_000, DELIVER_TIME, DEPOSIT));
		assert_eq!(terms.kept_for(), Disputes::terms().window + crate::longest_game(CLOCK, EXTENSION));
	});
}

/// Builds a genesis in which providers have so much time, beside three epochs of 4 slots and 101 blocks in which claims can be disputed.
fn genesis(deliver_time: u32) {
	ChallengeWindow::set(WINDOW);
	let (clock, extension, answer_audit_share) = (CLOCK, EXTENSION, Permill::from_parts(1));
	let disputes =
		crate::GenesisConfig { clock, extension, audit_share: Permill::zero(), answer_audit_share, deliver_time, ..Default::default() };
	let _ = RuntimeGenesisConfig { disputes, ..Default::default() }.build_storage();
}

#[test]
fn what_is_paid_for_can_be_disputed_as_long_as_audits_take() {
	genesis(39);
}

#[test]
#[should_panic(expected = "the 131 blocks in which claims can be disputed are too few for audits of answers, which take 132")]
fn a_genesis_without_time_for_audits_of_answers_is_none() {
	genesis(40);
}

#[test]
#[should_panic(expected = "providers need time to deliver answers")]
fn providers_without_time_are_no_genesis() {
	genesis(0);
}
