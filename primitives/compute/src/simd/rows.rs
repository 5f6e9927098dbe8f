//! Operators on whole rows: reductions, and element-wise operators with a factor for each row.

use super::{kernels, LANES};
use neuroshard_kernels::{
	num::sqrt,
	scalar::RmsBackward,
	shape::{RopeDims, Start, TILE},
};

kernels! {
	/// As [`neuroshard_kernels::scalar::rms_stats`].
	fn rms_stats<I>(x: &[f32], dim: usize, eps: f32, r: &mut [f32]) {
		for (x, r) in x.chunks_exact(dim).zip(r) {
			let mut acc = I::splat(0.0);
			for i in (0..dim).step_by(LANES) {
				let x = I::get(x, i);
				acc = I::fma(x, x, acc);
			}
			*r = 1.0 / sqrt(I::sum(acc) / dim as f32 + eps);
		}
	}

	/// As [`neuroshard_kernels::scalar::rms_apply`].
	fn rms_apply<I>(x: &[f32], r: &[f32], w: &[f32], y: &mut [f32]) {
		let dim = w.len();
		for ((x, y), &r) in x.chunks_exact(dim).zip(y.chunks_exact_mut(dim)).zip(r) {
			let r = I::splat(r);
			for i in (0..dim).step_by(LANES) {
				I::put(y, i, I::mul(I::mul(I::get(x, i), r), I::get(w, i)));
			}
		}
	}

	/// As [`neuroshard_kernels::scalar::rms_backward_stats`].
	fn rms_backward_stats<I>(dy: &[f32], x: &[f32], w: &[f32], r: &[f32], k: &mut [f32]) {
		let dim = w.len();
		for (((dy, x), &r), k) in dy.chunks_exact(dim).zip(x.chunks_exact(dim)).zip(r).zip(k) {
			let mut acc = I::splat(0.0);
			for i in (0..dim).step_by(LANES) {
				acc = I::fma(I::mul(I::get(dy, i), I::get(w, i)), I::get(x, i), acc);
			}
			*k = (I::sum(acc) / dim as f32) * ((r * r) * r);
		}
	}

	/// As [`neuroshard_kernels::scalar::rms_backward_apply`].
	fn rms_backward_apply<I>(input: RmsBackward, dx: &mut [f32], start: Start) {
		let RmsBackward { dy, x, w, r, k } = input;
		let dim = w.len();
		for (row, dx) in dx.chunks_exact_mut(dim).enumerate() {
			let (dy, x) = (&dy[row * dim..(row + 1) * dim], &x[row * dim..(row + 1) * dim]);
			let (r, k) = (I::splat(r[row]), I::splat(k[row]));
			for i in (0..dim).step_by(LANES) {
				let g = I::fnma(I::get(x, i), k, I::mul(I::mul(I::get(dy, i), I::get(w, i)), r));
				let g = if start == Start::Zero { g } else { I::add(I::get(dx, i), g) };
				I::put(dx, i, g);
			}
		}
	}

	/// As [`neuroshard_kernels::scalar::add_bias`].
	fn add_bias<I>(x: &mut [f32], b: &[f32]) {
		for x in x.chunks_exact_mut(b.len()) {
			for i in (0..b.len()).step_by(LANES) {
				let sum = I::add(I::get(x, i), I::get(b, i));
				I::put(x, i, sum);
			}
		}
	}

	/// As [`neuroshard_kernels::scalar::rope_forward`] for the rows of `x`, the first of which is row `first` of the tensor.
	fn rope_forward<I>(dims: RopeDims, first: usize, x: &mut [f32], cos: &[f32], sin: &[f32]) {
		let half = dims.head_dim / 2;
		for (row, x) in x.chunks_exact_mut(dims.heads * dims.head_dim).enumerate() {
			let t = (first + row) % dims.seq;
			let (cos, sin) = (&cos[t * half..(t + 1) * half], &sin[t * half..(t + 1) * half]);
			for head in x.chunks_exact_mut(dims.head_dim) {
				let (x1, x2) = head.split_at_mut(half);
				for i in (0..half).step_by(LANES) {
					let (a, b, c, s) = (I::get(x1, i), I::get(x2, i), I::get(cos, i), I::get(sin, i));
					I::put(x1, i, I::fma(a, c, I::sub(I::splat(0.0), I::mul(b, s))));
					I::put(x2, i, I::fma(b, c, I::mul(a, s)));
				}
			}
		}
	}

	/// As [`neuroshard_kernels::scalar::rope_backward`] for the rows of `dy`, the first of which is row `first` of the tensor.
	fn rope_backward<I>(dims: RopeDims, first: usize, dy: &mut [f32], cos: &[f32], sin: &[f32]) {
		let half = dims.head_dim / 2;
		for (row, dy) in dy.chunks_exact_mut(dims.heads * dims.head_dim).enumerate() {
			let t = (first + row) % dims.seq;
			let (cos, sin) = (&cos[t * half..(t + 1) * half], &sin[t * half..(t + 1) * half]);
			for head in dy.chunks_exact_mut(dims.head_dim) {
				let (y1, y2) = head.split_at_mut(half);
				for i in (0..half).step_by(LANES) {
					let (a, b, c, s) = (I::get(y1, i), I::get(y2, i), I::get(cos, i), I::get(sin, i));
					I::put(y1, i, I::fma(a, c, I::mul(b, s)));
					I::put(y2, i, I::fma(b, c, I::sub(I::splat(0.0), I::mul(a, s))));
				}
			}
		}
	}

	/// As [`neuroshard_kernels::scalar::cross_entropy_stats`].
	fn cross_entropy_stats<I>(logits: &[f32], vocab: usize, max: &mut [f32], sum: &mut [f32]) {
		for ((logits, max), sum) in logits.chunks_exact(vocab).zip(max).zip(sum) {
			let lowest = I::key(I::splat(f32::NEG_INFINITY));
			let mut top = lowest;
			for i in (0..vocab).step_by(LANES) {
				top = I::max_key(top, I::key(I::get_or(logits, i, f32::NEG_INFINITY)));
			}
			*max = I::max(top);
			let shift = I::splat(*max);
			let mut acc = I::splat(0.0);
			// Padding is -inf, whose exponential adds +0.
			for i in (0..vocab).step_by(LANES) {
				acc = I::add(acc, I::exp(I::sub(I::get_or(logits, i, f32::NEG_INFINITY), shift)));
			}
			*sum = I::sum(acc);
		}
	}

	/// As [`neuroshard_kernels::scalar::cross_entropy_backward`].
	fn cross_entropy_backward<I>(logits: &mut [f32], vocab: usize, targets: &[u32], max: &[f32], sum: &[f32], inv_n: f32) {
		let factor = I::splat(inv_n);
		for (row, logits) in logits.chunks_exact_mut(vocab).enumerate() {
			if targets[row] == neuroshard_kernels::scalar::NO_TARGET {
				logits.fill(0.0);
				continue;
			}
			let inv = 1.0 / sum[row];
			let target = targets[row] as usize;
			let at_target = neuroshard_kernels::math::exp(logits[target] - max[row]) * inv;
			let (shift, inv) = (I::splat(max[row]), I::splat(inv));
			for i in (0..vocab).step_by(LANES) {
				let p = I::mul(I::exp(I::sub(I::get(logits, i), shift)), inv);
				I::put(logits, i, I::mul(p, factor));
			}
			logits[target] = (at_target - 1.0) * inv_n;
		}
	}

	/// As [`neuroshard_kernels::scalar::tile_sum_squares`], for the tiles of `partials`, the first of which is tile `first` of the tensor.
	fn tile_sum_squares<I>(x: &[f32], rows: usize, cols: usize, first: usize, partials: &mut [f32]) {
		let across = cols.div_ceil(TILE);
		for (tile, partial) in partials.iter_mut().enumerate() {
			let (top, left) = ((first + tile) / across * TILE, (first + tile) % across * TILE);
			let mut acc = I::splat(0.0);
			for r in top..rows.min(top + TILE) {
				let x = &x[r * cols + left..r * cols + cols.min(left + TILE)];
				for i in (0..x.len()).step_by(LANES) {
					let x = I::get(x, i);
					acc = I::fma(x, x, acc);
				}
			}
			*partial = I::sum(acc);
		}
	}
}
