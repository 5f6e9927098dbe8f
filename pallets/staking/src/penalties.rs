//! Offences: what is taken, and for how long their authors take no part.

use crate::{Config, Error, Event, OffencePenalties, Pallet, Provider, Providers as ProviderMap, MISSES};
use neuroshard_types::{
	offence::Offence,
	provider::ProviderStatus,
	traits::{Providers, SlashTo},
	AccountId, Balance, BlockNumber,
};

impl<T: Config> Pallet<T> {
	/// Fails if `provider` is banned.
	pub(crate) fn ensure_not_banned(provider: &Provider) -> Result<(), Error<T>> {
		match provider.suspended_until {
			BlockNumber::MAX => Err(Error::<T>::Banned),
			_ => Ok(()),
		}
	}

	/// Fails if `provider` is suspended, or banned.
	pub(crate) fn ensure_not_suspended(provider: &Provider) -> Result<(), Error<T>> {
		Self::ensure_not_banned(provider)?;
		match provider.suspended_until > Self::now() {
			true => Err(Error::<T>::Suspended),
			false => Ok(()),
		}
	}

	/// See [`Providers::punish`]. A second punishment never shortens a suspension.
	pub(crate) fn do_punish(who: &AccountId, offence: Offence) -> Balance {
		let penalty = OffencePenalties::<T>::get().of(offence);
		let burned = Self::slash(who, penalty.burned(Self::slashable(who)), SlashTo::Burn);
		ProviderMap::<T>::mutate_extant(who, |provider| {
			let before = provider.active_roles();
			provider.blame(penalty.reputation);
			provider.suspended_until = provider.suspended_until.max(penalty.until(Self::now()));
			if provider.status == ProviderStatus::Active {
				Self::set_chilled(who, provider);
			}
			Self::recount(before, provider.active_roles());
			let Provider { reputation, suspended_until, .. } = *provider;
			Self::deposit_event(Event::Punished { who: who.clone(), offence, burned, reputation, suspended_until });
		});
		burned
	}

	/// Notes a missed audit that was drawn in block `drawn_at`. Returns whether the row is as long as is punished.
	pub(crate) fn note_missed(who: &AccountId, drawn_at: BlockNumber) -> bool {
		ProviderMap::<T>::mutate(who, |entry| {
			let Some(missed) = entry.as_mut().map(|provider| &mut provider.missed) else { return false };
			if drawn_at < missed.noted_at {
				return false;
			}
			(missed.count, missed.noted_at) = (missed.count.saturating_add(1), Self::now());
			let is_row = missed.count >= MISSES;
			if is_row {
				missed.count = 0;
			}
			is_row
		})
	}
}
