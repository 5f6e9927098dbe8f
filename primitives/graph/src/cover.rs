//! Parts of a Merkle tree: the subtrees whose leaves make up some ranges of them, and how they come together.

use crate::merkle::{merkle_root, parent, uniform_root, Hash};
use alloc::vec::Vec;
use core::ops::Range;

/// A node of a tree over a number of leaves, with all that is below it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Subtree {
	/// Its first leaf, a multiple of two to the power of its height.
	pub first: u32,
	/// Leaves under it; fewer than two to the power of its height where it is the last node of its row.
	pub leaves: u32,
	/// Rows of nodes above the leaves.
	pub height: u32,
}

/// The largest subtrees that have no leaf outside of some ranges, ascending; together they have all leaves of these.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cover {
	leaves: u32,
	subtrees: Vec<Subtree>,
}

/// Height of the root of a tree over so many leaves.
fn height(leaves: u32) -> u32 {
	leaves.max(1).checked_next_power_of_two().map_or(32, u32::trailing_zeros)
}

impl Cover {
	/// Of a tree over so many leaves. Ranges ascend, do not overlap, and end within them; what is beyond is left out.
	pub fn new(leaves: u32, ranges: impl IntoIterator<Item = Range<u32>>) -> Self {
		let mut subtrees = Vec::new();
		for range in ranges {
			let (mut first, end) = (range.start, range.end.min(leaves));
			while first < end {
				// As high as the first leaf's place allows, then down until no leaf is outside.
				let mut up = first.trailing_zeros().min(height(leaves));
				let within = |up: u32| u64::from(first).saturating_add(1u64 << up).min(leaves.into()) <= end.into();
				while !within(up) {
					up = up.saturating_sub(1);
				}
				let next = u64::from(first).saturating_add(1u64 << up).min(leaves.into());
				let next = u32::try_from(next).unwrap_or(leaves);
				subtrees.push(Subtree { first, leaves: next.saturating_sub(first), height: up });
				first = next;
			}
		}
		Self { leaves, subtrees }
	}

	/// The subtrees.
	pub fn subtrees(&self) -> &[Subtree] {
		&self.subtrees
	}

	/// Leaves of all subtrees together.
	pub fn len(&self) -> u32 {
		self.subtrees.iter().fold(0, |sum, subtree| sum.saturating_add(subtree.leaves))
	}

	/// Leaves of the whole tree.
	pub fn all(&self) -> u32 {
		self.leaves
	}

	/// Whether there is no subtree.
	pub fn is_empty(&self) -> bool {
		self.subtrees.is_empty()
	}

	/// The subtree that leaf `leaf` is in, counted through all subtrees: its number, and the first of its leaves counted likewise.
	pub fn locate(&self, leaf: u32) -> Option<(u32, u32, Subtree)> {
		let mut first = 0u32;
		for (number, subtree) in (0u32..).zip(&self.subtrees) {
			let end = first.checked_add(subtree.leaves)?;
			if leaf < end {
				return Some((number, first, *subtree));
			}
			first = end;
		}
		None
	}

	/// Number `number` of the subtrees: the first of its leaves counted through all of them, and how many it has.
	pub fn part(&self, number: u32) -> Option<(u32, u32)> {
		let number = usize::try_from(number).ok()?;
		let subtree = self.subtrees.get(number)?;
		let before = self.subtrees.iter().take(number).try_fold(0u32, |sum, subtree| sum.checked_add(subtree.leaves))?;
		Some((before, subtree.leaves))
	}

	/// Roots of the subtrees where all leaves are equal.
	pub fn uniform(&self, leaf: Hash) -> Vec<Hash> {
		self.subtrees.iter().map(|subtree| uniform_root(leaf, subtree.leaves)).collect()
	}

	/// What the subtrees have of the hashes of their leaves one after the other; less where there are fewer.
	pub fn parts<'a>(&self, hashes: &'a [Hash]) -> Vec<&'a [Hash]> {
		let mut rest = hashes;
		let mut part = |subtree: &Subtree| {
			let (those, after) = rest.split_at(usize::try_from(subtree.leaves).unwrap_or(usize::MAX).min(rest.len()));
			rest = after;
			those
		};
		self.subtrees.iter().map(&mut part).collect()
	}

	/// Roots of the subtrees, of the hashes of their leaves one after the other.
	pub fn roots(&self, hashes: &[Hash]) -> Vec<Hash> {
		self.parts(hashes).into_iter().map(merkle_root).collect()
	}
}

/// The root over all leaves, of the covers of parts and the roots of their subtrees; `None` unless each leaf is in one part, and all parts have as many
/// roots as their covers have subtrees.
pub fn merge(leaves: u32, parts: &[(&Cover, &[Hash])]) -> Option<Hash> {
	let mut nodes = Vec::new();
	for (cover, roots) in parts {
		if cover.leaves != leaves || cover.subtrees.len() != roots.len() {
			return None;
		}
		nodes.extend(cover.subtrees.iter().zip(roots.iter().copied()));
	}
	nodes.sort_unstable_by_key(|(subtree, _)| subtree.first);
	let mut nodes = nodes.into_iter().peekable();
	let root = node(leaves, 0, height(leaves), &mut nodes)?;
	nodes.next().is_none().then_some(root)
}

