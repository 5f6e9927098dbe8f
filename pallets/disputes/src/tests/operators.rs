//! Operators: games and audits are those of the account that they act for, and bonds that can be lost are their own.

use super::{audits::*, *};
use crate::{Call, CheckTurn, Error, HoldReason, PaidBy, Refusal};
use frame_support::{dispatch::DispatchInfo, traits::fungible::InspectHold};
use sp_runtime::{
	traits::DispatchTransaction,
	transaction_validity::{InvalidTransaction, TransactionSource::External, TransactionValidityError},
	TokenError,
};

/// The operator of `ALICE`.
const OPERATOR: AccountId = account(7);
/// The operator of a claimant.
const KEEPER: AccountId = account(8);

/// Sets the owners that operators act for from now on.
fn operators(owners: &[(AccountId, AccountId)]) {
	Owners::set(owners.iter().cloned().collect());
}

fn on_hold(who: &AccountId) -> Balance {
	Balances::balance_on_hold(&HoldReason::Challenge.into(), who)
}

/// Returns the verdict of a pool on this call, signed by `who`: what it provides, or why it is refused.
fn valid(who: &AccountId, call: &RuntimeCall) -> Result<Vec<Vec<u8>>, TransactionValidityError> {
	let valid = CheckTurn::<Test>::default().validate_only(signed(who), call, &DispatchInfo::default(), 0, External, 0);
	valid.map(|(valid, ..)| valid.provides)
}

fn refused(refusal: Refusal) -> Result<Vec<Vec<u8>>, TransactionValidityError> {
	Err(InvalidTransaction::Custom(refusal.code()).into())
}

/// All moves are made by operators, one in each block.
fn finish_by_operators(mut game: Match) {
	while let Some((who, action)) = game.next() {
		let by = if who == ALICE { OPERATOR } else { KEEPER };
		assert_ok!(play(&by, &game.claim, &ALICE, action.clone()));
		if by == KEEPER {
			game.defence.push(action);
		}
		next_block();
	}
}

#[test]
fn a_game_that_operators_play_is_won_by_the_owner_and_the_bond_goes_back_to_the_operator() {
	build_and_execute(|| {
		operators(&[(OPERATOR, ALICE), (KEEPER, LIAR)]);
		let (claim, work, doubt) = false_work();
		assert_ok!(challenge(&OPERATOR, &claim, &work, doubt));
		assert_eq!(Disputes::games(None), [(claim.clone(), ALICE)]);
		assert_eq!((on_hold(&ALICE), on_hold(&OPERATOR), free(&OPERATOR)), (0, BOND, FUNDS - BOND));
		assert_noop!(challenge(&ALICE, &claim, &work, doubt), Error::<Test>::AlreadyOpen);
		finish_by_operators(Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker()));
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(ALICE), REWARD + 1)]);
		assert_eq!((free(&ALICE), free(&OPERATOR), on_hold(&OPERATOR)), (FUNDS + REWARD, FUNDS, 0));
		assert_eq!(PaidBy::<Test>::iter().count(), 0);
	});
}

#[test]
fn a_game_that_an_operator_loses_costs_the_owner_nothing() {
	build_and_execute(|| {
		operators(&[(OPERATOR, ALICE), (KEEPER, HONEST)]);
		let (claim, work) = right_work();
		let before = free(&HONEST);
		assert_ok!(challenge(&OPERATOR, &claim, &work, Doubt::Delta));
		finish_by_operators(Match::new(&claim, &ALICE, case::claimant(None), case::quibbler()));
		assert_eq!(decisions(), [(ALICE, Decision::Unfounded, CONSOLATION, Some(HONEST), CONSOLATION + 1)]);
		assert_eq!((free(&ALICE), free(&stake_of(&ALICE)), free(&OPERATOR)), (FUNDS, 0, FUNDS - BOND));
		assert_eq!((free(&HONEST), free(&KEEPER)), (before + CONSOLATION, FUNDS));
	});
}

#[test]
fn an_operator_without_money_challenges_nothing_however_much_its_owner_has() {
	build_and_execute(|| {
		operators(&[(NOBODY, ALICE)]);
		let (claim, work, doubt) = false_work();
		assert_noop!(challenge(&NOBODY, &claim, &work, doubt), TokenError::FundsUnavailable);
		let (attested, ..) = case::attest(&LIAR, case::WRONG_RATE, case::RIGHT_RATE);
		assert_noop!(challenge_checkpoint(&NOBODY, &attested), TokenError::FundsUnavailable);
		assert_eq!((free(&ALICE), on_hold(&ALICE)), (FUNDS, 0));
	});
}

#[test]
fn nobody_disputes_the_claim_of_its_owner() {
	build_and_execute(|| {
		operators(&[(OPERATOR, LIAR)]);
		let (claim, work, doubt) = false_work();
		assert_noop!(challenge(&OPERATOR, &claim, &work, doubt), Error::<Test>::OwnClaim);
	});
}

#[test]
fn a_game_that_ends_without_a_decision_gives_the_bond_back_to_whom_it_is_of() {
	build_and_execute(|| {
		operators(&[(OPERATOR, ALICE)]);
		let (claim, work, doubt) = false_work();
		assert_ok!(challenge(&BOB, &claim, &work, doubt));
		assert_ok!(challenge(&OPERATOR, &claim, &work, doubt));
		// Meanwhile it acts for nobody.
		operators(&[]);
		Match::new(&claim, &BOB, case::claimant(Some(case::MISTAKE)), case::checker()).finish();
		next_block();
		assert_eq!(Disputes::games(None), []);
		assert_eq!((free(&OPERATOR), on_hold(&OPERATOR), free(&ALICE)), (FUNDS, 0, FUNDS));
	});
}

