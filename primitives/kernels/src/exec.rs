//! The operators of [`crate::scalar`] on this machine's SIMD registers and threads, with the same bits.

use crate::{
	scalar::{self, AttentionBackward, RmsBackward},
	shape::{AdamW, AttentionDims, MatDims, RopeDims, Start},
};

/// Why an [`Exec`] cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExecError {
	/// No thread was asked for.
	#[error("at least one thread is needed")]
	NoThreads,
}

/// Runs operators. Methods have the names, arguments, panics and results of the functions in [`crate::scalar`].
pub struct Exec {
	threads: usize,
}

impl Exec {
	/// An executor that computes with `threads` threads, the caller's included.
	pub fn new(threads: usize) -> Result<Self, ExecError> {
		if threads == 0 {
			return Err(ExecError::NoThreads);
		}
		Ok(Self { threads })
	}

	/// Threads it computes with.
	pub fn threads(&self) -> usize {
		self.threads
	}

	/// As [`scalar::matmul_nt`].
	pub fn matmul_nt(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		scalar::matmul_nt(dims, a, b, c, start)
	}

	/// As [`scalar::matmul_nn`].
	pub fn matmul_nn(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		scalar::matmul_nn(dims, a, b, c, start)
	}

	/// As [`scalar::matmul_tn`].
	pub fn matmul_tn(&self, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
		scalar::matmul_tn(dims, a, b, c, start)
	}

	/// As [`scalar::rms_stats`].
	pub fn rms_stats(&self, x: &[f32], dim: usize, eps: f32, r: &mut [f32]) {
		scalar::rms_stats(x, dim, eps, r)
	}

	/// As [`scalar::rms_apply`].
	pub fn rms_apply(&self, x: &[f32], r: &[f32], w: &[f32], y: &mut [f32]) {
		scalar::rms_apply(x, r, w, y)
	}

	/// As [`scalar::rms_backward_stats`].
	pub fn rms_backward_stats(&self, dy: &[f32], x: &[f32], w: &[f32], r: &[f32], k: &mut [f32]) {
		scalar::rms_backward_stats(dy, x, w, r, k)
	}

	/// As [`scalar::rms_backward_apply`].
	pub fn rms_backward_apply(&self, input: RmsBackward, dx: &mut [f32], start: Start) {
		scalar::rms_backward_apply(input, dx, start)
	}

	/// As [`scalar::rms_weight_grad`].
	pub fn rms_weight_grad(&self, dy: &[f32], x: &[f32], r: &[f32], dw: &mut [f32], start: Start) {
		scalar::rms_weight_grad(dy, x, r, dw, start)
	}

	/// As [`scalar::rope_forward`].
	pub fn rope_forward(&self, dims: RopeDims, x: &mut [f32], cos: &[f32], sin: &[f32]) {
		scalar::rope_forward(dims, x, cos, sin)
	}

	/// As [`scalar::rope_backward`].
	pub fn rope_backward(&self, dims: RopeDims, dy: &mut [f32], cos: &[f32], sin: &[f32]) {
		scalar::rope_backward(dims, dy, cos, sin)
	}

	/// As [`scalar::attention_forward`].
	pub fn attention_forward(&self, dims: AttentionDims, q: &[f32], k: &[f32], v: &[f32], o: &mut [f32]) {
		scalar::attention_forward(dims, q, k, v, o)
	}

	/// As [`scalar::attention_decode`].
	pub fn attention_decode(&self, dims: AttentionDims, q: &[f32], k: &[f32], v: &[f32], o: &mut [f32]) {
		scalar::attention_decode(dims, q, k, v, o)
	}

	/// As [`scalar::attention_backward`].
	pub fn attention_backward(&self, dims: AttentionDims, input: AttentionBackward, dq: &mut [f32], dk: &mut [f32], dv: &mut [f32]) {
		scalar::attention_backward(dims, input, dq, dk, dv)
	}

	/// As [`scalar::swiglu_forward`].
	pub fn swiglu_forward(&self, gate: &[f32], up: &[f32], h: &mut [f32]) {
		scalar::swiglu_forward(gate, up, h)
	}

	/// As [`scalar::swiglu_backward`].
	pub fn swiglu_backward(&self, dh: &[f32], gate: &[f32], up: &[f32], d_gate: &mut [f32], d_up: &mut [f32]) {
		scalar::swiglu_backward(dh, gate, up, d_gate, d_up)
	}

	/// As [`scalar::add_assign`].
	pub fn add_assign(&self, x: &mut [f32], y: &[f32]) {
		scalar::add_assign(x, y)
	}

	/// As [`scalar::sub`].
	pub fn sub(&self, a: &[f32], b: &[f32], out: &mut [f32]) {
		scalar::sub(a, b, out)
	}

	/// As [`scalar::embedding_gather`].
	pub fn embedding_gather(&self, table: &[f32], dim: usize, ids: &[u32], out: &mut [f32]) {
		scalar::embedding_gather(table, dim, ids, out)
	}

	/// As [`scalar::embedding_scatter_add`].
	pub fn embedding_scatter_add(&self, dy: &[f32], dim: usize, ids: &[u32], grad: &mut [f32]) {
		scalar::embedding_scatter_add(dy, dim, ids, grad)
	}

	/// As [`scalar::cross_entropy_stats`].
	pub fn cross_entropy_stats(&self, logits: &[f32], vocab: usize, max: &mut [f32], sum: &mut [f32]) {
		scalar::cross_entropy_stats(logits, vocab, max, sum)
	}

	/// As [`scalar::cross_entropy_loss`].
	pub fn cross_entropy_loss(&self, logits: &[f32], vocab: usize, targets: &[u32], max: &[f32], sum: &[f32], loss: &mut [f32]) {
		scalar::cross_entropy_loss(logits, vocab, targets, max, sum, loss)
	}

	/// As [`scalar::cross_entropy_backward`].
	pub fn cross_entropy_backward(&self, logits: &mut [f32], vocab: usize, targets: &[u32], max: &[f32], sum: &[f32], inv_n: f32) {
		scalar::cross_entropy_backward(logits, vocab, targets, max, sum, inv_n)
	}

	/// As [`scalar::adamw`].
	pub fn adamw(&self, step: &AdamW, p: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32]) {
		scalar::adamw(step, p, m, v, g)
	}

	/// As [`scalar::nesterov`].
	pub fn nesterov(&self, theta: &mut [f32], m: &mut [f32], g: &[f32], lr: f32, beta: f32) {
		scalar::nesterov(theta, m, g, lr, beta)
	}

	/// As [`scalar::mean`].
	pub fn mean(&self, inputs: &[&[f32]], out: &mut [f32]) {
		scalar::mean(inputs, out)
	}

	/// As [`scalar::trimmed_mean`].
	pub fn trimmed_mean(&self, inputs: &[&[f32]], trim: usize, out: &mut [f32]) {
		scalar::trimmed_mean(inputs, trim, out)
	}

	/// As [`scalar::tile_sum_squares`].
	pub fn tile_sum_squares(&self, x: &[f32], rows: usize, cols: usize, partials: &mut [f32]) {
		scalar::tile_sum_squares(x, rows, cols, partials)
	}

	/// As [`scalar::tile_sums`].
	pub fn tile_sums(&self, x: &[f32], rows: usize, cols: usize, partials: &mut [f32]) {
		scalar::tile_sums(x, rows, cols, partials)
	}

	/// As [`scalar::tree_sum`].
	pub fn tree_sum(&self, values: &mut [f32]) -> f32 {
		scalar::tree_sum(values)
	}
}
