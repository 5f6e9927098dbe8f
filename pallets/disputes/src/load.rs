//! Load of one account, which bounds how much it can be asked at once: what a challenge of its claims holds, how many games can be open against it, and the
//! time that it gains with every turn.
//!
//! A defender plays all its games with one machine, so it gains time for all of them. The price is that a game may last longer, and that
//! there is a limit: a cheater could have accomplices fill it. Three things make that useless. What a challenge holds grows with the
//! stake of the claimant. While any game is open against it, none of its proofs becomes final: so its accomplices must lose, since
//! whatever else ends their games voids all of them, and half of what they lose is burned. And who was drawn to audit a claim is not
//! kept from disputing it, neither by the limit nor by what the claimant has at stake: it is drawn whatever it has itself.

use crate::{Clock, Config, Error, Extension, GamesAgainst, Load, Pallet};
use frame_support::{ensure, traits::Get};
use neuroshard_graph::game::Side;
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind, Claims},
	traits::Providers,
	AccountId, Balance, BlockNumber,
};

impl<T: Config> Pallet<T> {
	/// Returns the bond that a challenge of `claim` by `challenger` holds now, in planck. For whoever was drawn to audit the claim it is the least bond: else
	/// an account with much at stake could claim what it likes, since no auditor had as much as a challenge of it holds.
	///
	/// # Errors
	/// [`Error::TooManyGames`] if there is no room for one more: as many games as can be are open against the claimant, and they hold as
	/// much as so many challenges would hold now. So an account that raises its stake makes room for more. For whoever was drawn to audit
	/// the claim of work there is always room: these are two at most. For auditors of answers, of which a user pays for as many as it likes, there is room for
	/// as many games again.
	pub(crate) fn price_of(claim: &ClaimId, challenger: &AccountId) -> Result<Balance, Error<T>> {
		let least = T::Bond::get();
		let (most, load) = (T::MaxGamesPerDefender::get(), GamesAgainst::<T>::get(&claim.who));
		if Self::is_drawn_for(claim, challenger) {
			// Where that room is full, it holds what others hold.
			let has_room = !matches!(claim.kind, ClaimKind::Answer(_)) || load.games < most.saturating_mul(2);
			if has_room {
				return Ok(least);
			}
		}
		let bond = least.max(T::BondShare::get().mul_ceil(T::Providers::slashable(&claim.who)));
		let full = load.games >= most && load.bonds >= bond.saturating_mul(most.into());
		ensure!(!full, Error::<T>::TooManyGames);
		Ok(bond)
	}

	/// Notes a game that is opened against `who`. With the first one its proofs are held.
	pub(crate) fn load(who: &AccountId, bond: Balance) {
		let Load { games, bonds } = GamesAgainst::<T>::get(who);
		if games == 0 {
			T::Claims::hold(who);
		}
		GamesAgainst::<T>::insert(who, Load { games: games.saturating_add(1), bonds: bonds.saturating_add(bond) });
	}

	/// Notes that a game against `who` is over. With the last one its proofs are released.
	pub(crate) fn unload(who: &AccountId, bond: Balance) {
		let Load { games, bonds } = GamesAgainst::<T>::take(who);
		let left = Load { games: games.saturating_sub(1), bonds: bonds.saturating_sub(bond) };
		if left.games > 0 {
			GamesAgainst::<T>::insert(who, left);
		} else {
			T::Claims::release(who);
		}
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
