//! Genesis dataset manifests.
//!
//! A shard is `tokens_per_shard` tokens, little-endian, of 2 bytes where the vocabulary has up to 65,536 of them and the dataset is not masked, and of
//! 4 bytes otherwise, cut into chunks of 4 KiB (2,048 or 1,024 tokens, the last one zero-padded). A shard root is the Merkle root over its chunks (`graph`'s leaf rule), the dataset root the Merkle root
//! over the shard roots in order. The last `held_out` shards are never assigned for training.

use crate::{AccountId, Balance, BlockNumber, DatasetId, H256};
use alloc::vec::Vec;
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_graph::corpus::{Corpus, TokenWidth};
use scale_info::TypeInfo;
use sp_core::{bounded::BoundedVec, ConstU32};

/// Bytes of a token chunk: one Merkle leaf.
pub const CHUNK_BYTES: u32 = 4096;
/// Most shards of one dataset.
pub const MAX_SHARDS: u32 = 65_536;
/// Most tokens of one shard.
pub const MAX_TOKENS_PER_SHARD: u32 = 1 << 26;
/// Most hashes of a proof in a dataset: the logarithms of [`MAX_SHARDS`], and of the chunks of the largest shard, are not above it.
pub const MAX_PROOF_HASHES: u32 = 16;

/// Largest vocabulary, and a multiple of 32.
pub const MAX_VOCAB: u32 = neuroshard_graph::MAX_TRAINED_VOCAB;
/// Most bytes of a tokenizer's file.
pub const MAX_TOKENIZER_BYTES: u32 = 64 << 20;
/// Vocabulary of the byte-level tokenizer: 256 bytes, the end of a document, 31 reserved tokens.
pub const BYTE_VOCAB: u32 = 288;

/// The tokens that texts are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct TextTokens {
	/// Texts are written with the tokens below this one. From it on, the vocabulary has rows that are nobody's.
	pub usable: u32,
	/// The token that ends a document, and an answer.
	pub end: u32,
}

impl TextTokens {
	/// Those of the byte-level tokenizer.
	pub const BYTES: Self = Self { usable: 257, end: 256 };

	/// Returns whether a vocabulary of so many tokens has them.
	pub fn are_within(&self, vocab: u32) -> bool {
		self.end < self.usable && self.usable <= vocab
	}
}

/// The tokenizer of a dataset: a Hugging Face `tokenizer.json`, as holders of the dataset offer it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Tokenizer {
	/// Merkle root over the file's chunks.
	pub root: H256,
	/// Bytes of the file.
	pub bytes: u32,
	/// What it makes texts of.
	pub tokens: TextTokens,
}

impl Tokenizer {
	/// The byte-level tokenizer, which every build of this project can write.
	pub const BYTES: Self = Self {
		root: H256([
			0x89, 0xfa, 0x05, 0x5a, 0xeb, 0xc8, 0xba, 0x1f, 0x48, 0x18, 0xbc, 0x28, 0x4e, 0x7b, 0x6a, 0x92, 0x4a, 0x3e, 0xae, 0x50, 0x27,
			0x4f, 0x78, 0x7b, 0x14, 0xfa, 0xf2, 0x2d, 0x73, 0x3f, 0xe1, 0xd4,
		]),
		bytes: 10_221,
		tokens: TextTokens::BYTES,
	};
}

/// Description of a dataset, as its proposer states it and anybody can check.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Manifest {
	/// Name, UTF-8.
	pub name: BoundedVec<u8, ConstU32<64>>,
	/// SPDX licence expression, UTF-8.
	pub licence: BoundedVec<u8, ConstU32<64>>,
	/// Origin of the text, UTF-8.
	pub source: BoundedVec<u8, ConstU32<256>>,
	/// The tokenizer.
	pub tokenizer: Tokenizer,
	/// Tokens are below this, a multiple of 32: the rows of the embedding of models that are trained on it.
	pub vocab: u32,
	/// Whether tokens say which of them are targets of the loss: those without [`MASK`](neuroshard_graph::corpus::MASK), which is not part of what
	/// they are.
	pub masked: bool,
	/// Shape that fixes windows and chunks.
	pub shape: DatasetShape,
	/// Merkle root over the shard roots.
	pub root: H256,
	/// Bytes of source text.
	pub bytes: u64,
}

impl Manifest {
	/// Returns the width of tokens in shards.
	pub fn width(&self) -> TokenWidth {
		TokenWidth::of(self.vocab, self.masked)
	}

	/// Chunks of one shard, the last one padded.
	pub fn chunks_per_shard(&self) -> u32 {
		self.width().chunks(self.shape.tokens_per_shard)
	}

	/// Returns the commitment to its shards.
	pub fn corpus(&self) -> Corpus {
		self.shape.corpus(self.root, self.width())
	}
}

/// The numbers of a dataset that fix its windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct DatasetShape {
	/// Tokens of every shard.
	pub tokens_per_shard: u32,
	/// Shards, held-out ones included.
	pub shard_count: u32,
	/// The last so many shards are held out for validation.
	pub held_out: u32,
}

impl DatasetShape {
	/// Returns the commitment to shards with this root over their roots, and tokens of this width.
	pub fn corpus(&self, root: H256, width: TokenWidth) -> Corpus {
		Corpus { root: root.0, shards: self.shard_count, tokens_per_shard: self.tokens_per_shard, width }
	}
}

