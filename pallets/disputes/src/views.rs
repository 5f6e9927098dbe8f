//! Implementation of the view functions.

use crate::{answer_audit::page, Clock, Config, Extension, Game, Games, Pallet};
use alloc::vec::Vec;
use frame_support::traits::Get;
use neuroshard_types::{
	dispute::{ClaimId, Terms},
	AccountId,
};

impl<T: Config> Pallet<T> {
	/// Open games for which `wanted` holds, a page of them behind this one.
	pub(crate) fn list(
		after: Option<(ClaimId, AccountId)>,
		wanted: impl Fn(&ClaimId, &AccountId, &Game) -> bool,
	) -> Vec<(ClaimId, AccountId)> {
		let games = match after {
			Some((claim, challenger)) => Games::<T>::iter_from(Games::<T>::hashed_key_for(claim, challenger)),
			None => Games::<T>::iter(),
		};
		let games = games.filter(|(claim, challenger, game)| wanted(claim, challenger, game));
		games.map(|(claim, challenger, _)| (claim, challenger)).take(page()).collect()
	}

	pub(crate) fn read_terms() -> Terms {
		Terms {
			window: T::ChallengeWindow::get(),
			clock: Clock::<T>::get(),
			extension: Extension::<T>::get(),
			bond: T::Bond::get(),
			most_games: T::MaxGamesPerDefender::get(),
		}
	}
}
