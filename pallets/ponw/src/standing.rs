//! Stored types of pending proofs: each of them, and per account which of them are void.

use crate::{Config, Pallet, Pending, Standings};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_types::{
	proof::{PendingProof, ProofKey},
	traits::Providers,
	AccountId, BlockNumber,
};
use scale_info::TypeInfo;

/// A proof on its way to payment, as it is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Entry {
	/// Number of the proof among its account's, in the order of submission.
	pub serial: u64,
	/// Work units; 0 until its work is included.
	pub units: u128,
	/// True if they will be paid.
	pub paid: bool,
	/// Block at which it becomes final if its account is not held; `None` until its work is included.
	pub final_at: Option<BlockNumber>,
}

impl Entry {
	/// Work units it will be paid by.
	pub fn paid_units(&self) -> u128 {
		if self.paid {
			self.units
		} else {
			0
		}
	}
}

impl From<Entry> for PendingProof {
	fn from(entry: Entry) -> Self {
		Self { units: entry.paid_units(), final_at: entry.final_at }
	}
}

/// An account's pending proofs as a whole; stored as long as there are any.
///
/// Condemning an account is one write, however many proofs it has: each finds out that it is void when its time comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Standing {
	/// Number of pending proofs.
	pub pending: u32,
	/// Serial number of the next one.
	pub next: u64,
	/// Proofs with a serial number below this one are void: they were pending when the account was condemned.
	pub void_before: u64,
}

impl<T: Config> Pallet<T> {
	/// Returns whether the account was condemned while this proof was pending.
	pub(crate) fn is_condemned(who: &AccountId, entry: &Entry) -> bool {
		Standings::<T>::get(who).is_some_and(|standing| entry.serial < standing.void_before)
	}

	/// Stores a new proof that is not confirmed.
	pub(crate) fn add(who: &AccountId, key: ProofKey) {
		Standings::<T>::mutate(who, |slot| {
			let standing = slot.get_or_insert_default();
			let serial = standing.next;
			standing.pending = standing.pending.saturating_add(1);
			standing.next = serial.saturating_add(1);
			Pending::<T>::insert(who, key, Entry { serial, units: 0, paid: false, final_at: None });
		});
	}

	/// Forgets a pending proof and closes its claim. Returns whether its account was condemned while it was pending.
	pub(crate) fn remove(who: &AccountId, key: ProofKey, entry: &Entry) -> bool {
		Pending::<T>::remove(who, key);
		T::Providers::close_claim(who);
		Standings::<T>::mutate_exists(who, |slot| {
			let Some(standing) = slot else { return false };
			let void = entry.serial < standing.void_before;
			standing.pending = standing.pending.saturating_sub(1);
			if standing.pending == 0 {
				*slot = None;
			}
			void
		})
	}
}
