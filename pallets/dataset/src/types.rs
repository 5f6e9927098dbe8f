//! Stored state of a dataset, and checks of manifests.

use crate::Error;
use codec::{Decode, Encode, MaxEncodedLen};
use frame_support::{traits::ConstU32, BoundedVec};
use neuroshard_types::{
	dataset::{
		AttestationView, ChunkPlace, DatasetStatus, DatasetView, Manifest, ShardRange, MAX_SHARDS, MAX_TOKENIZER_BYTES,
		MAX_TOKENS_PER_SHARD, MAX_VOCAB,
	},
	AccountId, Balance, BlockNumber,
};
use scale_info::TypeInfo;

/// Why governance retires a dataset, for people to read. UTF-8 is not checked: nothing depends on it.
pub type Reason = BoundedVec<u8, ConstU32<256>>;

/// A dataset.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Dataset {
	/// Account that proposed it and whose deposit is held.
	pub proposer: AccountId,
	/// Deposit held, in planck.
	pub deposit: Balance,
	/// The manifest.
	pub manifest: Manifest,
	/// Life.
	pub status: DatasetStatus,
	/// Runs that use it.
	pub users: u32,
}

impl Dataset {
	/// Returns whether it takes new runs, or may do so later.
	pub(crate) fn is_open(&self) -> bool {
		matches!(self.status, DatasetStatus::Proposed | DatasetStatus::Active)
	}
}

impl From<Dataset> for DatasetView {
	fn from(dataset: Dataset) -> Self {
		let Dataset { proposer, deposit, manifest, status, users } = dataset;
		Self { proposer, deposit, manifest, status, users }
	}
}

/// Attestation of a provider for a dataset.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Attestation {
	/// The shards.
	pub shards: ShardRange,
	/// Deposit held, in planck.
	pub deposit: Balance,
	/// First block in which it does not say so any more.
	pub expires_at: BlockNumber,
	/// Open challenges.
	pub challenges: u32,
}

impl From<Attestation> for AttestationView {
	fn from(Attestation { shards, expires_at, challenges, .. }: Attestation) -> Self {
		Self { shards, expires_at, challenges }
	}
}

/// An attester is asked for a chunk.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Challenge {
	/// The chunk.
	pub place: ChunkPlace,
	/// Bond held of the challenger, in planck.
	pub bond: Balance,
	/// Last block for the answer.
	pub deadline: BlockNumber,
}

/// Problem of a manifest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ManifestProblem {
	Text,
	Vocab,
	Tokenizer,
	ShardSize,
	ShardCount,
	HeldOut,
	Bytes,
}

impl<T> From<ManifestProblem> for Error<T> {
	fn from(problem: ManifestProblem) -> Self {
		match problem {
			ManifestProblem::Text => Error::InvalidText,
			ManifestProblem::Vocab => Error::InvalidVocab,
			ManifestProblem::Tokenizer => Error::InvalidTokenizer,
			ManifestProblem::ShardSize => Error::InvalidShardSize,
			ManifestProblem::ShardCount => Error::InvalidShardCount,
			ManifestProblem::HeldOut => Error::NothingToTrainOn,
			ManifestProblem::Bytes => Error::NoBytes,
		}
	}
}

/// The first thing that is wrong with `manifest`, if anything is.
pub(crate) fn manifest_problem(manifest: &Manifest) -> Option<ManifestProblem> {
	let shape = &manifest.shape;
	let is_text = |bytes: &[u8]| !bytes.is_empty() && core::str::from_utf8(bytes).is_ok();
	if !is_text(&manifest.name) || !is_text(&manifest.licence) || !is_text(&manifest.source) {
		Some(ManifestProblem::Text)
	} else if manifest.vocab == 0 || manifest.vocab > MAX_VOCAB || !manifest.vocab.is_multiple_of(32) {
		Some(ManifestProblem::Vocab)
	} else if !(1..=MAX_TOKENIZER_BYTES).contains(&manifest.tokenizer.bytes) || !manifest.tokenizer.tokens.are_within(manifest.vocab) {
		Some(ManifestProblem::Tokenizer)
	} else if !(2..=MAX_TOKENS_PER_SHARD).contains(&shape.tokens_per_shard) {
		// The smallest window is one token and its target.
		Some(ManifestProblem::ShardSize)
	} else if !(1..=MAX_SHARDS).contains(&shape.shard_count) {
		Some(ManifestProblem::ShardCount)
	} else if shape.held_out >= shape.shard_count {
		Some(ManifestProblem::HeldOut)
	} else if manifest.bytes == 0 {
		Some(ManifestProblem::Bytes)
	} else {
		None
	}
}
