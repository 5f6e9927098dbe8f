//! Answers: who may dispute one, and what becomes of it.

use super::*;
use crate::{DisputedAnswers, Error};
use case::Telling;
use frame_support::traits::fungible::Mutate;
use neuroshard_types::{
	dispute::ClaimKind,
	inference::{Ending, Receipt, Tokens},
	offence::Offence,
	proof::ProofSignature,
	F32,
};

/// Half of the stake, rounded down: to the challenger.
const REWARD: Balance = STAKE / 2;
/// Half of a bond, rounded down: to the defender.
const CONSOLATION: Balance = BOND / 2;
/// The session of all answers.
const SESSION: u64 = case::SESSION;

/// Disputes an answer.
fn challenge(challenger: &AccountId, answer: &case::Answered, doubt: u32) -> DispatchResult {
	challenge_receipt(challenger, answer.receipt.clone(), answer.signature, doubt)
}

fn challenge_receipt(challenger: &AccountId, receipt: Receipt, signature: ProofSignature, doubt: u32) -> DispatchResult {
	let called = Disputes::challenge_answer(signed(challenger), receipt, signature, doubt);
	called.map(|_| ()).map_err(|error| error.error)
}

#[test]
fn a_false_token_costs_the_provider_everything_in_five_extrinsics() {
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongToken);
		let issuance = Balances::total_issuance();
		let doubt = answer.doubt().expect("a false token");
		assert_ok!(challenge(&ALICE, &answer, doubt));
		assert_eq!((OpenClaims::get()[&LIAR], Held::get()), (1, [LIAR].into()));
		Match::new(&answer.claim, &ALICE, answer.provider(), answer.checker()).finish();
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(ALICE), REWARD + 1)]);
		assert_eq!((free(&ALICE), free(&stake_of(&LIAR))), (FUNDS + REWARD, 0));
		assert_eq!(Balances::total_issuance(), issuance - REWARD - 1);
		assert_eq!((Condemned::get(), Disputes::games(None)), (vec![answer.claim.clone()], vec![]));
		assert_eq!((Lied::get(), Punished::get()), ([(SESSION, LIAR)].into(), vec![(LIAR, Offence::InvalidProof)]));
		let (extrinsics, witness) = effort();
		assert!(extrinsics == 5 && witness > 0, "{extrinsics} extrinsics, {witness} bytes");
		assert_eq!(DisputedAnswers::<Test>::iter().count(), 0);
	});
}

#[test]
fn a_wrong_value_in_a_layer_is_found_in_the_piece_that_is_wrong() {
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongLayer);
		let doubt = answer.doubt().expect("a false answer");
		assert_ok!(challenge(&ALICE, &answer, doubt));
		Match::new(&answer.claim, &ALICE, answer.provider(), answer.checker()).finish();
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(ALICE), REWARD + 1)]);
		let (extrinsics, witness) = effort();
		assert!((5..=7).contains(&extrinsics) && witness > 0, "{extrinsics} extrinsics, {witness} bytes");
	});
}

#[test]
fn a_right_answer_stands_and_a_false_challenge_of_it_costs_its_bond() {
	build_and_execute(|| {
		let answer = case::answer(&HONEST, Telling::Truth);
		assert_eq!(answer.doubt(), None);
		assert_ok!(challenge(&BOB, &answer, 1));
		Match::new(&answer.claim, &BOB, answer.provider(), answer.quibbler()).finish();
		assert_eq!(decisions(), [(BOB, Decision::Unfounded, CONSOLATION, Some(HONEST), CONSOLATION + 1)]);
		assert_eq!((free(&stake_of(&HONEST)), Lied::get().len(), Held::get().len()), (STAKE, 0, 0));
		assert_eq!(OpenClaims::get()[&HONEST], 0);
		// It says nothing about the rest of the answer: others may try.
		assert_ok!(challenge(&ALICE, &answer, 0));
	});
}

#[test]
fn a_silent_provider_loses_as_if_it_had_lied() {
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongToken);
		assert_ok!(challenge(&ALICE, &answer, 0));
		run_to(1 + CLOCK + EXTENSION + 2);
		assert_eq!(decisions(), [(ALICE, Decision::DefenderLate, REWARD, Some(ALICE), REWARD + 1)]);
		assert_eq!(Lied::get(), [(SESSION, LIAR)].into());
	});
}

