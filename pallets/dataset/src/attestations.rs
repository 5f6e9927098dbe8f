//! Attestations of availability: a provider says that it holds shards and opens any chunk of them to whoever asks.
//!
//! While it says so, nothing of its stake can be withdrawn: the stake answers for it, and reaches to lose what a missed challenge costs for each
//! attestation of the account. An attestation has one range of shards, costs a deposit, and counts until it expires; it is renewed by attesting
//! again. It leaves the storage when it is withdrawn, or falls by a challenge.
//!
//! Nobody takes back at once what it attests: a withdrawal only brings the expiry nearer, to the time for an answer from now, and a range can only
//! be widened. So a challenge that somebody sees on its way to a block is still asked in time.

use crate::{
	AnswerTime, Attestation, AttestationPeriod, Attestations, AttestedBy, Attesters, Config, Datasets, Error, Event, HoldReason, Pallet,
	MAX_ATTESTATIONS,
};
use frame_support::{ensure, traits::Get};
use neuroshard_types::{dataset::ShardRange, provider::Role, traits::Providers, AccountId, Balance, DatasetId};
use sp_runtime::{ArithmeticError, DispatchError, DispatchResult};

impl<T: Config> Pallet<T> {
	/// Returns whether `who` is an active provider, in whatever role.
	pub(crate) fn is_active_provider(who: &AccountId) -> bool {
		Role::ALL.into_iter().any(|role| T::Providers::is_active(who, role))
	}

	pub(crate) fn do_attest(who: AccountId, id: DatasetId, shards: ShardRange) -> DispatchResult {
		let dataset = Datasets::<T>::get(id).ok_or(Error::<T>::UnknownDataset)?;
		ensure!(shards.is_within(dataset.manifest.shape.shard_count), Error::<T>::InvalidShards);
		ensure!(Self::is_active_provider(&who), Error::<T>::NotProvider);
		let (deposit, challenges) = match Attestations::<T>::get(id, &who) {
			Some(known) => {
				if !shards.covers(&known.shards) {
					ensure!(known.expires_at <= Self::now(), Error::<T>::Narrower);
					// What was asked for must stay what was attested.
					ensure!(known.challenges == 0, Error::<T>::OpenChallenges);
				}
				(known.deposit, known.challenges)
			}
			None => (Self::open_attestation(&who, id)?, 0),
		};
		Self::ensure_backed(&who)?;
		let expires_at = Self::now().saturating_add(AttestationPeriod::<T>::get());
		Attestations::<T>::insert(id, &who, Attestation { shards, deposit, expires_at, challenges });
		Self::deposit_event(Event::Attested { id, who, shards, expires_at });
		Ok(())
	}

	/// Makes room for a new attestation. Returns the deposit that is held for it.
	fn open_attestation(who: &AccountId, id: DatasetId) -> Result<Balance, DispatchError> {
		let count = Attesters::<T>::get(id);
		ensure!(count < MAX_ATTESTATIONS, Error::<T>::TooManyAttestations);
		let deposit = T::AttestationDeposit::get();
		Self::hold(HoldReason::Attestation, who, deposit)?;
		T::Providers::open_claim(who)?;
		Attesters::<T>::insert(id, count.saturating_add(1));
		AttestedBy::<T>::try_mutate(who, |datasets| datasets.try_push(id)).map_err(|_| Error::<T>::TooManyAttested)?;
		Ok(deposit)
	}

	/// Refuses what `who` attests altogether if its stake does not reach to lose the penalty for each of its attestations.
	fn ensure_backed(who: &AccountId) -> DispatchResult {
		let attested = Balance::try_from(AttestedBy::<T>::get(who).len()).map_err(|_| ArithmeticError::Overflow)?;
		let needed = T::FailurePenalty::get().checked_mul(attested).ok_or(ArithmeticError::Overflow)?;
		ensure!(T::Providers::slashable(who) >= needed, Error::<T>::StakeTooSmall);
		Ok(())
	}

	pub(crate) fn do_withdraw(caller: &AccountId, id: DatasetId, who: AccountId) -> DispatchResult {
		let mut attestation = Attestations::<T>::get(id, &who).ok_or(Error::<T>::NotAttested)?;
		if attestation.expires_at <= Self::now() || !Datasets::<T>::contains_key(id) {
			ensure!(attestation.challenges == 0, Error::<T>::OpenChallenges);
			Self::end_attestation(id, who, &attestation);
			return Ok(());
		}
		ensure!(*caller == who, Error::<T>::NotAttester);
		let expires_at = Self::now().saturating_add(AnswerTime::<T>::get());
		ensure!(expires_at < attestation.expires_at, Error::<T>::StillAttested);
		attestation.expires_at = expires_at;
		Attestations::<T>::insert(id, &who, attestation);
		Self::deposit_event(Event::AttestationEnding { id, who, expires_at });
		Ok(())
	}

	/// Ends an attestation without open challenges: its deposit goes back, and it does not keep the stake any more.
	pub(crate) fn end_attestation(id: DatasetId, who: AccountId, attestation: &Attestation) {
		Attestations::<T>::remove(id, &who);
		AttestedBy::<T>::mutate_exists(&who, |entry| {
			if let Some(datasets) = entry {
				datasets.retain(|attested| *attested != id);
				if datasets.is_empty() {
					*entry = None;
				}
			}
		});
		Attesters::<T>::mutate_exists(id, |count| *count = count.and_then(|count| count.checked_sub(1)).filter(|rest| *rest > 0));
		Self::release_hold(HoldReason::Attestation, &who, attestation.deposit);
		T::Providers::close_claim(&who);
		Self::deposit_event(Event::AttestationEnded { id, who });
	}
}
