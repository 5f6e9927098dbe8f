//! Tests of what one account can be asked at once, and what it costs to ask it.

use super::*;
use crate::{longest_game, Error, GamesAgainst, Load};
use frame_support::traits::fungible::Mutate;
use sp_runtime::Perbill;

/// A sixteenth of [`STAKE`], rounded up.
const SHARE: Balance = 3_126;

fn a_sixteenth() {
	BondShare::set(Perbill::from_rational(1u32, 16));
}

/// `count` right claims of `HONEST`, in rounds of their own. All but the first are of rounds that nobody can play about.
fn claims(count: u32) -> (Vec<ClaimId>, Work) {
	let (first, work) = right_work();
	let judged = Works::get()[&(first.run, first.round, first.who.clone())].clone();
	let claim = |round| {
		let id = ClaimId { round: first.round + round, ..first.clone() };
		<MockHelper as crate::BenchmarkHelper>::work(&id, judged.clone());
		id
	};
	((0..count).map(claim).collect(), work)
}

fn bond_of(claim: &ClaimId, challenger: &AccountId) -> Option<Balance> {
	Disputes::bond_against(claim.clone(), challenger.clone())
}

#[test]
fn a_challenge_holds_a_share_of_the_claimants_stake_or_the_least_bond() {
	build_and_execute(|| {
		let (claim, work) = right_work();
		let (bond, of_nobody) = (|| bond_of(&claim, &ALICE), ClaimId { who: NOBODY, ..claim.clone() });
		assert_eq!(bond(), Some(BOND));
		a_sixteenth();
		assert_eq!((bond(), bond_of(&of_nobody, &ALICE)), (Some(SHARE), Some(BOND)));
		assert_ok!(challenge(&ALICE, &claim, &work, Doubt::Delta));
		assert_eq!(Disputes::game(claim.clone(), ALICE).map(|game| game.bond), Some(SHARE));
		assert_eq!(free(&ALICE), FUNDS - SHARE);
		// The bond is what it was at the opening.
		BondShare::set(Perbill::one());
		Match::new(&claim, &ALICE, case::claimant(None), case::quibbler()).finish();
		assert_eq!(decisions(), [(ALICE, Decision::Unfounded, SHARE / 2, Some(HONEST), SHARE / 2)]);
		// More than the challenger has.
		assert_noop!(challenge(&BOB, &claim, &work, Doubt::Delta), sp_runtime::TokenError::FundsUnavailable);
	});
}

#[test]
fn no_more_games_than_the_limit_are_open_against_one_account() {
	build_and_execute(|| {
		MaxGames::set(3);
		let (claims, work) = claims(4);
		for (claim, challenger) in claims.iter().zip([ALICE, BOB, ALICE]) {
			assert_eq!(bond_of(claim, &challenger), Some(BOND));
			assert_ok!(challenge(&challenger, claim, &work, Doubt::Delta));
		}
		assert_eq!(GamesAgainst::<Test>::get(HONEST), Load { games: 3, bonds: 3 * BOND });
		assert_eq!(bond_of(&claims[3], &CHARLIE), None);
		for claim in [&claims[0], &claims[3]] {
			assert_noop!(challenge(&CHARLIE, claim, &work, Doubt::Delta), Error::<Test>::TooManyGames);
		}
		// Others can be challenged, by the same challengers too.
		let (other, false_work, doubt) = false_work();
		assert_ok!(challenge(&ALICE, &other, &false_work, doubt));
		// There is room as soon as a game ends.
		Match::new(&claims[0], &ALICE, case::claimant(None), case::quibbler()).finish();
		assert_eq!(GamesAgainst::<Test>::get(HONEST), Load { games: 2, bonds: 2 * BOND });
		assert_ok!(challenge(&CHARLIE, &claims[3], &work, Doubt::Delta));
	});
}

#[test]
fn an_account_that_raises_its_stake_makes_room_for_more() {
	build_and_execute(|| {
		a_sixteenth();
		MaxGames::set(2);
		let (claims, work) = claims(4);
		assert_ok!(challenge(&ALICE, &claims[0], &work, Doubt::Delta));
		assert_ok!(challenge(&BOB, &claims[1], &work, Doubt::Delta));
		assert_noop!(challenge(&CHARLIE, &claims[2], &work, Doubt::Delta), Error::<Test>::TooManyGames);
		assert_ok!(Balances::mint_into(&stake_of(&HONEST), STAKE));
		// 100,002 planck at stake: two games at 6,251 would hold more than those that were opened at 3,126.
		assert_eq!(bond_of(&claims[2], &CHARLIE), Some(6_251));
		assert_ok!(challenge(&CHARLIE, &claims[2], &work, Doubt::Delta));
		assert_noop!(challenge(&account(4), &claims[3], &work, Doubt::Delta), Error::<Test>::TooManyGames);
		// One that has lost its stake is not opened to more of them.
		Balances::set_balance(&stake_of(&HONEST), 0);
		assert_noop!(challenge(&account(4), &claims[3], &work, Doubt::Delta), Error::<Test>::TooManyGames);
	});
}

