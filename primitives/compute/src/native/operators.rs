//! Operators whose outputs split by elements, rows or columns.

use super::{Exec, Parts};
use crate::simd::{columns, elementwise, rows};
use neuroshard_kernels::{
	num::fma,
	scalar::{self, RmsBackward, MUON_STEP},
	shape::{tile_count, AdamW, Muon, RopeDims, Start},
};

// SAFETY of every `get` below: ranges of one split are disjoint, and so are the parts cut by them.
impl Exec {
	/// As [`scalar::swiglu_forward`].
	pub fn swiglu_forward(&self, gate: &[f32], up: &[f32], h: &mut [f32]) {
		assert!(gate.len() == h.len() && up.len() == h.len(), "shape");
		let h = Parts::new(h);
		self.split(gate.len(), 4, |at| {
			let h = unsafe { h.get(at.clone()) };
			elementwise::swiglu_forward(self.level, &gate[at.clone()], &up[at], h);
		});
	}

	/// As [`scalar::swiglu_backward`].
	pub fn swiglu_backward(&self, dh: &[f32], gate: &[f32], up: &[f32], d_gate: &mut [f32], d_up: &mut [f32]) {
		assert!([gate, up, d_gate, d_up].iter().all(|x| x.len() == dh.len()), "shape");
		let (d_gate, d_up) = (Parts::new(d_gate), Parts::new(d_up));
		self.split(dh.len(), 4, |at| {
			let (d_gate, d_up) = unsafe { (d_gate.get(at.clone()), d_up.get(at.clone())) };
			elementwise::swiglu_backward(self.level, &dh[at.clone()], &gate[at.clone()], &up[at], d_gate, d_up);
		});
	}

	/// Copies `x` to `y`, which has the same length.
	pub fn copy(&self, x: &[f32], y: &mut [f32]) {
		assert_eq!(x.len(), y.len(), "shape");
		let y = Parts::new(y);
		self.split(x.len(), 1, |at| unsafe { y.get(at.clone()) }.copy_from_slice(&x[at]));
	}

	/// As [`scalar::add_assign`].
	pub fn add_assign(&self, x: &mut [f32], y: &[f32]) {
		assert_eq!(x.len(), y.len(), "shape");
		let x = Parts::new(x);
		self.split(y.len(), 1, |at| elementwise::add_assign(self.level, unsafe { x.get(at.clone()) }, &y[at]));
	}

	/// As [`scalar::add_bias`].
	pub fn add_bias(&self, x: &mut [f32], b: &[f32]) {
		assert!(!b.is_empty() && x.len().is_multiple_of(b.len()), "shape");
		let (rows, x) = (x.len() / b.len(), Parts::new(x));
		self.split(rows, b.len(), |at| rows::add_bias(self.level, unsafe { x.get(at.start * b.len()..at.end * b.len()) }, b));
	}

	/// As [`scalar::scale`].
	pub fn scale(&self, x: &mut [f32], factor: f32) {
		let (len, x) = (x.len(), Parts::new(x));
		self.split(len, 1, |at| scalar::scale(unsafe { x.get(at) }, factor));
	}

	/// As [`scalar::column_sums`].
	pub fn column_sums(&self, dy: &[f32], db: &mut [f32], start: Start) {
		let cols = db.len();
		assert!(cols > 0 && dy.len().is_multiple_of(cols), "shape");
		if start == Start::Zero {
			db.fill(0.0);
		}
		let db = Parts::new(db);
		self.split(cols, dy.len() / cols, |at| columns::column_sums(self.level, dy, cols, at.start, unsafe { db.get(at) }));
	}

	/// As [`scalar::sub`].
	pub fn sub(&self, a: &[f32], b: &[f32], out: &mut [f32]) {
		assert!(a.len() == out.len() && b.len() == out.len(), "shape");
		let out = Parts::new(out);
		self.split(a.len(), 1, |at| elementwise::sub(self.level, &a[at.clone()], &b[at.clone()], unsafe { out.get(at) }));
	}

