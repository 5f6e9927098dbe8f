//! What the calls share, and the trait through which other pallets see providers.

use crate::{
	ActiveCounts, BondError, Config, Cooldown, Error, Event, HoldReason, MinBond, Pallet, PeerIdOwner, PonwKeyOwner, Provider, Providers as ProviderMap,
	MAX_REPUTATION,
};
use frame_support::{
	ensure,
	storage::with_storage_layer,
	traits::{
		fungible::{InspectHold, MutateHold},
		tokens::{Fortitude, Precision, Restriction},
		Get, Randomness,
	},
	Hashable,
};
use neuroshard_types::{
	provider::{HardwareProfile, PonwKey, ProviderInfo, ProviderStatus, Role, Roles},
	traits::{Providers, SlashTo},
	AccountId, Balance, BlockNumber, H256,
};
use sp_runtime::{ArithmeticError, DispatchError, DispatchResult, SaturatedConversion};

impl<T: Config> Pallet<T> {
	/// Blocks from `unbond` until the chunk may be withdrawn.
	pub fn cooldown() -> BlockNumber {
		Cooldown::<T>::get()
	}

	pub(crate) fn now() -> BlockNumber {
		frame_system::Pallet::<T>::block_number().saturated_into()
	}

	pub(crate) fn registered(who: &AccountId) -> Result<Provider, Error<T>> {
		ProviderMap::<T>::get(who).ok_or(Error::<T>::NotRegistered)
	}

	/// Runs `change` on the provider `who` and stores the result, and how many are active then; on an error nothing is stored.
	pub(crate) fn try_mutate(who: &AccountId, change: impl FnOnce(&mut Provider) -> DispatchResult) -> DispatchResult {
		ProviderMap::<T>::try_mutate(who, |entry| {
			let provider = entry.as_mut().ok_or(Error::<T>::NotRegistered)?;
			let before = provider.active_roles();
			change(provider)?;
			Self::recount(before, provider.active_roles());
			Ok(())
		})
	}

	/// Counts a provider that took part in the roles `before`, and takes part in those of `after` now.
	pub(crate) fn recount(before: Roles, after: Roles) {
		if before != after {
			ActiveCounts::<T>::mutate(|counts| counts.change(before, after));
		}
	}

	/// Seed of the test of arithmetic of a new provider, known to nobody long before.
	pub(crate) fn draw_challenge(who: &AccountId) -> H256 {
		let (randomness, _) = T::Randomness::random(b"neuroshard/arithmetic");
		// The same randomness gives other accounts, and the same account in other blocks, other challenges.
		H256((randomness, who.clone(), Self::now()).blake2_256())
	}

	/// Puts `amount` of the free balance of `who` on hold.
	pub(crate) fn hold(who: &AccountId, amount: Balance) -> DispatchResult {
		T::Currency::hold(&HoldReason::Bond.into(), who, amount)
	}

	/// Gives `amount` of the hold of `who` back.
	pub(crate) fn release(who: &AccountId, amount: Balance, precision: Precision) -> Result<Balance, DispatchError> {
		T::Currency::release(&HoldReason::Bond.into(), who, amount, precision)
	}

	/// What is on hold for `who`.
	pub(crate) fn held(who: &AccountId) -> Balance {
		T::Currency::balance_on_hold(&HoldReason::Bond.into(), who)
	}

	/// Fails if PoNW key or peer id of `info` belong to somebody other than `who`.
	pub(crate) fn ensure_identity_free(who: &AccountId, info: &ProviderInfo) -> Result<(), Error<T>> {
		ensure!(PonwKeyOwner::<T>::get(info.ponw_key).is_none_or(|owner| owner == *who), Error::<T>::PonwKeyTaken);
		ensure!(PeerIdOwner::<T>::get(&info.peer_id).is_none_or(|owner| owner == *who), Error::<T>::PeerIdTaken);
		Ok(())
	}

	/// Notes that PoNW key and peer id of `info` belong to `who`.
	pub(crate) fn claim_identity(who: &AccountId, info: &ProviderInfo) {
		PonwKeyOwner::<T>::insert(info.ponw_key, who);
		PeerIdOwner::<T>::insert(&info.peer_id, who);
	}

	/// Makes PoNW key and peer id of `info` available again.
	pub(crate) fn free_identity(info: &ProviderInfo) {
		PonwKeyOwner::<T>::remove(info.ponw_key);
		PeerIdOwner::<T>::remove(&info.peer_id);
	}

	/// Fails while something keeps the stake of `provider`: a proof that is pending, an open dispute, or a claim that can be disputed.
	pub(crate) fn ensure_undisputed(provider: &Provider) -> Result<(), Error<T>> {
		ensure!(provider.open_claims == 0, Error::<T>::OpenClaims);
		ensure!(provider.disputable_until <= Self::now(), Error::<T>::Disputable);
		Ok(())
	}

	/// Forgets a provider that has nothing on hold.
	pub(crate) fn remove(who: AccountId, provider: &Provider) {
		Self::free_identity(&provider.info);
		Self::recount(provider.active_roles(), Roles::default());
		ProviderMap::<T>::remove(&who);
		Self::deposit_event(Event::Deregistered { who });
	}

