//! What executes the operators of a plan: this machine's processor, or a device with memory of its own.

use super::code::{encode_vector, CodeError};
use crate::native::{Exec, Shared};
use neuroshard_graph::{commit::tensors_root, config::Code, graph::Product, layout::ParamLayout, merkle::Hash};
use neuroshard_kernels::{
	scalar::{self, AttentionBackward, RmsBackward},
	shape::{AdamW, AttentionDims, MatDims, Muon, RopeDims, Start, Tiling},
};
use std::{borrow::Cow, ops::Range};

/// Elements of an arena that are one operand.
pub type At = Range<usize>;

/// Why a device gives no result: it ran out of memory, was lost, or refused a command. What is in its arena is not known then.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the device failed: {what} (error {code} of its driver)")]
pub struct DeviceError {
	/// What it was to do, or the operator that it was to compute.
	pub what: &'static str,
	/// The driver's number for the reason.
	pub code: i32,
}

/// Executes operators on an arena of floats, in the order of the calls. Operators have the arguments and results of the functions in
/// [`neuroshard_kernels::scalar`] of the same names, modulo canon; operands are disjoint parts of the arena.
///
/// A device that fails gives wrong numbers from then on, and says so in [`Backend::settled`].
pub trait Backend {
	/// Memory that operands lie in.
	type Arena: ?Sized;
	/// A table that operators read and never change.
	type Table;

	/// What computes in this machine's memory for it: hashes, codes, and what is outside its arena.
	fn host(&self) -> &Exec;
	/// Elements of an arena.
	fn len(&self, arena: &Self::Arena) -> usize;
	/// Keeps a table.
	fn table(&self, values: Vec<f32>) -> Self::Table;
	/// Whether all that was called has worked. Waits for it.
	///
	/// # Errors
	/// [`DeviceError`].
	fn settled(&self) -> Result<(), DeviceError>;

