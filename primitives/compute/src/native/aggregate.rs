//! Aggregation of pseudo-gradients.

use super::{share, Exec, Parts};
use crate::simd::{
	distances::{add_distances, scale, NUMBERS},
	elementwise,
};
use neuroshard_kernels::shape::{Distance, Measured};

// SAFETY of every `get` below: ranges of one split are disjoint, and so are the parts cut by them.
impl Exec {
	/// As [`neuroshard_kernels::scalar::mean`].
	pub fn mean(&self, inputs: &[&[f32]], out: &mut [f32]) {
		assert!(!inputs.is_empty() && inputs.iter().all(|x| x.len() == out.len()), "inputs");
		let (len, out) = (out.len(), Parts::new(out));
		self.split(len, inputs.len(), |at| elementwise::mean(self.level, inputs, at.start, unsafe { out.get(at) }));
	}

	/// As [`neuroshard_kernels::scalar::trimmed_mean`].
	pub fn trimmed_mean(&self, inputs: &[&[f32]], factors: &[f32], trim: usize, out: &mut [f32]) {
		assert!(2 * trim < inputs.len() && inputs.iter().all(|x| x.len() == out.len()), "inputs");
		assert!(factors.is_empty() || factors.len() == inputs.len(), "factors");
		let (len, out) = (out.len(), Parts::new(out));
		self.split(len, inputs.len() * inputs.len(), |at| {
			elementwise::trimmed_mean(self.level, inputs, factors, trim, at.start, unsafe { out.get(at) });
		});
	}

	/// As [`neuroshard_kernels::scalar::weighted_sum`].
	pub fn weighted_sum(&self, inputs: &[&[f32]], weights: &[f32], out: &mut [f32]) {
		assert!(inputs.len() == weights.len() && inputs.iter().all(|x| x.len() == out.len()), "inputs");
		let (len, out) = (out.len(), Parts::new(out));
		self.split(len, inputs.len(), |at| {
			elementwise::weighted_sum(self.level, inputs, weights, at.start, unsafe { out.get(at) });
		});
	}

	/// As [`neuroshard_kernels::scalar::distance_sums`].
	pub fn distance_sums(&self, measured: &Measured<'_>, from: Distance, out: &mut [f32]) {
		measured.check(from, out);
		let (count, (rows, cols)) = (measured.vectors.len(), from.block(measured.vectors.len()));
		let (segments, block) = (measured.tiling.segments(), rows * cols);
		let threads = self.threads_for(measured.tiling.len() * count);
		let out = Parts::new(out);
		self.run(threads, |thread| {
			let mut tiles = vec![[0.0; NUMBERS]; count];
			for segment in share(segments, 1, thread, threads) {
				let out = unsafe { out.get(segment * block..(segment + 1) * block) };
				out.fill(0.0);
				for tile in measured.tiling.segment(segment) {
					for (vector, slot) in measured.vectors.iter().zip(&mut tiles) {
						measured.tiling.gather(vector, tile, slot);
					}
					scale(self.level, &mut tiles, measured.factors);
					match from {
						// The sum for a pair is the same from either side: half of them are enough.
						Distance::Pairs => {
							for (row, tile) in tiles.iter().enumerate() {
								add_distances(self.level, tile, &tiles[row + 1..], &mut out[row * cols + row + 1..row * cols + count]);
							}
						}
						Distance::Norms => add_distances(self.level, &[0.0; NUMBERS], &tiles, &mut out[..count]),
					}
				}
				if from == Distance::Pairs {
					for row in 1..count {
						for col in 0..row {
							out[row * cols + col] = out[col * cols + row];
						}
					}
				}
			}
		});
	}
}
