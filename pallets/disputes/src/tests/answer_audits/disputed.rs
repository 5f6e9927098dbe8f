//! Games about answers that were drawn.

use super::*;
use crate::AuditorOfAnswer;
use sp_runtime::Perbill;

/// Half of the stake, rounded down: to whoever is rewarded.
const REWARD: Balance = STAKE / 2;

fn challenge(challenger: &AccountId, answer: &Answered, doubt: u32) -> DispatchResult {
	let called = Disputes::challenge_answer(signed(challenger), answer.receipt.clone(), answer.signature, doubt);
	called.map(|_| ()).map_err(|error| error.error)
}

/// A false answer that was drawn, its doubt and its auditor.
fn false_answer() -> (Answered, u32, AccountId) {
	let answer = case::answer(&LIAR, Telling::WrongToken);
	let doubt = answer.doubt().expect("a false token");
	let auditor = drawn(std::slice::from_ref(&answer)).remove(0);
	(answer, doubt, auditor)
}

#[test]
fn the_auditor_disputes_with_the_least_bond_and_comes_first_also_when_the_session_is_settled() {
	build_and_execute(|| {
		let (answer, doubt, auditor) = false_answer();
		settle();
		BondShare::set(Perbill::from_percent(10));
		// Somebody else is earlier, and holds a tenth.
		assert_ok!(challenge(&ALICE, &answer, doubt));
		assert_ok!(challenge(&auditor, &answer, doubt));
		let bond = |who: &AccountId| Disputes::game(answer.claim.clone(), who.clone()).map(|game| game.bond);
		assert_eq!((bond(&ALICE), bond(&auditor)), (Some(5_001), Some(BOND)));
		Match::new(&answer.claim, &ALICE, answer.provider(), answer.checker()).finish();
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(auditor.clone()), REWARD + 1)]);
		next_block();
		assert_eq!((free(&auditor), free(&ALICE), Disputes::games(None)), (FUNDS + REWARD, FUNDS, vec![]));
		// What is settled cannot be noted there any more, and is remembered here.
		assert!(view(&answer).is_some_and(|view| view.condemned));
		assert_noop!(challenge(&BOB, &answer, doubt), Error::<Test>::Condemned);
	});
}

#[test]
fn of_several_receipts_for_a_place_its_auditor_has_room_and_the_least_bond_for_one() {
	build_and_execute(|| {
		let (answer, doubt, auditor) = false_answer();
		BondShare::set(Perbill::from_percent(10));
		let others: Vec<_> = (1..4).map(|more| answer.changed(|receipt| receipt.price += more)).collect();
		assert_ok!(challenge(&auditor, &others[0], doubt));
		assert_ok!(challenge(&auditor, &others[1], doubt));
		let bond = |answer: &Answered| Disputes::game(answer.claim.clone(), auditor.clone()).map(|game| game.bond);
		assert_eq!((bond(&others[0]), bond(&others[1])), (Some(BOND), Some(5_001)));
		MaxGames::set(1);
		assert_noop!(challenge(&auditor, &others[2], doubt), Error::<Test>::TooManyGames);
	});
}

#[test]
fn a_full_limit_keeps_no_auditor_of_an_answer_out() {
	build_and_execute(|| {
		let (answer, doubt, auditor) = false_answer();
		MaxGames::set(1);
		assert_ok!(challenge(&ALICE, &answer, doubt));
		assert_noop!(challenge(&BOB, &answer, doubt), Error::<Test>::TooManyGames);
		assert_ok!(challenge(&auditor, &answer, doubt));
	});
}

