//! Tests of which answers can be disputed, and what a false one costs.

use crate::{mock::*, Call, Condemned, Error, Event};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{
	answer_audit::PaidAnswersOf,
	inference::{CheckpointId, SessionId},
	traits::PaidAnswers,
	AccountId, H256,
};

fn can_dispute(session: SessionId, provider: &AccountId) -> bool {
	Inference::can_dispute(session, provider)
}

fn settle(session: SessionId) {
	assert_ok!(send(&user(1), Call::close_session { session }));
	System::set_block_number(System::block_number() + DELAY);
	assert_ok!(send(&NOBODY, Call::settle { session }));
}

#[test]
fn answers_can_be_disputed_until_their_session_is_settled() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let session = open(1, Some(&DRIVER), 1_000);
		assert!(can_dispute(session, &DRIVER));
		assert!(!can_dispute(session, &OTHER) && !can_dispute(session + 1, &DRIVER));
		settle(session);
		assert!(!can_dispute(session, &DRIVER));
	});
}

#[test]
fn answers_of_a_prepaid_session_can_be_disputed_of_those_that_it_has_paid() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		offer_alone(&OTHER);
		let session = open(1, None, 1_000);
		assert!(!can_dispute(session, &DRIVER));
		assert_ok!(claim(1, voucher(session, &DRIVER, 10, 1)));
		assert!(can_dispute(session, &DRIVER) && !can_dispute(session, &OTHER));
	});
}

#[test]
fn who_gave_a_false_answer_is_paid_nothing_more_of_that_session_and_the_user_gets_what_is_left() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let [session, other] = [open(1, Some(&DRIVER), 1_000), open(1, Some(&DRIVER), 500)];
		assert_ok!(claim(1, voucher(session, &DRIVER, 100, 1)));
		Inference::condemn(session, &DRIVER);
		System::assert_last_event(Event::AnswerCondemned { session, provider: DRIVER }.into());
		assert!(Inference::is_condemned(session, &DRIVER) && !Inference::is_condemned(other, &DRIVER));
		assert_noop!(claim(1, voucher(session, &DRIVER, 200, 2)), Error::<Test>::AnswerCondemned);
		assert_ok!(claim(1, voucher(other, &DRIVER, 200, 2)));
		settle(session);
		assert_eq!(money(&user(1)), (FUNDS - 100 - 500, 300));
		assert!(!Inference::is_condemned(session, &DRIVER) && Condemned::<Test>::iter().next().is_none());
	});
}

#[test]
fn a_prepaid_session_goes_on_paying_the_others() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		offer_alone(&OTHER);
		let session = open(1, None, 1_000);
		for driver in [&DRIVER, &OTHER] {
			assert_ok!(claim(1, voucher(session, driver, 10, 1)));
		}
		Inference::condemn(session, &DRIVER);
		assert_noop!(claim(1, voucher(session, &DRIVER, 20, 2)), Error::<Test>::AnswerCondemned);
		assert_ok!(claim(1, voucher(session, &OTHER, 20, 2)));
		settle(session);
		assert!(Condemned::<Test>::iter().next().is_none());
	});
}

#[test]
fn nobody_is_condemned_in_a_session_that_is_over_or_does_not_pay_it() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let session = open(1, Some(&DRIVER), 1_000);
		Inference::condemn(session, &OTHER);
		settle(session);
		System::reset_events();
		Inference::condemn(session, &DRIVER);
		assert!(Condemned::<Test>::iter().next().is_none() && System::events().is_empty());
	});
}

#[test]
fn each_claim_tells_what_was_paid_for_and_with_what_it_was_answered() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let session = open(1, Some(&DRIVER), 1_000);
		assert_ok!(claim(1, voucher(session, &DRIVER, 100, 3)));
		assert_ok!(claim(1, voucher(session, &DRIVER, 2_000, 7)));
		// The rest of the same voucher.
		assert_ok!(send(&user(1), Call::top_up { session, amount: 5_000 }));
		assert_ok!(claim(1, voucher(session, &DRIVER, 2_000, 7)));
		assert_noop!(claim(1, voucher(session, &DRIVER, 2_500, 7)), Error::<Test>::StaleVoucher);
		let told = |before, answers: u32, paid| PaidAnswersOf {
			session,
			provider: DRIVER,
			before,
			answers,
			receipts: H256::from_low_u64_be(answers.into()),
			checkpoint: CheckpointId { run: RUN, round: 1, root: root_of(1) },
			paid,
		};
		assert_eq!(Told::get(), [told(0, 3, 100), told(3, 7, 900), told(7, 7, 1_000)]);
	});
}
