//! What the view functions answer.

use crate::{Clock, Config, Extension, Games, Pallet, MAX_LISTED};
use alloc::vec::Vec;
use frame_support::traits::Get;
use neuroshard_types::{
	dispute::{ClaimId, Terms},
	AccountId,
};

impl<T: Config> Pallet<T> {
	/// Open games for which `wanted` holds, at most [`MAX_LISTED`] of them.
	pub(crate) fn list(wanted: impl Fn(&ClaimId, &AccountId) -> bool) -> Vec<(ClaimId, AccountId)> {
		let limit = usize::try_from(MAX_LISTED).unwrap_or(usize::MAX);
		let mut games: Vec<_> = Games::<T>::iter_keys().filter(|(claim, challenger)| wanted(claim, challenger)).take(limit).collect();
		games.sort();
		games
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
