//! Challenges: an attester is asked for a chunk of a shard that it attests, and opens it in time or loses a part of its stake.
//!
//! The challenger names the chunk. Whoever holds a shard has all of its chunks, and one that has lost some is found by who looks for those. So
//! nothing is drawn, and nothing waits for randomness.
//!
//! As long as a challenge can be answered its dataset stays: of one that leaves nothing is asked after the first half of the time that it stays.
//!
//! Challenges of one attestation are independent of each other: an accomplice who asks first for a chunk that is there protects nobody. When
//! one of them fails the attestation falls, and the others are moot.

use crate::{
	AnswerTime, Attestations, Challenge, Challenges, Config, Dataset, Datasets, Error, Event, HoldReason, Leaving, Pallet, MAX_CHALLENGES,
};
use alloc::vec::Vec;
use frame_support::{ensure, traits::Get};
use neuroshard_graph::{merkle::Hash, tiles::LEAF_BYTES};
use neuroshard_types::{
	dataset::{ChunkOpening, ChunkPlace},
	offence::Offence,
	traits::{Providers, SlashTo},
	AccountId, DatasetId, H256,
};
use sp_runtime::DispatchResult;

/// Returns whether `opening` opens the chunk at `place`. Counts and lengths of proofs come from the manifest.
pub(crate) fn opens(dataset: &Dataset, place: ChunkPlace, opening: &ChunkOpening) -> bool {
	let corpus = dataset.manifest.corpus();
	let Ok(leaf) = <&[u8; LEAF_BYTES]>::try_from(opening.data.as_slice()) else { return false };
	let hashes = |proof: &[H256]| proof.iter().map(|hash| hash.0).collect::<Vec<Hash>>();
	corpus.holds(place.shard, place.chunk, leaf, &hashes(&opening.in_shard), &hashes(&opening.in_dataset))
}

/// Why an answer is not even looked at. Transactions with such an answer are invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
	/// There is no such challenge of the sender.
	NoChallenge,
	/// The time for the answer is over.
	TooLate,
	/// It is not the chunk that is asked for.
	WrongOpening,
}

impl Refusal {
	/// The code of [`sp_runtime::transaction_validity::InvalidTransaction::Custom`] that nodes answer with.
	pub fn code(self) -> u8 {
		match self {
			Self::NoChallenge => 110,
			Self::TooLate => 111,
			Self::WrongOpening => 112,
		}
	}
}

impl<T> From<Refusal> for Error<T> {
	fn from(refusal: Refusal) -> Self {
		match refusal {
			Refusal::NoChallenge => Self::NoChallenge,
			Refusal::TooLate => Self::TooLate,
			Refusal::WrongOpening => Self::WrongOpening,
		}
	}
}

impl<T: Config> Pallet<T> {
	pub(crate) fn do_challenge(challenger: AccountId, id: DatasetId, who: AccountId, place: ChunkPlace) -> DispatchResult {
		let dataset = Datasets::<T>::get(id).ok_or(Error::<T>::UnknownDataset)?;
		ensure!(challenger != who, Error::<T>::OwnAttestation);
		let mut attestation = Attestations::<T>::get(id, &who).ok_or(Error::<T>::NotAttested)?;
		ensure!(attestation.shards.contains(place.shard) && Self::now() < attestation.expires_at, Error::<T>::NotAttested);
		ensure!(place.chunk < dataset.manifest.chunks_per_shard(), Error::<T>::NoSuchChunk);
		let answer_time = AnswerTime::<T>::get();
		let leaves = Leaving::<T>::get(id).is_some_and(|since| since.saturating_add(answer_time) <= Self::now());
		ensure!(!leaves, Error::<T>::DatasetLeaves);
		let key = (id, who);
		ensure!(!Challenges::<T>::contains_key(&key, &challenger), Error::<T>::AlreadyChallenged);
		ensure!(attestation.challenges < MAX_CHALLENGES, Error::<T>::TooManyChallenges);
		let bond = T::ChallengeBond::get();
		Self::hold(HoldReason::Challenge, &challenger, bond)?;
		let deadline = Self::now().saturating_add(answer_time);
		Challenges::<T>::insert(&key, &challenger, Challenge { place, bond, deadline });
		attestation.challenges = attestation.challenges.saturating_add(1);
		Attestations::<T>::insert(id, &key.1, attestation);
		Self::deposit_event(Event::Challenged { id, who: key.1, challenger, place, deadline });
		Ok(())
	}

	/// The open challenge that `opening` answers, if `who` is asked for that chunk.
	///
	/// # Errors
	/// Whatever else it is: only answers that end a challenge get into the part of blocks that is kept for them.
	pub fn admit(who: &AccountId, id: DatasetId, challenger: &AccountId, opening: &ChunkOpening) -> Result<Challenge, Refusal> {
		let challenge = Challenges::<T>::get((id, who), challenger).ok_or(Refusal::NoChallenge)?;
		ensure!(Self::now() <= challenge.deadline, Refusal::TooLate);
		let dataset = Datasets::<T>::get(id).ok_or(Refusal::NoChallenge)?;
		ensure!(opens(&dataset, challenge.place, opening), Refusal::WrongOpening);
		Ok(challenge)
	}

	pub(crate) fn do_answer(who: &AccountId, id: DatasetId, challenger: &AccountId, opening: &ChunkOpening) -> DispatchResult {
		let challenge = Self::admit(who, id, challenger, opening).map_err(Error::<T>::from)?;
		Challenges::<T>::remove((id, who), challenger);
		Attestations::<T>::mutate_exists(id, who, |entry| {
			if let Some(attestation) = entry {
				attestation.challenges = attestation.challenges.saturating_sub(1);
			}
		});
		let (rewarded, burned) = Self::forfeit(HoldReason::Challenge, challenger, challenge.bond, Some(who));
		Self::deposit_event(Event::Answered { id, who: who.clone(), challenger: challenger.clone(), rewarded, burned });
		Ok(())
	}

	pub(crate) fn do_conclude(id: DatasetId, who: &AccountId, challenger: &AccountId) -> DispatchResult {
		let key = (id, who);
		let challenge = Challenges::<T>::get(key, challenger).ok_or(Error::<T>::NoChallenge)?;
		ensure!(Self::now() > challenge.deadline, Error::<T>::StillTime);
		let attestation = Attestations::<T>::get(id, who).ok_or(Error::<T>::NotAttested)?;
		Challenges::<T>::remove(key, challenger);
		Self::release_hold(HoldReason::Challenge, challenger, challenge.bond);
		let penalty = T::FailurePenalty::get().min(T::Providers::slashable(who));
		let rewarded = T::Providers::slash(who, penalty / 2, SlashTo::Account(challenger));
		let burned = T::Providers::slash(who, penalty.saturating_sub(rewarded), SlashTo::Burn);
		Self::deposit_event(Event::Failed { id, who: who.clone(), challenger: challenger.clone(), rewarded, burned });
		Self::end_moot(id, who);
		Self::end_attestation(id, who.clone(), &attestation);
		T::Providers::punish(who, Offence::InvalidProof);
		Ok(())
	}

	/// Ends the open challenges of an attestation that ends, and gives the bonds back: at most [`MAX_CHALLENGES`].
	fn end_moot(id: DatasetId, who: &AccountId) {
		for (challenger, challenge) in Challenges::<T>::drain_prefix((id, who)) {
			Self::release_hold(HoldReason::Challenge, &challenger, challenge.bond);
			Self::deposit_event(Event::Moot { id, who: who.clone(), challenger });
		}
	}
}
