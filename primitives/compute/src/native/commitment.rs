//! Committing to vectors on all threads.

use super::{share, Exec, Parts};
use neuroshard_graph::{
	layout::ParamLayout,
	merkle::{merkle_root, Hash},
	tiles::{subtree_count, subtree_roots},
};

impl Exec {
	/// Merkle roots over the tiles of vectors of this layout: their parts are shared among threads as if they were one vector.
	///
	/// # Panics
	/// If a vector is shorter than the layout.
	pub fn tensors_roots<const N: usize>(&self, layout: &ParamLayout, vectors: [&[f32]; N]) -> [Hash; N] {
		/// Work of hashing a number, in that of other operators.
		const WORK: usize = 8;
		let count = subtree_count(layout);
		let mut roots = vec![[0; 32]; N * count];
		let (parts, threads) = (Parts::new(&mut roots), self.threads_for(N * layout.len() * WORK));
		self.run(threads, |t| {
			let mine = share(N * count, 1, t, threads);
			for (number, vector) in vectors.iter().enumerate() {
				let (first, end) = (mine.start.max(number * count), mine.end.min((number + 1) * count));
				if first < end {
					// SAFETY: nodes of this thread alone.
					subtree_roots(layout, vector, first - number * count, unsafe { parts.get(first..end) });
				}
			}
		});
		core::array::from_fn(|number| merkle_root(&roots[number * count..(number + 1) * count]))
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_graph::{commit::tensors_root, ModelConfig};

	#[test]
	fn roots_of_vectors_are_the_same_with_any_number_of_threads() {
		// A last subtree that is not whole, tiles of vectors, and numbers that are not canonical.
		let model = ModelConfig { vocab: 320, dim: 96, heads: 6, kv_heads: 6, ffn: 128, ..ModelConfig::tiny() };
		let layout = ParamLayout::new(&model).unwrap();
		let odd =
			[-0.0, f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001), f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(0x8000_0001), 1.0];
		let vectors = [1u32, 5, 11].map(|step| {
			let number = |at: usize| match at % 7 {
				0 => odd[at / 7 % odd.len()],
				_ => f32::from_bits((at as u32).wrapping_mul(2_654_435_761).wrapping_add(step)),
			};
			(0..layout.len()).map(number).collect::<Vec<_>>()
		});
		let expected = vectors
			.each_ref()
			.map(|vector| merkle_root(&neuroshard_graph::tiles::leaf_hashes(&neuroshard_graph::tiles::encode(&layout, vector), 1)));
		assert!(subtree_count(&layout) > 1);
		for threads in [1, 2, 3, 7] {
			let exec = Exec::new(threads).unwrap();
			let found = exec.with_all_threads(|| exec.tensors_roots(&layout, vectors.each_ref().map(Vec::as_slice)));
			assert_eq!(found, expected, "{threads}");
			assert_eq!(vectors.each_ref().map(|vector| tensors_root(&layout, vector, threads)), expected);
		}
	}
}
