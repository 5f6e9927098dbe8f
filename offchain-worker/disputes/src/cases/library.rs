//! Chunks of a dataset with their proofs, from shard files.

use neuroshard_compute::recorder::{Chunk, Library};
use neuroshard_data::dataset::shard_path;
use neuroshard_graph::{
	corpus::Corpus,
	merkle::{prove, Hash},
	tiles::{leaf_hashes, LEAF_BYTES},
};
use neuroshard_types::H256;
use std::{path::PathBuf, sync::Arc};

/// The shard files of a dataset. A shard is read whole for every chunk: a game asks for a handful of them.
#[derive(Clone, Debug)]
pub struct Shards {
	folder: PathBuf,
	corpus: Corpus,
	roots: Arc<[H256]>,
}

impl Shards {
	/// Those of the dataset in `folder`, with the roots of all its shards, to which `corpus` commits.
	pub fn new(folder: PathBuf, corpus: Corpus, roots: Arc<[H256]>) -> Self {
		Self { folder, corpus, roots }
	}
}

impl Library for Shards {
	fn chunk(&self, shard: u32, chunk: u32) -> Option<Chunk> {
		if chunk >= self.corpus.chunks() {
			return None;
		}
		let bytes = std::fs::read(shard_path(&self.folder, shard)).ok()?;
		let length = self.corpus.tokens_per_shard.checked_mul(self.corpus.width.bytes())?;
		let bytes = bytes.get(..usize::try_from(length).ok()?)?;
		let part = bytes.chunks(LEAF_BYTES).nth(usize::try_from(chunk).ok()?)?;
		let mut leaf = Box::new([0; LEAF_BYTES]);
		leaf[..part.len()].copy_from_slice(part);
		let roots: Vec<Hash> = self.roots.iter().map(|root| root.0).collect();
		Some(Chunk { leaf, in_shard: prove(&leaf_hashes(bytes, 1), chunk)?, in_corpus: prove(&roots, shard)? })
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_data::dataset::dataset_root;
	use neuroshard_graph::{corpus::TokenWidth, tiles::content_id};

	#[test]
	fn every_chunk_of_every_shard_is_proven_and_nothing_else_is() {
		let folder = tempfile::tempdir().unwrap();
		std::fs::create_dir(folder.path().join("shards")).unwrap();
		let shard = |number: u32| (0..5_000u32).flat_map(move |token| ((token * 7 + number) as u16).to_le_bytes()).collect::<Vec<u8>>();
		let roots: Arc<[H256]> = (0..3).map(|number| H256(content_id(&shard(number), 1))).collect();
		for number in 0..3 {
			std::fs::write(shard_path(folder.path(), number), shard(number)).unwrap();
		}
		let corpus = Corpus { root: dataset_root(&roots).0, shards: 3, tokens_per_shard: 5_000, width: TokenWidth::Two };
		let library = Shards::new(folder.path().to_path_buf(), corpus, roots);
		for (number, chunk) in (0..3).flat_map(|number| (0..3).map(move |chunk| (number, chunk))) {
			let found = library.chunk(number, chunk).unwrap();
			assert!(corpus.holds(number, chunk, &found.leaf, &found.in_shard, &found.in_corpus), "{number} {chunk}");
			assert!(!corpus.holds(number, (chunk + 1) % 3, &found.leaf, &found.in_shard, &found.in_corpus));
		}
		assert_eq!(library.chunk(0, 3), None);
		assert_eq!(library.chunk(3, 0), None);
	}
}
