//! Products of training in exact int8: both operands are quantized block by block and packed, then multiplied as those of answers are.

use super::{int8::ROWS, share, Exec, Parts};
use crate::{
	pool::lock,
	simd::{
		int8::{multiply, Activations, Block},
		int8_blocks::{left, right, Lines},
		product::Output,
		LANES,
	},
};
use neuroshard_kernels::shape::{MatDims, Start, TILE};

/// Where the numbers of an operand are, and how they are lines.
type Source = (*const f32, usize, Lines);

/// Quantized operands. Their memory is used again and again.
#[derive(Default)]
pub(super) struct Operands {
	left: Vec<Activations>,
	right: Vec<Block>,
	/// What they were made of last.
	sources: Option<[Source; 2]>,
}

// SAFETY: sources are only compared.
unsafe impl Send for Operands {}

/// Whether an operand is that of the product before.
#[derive(Clone, Copy, Default)]
struct Kept {
	left: bool,
	right: bool,
}

impl Exec {
	/// As [`neuroshard_kernels::scalar::matmul_int8_nt`].
	pub fn matmul_int8_nt(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		self.blocks(dims, (a, Lines::Rows(dims.k)), (b, Lines::Rows(dims.k)), c, start, Kept::default());
	}

	/// As [`neuroshard_kernels::scalar::matmul_int8_nn`].
	pub fn matmul_int8_nn(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		self.blocks(dims, (a, Lines::Rows(dims.k)), (b, Lines::Columns(dims.n)), c, start, Kept::default());
	}

	/// As [`neuroshard_kernels::scalar::matmul_int8_tn`].
	pub fn matmul_int8_tn(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		self.segments(dims, a, b, c, start, Kept::default());
	}

	/// [`Exec::matmul_int8_nt`], or with `over_tokens` [`Exec::matmul_int8_tn`], where the caller's product before was the same one with the same `a`, or `b`,
	/// and its numbers are the same: they are not quantized again, unless others have multiplied since.
	pub(crate) fn matmul_int8_again(&self, over_tokens: bool, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		match over_tokens {
			true => self.segments(dims, a, b, c, start, Kept { right: true, ..Kept::default() }),
			false => {
				self.blocks(dims, (a, Lines::Rows(dims.k)), (b, Lines::Rows(dims.k)), c, start, Kept { left: true, ..Kept::default() })
			}
		}
	}

	fn segments(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start, kept: Kept) {
		dims.check(a, b, c);
		let MatDims { m, n, k } = dims;
		self.in_segments(k, c, start, |at, c, start| {
			let (a, b) = ((&a[at.start * m..at.end * m], Lines::Columns(m)), (&b[at.start * n..at.end * n], Lines::Columns(n)));
			self.blocks(MatDims { k: at.len(), ..dims }, a, b, c, start, kept);
		});
	}

