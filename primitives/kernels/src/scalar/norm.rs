//! RMSNorm (rule 11): statistics of rows and element-wise parts as separate operators.
//!
//! For norms of heads, the heads of a tensor's rows are the rows here.

use super::reduce::dot;
use crate::{
	num::{fma, sqrt},
	shape::Start,
};

/// Rows of a group: those of a tile.
const GROUP: usize = 32;

/// `r = 1 / sqrt(ss / dim + eps)` for each row of `x` `[rows, dim]`, where `ss` is the row's sum of squares. `r` has `rows` elements.
pub fn rms_stats(x: &[f32], dim: usize, eps: f32, r: &mut [f32]) {
	assert_eq!(x.len(), r.len() * dim, "input");
	for (x, r) in x.chunks_exact(dim).zip(r) {
		*r = 1.0 / sqrt(dot(x, x) / dim as f32 + eps);
	}
}

/// `y = (x * r) * w`, with `x`, `y` `[rows, dim]`, `r` `[rows]`, `w` `[dim]`.
pub fn rms_apply(x: &[f32], r: &[f32], w: &[f32], y: &mut [f32]) {
	let dim = w.len();
	assert!(x.len() == r.len() * dim && y.len() == x.len(), "shape");
	for ((x, y), &r) in x.chunks_exact(dim).zip(y.chunks_exact_mut(dim)).zip(r) {
		for ((&x, &w), y) in x.iter().zip(w).zip(y) {
			*y = (x * r) * w;
		}
	}
}

/// The row scalar of the backward pass: `k = (sum((dy * w) * x) / dim) * ((r * r) * r)`.
pub fn rms_backward_stats(dy: &[f32], x: &[f32], w: &[f32], r: &[f32], k: &mut [f32]) {
	let dim = w.len();
	assert!(x.len() == r.len() * dim && dy.len() == x.len() && k.len() == r.len(), "shape");
	for (((dy, x), &r), k) in dy.chunks_exact(dim).zip(x.chunks_exact(dim)).zip(r).zip(k) {
		let mut lanes = super::Lanes::default();
		for (e, ((&dy, &x), &w)) in dy.iter().zip(x).zip(w).enumerate() {
			lanes.add_product(e, dy * w, x);
		}
		*k = (lanes.finish() / dim as f32) * ((r * r) * r);
	}
}

/// Inputs of [`rms_backward_apply`].
#[derive(Clone, Copy)]
pub struct RmsBackward<'a> {
	/// Gradient of the output, `[rows, dim]`.
	pub dy: &'a [f32],
	/// Input of the forward pass, `[rows, dim]`.
	pub x: &'a [f32],
	/// Weight, `[dim]`.
	pub w: &'a [f32],
	/// From [`rms_stats`], `[rows]`.
	pub r: &'a [f32],
	/// From [`rms_backward_stats`], `[rows]`.
	pub k: &'a [f32],
}

impl RmsBackward<'_> {
	/// Asserts that the lengths match.
	pub fn check(&self, dx: &[f32]) {
		let len = self.r.len() * self.w.len();
		assert!([self.dy, self.x, dx].iter().all(|x| x.len() == len) && self.k.len() == self.r.len(), "shape");
	}
}

/// Gradient of the input: `g = fma(-x, k, (dy * w) * r)`, then `dx = g` or `dx = dx + g`.
pub fn rms_backward_apply(input: RmsBackward, dx: &mut [f32], start: Start) {
	input.check(dx);
	let RmsBackward { dy, x, w, r, k } = input;
	let dim = w.len();
	for (row, dx) in dx.chunks_exact_mut(dim).enumerate() {
		let at = row * dim..(row + 1) * dim;
		for (((&dy, &x), &w), dx) in dy[at.clone()].iter().zip(&x[at]).zip(w).zip(dx) {
			let g = fma(-x, k[row], (dy * w) * r[row]);
			*dx = if start == Start::Zero { g } else { *dx + g };
		}
	}
}

/// Rows in groups of 32: the heads of each row of `dy` and `x`, `dim` numbers each, with their factors.
pub fn row_groups<'a>(
	dy: &'a [f32],
	x: &'a [f32],
	r: &'a [f32],
	heads: usize,
	dim: usize,
) -> impl Iterator<Item = impl Iterator<Item = ((&'a [f32], &'a [f32]), &'a f32)> + Clone> {
	let factors = GROUP * heads;
	let group = dy.chunks(factors * dim).zip(x.chunks(factors * dim)).zip(r.chunks(factors));
	group.map(move |((dy, x), r)| dy.chunks_exact(dim).zip(x.chunks_exact(dim)).zip(r))
}

/// Gradient of the weight: a chain `fma(dy, x * r, dw)` for each column of a head. It goes over the rows in groups of 32, for each over the heads
/// ascending, and for each of these over the group's rows ascending.
///
/// `dy` and `x` are `[rows, heads * dim]`, `r` is `[rows, heads]`, `dw` `[dim]`. A norm of whole rows has one head.
pub fn rms_weight_grad(dy: &[f32], x: &[f32], r: &[f32], heads: usize, dw: &mut [f32], start: Start) {
	let dim = dw.len();
	assert!(heads > 0 && r.len().is_multiple_of(heads) && x.len() == r.len() * dim && dy.len() == x.len(), "shape");
	if start == Start::Zero {
		dw.fill(0.0);
	}
	for rows in row_groups(dy, x, r, heads, dim) {
		for head in 0..heads {
			for ((dy, x), &r) in rows.clone().skip(head).step_by(heads) {
				for ((&dy, &x), dw) in dy.iter().zip(x).zip(dw.iter_mut()) {
					*dw = fma(dy, x * r, *dw);
				}
			}
		}
	}
}