#[test]
fn one_false_answer_is_enough_for_a_session() {
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongToken);
		let other = answer.again(1);
		assert_ok!(challenge(&ALICE, &answer, answer.doubt().expect("a false token")));
		assert_ok!(challenge(&BOB, &other, other.doubt().expect("the same")));
		Match::new(&answer.claim, &ALICE, answer.provider(), answer.checker()).finish();
		assert_noop!(challenge(&CHARLIE, &answer, 0), Error::<Test>::Condemned);
		assert_noop!(challenge(&CHARLIE, &other, 0), Error::<Test>::Condemned);
		// What is open goes on, for what is left of the stake.
		Match::new(&other.claim, &BOB, other.provider(), other.checker()).finish();
		assert_eq!(decisions()[1..], [(BOB, Decision::Fraud, 0, None, 0)]);
		assert_eq!(free(&BOB), FUNDS);
	});
}

#[test]
fn several_may_dispute_an_answer_and_the_receipt_is_kept_until_the_last_game_is_over() {
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongToken);
		let doubt = answer.doubt().expect("a false token");
		assert_ok!(challenge(&ALICE, &answer, doubt));
		assert_noop!(challenge(&ALICE, &answer, doubt), Error::<Test>::AlreadyOpen);
		assert_ok!(challenge(&BOB, &answer, doubt));
		let judged = Disputes::answer_claim(answer.claim.clone()).expect("it is disputed");
		assert_eq!(judged.receipt, answer.receipt);
		Match::new(&answer.claim, &BOB, answer.provider(), answer.checker()).finish();
		// Alice was first.
		assert_eq!(decisions(), [(BOB, Decision::Fraud, REWARD, Some(ALICE), REWARD + 1)]);
		run_to(System::block_number() + 1);
		assert_eq!((Disputes::games(None), Disputes::answer_claim(answer.claim)), (vec![], None));
		assert_eq!((free(&ALICE), free(&BOB)), (FUNDS + REWARD, FUNDS));
	});
}

#[test]
fn only_signed_receipts_of_sessions_that_are_not_settled_are_disputed() {
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongToken);
		let case::Answered { receipt, signature, .. } = answer.clone();
		assert_noop!(challenge(&LIAR, &answer, 0), Error::<Test>::OwnClaim);
		let refused = |change: &dyn Fn(&mut Receipt), error: Error<Test>| {
			let mut changed = receipt.clone();
			change(&mut changed);
			assert_noop!(challenge_receipt(&ALICE, changed, signature, 0), error);
		};
		refused(&|changed| changed.price += 1, Error::NotSigned);
		refused(&|changed| changed.answer.count -= 1, Error::NotSigned);
		refused(&|changed| changed.provider = None, Error::NotSigned);
		refused(&|changed| changed.provider = Some(HONEST), Error::NoSuchAnswer);
		refused(&|changed| changed.paid = None, Error::NoSuchAnswer);
		refused(&|changed| changed.paid = Some((SESSION + 1, 0)), Error::NoSuchAnswer);
		refused(&|changed| changed.parameters = H256::zero(), Error::NotSigned);
		// Nobody else says which model it is of.
		refused(&|changed| changed.checkpoint = None, Error::NotSigned);
		refused(&|changed| changed.checkpoint = Some((0, case::ROUND + 1)), Error::NotSigned);
		Configs::mutate(|configs| configs.insert(1, configs[&0].clone()));
		refused(&|changed| changed.checkpoint = Some((1, case::ROUND)), Error::NotSigned);
		assert_noop!(challenge_receipt(&ALICE, receipt.clone(), [7; 65], 0), Error::<Test>::NotSigned);
		let choices = receipt.answer.count + u32::from(receipt.ending == Ending::End);
		assert_noop!(challenge(&ALICE, &answer, choices), Error::<Test>::NoSuchPlace);
		assert_eq!(Disputes::games(None), []);
		Answering::set(Default::default());
		assert_noop!(challenge(&ALICE, &answer, 0), Error::<Test>::NoSuchAnswer);
	});
}

#[test]
fn a_text_that_no_dispute_reads_is_refused_with_its_reason() {
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongToken).changed(|receipt| receipt.prompt.count = 100_000);
		assert_noop!(challenge(&ALICE, &answer, 0), Error::<Test>::Unjudgeable);
	});
}

