//! A dataset as a witness opens it: shards of tokens in chunks of 4 KiB, under one Merkle root.

use crate::{
	merkle::{root_of, Hash},
	tiles::{leaf_hash, LEAF_BYTES},
};
use neuroshard_kernels::scalar::NO_TARGET;

/// Bytes of a chunk, which is a leaf.
const CHUNK_BYTES: u32 = 4_096;

/// Width of a token in shards, little-endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenWidth {
	/// 16 bits.
	Two,
	/// 32 bits.
	Four,
}

impl TokenWidth {
	/// Returns the width of the tokens of a vocabulary: 16 bits where all of its identifiers have room in them, and no [`MASK`] stands beside them.
	pub const fn of(vocab: u32, masked: bool) -> Self {
		if vocab <= 1 << 16 && !masked {
			Self::Two
		} else {
			Self::Four
		}
	}

	/// Bytes of a token.
	pub const fn bytes(self) -> u32 {
		match self {
			Self::Two => 2,
			Self::Four => 4,
		}
	}

	/// Tokens of a full chunk.
	pub const fn chunk_tokens(self) -> u32 {
		CHUNK_BYTES / self.bytes()
	}

	/// Chunks of so many tokens, the last one padded with zeros.
	pub const fn chunks(self, tokens: u32) -> u32 {
		tokens.div_ceil(self.chunk_tokens())
	}

	/// Reads tokens from the bytes of a shard; what is left over of a token is not read.
	pub fn read(self, bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
		let (two, four): (&[u8], &[u8]) = match self {
			Self::Two => (bytes, &[]),
			Self::Four => (&[], bytes),
		};
		let two = two.as_chunks::<2>().0.iter().map(|&token| u16::from_le_bytes(token).into());
		two.chain(four.as_chunks::<4>().0.iter().map(|&token| u32::from_le_bytes(token)))
	}

	/// Bytes of `token` as a shard has them: the first [`Self::bytes`] of these.
	pub const fn write(self, token: u32) -> [u8; 4] {
		token.to_le_bytes()
	}
}

/// Set in a token of a masked dataset that is no target of the loss. It is read like any other.
pub const MASK: u32 = 1 << 31;

/// Returns what a model with a vocabulary of `vocab` reads for `token` of a dataset.
#[inline]
pub const fn id(token: u32, vocab: u32, masked: bool) -> u32 {
	known(if masked { token & !MASK } else { token }, vocab)
}

/// Returns what `token` of a dataset is as a target of such a model: what is read for it, or [`NO_TARGET`].
#[inline]
pub const fn target(token: u32, vocab: u32, masked: bool) -> u32 {
	if masked && token & MASK != 0 {
		NO_TARGET
	} else {
		known(token, vocab)
	}
}

/// What stands in for `token` in a model whose vocabulary has `vocab` identifiers: the last of them for all that it does not have. A shard is
/// what its root commits to, whatever the dataset's manifest says of it; so every token has a meaning, the same for who trains and who judges.
#[inline]
const fn known(token: u32, vocab: u32) -> u32 {
	let last = vocab.saturating_sub(1);
	if token < last {
		token
	} else {
		last
	}
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
	/// Width of a token.
	pub width: TokenWidth,
}

impl Corpus {
	/// Chunks of a shard.
	pub const fn chunks(&self) -> u32 {
		self.width.chunks(self.tokens_per_shard)
	}

	/// Whether `leaf` is chunk `chunk` of shard `shard`.
	pub fn holds(&self, shard: u32, chunk: u32, leaf: &[u8; LEAF_BYTES], in_shard: &[Hash], in_corpus: &[Hash]) -> bool {
		let shard_root = root_of(in_shard, self.chunks(), chunk, leaf_hash(leaf));
		shard_root.and_then(|root| root_of(in_corpus, self.shards, shard, root)) == Some(self.root)
	}
}

// A chunk is a leaf.
const _: () = assert!(CHUNK_BYTES as usize == LEAF_BYTES);

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn tokens_are_as_wide_as_the_largest_of_the_vocabulary_needs() {
		let widths = [1, 288, 65_536, 65_537, 1 << 18].map(|vocab| TokenWidth::of(vocab, false));
		assert_eq!([1, 288, 1 << 18].map(|vocab| TokenWidth::of(vocab, true)), [TokenWidth::Four; 3], "the mask has a bit of its own");
		assert_eq!(widths, [TokenWidth::Two, TokenWidth::Two, TokenWidth::Two, TokenWidth::Four, TokenWidth::Four]);
		assert_eq!(widths.map(TokenWidth::chunk_tokens), [2_048, 2_048, 2_048, 1_024, 1_024]);
		assert_eq!((TokenWidth::Two.chunks(2_049), TokenWidth::Four.chunks(2_049)), (2, 3));
	}

	#[test]
	fn bytes_are_read_as_they_were_written() {
		for (width, tokens) in [(TokenWidth::Two, [0, 258, 65_535]), (TokenWidth::Four, [0, 151_935, u32::MAX])] {
			let bytes = tokens.map(|token| width.write(token)[..width.bytes() as usize].to_vec()).concat();
			assert!(width.read(&bytes).eq(tokens));
			assert!(width.read(&bytes[..bytes.len() - 1]).eq(tokens[..2].iter().copied()));
		}
		assert_eq!(TokenWidth::Two.read(&[2, 1]).collect::<alloc::vec::Vec<_>>(), [258]);
	}

	#[test]
	fn a_token_beyond_the_vocabulary_is_its_last_one() {
		assert_eq!([0, 62, 63, 64, u32::MAX].map(|token| known(token, 64)), [0, 62, 63, 63, 63]);
		assert_eq!(known(7, 0), 0);
	}

	#[test]
	fn a_masked_token_is_read_and_is_no_target() {
		for (token, read, aimed) in [(5, 5, 5), (64, 63, 63), (MASK | 5, 5, NO_TARGET), (MASK, 0, NO_TARGET), (u32::MAX, 63, NO_TARGET)] {
			assert_eq!((id(token, 64, true), target(token, 64, true)), (read, aimed), "{token:#x}");
		}
		// Without a mask the bit is one of an identifier that the vocabulary does not have.
		for token in [MASK, MASK | 5, u32::MAX] {
			assert_eq!((id(token, 64, false), target(token, 64, false)), (63, 63), "{token:#x}");
		}
	}
}
