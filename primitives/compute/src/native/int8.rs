//! Products with weights that are held in 8 bits: a model that answers in that class reads about a quarter of the memory.

use super::{share, Exec, Parts};
use crate::simd::{
	int8::{multiply, pack, quantize, Activations, Block},
	product::Output,
	LANES,
};
use neuroshard_kernels::shape::{MatDims, Start, GROUP};

/// Rows that are multiplied at a time, so that they stay in a cache beside the weights.
pub(super) const ROWS: usize = 192;

/// A matrix `[n, k]` of weights, quantized in groups of 32 along `k` and packed: 9 bytes for 8 weights.
pub struct PackedInt8 {
	n: usize,
	k: usize,
	/// Panels of 16 columns.
	blocks: Vec<Block>,
}

impl PackedInt8 {
	/// Bytes that a product with it reads.
	pub fn bytes(&self) -> usize {
		size_of_val(&*self.blocks)
	}
}

/// Rows of activations, quantized in groups of 32. Its memory is used again and again.
#[derive(Default)]
pub struct Quantized {
	k: usize,
	rows: usize,
	groups: Vec<Activations>,
}

impl Exec {
	/// Quantizes and packs `weights`, `[n, k]`. The result is the same on every instruction set.
	///
	/// # Panics
	/// If that is not the length of `weights`.
	pub fn pack_int8(&self, n: usize, k: usize, weights: &[f32]) -> PackedInt8 {
		assert_eq!(weights.len(), n * k, "weights");
		let groups = k.div_ceil(GROUP);
		let mut blocks = vec![Block::ZERO; n.div_ceil(LANES) * groups];
		if !blocks.is_empty() {
			let (threads, panels) = (self.threads_for(n * k), Parts::new(&mut blocks));
			self.run(threads, |t| {
				let mine = share(n, LANES, t, threads);
				for first in mine.clone().step_by(LANES) {
					let (rows, at) = (first..mine.end.min(first + LANES), first / LANES * groups);
					// SAFETY: a whole panel, and only this thread's.
					let panel = unsafe { panels.get(at..at + groups) };
					pack(self.level, &weights[rows.start * k..rows.end * k], k, panel);
				}
			});
		}
		PackedInt8 { n, k, blocks }
	}

	/// Quantizes the rows of `x`, which have `k` elements, into `out`.
	///
	/// # Panics
	/// If `x` does not have whole rows.
	pub fn quantize(&self, k: usize, x: &[f32], out: &mut Quantized) {
		assert!(k > 0 && x.len().is_multiple_of(k), "rows");
		let (rows, groups) = (x.len() / k, k.div_ceil(GROUP));
		(out.k, out.rows) = (k, rows);
		out.groups.resize(rows * groups, Activations::ZERO);
		let parts = Parts::new(&mut out.groups);
		self.split(rows, k, |at| {
			// SAFETY: rows of this thread.
			let part = unsafe { parts.get(at.start * groups..at.end * groups) };
			quantize(self.level, &x[at.start * k..at.end * k], k, part);
		});
	}

	/// `c = a b^T`, or `c + a b^T`: as [`neuroshard_kernels::scalar::matmul_int8`] with what was quantized into `a` and packed into `b`.
	///
	/// # Panics
	/// If these are not the shapes of a product.
	pub fn matmul_packed_int8(&self, a: &Quantized, b: &PackedInt8, c: &mut [f32], start: Start) {
		assert!(a.k == b.k && c.len() == a.rows * b.n, "shape");
		let (n, groups) = (b.n, b.k.div_ceil(GROUP));
		if c.is_empty() {
			return;
		}
		let threads = self.threads_for_product(c.len() * b.k, b.bytes());
		let (c, load) = (Output { at: c.as_mut_ptr(), stride: n }, start == Start::Existing);
		self.run(threads, |t| {
			let lines = share(n, LANES, t, threads);
			for (block, a) in a.groups.chunks(ROWS * groups).enumerate() {
				// SAFETY: the first row exists.
				let c = unsafe { c.from(block * ROWS * n) };
				multiply(self.level, a, groups, lines.clone(), &b.blocks, c, load);
			}
		});
	}

	/// As [`neuroshard_kernels::scalar::matmul_int8`].
	pub fn matmul_int8(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		dims.check(a, b, c);
		if dims.k == 0 {
			if start == Start::Zero {
				c.fill(0.0);
			}
			return;
		}
		let mut rows = Quantized::default();
		self.quantize(dims.k, a, &mut rows);
		self.matmul_packed_int8(&rows, &self.pack_int8(dims.n, dims.k, b), c, start);
	}
}
