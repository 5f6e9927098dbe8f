//! How much one account can be asked at once: what a challenge of its claims holds, how many games can be open against it, and the time
//! that it gains with every turn.
//!
//! A defender plays all its games with one machine, so it gains time for all of them. The price is that a game may last longer, and that
//! there is a limit: a cheater could have accomplices fill it. What a challenge holds therefore grows with the stake of the claimant.
//! Accomplices must lose, since whatever else ends their games costs the claimant its stake; half of what they lose is burned.

use crate::{Clock, Config, Error, Extension, GamesAgainst, Load, Pallet};
use frame_support::{ensure, traits::Get};
use neuroshard_graph::game::Side;
use neuroshard_types::{traits::Providers, AccountId, Balance, BlockNumber};

impl<T: Config> Pallet<T> {
	/// What a challenge of a claim of `who` holds now, in planck.
	///
	/// # Errors
	/// [`Error::TooManyGames`] if there is no room for one more: as many games as can be are open against it, and they hold as much as
	/// so many challenges would hold now. So an account that raises its stake makes room for more.
	pub(crate) fn price_against(who: &AccountId) -> Result<Balance, Error<T>> {
		let bond = T::Bond::get().max(T::BondShare::get().mul_ceil(T::Providers::slashable(who)));
		let (most, load) = (T::MaxGamesPerDefender::get(), GamesAgainst::<T>::get(who));
		let full = load.games >= most && load.bonds >= bond.saturating_mul(most.into());
		ensure!(!full, Error::<T>::TooManyGames);
		Ok(bond)
	}

	/// Notes a game that is opened against `who`.
	pub(crate) fn load(who: &AccountId, bond: Balance) {
		GamesAgainst::<T>::mutate(who, |load| {
			*load = Load { games: load.games.saturating_add(1), bonds: load.bonds.saturating_add(bond) };
		});
	}

	/// Notes that a game against `who` is over.
	pub(crate) fn unload(who: &AccountId, bond: Balance) {
		GamesAgainst::<T>::mutate_exists(who, |load| {
			let Load { games, bonds } = load.take().unwrap_or_default();
			let left = Load { games: games.saturating_sub(1), bonds: bonds.saturating_sub(bond) };
			*load = (left.games > 0).then_some(left);
		});
	}

	/// Blocks that `side` gains when its turn comes in a game against `who`: the extension, for the defender times the games that are open
	/// against it, but no more than [`crate::most_gained`].
	pub(crate) fn gain(side: Side, who: &AccountId) -> BlockNumber {
		let extension = Extension::<T>::get();
		match side {
			Side::Challenger => extension,
			Side::Defender => {
				let most = crate::most_gained(Clock::<T>::get(), extension);
				extension.saturating_mul(GamesAgainst::<T>::get(who).games).min(most)
			}
		}
	}
}