#[test]
fn accomplices_who_fill_the_limit_burn_as_much_as_the_account_has_at_stake() {
	build_and_execute(|| {
		// As 32 games at a sixteenth: twice the stake.
		BondShare::set(Perbill::from_percent(50));
		MaxGames::set(4);
		let (claim, work, doubt) = false_work();
		let accomplices: Vec<_> = (1..=4).map(account).collect();
		for accomplice in &accomplices {
			assert_ok!(Balances::mint_into(accomplice, STAKE));
			assert_ok!(challenge(accomplice, &claim, &work, doubt));
			assert!(Match::new(&claim, accomplice, case::claimant(Some(case::MISTAKE)), case::checker()).step());
		}
		assert_noop!(challenge(&account(5), &claim, &work, doubt), Error::<Test>::TooManyGames);
		// They cannot stay open for ever, and must not fall to the truth.
		let longest = longest_game(CLOCK, EXTENSION);
		run_to(1 + longest + 4);
		let burned = |decided: Vec<(AccountId, Decision, Balance, Option<AccountId>, Balance)>| {
			assert!(decided.iter().all(|(_, decision, ..)| *decision == Decision::ChallengerLate));
			decided.iter().map(|(.., burned)| burned).sum::<Balance>()
		};
		assert_eq!((decisions().len(), GamesAgainst::<Test>::contains_key(LIAR)), (4, false));
		assert!(burned(decisions()) >= STAKE);
	});
}

#[test]
fn no_proof_of_an_account_becomes_final_before_the_last_of_its_games_has_ended_whatever_claim_it_was_about() {
	build_and_execute(|| {
		let (claims, work) = claims(2);
		let held = || Held::get().contains(&HONEST);
		assert!(!held());
		for (claim, challenger) in [(&claims[0], ALICE), (&claims[1], BOB), (&claims[0], BOB)] {
			assert_ok!(challenge(&challenger, claim, &work, Doubt::Delta));
			assert!(held());
		}
		for challenger in [ALICE, BOB] {
			Match::new(&claims[0], &challenger, case::claimant(None), case::quibbler()).finish();
			assert!(held());
		}
		// Nobody plays the third game: it ends by itself, and with fraud as far as the chain can see.
		run_to(System::block_number() + longest_game(CLOCK, EXTENSION));
		assert!(!held() && Disputes::games(None).is_empty());
	});
}

#[test]
fn a_defender_gains_time_for_every_game_that_it_has_to_play_but_a_clock_at_most() {
	build_and_execute(|| {
		let (claims, work) = claims(3);
		let view = |game: usize, challenger: &AccountId| Disputes::game(claims[game].clone(), challenger.clone()).expect("a game");
		// Games that it has opened itself are not counted: those it can stop opening.
		let (other, false_work, doubt) = false_work();
		assert_ok!(Balances::mint_into(&HONEST, FUNDS));
		assert_ok!(challenge(&HONEST, &other, &false_work, doubt));
		for (game, gained) in [(0, EXTENSION), (1, 2 * EXTENSION), (2, CLOCK)] {
			assert_ok!(challenge(&ALICE, &claims[game], &work, Doubt::Interval(0)));
			assert_eq!(view(game, &ALICE).deadline, 1 + CLOCK + gained, "game {game}");
		}
		let mut game = Match::new(&claims[0], &ALICE, case::claimant(None), case::quibbler());
		assert!(game.step());
		// The challenger gains one extension, however many games there are.
		assert_eq!(view(0, &ALICE).deadline, 1 + CLOCK + EXTENSION);
		assert!(game.step());
		assert_eq!(view(0, &ALICE).deadline, 1 + CLOCK + EXTENSION + CLOCK);
		// What was gained stays, also when the others are over.
		assert!(game.step());
		assert_eq!(view(0, &ALICE).reserve, CLOCK + EXTENSION + CLOCK);
		game.finish();
		assert_ok!(challenge(&ALICE, &claims[0], &work, Doubt::Interval(0)));
		assert_eq!(GamesAgainst::<Test>::get(HONEST).games, 3);
	});
}

#[test]
fn no_game_among_many_lasts_longer_than_the_longest_one() {
	build_and_execute(|| {
		let (claim, work) = right_work();
		let challengers: Vec<_> = (1..=5).map(account).collect();
		let open = |challenger: &AccountId| {
			assert_ok!(challenge(challenger, &claim, &work, Doubt::Interval(0)));
			Match::new(&claim, challenger, case::claimant(None), case::quibbler())
		};
		let mut games: Vec<_> = challengers.iter().map(open).collect();
		// Everybody takes all the time that it has.
		while !Disputes::games(None).is_empty() {
			for game in &mut games {
				// A side that moves twice in a row has one clock for both.
				let view = |game: &Match| Disputes::game(claim.clone(), game.challenger.clone());
				while view(game).is_some_and(|view| view.deadline == System::block_number()) {
					assert!(game.step());
				}
			}
			next_block();
		}
		assert!(decisions().iter().all(|(_, decision, ..)| *decision == Decision::Unfounded));
		// Two turns of each side: with five games, and with the three that are left at least, the defender gains a clock.
		let last = System::block_number() - 1;
		assert_eq!(last, 1 + 2 * CLOCK + 2 * (CLOCK + EXTENSION));
		assert!(last <= 1 + longest_game(CLOCK, EXTENSION));
	});
}
