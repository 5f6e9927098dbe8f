//! Moves of shares and revenue.

use crate::{Config, Error, Event, Holding, Holdings, Model, Models, Pallet};
use alloc::format;
use frame_support::{
	ensure,
	storage::with_storage_layer,
	traits::{
		fungible::Mutate as _,
		fungibles::{metadata::Mutate as _, Create as _, Inspect as _, Mutate as _},
		tokens::Preservation,
		Get,
	},
};
use neuroshard_types::{
	ownership::SharesView,
	traits::{FinalWork, ModelRevenue, ModelShares},
	AccountId, Balance, RunId,
};
use sp_runtime::{traits::AccountIdConversion, ArithmeticError, DispatchError, DispatchResult};

impl<T: Config> Pallet<T> {
	/// This pallet's account: the pot with all revenue that was not claimed yet, and the owner of all classes of shares.
	pub fn pot() -> AccountId {
		T::PalletId::get().into_account_truncating()
	}

	/// See [`crate::Call::claim`].
	pub(crate) fn do_claim(who: AccountId, id: RunId) -> DispatchResult {
		let (mut model, mut holding) = Self::settled(&who, id)?;
		ensure!(Self::pay(&who, id, &mut model, &mut holding)? > 0, Error::<T>::NothingToClaim);
		Self::keep(&who, id, model, holding)
	}

	/// See [`crate::Call::transfer`].
	pub(crate) fn do_transfer(from: AccountId, to: AccountId, model: RunId, shares: u128) -> DispatchResult {
		Self::earn_less(&from, model, shares)?;
		ensure!(Self::has_place(&to, model), Error::<T>::NoPlace);
		T::Shares::transfer(model, &from, &to, shares, Preservation::Expendable)?;
		Self::earn_more(&to, model, shares)?;
		Self::deposit_event(Event::Transferred { from, to, model, shares });
		Ok(())
	}

	/// Mints `shares` to `who`, which earn from now on. The first ones make the class.
	fn mint(who: &AccountId, model: RunId, shares: u128) -> DispatchResult {
		if !T::Shares::asset_exists(model) {
			let owner = Self::pot();
			// Sufficient: whoever gets shares by work may exist, and needs neither money nor a deposit.
			T::Shares::create(model, owner.clone(), true, 1)?;
			T::Shares::set(model, &owner, format!("NeuroShard model {model}").into(), format!("NSM{model}").into(), 0)?;
		}
		Models::<T>::mutate(model, |slot| {
			slot.get_or_insert_default();
		});
		T::Shares::mint_into(model, who, shares)?;
		Self::earn_more(who, model, shares)
	}

	/// Freezes `shares` more of `who`, which earn from now on. The caller has made sure that they are there.
	pub(crate) fn earn_more(who: &AccountId, id: RunId, shares: u128) -> DispatchResult {
		let (mut model, mut holding) = Self::settled(who, id)?;
		holding.earning = holding.earning.checked_add(shares).ok_or(ArithmeticError::Overflow)?;
		model.earning = model.earning.checked_add(shares).ok_or(ArithmeticError::Overflow)?;
		Self::keep(who, id, model, holding)
	}

	/// Thaws `shares` of `who`, which earn no more from now on. With the last of them, `who` is paid what they have earned.
	pub(crate) fn earn_less(who: &AccountId, id: RunId, shares: u128) -> DispatchResult {
		ensure!(shares > 0, Error::<T>::ZeroAmount);
		let (mut model, mut holding) = Self::settled(who, id)?;
		holding.earning = holding.earning.checked_sub(shares).ok_or(Error::<T>::NotEnoughEarning)?;
		model.earning = model.earning.checked_sub(shares).ok_or(ArithmeticError::Underflow)?;
		Self::keep(who, id, model, holding)
	}

