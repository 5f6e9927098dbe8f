//! Dockets of open games: by claim in the order of opening, and by deadline.

use crate::{Config, Deadlines, Docket, Dockets, Fallen, Game, Games, Missed, Pallet};
use neuroshard_types::{dispute::ClaimId, traits::Providers, AccountId};

impl<T: Config> Pallet<T> {
	/// Adds a game behind the others about its claim.
	pub(crate) fn enter(claim: &ClaimId, challenger: &AccountId, mut game: Game) {
		let docket = match Dockets::<T>::get(claim) {
			Some(Docket { first, last }) => {
				Self::link(claim, &last, |game| game.later = Some(challenger.clone()));
				game.earlier = Some(last);
				Docket { first, last: challenger.clone() }
			}
			None => Docket { first: challenger.clone(), last: challenger.clone() },
		};
		Dockets::<T>::insert(claim, docket);
		Deadlines::<T>::insert(game.deadline, (claim, challenger), ());
		Games::<T>::insert(claim, challenger, game);
	}

	/// Replaces a game, whose deadline was `before`, and which stands elsewhere now.
	pub(crate) fn keep(claim: &ClaimId, challenger: &AccountId, game: Game, before: u32) {
		if game.deadline != before {
			Deadlines::<T>::remove(before, (claim, challenger));
			Deadlines::<T>::insert(game.deadline, (claim, challenger), ());
		}
		Games::<T>::insert(claim, challenger, game);
		Missed::<T>::remove(claim, challenger);
	}

	/// Changes whom an open game is linked to.
	fn link(claim: &ClaimId, challenger: &AccountId, change: impl FnMut(&mut Game)) {
		Games::<T>::mutate_exists(claim, challenger, |game| game.iter_mut().for_each(change));
	}

	/// Takes a game out, which no longer keeps the stake of the claimant.
	pub(crate) fn leave(claim: &ClaimId, challenger: &AccountId, game: Game) {
		for (who, bond) in game.loads(claim) {
			T::Providers::close_claim(who);
			Self::unload(who, bond);
		}
		Games::<T>::remove(claim, challenger);
		Missed::<T>::remove(claim, challenger);
		Deadlines::<T>::remove(game.deadline, (claim, challenger));
		let Game { earlier, later, .. } = game;
		if let Some(earlier) = &earlier {
			Self::link(claim, earlier, |game| game.later.clone_from(&later));
		}
		if let Some(later) = &later {
			Self::link(claim, later, |game| game.earlier.clone_from(&earlier));
		}
		Dockets::<T>::mutate_exists(claim, |docket| match (docket.take(), earlier, later) {
			(_, None, None) | (None, ..) => {}
			(Some(Docket { last, .. }), None, Some(later)) => *docket = Some(Docket { first: later, last }),
			(Some(Docket { first, .. }), Some(earlier), None) => *docket = Some(Docket { first, last: earlier }),
			(kept, Some(_), Some(_)) => *docket = kept,
		});
		if !Dockets::<T>::contains_key(claim) {
			Fallen::<T>::remove(claim);
		}
	}
}
