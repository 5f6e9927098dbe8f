//! Chains down the rows of a tensor: threads split the columns.

use super::{kernels, LANES};
use neuroshard_kernels::scalar::row_groups;

kernels! {
	/// As [`neuroshard_kernels::scalar::rms_weight_grad`] for the columns of `dw`, the first of which is column `first` of `dim`; adds to what `dw` holds.
	fn rms_weight_grad<I>(dy: &[f32], x: &[f32], r: &[f32], heads: usize, dim: usize, first: usize, dw: &mut [f32]) {
		let width = dw.len();
		for rows in row_groups(dy, x, r, heads, dim) {
			for head in 0..heads {
				for ((dy, x), &r) in rows.clone().skip(head).step_by(heads) {
					let (dy, x) = (&dy[first..first + width], &x[first..first + width]);
					let r = I::splat(r);
					for i in (0..width).step_by(LANES) {
						let sum = I::fma(I::get(dy, i), I::mul(I::get(x, i), r), I::get(dw, i));
						I::put(dw, i, sum);
					}
				}
			}
		}
	}

	/// As [`neuroshard_kernels::scalar::column_sums`] for the columns of `db`, the first of which is column `first` of `cols`; adds to what `db` holds.
	fn column_sums<I>(dy: &[f32], cols: usize, first: usize, db: &mut [f32]) {
		let width = db.len();
		for dy in dy.chunks_exact(cols) {
			let dy = &dy[first..first + width];
			for i in (0..width).step_by(LANES) {
				let sum = I::add(I::get(db, i), I::get(dy, i));
				I::put(db, i, sum);
			}
		}
	}
}