	/// The elements at `at`.
	fn view<'a>(&self, arena: &'a Self::Arena, at: At) -> Cow<'a, [f32]>;
	/// Writes `values` from element `first` on.
	fn write(&self, arena: &mut Self::Arena, first: usize, values: &[f32]);
	/// Sets all of `at` to `value`.
	fn fill(&self, arena: &mut Self::Arena, at: At, value: f32);
	/// Copies `from` to where it begins at `to`; both may be the same.
	fn copy(&self, arena: &mut Self::Arena, from: At, to: usize);
	/// One element.
	fn value(&self, arena: &Self::Arena, at: usize) -> f32 {
		self.view(arena, at..at.saturating_add(1)).first().copied().unwrap_or(f32::NAN)
	}

	/// Merkle root over the tiles of a vector of this layout.
	fn tensors_root(&self, arena: &Self::Arena, layout: &ParamLayout, at: At) -> Hash {
		tensors_root(layout, &self.view(arena, at), self.host().threads())
	}

	/// The same of several.
	fn tensors_roots(&self, arena: &Self::Arena, layout: &ParamLayout, at: [At; 3]) -> [Hash; 3] {
		at.map(|at| self.tensors_root(arena, layout, at))
	}

	/// See [`scalar::embedding_gather`].
	fn embedding_gather(&self, arena: &mut Self::Arena, table: At, dim: usize, ids: &[u32], out: At);
	/// See [`scalar::embedding_scatter_add`].
	fn embedding_scatter_add(&self, arena: &mut Self::Arena, dy: At, dim: usize, ids: &[u32], grad: At);
	/// See [`scalar::count_targets`].
	fn count_targets(&self, arena: &mut Self::Arena, targets: &[u32], out: At);
	/// See [`scalar::rms_stats`].
	fn rms_stats(&self, arena: &mut Self::Arena, x: At, dim: usize, eps: f32, r: At);
	/// See [`scalar::rms_apply`].
	fn rms_apply(&self, arena: &mut Self::Arena, x: At, r: At, w: At, y: At);
	/// See [`scalar::rms_backward_stats`].
	fn rms_backward_stats(&self, arena: &mut Self::Arena, input: RmsInput, k: At);
	/// See [`scalar::rms_backward_apply`].
	fn rms_backward_apply(&self, arena: &mut Self::Arena, input: RmsInput, k: At, dx: At, start: Start);
	/// See [`scalar::rms_weight_grad`]: the gradient of the output, input and factors.
	fn rms_weight_grad(&self, arena: &mut Self::Arena, input: [At; 3], heads: usize, dw: At, start: Start);
	/// See [`scalar::add_bias`].
	fn add_bias(&self, arena: &mut Self::Arena, x: At, b: At);
	/// See [`scalar::column_sums`].
	fn column_sums(&self, arena: &mut Self::Arena, dy: At, db: At, start: Start);
	/// See [`scalar::scale`].
	fn scale(&self, arena: &mut Self::Arena, x: At, factor: f32);
	/// See [`scalar::add_assign`].
	fn add_assign(&self, arena: &mut Self::Arena, x: At, y: At);
	/// See [`scalar::rope_forward`], and for `back` [`scalar::rope_backward`]; tables of cosines and sines.
	fn rope(&self, arena: &mut Self::Arena, dims: RopeDims, x: At, tables: [&Self::Table; 2], back: bool);
	/// See [`scalar::matmul_nt`], [`scalar::matmul_nn`], [`scalar::matmul_tn`], [`scalar::matmul_int8`], and for the kinds of quantized blocks
	/// [`scalar::matmul_int8_nt`], [`scalar::matmul_int8_nn`] and [`scalar::matmul_int8_tn`]. Both operands may be the same.
	fn product(&self, arena: &mut Self::Arena, kind: Product, dims: MatDims, operands: [At; 2], c: At, start: Start);
	/// [`Backend::product`] of quantized blocks, with operands that others read, too: what is made of them may be kept for these.
	fn product_sharing(
		&self,
		arena: &mut Self::Arena,
		kind: Product,
		dims: MatDims,
		operands: [At; 2],
		c: At,
		(start, _): (Start, Shared),
	) {
		self.product(arena, kind, dims, operands, c, start);
	}
	/// See [`scalar::attention_forward`].
	fn attention_forward(&self, arena: &mut Self::Arena, dims: AttentionDims, input: [At; 3], o: At);
	/// See [`scalar::attention_backward`]: queries, keys, values, outputs and their gradient; gradients of the first three.
	fn attention_backward(&self, arena: &mut Self::Arena, dims: AttentionDims, input: [At; 5], gradients: [At; 3]);
	/// See [`scalar::swiglu_forward`].
	fn swiglu_forward(&self, arena: &mut Self::Arena, gate: At, up: At, h: At);
	/// See [`scalar::swiglu_backward`]: the gradient, gate and up; gradients of these two.
	fn swiglu_backward(&self, arena: &mut Self::Arena, input: [At; 3], gradients: [At; 2]);
	/// See [`scalar::cross_entropy_stats`].
	fn cross_entropy_stats(&self, arena: &mut Self::Arena, logits: At, vocab: usize, max: At, sum: At);
	/// See [`scalar::cross_entropy_loss`]: logits, maxima and sums.
	fn cross_entropy_loss(&self, arena: &mut Self::Arena, input: [At; 3], vocab: usize, targets: &[u32], loss: At);
	/// See [`scalar::cross_entropy_backward`]: logits, maxima and sums.
	fn cross_entropy_backward(&self, arena: &mut Self::Arena, input: [At; 3], vocab: usize, targets: &[u32], inv_n: f32);
	/// See [`scalar::tile_sums`]: of a column `x`, with zeros up to the end of `partials`.
	fn partial_sums(&self, arena: &mut Self::Arena, x: At, partials: At);
	/// See [`scalar::tile_sum_squares`].
	fn tile_sum_squares(&self, arena: &mut Self::Arena, x: At, rows: usize, cols: usize, partials: At);
	/// See [`scalar::tree_sum`]; element `to` is the sum. Overwrites `values`.
	fn tree_sum(&self, arena: &mut Self::Arena, values: At, to: usize);
	/// See [`scalar::adamw`]: parameters, first and second moments.
	fn adamw(&self, arena: &mut Self::Arena, step: &AdamW, state: [At; 3], g: At);
	/// See [`scalar::muon_direction`].
	fn muon_direction(&self, arena: &mut Self::Arena, step: &Muon, m: At, g: At, u: At);
	/// See [`scalar::muon_normalize`]; the sum of squares is an element.
	fn muon_normalize(&self, arena: &mut Self::Arena, x: At, sum_squares: usize);
	/// See [`scalar::muon_polynomial`], of a whole square with sides of `n`.
	fn muon_polynomial(&self, arena: &mut Self::Arena, a: At, aa: At, n: usize);
	/// See [`scalar::muon`]: parameters and momentum.
	fn muon(&self, arena: &mut Self::Arena, step: &Muon, state: [At; 2], g: At, x: At);

	/// `x = base - end`, or with the decay of a residual that lies in `x`: `fma(decay, x, base - end)`.
	fn delta(&self, arena: &mut Self::Arena, base: &[f32], end: At, decay: Option<f32>, x: At);
	/// See [`encode_vector`].
	///
	/// # Errors
	/// [`CodeError::Length`].
	fn encode(&self, arena: &mut Self::Arena, code: Code, tiling: &Tiling, x: At) -> Result<Vec<f32>, CodeError>;
	/// Whether all of `x` is finite.
	fn is_finite(&self, arena: &Self::Arena, x: At) -> bool {
		self.view(arena, x).iter().all(|value| value.is_finite())
	}
}

