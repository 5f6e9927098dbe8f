//! Matrix products (rule 8): each output takes `fma(a, b, c)` with k ascending, from its start value.

use crate::{
	num::fma,
	shape::{MatDims, Start, SEGMENT},
};
use alloc::vec;

/// `C[m, n] = A[m, k] B[n, k]^T`, plus what `c` holds if `start` says so.
pub fn matmul_nt(dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
	dims.check(a, b, c);
	let MatDims { n, k, .. } = dims;
	for (i, row) in c.chunks_exact_mut(n.max(1)).enumerate() {
		let a = &a[i * k..(i + 1) * k];
		for (j, out) in row.iter_mut().enumerate() {
			let mut acc = if start == Start::Zero { 0.0 } else { *out };
			for (&x, &y) in a.iter().zip(&b[j * k..(j + 1) * k]) {
				acc = fma(x, y, acc);
			}
			*out = acc;
		}
	}
}

/// `C[m, n] = A[m, k] B[k, n]`, plus what `c` holds if `start` says so.
pub fn matmul_nn(dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
	dims.check(a, b, c);
	let MatDims { n, k, .. } = dims;
	for (i, row) in c.chunks_exact_mut(n.max(1)).enumerate() {
		if start == Start::Zero {
			row.fill(0.0);
		}
		for kk in 0..k {
			add_scaled(a[i * k + kk], &b[kk * n..(kk + 1) * n], row);
		}
	}
}

/// `C[m, n] = A[k, m]^T B[k, n]`, plus what `c` holds if `start` says so.
///
/// Here `k` counts tokens. It is cut into segments of 4,096; the first starts from the start value, every later one from +0,
/// and the segments are added in ascending order.
pub fn matmul_tn(dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
	dims.check(a, b, c);
	let MatDims { m, n, k } = dims;
	let mut later = vec![0.0; if k > SEGMENT { n } else { 0 }];
	for (i, row) in c.chunks_exact_mut(n.max(1)).enumerate() {
		if start == Start::Zero {
			row.fill(0.0);
		}
		for kk in 0..k.min(SEGMENT) {
			add_scaled(a[kk * m + i], &b[kk * n..(kk + 1) * n], row);
		}
		for first in (SEGMENT..k).step_by(SEGMENT) {
			later.fill(0.0);
			for kk in first..k.min(first + SEGMENT) {
				add_scaled(a[kk * m + i], &b[kk * n..(kk + 1) * n], &mut later);
			}
			for (c, &s) in row.iter_mut().zip(&later) {
				*c += s;
			}
		}
	}
}

/// `y = fma(factor, x, y)` for each element.
pub(super) fn add_scaled(factor: f32, x: &[f32], y: &mut [f32]) {
	for (y, &x) in y.iter_mut().zip(x) {
		*y = fma(factor, x, *y);
	}
}