	/// A model, and what `who` has of it, with all that it has earned until now.
	fn settled(who: &AccountId, id: RunId) -> Result<(Model, Holding), DispatchError> {
		let model = Models::<T>::get(id).ok_or(Error::<T>::UnknownModel)?;
		let mut holding = Holdings::<T>::get(who, id).unwrap_or_default();
		holding.settle(&model);
		Ok((model, holding))
	}

	/// Pays the whole planck that `who` is owed, and says how many.
	fn pay(who: &AccountId, id: RunId, model: &mut Model, holding: &mut Holding) -> Result<Balance, DispatchError> {
		let amount = holding.take();
		if amount > 0 {
			model.paid = model.paid.checked_add(amount).ok_or(ArithmeticError::Overflow)?;
			// The pot keeps the existential deposit that it got at genesis.
			T::Currency::transfer(&Self::pot(), who, amount, Preservation::Preserve)?;
			Self::deposit_event(Event::Claimed { who: who.clone(), model: id, amount });
		}
		Ok(amount)
	}

	/// Stores both. Who has no shares that earn any more is paid: a holding would outlive the place and its deposit. The fraction of a planck
	/// goes to those who stay, with the next revenue.
	fn keep(who: &AccountId, id: RunId, mut model: Model, mut holding: Holding) -> DispatchResult {
		if holding.earning == 0 {
			Self::pay(who, id, &mut model, &mut holding)?;
			model.remainder = model.remainder.saturating_add(holding.owed);
			Holdings::<T>::remove(who, id);
		} else {
			Holdings::<T>::insert(who, id, holding);
		}
		Models::<T>::insert(id, model);
		Ok(())
	}

	/// `holding` of `who` as view functions show it.
	pub(crate) fn shown(who: &AccountId, id: RunId, mut holding: Holding) -> SharesView {
		holding.settle(&Models::<T>::get(id).unwrap_or_default());
		let earning = holding.earning;
		SharesView { earning, free: T::Shares::balance(id, who).saturating_sub(earning), claimable: holding.claimable() }
	}
}

impl<T: Config> FinalWork<AccountId> for Pallet<T> {
	fn final_work(who: &AccountId, run: RunId, units: u128) {
		if units == 0 {
			return;
		}
		let (who, model, shares) = (who.clone(), run, units);
		match with_storage_layer(|| Self::mint(&who, model, shares)) {
			Ok(()) => Self::deposit_event(Event::Minted { who, model, shares }),
			Err(error) => Self::deposit_event(Event::NotMinted { who, model, shares, error }),
		}
	}
}

impl<T: Config> ModelShares for Pallet<T> {
	fn exist(run: RunId) -> bool {
		Models::<T>::contains_key(run)
	}
}

impl<T: Config> ModelRevenue<AccountId, Balance> for Pallet<T> {
	fn deposit(from: &AccountId, run: RunId, amount: Balance) -> DispatchResult {
		ensure!(amount > 0, Error::<T>::ZeroAmount);
		let mut model = Models::<T>::get(run).ok_or(Error::<T>::UnknownModel)?;
		ensure!(model.earning > 0, Error::<T>::NobodyEarns);
		model.spread(amount).ok_or(ArithmeticError::Overflow)?;
		T::Currency::transfer(from, &Self::pot(), amount, Preservation::Preserve)?;
		Models::<T>::insert(run, model);
		Self::deposit_event(Event::RevenueDeposited { from: from.clone(), model: run, amount });
		Ok(())
	}
}

/// Shares that earn are frozen: no way out of the account leads past this, whoever calls `pallet-assets`.
impl<T: Config> pallet_assets::FrozenBalance<RunId, AccountId, u128> for Pallet<T> {
	fn frozen_balance(model: RunId, who: &AccountId) -> Option<u128> {
		Holdings::<T>::get(who, model).map(|holding| holding.earning).filter(|earning| *earning > 0)
	}

	/// Nothing is frozen of an account that may die.
	fn died(_: RunId, _: &AccountId) {}

	fn contains_freezes(model: RunId) -> bool {
		Models::<T>::get(model).is_some_and(|model| model.earning > 0)
	}
}
