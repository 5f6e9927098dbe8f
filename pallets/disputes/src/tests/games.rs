//! Whole games, to a ruling.

use super::*;
use frame_support::traits::fungible::Mutate;
use neuroshard_types::{dispute::MoveKind, offence::Offence};

#[test]
fn false_work_costs_the_claimant_everything_and_pays_the_challenger() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		let issuance = Balances::total_issuance();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker()).finish();
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(ALICE), REWARD + 1)]);
		assert_eq!((free(&ALICE), free(&stake_of(&LIAR))), (FUNDS + REWARD, 0));
		assert_eq!(Balances::total_issuance(), issuance - REWARD - 1);
		assert_eq!((Condemned::get(), Disputes::games(None)), (vec![claim], vec![]));
		assert_eq!(Punished::get(), [(LIAR, Offence::InvalidProof)]);
		let (extrinsics, witness) = effort();
		assert!(extrinsics <= 9 && witness > 0, "{extrinsics} extrinsics, {witness} bytes");
	});
}

#[test]
fn halves_of_what_is_lost_equal_an_independent_table() {
	// Stake, percent of it that is lost: floor(lost / 2) to the challenger and the rest burned, with lost = floor(stake * percent / 100).
	let table = [
		(101, 100, 50, 51),
		(1_000_000_000_000_001, 100, 500_000_000_000_000, 500_000_000_000_001),
		(1_000_000_000_000_011, 30, 150_000_000_000_001, 150_000_000_000_002),
		(100_000_000_000_000_000_000, 100, 50_000_000_000_000_000_000, 50_000_000_000_000_000_000),
		((1 << 127) + 1, 100, 85_070_591_730_234_615_865_843_651_857_942_052_864, 85_070_591_730_234_615_865_843_651_857_942_052_865),
	];
	for (stake, percent, rewarded, burned) in table {
		build_and_execute(|| {
			SlashShare::set(sp_runtime::Perbill::from_percent(percent));
			let (claim, work, doubt) = false_work();
			assert_ok!(challenge(&ALICE, &claim, &work, doubt));
			Balances::set_balance(&stake_of(&LIAR), stake);
			Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker()).finish();
			assert_eq!(decisions(), [(ALICE, Decision::Fraud, rewarded, Some(ALICE), burned)], "{percent}% of {stake}");
		});
	}
}

#[test]
fn a_part_of_the_stake_is_slashed_where_the_runtime_says_so() {
	build_and_execute(|| {
		SlashShare::set(sp_runtime::Perbill::from_percent(10));
		let (claim, work, doubt) = false_work();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker()).finish();
		// A tenth of 50,001, rounded down.
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, 2_500, Some(ALICE), 2_500)]);
		assert_eq!(free(&stake_of(&LIAR)), STAKE - 5_000);
	});
}

#[test]
fn an_unfounded_challenge_costs_its_bond_and_pays_the_defender() {
	build_and_execute(|| {
		let (claim, work) = right_work();
		let issuance = Balances::total_issuance();
		for doubt in [Doubt::Interval(0), Doubt::Interval(2), Doubt::Delta] {
			System::reset_events();
			let before = (free(&BOB), free(&HONEST));
			assert_ok!(challenge(&BOB, &claim, &work, doubt));
			Match::new(&claim, &BOB, case::claimant(None), case::quibbler()).finish();
			assert_eq!(decisions(), [(BOB, Decision::Unfounded, CONSOLATION, Some(HONEST), CONSOLATION + 1)], "{doubt:?}");
			assert_eq!((free(&BOB), free(&HONEST)), (before.0 - BOND, before.1 + CONSOLATION));
			assert_eq!((Held::get().len(), Disputes::games(None)), (0, vec![]));
		}
		assert_eq!((Condemned::get(), Punished::get(), free(&stake_of(&HONEST))), (vec![], vec![], STAKE));
		assert_eq!(Balances::total_issuance(), issuance - 3 * (CONSOLATION + 1));
	});
}

#[test]
fn a_false_attestation_is_found_in_the_step_that_is_wrong() {
	build_and_execute(|| {
		let (claim, defender, checker) = case::attest(&LIAR, case::WRONG_RATE, case::RIGHT_RATE);
		assert_ok!(challenge_checkpoint(&ALICE, &claim));
		Match::new(&claim, &ALICE, defender, checker).finish();
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(ALICE), REWARD + 1)]);
		assert_eq!((Condemned::get(), Punished::get()), (vec![claim], vec![(LIAR, Offence::Byzantine)]));
	});
}

#[test]
fn a_right_attestation_stands() {
	build_and_execute(|| {
		let (claim, defender, confused) = case::attest(&HONEST, case::RIGHT_RATE, case::WRONG_RATE);
		assert_ok!(challenge_checkpoint(&BOB, &claim));
		Match::new(&claim, &BOB, defender, confused).finish();
		assert_eq!(decisions(), [(BOB, Decision::Unfounded, CONSOLATION, Some(HONEST), CONSOLATION + 1)]);
		assert_eq!((Condemned::get(), Held::get().len()), (vec![], 0));
	});
}

#[test]
fn every_move_is_told_with_whose_turn_is_next_and_where_to_find_it() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		let mut game = Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker());
		run_to(3);
		System::reset_events();
		assert!(game.step());
		let view = Disputes::game(claim.clone(), ALICE).expect("a game");
		// Two state roots and a length.
		let (by, kind, bytes) = (Side::Defender, MoveKind::Steps, 1 + 1 + 64);
		let told = Event::Played { claim, challenger: ALICE, by, kind, bytes, turn: Side::Challenger, deadline: view.deadline };
		assert_eq!(events(), [told]);
		assert_eq!(view.moves, [1, 3]);
	});
}
