//! Products of few rows with weights that were packed once: each panel of weights is read once from memory, for all rows.

use super::{kernels, product::Output, Isa, LANES};
use core::ops::Range;

/// `R` rows of `a` times `P` panels of `16 NV` columns: `c = a b`, or `c + a b`, k ascending in every accumulator.
///
/// # Safety
/// As [`Isa`]'s methods. `a` has `R` rows of `k` elements; `b` has `P` panels of `k` lines; `c` has `R` rows, `ldc` apart, of `P * 16 NV` elements.
#[inline(always)]
pub(super) unsafe fn few<I: Isa, const R: usize, const NV: usize, const P: usize>(
	k: usize,
	a: *const f32,
	b: *const f32,
	c: *mut f32,
	ldc: usize,
	load: bool,
) {
	let width = NV * LANES;
	// SAFETY: as for this function.
	unsafe {
		let mut acc = [[[I::splat(0.0); NV]; P]; R];
		if load {
			for (r, row) in acc.iter_mut().enumerate() {
				for (p, panel) in row.iter_mut().enumerate() {
					for (v, acc) in panel.iter_mut().enumerate() {
						*acc = I::load(c.add(r * ldc + p * width + v * LANES));
					}
				}
			}
		}
		for kk in 0..k {
			for p in 0..P {
				let line = b.add((p * k + kk) * width);
				for v in 0..NV {
					let right = I::load(line.add(v * LANES));
					for (r, row) in acc.iter_mut().enumerate() {
						row[p][v] = I::fma(I::splat(*a.add(r * k + kk)), right, row[p][v]);
					}
				}
			}
		}
		for (r, row) in acc.iter().enumerate() {
			for (p, panel) in row.iter().enumerate() {
				for (v, &acc) in panel.iter().enumerate() {
					I::store(c.add(r * ldc + p * width + v * LANES), acc);
				}
			}
		}
	}
}

/// [`few`] over `n` columns, `P` panels at a time as long as there are so many whole ones, then one by one.
///
/// # Safety
/// As [`few`]; `c` has `n` columns.
#[inline(always)]
pub(super) unsafe fn columns<I: Isa, const R: usize, const NV: usize, const P: usize>(
	(n, k): (usize, usize),
	a: *const f32,
	b: *const f32,
	c: *mut f32,
	ldc: usize,
	load: bool,
) {
	let width = NV * LANES;
	let mut j = 0;
	// SAFETY: as for this function; the buffer holds 8 rows of the widest panel.
	unsafe {
		while j + P * width <= n {
			few::<I, R, NV, P>(k, a, b.add(j * k), c.add(j), ldc, load);
			j += P * width;
		}
		while j + width <= n {
			few::<I, R, NV, 1>(k, a, b.add(j * k), c.add(j), ldc, load);
			j += width;
		}
		if j < n {
			let mut edge = [0.0f32; 8 * 32];
			if load {
				for r in 0..R {
					core::ptr::copy_nonoverlapping(c.add(r * ldc + j), edge.as_mut_ptr().add(r * width), n - j);
				}
			}
			few::<I, R, NV, 1>(k, a, b.add(j * k), edge.as_mut_ptr(), width, load);
			for r in 0..R {
				core::ptr::copy_nonoverlapping(edge.as_ptr().add(r * width), c.add(r * ldc + j), n - j);
			}
		}
	}
}

kernels! {
	/// Columns `lines` of the product of `m` rows of `a`, at most [`Isa::FEW`], with weights packed in `b` in panels of all `k` elements.
	///
	/// `lines` begins at a panel. `c` is the output's element (0, 0).
	fn few_rows<I>(a: &[f32], m: usize, k: usize, lines: Range<usize>, b: &[f32], c: Output, load: bool) {
		debug_assert!(a.len() >= m * k && m <= I::FEW && b.len() >= lines.end.next_multiple_of(I::NR) * k);
		I::few(m, (lines.len(), k), a.as_ptr(), b.as_ptr().add(lines.start * k), c.at.add(lines.start), c.stride, load);
	}
}
