//! Attention of one query against keys and values that lie in pages, as a model that answers keeps them.
//!
//! A page holds [`PAGE`] tokens of one layer and key head: the keys as elements, `[head_dim, PAGE]`, so that the scores of 16 tokens are
//! one vector, then the values as rows, `[PAGE, head width]`, padded to whole vectors. Nothing is packed for a query.

use super::{attention::softmax, kernels, Isa, LANES};
use neuroshard_kernels::schedule::attention_scale;

/// Tokens of a page, a multiple of [`LANES`].
pub const PAGE: usize = 64;
/// Vectors of a page's tokens.
const VECTORS: usize = PAGE / LANES;
/// Vectors of a head's values that are added up at a time.
const WIDE: usize = 4;

/// Scores of `H` queries, `head_dim` apart, against a page, into rows of `p` that are `stride` apart.
///
/// # Safety
/// As [`Isa`]'s methods; the pointers have these elements.
#[inline(always)]
unsafe fn scores<I: Isa, const H: usize>(hd: usize, q: *const f32, keys: *const f32, p: *mut f32, stride: usize) {
	// SAFETY: as for this function.
	unsafe {
		let mut acc = [[I::splat(0.0); VECTORS]; H];
		for d in 0..hd {
			let line = keys.add(d * PAGE);
			let mut key = [I::splat(0.0); VECTORS];
			for (v, key) in key.iter_mut().enumerate() {
				*key = I::load(line.add(v * LANES));
			}
			for (h, acc) in acc.iter_mut().enumerate() {
				let q = I::splat(*q.add(h * hd + d));
				for (acc, &key) in acc.iter_mut().zip(&key) {
					*acc = I::fma(q, key, *acc);
				}
			}
		}
		for (h, acc) in acc.iter().enumerate() {
			for (v, &acc) in acc.iter().enumerate() {
				I::store(p.add(h * stride + v * LANES), acc);
			}
		}
	}
}

/// Adds `count` values of a page, weighted by the rows of `p`, to `H` rows of `out`, `width` apart: `V` vectors from element `at` on.
///
/// # Safety
/// As [`scores`].
#[inline(always)]
unsafe fn values<I: Isa, const H: usize, const V: usize>(
	(count, width, at): (usize, usize, usize),
	p: *const f32,
	stride: usize,
	values: *const f32,
	out: *mut f32,
) {
	// SAFETY: as for this function.
	unsafe {
		let mut acc = [[I::splat(0.0); V]; H];
		for (h, acc) in acc.iter_mut().enumerate() {
			for (v, acc) in acc.iter_mut().enumerate() {
				*acc = I::load(out.add(h * width + at + v * LANES));
			}
		}
		for j in 0..count {
			let row = values.add(j * width + at);
			for v in 0..V {
				let value = I::load(row.add(v * LANES));
				for (h, acc) in acc.iter_mut().enumerate() {
					acc[v] = I::fma(I::splat(*p.add(h * stride + j)), value, acc[v]);
				}
			}
		}
		for (h, acc) in acc.iter().enumerate() {
			for (v, &acc) in acc.iter().enumerate() {
				I::store(out.add(h * width + at + v * LANES), acc);
			}
		}
	}
}

/// The outputs of `H` neighbouring query heads of one group.
///
/// # Safety
/// As [`Isa`]'s methods; each page has its part from `at` on, `buffer` room for what [`buffer`] says.
#[inline(always)]
unsafe fn heads<I: Isa, const H: usize>(
	(hd, at, keys): (usize, usize, usize),
	q: &[f32],
	pages: &[&[f32]],
	o: &mut [f32],
	buffer: &mut [f32],
) {
	let (width, stride) = (hd.next_multiple_of(LANES), keys.next_multiple_of(PAGE));
	let (p, out) = buffer.split_at_mut(H * stride);
	let out = &mut out[..H * width];
	debug_assert!(q.len() == H * hd && o.len() == q.len() && pages.len() * PAGE >= keys);
	// SAFETY: rows of `p` have whole pages, rows of `out` whole vectors; a page has `head_dim` lines of keys, then its values.
	unsafe {
		for (page, first) in pages.iter().zip((0..keys).step_by(PAGE)) {
			scores::<I, H>(hd, q.as_ptr(), page[at..].as_ptr(), p.as_mut_ptr().add(first), stride);
		}
		for p in p.chunks_exact_mut(stride) {
			softmax::<I>(&mut p[..keys], attention_scale(hd));
		}
		out.fill(0.0);
		for (page, first) in pages.iter().zip((0..keys).step_by(PAGE)) {
			let (count, rows) = (PAGE.min(keys - first), page[at + hd * PAGE..].as_ptr());
			let (p, out) = (p.as_ptr().add(first), out.as_mut_ptr());
			let mut column = 0;
			while column + WIDE * LANES <= width {
				values::<I, H, WIDE>((count, width, column), p, stride, rows, out);
				column += WIDE * LANES;
			}
			while column < width {
				values::<I, H, 1>((count, width, column), p, stride, rows, out);
				column += LANES;
			}
		}
	}
	for (out, o) in out.chunks_exact(width).zip(o.chunks_exact_mut(hd)) {
		o.copy_from_slice(&out[..hd]);
	}
}

/// Elements of a page's part for one layer and key head.
pub(crate) fn part(head_dim: usize) -> usize {
	PAGE * (head_dim + head_dim.next_multiple_of(LANES))
}

/// Elements of working memory that [`attend`] needs.
pub(crate) fn buffer(keys: usize, head_dim: usize) -> usize {
	2 * (keys.next_multiple_of(PAGE) + head_dim.next_multiple_of(LANES))
}

kernels! {
	/// Attention of the query heads of one group, `[group, head_dim]`, against the first `keys` tokens of `pages`, whose part for this layer and
	/// key head begins at `at`.
	fn attend<I>(head_dim: usize, at: usize, keys: usize, q: &[f32], pages: &[&[f32]], o: &mut [f32], buffer: &mut [f32]) {
		let dims = (head_dim, at, keys);
		let (mut queries, mut outputs) = (q.chunks_exact(2 * head_dim), o.chunks_exact_mut(2 * head_dim));
		for (q, o) in queries.by_ref().zip(outputs.by_ref()) {
			heads::<I, 2>(dims, q, pages, o, buffer);
		}
		let (q, o) = (queries.remainder(), outputs.into_remainder());
		if !q.is_empty() {
			heads::<I, 1>(dims, q, pages, o, buffer);
		}
	}
}
