//! Owners of session keys in each session: what reports of equivocation are checked against.

use crate::{Config, Exposure, FirstSessions, Pallet, Sessions, Sets};
use alloc::vec::Vec;
use frame_support::{traits::Get, BoundedVec};
use neuroshard_types::AccountId;
use sp_runtime::{traits::OpaqueKeys, KeyTypeId};
use sp_staking::SessionIndex;

/// A validator of a set, what it was elected by, and the keys that it signs with.
pub(crate) type ValidatorOf<T> = (AccountId, Exposure, <<T as Config>::Sessions as Sessions>::Keys);
/// The validators of a set.
pub type SetOf<T> = BoundedVec<ValidatorOf<T>, <T as Config>::MaxValidators>;

impl<T: Config> Pallet<T> {
	/// Remembers the set of session `index` with the keys that are registered now. The session goes by these, whatever becomes of the
	/// registered ones before it is over; whoever has none takes no part in it.
	///
	/// A set that goes on from the session before is stored once.
	pub(crate) fn remember(index: SessionIndex, elected: &[(AccountId, Exposure)]) {
		let with_keys = |(who, exposure): &(AccountId, Exposure)| Some((who.clone(), *exposure, T::Sessions::keys(who)?));
		let set: Vec<ValidatorOf<T>> = elected.iter().filter_map(with_keys).collect();
		let same = |first: &SessionIndex| {
			let before = Sets::<T>::get(first);
			before.len() == set.len() && before.iter().zip(&set).all(|(before, now)| (&before.0, &before.2) == (&now.0, &now.2))
		};
		let first = index.checked_sub(1).and_then(FirstSessions::<T>::get).filter(same).unwrap_or(index);
		if first == index {
			Sets::<T>::insert(index, BoundedVec::truncate_from(set));
		}
		FirstSessions::<T>::insert(index, first);
	}

	/// Forgets what nothing can be reported about any more, now that session `index` begins.
	pub(crate) fn forget_before(index: SessionIndex) {
		let Some(session) = index.checked_sub(T::SessionsKept::get().saturating_add(1)) else { return };
		let Some(first) = FirstSessions::<T>::take(session) else { return };
		// Sessions of one set follow each other.
		if FirstSessions::<T>::get(session.saturating_add(1)) != Some(first) {
			Sets::<T>::remove(first);
		}
	}

	/// The first session of the set of `session`; `session` itself if it is not remembered.
	pub(crate) fn first_session(session: SessionIndex) -> SessionIndex {
		FirstSessions::<T>::get(session).unwrap_or(session)
	}

	/// The validator that signs with `key` of kind `id` in `session`, what it was elected by, and how many validators the session has. `None` if
	/// nobody does, if the session is not planned yet, or if nothing can be reported about it any more.
	pub fn key_owner(session: SessionIndex, id: KeyTypeId, key: &[u8]) -> Option<((AccountId, Exposure), u32)> {
		let set = Sets::<T>::get(FirstSessions::<T>::get(session)?);
		let validators = u32::try_from(set.len()).ok()?;
		let (who, exposure, _) = set.into_iter().find(|(_, _, keys)| keys.get_raw(id) == key)?;
		Some(((who, exposure), validators))
	}
}
