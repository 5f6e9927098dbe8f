//! A dataset of random tokens with all its proofs.

use super::Lcg;
use neuroshard_compute::recorder::{Chunk, Library};
use neuroshard_graph::{
	corpus::{Corpus, TokenWidth, Window, MASK},
	merkle::{merkle_root, prove, Hash},
	tiles::{leaf_hash, LEAF_BYTES},
};

/// Shards of tokens.
pub struct Text {
	pub shards: Vec<Vec<u32>>,
	pub width: TokenWidth,
}

impl Text {
	pub fn random(shards: usize, tokens_per_shard: usize, vocab: u32, seed: u64) -> Self {
		let mut random = Lcg(seed);
		let mut shard = || (0..tokens_per_shard).map(|_| random.next() % vocab).collect();
		Self { shards: (0..shards).map(|_| shard()).collect(), width: TokenWidth::of(vocab, false) }
	}

	/// The same text with a mask: about half of its tokens are targets, and none of the first sixteenth of each shard.
	pub fn masked(self, seed: u64) -> Self {
		let mut random = Lcg(seed);
		let mut masked = |shard: Vec<u32>| -> Vec<u32> {
			let first = shard.len() / 16;
			let mask = |(place, token)| if place < first || random.next().is_multiple_of(2) { token | MASK } else { token };
			shard.into_iter().enumerate().map(mask).collect()
		};
		Self { shards: self.shards.into_iter().map(&mut masked).collect(), width: TokenWidth::Four }
	}

	fn leaves(&self, shard: &[u32]) -> Vec<Box<[u8; LEAF_BYTES]>> {
		let (chunks, bytes) = (shard.chunks(self.width.chunk_tokens() as usize), self.width.bytes() as usize);
		chunks
			.map(|chunk| {
				let mut leaf = Box::new([0; LEAF_BYTES]);
				for (place, token) in leaf.chunks_exact_mut(bytes).zip(chunk) {
					place.copy_from_slice(&self.width.write(*token)[..bytes]);
				}
				leaf
			})
			.collect()
	}

	fn hashes(&self, shard: &[u32]) -> Vec<Hash> {
		self.leaves(shard).iter().map(|leaf| leaf_hash(&**leaf)).collect()
	}

	fn roots(&self) -> Vec<Hash> {
		self.shards.iter().map(|shard| merkle_root(&self.hashes(shard))).collect()
	}

	pub fn corpus(&self) -> Corpus {
		Corpus {
			root: merkle_root(&self.roots()),
			shards: self.shards.len() as u32,
			tokens_per_shard: self.shards[0].len() as u32,
			width: self.width,
		}
	}

	/// The tokens of a window with the one that follows it.
	pub fn read(&self, window: Window, seq_len: u32) -> &[u32] {
		&self.shards[window.shard as usize][window.start as usize..][..seq_len as usize + 1]
	}
}

impl Library for Text {
	fn chunk(&self, shard: u32, chunk: u32) -> Option<Chunk> {
		let tokens = self.shards.get(shard as usize)?;
		let leaf = self.leaves(tokens).into_iter().nth(chunk as usize)?;
		Some(Chunk { leaf, in_shard: prove(&self.hashes(tokens), chunk)?, in_corpus: prove(&self.roots(), shard)? })
	}
}
