//! Rewards: who earns what of a block, and claims.

use crate::{Candidate, Candidates, Config, Error, Event, Nominations, Owed, Pallet, Position, WeightInfo};
use frame_support::{
	dispatch::DispatchClass,
	ensure,
	traits::{fungible::Mutate, tokens::Preservation, Get},
};
use frame_system::pallet_prelude::BlockNumberFor;
use neuroshard_types::{traits::BlockRewards, AccountId, Balance};
use sp_runtime::{traits::AccountIdConversion, DispatchResult};

impl<T: Config> Pallet<T> {
	/// The account that holds what was earned and is not claimed yet.
	pub fn pot() -> AccountId {
		T::PotId::get().into_account_truncating()
	}

	/// Shares `amount` planck, which the caller has paid into [`Self::pot`], as the reward of `author`: its commission is its own, the rest is
	/// everybody's by active stake for it. An author that is not a candidate any more keeps all of it.
	pub fn reward(author: &AccountId, amount: Balance) {
		if amount == 0 {
			return;
		}
		let now = Self::now();
		let kept = Candidates::<T>::mutate(author, |entry| {
			let Some(candidate) = entry else { return amount };
			let commission = candidate.commission_at(now).mul_floor(amount);
			let stake = candidate.exposure().total;
			commission.saturating_add(candidate.pool.spread(amount.saturating_sub(commission), stake))
		});
		Self::owe(author, kept);
		Self::deposit_event(Event::Rewarded { validator: author.clone(), amount, kept });
	}

	/// Notes that the pot owes `who` `amount` planck more.
	pub(crate) fn owe(who: &AccountId, amount: Balance) {
		if amount > 0 {
			Owed::<T>::mutate(who, |owed| *owed = owed.saturating_add(amount));
		}
	}

	/// Notes what `position` of `who` has earned. To be called before its stake changes. The caller stores both.
	pub(crate) fn settle(who: &AccountId, candidate: &mut Candidate, position: &mut Position) {
		let due = candidate.pool.settle(position);
		Self::owe(who, due);
	}

	/// Notes what the self-bond of the candidate `who` has earned. To be called before it changes. The caller stores the candidate.
	pub(crate) fn settle_own(who: &AccountId, candidate: &mut Candidate) {
		let due = candidate.pool.settle(&mut candidate.own);
		Self::owe(who, due);
	}

	/// See [`crate::Call::claim_rewards`].
	pub(crate) fn do_claim_rewards(who: AccountId, id: AccountId) -> DispatchResult {
		if let Some(mut candidate) = Candidates::<T>::get(&id) {
			if who == id {
				Self::settle_own(&who, &mut candidate);
			} else if let Some(mut nomination) = Nominations::<T>::get(&id, &who) {
				Self::settle(&who, &mut candidate, &mut nomination);
				Nominations::<T>::insert(&id, &who, nomination);
			}
			Candidates::<T>::insert(&id, candidate);
		}
		let amount = Owed::<T>::take(&who);
		ensure!(amount > 0, Error::<T>::NothingToClaim);
		T::Currency::transfer(&Self::pot(), &who, amount, Preservation::Preserve)?;
		Self::deposit_event(Event::RewardsClaimed { who, amount });
		Ok(())
	}
}

impl<T: Config> pallet_authorship::EventHandler<AccountId, BlockNumberFor<T>> for Pallet<T> {
	fn note_author(author: AccountId) {
		Self::reward(&author, T::BlockRewards::pay_block(&Self::pot()));
		frame_system::Pallet::<T>::register_extra_weight_unchecked(T::WeightInfo::note_author(), DispatchClass::Mandatory);
	}
}