/// What the backward pass of a norm reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RmsInput {
	/// Gradient of the output.
	pub dy: At,
	/// Input of the forward pass.
	pub x: At,
	/// Weight.
	pub w: At,
	/// Factors of rows.
	pub r: At,
}

/// Disjoint parts of the arena.
#[expect(clippy::expect_used, reason = "plans are checked before they are executed")]
pub(super) fn parts<const N: usize>(arena: &mut [f32], ranges: [At; N]) -> [&mut [f32]; N] {
	arena.get_disjoint_mut(ranges).expect("a plan gives the operands of one operator disjoint buffers within the arena")
}

impl Backend for Exec {
	type Arena = [f32];
	type Table = Vec<f32>;

	fn host(&self) -> &Exec {
		self
	}

	fn len(&self, arena: &[f32]) -> usize {
		arena.len()
	}

	fn table(&self, values: Vec<f32>) -> Vec<f32> {
		values
	}

	fn settled(&self) -> Result<(), DeviceError> {
		Ok(())
	}

	fn view<'a>(&self, arena: &'a [f32], at: At) -> Cow<'a, [f32]> {
		Cow::Borrowed(&arena[at])
	}

	fn write(&self, arena: &mut [f32], first: usize, values: &[f32]) {
		Self::copy(self, values, &mut arena[first..first + values.len()]);
	}

	fn fill(&self, arena: &mut [f32], at: At, value: f32) {
		arena[at].fill(value);
	}

	fn copy(&self, arena: &mut [f32], from: At, to: usize) {
		if from.start != to {
			let to = to..to + from.len();
			let [from, to] = parts(arena, [from, to]);
			Self::copy(self, from, to);
		}
	}

	fn tensors_roots(&self, arena: &[f32], layout: &ParamLayout, at: [At; 3]) -> [Hash; 3] {
		self.tensors_roots(layout, at.map(|at| &arena[at]))
	}

	fn embedding_gather(&self, arena: &mut [f32], table: At, dim: usize, ids: &[u32], out: At) {
		let [table, out] = parts(arena, [table, out]);
		self.embedding_gather(table, dim, ids, out);
	}

	fn embedding_scatter_add(&self, arena: &mut [f32], dy: At, dim: usize, ids: &[u32], grad: At) {
		let [dy, grad] = parts(arena, [dy, grad]);
		self.embedding_scatter_add(dy, dim, ids, grad);
	}

	fn count_targets(&self, arena: &mut [f32], targets: &[u32], out: At) {
		scalar::count_targets(targets, &mut arena[out]);
	}

	fn rms_stats(&self, arena: &mut [f32], x: At, dim: usize, eps: f32, r: At) {
		let [x, r] = parts(arena, [x, r]);
		self.rms_stats(x, dim, eps, r);
	}

	fn rms_apply(&self, arena: &mut [f32], x: At, r: At, w: At, y: At) {
		let [x, r, w, y] = parts(arena, [x, r, w, y]);
		self.rms_apply(x, r, w, y);
	}

	fn rms_backward_stats(&self, arena: &mut [f32], input: RmsInput, k: At) {
		let RmsInput { dy, x, w, r } = input;
		let [dy, x, w, r, k] = parts(arena, [dy, x, w, r, k]);
		self.rms_backward_stats(dy, x, w, r, k);
	}

	fn rms_backward_apply(&self, arena: &mut [f32], input: RmsInput, k: At, dx: At, start: Start) {
		let RmsInput { dy, x, w, r } = input;
		let [dy, x, w, r, k, dx] = parts(arena, [dy, x, w, r, k, dx]);
		self.rms_backward_apply(RmsBackward { dy, x, w, r, k }, dx, start);
	}

	fn rms_weight_grad(&self, arena: &mut [f32], [dy, x, r]: [At; 3], heads: usize, dw: At, start: Start) {
		let [dy, x, r, dw] = parts(arena, [dy, x, r, dw]);
		self.rms_weight_grad(dy, x, r, heads, dw, start);
	}

	fn add_bias(&self, arena: &mut [f32], x: At, b: At) {
		let [x, b] = parts(arena, [x, b]);
		self.add_bias(x, b);
	}

	fn column_sums(&self, arena: &mut [f32], dy: At, db: At, start: Start) {
		let [dy, db] = parts(arena, [dy, db]);
		self.column_sums(dy, db, start);
	}

	fn scale(&self, arena: &mut [f32], x: At, factor: f32) {
		self.scale(&mut arena[x], factor);
	}

	fn add_assign(&self, arena: &mut [f32], x: At, y: At) {
		let [x, y] = parts(arena, [x, y]);
		self.add_assign(x, y);
	}

	fn rope(&self, arena: &mut [f32], dims: RopeDims, x: At, [cos, sin]: [&Vec<f32>; 2], back: bool) {
		match back {
			false => self.rope_forward(dims, &mut arena[x], cos, sin),
			true => self.rope_backward(dims, &mut arena[x], cos, sin),
		}
	}

	fn product(&self, arena: &mut [f32], kind: Product, dims: MatDims, operands: [At; 2], c: At, start: Start) {
		self.product_sharing(arena, kind, dims, operands, c, (start, Shared::default()));
	}

	fn product_sharing(&self, arena: &mut [f32], kind: Product, dims: MatDims, [a, b]: [At; 2], c: At, (start, shared): (Start, Shared)) {
		let (a, b, c): (&[f32], &[f32], &mut [f32]) = if a == b {
			let [a, c] = parts(arena, [a, c]);
			(a, a, c)
		} else {
			let [a, b, c] = parts(arena, [a, b, c]);
			(a, b, c)
		};
		match kind {
			Product::Nt => self.matmul_nt(dims, a, b, c, start),
			Product::Nn => self.matmul_nn(dims, a, b, c, start),
			Product::Tn => self.matmul_tn(dims, a, b, c, start),
			Product::Int8 => self.matmul_int8(dims, a, b, c, start),
			Product::Int8Nt => self.shared_int8_nt(dims, [a, b], c, start, shared),
			Product::Int8Nn => self.shared_int8_nn(dims, [a, b], c, start, shared),
			Product::Int8Tn => self.shared_int8_tn(dims, [a, b], c, start, shared),
		}
	}

	fn attention_forward(&self, arena: &mut [f32], dims: AttentionDims, [q, k, v]: [At; 3], o: At) {
		let [q, k, v, o] = parts(arena, [q, k, v, o]);
		self.attention_forward(dims, q, k, v, o);
	}

	fn attention_backward(&self, arena: &mut [f32], dims: AttentionDims, [q, k, v, o, d_o]: [At; 5], [dq, dk, dv]: [At; 3]) {
		let [q, k, v, o, d_o, dq, dk, dv] = parts(arena, [q, k, v, o, d_o, dq, dk, dv]);
		self.attention_backward(dims, AttentionBackward { q, k, v, o, d_o }, dq, dk, dv);
	}

	fn swiglu_forward(&self, arena: &mut [f32], gate: At, up: At, h: At) {
		let [gate, up, h] = parts(arena, [gate, up, h]);
		self.swiglu_forward(gate, up, h);
	}

	fn swiglu_backward(&self, arena: &mut [f32], [dh, gate, up]: [At; 3], [d_gate, d_up]: [At; 2]) {
		let [dh, gate, up, d_gate, d_up] = parts(arena, [dh, gate, up, d_gate, d_up]);
		self.swiglu_backward(dh, gate, up, d_gate, d_up);
	}

	fn cross_entropy_stats(&self, arena: &mut [f32], logits: At, vocab: usize, max: At, sum: At) {
		let [logits, max, sum] = parts(arena, [logits, max, sum]);
		self.cross_entropy_stats(logits, vocab, max, sum);
	}

	fn cross_entropy_loss(&self, arena: &mut [f32], [logits, max, sum]: [At; 3], vocab: usize, targets: &[u32], loss: At) {
		let [logits, max, sum, loss] = parts(arena, [logits, max, sum, loss]);
		self.cross_entropy_loss(logits, vocab, targets, max, sum, loss);
	}

	fn cross_entropy_backward(&self, arena: &mut [f32], [logits, max, sum]: [At; 3], vocab: usize, targets: &[u32], inv_n: f32) {
		let [logits, max, sum] = parts(arena, [logits, max, sum]);
		self.cross_entropy_backward(logits, vocab, targets, max, sum, inv_n);
	}

	fn partial_sums(&self, arena: &mut [f32], x: At, partials: At) {
		let [x, partials] = parts(arena, [x, partials]);
		self.partial_sums(x, partials);
	}

	fn tile_sum_squares(&self, arena: &mut [f32], x: At, rows: usize, cols: usize, partials: At) {
		let [x, partials] = parts(arena, [x, partials]);
		self.tile_sum_squares(x, rows, cols, partials);
	}

	fn tree_sum(&self, arena: &mut [f32], values: At, to: usize) {
		arena[to] = self.tree_sum(&mut arena[values]);
	}

	fn adamw(&self, arena: &mut [f32], step: &AdamW, [p, m, v]: [At; 3], g: At) {
		let [p, m, v, g] = parts(arena, [p, m, v, g]);
		self.adamw(step, p, m, v, g);
	}

	fn muon_direction(&self, arena: &mut [f32], step: &Muon, m: At, g: At, u: At) {
		let [m, g, u] = parts(arena, [m, g, u]);
		self.muon_direction(step, m, g, u);
	}

	fn muon_normalize(&self, arena: &mut [f32], x: At, sum_squares: usize) {
		let sum_squares = arena[sum_squares];
		self.muon_normalize(&mut arena[x], sum_squares);
	}

	fn muon_polynomial(&self, arena: &mut [f32], a: At, aa: At, n: usize) {
		let [a, aa] = parts(arena, [a, aa]);
		self.muon_polynomial(a, aa, n, 0);
	}

	fn muon(&self, arena: &mut [f32], step: &Muon, [p, m]: [At; 2], g: At, x: At) {
		let [p, m, g, x] = parts(arena, [p, m, g, x]);
		self.muon(step, p, m, g, x);
	}

	fn delta(&self, arena: &mut [f32], base: &[f32], end: At, decay: Option<f32>, x: At) {
		let [end, x] = parts(arena, [end, x]);
		match decay {
			None => self.sub(base, end, x),
			Some(decay) => self.delta_and_residual(base, end, decay, x),
		}
	}

	fn encode(&self, arena: &mut [f32], code: Code, tiling: &Tiling, x: At) -> Result<Vec<f32>, CodeError> {
		encode_vector(code, self, tiling, &mut arena[x])
	}
}
