//! Ends of games, and the money.

use crate::{Config, Dockets, Event, Fallen, Game, HoldReason, PaidBy, Pallet};
use frame_support::{
	defensive,
	storage::with_storage_layer,
	traits::{
		fungible::MutateHold,
		tokens::{Fortitude, Precision, Restriction},
		Defensive, Get,
	},
};
use neuroshard_types::{
	dispute::{ClaimId, Decision},
	traits::{Providers, SlashTo},
	AccountId, Balance,
};

/// Loss of a side, and where it went.
pub(crate) struct Loss {
	pub rewarded: Balance,
	pub receiver: Option<AccountId>,
	pub burned: Balance,
}

impl Loss {
	fn new(rewarded: Balance, receiver: &AccountId, burned: Balance) -> Self {
		Self { rewarded, receiver: (rewarded > 0).then(|| receiver.clone()), burned }
	}
}

impl<T: Config> Pallet<T> {
	/// Ends a game by a decision. If the claim falls with it, the other games about it end in the next blocks; after any other decision
	/// they go on.
	pub(crate) fn decide(claim: ClaimId, challenger: AccountId, game: Game, decision: Decision, witness_bytes: u32) {
		let (bond, extrinsics, opened_at) = (game.bond, game.extrinsics(), game.opened_at());
		let payer = Self::take_payer(&claim, &challenger);
		let defender = game.defender(&claim).clone();
		let loss = match decision {
			Decision::Fraud | Decision::DefenderLate => {
				// Before the game leaves: whoever opened it counts.
				let receiver = Self::receiver(&claim, &challenger);
				Self::return_bond(&payer, bond);
				Self::slash(&defender, &receiver)
			}
			Decision::Unfounded | Decision::ChallengerLate => Self::forfeit_bond(&payer, bond, &defender),
		};
		Self::leave(&claim, &challenger, game);
		if decision.condemns() {
			Self::condemn(&claim, &defender);
			if Dockets::<T>::contains_key(&claim) {
				Fallen::<T>::insert(&claim, ());
			}
		}
		Self::close_overdue(&claim);
		Self::forget_answer(&claim);
		let Loss { rewarded, receiver, burned } = loss;
		Self::deposit_event(Event::Decided {
			claim,
			challenger,
			defender,
			decision,
			slashed: rewarded.saturating_add(burned),
			rewarded,
			receiver,
			burned,
			extrinsics,
			witness_bytes,
			blocks: Self::now().saturating_sub(opened_at),
		});
	}

	/// Ends a game without a decision.
	pub(crate) fn end_moot(claim: ClaimId, challenger: AccountId, game: Game) {
		Self::return_bond(&Self::take_payer(&claim, &challenger), game.bond);
		Self::leave(&claim, &challenger, game);
		Self::close_overdue(&claim);
		Self::forget_answer(&claim);
		Self::deposit_event(Event::Moot { claim, challenger });
	}

	/// Of whom the bond of a game that ends is held.
	fn take_payer(claim: &ClaimId, challenger: &AccountId) -> AccountId {
		PaidBy::<T>::take(claim, challenger).unwrap_or_else(|| challenger.clone())
	}

	/// Returns the account that is rewarded when `claim` falls by the game of `winner`: the earliest opener among the games about it that are open, but
	/// before all others one who was drawn to audit it.
	fn receiver(claim: &ClaimId, winner: &AccountId) -> AccountId {
		let first = Self::first_auditor(claim).or_else(|| Some(Dockets::<T>::get(claim)?.first));
		first.unwrap_or_else(|| winner.clone())
	}

	/// Takes [`Config::SlashShare`] of what `who` has at stake: half of it goes to `receiver`, the other half is burned.
	pub(crate) fn slash(who: &AccountId, receiver: &AccountId) -> Loss {
		let amount = T::SlashShare::get().mul_floor(T::Providers::slashable(who));
		let half = amount / 2;
		let rewarded = T::Providers::slash(who, half, SlashTo::Account(receiver));
		let burned = T::Providers::slash(who, amount.saturating_sub(half), SlashTo::Burn);
		Loss::new(rewarded, receiver, burned)
	}

	/// Takes a bond: half of it goes to the defender, the other half is burned. So is what the defender cannot receive, because its account is gone
	/// and half a bond would be too little for a new one.
	fn forfeit_bond(payer: &AccountId, bond: Balance, defender: &AccountId) -> Loss {
		let reason = HoldReason::Challenge.into();
		let moved = with_storage_layer(|| {
			let (precision, restriction, force) = (Precision::Exact, Restriction::Free, Fortitude::Force);
			T::Currency::transfer_on_hold(&reason, payer, defender, bond / 2, precision, restriction, force)
		});
		let rewarded = moved.unwrap_or(0);
		let rest = bond.saturating_sub(rewarded);
		let burned = with_storage_layer(|| T::Currency::burn_held(&reason, payer, rest, Precision::Exact, Fortitude::Force));
		Loss::new(rewarded, defender, burned.defensive_unwrap_or(0))
	}

	/// Gives a bond back. It cannot fail: the bond is on hold, and the account lives by it.
	fn return_bond(payer: &AccountId, bond: Balance) {
		let reason = HoldReason::Challenge.into();
		let released = with_storage_layer(|| T::Currency::release(&reason, payer, bond, Precision::Exact));
		if released != Ok(bond) {
			defensive!("a bond that is on hold was not released");
		}
	}
}
