//! A dataset of random tokens with all its proofs.

use super::Lcg;
use neuroshard_compute::recorder::{Chunk, Library};
use neuroshard_graph::{
	corpus::{Corpus, Window, CHUNK_TOKENS},
	merkle::{merkle_root, prove, Hash},
	tiles::{leaf_hash, LEAF_BYTES},
};

/// Shards of tokens.
pub struct Text {
	pub shards: Vec<Vec<u16>>,
}

impl Text {
	pub fn random(shards: usize, tokens_per_shard: usize, vocab: u32, seed: u64) -> Self {
		let mut random = Lcg(seed);
		let mut shard = || (0..tokens_per_shard).map(|_| (random.next() % vocab) as u16).collect();
		Self { shards: (0..shards).map(|_| shard()).collect() }
	}

	fn leaves(shard: &[u16]) -> Vec<Box<[u8; LEAF_BYTES]>> {
		let chunks = shard.chunks(CHUNK_TOKENS as usize);
		chunks
			.map(|chunk| {
				let mut leaf = Box::new([0; LEAF_BYTES]);
				for (bytes, token) in leaf.chunks_exact_mut(2).zip(chunk) {
					bytes.copy_from_slice(&token.to_le_bytes());
				}
				leaf
			})
			.collect()
	}

	fn hashes(shard: &[u16]) -> Vec<Hash> {
		Self::leaves(shard).iter().map(|leaf| leaf_hash(&**leaf)).collect()
	}

	fn roots(&self) -> Vec<Hash> {
		self.shards.iter().map(|shard| merkle_root(&Self::hashes(shard))).collect()
	}

	pub fn corpus(&self) -> Corpus {
		Corpus { root: merkle_root(&self.roots()), shards: self.shards.len() as u32, tokens_per_shard: self.shards[0].len() as u32 }
	}

	/// The tokens of a window with the one that follows it.
	pub fn read(&self, window: Window, seq_len: u32) -> &[u16] {
		&self.shards[window.shard as usize][window.start as usize..][..seq_len as usize + 1]
	}
}

impl Library for Text {
	fn chunk(&self, shard: u32, chunk: u32) -> Option<Chunk> {
		let tokens = self.shards.get(shard as usize)?;
		let leaf = Self::leaves(tokens).into_iter().nth(chunk as usize)?;
		Some(Chunk { leaf, in_shard: prove(&Self::hashes(tokens), chunk)?, in_corpus: prove(&self.roots(), shard)? })
	}
}