#[test]
fn any_receipt_that_was_signed_for_the_place_is_a_claim() {
	build_and_execute(|| {
		let paid = case::say(&LIAR, 0);
		let auditor = drawn(std::slice::from_ref(&paid)).remove(0);
		let other = case::answer(&LIAR, Telling::WrongToken);
		assert!(other.claim != paid.claim && id(&other) == id(&paid));
		settle();
		assert_ok!(challenge(&auditor, &other, other.doubt().expect("a false token")));
		Match::new(&other.claim, &auditor, other.provider(), other.checker()).finish();
		assert_eq!(decisions(), [(auditor.clone(), Decision::Fraud, REWARD, Some(auditor), REWARD + 1)]);
	});
}

#[test]
fn what_is_settled_is_disputed_in_drawn_places_of_that_provider_until_the_audit_closes() {
	build_and_execute(|| {
		let (answer, doubt, auditor) = false_answer();
		settle();
		let others = [answer.again(1), answer.changed(|receipt| receipt.paid = Some((SESSION + 1, 0)))];
		for other in &others {
			assert_noop!(challenge(&auditor, other, doubt), Error::<Test>::NoSuchAnswer);
		}
		let closes_at = view(&answer).expect("an audit").closes_at;
		run_to(closes_at);
		assert_noop!(challenge(&auditor, &answer, doubt), Error::<Test>::NoSuchAnswer);
	});
	build_and_execute(|| {
		let (answer, doubt, auditor) = false_answer();
		settle();
		run_to(view(&answer).expect("an audit").closes_at - 1);
		assert_ok!(challenge(&auditor, &answer, doubt));
	});
}

#[test]
fn the_auditor_comes_first_also_in_a_game_that_outlasts_its_audit() {
	build_and_execute(|| {
		let (answer, doubt, auditor) = false_answer();
		run_to(view(&answer).expect("an audit").closes_at - 1);
		assert_ok!(challenge(&ALICE, &answer, doubt));
		assert_ok!(challenge(&auditor, &answer, doubt));
		next_block();
		assert_forgotten();
		Match::new(&answer.claim, &ALICE, answer.provider(), answer.checker()).finish();
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(auditor), REWARD + 1)]);
	});
}

#[test]
fn an_auditor_that_is_known_at_a_later_challenge_comes_first_too() {
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongToken);
		let doubt = answer.doubt().expect("a false token");
		// Before the draw, nobody is drawn.
		assert_ok!(challenge(&ALICE, &answer, doubt));
		let auditor = drawn(std::slice::from_ref(&answer)).remove(0);
		assert_eq!(AuditorOfAnswer::<Test>::get(&answer.claim), None);
		assert_ok!(challenge(&auditor, &answer, doubt));
		Match::new(&answer.claim, &ALICE, answer.provider(), answer.checker()).finish();
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(auditor), REWARD + 1)]);
	});
}

#[test]
fn an_auditor_without_a_game_gets_nothing() {
	build_and_execute(|| {
		let (answer, doubt, auditor) = false_answer();
		assert_ok!(challenge(&ALICE, &answer, doubt));
		Match::new(&answer.claim, &ALICE, answer.provider(), answer.checker()).finish();
		assert_eq!((decisions()[0].3.clone(), free(&auditor)), (Some(ALICE), FUNDS));
	});
}

#[test]
fn a_false_answer_ends_demands_of_its_session_without_loss() {
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongToken);
		let answers = [answer.clone(), answer.again(1)];
		let auditors = drawn(&answers);
		assert_ok!(challenge(&auditors[0], &answer, answer.doubt().expect("a false token")));
		assert_ok!(demand(&auditors[1], &answers[1]));
		Match::new(&answer.claim, &auditors[0], answer.provider(), answer.checker()).finish();
		assert_noop!(send(&LIAR, delivery(&answers, 1)), Error::<Test>::NotDemanded);
		Balances::set_balance(&stake_of(&LIAR), STAKE);
		run_to(System::block_number() + DELIVER_TIME + 1);
		assert_eq!((deposit_of(&auditors[1]), free(&stake_of(&LIAR))), (0, STAKE));
		assert_noop!(challenge(&auditors[1], &answers[1], 0), Error::<Test>::Condemned);
	});
}
