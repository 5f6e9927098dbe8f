//! Checks that a proof must pass. The cheapest ones come first, the signature last.

use crate::{Activities, Activity, Config, Error, FinishedRuns, LastProven, Pallet, Pending};
use frame_support::{ensure, traits::Get};
use neuroshard_types::{
	proof::{Proof, ProofKey, ProofSignature, WorkClaim, FRESHNESS_MS},
	traits::{Clock, Providers},
	AccountId,
};
use sp_core::ecdsa;
use sp_runtime::traits::Zero;

/// Milliseconds in a second times GFLOP: what `gflops * elapsed_ms` is multiplied by to get operations.
const OPERATIONS_PER_GFLOPS_MS: u128 = 1_000_000;

impl<T: Config> Pallet<T> {
	/// The proof's timestamp is within five minutes of chain time.
	pub(crate) fn check_fresh(proof: &Proof) -> Result<(), Error<T>> {
		let now = T::Clock::now();
		ensure!(proof.timestamp.saturating_add(FRESHNESS_MS) >= now, Error::<T>::TooOld);
		ensure!(proof.timestamp <= now.saturating_add(FRESHNESS_MS), Error::<T>::FromTheFuture);
		Ok(())
	}

	/// The training key is neither pending nor used up.
	pub(crate) fn check_unused(who: &AccountId, key: &ProofKey) -> Result<(), Error<T>> {
		ensure!(!FinishedRuns::<T>::contains_key(key.run), Error::<T>::RunFinished);
		ensure!(LastProven::<T>::get(key.run, who).is_none_or(|last| last < key.round), Error::<T>::AlreadyProven);
		ensure!(!Pending::<T>::contains_key(who, key), Error::<T>::AlreadyPending);
		Ok(())
	}

	/// The account's rate allows one more proof now; returns its activity with that proof counted.
	pub(crate) fn check_rate(who: &AccountId) -> Result<Activity, Error<T>> {
		let mut activity = Activities::<T>::get(who).unwrap_or_default();
		activity.note(T::Clock::now()).map_err(|_| Error::<T>::RateExceeded)?;
		Ok(activity)
	}

	/// The registered hardware, `Slack` times over, can have done the work in the elapsed time.
	pub(crate) fn check_plausible(who: &AccountId, claim: &WorkClaim) -> Result<(), Error<T>> {
		let hardware = T::Providers::hardware(who).ok_or(Error::<T>::NotRegistered)?;
		// Saturates only above every claim that a u128 can hold.
		let possible = u128::from(hardware.gflops)
			.saturating_mul(OPERATIONS_PER_GFLOPS_MS)
			.saturating_mul(claim.elapsed_ms.into())
			.saturating_mul(T::Slack::get().into());
		ensure!(claim.flops <= possible, Error::<T>::Implausible);
		Ok(())
	}

	/// The registered key signed this proof for this account on this chain.
	pub(crate) fn check_signature(who: &AccountId, proof: &Proof, signature: &ProofSignature) -> Result<(), Error<T>> {
		let key = T::Providers::ponw_key(who).ok_or(Error::<T>::NotRegistered)?;
		let genesis = frame_system::Pallet::<T>::block_hash(frame_system::pallet_prelude::BlockNumberFor::<T>::zero());
		// The host function hashes with Blake2-256 before it verifies.
		let (signature, key) = (ecdsa::Signature::from_raw(*signature), ecdsa::Public::from_raw(key));
		ensure!(sp_io::crypto::ecdsa_verify(&signature, &proof.message(genesis, who), &key), Error::<T>::BadSignature);
		Ok(())
	}
}
