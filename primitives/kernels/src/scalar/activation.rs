//! Element-wise operators: SwiGLU, residual addition, difference.

use crate::{math::sigmoid, num::fma};

/// `h = (gate * sigmoid(gate)) * up`.
pub fn swiglu_forward(gate: &[f32], up: &[f32], h: &mut [f32]) {
	assert!(gate.len() == h.len() && up.len() == h.len(), "shape");
	for ((&g, &u), h) in gate.iter().zip(up).zip(h) {
		*h = (g * sigmoid(g)) * u;
	}
}

/// Gradients of both inputs: with `s = sigmoid(gate)`, `d_up = dh * (gate * s)`, `d_gate = (dh * up) * (s * fma(gate, 1 - s, 1))`.
pub fn swiglu_backward(dh: &[f32], gate: &[f32], up: &[f32], d_gate: &mut [f32], d_up: &mut [f32]) {
	assert!([gate, up, d_gate, d_up].iter().all(|x| x.len() == dh.len()), "shape");
	for i in 0..dh.len() {
		let (dh, g, u) = (dh[i], gate[i], up[i]);
		let s = sigmoid(g);
		d_up[i] = dh * (g * s);
		d_gate[i] = (dh * u) * (s * fma(g, 1.0 - s, 1.0));
	}
}

/// `x = x + y`.
pub fn add_assign(x: &mut [f32], y: &[f32]) {
	assert_eq!(x.len(), y.len(), "shape");
	for (x, &y) in x.iter_mut().zip(y) {
		*x += y;
	}
}

/// `out = a - b`: a worker's delta is its start minus its end.
pub fn sub(a: &[f32], b: &[f32], out: &mut [f32]) {
	assert!(a.len() == out.len() && b.len() == out.len(), "shape");
	for ((&a, &b), out) in a.iter().zip(b).zip(out) {
		*out = a - b;
	}
}