	/// `x = fma(decay, x, a - b)`: a delta and the residual of those before.
	pub fn delta_and_residual(&self, a: &[f32], b: &[f32], decay: f32, x: &mut [f32]) {
		assert!(a.len() == x.len() && b.len() == x.len(), "shape");
		let (len, x) = (x.len(), Parts::new(x));
		self.split(len, 1, |at| {
			let operands = a[at.clone()].iter().zip(&b[at.clone()]);
			unsafe { x.get(at) }.iter_mut().zip(operands).for_each(|(x, (a, b))| *x = fma(decay, *x, a - b));
		});
	}

	/// As [`scalar::adamw`].
	pub fn adamw(&self, step: &AdamW, p: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32]) {
		assert!(p.len() == g.len() && m.len() == g.len() && v.len() == g.len(), "shape");
		let (p, m, v) = (Parts::new(p), Parts::new(m), Parts::new(v));
		self.split(g.len(), 4, |at| {
			let (p, m, v) = unsafe { (p.get(at.clone()), m.get(at.clone()), v.get(at.clone())) };
			elementwise::adamw(self.level, step, p, m, v, &g[at]);
		});
	}

	/// As [`scalar::muon_direction`].
	pub fn muon_direction(&self, step: &Muon, m: &[f32], g: &[f32], u: &mut [f32]) {
		assert!(m.len() == g.len() && u.len() == g.len(), "shape");
		let u = Parts::new(u);
		self.split(g.len(), 2, |at| elementwise::muon_direction(self.level, step, &m[at.clone()], &g[at.clone()], unsafe { u.get(at) }));
	}

	/// As [`scalar::muon_normalize`].
	pub fn muon_normalize(&self, x: &mut [f32], sum_squares: f32) {
		let (len, x) = (x.len(), Parts::new(x));
		self.split(len, 2, |at| elementwise::muon_normalize(self.level, unsafe { x.get(at) }, sum_squares));
	}

	/// As [`scalar::muon_polynomial`].
	pub fn muon_polynomial(&self, a: &[f32], aa: &mut [f32], n: usize, first: usize) {
		assert!(n > 0 && a.len().is_multiple_of(n) && aa.len() == a.len(), "shape");
		let aa = Parts::new(aa);
		self.split(a.len() / n, n, |rows| {
			let at = rows.start * n..rows.end * n;
			let aa = unsafe { aa.get(at.clone()) };
			elementwise::muon_polynomial(self.level, &a[at], aa);
			for (row, aa) in (first + rows.start..).zip(aa.chunks_exact_mut(n)) {
				if let Some(diagonal) = aa.get_mut(row) {
					*diagonal += MUON_STEP[0];
				}
			}
		});
	}

	/// As [`scalar::muon`].
	pub fn muon(&self, step: &Muon, p: &mut [f32], m: &mut [f32], g: &[f32], x: &[f32]) {
		assert!(p.len() == g.len() && m.len() == g.len() && x.len() == g.len(), "shape");
		let (p, m) = (Parts::new(p), Parts::new(m));
		self.split(g.len(), 3, |at| {
			let (p, m) = unsafe { (p.get(at.clone()), m.get(at.clone())) };
			elementwise::muon(self.level, step, p, m, &g[at.clone()], &x[at]);
		});
	}

	/// As [`scalar::nesterov`].
	pub fn nesterov(&self, theta: &mut [f32], m: &mut [f32], g: &[f32], lr: f32, beta: f32) {
		assert!(theta.len() == g.len() && m.len() == g.len(), "shape");
		let (theta, m) = (Parts::new(theta), Parts::new(m));
		self.split(g.len(), 2, |at| {
			let (theta, m) = unsafe { (theta.get(at.clone()), m.get(at.clone())) };
			elementwise::nesterov(self.level, theta, m, &g[at], lr, beta);
		});
	}

	/// As [`scalar::embedding_gather`].
	pub fn embedding_gather(&self, table: &[f32], dim: usize, ids: &[u32], out: &mut [f32]) {
		assert_eq!(out.len(), ids.len() * dim, "output");
		let out = Parts::new(out);
		self.split(ids.len(), dim, |at| {
			let out = unsafe { out.get(at.start * dim..at.end * dim) };
			scalar::embedding_gather(table, dim, &ids[at], out);
		});
	}

	/// As [`scalar::embedding_scatter_add`].
	pub fn embedding_scatter_add(&self, dy: &[f32], dim: usize, ids: &[u32], grad: &mut [f32]) {
		assert_eq!(dy.len(), ids.len() * dim, "gradient");
		let grad = Parts::new(grad);
		// Threads split the columns, so that every chain over tokens stays with one of them.
		self.split(dim, ids.len(), |columns| {
			for (&id, dy) in ids.iter().zip(dy.chunks_exact(dim)) {
				let row = id as usize * dim;
				let row = unsafe { grad.get(row + columns.start..row + columns.end) };
				elementwise::add_assign(self.level, row, &dy[columns.clone()]);
			}
		});
	}

	/// As [`scalar::rms_stats`].
	pub fn rms_stats(&self, x: &[f32], dim: usize, eps: f32, r: &mut [f32]) {
		assert_eq!(x.len(), r.len() * dim, "input");
		let (len, r) = (r.len(), Parts::new(r));
		self.split(len, dim, |at| rows::rms_stats(self.level, &x[at.start * dim..at.end * dim], dim, eps, unsafe { r.get(at) }));
	}

	/// As [`scalar::rms_apply`].
	pub fn rms_apply(&self, x: &[f32], r: &[f32], w: &[f32], y: &mut [f32]) {
		let dim = w.len();
		assert!(x.len() == r.len() * dim && y.len() == x.len(), "shape");
		let y = Parts::new(y);
		self.split(r.len(), dim, |at| {
			let range = at.start * dim..at.end * dim;
			rows::rms_apply(self.level, &x[range.clone()], &r[at], w, unsafe { y.get(range) });
		});
	}

	/// As [`scalar::rms_backward_stats`].
	pub fn rms_backward_stats(&self, dy: &[f32], x: &[f32], w: &[f32], r: &[f32], k: &mut [f32]) {
		let dim = w.len();
		assert!(x.len() == r.len() * dim && dy.len() == x.len() && k.len() == r.len(), "shape");
		let k = Parts::new(k);
		self.split(r.len(), dim, |at| {
			let range = at.start * dim..at.end * dim;
			rows::rms_backward_stats(self.level, &dy[range.clone()], &x[range], w, &r[at.clone()], unsafe { k.get(at) });
		});
	}

	/// As [`scalar::rms_backward_apply`].
	pub fn rms_backward_apply(&self, input: RmsBackward, dx: &mut [f32], start: Start) {
		input.check(dx);
		let dim = input.w.len();
		let dx = Parts::new(dx);
		self.split(input.r.len(), dim, |at| {
			let range = at.start * dim..at.end * dim;
			let RmsBackward { dy, x, w, r, k } = input;
			let part = RmsBackward { dy: &dy[range.clone()], x: &x[range.clone()], w, r: &r[at.clone()], k: &k[at] };
			rows::rms_backward_apply(self.level, part, unsafe { dx.get(range) }, start);
		});
	}

	/// As [`scalar::rms_weight_grad`].
	pub fn rms_weight_grad(&self, dy: &[f32], x: &[f32], r: &[f32], heads: usize, dw: &mut [f32], start: Start) {
		let dim = dw.len();
		assert!(heads > 0 && r.len().is_multiple_of(heads) && x.len() == r.len() * dim && dy.len() == x.len(), "shape");
		if start == Start::Zero {
			dw.fill(0.0);
		}
		let dw = Parts::new(dw);
		self.split(dim, r.len(), |at| columns::rms_weight_grad(self.level, dy, x, r, heads, dim, at.start, unsafe { dw.get(at) }));
	}

	/// As [`scalar::rope_forward`].
	pub fn rope_forward(&self, dims: RopeDims, x: &mut [f32], cos: &[f32], sin: &[f32]) {
		self.turn(dims, x, cos, sin, rows::rope_forward);
	}

	/// As [`scalar::rope_backward`].
	pub fn rope_backward(&self, dims: RopeDims, dy: &mut [f32], cos: &[f32], sin: &[f32]) {
		self.turn(dims, dy, cos, sin, rows::rope_backward);
	}

	fn turn(&self, dims: RopeDims, x: &mut [f32], cos: &[f32], sin: &[f32], f: Turn) {
		dims.check(x, cos, sin);
		let width = dims.heads * dims.head_dim;
		let (tokens, x) = (x.len() / width, Parts::new(x));
		self.split(tokens, width, |at| {
			let x = unsafe { x.get(at.start * width..at.end * width) };
			f(self.level, dims, at.start, x, cos, sin);
		});
	}

	/// As [`scalar::cross_entropy_stats`].
	pub fn cross_entropy_stats(&self, logits: &[f32], vocab: usize, max: &mut [f32], sum: &mut [f32]) {
		assert!(logits.len() == max.len() * vocab && sum.len() == max.len(), "shape");
		let (len, max, sum) = (max.len(), Parts::new(max), Parts::new(sum));
		self.split(len, 4 * vocab, |at| {
			let (max, sum) = unsafe { (max.get(at.clone()), sum.get(at.clone())) };
			rows::cross_entropy_stats(self.level, &logits[at.start * vocab..at.end * vocab], vocab, max, sum);
		});
	}

	/// As [`scalar::cross_entropy_loss`].
	pub fn cross_entropy_loss(&self, logits: &[f32], vocab: usize, targets: &[u32], max: &[f32], sum: &[f32], loss: &mut [f32]) {
		scalar::cross_entropy_loss(logits, vocab, targets, max, sum, loss);
	}

	/// As [`scalar::cross_entropy_backward`].
	pub fn cross_entropy_backward(&self, logits: &mut [f32], vocab: usize, targets: &[u32], max: &[f32], sum: &[f32], inv_n: f32) {
		let rows = targets.len();
		assert!(logits.len() == rows * vocab && max.len() == rows && sum.len() == rows, "shape");
		let logits = Parts::new(logits);
		self.split(rows, 4 * vocab, |at| {
			let part = unsafe { logits.get(at.start * vocab..at.end * vocab) };
			rows::cross_entropy_backward(self.level, part, vocab, &targets[at.clone()], &max[at.clone()], &sum[at], inv_n);
		});
	}

	/// As [`scalar::tile_sum_squares`].
	pub fn tile_sum_squares(&self, x: &[f32], rows: usize, cols: usize, partials: &mut [f32]) {
		assert_eq!(x.len(), rows * cols, "input");
		assert_eq!(partials.len(), tile_count(rows, cols), "partials");
		let (len, partials) = (partials.len(), Parts::new(partials));
		self.split(len, 1024, |at| rows::tile_sum_squares(self.level, x, rows, cols, at.start, unsafe { partials.get(at) }));
	}

	/// As [`scalar::tile_sums`].
	pub fn tile_sums(&self, x: &[f32], rows: usize, cols: usize, partials: &mut [f32]) {
		scalar::tile_sums(x, rows, cols, partials);
	}

	/// Sums of the tiles of the column `x`, and zeros up to the end of `partials`.
	pub(crate) fn partial_sums(&self, x: &[f32], partials: &mut [f32]) {
		let (sums, rest) = partials.split_at_mut(tile_count(x.len(), 1));
		self.tile_sums(x, x.len(), 1, sums);
		rest.fill(0.0);
	}

	/// As [`scalar::tree_sum`].
	pub fn tree_sum(&self, values: &mut [f32]) -> f32 {
		scalar::tree_sum(values)
	}
}

/// A rotation of some rows of a tensor.
type Turn = fn(crate::simd::Level, RopeDims, usize, &mut [f32], &[f32], &[f32]);
