//! Bonds that verifiers need: an active bond that rises with their number.
//!
//! The number is that of active providers that offer the role, and each of them had the bond that this number asked for when it took the role
//! or became active with it: so nobody raises the bar for others without clearing it. When the number rises over a step, those
//! below the new bar are demoted one after the other, until the number is back below it or all are above: more stake displaces less.

use crate::{ActiveCounts, Config, Error, Event, MinBond, Pallet, Provider, Providers, SweepCursor, VerifierMinimums, WeightInfo, SWEPT};
use alloc::vec::Vec;
use frame_support::{ensure, weights::Weight};
use neuroshard_types::{
	provider::{Role, Roles, VerifierTerms},
	AccountId, Balance,
};

impl<T: Config> Pallet<T> {
	/// Returns the bond that a verifier needs now.
	pub(crate) fn terms_of_verifiers() -> VerifierTerms {
		let (bonds, verifiers) = (VerifierMinimums::<T>::get(), ActiveCounts::<T>::get().of(Role::Verifier));
		VerifierTerms {
			verifiers,
			least_bond: bonds.least(verifiers),
			next_bond: bonds.least(verifiers.saturating_add(1)),
			holds_to: bonds.holds_to(verifiers),
		}
	}

	/// Fails if `roles` have that of a verifier and `bond` is too small for one more of them.
	pub(crate) fn ensure_verifier_bond(roles: Roles, bond: Balance) -> Result<(), Error<T>> {
		let enough = !roles.contains(Role::Verifier) || bond >= Self::terms_of_verifiers().next_bond;
		ensure!(enough, Error::<T>::VerifierBondTooSmall);
		Ok(())
	}

	/// Takes the role of a verifier off a provider that is active in it with too small a bond. It is still counted in it.
	pub(crate) fn demote_if_below(who: &AccountId, provider: &mut Provider) {
		if !provider.active_roles().contains(Role::Verifier) {
			return;
		}
		let least_bond = Self::terms_of_verifiers().least_bond;
		if provider.bond.active >= least_bond {
			return;
		}
		let others = provider.info.roles.without(Role::Verifier);
		provider.info.roles = if others.is_valid() { others } else { Roles::only(Role::Worker) };
		Self::deposit_event(Event::Demoted { who: who.clone(), least_bond });
	}

	/// Looks at the next [`SWEPT`] providers in storage order, over and over, and demotes those whose bond is too small for a verifier. Does
	/// nothing while the least bond of any provider is enough. Returns the weight.
	pub(crate) fn sweep() -> Weight {
		if Self::terms_of_verifiers().least_bond <= MinBond::<T>::get() {
			return T::WeightInfo::sweep_idle();
		}
		let providers = match SweepCursor::<T>::get() {
			Some(last) => Providers::<T>::iter_from(Providers::<T>::hashed_key_for(last)),
			None => Providers::<T>::iter(),
		};
		let page: Vec<_> = providers.take(SWEPT).collect();
		SweepCursor::<T>::set(page.last().filter(|_| page.len() == SWEPT).map(|(who, _)| who.clone()));
		for (who, mut provider) in page {
			let before = provider.active_roles();
			Self::demote_if_below(&who, &mut provider);
			if provider.active_roles() != before {
				Self::recount(before, provider.active_roles());
				Providers::<T>::insert(&who, provider);
			}
		}
		T::WeightInfo::sweep()
	}
}