#[test]
fn whoever_is_the_operator_when_it_is_the_owners_turn_moves_and_the_owner_may_too() {
	build_and_execute(|| {
		operators(&[(OPERATOR, ALICE), (KEEPER, LIAR)]);
		let (claim, work, doubt) = false_work();
		assert_ok!(challenge(&OPERATOR, &claim, &work, doubt));
		let mut game = Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker());
		let (_, action) = game.next().expect("a move");
		let call = |action: &Move| -> RuntimeCall {
			Call::play { claim: claim.clone(), challenger: ALICE, position: stands(&claim, &ALICE), action: action.clone() }.into()
		};
		// Both are one player, who has one place in the pool.
		let first = valid(&KEEPER, &call(&action)).expect("its owner's turn");
		assert_eq!(valid(&LIAR, &call(&action)), Ok(first));
		assert_eq!(valid(&OPERATOR, &call(&action)), refused(Refusal::NotYourTurn));
		// In the middle of the game another key takes its place, at once.
		operators(&[(OPERATOR, ALICE), (CHARLIE, LIAR)]);
		assert_eq!(valid(&KEEPER, &call(&action)), refused(Refusal::NotYourTurn));
		assert_noop!(play(&KEEPER, &claim, &ALICE, action.clone()), Error::<Test>::NotYourTurn);
		assert_ok!(play(&CHARLIE, &claim, &ALICE, action.clone()));
		game.defence.push(action);
		let (who, answer) = game.next().expect("a move");
		assert_eq!(who, ALICE);
		assert_eq!(valid(&CHARLIE, &call(&answer)), refused(Refusal::NotYourTurn));
		assert_eq!(valid(&OPERATOR, &call(&answer)), valid(&ALICE, &call(&answer)));
		assert_ok!(play(&ALICE, &claim, &ALICE, answer));
	});
}

#[test]
fn an_operator_enrolls_seals_and_reports_for_its_owner() {
	build_and_execute(|| {
		operators(&[(OPERATOR, verifier(0)), (KEEPER, verifier(1))]);
		for by in [&OPERATOR, &KEEPER] {
			assert_ok!(Disputes::enroll(signed(by)));
		}
		assert_eq!(Disputes::verifiers(), [verifier(0), verifier(1)]);
		assert_noop!(Disputes::enroll(signed(&verifier(0))), Error::<Test>::AlreadyEnrolled);
		Epoch::mutate(|epoch| *epoch += 2);
		let (claim, _) = right_work();
		let mut auditors = draw(&claim);
		auditors.sort();
		assert_eq!(auditors, [verifier(0), verifier(1)]);
		let round = case::ROUND;
		let seal = |who: &AccountId| -> RuntimeCall { Call::seal_audit { run: 0, round, sealed: sealed(who, 1, truth()) }.into() };
		assert_eq!(valid(&OPERATOR, &seal(&auditors[0])), valid(&auditors[0], &seal(&auditors[0])));
		assert!(valid(&OPERATOR, &seal(&auditors[0])).is_ok());
		for (by, owner) in [OPERATOR, KEEPER].iter().zip(&auditors) {
			assert_ok!(Disputes::seal_audit(signed(by), 0, round, sealed(owner, 1, truth())));
		}
		let report: RuntimeCall = Call::report_audit { run: 0, round, salt: [1; 32], report: truth() }.into();
		assert_eq!(valid(&KEEPER, &report), valid(&auditors[1], &report));
		for by in [&OPERATOR, &KEEPER] {
			assert_ok!(Disputes::report_audit(signed(by), 0, round, [1; 32], truth()));
		}
		assert_eq!(view(&auditors[0]).report, Some(truth()));
		assert_ok!(Disputes::resign(signed(&OPERATOR)));
		assert_eq!(Disputes::verifiers(), [verifier(1)]);
	});
}

#[test]
fn an_operator_of_a_drawn_auditor_finds_room_for_its_game_as_the_auditor_does() {
	build_and_execute(|| {
		MaxGames::set(1);
		operators(&[(OPERATOR, verifier(0)), (KEEPER, BOB)]);
		enrolled(2);
		let (claim, work) = right_work();
		draw(&claim);
		assert_ok!(challenge(&ALICE, &claim, &work, Doubt::Delta));
		assert_noop!(challenge(&KEEPER, &claim, &work, Doubt::Delta), Error::<Test>::TooManyGames);
		assert_ok!(challenge(&OPERATOR, &claim, &work, Doubt::Delta));
		assert_eq!((on_hold(&OPERATOR), on_hold(&verifier(0))), (BOND, 0));
	});
}

#[test]
fn a_payer_that_is_noted_wrongly_is_noticed() {
	new_test_ext().execute_with(|| {
		let (claim, work, doubt) = false_work();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		PaidBy::<Test>::insert(&claim, BOB, CHARLIE);
		assert_eq!(Disputes::do_try_state(), Err("a bond without a game".into()));
		PaidBy::<Test>::remove(&claim, BOB);
		PaidBy::<Test>::insert(&claim, ALICE, ALICE);
		assert_eq!(Disputes::do_try_state(), Err("a challenger is noted as paying for itself".into()));
		PaidBy::<Test>::insert(&claim, ALICE, BOB);
		assert_eq!(Disputes::do_try_state(), Err("what is held differs from the bonds of open games".into()));
	});
}
