//! Tests of who may dispute what, and when.

use super::*;
use crate::{Error, HoldReason};
use frame_support::traits::fungible::InspectHold;
use neuroshard_graph::game::Position;
use neuroshard_types::{
	dispute::{ClaimKind, GameView, Terms},
	BlockNumber,
};
use sp_runtime::{DispatchError, TokenError};

#[test]
fn an_opened_game_holds_the_bond_and_waits_for_the_defender() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		assert_eq!(doubt, Doubt::Interval(1));
		run_to(4);
		System::reset_events();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		let deadline = 4 + CLOCK + EXTENSION;
		let opened = Event::Opened { claim: claim.clone(), challenger: ALICE, doubt: Some(doubt), bond: BOND, deadline };
		assert_eq!(events(), [opened]);
		assert_eq!((free(&ALICE), Balances::balance_on_hold(&HoldReason::Challenge.into(), &ALICE)), (FUNDS - BOND, BOND));
		let GameView { position, turn, deadline: shown, reserve, moves, bond, defender } =
			Disputes::game(claim.clone(), ALICE).expect("a game");
		assert!(matches!(position, Position::Steps { first: 2, count: 2, .. }));
		assert_eq!((turn, shown, reserve, moves, bond), (Side::Defender, deadline, CLOCK, vec![4], BOND));
		assert_eq!((Held::get(), defender), ([claim.who.clone()].into(), LIAR));
		for who in [&ALICE, &LIAR] {
			assert_eq!(Disputes::games_of(who.clone(), None), [(claim.clone(), ALICE)]);
		}
		assert_eq!((Disputes::games(None).len(), Disputes::games_of(BOB, None).len()), (1, 0));
	});
}

#[test]
fn a_claim_can_be_disputed_in_every_block_of_the_window_and_in_none_after_it() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		// Adopted in block 1.
		run_to(WINDOW);
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		run_to(WINDOW + 1);
		assert_noop!(challenge(&BOB, &claim, &work, doubt), Error::<Test>::WindowOver);
	});
}

#[test]
fn only_claims_that_were_made_in_adopted_rounds_can_be_disputed() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		let other = ClaimId { round: case::ROUND + 1, ..claim.clone() };
		assert_noop!(challenge(&ALICE, &other, &work, doubt), Error::<Test>::NotAdopted);
		assert_noop!(challenge(&ALICE, &ClaimId { who: HONEST, ..claim.clone() }, &work, doubt), Error::<Test>::NoClaim);
		assert_noop!(challenge_checkpoint(&ALICE, &claim), Error::<Test>::NoClaim);
		Condemned::mutate(|condemned| condemned.push(claim.clone()));
		assert_noop!(challenge(&ALICE, &claim, &work, doubt), Error::<Test>::Condemned);
	});
}

#[test]
fn what_is_disputed_is_what_was_revealed() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		assert_noop!(challenge(&ALICE, &claim, &case::work(None), doubt), Error::<Test>::WrongWork);
		assert_noop!(challenge(&ALICE, &claim, &work, Doubt::Interval(3)), Error::<Test>::NoSuchPlace);
	});
}

#[test]
fn nobody_disputes_its_own_claim_or_one_claim_twice_or_without_a_bond() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		assert_noop!(challenge(&LIAR, &claim, &work, doubt), Error::<Test>::OwnClaim);
		assert_noop!(challenge(&NOBODY, &claim, &work, doubt), TokenError::FundsUnavailable);
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		assert_noop!(challenge(&ALICE, &claim, &work, Doubt::Delta), Error::<Test>::AlreadyOpen);
		// Another claim of the same account is another matter.
		let (attested, ..) = case::attest(&LIAR, case::WRONG_RATE, case::RIGHT_RATE);
		assert_ok!(challenge_checkpoint(&ALICE, &attested));
		assert_eq!(free(&ALICE), FUNDS - 2 * BOND);
	});
}

#[test]
fn calls_need_a_signature() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		let opened = Disputes::challenge_work(RuntimeOrigin::root(), claim.run, claim.round, LIAR, work, doubt);
		assert_eq!(opened.map(|_| ()).map_err(|error| error.error), Err(DispatchError::BadOrigin));
		let opened = Disputes::challenge_attestation(RuntimeOrigin::none(), claim.run, claim.round, LIAR);
		assert_eq!(opened.map_err(|error| error.error), Err(DispatchError::BadOrigin));
		let played = Disputes::play(RuntimeOrigin::root(), claim, ALICE, H256::zero(), Move::Vector(0));
		assert_eq!(played.map_err(|error| error.error), Err(DispatchError::BadOrigin));
	});
}

#[test]
fn a_claim_about_several_outer_steps_is_opened_at_its_checkpoints() {
	build_and_execute(|| {
		let (claim, ..) = case::attest(&LIAR, case::WRONG_RATE, case::RIGHT_RATE);
		assert_eq!(claim.kind, ClaimKind::Attestation);
		assert_ok!(challenge_checkpoint(&ALICE, &claim));
		let game = Disputes::game(claim, ALICE).expect("a game");
		assert_eq!((game.position, game.turn), (Position::Checkpoints { count: 2 }, Side::Defender));
	});
}

#[test]
fn the_terms_are_those_of_genesis_and_of_the_runtime() {
	build_and_execute(|| {
		let terms = Terms { window: WINDOW, clock: CLOCK, extension: EXTENSION, bond: BOND, most_games: 32 };
		assert_eq!(Disputes::terms(), terms);
		let period: BlockNumber = <crate::GetDisputePeriod<Test> as frame_support::traits::Get<_>>::get();
		// The window, the clocks of both and of a member of a quorum, seven extensions of the challenger and seven clocks that defenders gain at most.
		assert_eq!(period, WINDOW + 3 * CLOCK + 7 * EXTENSION + 7 * CLOCK);
	});
}

#[test]
#[should_panic(expected = "both sides need time for a move")]
fn a_clock_without_time_is_refused_at_genesis() {
	storage(0, EXTENSION);
}
