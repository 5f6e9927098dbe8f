//! Attestations of datasets: what an attester is asked for, and the calls that attest, ask, answer and end.

use crate::{
	call::{Call, Signature},
	client::ChainAt,
	error::ChainError,
	query::View,
};
use neuroshard_types::{
	dataset::{AttestationTerms, ChunkOpening, ChunkPlace, HoldingView, ShardRange},
	AccountId, DatasetId,
};
use subxt::metadata::Metadata;

const PALLET: &str = "Dataset";
const ATTEST: Signature<(DatasetId, ShardRange)> = Signature::new(PALLET, "attest");
const WITHDRAW: Signature<(DatasetId, AccountId)> = Signature::new(PALLET, "withdraw_attestation");
const CHALLENGE: Signature<(DatasetId, AccountId, ChunkPlace)> = Signature::new(PALLET, "challenge_shard");
const ANSWER: Signature<(DatasetId, AccountId, ChunkOpening)> = Signature::new(PALLET, "answer_challenge");
const CONCLUDE: Signature<(DatasetId, AccountId, AccountId)> = Signature::new(PALLET, "conclude_challenge");

const HOLDERS: View<(DatasetId, u32), Vec<AccountId>> = View::new(PALLET, "holders");
const ATTESTATIONS_OF: View<(AccountId,), Vec<HoldingView>> = View::new(PALLET, "attestations_of");
const TERMS: View<(), AttestationTerms> = View::new(PALLET, "attestation_terms");

/// Checks that the chain has these calls and view functions with the same types.
///
/// # Errors
/// The first one that is missing or differs.
pub(super) fn check(metadata: &Metadata) -> Result<(), ChainError> {
	ATTEST.check(metadata)?;
	WITHDRAW.check(metadata)?;
	CHALLENGE.check(metadata)?;
	ANSWER.check(metadata)?;
	CONCLUDE.check(metadata)?;
	HOLDERS.check(metadata)?;
	ATTESTATIONS_OF.check(metadata)?;
	TERMS.check(metadata)
}

/// Says that the caller holds these shards, or says it again.
pub fn attest(id: DatasetId, shards: ShardRange) -> Call {
	ATTEST.with((id, shards))
}

/// Has the attestation of the caller, `who`, expire after the time for an answer; takes one that has expired, or whose dataset is gone, off the
/// chain.
pub fn withdraw(id: DatasetId, who: AccountId) -> Call {
	WITHDRAW.with((id, who))
}

/// Asks `who` for a chunk of what it attests, for a bond.
pub fn challenge(id: DatasetId, who: AccountId, place: ChunkPlace) -> Call {
	CHALLENGE.with((id, who, place))
}

/// Opens the chunk that `challenger` asks for.
pub fn answer(id: DatasetId, challenger: AccountId, opening: ChunkOpening) -> Call {
	ANSWER.with((id, challenger, opening))
}

/// Ends a challenge of what `who` attests that was not answered in time, and with it the attestation.
pub fn conclude(id: DatasetId, who: AccountId, challenger: AccountId) -> Call {
	CONCLUDE.with((id, who, challenger))
}

impl ChainAt {
	/// Active providers that attest a shard of a dataset.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn holders(&self, id: DatasetId, shard: u32) -> Result<Vec<AccountId>, ChainError> {
		self.view(&HOLDERS, (id, shard)).await
	}

	/// All that `who` attests, expired or not, and what it is asked for, the most urgent first.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn attestations_of(&self, who: &AccountId) -> Result<Vec<HoldingView>, ChainError> {
		self.view(&ATTESTATIONS_OF, (who.clone(),)).await
	}

	/// Returns the rules that hold for all attestations.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn attestation_terms(&self) -> Result<AttestationTerms, ChainError> {
		self.view(&TERMS, ()).await
	}
}
