//! Invariants of the storage.

use crate::{Activities, Config, Held, Overdue, Pallet, Pending, Queue, QueueBounds, Released, Standing, Standings};
use alloc::collections::{BTreeMap, BTreeSet};
use frame_support::ensure;
use neuroshard_types::proof::ProofKind;
use sp_runtime::TryRuntimeError;

impl<T: Config> Pallet<T> {
	/// Checks every invariant of this pallet's storage and names the first that is broken.
	pub fn do_try_state() -> Result<(), TryRuntimeError> {
		Self::queue_is_contiguous_and_ordered()?;
		Self::every_confirmed_proof_is_due_once()?;
		Self::overdue_proofs_wait_for_a_reason()?;
		Self::standings_count_the_pending_proofs()?;
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

	/// A pending proof is one of training. Confirmed, it is in the queue exactly once for its block, or overdue; unconfirmed, it has no
	/// units.
	fn every_confirmed_proof_is_due_once() -> Result<(), TryRuntimeError> {
		let mut queued = BTreeMap::<_, u32>::new();
		for due in Queue::<T>::iter_values() {
			let times = queued.entry((due.who, due.key, due.final_at)).or_default();
			*times = times.saturating_add(1);
		}
		for (who, key, proof) in Pending::<T>::iter() {
			ensure!(key.kind == ProofKind::Training, "a proof that is not of training is pending");
			let overdue = Overdue::<T>::contains_key(&who, key);
			match proof.final_at {
				Some(final_at) if overdue => {
					ensure!(final_at <= Self::now(), "a proof left the queue before its window was over");
					ensure!(!queued.contains_key(&(who, key, final_at)), "a proof is queued that has left the queue");
				}
				Some(final_at) => ensure!(queued.get(&(who, key, final_at)) == Some(&1), "a confirmed proof is not queued exactly once"),
				None => ensure!(proof.units == 0 && !proof.paid && !overdue, "an unconfirmed proof has units, or is overdue"),
			}
		}
		Ok(())
	}

	/// Proofs are overdue only of accounts that are held, or that were and are to be ended, which excludes each other.
	fn overdue_proofs_wait_for_a_reason() -> Result<(), TryRuntimeError> {
		for (who, _) in Overdue::<T>::iter_keys() {
			let waits = Held::<T>::contains_key(&who) || Released::<T>::contains_key(&who);
			ensure!(waits, "a proof whose window is over is pending, and nothing holds it");
		}
		ensure!(!Released::<T>::iter_keys().any(Held::<T>::contains_key), "an account is held and released");
		Ok(())
	}

	/// Accounts with pending proofs, and no others, have a standing: it counts them, and their serial numbers are distinct and given.
	fn standings_count_the_pending_proofs() -> Result<(), TryRuntimeError> {
		let mut serials = BTreeMap::<_, BTreeSet<u64>>::new();
		for (who, _, proof) in Pending::<T>::iter() {
			ensure!(serials.entry(who).or_default().insert(proof.serial), "two pending proofs have one serial number");
		}
		for (who, Standing { pending, next, void_before }) in Standings::<T>::iter() {
			let serials = serials.remove(&who).ok_or("an account without pending proofs has a standing")?;
			ensure!(usize::try_from(pending) == Ok(serials.len()), "an account's pending proofs are counted wrongly");
			ensure!(serials.last().is_some_and(|last| *last < next), "a pending proof has a serial number that was not given");
			ensure!(void_before <= next, "proofs are void that are not submitted yet");
		}
		ensure!(serials.is_empty(), "an account with pending proofs has no standing");
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
