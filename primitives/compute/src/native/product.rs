//! Matrix products on all threads: threads split outputs, never a chain.

use super::{share, Exec};
use crate::{
	pool::lock,
	simd::product::{multiply_rows, pack_lines, Operand, Output, KC, MC, NC, SLACK},
};
use neuroshard_kernels::shape::{MatDims, Start, SEGMENT};
use std::ops::Range;

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
		let segment = |first: usize, c: &mut [f32], start: Start| {
			let k = SEGMENT.min(dims.k - first);
			let (a, b) = (Operand::new(a, first * dims.m, dims.m, false), Operand::new(b, first * dims.n, dims.n, false));
			self.product(MatDims { k, ..dims }, a, b, c, start);
		};
		segment(0, c, start);
		if dims.k > SEGMENT {
			let mut later = vec![0.0; c.len()];
			for first in (SEGMENT..dims.k).step_by(SEGMENT) {
				segment(first, &mut later, Start::Zero);
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
		let by_rows = m.div_ceil(self.level.tile_rows()) >= 2 * threads;
		for columns in blocks(n, NC) {
			for depth in blocks(k, KC) {
				let load = start == Start::Existing || depth.start > 0;
				// SAFETY: row 0 and column 0 of the block exist.
				let (a, b) = unsafe { (a.from(0, depth.start), b.from(columns.start, depth.start)) };
				let c = Output { at: c[columns.start..].as_mut_ptr(), stride: n };
				let block = MatDims { m, n: columns.len(), k: depth.len() };
				if by_rows {
					self.block_by_rows(threads, block, a, b, c, load);
				} else {
					self.block_by_columns(threads, block, a, b, c, load);
				}
			}
		}
	}

	/// All threads pack the right operand, then each multiplies its rows.
	fn block_by_rows(&self, threads: usize, MatDims { m, n, k }: MatDims, a: Operand, b: Operand, c: Output, load: bool) {
		let (rows, cols) = (self.level.tile_rows(), self.level.tile_cols());
		let mut shared = lock(&self.shared);
		let packed = shared.take(n.next_multiple_of(cols) * k + SLACK);
		let parts = super::Parts::new(packed);
		self.run(threads, |t| {
			let lines = share(n, cols, t, threads);
			// SAFETY: whole panels, and only this thread's; panels are multiples of a vector wide, so stores stay inside.
			let part = unsafe { parts.get(lines.start * k..lines.end.next_multiple_of(cols) * k) };
			pack_lines(self.level, b, lines, 0..k, cols, part);
		});
		let packed = &*packed;
		self.run(threads, |t| {
			let mut scratch = lock(&self.scratch[t]);
			let buffer = scratch.take(MC * k + SLACK);
			multiply_rows(self.level, a, share(m, rows, t, threads), MatDims { m, n, k }, (packed, k), c, load, buffer);
		});
	}

	/// Few rows: each thread packs and multiplies its columns, some at a time, so that they are still in its cache.
	fn block_by_columns(&self, threads: usize, MatDims { m, n, k }: MatDims, a: Operand, b: Operand, c: Output, load: bool) {
		/// Columns packed at a time, a multiple of every tile width.
		const STRIP: usize = 256;
		self.run(threads, |t| {
			let mut scratch = lock(&self.scratch[t]);
			let (left, right) = scratch.take((MC + STRIP) * k + 2 * SLACK).split_at_mut(MC * k + SLACK);
			let lines = share(n, self.level.tile_cols(), t, threads);
			for first in lines.clone().step_by(STRIP) {
				let strip = first..lines.end.min(first + STRIP);
				pack_lines(self.level, b, strip.clone(), 0..k, self.level.tile_cols(), right);
				// SAFETY: the strip's first column exists.
				let c = unsafe { c.from(first) };
				multiply_rows(self.level, a, 0..m, MatDims { m, n: strip.len(), k }, (right, k), c, load, left);
			}
		});
	}
}

/// `0..len` in pieces of at most `size`.
fn blocks(len: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
	(0..len).step_by(size).map(move |first| first..len.min(first + size))
}