	/// Moves `amount` of the active bond into an unbonding chunk, and chills `who` if it is active and less than the minimum remains.
	pub(crate) fn start_unbonding(who: &AccountId, provider: &mut Provider, amount: Balance) -> DispatchResult {
		let unlocks_at = Self::now().saturating_add(Self::cooldown());
		provider.bond.unbond(amount, unlocks_at).map_err(|problem| match problem {
			BondError::ExceedsActive => Error::<T>::AmountExceedsBond,
			BondError::TooManyChunks => Error::<T>::TooManyChunks,
		})?;
		Self::deposit_event(Event::Unbonded { who: who.clone(), amount, unlocks_at });
		Self::chill_if_below_minimum(who, provider);
		Ok(())
	}

	/// Chills a provider that is active.
	pub(crate) fn set_chilled(who: &AccountId, provider: &mut Provider) {
		provider.status = ProviderStatus::Chilled;
		Self::deposit_event(Event::Chilled { who: who.clone() });
	}

	fn chill_if_below_minimum(who: &AccountId, provider: &mut Provider) {
		if provider.status == ProviderStatus::Active && provider.bond.active < MinBond::<T>::get() {
			Self::set_chilled(who, provider);
		}
	}

	/// Takes up to `amount` of the hold of `who` to `to` and returns what was taken and who got it. What an account
	/// cannot receive (it does not exist and the amount is below the existential deposit) is burned: a slash never fails
	/// because of its destination.
	fn take_held(who: &AccountId, amount: Balance, to: SlashTo<'_, AccountId>) -> (Balance, Option<AccountId>) {
		let reason = HoldReason::Bond.into();
		if let SlashTo::Account(account) = to {
			let moved = with_storage_layer(|| {
				T::Currency::transfer_on_hold(&reason, who, account, amount, Precision::BestEffort, Restriction::Free, Fortitude::Force)
			});
			if let Ok(taken) = moved {
				return (taken, Some(account.clone()));
			}
		}
		let burned =
			with_storage_layer(|| T::Currency::burn_held(&reason, who, amount, Precision::BestEffort, Fortitude::Force)).unwrap_or(0);
		(burned, None)
	}
}

impl<T: Config> Providers<AccountId, Balance> for Pallet<T> {
	fn is_active(who: &AccountId, role: Role) -> bool {
		ProviderMap::<T>::get(who).is_some_and(|provider| provider.status == ProviderStatus::Active && provider.info.roles.contains(role))
	}

	fn active_count(role: Role) -> u32 {
		ActiveCounts::<T>::get().of(role)
	}

	fn reputation(who: &AccountId) -> u32 {
		ProviderMap::<T>::get(who).map_or(0, |provider| provider.reputation)
	}

	fn bond(who: &AccountId) -> Balance {
		ProviderMap::<T>::get(who).map_or(0, |provider| provider.bond.active)
	}

	fn slashable(who: &AccountId) -> Balance {
		ProviderMap::<T>::get(who).map_or(0, |provider| provider.bond.total())
	}

	fn ponw_key(who: &AccountId) -> Option<PonwKey> {
		ProviderMap::<T>::get(who).map(|provider| provider.info.ponw_key)
	}

	fn hardware(who: &AccountId) -> Option<HardwareProfile> {
		ProviderMap::<T>::get(who).map(|provider| provider.info.hardware)
	}

	fn slash(who: &AccountId, amount: Balance, to: SlashTo<'_, AccountId>) -> Balance {
		ProviderMap::<T>::mutate(who, |entry| {
			let Some(provider) = entry else { return 0 };
			let wanted = amount.min(provider.bond.total());
			if wanted == 0 {
				return 0;
			}
			let (taken, to) = Self::take_held(who, wanted, to);
			let before = provider.active_roles();
			provider.bond.slash(taken);
			Self::deposit_event(Event::Slashed { who: who.clone(), amount: taken, to });
			Self::chill_if_below_minimum(who, provider);
			Self::recount(before, provider.active_roles());
			taken
		})
	}

	fn open_claim(who: &AccountId) -> DispatchResult {
		Self::try_mutate(who, |provider| {
			provider.open_claims = provider.open_claims.checked_add(1).ok_or(ArithmeticError::Overflow)?;
			Ok(())
		})
	}

	fn close_claim(who: &AccountId) {
		ProviderMap::<T>::mutate_extant(who, |provider| provider.open_claims = provider.open_claims.saturating_sub(1));
	}

	fn note_disputable(who: &AccountId) {
		let until = Self::now().saturating_add(T::DisputePeriod::get());
		ProviderMap::<T>::mutate_extant(who, |provider| provider.disputable_until = provider.disputable_until.max(until));
	}

	fn note_success(who: &AccountId) {
		ProviderMap::<T>::mutate_extant(who, |provider| {
			provider.reputation = provider.reputation.saturating_add(1).min(MAX_REPUTATION);
		});
	}

	fn note_failure(who: &AccountId, points: u32) {
		ProviderMap::<T>::mutate_extant(who, |provider| provider.reputation = provider.reputation.saturating_sub(points));
	}
}
