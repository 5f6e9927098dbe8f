//! Chains down the rows of a tensor: threads split the columns.

use super::{kernels, LANES};

kernels! {
	/// As [`neuroshard_kernels::scalar::rms_weight_grad`] for the columns of `dw`, the first of which is column `first` of `dim`; adds to what `dw` holds.
	fn rms_weight_grad<I>(dy: &[f32], x: &[f32], r: &[f32], dim: usize, first: usize, dw: &mut [f32]) {
		let width = dw.len();
		for ((dy, x), &r) in dy.chunks_exact(dim).zip(x.chunks_exact(dim)).zip(r) {
			let (dy, x) = (&dy[first..first + width], &x[first..first + width]);
			let r = I::splat(r);
			for i in (0..width).step_by(LANES) {
				let sum = I::fma(I::get(dy, i), I::mul(I::get(x, i), r), I::get(dw, i));
				I::put(dw, i, sum);
			}
		}
	}
}
