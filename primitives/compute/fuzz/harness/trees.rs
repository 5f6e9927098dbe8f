//! Proofs of any length for any place in any list.

use super::source::Source;
use neuroshard_graph::merkle::{level, merkle_root, proof_len, prove, root_of, uniform_root, verify, Hash};

pub fn run(source: &mut Source) {
	let (count, index) = (source.about(40), source.about(40));
	let hash = |source: &mut Source| -> Hash { [source.byte(); 32] };
	let proof: Vec<Hash> = (0..source.below(36)).map(|_| hash(source)).collect();
	let leaf = hash(source);
	let root = root_of(&proof, count, index, leaf);
	assert_eq!(root.is_some(), proof_len(count, index).is_some_and(|len| len as usize == proof.len()));
	assert_eq!(proof_len(count, index).is_some(), index < count);
	let uniform = uniform_root(leaf, count);
	if count > 40 {
		return;
	}
	assert_eq!(uniform, merkle_root(&vec![leaf; count as usize]));
	let leaves: Vec<Hash> = (0..count).map(|_| hash(source)).collect();
	let root = merkle_root(&leaves);
	let height = source.below(8);
	assert_eq!(merkle_root(&level(&leaves, height)), root);
	if let Some(proof) = prove(&leaves, index) {
		let own = leaves[index as usize];
		assert!(verify(&root, &proof, count, index, own));
		let mut other = own;
		other[source.below(32) as usize] ^= 1 << source.below(8);
		assert!(!verify(&root, &proof, count, index, other), "another leaf at the same place");
		assert!(!verify(&root, &proof[..proof.len().saturating_sub(1)], count, index, own) || proof.is_empty());
	}
}
