//! Attention of one sequence and one group of heads, on product tiles.
//!
//! Scores of a panel of queries are one product; the softmax runs along its rows. Queries of a panel see different numbers of
//! keys: the keys that all of them see go through tiles, the few others are added row by row, so that no masked value
//! ever enters a chain.

use super::{
	kernels,
	product::{pack, panels, Operand, Output, SLACK},
	Isa, Level, LANES,
};
use neuroshard_kernels::{scalar::AttentionBackward, schedule::attention_scale, shape::AttentionDims};

/// Queries whose probabilities the backward pass holds at a time, a multiple of every tile height.
pub(super) const BLOCK: usize = 192;

/// Sizes of the working memory.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
	/// Keys, rounded up to tiles.
	pub(super) keys: usize,
	/// Numbers in a head, rounded up to tiles.
	pub(super) width: usize,
	/// Rows of a tile.
	pub(super) rows: usize,
}

impl Sizes {
	pub(super) fn new(rows: usize, cols: usize, keys: usize, head_dim: usize) -> Self {
		Self { keys: keys.next_multiple_of(cols).next_multiple_of(rows), width: head_dim.next_multiple_of(cols), rows }
	}

	/// Keys packed as lines, or as elements: the larger of the two.
	pub(super) fn packed(&self) -> usize {
		self.keys * self.width + SLACK
	}

	/// A packed panel of queries or of probabilities.
	pub(super) fn panel(&self) -> usize {
		self.rows * self.keys.max(self.width) + SLACK
	}
}

/// Elements of working memory that [`forward`] needs.
pub(crate) fn forward_buffer(level: Level, keys: usize, head_dim: usize) -> usize {
	let s = Sizes::new(level.tile_rows(), level.tile_cols(), keys, head_dim);
	2 * s.packed() + s.panel() + s.rows * s.keys + s.rows * s.width
}

/// Elements of working memory that [`backward`] needs.
pub(crate) fn backward_buffer(level: Level, keys: usize, head_dim: usize) -> usize {
	let s = Sizes::new(level.tile_rows(), level.tile_cols(), keys, head_dim);
	3 * s.packed() + 2 * (BLOCK * s.width + SLACK) + s.panel() + 2 * BLOCK * s.keys + s.rows * s.width + 2 * s.keys * s.width
}

/// Splits `len` elements off the front of `buffer`.
pub(super) fn take<'a>(buffer: &mut &'a mut [f32], len: usize) -> &'a mut [f32] {
	let (front, rest) = core::mem::take(buffer).split_at_mut(len);
	*buffer = rest;
	front
}

/// Softmax of `scale * s`, in place.
#[inline(always)]
pub(super) unsafe fn softmax<I: Isa>(s: &mut [f32], scale: f32) {
	// SAFETY: as Isa's methods.
	unsafe {
		let factor = I::splat(scale);
		let mut top = I::key(I::splat(f32::NEG_INFINITY));
		for i in (0..s.len()).step_by(LANES) {
			let scaled = I::mul(factor, I::get_or(s, i, f32::NEG_INFINITY));
			top = I::max_key(top, I::key(scaled));
			I::put(s, i, scaled);
		}
		let max = I::splat(I::max(top));
		let mut sum = I::splat(0.0);
		for i in (0..s.len()).step_by(LANES) {
			// Padding is -inf, whose exponential adds +0.
			let e = I::exp(I::sub(I::get_or(s, i, f32::NEG_INFINITY), max));
			sum = I::add(sum, e);
			I::put(s, i, e);
		}
		let inv = I::splat(1.0 / I::sum(sum));
		for i in (0..s.len()).step_by(LANES) {
			let p = I::mul(I::get(s, i), inv);
			I::put(s, i, p);
		}
	}
}

