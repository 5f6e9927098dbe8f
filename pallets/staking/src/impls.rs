//! Shared parts of the calls.

use crate::{
	ActiveCounts, BondError, Config, Cooldown, Error, Event, HoldReason, MinBond, Pallet, PeerIdOwner, PonwKeyOwner, Provider, Providers,
	TestedSpeeds,
};
use frame_support::{
	ensure,
	traits::{
		fungible::{InspectHold, MutateHold},
		tokens::Precision,
		Randomness,
	},
	Hashable,
};
use neuroshard_types::{
	provider::{ProviderInfo, ProviderStatus, Roles},
	AccountId, Balance, BlockNumber, H256,
};
use sp_runtime::{DispatchError, DispatchResult, SaturatedConversion};

impl<T: Config> Pallet<T> {
	/// Blocks from `unbond` until the chunk may be withdrawn.
	pub fn cooldown() -> BlockNumber {
		Cooldown::<T>::get()
	}

	pub(crate) fn now() -> BlockNumber {
		frame_system::Pallet::<T>::block_number().saturated_into()
	}

	pub(crate) fn registered(who: &AccountId) -> Result<Provider, Error<T>> {
		Providers::<T>::get(who).ok_or(Error::<T>::NotRegistered)
	}

	/// Runs `change` on the provider `who` and stores the result, and how many are active then; on an error nothing is stored.
	pub(crate) fn try_mutate(who: &AccountId, change: impl FnOnce(&mut Provider) -> DispatchResult) -> DispatchResult {
		Providers::<T>::try_mutate(who, |entry| {
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

	/// Notes that `provider` registers this speed, in GFLOP/s. One that is higher than what was tested needs another test, which nothing that is judged by its
	/// speed may be open for: else a provider could write down the speed that its work takes when the work is done.
	pub(crate) fn change_speed(who: &AccountId, provider: &mut Provider, gflops: u32) -> DispatchResult {
		let known = TestedSpeeds::<T>::get(who);
		let is_tested = !matches!(provider.status, ProviderStatus::Unproven { .. });
		if known.is_none() && !is_tested {
			// It was never tested.
			return Ok(());
		}
		let tested = known.unwrap_or(provider.info.hardware.gflops);
		if is_tested && gflops > tested {
			Self::ensure_undisputed(provider)?;
			let challenge = Self::draw_challenge(who);
			provider.status = ProviderStatus::Unproven { challenge };
			Self::deposit_event(Event::TestDrawn { who: who.clone(), challenge });
		}
		if is_tested && gflops == tested {
			TestedSpeeds::<T>::remove(who);
		} else {
			TestedSpeeds::<T>::insert(who, tested);
		}
		Ok(())
	}

	/// Puts `amount` of the free balance of `who` on hold.
	pub(crate) fn hold(who: &AccountId, amount: Balance) -> DispatchResult {
		T::Currency::hold(&HoldReason::Bond.into(), who, amount)
	}

	/// Gives `amount` of the hold of `who` back.
	pub(crate) fn release(who: &AccountId, amount: Balance, precision: Precision) -> Result<Balance, DispatchError> {
		T::Currency::release(&HoldReason::Bond.into(), who, amount, precision)
	}

	/// Returns the amount on hold for `who`.
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

	/// Fails if `provider` may not become active: it is suspended, or its bond is too small.
	pub(crate) fn ensure_may_start(provider: &Provider) -> Result<(), Error<T>> {
		Self::ensure_not_suspended(provider)?;
		ensure!(provider.bond.active >= MinBond::<T>::get(), Error::<T>::BondTooSmall);
		Self::ensure_verifier_bond(provider.info.roles, provider.bond.active)
	}

	/// Forgets a provider that has nothing on hold.
	pub(crate) fn remove(who: AccountId, provider: &Provider) {
		Self::free_identity(&provider.info);
		Self::dismiss(&who);
		TestedSpeeds::<T>::remove(&who);
		Self::recount(provider.active_roles(), Roles::default());
		Providers::<T>::remove(&who);
		Self::deposit_event(Event::Deregistered { who });
	}

	/// Moves `amount` of the active bond, which must not be locked, into an unbonding chunk. Then `who` may be chilled, or demoted.
	pub(crate) fn start_unbonding(who: &AccountId, provider: &mut Provider, amount: Balance) -> DispatchResult {
		ensure!(provider.locked_until <= Self::now(), Error::<T>::Locked);
		let unlocks_at = Self::now().saturating_add(Self::cooldown());
		provider.bond.unbond(amount, unlocks_at).map_err(|problem| match problem {
			BondError::ExceedsActive => Error::<T>::AmountExceedsBond,
			BondError::TooManyChunks => Error::<T>::TooManyChunks,
		})?;
		Self::deposit_event(Event::Unbonded { who: who.clone(), amount, unlocks_at });
		Self::review(who, provider);
		Ok(())
	}

	/// Chills a provider that is active.
	pub(crate) fn set_chilled(who: &AccountId, provider: &mut Provider) {
		provider.status = ProviderStatus::Chilled;
		Self::deposit_event(Event::Chilled { who: who.clone() });
	}

	/// Chills a provider that is active with less than the minimum, or takes the role of a verifier off if that needs more.
	pub(crate) fn review(who: &AccountId, provider: &mut Provider) {
		if provider.status == ProviderStatus::Active && provider.bond.active < MinBond::<T>::get() {
			Self::set_chilled(who, provider);
		}
		Self::demote_if_below(who, provider);
	}
}
