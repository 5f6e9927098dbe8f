//! Operators in which every output element depends on the elements at its own index.

use super::{kernels, LANES};
use neuroshard_kernels::{
	scalar::{MUON_EPS, MUON_STEP},
	shape::{AdamW, Muon},
};

kernels! {
	/// As [`neuroshard_kernels::scalar::swiglu_forward`].
	fn swiglu_forward<I>(gate: &[f32], up: &[f32], h: &mut [f32]) {
		for i in (0..h.len()).step_by(LANES) {
			let g = I::get(gate, i);
			I::put(h, i, I::mul(I::mul(g, I::sigmoid(g)), I::get(up, i)));
		}
	}

	/// As [`neuroshard_kernels::scalar::swiglu_backward`].
	fn swiglu_backward<I>(dh: &[f32], gate: &[f32], up: &[f32], d_gate: &mut [f32], d_up: &mut [f32]) {
		let one = I::splat(1.0);
		for i in (0..dh.len()).step_by(LANES) {
			let (dh, g, u) = (I::get(dh, i), I::get(gate, i), I::get(up, i));
			let s = I::sigmoid(g);
			I::put(d_up, i, I::mul(dh, I::mul(g, s)));
			I::put(d_gate, i, I::mul(I::mul(dh, u), I::mul(s, I::fma(g, I::sub(one, s), one))));
		}
	}

	/// As [`neuroshard_kernels::scalar::add_assign`].
	fn add_assign<I>(x: &mut [f32], y: &[f32]) {
		for i in (0..y.len()).step_by(LANES) {
			let sum = I::add(I::get(x, i), I::get(y, i));
			I::put(x, i, sum);
		}
	}

	/// As [`neuroshard_kernels::scalar::sub`].
	fn sub<I>(a: &[f32], b: &[f32], out: &mut [f32]) {
		for i in (0..out.len()).step_by(LANES) {
			I::put(out, i, I::sub(I::get(a, i), I::get(b, i)));
		}
	}

	/// As [`neuroshard_kernels::scalar::adamw`].
	fn adamw<I>(step: &AdamW, p: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32]) {
		let (beta1, beta2) = (I::splat(step.beta1), I::splat(step.beta2));
		let (complement1, complement2) = (I::splat(step.complement1), I::splat(step.complement2));
		let (correction1, correction2) = (I::splat(step.correction1), I::splat(step.correction2));
		let (clip, decay, eps, lr) = (I::splat(step.clip), I::splat(step.decay), I::splat(step.eps), I::splat(step.lr));
		for i in (0..g.len()).step_by(LANES) {
			let g = I::mul(I::get(g, i), clip);
			let new_m = I::fma(beta1, I::get(m, i), I::mul(complement1, g));
			let new_v = I::fma(beta2, I::get(v, i), I::mul(I::mul(complement2, g), g));
			let u = I::div(I::mul(new_m, correction1), I::add(I::sqrt(I::mul(new_v, correction2)), eps));
			let new_p = I::fnma(lr, u, I::mul(I::get(p, i), decay));
			I::put(m, i, new_m);
			I::put(v, i, new_v);
			I::put(p, i, new_p);
		}
	}

	/// As [`neuroshard_kernels::scalar::muon_direction`].
	fn muon_direction<I>(step: &Muon, m: &[f32], g: &[f32], u: &mut [f32]) {
		let (momentum, clip) = (I::splat(step.momentum), I::splat(step.clip));
		for i in (0..g.len()).step_by(LANES) {
			let g = I::mul(I::get(g, i), clip);
			I::put(u, i, I::fma(momentum, I::fma(momentum, I::get(m, i), g), g));
		}
	}

	/// As [`neuroshard_kernels::scalar::muon_normalize`].
	fn muon_normalize<I>(x: &mut [f32], sum_squares: f32) {
		let norm = I::add(I::sqrt(I::splat(sum_squares)), I::splat(MUON_EPS));
		for i in (0..x.len()).step_by(LANES) {
			let quotient = I::div(I::get(x, i), norm);
			I::put(x, i, quotient);
		}
	}

	/// As [`neuroshard_kernels::scalar::muon_polynomial`], but for the diagonal.
	fn muon_polynomial<I>(a: &[f32], aa: &mut [f32]) {
		let (b, c) = (I::splat(MUON_STEP[1]), I::splat(MUON_STEP[2]));
		for i in (0..a.len()).step_by(LANES) {
			let sum = I::fma(c, I::get(aa, i), I::mul(b, I::get(a, i)));
			I::put(aa, i, sum);
		}
	}

	/// As [`neuroshard_kernels::scalar::muon`].
	fn muon<I>(step: &Muon, p: &mut [f32], m: &mut [f32], g: &[f32], x: &[f32]) {
		let (rate, momentum) = (I::splat(step.rate), I::splat(step.momentum));
		let (decay, clip) = (I::splat(step.decay), I::splat(step.clip));
		for i in (0..g.len()).step_by(LANES) {
			let new_m = I::fma(momentum, I::get(m, i), I::mul(I::get(g, i), clip));
			let new_p = I::fnma(rate, I::get(x, i), I::mul(I::get(p, i), decay));
			I::put(m, i, new_m);
			I::put(p, i, new_p);
		}
	}

	/// As [`neuroshard_kernels::scalar::nesterov`].
	fn nesterov<I>(theta: &mut [f32], m: &mut [f32], g: &[f32], lr: f32, beta: f32) {
		let (lr, beta) = (I::splat(lr), I::splat(beta));
		for i in (0..g.len()).step_by(LANES) {
			let g = I::get(g, i);
			let new_m = I::fma(beta, I::get(m, i), g);
			let new_theta = I::fnma(lr, I::fma(beta, new_m, g), I::get(theta, i));
			I::put(m, i, new_m);
			I::put(theta, i, new_theta);
		}
	}

	/// As [`neuroshard_kernels::scalar::mean`], for the elements of `out`, which are those from `first` on of every input.
	fn mean<I>(inputs: &[&[f32]], first: usize, out: &mut [f32]) {
		let n = I::splat(inputs.len() as f32);
		for i in (0..out.len()).step_by(LANES) {
			let mut sum = I::splat(0.0);
			for x in inputs {
				sum = I::add(sum, I::get(&x[first..first + out.len()], i));
			}
			I::put(out, i, I::div(sum, n));
		}
	}

	/// As [`neuroshard_kernels::scalar::trimmed_mean`], for the elements of `out`, which are those from `first` on of every input.
	fn trimmed_mean<I>(inputs: &[&[f32]], factors: &[f32], trim: usize, first: usize, out: &mut [f32]) {
		let n = I::splat((inputs.len() - 2 * trim) as f32);
		let mut keys = Vec::with_capacity(inputs.len());
		for i in (0..out.len()).step_by(LANES) {
			keys.clear();
			// Insertion by minima and maxima: lane by lane, the keys stay sorted.
			for (number, x) in inputs.iter().enumerate() {
				let x = I::get(&x[first..first + out.len()], i);
				let mut key = I::key(match factors.get(number) {
					None => x,
					Some(&factor) => I::mul(I::splat(factor), x),
				});
				for sorted in keys.iter_mut() {
					let greater = I::max_key(*sorted, key);
					*sorted = I::min_key(*sorted, key);
					key = greater;
				}
				keys.push(key);
			}
			let mut sum = I::splat(0.0);
			for &key in &keys[trim..inputs.len() - trim] {
				sum = I::add(sum, I::from_key(key));
			}
			I::put(out, i, I::div(sum, n));
		}
	}

	/// As [`neuroshard_kernels::scalar::weighted_sum`], for the elements of `out`, which are those from `first` on of every input.
	fn weighted_sum<I>(inputs: &[&[f32]], weights: &[f32], first: usize, out: &mut [f32]) {
		for i in (0..out.len()).step_by(LANES) {
			let mut sum = I::splat(0.0);
			for (x, &weight) in inputs.iter().zip(weights) {
				sum = I::fma(I::splat(weight), I::get(&x[first..first + out.len()], i), sum);
			}
			I::put(out, i, sum);
		}
	}
}
