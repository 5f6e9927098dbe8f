//! Muon: momentum, orthogonalised by Newton-Schulz steps, for the weights of projections. Its products are those of [`super::product`].

use crate::{
	num::{fma, sqrt},
	shape::Muon,
};

/// Coefficients a, b and c of a Newton-Schulz step `x' = (a + b (x x^T) + c (x x^T)^2) x`. Five steps take singular values from 0.01 to 1 to about 1
/// ([Jordan 2024](https://kellerjordan.github.io/posts/muon/)).
pub const MUON_STEP: [f32; 3] = [3.4445, -4.775, 2.0315];
/// Added to the norm that a direction is divided by.
pub const MUON_EPS: f32 = 1e-7;

/// What is orthogonalised: Nesterov's look ahead along the new momentum.
///
/// With `g' = g * clip`: `n = fma(momentum, m, g')`, `u = fma(momentum, n, g')`. `m` stays as it is: [`muon`] makes the same `n` of it.
pub fn muon_direction(step: &Muon, m: &[f32], g: &[f32], u: &mut [f32]) {
	assert!(m.len() == g.len() && u.len() == g.len(), "shape");
	for ((u, &m), &g) in u.iter_mut().zip(m).zip(g) {
		let g = g * step.clip;
		*u = fma(step.momentum, fma(step.momentum, m, g), g);
	}
}

/// `x = x / (sqrt(sum_squares) + 1e-7)`, with the whole-tensor sum of the squares of `x`: no singular value is above 1 then.
pub fn muon_normalize(x: &mut [f32], sum_squares: f32) {
	let norm = sqrt(sum_squares) + MUON_EPS;
	for x in x {
		*x /= norm;
	}
}

/// What a Newton-Schulz step multiplies `x` by, in place of `aa`: `fma(2.0315, aa, -4.775 * a)`, and on the diagonal `3.4445 +` that. `a` is `x x^T`,
/// or `x^T x`, and `aa` its square; both are rows of `n` numbers of a square, from row `first` of it on.
pub fn muon_polynomial(a: &[f32], aa: &mut [f32], n: usize, first: usize) {
	assert!(n > 0 && a.len().is_multiple_of(n) && aa.len() == a.len(), "shape");
	for (row, (a, aa)) in a.chunks_exact(n).zip(aa.chunks_exact_mut(n)).enumerate() {
		for (aa, &a) in aa.iter_mut().zip(a) {
			*aa = fma(MUON_STEP[2], *aa, MUON_STEP[1] * a);
		}
		if let Some(diagonal) = aa.get_mut(first + row) {
			*diagonal += MUON_STEP[0];
		}
	}
}

/// One step of Muon on parameters `p` and momentum `m`, in place, with the orthogonalised direction `x` of [`muon_direction`].
///
/// `m = fma(momentum, m, g * clip)`, `p = fma(-rate, x, p * decay)`.
pub fn muon(step: &Muon, p: &mut [f32], m: &mut [f32], g: &[f32], x: &[f32]) {
	assert!(p.len() == g.len() && m.len() == g.len() && x.len() == g.len(), "shape");
	for i in 0..g.len() {
		m[i] = fma(step.momentum, m[i], g[i] * step.clip);
		p[i] = fma(-step.rate, x[i], p[i] * step.decay);
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	const HALVES: Muon = Muon { rate: 0.25, momentum: 0.5, decay: 0.5, clip: 0.5 };

	#[test]
	fn a_direction_looks_ahead_along_the_new_momentum() {
		let mut u = [0.0; 3];
		// g' = 2, n = 0.5 * 4 + 2 = 4, u = 0.5 * 4 + 2 = 4; g' = -1, n = 0.5 - 1, u = -0.25 - 1; nothing of nothing.
		muon_direction(&HALVES, &[4.0, 1.0, 0.0], &[4.0, -2.0, 0.0], &mut u);
		assert_eq!(u, [4.0, -1.25, 0.0]);
	}

	#[test]
	fn a_direction_is_divided_by_its_norm_and_a_little() {
		let mut x = [3.0, -4.0];
		muon_normalize(&mut x, 25.0);
		// 5 + 1e-7 is 5.
		assert_eq!(x, [0.6, -0.8]);
		let mut small = [1e-7, 0.0];
		muon_normalize(&mut small, 1e-7 * 1e-7);
		assert!((small[0] - 0.5).abs() < 1e-6, "{small:?}");
		let mut none = [0.0; 2];
		muon_normalize(&mut none, 0.0);
		assert_eq!(none, [0.0; 2]);
	}

	#[test]
	fn a_polynomial_has_its_constant_on_the_diagonal_alone() {
		let (a, mut b) = ([1.0, 2.0, 2.0, 4.0], [5.0, 10.0, 10.0, 20.0]);
		muon_polynomial(&a, &mut b, 2, 0);
		// 5 * 2.0315 - 4.775 = 5.3825, 10 * 2.0315 - 2 * 4.775 = 10.765, 20 * 2.0315 - 4 * 4.775 = 21.53.
		for (found, expected) in b.iter().zip([5.3825 + 3.4445, 10.765, 10.765, 21.53 + 3.4445f32]) {
			assert!((found - expected).abs() < 4e-6, "{b:?}");
		}
		let mut last = [10.0, 20.0];
		muon_polynomial(&a[2..], &mut last, 2, 1);
		assert_eq!(last, b[2..]);
		let mut beside = [10.0, 20.0];
		muon_polynomial(&a[2..], &mut beside, 2, 2);
		assert_eq!([beside[0], beside[1] + 3.4445], last);
	}

	#[test]
	fn a_step_shrinks_parameters_and_goes_against_the_direction() {
		let (mut p, mut m) = ([2.0, 1.0], [4.0, 0.0]);
		muon(&HALVES, &mut p, &mut m, &[4.0, -2.0], &[1.0, -2.0]);
		assert_eq!((p, m), ([0.75, 1.0], [4.0, -1.0]));
	}
}
