//! A dataset whose trees are built by hand, and `verify_chunk` against it.

use super::*;
use crate::mock::{build_and_execute, ALICE};
use neuroshard_types::{
	dataset::{ChunkOpening, ChunkPlace},
	H256,
};
use sp_io::hashing::blake2_256;

fn node(left: H256, right: H256) -> H256 {
	H256(blake2_256(&[left.0, right.0].concat()))
}

/// Leaf rule: the hash over the hashes of four quarters.
fn leaf(chunk: &[u8]) -> H256 {
	H256(blake2_256(&chunk.chunks(1_024).flat_map(blake2_256).collect::<Vec<_>>()))
}

/// Chunk `chunk` of shard `shard`.
fn data(shard: u8, chunk: u8) -> Vec<u8> {
	(0..4_096u16).map(|byte| byte.to_le_bytes()[0] ^ shard.wrapping_mul(16) ^ chunk).collect()
}

/// Three chunks: the first two are paired, the third moves up.
fn shard_root(shard: u8) -> H256 {
	let [a, b, c] = [0, 1, 2].map(|chunk| leaf(&data(shard, chunk)));
	node(node(a, b), c)
}

/// Root over 5 shards: the first four are paired twice, the fifth moves up to the top.
pub(super) fn root_of_all() -> H256 {
	let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(shard_root);
	node(node(node(a, b), node(c, d)), e)
}

/// [`ALICE`] proposes a dataset with that root.
pub(super) fn propose_real() {
	let mut manifest = manifest();
	manifest.root = root_of_all();
	assert_ok!(Dataset::propose(signed(ALICE), manifest));
}

/// A chunk of that dataset.
pub(super) const PLACE: ChunkPlace = ChunkPlace { shard: 2, chunk: 0 };

/// Opens a chunk of that dataset.
pub(super) fn opening_of(ChunkPlace { shard, chunk }: ChunkPlace) -> ChunkOpening {
	let [shard, chunk] = [shard, chunk].map(|number| u8::try_from(number).expect("few shards and chunks"));
	let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(shard_root);
	let in_dataset = match shard {
		0 => vec![b, node(c, d), e],
		1 => vec![a, node(c, d), e],
		2 => vec![d, node(a, b), e],
		3 => vec![c, node(a, b), e],
		_ => vec![node(node(a, b), node(c, d))],
	};
	let [first, second, third] = [0, 1, 2].map(|chunk| leaf(&data(shard, chunk)));
	let in_shard = match chunk {
		0 => vec![second, third],
		1 => vec![first, third],
		_ => vec![node(first, second)],
	};
	ChunkOpening {
		data: data(shard, chunk).try_into().expect("4 KiB"),
		in_shard: in_shard.try_into().expect("two hashes"),
		in_dataset: in_dataset.try_into().expect("three hashes"),
	}
}

/// Proof of shard 2.
fn shard_2() -> Vec<H256> {
	vec![shard_root(3), node(shard_root(0), shard_root(1)), shard_root(4)]
}

/// Proof of chunk 0 of shard 2.
fn chunk_0() -> Vec<H256> {
	vec![leaf(&data(2, 1)), leaf(&data(2, 2))]
}

/// Returns whether chunk 0 of shard 2 is proven by these.
fn verify(shard: u32, shard_proof: Vec<H256>, chunk: u32, data: Vec<u8>, chunk_proof: Vec<H256>) -> bool {
	Pallet::<Test>::verify_chunk(0, shard, shard_root(2), shard_proof, chunk, data, chunk_proof)
}

#[test]
fn a_chunk_with_both_proofs_is_accepted() {
	build_and_execute(|| {
		propose_real();
		assert!(verify(2, shard_2(), 0, data(2, 0), chunk_0()));
	});
}

#[test]
fn a_last_leaf_has_a_shorter_proof() {
	build_and_execute(|| {
		propose_real();
		let shard_4 = vec![node(node(shard_root(0), shard_root(1)), node(shard_root(2), shard_root(3)))];
		let chunk_2 = vec![node(leaf(&data(4, 0)), leaf(&data(4, 1)))];
		assert!(Pallet::<Test>::verify_chunk(0, 4, shard_root(4), shard_4, 2, data(4, 2), chunk_2));
	});
}

#[test]
fn wrong_data_is_refused() {
	build_and_execute(|| {
		propose_real();
		let mut flipped = data(2, 0);
		flipped[4_095] ^= 1;
		assert!(!verify(2, shard_2(), 0, flipped, chunk_0()));
		assert!(!verify(2, shard_2(), 0, data(2, 0)[..4_095].to_vec(), chunk_0()));
		assert!(!verify(2, shard_2(), 0, [data(2, 0), vec![0]].concat(), chunk_0()));
		assert!(!verify(2, shard_2(), 0, vec![], chunk_0()));
	});
}

#[test]
fn a_wrong_place_is_refused() {
	build_and_execute(|| {
		propose_real();
		for shard in [0, 1, 3, 4, 5, u32::MAX] {
			assert!(!verify(shard, shard_2(), 0, data(2, 0), chunk_0()), "shard {shard}");
		}
		for chunk in [1, 2, 3, u32::MAX] {
			assert!(!verify(2, shard_2(), chunk, data(2, 0), chunk_0()), "chunk {chunk}");
		}
	});
}

#[test]
fn wrong_proofs_are_refused() {
	build_and_execute(|| {
		propose_real();
		let reversed = |proof: Vec<H256>| proof.into_iter().rev().collect::<Vec<_>>();
		assert!(!verify(2, reversed(shard_2()), 0, data(2, 0), chunk_0()));
		assert!(!verify(2, shard_2(), 0, data(2, 0), reversed(chunk_0())));
		assert!(!verify(2, vec![], 0, data(2, 0), chunk_0()));
		assert!(!verify(2, [shard_2(), vec![H256::zero()]].concat(), 0, data(2, 0), chunk_0()));
		assert!(!verify(2, shard_2(), 0, data(2, 0), vec![H256::zero(); 100]));
		let other_root = shard_root(1);
		assert!(!Pallet::<Test>::verify_chunk(0, 2, other_root, shard_2(), 0, data(2, 0), chunk_0()));
	});
}

#[test]
fn an_unknown_dataset_has_no_chunks() {
	build_and_execute(|| assert!(!verify(2, shard_2(), 0, data(2, 0), chunk_0())));
}
