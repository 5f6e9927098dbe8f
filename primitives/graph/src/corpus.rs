//! A dataset as a witness opens it: shards of tokens in chunks of 4 KiB, under one Merkle root.

use crate::{
	merkle::{root_of, Hash},
	tiles::{leaf_hash, LEAF_BYTES},
};

/// Tokens of a full chunk; a token is 16 bits, little-endian.
pub const CHUNK_TOKENS: u32 = 2_048;

/// What stands in for `token` in a model whose vocabulary has `vocab` identifiers: the last of them for all that it does not have. A shard is
/// what its root commits to, whatever the dataset's manifest says of it; so every token has a meaning, the same for who trains and who judges.
#[inline]
pub fn known(token: u16, vocab: u32) -> u16 {
	u16::try_from(vocab.saturating_sub(1)).map_or(token, |last| token.min(last))
}

/// A run of `seq_len + 1` tokens inside one shard: inputs and next-token targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
	/// Shard, counted from 0.
	pub shard: u32,
	/// First token within the shard.
	pub start: u32,
}

/// The commitment to a dataset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Corpus {
	/// Merkle root over the shard roots, each of which is one over the shard's chunks.
	pub root: Hash,
	/// Shards.
	pub shards: u32,
	/// Tokens of every shard.
	pub tokens_per_shard: u32,
}

impl Corpus {
	/// Chunks of a shard.
	pub const fn chunks(&self) -> u32 {
		self.tokens_per_shard.div_ceil(CHUNK_TOKENS)
	}

	/// Whether `leaf` is chunk `chunk` of shard `shard`.
	pub fn holds(&self, shard: u32, chunk: u32, leaf: &[u8; LEAF_BYTES], in_shard: &[Hash], in_corpus: &[Hash]) -> bool {
		let shard_root = root_of(in_shard, self.chunks(), chunk, leaf_hash(leaf));
		shard_root.and_then(|root| root_of(in_corpus, self.shards, shard, root)) == Some(self.root)
	}
}