/// Life of a dataset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum DatasetStatus {
	/// Proposed; not yet usable. Left by `activate`, `retire` or `condemn`.
	Proposed,
	/// Usable by new runs. Left by `retire` or `condemn`.
	Active,
	/// No new runs. The deposit is back with the proposer once no run uses it.
	Retired,
	/// No new runs: a chunk contradicts the manifest. The deposit is lost.
	Condemned,
}

/// Consecutive shards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct ShardRange {
	/// First shard, counted from 0.
	pub first: u32,
	/// Number of shards.
	pub count: u32,
}

impl ShardRange {
	/// Returns whether the range is not empty, and ends at or before shard `shards`.
	pub fn is_within(&self, shards: u32) -> bool {
		self.count > 0 && self.first.checked_add(self.count).is_some_and(|end| end <= shards)
	}

	/// Returns whether the range has all shards of `other`.
	pub fn covers(&self, other: &Self) -> bool {
		self.first <= other.first && self.end() >= other.end()
	}

	/// The first shard behind them.
	fn end(&self) -> u64 {
		u64::from(self.first).saturating_add(u64::from(self.count))
	}

	/// Returns whether the range has `shard`.
	pub fn contains(&self, shard: u32) -> bool {
		shard.checked_sub(self.first).is_some_and(|offset| offset < self.count)
	}
}

/// A chunk of a dataset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct ChunkPlace {
	/// Shard, counted from 0.
	pub shard: u32,
	/// Chunk within the shard, counted from 0.
	pub chunk: u32,
}

/// A chunk, and what leads from it to the dataset's root.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct ChunkOpening {
	/// The chunk: [`CHUNK_BYTES`] bytes.
	pub data: BoundedVec<u8, ConstU32<CHUNK_BYTES>>,
	/// Siblings from the chunk's leaf up to the shard's root.
	pub in_shard: BoundedVec<H256, ConstU32<MAX_PROOF_HASHES>>,
	/// Siblings from the shard's root up to the dataset's.
	pub in_dataset: BoundedVec<H256, ConstU32<MAX_PROOF_HASHES>>,
}

/// Attestation of a dataset by a provider, as the view function `Dataset::attestation` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct AttestationView {
	/// The shards that it says it holds.
	pub shards: ShardRange,
	/// First block in which it does not say so any more.
	pub expires_at: BlockNumber,
	/// Open challenges.
	pub challenges: u32,
}

/// Shards that are attested by equally many, as the view function `Dataset::coverage` shows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct Coverage {
	/// The shards.
	pub shards: ShardRange,
	/// Active providers that attest each of them.
	pub holders: u32,
}

/// An open challenge, as the view function `Dataset::challenges_of` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct ChallengeView {
	/// Account that asks.
	pub challenger: AccountId,
	/// The chunk that is to be opened.
	pub place: ChunkPlace,
	/// Last block for the answer.
	pub deadline: BlockNumber,
}

/// One of the attestations of an account, as the view function `Dataset::attestations_of` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct HoldingView {
	/// The dataset, which may be gone.
	pub dataset: DatasetId,
	/// The shards that the account says it holds.
	pub shards: ShardRange,
	/// First block in which it does not say so any more.
	pub expires_at: BlockNumber,
	/// Open challenges of the account, by deadline ascending.
	pub challenges: Vec<ChallengeView>,
}

/// Rules that hold for all attestations, as the view function `Dataset::attestation_terms` shows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct AttestationTerms {
	/// Deposit for an attestation, in planck.
	pub deposit: Balance,
	/// Blocks for which an attestation holds.
	pub period: BlockNumber,
	/// Bond of a challenge, in planck.
	pub bond: Balance,
	/// Blocks that an attester has for its answer.
	pub answer_time: BlockNumber,
	/// Penalty of an attester that does not answer, in planck.
	pub penalty: Balance,
}

/// A dataset as the view function `Dataset::dataset` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct DatasetView {
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

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_range_ends_before_its_first_shard_and_count_and_never_overflows() {
		let range = ShardRange { first: 2, count: 3 };
		assert_eq!((0..7).filter(|shard| range.contains(*shard)).collect::<alloc::vec::Vec<_>>(), [2, 3, 4]);
		assert!(range.is_within(5) && !range.is_within(4));
		assert!(!ShardRange { first: 0, count: 0 }.is_within(5));
		let huge = ShardRange { first: 1, count: u32::MAX };
		assert!(!huge.is_within(u32::MAX) && huge.contains(u32::MAX) && !huge.contains(0));
	}

	#[test]
	fn a_range_covers_those_that_neither_begin_before_it_nor_end_behind_it() {
		let range = |first, count| ShardRange { first, count };
		let covered = [range(2, 3), range(2, 1), range(4, 1), range(3, 2)];
		assert!(covered.iter().all(|inner| range(2, 3).covers(inner)));
		let others = [range(1, 1), range(1, 2), range(1, 9), range(4, 2), range(5, 1), range(2, u32::MAX), range(u32::MAX, u32::MAX)];
		assert!(!others.iter().any(|other| range(2, 3).covers(other)));
		assert!(range(0, u32::MAX).covers(&range(1, u32::MAX - 1)) && range(1, u32::MAX).covers(&range(9, u32::MAX - 8)));
	}

	#[test]
	fn the_longest_proofs_fit() {
		let chunks = TokenWidth::Four.chunks(MAX_TOKENS_PER_SHARD);
		let longest = |count: u32| neuroshard_graph::merkle::proof_len(count, 0);
		assert_eq!((longest(MAX_SHARDS), longest(chunks)), (Some(16), Some(16)));
	}
}