#[test]
fn a_game_goes_on_although_the_run_is_removed() {
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongToken);
		assert_ok!(challenge(&ALICE, &answer, answer.doubt().expect("a false token")));
		Configs::set(Default::default());
		Match::new(&answer.claim, &ALICE, answer.provider(), answer.checker()).finish();
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(ALICE), REWARD + 1)]);
		assert_noop!(challenge(&BOB, &answer.again(1), 0), Error::<Test>::Condemned);
		Lied::set(Default::default());
		assert_noop!(challenge(&BOB, &answer.again(1), 0), Error::<Test>::NoSuchAnswer);
	});
}

#[test]
fn what_is_judged_is_what_the_chain_knows_of_tokens_and_not_what_the_receipt_says() {
	build_and_execute(|| {
		// Chosen from one token only, as the receipt says: token 0, each time.
		let answer = case::answer(&LIAR, Telling::FromOneToken);
		assert_eq!(answer.receipt.usable, 1);
		assert_ok!(challenge(&ALICE, &answer, answer.doubt().expect("another token is likelier")));
		Match::new(&answer.claim, &ALICE, answer.provider(), answer.checker()).finish();
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(ALICE), REWARD + 1)]);
		assert!(matches!(answer.claim.kind, ClaimKind::Answer(_)));
	});
}

/// Settings that choose in the model's place.
pub(super) fn settings_out_of_range() -> [fn(&mut Receipt); 5] {
	[
		|receipt| receipt.sampling.temperature = F32::new(3e38),
		|receipt| receipt.sampling.presence = F32::new(-1e38),
		|receipt| receipt.sampling.repetition = F32::new(f32::NAN),
		|receipt| receipt.sampling.top_p = F32::new(0.0),
		|receipt| receipt.sampling.frequency = F32::new(2.5),
	]
}

#[test]
fn an_answer_by_settings_out_of_range_falls_at_once_and_nothing_is_held_of_who_shows_it() {
	for change in settings_out_of_range() {
		build_and_execute(|| {
			let answer = case::answer(&LIAR, Telling::Truth).changed(change);
			Balances::set_balance(&ALICE, ED);
			let issuance = Balances::total_issuance();
			// Whatever is doubted, and also where the run is gone.
			Configs::set(Default::default());
			let called = Disputes::challenge_answer(signed(&ALICE), answer.receipt.clone(), answer.signature, 1_000);
			assert_eq!(called, Ok(().into()));
			assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(ALICE), REWARD + 1)]);
			assert_eq!((free(&ALICE), free(&stake_of(&LIAR)), effort()), (ED + REWARD, 0, (1, 0)));
			assert_eq!(Balances::total_issuance(), issuance - REWARD - 1);
			assert_eq!((Condemned::get(), Disputes::games(None), Held::get()), (vec![answer.claim.clone()], vec![], Default::default()));
			assert_eq!((Lied::get(), Punished::get()), ([(SESSION, LIAR)].into(), vec![(LIAR, Offence::InvalidProof)]));
			assert_noop!(challenge(&BOB, &answer, 0), Error::<Test>::Condemned);
		});
	}
}

#[test]
fn settings_out_of_range_are_false_also_where_nothing_was_answered_and_only_as_they_were_signed() {
	build_and_execute(|| {
		let nothing = case::answer(&LIAR, Telling::Truth).changed(|receipt| {
			(receipt.answer, receipt.ending) = (Tokens::of(&[]), Ending::Cut);
			receipt.sampling.temperature = F32::new(-1.0);
		});
		let right = case::answer(&LIAR, Telling::Truth);
		let mut forged = right.receipt.clone();
		forged.sampling.temperature = F32::new(-1.0);
		assert_noop!(challenge_receipt(&ALICE, forged, right.signature, 0), Error::<Test>::NotSigned);
		assert_noop!(challenge(&LIAR, &nothing, 0), Error::<Test>::OwnClaim);
		assert_ok!(challenge(&ALICE, &nothing, 0));
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(ALICE), REWARD + 1)]);
	});
}

#[test]
fn a_game_costs_its_own_weight_and_not_that_of_a_decision() {
	use crate::WeightInfo;
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongToken);
		let called = Disputes::challenge_answer(signed(&ALICE), answer.receipt.clone(), answer.signature, 1);
		assert_eq!(called.map(|post| post.actual_weight), Ok(Some(<Test as crate::Config>::WeightInfo::challenge_answer())));
	});
}
