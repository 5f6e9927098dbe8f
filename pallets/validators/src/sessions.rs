//! Interface of elections to the session pallet, and the end of a session.

use crate::{Candidates, Config, Pallet, WeightInfo};
use alloc::vec::Vec;
use codec::MaxEncodedLen;
use frame_support::{traits::Get, weights::Weight, Parameter};
use frame_system::pallet_prelude::BlockNumberFor;
use neuroshard_types::AccountId;
use pallet_session::ShouldEndSession;
use sp_runtime::traits::OpaqueKeys;
use sp_staking::SessionIndex;

/// The session pallet, [`pallet_session::Pallet`].
pub trait Sessions {
	/// Session keys of a validator.
	type Keys: OpaqueKeys + Parameter + MaxEncodedLen;
	/// The session keys that `who` has registered.
	fn keys(who: &AccountId) -> Option<Self::Keys>;
	/// Returns whether `who` has registered session keys.
	fn has_keys(who: &AccountId) -> bool;
	/// Number of the running session.
	fn current() -> SessionIndex;
	/// Validators of the running session.
	fn validators() -> Vec<AccountId>;
	/// The set of the next session with the keys that it goes by, whatever becomes of the registered ones.
	fn queued() -> Vec<(AccountId, Self::Keys)>;
	/// Returns whether the set `next`, with the keys that are registered now, differs from the one that was queued last.
	fn differs(next: &[AccountId]) -> bool;
	/// Ends the running session, begins the next, and plans the one after that.
	fn rotate();
	/// Registers some keys of `who`.
	#[cfg(any(feature = "runtime-benchmarks", test))]
	fn register(who: &AccountId);
}

impl<T: pallet_session::Config<ValidatorId = AccountId, Keys: MaxEncodedLen>> Sessions for pallet_session::Pallet<T> {
	type Keys = T::Keys;

	fn keys(who: &AccountId) -> Option<T::Keys> {
		pallet_session::NextKeys::<T>::get(who)
	}

	fn has_keys(who: &AccountId) -> bool {
		pallet_session::NextKeys::<T>::contains_key(who)
	}

	fn current() -> SessionIndex {
		pallet_session::CurrentIndex::<T>::get()
	}

	fn validators() -> Vec<AccountId> {
		pallet_session::Validators::<T>::get()
	}

	fn queued() -> Vec<(AccountId, T::Keys)> {
		pallet_session::QueuedKeys::<T>::get()
	}

	fn differs(next: &[AccountId]) -> bool {
		let queued = Self::queued();
		let same = |((who, keys), next): (&(AccountId, T::Keys), &AccountId)| {
			who == next && pallet_session::NextKeys::<T>::get(next).as_ref() == Some(keys)
		};
		queued.len() != next.len() || !queued.iter().zip(next).all(same)
	}

	fn rotate() {
		Self::rotate_session();
	}

	#[cfg(any(feature = "runtime-benchmarks", test))]
	fn register(who: &AccountId) {
		use codec::{Decode, Encode};
		let bytes = who.encode();
		if let Ok(keys) = T::Keys::decode(&mut sp_runtime::traits::TrailingZeroInput::new(&bytes)) {
			pallet_session::NextKeys::<T>::insert(who, keys);
		}
	}
}

/// Sessions that end only when this pallet ends them: for [`pallet_session::Config::ShouldEndSession`]. The session pallet itself would declare
/// the block in which a session ends to be full.
pub struct EndedHere;

impl<BlockNumber> ShouldEndSession<BlockNumber> for EndedHere {
	fn should_end_session(_: BlockNumber) -> bool {
		false
	}
}

impl<T: Config> Pallet<T> {
	/// Ends the running session if it is over. Returns what that cost; the question alone is part of an empty block.
	pub(crate) fn end_session_at(now: BlockNumberFor<T>) -> Weight {
		if !T::SessionEnd::should_end_session(now) {
			return Weight::zero();
		}
		let before = T::Sessions::validators().len();
		T::Sessions::rotate();
		let validators = u32::try_from(before.max(T::Sessions::queued().len())).unwrap_or(u32::MAX);
		T::WeightInfo::rotate_session(Candidates::<T>::count(), validators).saturating_add(T::ConsensusWeight::get())
	}
}
