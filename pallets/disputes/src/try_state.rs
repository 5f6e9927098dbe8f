//! Invariants of the storage.

use crate::{
	longest_game, Clock, Config, Deadlines, DisputedAnswers, Dockets, Extension, Fallen, Game, Games, GamesAgainst, HoldReason, Load,
	Missed, PaidBy, Pallet, SweptTo, Taken,
};
use alloc::collections::BTreeMap;
use frame_support::{ensure, traits::fungible::InspectHold};
use frame_system::pallet_prelude::BlockNumberFor;
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind},
	AccountId, Balance,
};
use sp_runtime::{traits::Zero, TryRuntimeError};

impl<T: Config> Pallet<T> {
	/// Checks every invariant of this pallet's storage and names the first that is broken.
	pub fn do_try_state() -> Result<(), TryRuntimeError> {
		ensure!(Clock::<T>::get() > 0, "nobody has time for a move");
		ensure!(!Taken::<T>::exists(), "what moves took of a block outlives it");
		ensure!(
			Missed::<T>::iter_keys().all(|(claim, challenger)| Games::<T>::contains_key(claim, challenger)),
			"a refused move without a game"
		);
		ensure!(PaidBy::<T>::iter_keys().all(|(claim, challenger)| Games::<T>::contains_key(claim, challenger)), "a bond without a game");
		Self::holds_are_the_bonds_of_open_games()?;
		Self::loads_are_the_open_games_of_their_defenders()?;
		Self::every_game_has_its_deadline()?;
		Self::dockets_link_the_open_games()?;
		Self::audits_are_sound()?;
		Self::answer_audits_are_sound()
	}

	/// Checks that the hold of everybody who challenged, or did so for another, is the sum of its bonds.
	fn holds_are_the_bonds_of_open_games() -> Result<(), TryRuntimeError> {
		let mut bonds = BTreeMap::<AccountId, Balance>::new();
		for (claim, challenger, game) in Games::<T>::iter() {
			ensure!(claim.who != challenger, "an account challenges its own claim");
			let payer = PaidBy::<T>::get(&claim, &challenger);
			ensure!(payer.as_ref() != Some(&challenger), "a challenger is noted as paying for itself");
			let sum = bonds.entry(payer.unwrap_or(challenger)).or_default();
			*sum = sum.checked_add(game.bond).ok_or("bonds exceed what there can be")?;
		}
		for (who, bonds) in bonds {
			let held = T::Currency::balance_on_hold(&HoldReason::Challenge.into(), &who);
			ensure!(held == bonds, "what is held differs from the bonds of open games");
		}
		Ok(())
	}

	/// Open games are counted by the account that defends them, and nothing else is.
	fn loads_are_the_open_games_of_their_defenders() -> Result<(), TryRuntimeError> {
		let mut loads = BTreeMap::<AccountId, Load>::new();
		for (claim, _, game) in Games::<T>::iter() {
			for (who, bond) in game.loads(&claim) {
				let load = loads.entry(who.clone()).or_default();
				load.games = load.games.saturating_add(1);
				load.bonds = load.bonds.saturating_add(bond);
			}
		}
		let counted: BTreeMap<AccountId, Load> = GamesAgainst::<T>::iter().collect();
		ensure!(counted == loads, "games against an account are counted wrongly");
		Ok(())
	}

	/// Every game is listed under its deadline, which is not passed over and within the longest game, and nothing else is.
	fn every_game_has_its_deadline() -> Result<(), TryRuntimeError> {
		let (now, swept) = (Self::now(), SweptTo::<T>::get());
		let longest = longest_game(Clock::<T>::get(), Extension::<T>::get());
		for (claim, challenger, game) in Games::<T>::iter() {
			ensure!(game.deadline <= game.opened_at().saturating_add(longest), "a game lasts too long");
			let Game { deadline, moves, .. } = game;
			ensure!(Deadlines::<T>::contains_key(deadline, (&claim, &challenger)), "a game has no deadline");
			ensure!(swept <= deadline, "a deadline was passed over");
			let last = moves.last().ok_or("a game was never opened")?;
			ensure!(moves.is_sorted() && *last <= now && *last <= deadline, "a move was made out of time");
		}
		ensure!(Deadlines::<T>::iter_keys().count() == Games::<T>::iter_keys().count(), "a deadline without a game");
		Ok(())
	}

	/// The games about each claim are linked in the order in which they were opened. Fallen claims have open games.
	fn dockets_link_the_open_games() -> Result<(), TryRuntimeError> {
		let mut linked = 0usize;
		for (claim, docket) in Dockets::<T>::iter() {
			let (mut next, mut before, mut opened_at) = (Some(docket.first), None, 0);
			while let Some(challenger) = next {
				let game = Games::<T>::get(&claim, &challenger).ok_or("a docket names a game that is not open")?;
				ensure!(game.earlier == before, "a game is linked to another one than that before it");
				ensure!(opened_at <= game.opened_at(), "games are out of order");
				linked = linked.saturating_add(1);
				(next, before, opened_at) = (game.later.clone(), Some(challenger), game.opened_at());
			}
			ensure!(before == Some(docket.last), "a docket ends with another game");
		}
		ensure!(linked == Games::<T>::iter_keys().count(), "a game is in no docket");
		ensure!(Fallen::<T>::iter_keys().all(Dockets::<T>::contains_key), "a fallen claim without a game");
		let answer = |claim: &ClaimId| matches!(claim.kind, ClaimKind::Answer(_));
		ensure!(
			DisputedAnswers::<T>::iter_keys().all(|claim| answer(&claim) && Dockets::<T>::contains_key(claim)),
			"a receipt that nobody disputes is kept"
		);
		ensure!(
			Dockets::<T>::iter_keys().filter(answer).all(DisputedAnswers::<T>::contains_key),
			"the receipt of a disputed answer is gone"
		);
		for (claim, answer) in DisputedAnswers::<T>::iter() {
			let genesis = frame_system::Pallet::<T>::block_hash(BlockNumberFor::<T>::zero());
			ensure!(answer.receipt.claim(genesis) == Some(claim), "a receipt is kept for another claim");
		}
		Ok(())
	}
}