	/// `c = a b`, or `c + a b`, where the lines of both are chains.
	fn blocks(&self, dims: MatDims, a: (&[f32], Lines), b: (&[f32], Lines), c: &mut [f32], start: Start, kept: Kept) {
		let ((a, a_lines), (b, b_lines)) = (a, b);
		dims.check(a, b, c);
		let MatDims { m, n, k } = dims;
		if c.is_empty() {
			return;
		}
		if k == 0 {
			if start == Start::Zero {
				c.fill(0.0);
			}
			return;
		}
		let groups = k.div_ceil(TILE);
		let mut operands = lock(&self.quantized);
		let Operands { left: rows, right: columns, sources } = &mut *operands;
		let found = [(a.as_ptr(), a.len(), a_lines), (b.as_ptr(), b.len(), b_lines)];
		let [keep_left, keep_right] =
			sources.map_or([false; 2], |before| [kept.left && before[0] == found[0], kept.right && before[1] == found[1]]);
		rows.resize(m * groups, Activations::ZERO);
		columns.resize(n.div_ceil(LANES) * groups, Block::ZERO);
		*sources = Some(found);
		let threads = self.threads_for(m * n * k / 16);
		let (left_parts, right_parts) = (Parts::new(rows), Parts::new(columns));
		self.run(threads, |t| {
			let mine = |lines: usize, kept: bool| share(if kept { 0 } else { lines }, TILE, t, threads).step_by(TILE);
			// SAFETY of both parts: lines of this thread alone, whole panels of them.
			for band in mine(m, keep_left) {
				let part = unsafe { left_parts.get(band * groups..m.min(band + TILE) * groups) };
				left(self.level, a, a_lines, band, part);
			}
			for band in mine(n, keep_right) {
				let part = unsafe { right_parts.get(band / LANES * groups..n.min(band + TILE).div_ceil(LANES) * groups) };
				right(self.level, b, b_lines, band, part);
			}
		});
		let (c, load) = (Output { at: c.as_mut_ptr(), stride: n }, start == Start::Existing);
		let by_rows = m.div_ceil(TILE) >= 2 * threads;
		self.run(threads, |t| {
			let (mine, lines) = if by_rows { (share(m, TILE, t, threads), 0..n) } else { (0..m, share(n, LANES, t, threads)) };
			for first in mine.clone().step_by(ROWS) {
				let a = &rows[first * groups..mine.end.min(first + ROWS) * groups];
				// SAFETY: the row exists.
				multiply(self.level, a, groups, lines.clone(), columns, unsafe { c.from(first * n) }, load);
			}
		});
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_kernels::scalar;

	fn numbers(len: usize, seed: u32) -> Vec<f32> {
		let mut state = seed;
		let mut next = || {
			state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
			(state >> 8) as f32 / 8_388_608.0 - 1.0
		};
		(0..len).map(|_| next()).collect()
	}

	#[test]
	fn activations_are_used_again_only_if_they_are_those_of_the_product_before() {
		let exec = Exec::new(2).unwrap();
		let dims = MatDims { m: 70, n: 40, k: 100 };
		// Enough room for an operand of both layouts.
		let [mut x, w, other] = [1, 2, 3].map(|seed| numbers(100 * 70, seed));
		let (x_len, w_len) = (dims.m * dims.k, dims.n * dims.k);
		for over_tokens in [false, true] {
			// Over tokens the activations are the right operand.
			let dims = if over_tokens { MatDims { m: dims.n, n: dims.m, k: dims.k } } else { dims };
			let product = |x: &[f32], w: &[f32], again: bool| {
				let (a, b) = if over_tokens { (w, x) } else { (x, w) };
				let mut c = vec![f32::NAN; dims.m * dims.n];
				match (again, over_tokens) {
					(true, _) => exec.matmul_int8_again(over_tokens, dims, a, b, &mut c, Start::Zero),
					(false, true) => exec.matmul_int8_tn(dims, a, b, &mut c, Start::Zero),
					(false, false) => exec.matmul_int8_nt(dims, a, b, &mut c, Start::Zero),
				}
				c
			};
			let expected = |x: &[f32], w: &[f32]| {
				let (a, b) = if over_tokens { (w, x) } else { (x, w) };
				let mut c = vec![f32::NAN; dims.m * dims.n];
				let reference = if over_tokens { scalar::matmul_int8_tn } else { scalar::matmul_int8_nt };
				reference(dims, a, b, &mut c, Start::Zero);
				c
			};
			let kept = x[..x_len].to_vec();
			product(&x[..x_len], &w[..w_len], false);
			assert_eq!(product(&x[..x_len], &other[..w_len], true), expected(&kept, &other[..w_len]));
			// They are not looked at: whoever says that they are the same has not changed them.
			x[0] = 1e9;
			assert_eq!(product(&x[..x_len], &other[..w_len], true), expected(&kept, &other[..w_len]));
			// Somebody else has multiplied since, in the other layout of the same numbers too.
			product(&other[..x_len], &w[..w_len], false);
			assert_eq!(product(&x[..x_len], &w[..w_len], true), expected(&x[..x_len], &w[..w_len]));
			let square = MatDims { m: dims.k, n: dims.k, k: dims.m.max(dims.n) };
			exec.matmul_int8_nn(square, &x[..x_len], &x[..x_len], &mut vec![0.0; square.m * square.n], Start::Zero);
			x[0] = kept[0];
			assert_eq!(product(&x[..x_len], &w[..w_len], true), expected(&kept, &w[..w_len]));
		}
	}
}
