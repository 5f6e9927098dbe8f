//! Binary Merkle trees over 32-byte leaf hashes, by the SDK's `binary-merkle-tree` with Blake2-256.
//!
//! A proof never says how many leaves there are or which one it is for: both come from the shape of what was committed.
//! Leaf hashes are hashes of 128 bytes (see [`crate::tiles`]) and inner nodes of 64, so neither passes for the other.

use alloc::vec::Vec;
use binary_merkle_tree::{merkle_proof_raw, merkle_root_raw, verify_proof, Leaf};

/// A Blake2-256 hash.
pub type Hash = [u8; 32];

/// Blake2-256 of `bytes`.
pub fn blake2_256(bytes: &[u8]) -> Hash {
	let mut hash = [0; 32];
	hash.copy_from_slice(blake2b_simd::Params::new().hash_length(32).hash(bytes).as_bytes());
	hash
}

/// Blake2-256 as the tree's hasher.
struct Blake2;

impl hash_db::Hasher for Blake2 {
	type Out = Hash;
	type StdHasher = Unkeyed;
	const LENGTH: usize = 32;

	fn hash(bytes: &[u8]) -> Hash {
		blake2_256(bytes)
	}
}

/// What `hash_db` asks of a hasher for use in hash maps; the tree has none.
#[derive(Default)]
struct Unkeyed(u64);

impl core::hash::Hasher for Unkeyed {
	fn finish(&self) -> u64 {
		self.0
	}

	fn write(&mut self, bytes: &[u8]) {
		for &byte in bytes {
			self.0 = self.0.rotate_left(8) ^ u64::from(byte);
		}
	}
}

/// Root over `leaves`: pairs are hashed, an odd last node moves up unchanged. All zeros without leaves.
pub fn merkle_root(leaves: &[Hash]) -> Hash {
	merkle_root_raw::<Blake2, _>(leaves.iter().copied())
}

/// Siblings on the way from leaf `index` to the root, lowest first; `None` if there is no such leaf.
pub fn prove(leaves: &[Hash], index: u32) -> Option<Vec<Hash>> {
	let count = u32::try_from(leaves.len()).ok()?;
	(index < count).then(|| merkle_proof_raw::<Blake2, _>(leaves.iter().copied(), index).proof)
}

/// Hashes in a proof for leaf `index` of `count`; `None` if there is no such leaf.
pub fn proof_len(count: u32, index: u32) -> Option<u32> {
	if index >= count {
		return None;
	}
	let (mut position, mut width, mut len) = (index, count, 0);
	while width > 1 {
		// The last node of an odd row moves up without a sibling.
		if position + 1 != width || position % 2 == 1 {
			len += 1;
		}
		position /= 2;
		width = width.div_ceil(2);
	}
	Some(len)
}

/// Whether `leaf` is leaf `index` of the `count` leaves under `root`. `count` and `index` come from what was committed.
pub fn verify(root: &Hash, proof: &[Hash], count: u32, index: u32, leaf: Hash) -> bool {
	let expected = proof_len(count, index).and_then(|len| usize::try_from(len).ok());
	expected == Some(proof.len()) && verify_proof::<Blake2, _, _>(root, proof.iter().copied(), count, index, Leaf::Hash(leaf))
}
