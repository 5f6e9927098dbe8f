//! Moves that are refused change nothing.

use super::*;
use crate::Error;
use neuroshard_graph::{
	game::{Entry, Position, Site, Target, MAX_LIST},
	witness::MAX_WITNESS,
};

/// A game about false work that waits for the defender.
fn opened() -> (ClaimId, Match) {
	let (claim, work, doubt) = false_work();
	assert_ok!(challenge(&ALICE, &claim, &work, doubt));
	let game = Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker());
	(claim, game)
}

#[test]
fn a_move_is_made_by_the_account_whose_turn_it_is_and_by_nobody_else() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		for _ in 0..4 {
			let (who, action) = game.next().expect("a move");
			for other in [&ALICE, &LIAR, &BOB, &NOBODY].into_iter().filter(|other| **other != who) {
				assert_noop!(play(other, &claim, &ALICE, action.clone()), Error::<Test>::NotYourTurn);
			}
			assert!(game.step());
		}
	});
}

#[test]
fn bad_moves_are_refused_and_leave_everything_as_it_is() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		let (_, Move::Steps(right)) = game.next().expect("a move") else { panic!("steps") };
		let refused = |who: &AccountId, action: Move, error: Error<Test>| {
			assert_noop!(play(who, &claim, &ALICE, action), error);
		};
		refused(&LIAR, Move::States(right.clone()), Error::WrongMove);
		refused(&LIAR, Move::Steps(right[1..].to_vec()), Error::WrongLength);
		refused(&LIAR, Move::Steps(vec![right[0], right[0]]), Error::WrongRoot);
		assert!(game.step());
		let step = |index, before: Option<Entry>, hash| Move::Step { index, before, after: Entry { hash, proof: vec![] } };
		refused(&ALICE, step(0, None, right[0]), Error::WrongEntry);
		refused(&ALICE, step(7, Some(Entry::default()), right[0]), Error::NoSuchPlace);
		refused(&ALICE, Move::Vector(0), Error::WrongMove);
		// To the position in which a witness is asked for.
		while !matches!(game.next(), Some((_, Move::Piece { .. }))) {
			assert!(game.step());
		}
		let Some((_, Move::Piece { piece, before, after, mut witness })) = game.next() else { panic!("a piece") };
		let middle = witness.len() / 2;
		witness[middle] ^= 1;
		let forged = Move::Piece { piece, before: before.clone(), after: after.clone(), witness: witness.clone() };
		refused(&ALICE, forged, Error::BadWitness);
		witness.pop();
		refused(&ALICE, Move::Piece { piece, before, after, witness }, Error::BadWitness);
		assert_eq!(decisions(), []);
		game.finish();
		assert_eq!(decisions()[0].1, Decision::Fraud);
	});
}

#[test]
fn what_is_longer_than_anything_asked_for_is_refused_at_once() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		let list = vec![[0; 32]; MAX_LIST as usize + 1];
		assert_noop!(play(&LIAR, &claim, &ALICE, Move::Steps(list)), Error::<Test>::TooLong);
		assert!(game.step());
		let after = Entry { hash: [0; 32], proof: vec![[0; 32]; 15] };
		assert_noop!(play(&ALICE, &claim, &ALICE, Move::Step { index: 0, before: None, after }), Error::<Test>::TooLong);
		let piece = Move::Piece { piece: 0, before: None, after: None, witness: vec![0; MAX_WITNESS + 1] };
		assert_noop!(play(&ALICE, &claim, &ALICE, piece), Error::<Test>::TooLong);
	});
}

#[test]
fn a_move_counts_once() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		let mut made = Vec::new();
		while let Some((who, action)) = game.next() {
			made.push((who, action));
			assert!(game.step());
			if Disputes::games(None).is_empty() {
				break;
			}
			for (who, action) in &made {
				assert!(play(who, &claim, &ALICE, action.clone()).is_err());
			}
		}
		// The game is over.
		for (who, action) in made {
			assert_noop!(play(&who, &claim, &ALICE, action), Error::<Test>::NoGame);
		}
		assert_eq!(decisions().len(), 1);
	});
}

#[test]
fn a_move_for_another_position_is_refused_and_changes_nothing() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		let opening = stands(&claim, &ALICE);
		for turn in 0..4 {
			let (who, action) = game.next().expect("a move");
			let others = [H256::zero(), H256::repeat_byte(1)].into_iter().chain((turn > 0).then_some(opening));
			for other in others {
				assert_noop!(play_at(other, &who, &claim, &ALICE, action.clone()), Error::<Test>::OtherPosition);
			}
			assert_ok!(play_at(stands(&claim, &ALICE), &who, &claim, &ALICE, action.clone()));
			if who == LIAR {
				game.defence.push(action);
			}
		}
	});
}

#[test]
fn a_move_made_on_one_fork_answers_nothing_on_another() {
	build_and_execute(|| {
		let (claim, _) = opened();
		let stand = |position| Games::<Test>::mutate(&claim, ALICE, |game| game.as_mut().expect("a game").position = position);
		let site = Site::Step { step: 3, vectors: [[1; 32]; 3], nodes: [2; 32] };
		let states = |leaf| Position::States { site, target: Target::Node(0), leaf, tile: [3; 32], pieces: 2 };
		let results = |root| Position::PickNode { site, results: [root; 3] };
		// Nothing else in these moves is tied to what they answer: each is one that either position allows.
		let cases =
			[(LIAR, [states(0), states(1)], Move::States(vec![[4; 32]])), (ALICE, [results([5; 32]), results([6; 32])], Move::Vector(1))];
		for (who, [here, there], action) in cases {
			for (here, there) in [(here, there), (there, here)] {
				stand(here);
				let other = H256(there.hash());
				assert_noop!(play_at(other, &who, &claim, &ALICE, action.clone()), Error::<Test>::OtherPosition);
				assert_ok!(play_at(H256(here.hash()), &who, &claim, &ALICE, action.clone()));
			}
		}
	});
}

#[test]
fn a_claim_that_cannot_be_judged_any_more_ends_without_a_loser() {
	build_and_execute(|| {
		let (claim, mut game) = opened();
		Adopted::mutate(|adopted| adopted.clear());
		let (_, action) = game.next().expect("a move");
		assert_noop!(play(&LIAR, &claim, &ALICE, action), Error::<Test>::RecordGone);
		run_to(1 + CLOCK + EXTENSION + 1);
		assert_eq!(events().last(), Some(&Event::Moot { claim: claim.clone(), challenger: ALICE }));
		assert_eq!((free(&ALICE), free(&stake_of(&LIAR)), Condemned::get()), (FUNDS, STAKE, vec![]));
	});
}

#[test]
fn an_attestation_about_steps_that_are_gone_ends_without_a_loser() {
	build_and_execute(|| {
		let (claim, ..) = case::attest(&LIAR, case::WRONG_RATE, case::RIGHT_RATE);
		assert_ok!(challenge_checkpoint(&ALICE, &claim));
		Adopted::mutate(|adopted| adopted.remove(&(0, case::FIRST_ROUND)));
		run_to(1 + CLOCK + EXTENSION + 1);
		assert_eq!(events().last(), Some(&Event::Moot { claim, challenger: ALICE }));
	});
}
