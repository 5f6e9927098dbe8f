//! Clipping, the inner AdamW step and the outer Nesterov step.

use crate::{
	num::{fma, sqrt},
	shape::AdamW,
};

/// Factor that bounds the gradient norm: with `norm = sqrt(sum_squares)`, `limit / norm` if `norm > limit`, else 1.
pub fn clip_scale(sum_squares: f32, limit: f32) -> f32 {
	let norm = sqrt(sum_squares);
	if norm > limit {
		limit / norm
	} else {
		1.0
	}
}

/// One AdamW step on parameters `p` and moments `m`, `v`, in place.
///
/// With `g' = g * clip`: `m = fma(beta1, m, complement1 * g')`, `v = fma(beta2, v, (complement2 * g') * g')`,
/// `u = (m * correction1) / (sqrt(v * correction2) + eps)`, `p = fma(-lr, u, p * decay)`.
pub fn adamw(step: &AdamW, p: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32]) {
	assert!(p.len() == g.len() && m.len() == g.len() && v.len() == g.len(), "shape");
	for i in 0..g.len() {
		let g = g[i] * step.clip;
		m[i] = fma(step.beta1, m[i], step.complement1 * g);
		v[i] = fma(step.beta2, v[i], (step.complement2 * g) * g);
		let u = (m[i] * step.correction1) / (sqrt(v[i] * step.correction2) + step.eps);
		p[i] = fma(-step.lr, u, p[i] * step.decay);
	}
}

/// DiLoCo's outer step with Nesterov momentum: `m = fma(beta, m, g)`, `theta = fma(-lr, fma(beta, m, g), theta)` with the new `m`.
pub fn nesterov(theta: &mut [f32], m: &mut [f32], g: &[f32], lr: f32, beta: f32) {
	assert!(theta.len() == g.len() && m.len() == g.len(), "shape");
	for i in 0..g.len() {
		m[i] = fma(beta, m[i], g[i]);
		theta[i] = fma(-lr, fma(beta, m[i], g[i]), theta[i]);
	}
}
