//! Squared distances of tiles.

use super::{kernels, LANES};
use neuroshard_kernels::shape::TILE;

/// Numbers in a tile.
pub(crate) const NUMBERS: usize = TILE * TILE;
/// Distances from one tile that are summed side by side: one chain alone would wait for its last addition.
const BESIDE: usize = 4;

kernels! {
	/// Multiplies every tile by its factor.
	fn scale<I>(tiles: &mut [[f32; NUMBERS]], factors: &[f32]) {
		for (tile, &factor) in tiles.iter_mut().zip(factors) {
			let factor = I::splat(factor);
			for i in (0..NUMBERS).step_by(LANES) {
				let scaled = I::mul(factor, I::get(tile, i));
				I::put(tile, i, scaled);
			}
		}
	}

	/// Adds [`neuroshard_kernels::scalar::tile_distance`] of `from` and of each tile to the number that the tile has in `sums`.
	fn add_distances<I>(from: &[f32; NUMBERS], tiles: &[[f32; NUMBERS]], sums: &mut [f32]) {
		for (tiles, sums) in tiles.chunks(BESIDE).zip(sums.chunks_mut(BESIDE)) {
			if let [a, b, c, d] = tiles {
				let mut lanes = [I::splat(0.0); BESIDE];
				for i in (0..NUMBERS).step_by(LANES) {
					let from = I::get(from, i);
					for (lanes, tile) in lanes.iter_mut().zip([a, b, c, d]) {
						let difference = I::sub(from, I::get(tile, i));
						*lanes = I::fma(difference, difference, *lanes);
					}
				}
				sums.iter_mut().zip(lanes).for_each(|(sum, lanes)| *sum += I::sum(lanes));
				continue;
			}
			for (tile, sum) in tiles.iter().zip(sums) {
				let mut lanes = I::splat(0.0);
				for i in (0..NUMBERS).step_by(LANES) {
					let difference = I::sub(I::get(from, i), I::get(tile, i));
					lanes = I::fma(difference, difference, lanes);
				}
				*sum += I::sum(lanes);
			}
		}
	}
}
