//! Attestations of datasets: what an attester is asked for, and the calls that attest and answer.

use super::{
	call::{Call, Signature},
	client::ChainAt,
	error::ChainError,
	query::View,
};
use neuroshard_types::{
	dataset::{AttestationTerms, AttestationView, ChallengeView, ChunkOpening, ShardRange},
	AccountId, DatasetId,
};
use subxt::metadata::Metadata;

const PALLET: &str = "Dataset";
const ATTEST: Signature<(DatasetId, ShardRange)> = Signature::new(PALLET, "attest");
const WITHDRAW: Signature<(DatasetId, AccountId)> = Signature::new(PALLET, "withdraw_attestation");
const ANSWER: Signature<(DatasetId, AccountId, ChunkOpening)> = Signature::new(PALLET, "answer_challenge");

const ATTESTATION: View<(DatasetId, AccountId), Option<AttestationView>> = View::new(PALLET, "attestation");
const CHALLENGES_OF: View<(DatasetId, AccountId), Vec<ChallengeView>> = View::new(PALLET, "challenges_of");
const TERMS: View<(), AttestationTerms> = View::new(PALLET, "attestation_terms");

/// Whether the chain has these calls and view functions with the same types.
///
/// # Errors
/// The first one that is missing or differs.
pub(super) fn check(metadata: &Metadata) -> Result<(), ChainError> {
	ATTEST.check(metadata)?;
	WITHDRAW.check(metadata)?;
	ANSWER.check(metadata)?;
	ATTESTATION.check(metadata)?;
	CHALLENGES_OF.check(metadata)?;
	TERMS.check(metadata)
}

/// Says that the caller holds these shards, or says it again.
pub fn attest(id: DatasetId, shards: ShardRange) -> Call {
	ATTEST.with((id, shards))
}

/// Ends the attestation of `who`.
pub fn withdraw(id: DatasetId, who: AccountId) -> Call {
	WITHDRAW.with((id, who))
}

/// Opens the chunk that `challenger` asks for.
pub fn answer(id: DatasetId, challenger: AccountId, opening: ChunkOpening) -> Call {
	ANSWER.with((id, challenger, opening))
}

impl ChainAt {
	/// What `who` attests of a dataset, expired or not.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn attestation(&self, id: DatasetId, who: &AccountId) -> Result<Option<AttestationView>, ChainError> {
		self.view(&ATTESTATION, (id, who.clone())).await
	}

	/// What `who` is asked for of a dataset, the most urgent first.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn challenges_of(&self, id: DatasetId, who: &AccountId) -> Result<Vec<ChallengeView>, ChainError> {
		self.view(&CHALLENGES_OF, (id, who.clone())).await
	}

	/// What holds for all attestations.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn attestation_terms(&self) -> Result<AttestationTerms, ChainError> {
		self.view(&TERMS, ()).await
	}
}
