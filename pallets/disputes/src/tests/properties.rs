//! Whatever is played in whatever order: money adds up, honest sides do not lose, every game ends.

use super::*;
use crate::{longest_game, Error};
use frame_support::traits::fungible::Mutate;
use neuroshard_types::dispute::GameView;
use proptest::{prelude::*, strategy::Strategy};
use sp_runtime::Perbill;
use std::collections::BTreeMap;

/// One step of a walk.
#[derive(Clone, Debug)]
enum Step {
	/// Somebody disputes the false work (or the right one), as an honest challenger would, or without a case.
	Open { challenger: u8, right: bool, honest: bool },
	/// In one of the open games, whoever's turn it is moves.
	Play(usize),
	/// Somebody makes a move of one of the open games that is not its own, or not the one that is asked for.
	Meddle { game: usize, who: u8 },
	/// So many blocks pass.
	Wait(u32),
	/// A claimant has more or less at stake.
	Stake { right: bool, more: bool },
}

fn steps() -> impl Strategy<Value = Step> {
	prop_oneof![
		4 => (1u8..6, any::<bool>(), any::<bool>()).prop_map(|(challenger, right, honest)| Step::Open { challenger, right, honest }),
		12 => any::<usize>().prop_map(Step::Play),
		2 => (any::<usize>(), 1u8..6).prop_map(|(game, who)| Step::Meddle { game, who }),
		3 => (1u32..4).prop_map(Step::Wait),
		1 => (8u32..14).prop_map(Step::Wait),
		1 => (any::<bool>(), any::<bool>()).prop_map(|(right, more)| Step::Stake { right, more }),
	]
}

/// A walk: the claims, and who plays.
struct Walk {
	works: [(ClaimId, Work); 2],
	matches: BTreeMap<(ClaimId, AccountId), Match>,
	issuance: Balance,
}

impl Walk {
	fn begin() -> Self {
		let (false_claim, false_work, _) = false_work();
		let issuance = Balances::total_issuance();
		Self { works: [(false_claim, false_work), right_work()], matches: BTreeMap::new(), issuance }
	}

	/// Open games against `who`.
	fn against(who: &AccountId) -> Vec<GameView> {
		let games = Disputes::games(None).into_iter().filter(|(claim, _)| claim.who == *who);
		games.filter_map(|(claim, challenger)| Disputes::game(claim, challenger)).collect()
	}

	fn pick(&self, number: usize) -> Option<(ClaimId, AccountId)> {
		let games = Disputes::games(None);
		(!games.is_empty()).then(|| games[number % games.len()].clone())
	}

	fn take(&mut self, step: Step) {
		match step {
			Step::Open { challenger, right, honest } => {
				let (claim, work) = &self.works[usize::from(right)];
				let doubt = if honest { case::doubt(work).unwrap_or(Doubt::Delta) } else { Doubt::Interval(0) };
				let (who, mistake) = (account(challenger), (!right).then_some(case::MISTAKE));
				let (open, price) = (Self::against(&claim.who), Disputes::bond_against(claim.clone(), who.clone()));
				// Refused if it plays already, the claim has fallen, the window is over, or there is no room or no money.
				match challenge(&who, claim, work, doubt) {
					Ok(()) => {
						assert_eq!(Disputes::game(claim.clone(), who.clone()).map(|game| game.bond), price);
						let opponent = if honest && !right { case::checker() } else { case::quibbler() };
						let game = Match::new(claim, &who, case::claimant(mistake), opponent);
						self.matches.insert((claim.clone(), who), game);
					}
					Err(error) if error == Error::<Test>::TooManyGames.into() => {
						// Whoever filled the limit has as much at risk as so many challenges would cost now.
						let stake = Balances::free_balance(stake_of(&claim.who));
						let risked: Balance = open.iter().map(|game| game.bond).sum();
						let limit = MaxGames::get();
						assert!(open.len() as u32 >= limit && risked >= Balance::from(limit) * BOND.max(stake / 8), "{risked}");
					}
					Err(_) => {}
				}
			}
			Step::Play(game) => {
				if let Some(game) = self.pick(game).and_then(|key| self.matches.get_mut(&key)) {
					if game.is_on() {
						game.step();
					}
				}
			}
			Step::Meddle { game, who } => {
				let Some((claim, challenger)) = self.pick(game) else { return };
				let before = Disputes::game(claim.clone(), challenger.clone());
				for action in [Move::Vector(99), Move::Steps(vec![[1; 32]; 2]), Move::Hashes(vec![])] {
					assert!(play(&account(who), &claim, &challenger, action).is_err());
				}
				assert_eq!(Disputes::game(claim, challenger), before);
			}
			Step::Wait(blocks) => (0..blocks).for_each(|_| next_block()),
			Step::Stake { right, more } => {
				let stake = stake_of(&self.works[usize::from(right)].0.who);
				let before = Balances::total_issuance();
				let held = Balances::free_balance(&stake);
				Balances::set_balance(&stake, if more { held + STAKE / 2 } else { held / 2 });
				self.issuance = self.issuance + Balances::total_issuance() - before;
			}
		}
		self.check();
	}

	/// Money disappears by burning only, and as much as the events say.
	fn check(&self) {
		check_invariants();
		let burned: Balance = decisions().iter().map(|(.., burned)| burned).sum();
		assert_eq!(Balances::total_issuance(), self.issuance - burned);
	}
}

proptest! {
	#![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

	#[test]
	fn money_adds_up_and_every_game_ends(walked in prop::collection::vec(steps(), 1..60), limit in 1u32..6) {
		build_and_execute(|| {
			MaxGames::set(limit);
			BondShare::set(Perbill::from_rational(1u32, 8));
			let mut walk = Walk::begin();
			walked.into_iter().for_each(|step| walk.take(step));
			// Nobody moves any more. Leftovers take a few blocks.
			let games = Disputes::games(None).len() as u32;
			run_to(System::block_number() + longest_game(CLOCK, EXTENSION) + games + 1);
			assert_eq!(Disputes::games(None), []);
			walk.check();
			assert_eq!(crate::Dockets::<Test>::iter().count() + crate::Deadlines::<Test>::iter().count(), 0);
			for event in events() {
				// An honest claimant loses by silence only.
				if let Event::Decided { claim, decision, .. } = event {
					assert!(claim.who != HONEST || decision != Decision::Fraud);
				}
			}
		});
	}

	/// Both sides of every game are prompt: then only truth counts.
	#[test]
	fn prompt_and_honest_sides_win(order in prop::collection::vec(any::<usize>(), 40..80), liars in 1u8..=3) {
		build_and_execute(|| {
			let mut walk = Walk::begin();
			for challenger in 1..=3 {
				walk.take(Step::Open { challenger, right: false, honest: challenger >= liars });
				walk.take(Step::Open { challenger, right: true, honest: false });
			}
			for pick in order {
				walk.take(Step::Play(pick));
			}
			while let Some(key) = walk.pick(0) {
				let game = walk.matches.get_mut(&key).expect("a match");
				match game.is_on() {
					true => assert!(game.step()),
					false => next_block(),
				}
			}
			let decided = decisions();
			assert!(decided.iter().all(|(_, decision, ..)| matches!(decision, Decision::Fraud | Decision::Unfounded)));
			assert_eq!(decided.iter().filter(|(_, decision, ..)| *decision == Decision::Fraud).count(), 1);
			assert!(Condemned::get().iter().all(|claim| claim.who == LIAR));
			assert_eq!(free(&stake_of(&HONEST)), STAKE);
			walk.check();
		});
	}
}
