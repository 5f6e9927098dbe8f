//! Life of a proof: submitted, confirmed or void, final.

use crate::{
	Activities, ChallengeWindow, Config, Entry, Error, Event, FinishedRuns, Held, LastProven, Overdue, Pallet, Pending, Queue, QueueBounds,
	Standings,
};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::ensure;
use neuroshard_types::{
	proof::{Proof, ProofKey, ProofKind, ProofSignature, WorkClaim},
	provider::Role,
	traits::{FinalWork, Providers, WorkCredits, WorkProofs},
	AccountId, BlockNumber, RunId, H256,
};
use scale_info::TypeInfo;
use sp_runtime::{DispatchError, DispatchResult};

/// A confirmed proof and when it becomes final.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Due {
	/// Block at which it becomes final.
	pub final_at: BlockNumber,
	/// Provider.
	pub who: AccountId,
	/// Identity of the work that it proved.
	pub key: ProofKey,
}

/// All roles: uptime counts for whoever offers any.
const ROLES: [Role; 4] = [Role::Driver, Role::Worker, Role::Verifier, Role::Predictor];

impl<T: Config> Pallet<T> {
	/// See [`crate::Call::submit_uptime`].
	pub(crate) fn do_submit_uptime(who: AccountId, proof: &Proof, signature: &ProofSignature) -> DispatchResult {
		let key = proof.key;
		ensure!(key.kind == ProofKind::Uptime, Error::<T>::WrongKind);
		ensure!(key.round == 0 && Self::hour_of(proof.timestamp) == Some(key.run), Error::<T>::WrongHour);
		ensure!(proof.work_hash == H256::zero(), Error::<T>::WorkInUptime);
		ensure!(T::Providers::ponw_key(&who).is_some(), Error::<T>::NotRegistered);
		ensure!(ROLES.iter().any(|role| T::Providers::is_active(&who, *role)), Error::<T>::NotActive);
		Self::check_fresh(proof)?;
		let mut activity = Self::check_rate(&who)?;
		ensure!(activity.uptime_hour.is_none_or(|last| last < key.run), Error::<T>::AlreadyProven);
		Self::check_signature(&who, proof, signature)?;
		activity.uptime_hour = Some(key.run);
		Activities::<T>::insert(&who, activity);
		T::Providers::note_uptime(&who);
		Self::deposit_event(Event::Up { who, hour: key.run });
		Ok(())
	}

	/// Ends proofs that are due, then those that were held when they were, at most `limit` of them. Returns how many it looked at.
	pub(crate) fn settle(limit: u32) -> u32 {
		let due = Self::settle_due(limit);
		due.saturating_add(Self::settle_released(limit.saturating_sub(due)))
	}

	/// Ends confirmed proofs whose window is over, oldest first, at most `limit` of them. Returns how many it looked at.
	fn settle_due(limit: u32) -> u32 {
		let now = Self::now();
		let mut bounds = QueueBounds::<T>::get();
		let mut settled = 0u32;
		while let Some(number) = bounds.oldest().filter(|_| settled < limit) {
			match Queue::<T>::get(number) {
				Some(due) if due.final_at > now => break,
				Some(due) => Self::pass(due),
				None => {}
			}
			Queue::<T>::remove(number);
			bounds.pass();
			settled = settled.saturating_add(1);
		}
		if settled > 0 {
			QueueBounds::<T>::put(bounds);
		}
		settled
	}

	/// Ends a confirmed proof whose window is over, unless it was voided before. It waits if its account is held.
	fn pass(due: Due) {
		let Due { final_at, who, key } = due;
		let Some(entry) = Pending::<T>::get(&who, key).filter(|entry| entry.final_at == Some(final_at)) else { return };
		if Held::<T>::contains_key(&who) {
			Overdue::<T>::insert(&who, key, ());
		} else {
			Self::end(&who, key, &entry);
		}
	}

	/// Pays a proof, or voids it if its account was condemned while it was pending.
	pub(crate) fn end(who: &AccountId, key: ProofKey, entry: &Entry) {
		if Self::remove(who, key, entry) {
			Self::deposit_event(Event::Voided { who: who.clone(), key });
			return;
		}
		T::OnFinal::final_work(who, key.run, entry.units);
		let units = entry.paid_units();
		// Work that nobody approved pays nothing, so that it must not raise what other work is paid either.
		if units > 0 {
			T::Credits::credit(who, key.kind, Role::Worker, units);
			T::Providers::note_success(who);
		}
		Self::deposit_event(Event::Finalized { who: who.clone(), key, units });
	}
}

impl<T: Config> WorkProofs<AccountId> for Pallet<T> {
	fn submit(who: &AccountId, proof: &Proof, signature: &ProofSignature, claim: WorkClaim) -> Result<(), DispatchError> {
		let key = proof.key;
		ensure!(key.kind == ProofKind::Training, Error::<T>::WrongKind);
		Self::check_fresh(proof)?;
		Self::check_unused(who, &key)?;
		let activity = Self::check_rate(who)?;
		Self::check_plausible(who, &claim)?;
		Self::check_signature(who, proof, signature)?;
		T::Providers::open_claim(who)?;
		Activities::<T>::insert(who, activity);
		Self::add(who, key);
		Self::deposit_event(Event::Submitted { who: who.clone(), key });
		Ok(())
	}

	fn confirm(who: &AccountId, key: ProofKey, units: u128, paid: bool) {
		let Some(entry) = Pending::<T>::get(who, key).filter(|entry| entry.final_at.is_none()) else { return };
		LastProven::<T>::mutate(key.run, who, |last| *last = (*last).max(Some(key.round)));
		if Self::is_condemned(who, &entry) {
			Self::end(who, key, &entry);
			return;
		}
		let final_at = Self::now().saturating_add(ChallengeWindow::<T>::get());
		let entry = Entry { units, paid, final_at: Some(final_at), ..entry };
		Pending::<T>::insert(who, key, entry);
		QueueBounds::<T>::mutate(|bounds| Queue::<T>::insert(bounds.append(), Due { final_at, who: who.clone(), key }));
		Self::deposit_event(Event::Confirmed { who: who.clone(), key, units: entry.paid_units(), final_at });
	}

	fn confirm_part(who: &AccountId, key: ProofKey, units: u128, paid: bool) {
		if Self::check_unused(who, &key).is_ok() && T::Providers::open_claim(who).is_ok() {
			Self::add(who, key);
			Self::deposit_event(Event::Submitted { who: who.clone(), key });
			Self::confirm(who, key, units, paid);
		}
	}

	fn void(who: &AccountId, key: ProofKey) {
		// It stays in the queue, or among the overdue, where no pending proof is found when its time comes.
		if let Some(entry) = Pending::<T>::get(who, key) {
			Self::remove(who, key, &entry);
			Self::deposit_event(Event::Voided { who: who.clone(), key });
		}
	}

	fn hold(who: &AccountId) {
		Self::hold_all(who);
	}

	fn release(who: &AccountId) {
		Self::release_all(who);
	}

	fn condemn(who: &AccountId) {
		Standings::<T>::mutate_extant(who, |standing| standing.void_before = standing.next);
	}

	fn finish_run(run: RunId) {
		FinishedRuns::<T>::insert(run, ());
	}
}
