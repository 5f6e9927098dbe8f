//! A dataset of 4 shards of 2 chunks, whose text is one byte only.

use neuroshard_graph::{merkle::uniform_root, tiles::leaf_hash};
use neuroshard_types::{
	dataset::{ChunkOpening, DatasetShape, Manifest, Tokenizer},
	H256,
};

/// A chunk of the text.
fn chunk(text: u8) -> [u8; 4_096] {
	[text; 4_096]
}

/// Root of a shard.
fn shard(text: u8) -> [u8; 32] {
	uniform_root(leaf_hash(&chunk(text)), 2)
}

/// Its manifest, with the byte for its name too: bytes above 1 make tokens beyond the vocabulary.
pub fn manifest(text: u8) -> Manifest {
	Manifest {
		name: vec![text; 4].try_into().expect("a short name"),
		licence: b"Apache-2.0".to_vec().try_into().expect("a short licence"),
		source: b"here".to_vec().try_into().expect("a short source"),
		tokenizer: Tokenizer::BYTES,
		vocab: 288,
		masked: false,
		shape: DatasetShape { tokens_per_shard: 4_096, shard_count: 4, held_out: 1 },
		root: H256(uniform_root(shard(text), 4)),
		bytes: 16_384,
	}
}

/// Opens any of its chunks.
pub fn opening(text: u8) -> ChunkOpening {
	ChunkOpening {
		data: chunk(text).to_vec().try_into().expect("4 KiB"),
		in_shard: vec![H256(leaf_hash(&chunk(text)))].try_into().expect("one hash"),
		in_dataset: vec![H256(shard(text)), H256(uniform_root(shard(text), 2))].try_into().expect("two hashes"),
	}
}
