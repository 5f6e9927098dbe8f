//! Genesis dataset manifests.
//!
//! A shard is `tokens_per_shard` tokens, u16 little-endian, cut into chunks of 4 KiB (2,048 tokens, the last one
//! zero-padded). A shard root is the Merkle root over its chunks (`graph`'s leaf rule), the dataset root the Merkle root
//! over the shard roots in order. The last `held_out` shards are never assigned for training.

use crate::{AccountId, Balance, H256};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;
use sp_core::{bounded::BoundedVec, ConstU32};

/// Bytes of a token chunk: one Merkle leaf.
pub const CHUNK_BYTES: u32 = 4096;
/// Tokens of a full chunk.
pub const TOKENS_PER_CHUNK: u32 = neuroshard_graph::corpus::CHUNK_TOKENS;
/// Most shards of one dataset.
pub const MAX_SHARDS: u32 = 65_536;
/// Most tokens of one shard.
pub const MAX_TOKENS_PER_SHARD: u32 = 1 << 26;

/// What a dataset is, as its proposer states it and anybody can check.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Manifest {
	/// Name, UTF-8.
	pub name: BoundedVec<u8, ConstU32<64>>,
	/// SPDX licence expression, UTF-8.
	pub licence: BoundedVec<u8, ConstU32<64>>,
	/// Where the text comes from, UTF-8.
	pub source: BoundedVec<u8, ConstU32<256>>,
	/// Blake2-256 of the tokenizer file.
	pub tokenizer_hash: H256,
	/// Tokens are below this.
	pub vocab: u32,
	/// Shape that fixes windows and chunks.
	pub shape: DatasetShape,
	/// Merkle root over the shard roots.
	pub root: H256,
	/// Bytes of source text.
	pub bytes: u64,
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

/// Life of a dataset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum DatasetStatus {
	/// Proposed; not yet usable. Left by `activate` or `retire`.
	Proposed,
	/// Usable by new runs. Left by `retire`.
	Active,
	/// No new runs. The deposit is back with the proposer once no run uses it.
	Retired,
}

/// A dataset as the view function `Dataset::dataset` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct DatasetView {
	/// Who proposed it and whose deposit is held.
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
