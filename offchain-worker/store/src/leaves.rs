//! Leaves, leaf lists and the roots they make.

use crate::StoreError;
use neuroshard_graph::{merkle::merkle_root, tiles::leaf_hashes, Hash};
use neuroshard_types::H256;
use std::{num::NonZeroUsize, sync::Arc, thread::available_parallelism};

pub use neuroshard_graph::tiles::LEAF_BYTES;
/// Most leaves of a blob: 64 GiB, whose leaf list is 512 MiB.
pub(crate) const MAX_LEAVES: u32 = 1 << 24;
/// Bytes of a hash in a leaf list.
pub(crate) const HASH_BYTES: usize = 32;

/// Description of a blob that is enough to fetch it: its root, and its length in leaves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ContentDescriptor {
	/// Merkle root over the leaf hashes.
	pub root: H256,
	/// Leaves of 4 KiB.
	pub leaves: u32,
}

impl ContentDescriptor {
	/// Length of the blob in bytes.
	pub fn bytes(&self) -> u64 {
		u64::from(self.leaves) * LEAF_BYTES as u64
	}

	/// Bytes that the blob takes on disk, leaf list included.
	pub fn disk_bytes(&self) -> u64 {
		u64::from(self.leaves) * (LEAF_BYTES + HASH_BYTES) as u64
	}
}

/// The hashes of a blob's leaves, known to hash to its root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeafList {
	root: H256,
	hashes: Arc<[Hash]>,
}

impl LeafList {
	/// Leaf list of `bytes`. Fails if they are not a positive whole number of leaves.
	pub fn of(bytes: &[u8]) -> Result<Self, StoreError> {
		leaf_count(bytes.len() as u64)?;
		let threads = available_parallelism().map_or(1, NonZeroUsize::get);
		Ok(Self::made_of(leaf_hashes(bytes, threads)))
	}

	/// Takes `hashes` for `content` if their number is right and they hash to its root.
	pub fn verified(content: ContentDescriptor, hashes: Vec<Hash>) -> Result<Self, StoreError> {
		leaf_count(content.bytes())?;
		let actual = u32::try_from(hashes.len()).unwrap_or(u32::MAX);
		if actual != content.leaves {
			return Err(StoreError::LeafCount { root: content.root, expected: content.leaves, actual });
		}
		let list = Self::made_of(hashes);
		match list.root == content.root {
			true => Ok(list),
			false => Err(StoreError::WrongLeafList { root: content.root }),
		}
	}

	/// The list that these hashes make, whatever its root.
	pub(crate) fn made_of(hashes: Vec<Hash>) -> Self {
		Self { root: H256(merkle_root(&hashes)), hashes: hashes.into() }
	}

	/// Root and length.
	pub fn descriptor(&self) -> ContentDescriptor {
		// A list is only made of at most `MAX_LEAVES` hashes, or compared with a `u32` first.
		ContentDescriptor { root: self.root, leaves: u32::try_from(self.hashes.len()).unwrap_or(u32::MAX) }
	}

	/// The hashes, in order.
	pub fn hashes(&self) -> &[Hash] {
		&self.hashes
	}

	/// The list as bytes, as it is stored and sent.
	pub(crate) fn as_bytes(&self) -> &[u8] {
		self.hashes.as_flattened()
	}

	/// First leaf of `data`, which starts at leaf `start`, that does not have its hash. Data beyond the list counts as wrong.
	pub(crate) fn first_wrong(&self, start: u32, data: &[u8]) -> Option<u32> {
		let expected = usize::try_from(start).ok().and_then(|start| self.hashes.get(start..)).unwrap_or_default();
		first_difference(start, data, expected)
	}
}

/// First leaf of `data`, counted from `start`, whose hash is not the one in `expected`.
pub(crate) fn first_difference(start: u32, data: &[u8], expected: &[Hash]) -> Option<u32> {
	let hashes = leaf_hashes(data, 1);
	let wrong = (0..hashes.len()).find(|at| expected.get(*at) != hashes.get(*at))?;
	Some(start.saturating_add(u32::try_from(wrong).unwrap_or(u32::MAX)))
}

/// Leaves in `bytes` bytes; refuses what is not a positive whole number of leaves, or too much.
pub(crate) fn leaf_count(bytes: u64) -> Result<u32, StoreError> {
	if bytes == 0 || !bytes.is_multiple_of(LEAF_BYTES as u64) {
		return Err(StoreError::Unaligned { bytes });
	}
	match u32::try_from(bytes / LEAF_BYTES as u64) {
		Ok(leaves) if leaves <= MAX_LEAVES => Ok(leaves),
		_ => Err(StoreError::TooLarge { bytes }),
	}
}

/// Hashes out of their stored form; `None` if the length is not a multiple of 32.
pub fn parse_hashes(bytes: &[u8]) -> Option<Vec<Hash>> {
	let (hashes, rest) = bytes.as_chunks::<HASH_BYTES>();
	rest.is_empty().then(|| hashes.to_vec())
}
