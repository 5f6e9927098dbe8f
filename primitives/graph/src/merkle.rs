//! Binary Merkle trees over 32-byte leaf hashes: those of the SDK's `binary-merkle-tree` with Blake2-256.
//!
//! A proof never says how many leaves there are or which one it is for: both come from the shape of what was committed.
//! Leaf hashes are hashes of 128 bytes (see [`crate::tiles`]) and inner nodes of 64, so neither passes for the other.

use alloc::{vec, vec::Vec};
use binary_merkle_tree::merkle_proof_raw;
use blake2b_simd::{many, Params};

/// A Blake2-256 hash.
pub type Hash = [u8; 32];

/// Blake2-256 of `bytes`.
pub fn blake2_256(bytes: &[u8]) -> Hash {
	let mut hash = [0; 32];
	hash.copy_from_slice(Params::new().hash_length(32).hash(bytes).as_bytes());
	hash
}

/// Hashes of equally long `inputs`, several at a time in SIMD lanes, into consecutive 32 bytes of `out`.
pub(crate) fn hash_all(inputs: &[u8], len: usize, out: &mut [u8]) {
	/// Inputs that are prepared together.
	const BATCH: usize = 16;
	#[cfg(feature = "std")]
	let (inputs, out) = {
		let done = neuroshard_kernels::hash::blake2b_256(inputs, len, out);
		(&inputs[done * len..], &mut out[done * 32..])
	};
	let mut params = Params::new();
	params.hash_length(32);
	for (inputs, out) in inputs.chunks(len * BATCH).zip(out.chunks_mut(32 * BATCH)) {
		let mut jobs: [_; BATCH] = core::array::from_fn(|job| {
			let input = inputs.get(job * len..(job + 1) * len).unwrap_or(&[]);
			many::HashManyJob::new(&params, input)
		});
		let used = inputs.len() / len;
		many::hash_many(&mut jobs[..used]);
		for (job, out) in jobs[..used].iter().zip(out.chunks_exact_mut(32)) {
			out.copy_from_slice(job.to_hash().as_bytes());
		}
	}
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
	let mut nodes = parents(leaves);
	while nodes.len() > 1 {
		nodes = parents(&nodes);
	}
	nodes.first().copied().unwrap_or_default()
}

/// The row of nodes above `nodes`.
fn parents(nodes: &[Hash]) -> Vec<Hash> {
	let (pairs, last) = nodes.as_chunks::<2>();
	let mut above = vec![[0; 32]; pairs.len()];
	hash_all(pairs.as_flattened().as_flattened(), 64, above.as_flattened_mut());
	above.extend(last);
	above
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
pub(crate) fn parent(left: &Hash, right: &Hash) -> Hash {
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
		nodes = parents(&nodes);
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
