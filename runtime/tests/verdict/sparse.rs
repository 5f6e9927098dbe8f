//! Merkle trees of which a few leaves are known, and the rest could be anything.

use neuroshard_graph::merkle::{blake2_256, Hash};
use std::collections::BTreeMap;

/// The known nodes of a tree, level by level.
pub struct Sparse {
	count: u32,
	levels: Vec<BTreeMap<u32, Hash>>,
}

/// A node that nothing is known of.
fn filler(level: usize, place: u32) -> Hash {
	blake2_256(format!("{level} {place}").as_bytes())
}

impl Sparse {
	pub fn new(count: u32, leaves: BTreeMap<u32, Hash>) -> Self {
		let (mut levels, mut width) = (vec![leaves], count);
		while width > 1 {
			let level = levels.len() - 1;
			let node = |place: u32| levels[level].get(&place).copied().unwrap_or_else(|| filler(level, place));
			let parent = |place: u32| {
				let left = 2 * place;
				if left + 1 == width {
					return node(left);
				}
				blake2_256(&[node(left), node(left + 1)].concat())
			};
			let above = levels[level].keys().map(|place| (place / 2, parent(place / 2))).collect();
			levels.push(above);
			width = width.div_ceil(2);
		}
		Self { count, levels }
	}

	/// All zeros for a tree that nothing is known of.
	pub fn root(&self) -> Hash {
		self.levels.last().and_then(|top| top.get(&0)).copied().unwrap_or_default()
	}

	pub fn proof(&self, index: u32) -> Vec<Hash> {
		let (mut proof, mut place, mut width) = (Vec::new(), index, self.count);
		for (level, known) in self.levels.iter().enumerate() {
			let sibling = place ^ 1;
			if sibling < width {
				proof.push(known.get(&sibling).copied().unwrap_or_else(|| filler(level, sibling)));
			}
			(place, width) = (place / 2, width.div_ceil(2));
		}
		proof
	}
}

#[test]
fn its_proofs_lead_to_its_root() {
	for count in [1, 2, 3, 7, 1_000, 2_097_153] {
		let leaves: BTreeMap<u32, Hash> = [0, 1, count / 2, count - 1].map(|index| (index % count, filler(99, index))).into();
		let tree = Sparse::new(count, leaves.clone());
		for (index, leaf) in leaves {
			assert!(neuroshard_graph::merkle::verify(&tree.root(), &tree.proof(index), count, index, leaf), "{index} of {count}");
		}
	}
}
