//! The list that auditors are drawn from.

use super::Verifier;
use crate::{Config, Error, Event, Pallet, Verifiers};
use frame_support::{ensure, traits::Get};
use neuroshard_types::{provider::Role, traits::Providers, AccountId};
use sp_runtime::DispatchResult;

impl<T: Config> Pallet<T> {
	/// See [`crate::Call::enroll`].
	pub(crate) fn do_enroll(who: AccountId) -> DispatchResult {
		ensure!(T::Providers::is_active(&who, Role::Verifier), Error::<T>::NotVerifier);
		let since = T::Epochs::get();
		Verifiers::<T>::try_mutate(|verifiers| {
			verifiers.retain(|verifier| !verifier.has_left(since));
			let place = match verifiers.binary_search_by(|verifier| verifier.account.cmp(&who)) {
				Ok(_) => return Err(Error::<T>::AlreadyEnrolled),
				Err(place) => place,
			};
			let verifier = Verifier { account: who.clone(), since, until: None };
			verifiers.try_insert(place, verifier).map_err(|_| Error::<T>::TooManyVerifiers)
		})?;
		Self::deposit_event(Event::VerifierEnrolled { who });
		Ok(())
	}

	/// See [`crate::Call::resign`].
	pub(crate) fn do_resign(who: AccountId) -> DispatchResult {
		ensure!(Self::strike(&who), Error::<T>::NotEnrolled);
		Self::deposit_event(Event::VerifierResigned { who });
		Ok(())
	}

	/// Has `who` leave the list, if it is on it.
	pub(crate) fn drop_verifier(who: &AccountId) {
		if Self::strike(who) {
			Self::deposit_event(Event::VerifierDropped { who: who.clone() });
		}
	}

	/// Has a verifier leave the list if it is active no more. Another one is looked at in every block that has room, so that on a list that
	/// stays as it is, with room in every block, all of them are within as many blocks as there are.
	pub(crate) fn sweep() {
		let verifiers = Verifiers::<T>::get();
		let number = usize::try_from(Self::now()).unwrap_or_default();
		let place = number.checked_rem(verifiers.len()).unwrap_or_default();
		let enrolled = verifiers.get(place).filter(|verifier| verifier.until.is_none());
		if let Some(Verifier { account, .. }) = enrolled.filter(|verifier| !T::Providers::is_active(&verifier.account, Role::Verifier)) {
			Self::drop_verifier(account);
		}
	}

	/// Returns whether `who` was enrolled, and is not any more.
	fn strike(who: &AccountId) -> bool {
		let mut verifiers = Verifiers::<T>::get();
		let enrolled = |verifier: &&mut Verifier| verifier.account == *who && verifier.until.is_none();
		let Some(verifier) = verifiers.iter_mut().find(enrolled) else { return false };
		verifier.until = Some(T::Epochs::get());
		Verifiers::<T>::put(verifiers);
		true
	}
}
