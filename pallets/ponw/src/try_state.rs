//! Invariants of the storage.

use crate::{Activities, Config, Pallet, Pending, Queue, QueueBounds};
use alloc::collections::BTreeMap;
use frame_support::ensure;
use neuroshard_types::proof::ProofKind;
use sp_runtime::TryRuntimeError;

impl<T: Config> Pallet<T> {
	/// Checks every invariant of this pallet's storage and names the first that is broken.
	pub fn do_try_state() -> Result<(), TryRuntimeError> {
		Self::queue_is_contiguous_and_ordered()?;
		Self::every_confirmed_proof_is_due_once()?;
		Self::activities_are_ascending()
	}

	/// The queue fills exactly its bounds, and whoever stands earlier is final no later.
	fn queue_is_contiguous_and_ordered() -> Result<(), TryRuntimeError> {
		let bounds = QueueBounds::<T>::get();
		let mut previous = 0;
		for index in bounds.first..bounds.next {
			let due = Queue::<T>::get(index).ok_or("the queue of confirmed proofs has a hole")?;
			ensure!(previous <= due.final_at, "the queue of confirmed proofs is out of order");
			previous = due.final_at;
		}
		let stored = u64::try_from(Queue::<T>::iter_keys().count()).map_err(|_| "the queue is too long")?;
		ensure!(bounds.next.checked_sub(bounds.first) == Some(stored), "the queue of confirmed proofs exceeds its bounds");
		Ok(())
	}

	/// A pending proof is one of training; confirmed, it is in the queue exactly once for its block; unconfirmed, it has no units.
	fn every_confirmed_proof_is_due_once() -> Result<(), TryRuntimeError> {
		let mut queued = BTreeMap::<_, u32>::new();
		for due in Queue::<T>::iter_values() {
			let times = queued.entry((due.who, due.key, due.final_at)).or_default();
			*times = times.saturating_add(1);
		}
		for (who, key, proof) in Pending::<T>::iter() {
			ensure!(key.kind == ProofKind::Training, "a proof that is not of training is pending");
			match proof.final_at {
				Some(final_at) => ensure!(queued.get(&(who, key, final_at)) == Some(&1), "a confirmed proof is not queued exactly once"),
				None => ensure!(proof.units == 0, "an unconfirmed proof has units"),
			}
		}
		Ok(())
	}

	/// Times of accepted proofs never go back.
	fn activities_are_ascending() -> Result<(), TryRuntimeError> {
		for activity in Activities::<T>::iter_values() {
			ensure!(activity.accepted.is_sorted(), "times of accepted proofs are out of order");
		}
		Ok(())
	}
}
