//! Rotary position embedding (rule 7), half-rotation: element `i` of a head turns with element `i + head_dim / 2`.

use crate::{num::fma, shape::RopeDims};

/// Turns `x` `[batch, seq, heads * head_dim]` in place; tables are `[seq, head_dim / 2]`.
///
/// `x1' = fma(x1, c, -(x2 * s))`, `x2' = fma(x2, c, x1 * s)`.
pub fn rope_forward(dims: RopeDims, x: &mut [f32], cos: &[f32], sin: &[f32]) {
	turn(dims, x, cos, sin, |x1, x2, c, s| (fma(x1, c, -(x2 * s)), fma(x2, c, x1 * s)));
}

/// Turns a gradient back, in place: `dx1 = fma(dy1, c, dy2 * s)`, `dx2 = fma(dy2, c, -(dy1 * s))`.
pub fn rope_backward(dims: RopeDims, dy: &mut [f32], cos: &[f32], sin: &[f32]) {
	turn(dims, dy, cos, sin, |y1, y2, c, s| (fma(y1, c, y2 * s), fma(y2, c, -(y1 * s))));
}

fn turn(dims: RopeDims, x: &mut [f32], cos: &[f32], sin: &[f32], f: impl Fn(f32, f32, f32, f32) -> (f32, f32)) {
	dims.check(x, cos, sin);
	let half = dims.head_dim / 2;
	for (row, x) in x.chunks_exact_mut(dims.heads * dims.head_dim).enumerate() {
		let t = row % dims.seq;
		let (cos, sin) = (&cos[t * half..(t + 1) * half], &sin[t * half..(t + 1) * half]);
		for head in x.chunks_exact_mut(dims.head_dim) {
			let (first, second) = head.split_at_mut(half);
			for i in 0..half {
				(first[i], second[i]) = f(first[i], second[i], cos[i], sin[i]);
			}
		}
	}
}
