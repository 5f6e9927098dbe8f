//! Operators: accounts that sign the work of a provider, so that the key of its stake and money can stay offline.
//!
//! ```text
//! set_operator (the provider)          serve (the operator)
//! ---------------------------> named ----------------------> serves
//!        ^ set_operator names another one, or none: at once, at any time
//! ```
//!
//! Both have to agree. A provider that could name anybody would make work and challenges of strangers its own, and take what they are paid.
//!
//! # What it may do
//! [`Providers::acts_for`](neuroshard_types::traits::Providers::acts_for) is the one place where a signer becomes the account that it works for. Calls
//! by which a provider works ask there: rounds, proofs, attestations, challenges and moves, audits, offers and vouchers, and here its information, its
//! test and whether it takes part. What they do is the owner's, wherever an account is named: in rounds and claims, in games, in seals and proofs.
//! Nothing else asks: whatever moves money is the signer's own affair, and an operator has no money but that for its fees and the bonds of its
//! challenges.
//!
//! # What a stolen key of an operator costs
//! The stake, as far as misbehaving work can lose it, which is all of it; that cannot be otherwise, since the stake is what answers for the work. Not what the
//! owner has beside it: bonds of challenges, which can be lost, are the operator's own money. Only deposits that always come back to the owner are held of the
//! owner: those of attestations about datasets, and of offers of models. What is earned goes to the owner, whoever claims it.
//!
//! # Replacement
//! An identity in a round or game is the owner's, so whoever is its operator goes on where the last one was. A commitment or seal can be opened by who
//! knows its salt. The owner can sign all work itself, too. A bond goes back to whom it was held of.

use crate::{Config, Error, Event, Operators, OwnerOf, Pallet, Providers};
use frame_support::ensure;
use neuroshard_types::AccountId;
use sp_runtime::DispatchResult;

impl<T: Config> Pallet<T> {
	/// See [`crate::Call::set_operator`].
	pub(crate) fn do_set_operator(owner: AccountId, operator: Option<AccountId>) -> DispatchResult {
		ensure!(Providers::<T>::contains_key(&owner), Error::<T>::NotRegistered);
		ensure!(operator.as_ref().is_none_or(|operator| !Providers::<T>::contains_key(operator)), Error::<T>::IsProvider);
		ensure!(Operators::<T>::get(&owner) != operator, Error::<T>::OperatorUnchanged);
		Self::dismiss(&owner);
		if let Some(operator) = &operator {
			Operators::<T>::insert(&owner, operator);
		}
		Self::deposit_event(Event::OperatorNamed { owner, operator });
		Ok(())
	}

	/// Has `operator` act for `owner`.
	pub(crate) fn do_serve(operator: AccountId, owner: AccountId) -> DispatchResult {
		ensure!(!OwnerOf::<T>::contains_key(&operator), Error::<T>::AlreadyServes);
		ensure!(Operators::<T>::get(&owner).as_ref() == Some(&operator), Error::<T>::NotNamed);
		// It may have registered since it was named.
		ensure!(!Providers::<T>::contains_key(&operator), Error::<T>::IsProvider);
		OwnerOf::<T>::insert(&operator, &owner);
		Self::deposit_event(Event::OperatorServes { owner, operator });
		Ok(())
	}

	/// Has `operator` act for itself again.
	pub(crate) fn do_end_service(operator: AccountId) -> DispatchResult {
		let owner = OwnerOf::<T>::get(&operator).ok_or(Error::<T>::NotOperator)?;
		Self::dismiss(&owner);
		Self::deposit_event(Event::OperatorLeft { owner, operator });
		Ok(())
	}

	/// Forgets the operator of `owner`, if it has named one. One that was only named may serve somebody else, and goes on.
	pub(crate) fn dismiss(owner: &AccountId) {
		if let Some(operator) = Operators::<T>::take(owner) {
			OwnerOf::<T>::mutate_exists(operator, |served| *served = served.take().filter(|served| served != owner));
		}
	}
}
