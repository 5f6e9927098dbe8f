//! Binary Merkle trees over 32-byte leaf hashes, by the SDK's `binary-merkle-tree` with Blake2-256.
//!
//! A proof never says how many leaves there are or which one it is for: both come from the shape of what was committed.
//! Leaf hashes are hashes of 128 bytes (see [`crate::tiles`]) and inner nodes of 64, so neither passes for the other.

use alloc::vec::Vec;
use binary_merkle_tree::{merkle_proof_raw, merkle_root_raw};

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
	let mut len = 0;
	climb(count, index, |_| {
		len += 1;
		Some(())
	})?;
	Some(len)
}

/// Goes up from leaf `index` of `count` and calls `meet` for every sibling on the way, with whether it stands on the left. `None` if there
/// is no such leaf, or as soon as `meet` says so.
fn climb(count: u32, index: u32, mut meet: impl FnMut(bool) -> Option<()>) -> Option<()> {
	if index >= count {
		return None;
	}
	let (mut position, mut width) = (index, count);
	while width > 1 {
		// The last node of an odd row moves up without a sibling.
		if position % 2 == 1 {
			meet(true)?;
		} else if position + 1 != width {
			meet(false)?;
		}
		position /= 2;
		width = width.div_ceil(2);
	}
	Some(())
}

/// Hash of two children.
fn parent(left: &Hash, right: &Hash) -> Hash {
	let mut both = [0; 64];
	both[..32].copy_from_slice(left);
	both[32..].copy_from_slice(right);
	blake2_256(&both)
}

/// The root that `proof` leads to from `leaf` as leaf `index` of `count`; `None` for a proof of another length. `count` and `index` come
/// from what was committed.
pub fn root_of(proof: &[Hash], count: u32, index: u32, leaf: Hash) -> Option<Hash> {
	let (mut node, mut siblings) = (leaf, proof.iter());
	climb(count, index, |on_the_left| {
		let sibling = siblings.next()?;
		node = if on_the_left { parent(sibling, &node) } else { parent(&node, sibling) };
		Some(())
	})?;
	siblings.next().is_none().then_some(node)
}

/// Whether `leaf` is leaf `index` of the `count` leaves under `root`. `count` and `index` come from what was committed.
pub fn verify(root: &Hash, proof: &[Hash], count: u32, index: u32, leaf: Hash) -> bool {
	root_of(proof, count, index, leaf) == Some(*root)
}

/// The nodes `height` levels above the leaves. [`merkle_root`] over them is the root over the leaves.
pub fn level(leaves: &[Hash], height: u32) -> Vec<Hash> {
	let mut nodes = leaves.to_vec();
	for _ in 0..height {
		nodes = nodes.chunks(2).map(|pair| if let [left, right] = pair { parent(left, right) } else { pair[0] }).collect();
	}
	nodes
}

/// Root over `count` equal leaves, without making a list of them.
pub fn uniform_root(leaf: Hash, count: u32) -> Hash {
	if count == 0 {
		return [0; 32];
	}
	// All nodes of a row are equal but for the last one.
	let (mut node, mut last, mut width) = (leaf, leaf, count);
	while width > 1 {
		last = if width.is_multiple_of(2) { parent(&node, &last) } else { last };
		node = parent(&node, &node);
		width = width.div_ceil(2);
	}
	last
}
