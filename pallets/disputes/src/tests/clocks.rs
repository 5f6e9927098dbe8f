//! Tests of clocks: who is late loses.

use super::*;
use crate::{longest_game, Error};

/// Deadline of the first move of a game that was opened in block `opened`.
fn first_deadline(opened: u32) -> u32 {
	opened + CLOCK + EXTENSION
}

#[test]
fn a_defender_who_is_silent_loses_as_if_it_had_cheated() {
	build_and_execute(|| {
		let (claim, work) = right_work();
		let issuance = Balances::total_issuance();
		assert_ok!(challenge(&ALICE, &claim, &work, Doubt::Delta));
		run_to(first_deadline(1));
		assert_eq!(decisions(), []);
		next_block();
		assert_eq!(decisions(), [(ALICE, Decision::DefenderLate, REWARD, Some(ALICE), REWARD + 1)]);
		assert_eq!((free(&ALICE), free(&stake_of(&HONEST)), Condemned::get()), (FUNDS + REWARD, 0, vec![claim]));
		assert_eq!(Balances::total_issuance(), issuance - REWARD - 1);
	});
}

#[test]
fn a_challenger_who_is_silent_loses_its_bond_and_proves_nothing() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		let mut game = Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker());
		assert!(game.step());
		run_to(first_deadline(1) + 1);
		assert_eq!(decisions(), [(ALICE, Decision::ChallengerLate, CONSOLATION, Some(LIAR), CONSOLATION + 1)]);
		assert_eq!((free(&stake_of(&LIAR)), Condemned::get(), Held::get().len()), (STAKE, vec![], 0));
		// It may try again while the window lasts.
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
	});
}

#[test]
fn half_a_bond_that_the_defender_cannot_receive_is_burned() {
	build_and_execute(|| {
		let gone = account(99);
		let claim = case::reveal(&gone, &case::work(Some(case::MISTAKE)));
		let work = case::work(Some(case::MISTAKE));
		let issuance = Balances::total_issuance();
		assert_ok!(challenge(&ALICE, &claim, &work, Doubt::Interval(1)));
		let mut game = Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker());
		assert!(game.step());
		// A bond so small that half of it is below the existential deposit.
		let small = 2 * ED - 2;
		Games::<Test>::mutate(&claim, &ALICE, |game| game.as_mut().expect("a game").bond = small);
		crate::GamesAgainst::<Test>::mutate(&gone, |load| load.bonds = small);
		use frame_support::traits::{fungible::MutateHold, tokens::Precision};
		assert_ok!(Balances::release(&crate::HoldReason::Challenge.into(), &ALICE, BOND - small, Precision::Exact));
		run_to(first_deadline(1) + 1);
		assert_eq!(decisions(), [(ALICE, Decision::ChallengerLate, 0, None, small)]);
		assert_eq!(Balances::total_issuance(), issuance - small);
	});
}

#[test]
fn a_move_in_the_last_block_is_in_time_and_later_ones_are_not() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		let mut game = Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker());
		let (_, action) = game.next().expect("a move");
		let deadline = first_deadline(1);
		// Before the block's own work has ended the game.
		System::set_block_number(deadline + 1);
		assert_noop!(play(&LIAR, &claim, &ALICE, action.clone()), Error::<Test>::TooLate);
		System::set_block_number(deadline);
		assert_ok!(play(&LIAR, &claim, &ALICE, action));
		let view = Disputes::game(claim, ALICE).expect("a game");
		// The defender has used all of its time, and the challenger none.
		assert_eq!((view.turn, view.deadline, view.reserve), (Side::Challenger, deadline + CLOCK + EXTENSION, 0));
	});
}

#[test]
fn time_that_is_not_used_is_kept_and_an_extension_comes_with_every_turn() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		let mut game = Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker());
		let view = || Disputes::game(claim.clone(), ALICE).expect("a game");
		run_to(1 + 5);
		assert!(game.step());
		// 8 + 3 less 5 are left for the defender.
		assert_eq!((view().deadline, view().reserve), (6 + CLOCK + EXTENSION, 6));
		run_to(6 + 2);
		assert!(game.step());
		assert_eq!((view().turn, view().deadline, view().reserve), (Side::Defender, 8 + 6 + EXTENSION, CLOCK + EXTENSION - 2));
	});
}

#[test]
fn a_side_that_moves_twice_in_a_row_has_one_clock_for_both() {
	build_and_execute(|| {
		let (claim, work) = right_work();
		assert_ok!(challenge(&ALICE, &claim, &work, Doubt::Delta));
		let mut game = Match::new(&claim, &ALICE, case::claimant(None), case::quibbler());
		let before = Disputes::game(claim.clone(), ALICE).expect("a game");
		run_to(4);
		// Both ends, and then the tiles of the difference, are asked of the defender.
		assert!(game.step());
		let after = Disputes::game(claim, ALICE).expect("a game");
		assert_eq!((after.turn, after.deadline, after.reserve), (Side::Defender, before.deadline, before.reserve));
		assert!(game.step());
	});
}

#[test]
fn games_that_are_late_together_end_one_block_after_the_other() {
	build_and_execute(|| {
		let work = case::work(None);
		// Five claims, each disputed in the same block, and two games end in a block.
		let claims: Vec<_> = (50..55).map(|tag| case::reveal(&account(tag), &work)).collect();
		for claim in &claims {
			assert_ok!(challenge(&ALICE, claim, &work, Doubt::Delta));
		}
		let deadline = first_deadline(1);
		run_to(deadline);
		let open = || Disputes::games(None).len();
		let left: Vec<_> = (0..4).map(|_| (open(), next_block()).0).collect();
		assert_eq!((left, MAX_ENDS), (vec![5, 3, 1, 0], 2));
		assert_eq!((free(&ALICE), Condemned::get().len()), (FUNDS + 5 * REWARD, 5));
		// What ends later is not forgotten.
		let late = case::reveal(&account(55), &work);
		assert_ok!(challenge(&ALICE, &late, &work, Doubt::Delta));
		let opened = System::block_number();
		run_to(first_deadline(opened) + 1);
		assert_eq!(Condemned::get().last(), Some(&late));
	});
}

#[test]
fn no_game_lasts_longer_than_the_longest_one() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		let mut game = Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker());
		// Both take all the time that they have.
		while let Some(view) = Disputes::game(claim.clone(), ALICE) {
			run_to(view.deadline);
			assert!(game.step());
		}
		assert_eq!(decisions()[0].1, Decision::Fraud);
		let longest = longest_game(CLOCK, EXTENSION);
		assert!(System::block_number() <= 1 + longest);
		// Both clocks, and an extension with every turn, that of the opening included.
		let passed = |event: &Event<Test>| matches!(event, Event::Played { by, turn, .. } if by != turn);
		let turns = 1 + events().iter().filter(|event| passed(event)).count() as u32;
		assert_eq!(System::block_number(), 1 + 2 * CLOCK + turns * EXTENSION);
	});
}