/// `y = fma(factor, x, y)` for each of `terms`, in their order, which stays in registers.
#[inline(always)]
unsafe fn add_scaled<'a, I: Isa>(terms: impl Iterator<Item = (f32, &'a [f32])> + Clone, y: &mut [f32]) {
	// SAFETY: as Isa's methods.
	unsafe {
		for i in (0..y.len()).step_by(2 * LANES) {
			let mut sums = [I::get(y, i), I::splat(0.0)];
			let wide = i + LANES < y.len();
			if wide {
				sums[1] = I::get(y, i + LANES);
			}
			for (factor, x) in terms.clone() {
				let factor = I::splat(factor);
				sums[0] = I::fma(factor, I::get(x, i), sums[0]);
				if wide {
					sums[1] = I::fma(factor, I::get(x, i + LANES), sums[1]);
				}
			}
			I::put(y, i, sums[0]);
			if wide {
				I::put(y, i + LANES, sums[1]);
			}
		}
	}
}

/// Sum of products by lanes.
#[inline(always)]
pub(super) unsafe fn dot<I: Isa>(a: &[f32], b: &[f32]) -> f32 {
	// SAFETY: as Isa's methods.
	unsafe {
		let mut acc = I::splat(0.0);
		for i in (0..a.len()).step_by(LANES) {
			acc = I::fma(I::get(a, i), I::get(b, i), acc);
		}
		I::sum(acc)
	}
}

/// `out[r] = sum over keys j <= first + r of weights[r][j] * values[j]`, for the rows of a panel.
///
/// `weights` has rows of `stride`; `packed` holds the values with `depth` elements in a panel; `values` are the same, as rows.
#[inline(always)]
pub(super) unsafe fn weighted_sum<'a, I: Isa>(
	(rows, first, stride): (usize, usize, usize),
	weights: &[f32],
	(packed, depth): (&[f32], usize),
	values: impl Fn(usize) -> &'a [f32],
	panel: &mut [f32],
	out: &mut [f32],
) {
	// SAFETY: as Isa's methods; the buffers have whole tiles.
	unsafe {
		let (common, width) = (first + 1, out.len() / I::MR);
		pack::<I>(Operand::new(weights, 0, stride, true), rows, common, I::MR, panel.as_mut_ptr());
		panels::<I>((I::MR, width, common), (panel.as_ptr(), common), (packed.as_ptr(), depth), out.as_mut_ptr(), width, false);
		for (r, out) in out.chunks_exact_mut(width).enumerate().take(rows) {
			let terms = (common..=first + r).map(|j| (weights[r * stride + j], values(j)));
			let len = values(first).len();
			add_scaled::<I>(terms, &mut out[..len]);
		}
	}
}

/// `sum[j] = sum[j] + weights[i - begin][j] * source[i]` by fma for each key `j` and each query `i >= j` of the block `begin..end`, ascending.
///
/// `weights` has rows of `stride`, `sum` rows of `width` for whole tiles of keys; `packed` holds the block's source as elements.
#[inline(always)]
pub(super) unsafe fn add_weighted<'a, I: Isa>(
	(begin, end): (usize, usize),
	(weights, stride): (&[f32], usize),
	packed: &[f32],
	source: impl Fn(usize) -> &'a [f32],
	panel: &mut [f32],
	(sum, width): (&mut [f32], usize),
) {
	// SAFETY: as Isa's methods; the buffers have whole tiles.
	unsafe {
		for j in (0..end).step_by(I::MR) {
			// From this query on, every key of the panel is seen.
			let full = begin.max((j + I::MR).min(end) - 1);
			for key in j..if begin.max(j) < full { full } else { j } {
				let terms = (begin.max(key)..full).map(|i| (weights[(i - begin) * stride + key], source(i)));
				let len = source(begin).len();
				add_scaled::<I>(terms, &mut sum[key * width..key * width + len]);
			}
			let (k, skipped) = (end - full, full - begin);
			pack::<I>(Operand::new(weights, skipped * stride + j, stride, false), I::MR, k, I::MR, panel.as_mut_ptr());
			let (right, sum) = (packed.as_ptr().add(skipped * I::NR), sum.as_mut_ptr().add(j * width));
			panels::<I>((I::MR, width, k), (panel.as_ptr(), k), (right, end - begin), sum, width, true);
		}
	}
}

