//! The trait through which other pallets see, slash and rate providers.

use crate::{
	ActiveCounts, Config, Event, HoldReason, OwnerOf, Pallet, Providers as ProviderMap, TestedSpeeds, INITIAL_REPUTATION, MAX_REPUTATION,
};
use frame_support::{
	storage::with_storage_layer,
	traits::{
		fungible::MutateHold,
		tokens::{Fortitude, Precision, Restriction},
		Get,
	},
};
use neuroshard_types::{
	offence::Offence,
	provider::{HardwareProfile, PonwKey, ProviderStatus, Role},
	traits::{Providers, SlashTo},
	AccountId, Balance, BlockNumber,
};
use sp_runtime::{ArithmeticError, DispatchResult};

impl<T: Config> Pallet<T> {
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
	fn acts_for(signer: AccountId) -> AccountId {
		OwnerOf::<T>::get(&signer).unwrap_or(signer)
	}

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
		let mut hardware = ProviderMap::<T>::get(who)?.info.hardware;
		hardware.gflops = hardware.gflops.min(TestedSpeeds::<T>::get(who).unwrap_or(hardware.gflops));
		Some(hardware)
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
			Self::review(who, provider);
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
		ProviderMap::<T>::mutate_extant(who, |provider| provider.praise(MAX_REPUTATION));
	}

	fn note_uptime(who: &AccountId) {
		ProviderMap::<T>::mutate_extant(who, |provider| provider.praise(INITIAL_REPUTATION));
	}

	fn note_failure(who: &AccountId, points: u32) {
		ProviderMap::<T>::mutate_extant(who, |provider| provider.blame(points));
	}

	fn note_audit_reported(who: &AccountId) {
		ProviderMap::<T>::mutate_extant(who, |provider| provider.missed.count = 0);
	}

	fn note_audit_missed(who: &AccountId, drawn_at: BlockNumber) {
		if Self::note_missed(who, drawn_at) {
			Self::do_punish(who, Offence::RepeatedFailure);
		}
	}

	fn punish(who: &AccountId, offence: Offence) -> Balance {
		Self::do_punish(who, offence)
	}
}
