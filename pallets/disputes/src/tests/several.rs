//! Several games about one claim.

use super::*;
use crate::Error;

#[test]
fn two_challengers_play_their_own_games_and_the_first_proof_decides_both() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		let issuance = Balances::total_issuance();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		next_block();
		assert_ok!(challenge(&BOB, &claim, &work, doubt));
		assert!(Held::get().contains(&LIAR));
		// Alice is in time, but slow. Bob wins; the reward is that of who came first.
		let mut slow = Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker());
		assert!(slow.step());
		Match::new(&claim, &BOB, case::claimant(Some(case::MISTAKE)), case::checker()).finish();
		assert_eq!(decisions(), [(BOB, Decision::Fraud, REWARD, Some(ALICE), REWARD + 1)]);
		assert_eq!((free(&ALICE), free(&BOB)), (FUNDS + REWARD, FUNDS));
		assert_eq!(events().last(), Some(&Event::Moot { claim: claim.clone(), challenger: ALICE }));
		assert_eq!((Disputes::games(None), Condemned::get()), (vec![], vec![claim]));
		assert_eq!(Balances::total_issuance(), issuance - REWARD - 1);
	});
}

#[test]
fn nothing_is_played_about_a_claim_that_has_fallen() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		assert_ok!(challenge(&BOB, &claim, &work, doubt));
		let mut other = Match::new(&claim, &BOB, case::claimant(Some(case::MISTAKE)), case::checker());
		let mut game = Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker());
		while game.step() {}
		let (who, action) = other.next().expect("a move");
		assert_noop!(play(&who, &claim, &BOB, action), Error::<Test>::ClaimFell);
		assert_noop!(challenge(&CHARLIE, &claim, &work, doubt), Error::<Test>::Condemned);
		next_block();
		assert_eq!((free(&BOB), Disputes::games(None)), (FUNDS, vec![]));
	});
}

#[test]
fn many_moot_games_end_one_block_after_the_other() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		for tag in 1..=6 {
			assert_ok!(challenge(&account(tag), &claim, &work, doubt));
		}
		let mut game = Match::new(&claim, &account(4), case::claimant(Some(case::MISTAKE)), case::checker());
		while game.step() {}
		let open = || Disputes::games(None).len();
		let left: Vec<_> = (0..4).map(|_| (open(), next_block()).0).collect();
		assert_eq!(left, [5, 3, 1, 0]);
		assert_eq!((1..=6).map(|tag| free(&account(tag))).collect::<Vec<_>>(), [FUNDS + REWARD, FUNDS, FUNDS, FUNDS, FUNDS, FUNDS]);
		assert!(!crate::Fallen::<Test>::contains_key(&claim));
	});
}

#[test]
fn an_accomplice_who_lets_its_time_run_out_protects_nobody_and_earns_nothing() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		// The accomplice opens first.
		assert_ok!(challenge(&BOB, &claim, &work, doubt));
		let mut sham = Match::new(&claim, &BOB, case::claimant(Some(case::MISTAKE)), case::checker());
		assert!(sham.step());
		next_block();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		let mut game = Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker());
		while decisions().is_empty() {
			next_block();
			// The liar takes its time too.
			let view = Disputes::game(claim.clone(), ALICE).expect("a game");
			if view.turn == Side::Challenger || view.deadline == System::block_number() {
				assert!(game.step());
			}
		}
		assert_eq!(decisions()[0], (BOB, Decision::ChallengerLate, CONSOLATION, Some(LIAR), CONSOLATION + 1));
		game.finish();
		// Who opened first is gone, so that the winner is the earliest of those who are left.
		assert_eq!(decisions()[1], (ALICE, Decision::Fraud, REWARD, Some(ALICE), REWARD + 1));
		assert_eq!((free(&ALICE), free(&BOB)), (FUNDS + REWARD, FUNDS - BOND));
	});
}

#[test]
fn an_unfounded_challenge_says_nothing_about_the_rest_of_the_claim() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		// An accomplice objects to what is right.
		assert_ok!(challenge(&BOB, &claim, &work, Doubt::Interval(0)));
		Match::new(&claim, &BOB, case::claimant(Some(case::MISTAKE)), case::quibbler()).finish();
		assert_eq!(decisions()[0].1, Decision::Unfounded);
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker()).finish();
		assert_eq!(decisions()[1].1, Decision::Fraud);
	});
}

#[test]
fn a_second_lost_claim_of_an_account_without_stake_still_falls() {
	build_and_execute(|| {
		let (first, work, doubt) = false_work();
		let (second, defender, checker) = case::attest(&LIAR, case::WRONG_RATE, case::RIGHT_RATE);
		assert_ok!(challenge(&ALICE, &first, &work, doubt));
		assert_ok!(challenge_checkpoint(&BOB, &second));
		Match::new(&first, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker()).finish();
		Match::new(&second, &BOB, defender, checker).finish();
		assert_eq!(decisions()[1], (BOB, Decision::Fraud, 0, None, 0));
		assert_eq!((free(&BOB), Condemned::get()), (FUNDS, vec![first, second]));
	});
}
