//! Matrix products on all threads: threads split outputs, never a chain.

use super::{share, Exec};
use crate::{
	pool::lock,
	simd::product::{multiply_rows, pack_block, spaced, Operand, Output, KC, MC, NC, SLACK},
};
use neuroshard_kernels::shape::{MatDims, Start, SEGMENT};
use std::ops::Range;

/// Multiply-adds in the time of packing one element.
const PACKING: usize = 32;

impl Exec {
	/// As [`neuroshard_kernels::scalar::matmul_nt`].
	pub fn matmul_nt(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		dims.check(a, b, c);
		self.product(dims, Operand::new(a, 0, dims.k, true), Operand::new(b, 0, dims.k, true), c, start);
	}

	/// As [`neuroshard_kernels::scalar::matmul_nn`].
	pub fn matmul_nn(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		dims.check(a, b, c);
		self.product(dims, Operand::new(a, 0, dims.k, true), Operand::new(b, 0, dims.n, false), c, start);
	}

	/// As [`neuroshard_kernels::scalar::matmul_tn`].
	pub fn matmul_tn(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		dims.check(a, b, c);
		self.in_segments(dims.k, c, start, |at, c, start| {
			let (a, b) = (Operand::new(a, at.start * dims.m, dims.m, false), Operand::new(b, at.start * dims.n, dims.n, false));
			self.product(MatDims { k: at.len(), ..dims }, a, b, c, start);
		});
	}

	/// A product whose chains have `k` elements, in segments: the first goes on from `start`, and each later one, from zero, is added.
	pub(super) fn in_segments(&self, k: usize, c: &mut [f32], start: Start, product: impl Fn(Range<usize>, &mut [f32], Start)) {
		product(0..k.min(SEGMENT), c, start);
		if k > SEGMENT {
			let mut later = vec![0.0; c.len()];
			for first in (SEGMENT..k).step_by(SEGMENT) {
				product(first..k.min(first + SEGMENT), &mut later, Start::Zero);
				self.add_assign(c, &later);
			}
		}
	}

	fn product(&self, dims: MatDims, a: Operand, b: Operand, c: &mut [f32], start: Start) {
		let MatDims { m, n, k } = dims;
		if m == 0 || n == 0 {
			return;
		}
		if k == 0 {
			if start == Start::Zero {
				c.fill(0.0);
			}
			return;
		}
		// A vector unit does 16 multiply-adds in the time of one element of other operators.
		let threads = self.threads_for(m * n * k / 16);
		let (rows, cols) = (self.level.tile_rows(), self.level.tile_cols());
		// Each thread packs all of the other operand for itself: that costs less than waiting for one another, and reading what another core has written.
		let most = |len: usize, unit: usize| len.min(len.div_ceil(unit).div_ceil(threads) * unit);
		let cost = |lines: usize, columns: usize| lines * columns + PACKING * (lines + columns);
		let by_rows = cost(most(m, rows), n) <= cost(m, most(n, cols));
		let c = Output { at: c.as_mut_ptr(), stride: n };
		self.run(threads, |t| {
			let mine = |parts| if parts { t } else { 0 };
			let lines = share(m, rows, mine(by_rows), if by_rows { threads } else { 1 });
			let columns = share(n, cols, mine(!by_rows), if by_rows { 1 } else { threads });
			if lines.is_empty() {
				return;
			}
			let mut scratch = lock(&self.scratch[t]);
			let depth = KC.min(k);
			let wide = NC.min(columns.len()).next_multiple_of(cols);
			let (left, right) = scratch.take((MC + wide) * spaced(depth) + 2 * SLACK).split_at_mut(MC * spaced(depth) + SLACK);
			for first in columns.clone().step_by(NC) {
				let strip = first..columns.end.min(first + NC);
				for depth in blocks(k, KC) {
					let load = start == Start::Existing || depth.start > 0;
					// SAFETY: the first element of the block and of its output exist.
					let (a, b, c) = unsafe { (a.from(0, depth.start), b.from(0, depth.start), c.from(first)) };
					let k = depth.len();
					pack_block(self.level, b, strip.clone(), 0..k, right);
					multiply_rows(self.level, a, lines.clone(), MatDims { m, n: strip.len(), k }, (right, spaced(k)), c, load, left);
				}
			}
		});
	}
}

/// `0..len` in pieces of at most `size`.
fn blocks(len: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
	(0..len).step_by(size).map(move |first| first..len.min(first + size))
}