kernels! {
	/// Attention of one sequence's `queries` against its keys and values, `[keys, key width]`, for the heads of `group`.
	///
	/// Query 0 sees the keys up to `first`; `q` and `o` begin at query 0. Writes the group's part of `o`.
	fn forward<I>(dims: AttentionDims, group: usize, first: usize, queries: usize, q: &[f32], k: &[f32], v: &[f32], o: Output, buffer: &mut [f32]) {
		let (hd, qw, kw) = (dims.head_dim, dims.query_width(), dims.key_width());
		let (keys, scale, at) = (first + queries, attention_scale(hd), group * hd);
		let sizes = Sizes::new(I::MR, I::NR, keys, hd);
		let mut rest = buffer;
		let (packed_k, packed_v) = (take(&mut rest, sizes.packed()), take(&mut rest, sizes.packed()));
		let panel = take(&mut rest, sizes.panel());
		let scores = take(&mut rest, I::MR * sizes.keys);
		let out = take(&mut rest, I::MR * sizes.width);
		pack::<I>(Operand::new(k, at, kw, true), keys, hd, I::NR, packed_k.as_mut_ptr());
		pack::<I>(Operand::new(v, at, kw, false), hd, keys, I::NR, packed_v.as_mut_ptr());
		for h in group * dims.group()..(group + 1) * dims.group() {
			for i in (0..queries).step_by(I::MR) {
				let rows = I::MR.min(queries - i);
				let seen = first + i + rows;
				pack::<I>(Operand::new(q, i * qw + h * hd, qw, true), rows, hd, I::MR, panel.as_mut_ptr());
				let n = seen.next_multiple_of(I::NR);
				panels::<I>((I::MR, n, hd), (panel.as_ptr(), hd), (packed_k.as_ptr(), hd), scores.as_mut_ptr(), sizes.keys, false);
				for (r, s) in scores.chunks_exact_mut(sizes.keys).enumerate().take(rows) {
					softmax::<I>(&mut s[..first + i + r + 1], scale);
				}
				let values = |j: usize| &v[j * kw + at..j * kw + at + hd];
				weighted_sum::<I>((rows, first + i, sizes.keys), scores, (packed_v, keys), values, panel, out);
				for (r, out) in out.chunks_exact(sizes.width).enumerate().take(rows) {
					core::ptr::copy_nonoverlapping(out.as_ptr(), o.at.add((i + r) * o.stride + h * hd), hd);
				}
			}
		}
	}

	/// Backward pass of one sequence for the heads of `group`; all inputs and outputs begin at the sequence's first token.
	fn backward<I>(dims: AttentionDims, group: usize, input: AttentionBackward, dq: Output, dk: Output, dv: Output, buffer: &mut [f32]) {
		let (hd, qw, kw) = (dims.head_dim, dims.query_width(), dims.key_width());
		let (seq, scale, at) = (dims.seq, attention_scale(hd), group * hd);
		let sizes = Sizes::new(I::MR, I::NR, seq, hd);
		let mut rest = buffer;
		// Keys and values as lines, and keys as elements.
		let (lines_k, lines_v) = (take(&mut rest, sizes.packed()), take(&mut rest, sizes.packed()));
		let elements_k = take(&mut rest, sizes.packed());
		let (block_q, block_o) = (take(&mut rest, BLOCK * sizes.width + SLACK), take(&mut rest, BLOCK * sizes.width + SLACK));
		let panel = take(&mut rest, sizes.panel());
		let (p, ds) = (take(&mut rest, BLOCK * sizes.keys), take(&mut rest, BLOCK * sizes.keys));
		let out = take(&mut rest, I::MR * sizes.width);
		let (sum_k, sum_v) = (take(&mut rest, sizes.keys * sizes.width), take(&mut rest, sizes.keys * sizes.width));
		pack::<I>(Operand::new(input.k, at, kw, true), seq, hd, I::NR, lines_k.as_mut_ptr());
		pack::<I>(Operand::new(input.v, at, kw, true), seq, hd, I::NR, lines_v.as_mut_ptr());
		pack::<I>(Operand::new(input.k, at, kw, false), hd, seq, I::NR, elements_k.as_mut_ptr());
		sum_k.fill(0.0);
		sum_v.fill(0.0);
		for h in group * dims.group()..(group + 1) * dims.group() {
			let query = |i: usize| i * qw + h * hd;
			for begin in (0..seq).step_by(BLOCK) {
				let end = seq.min(begin + BLOCK);
				for i in (begin..end).step_by(I::MR) {
					let rows = I::MR.min(end - i);
					let n = (i + rows).next_multiple_of(I::NR);
					let of_panel = (i - begin) * sizes.keys;
					let (p, ds) = (&mut p[of_panel..], &mut ds[of_panel..]);
					pack::<I>(Operand::new(input.q, query(i), qw, true), rows, hd, I::MR, panel.as_mut_ptr());
					panels::<I>((I::MR, n, hd), (panel.as_ptr(), hd), (lines_k.as_ptr(), hd), p.as_mut_ptr(), sizes.keys, false);
					pack::<I>(Operand::new(input.d_o, query(i), qw, true), rows, hd, I::MR, panel.as_mut_ptr());
					panels::<I>((I::MR, n, hd), (panel.as_ptr(), hd), (lines_v.as_ptr(), hd), ds.as_mut_ptr(), sizes.keys, false);
					for r in 0..rows {
						let seen = r * sizes.keys..r * sizes.keys + i + r + 1;
						let (p, ds) = (&mut p[seen.clone()], &mut ds[seen]);
						softmax::<I>(p, scale);
						let row = query(i + r);
						let d = I::splat(dot::<I>(&input.d_o[row..row + hd], &input.o[row..row + hd]));
						for e in (0..p.len()).step_by(LANES) {
							let value = I::mul(I::mul(I::get(p, e), I::sub(I::get(ds, e), d)), I::splat(scale));
							I::put(ds, e, value);
						}
					}
					let values = |j: usize| &input.k[j * kw + at..j * kw + at + hd];
					weighted_sum::<I>((rows, i, sizes.keys), ds, (elements_k, seq), values, panel, out);
					for (r, out) in out.chunks_exact(sizes.width).enumerate().take(rows) {
						core::ptr::copy_nonoverlapping(out.as_ptr(), dq.at.add((i + r) * dq.stride + h * hd), hd);
					}
				}
				let depth = end - begin;
				pack::<I>(Operand::new(input.q, query(begin), qw, false), hd, depth, I::NR, block_q.as_mut_ptr());
				pack::<I>(Operand::new(input.d_o, query(begin), qw, false), hd, depth, I::NR, block_o.as_mut_ptr());
				for (weights, packed, source, sum) in [(&*ds, &*block_q, input.q, &mut *sum_k), (&*p, &*block_o, input.d_o, &mut *sum_v)] {
					let source = |i: usize| &source[query(i)..query(i) + hd];
					add_weighted::<I>((begin, end), (weights, sizes.keys), packed, source, panel, (&mut *sum, sizes.width));
				}
			}
		}
		for j in 0..seq {
			core::ptr::copy_nonoverlapping(sum_k.as_ptr().add(j * sizes.width), dk.at.add(j * dk.stride + at), hd);
			core::ptr::copy_nonoverlapping(sum_v.as_ptr().add(j * sizes.width), dv.at.add(j * dv.stride + at), hd);
		}
	}
}
