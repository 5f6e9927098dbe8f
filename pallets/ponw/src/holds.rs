//! Accounts something of which is disputed: their proofs wait.

use crate::{Config, Held, Overdue, Pallet, Pending, Released};
use neuroshard_types::AccountId;

impl<T: Config> Pallet<T> {
	/// See [`neuroshard_types::traits::WorkProofs::hold`].
	pub(crate) fn hold_all(who: &AccountId) {
		Released::<T>::remove(who);
		Held::<T>::insert(who, ());
	}

	/// See [`neuroshard_types::traits::WorkProofs::release`].
	pub(crate) fn release_all(who: &AccountId) {
		if Held::<T>::take(who).is_some() && Overdue::<T>::iter_key_prefix(who).next().is_some() {
			Released::<T>::insert(who, ());
		}
	}

	/// Ends overdue proofs of accounts that are held no more, at most `limit` of them. Returns how many it looked at; an account that has
	/// none left counts as one.
	pub(crate) fn settle_released(limit: u32) -> u32 {
		let mut settled = 0u32;
		while settled < limit {
			let Some(who) = Released::<T>::iter_keys().next() else { break };
			match Overdue::<T>::iter_key_prefix(&who).next() {
				Some(key) => {
					Overdue::<T>::remove(&who, key);
					if let Some(entry) = Pending::<T>::get(&who, key) {
						Self::end(&who, key, &entry);
					}
				}
				None => Released::<T>::remove(&who),
			}
			settled = settled.saturating_add(1);
		}
		settled
	}
}