/// The node at `height` whose first leaf is `first`, of the next ones of `nodes`.
fn node<'a>(
	leaves: u32,
	first: u32,
	height: u32,
	nodes: &mut core::iter::Peekable<impl Iterator<Item = (&'a Subtree, Hash)>>,
) -> Option<Hash> {
	let &(next, root) = nodes.peek()?;
	if next.first == first && next.height == height {
		nodes.next();
		return Some(root);
	}
	let below = height.checked_sub(1)?;
	let left = node(leaves, first, below, nodes)?;
	let middle = u64::from(first).checked_add(1u64 << below)?;
	Some(match u32::try_from(middle).ok().filter(|&middle| middle < leaves) {
		Some(middle) => parent(&left, &node(leaves, middle, below, nodes)?),
		// The last node of an odd row moves up without a sibling.
		None => left,
	})
}

#[cfg(test)]
mod tests {
	use super::*;

	/// Numbers that follow from a seed.
	fn numbers(seed: u64) -> impl FnMut(u32) -> u32 {
		let mut state = seed;
		move |below| {
			state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
			u32::try_from((state >> 33) % u64::from(below.max(1))).unwrap()
		}
	}

	fn hashes(count: u32) -> Vec<Hash> {
		(0..count).map(|leaf| crate::merkle::blake2_256(&leaf.to_le_bytes())).collect()
	}

	#[test]
	fn the_roots_of_any_parts_that_have_all_leaves_come_together_to_the_root_over_them() {
		for seed in 0..2_000 {
			let mut below = numbers(seed);
			let leaves = 1 + below(300);
			let all = hashes(leaves);
			// The first part goes on at the end.
			let mut cuts: Vec<u32> = (0..1 + below(5)).map(|_| below(leaves + 1)).collect();
			cuts.sort_unstable();
			let (first, last) = (cuts[0], cuts[cuts.len() - 1]);
			let mut parts = alloc::vec![if first == last { alloc::vec![0..leaves] } else { alloc::vec![0..first, last..leaves] }];
			parts.extend(cuts.windows(2).map(|pair| alloc::vec![pair[0]..pair[1]]));
			let of = |ranges: &[Range<u32>]| -> Vec<Hash> {
				ranges.iter().flat_map(|range| &all[range.start as usize..range.end as usize]).copied().collect()
			};
			let covers: Vec<_> = parts.iter().map(|ranges| Cover::new(leaves, ranges.iter().cloned())).collect();
			let roots: Vec<_> = covers.iter().zip(&parts).map(|(cover, ranges)| cover.roots(&of(ranges))).collect();
			let mut together: Vec<_> = covers.iter().zip(&roots).map(|(cover, roots)| (cover, roots.as_slice())).collect();
			assert_eq!(merge(leaves, &together), Some(merkle_root(&all)), "seed {seed}");
			for (cover, ranges) in covers.iter().zip(&parts) {
				// Each subtree is whole, and no two of them are the halves of another one.
				let widest: u32 = ranges.iter().map(|range| range.end - range.start).sum();
				assert_eq!(cover.subtrees().iter().map(|subtree| subtree.leaves).sum::<u32>(), widest);
				assert!(cover.subtrees().len() <= 4 * 9);
				for pair in cover.subtrees().windows(2) {
					let halves = pair[0].height == pair[1].height && pair[0].first >> pair[0].height & 1 == 0;
					assert!(!halves || pair[0].first + pair[0].leaves != pair[1].first, "seed {seed}: {pair:?}");
				}
			}
			// A part that is missing, or there twice, is noticed.
			if let Some(part) = together.iter().position(|(cover, _)| !cover.subtrees().is_empty()) {
				let removed = together.remove(part);
				assert_eq!(merge(leaves, &together), None);
				together.extend([removed, removed]);
				assert_eq!(merge(leaves, &together), None);
			}
		}
	}

	#[test]
	fn a_root_that_is_changed_or_left_out_gives_another_root_or_none() {
		let all = hashes(21);
		let [left, right] = [Cover::new(21, [0..7]), Cover::new(21, [7..21])];
		let [of_left, of_right] = [left.roots(&all[..7]), right.roots(&all[7..])];
		// 4 + 2 + 1, and 1 + 8 + 5.
		assert_eq!((of_left.len(), of_right.len()), (3, 3));
		let mut other = of_right.clone();
		other[1][0] ^= 1;
		let root = merge(21, &[(&left, &of_left), (&right, &other)]);
		assert!(root.is_some_and(|root| root != merkle_root(&all)));
		assert_eq!(merge(21, &[(&left, &of_left), (&right, &of_right[1..])]), None);
		assert_eq!(merge(22, &[(&left, &of_left), (&right, &of_right)]), None);
	}
}
