//! Unfused attention by matrix products on one head at a time.

use super::step::Executor;
use alloc::{vec, vec::Vec};
use neuroshard_kernels::{
	scalar::Lanes,
	shape::{MatDims, Start},
};

/// One head of every token of a sequence, `[seq, head_dim]`, of a tensor with rows of `width`.
fn head_of(x: &[f32], sequence: usize, seq: usize, width: usize, head: usize, head_dim: usize) -> Vec<f32> {
	let rows = x.chunks_exact(width).skip(sequence * seq).take(seq);
	rows.flat_map(|row| &row[head * head_dim..(head + 1) * head_dim]).copied().collect()
}

/// Puts one head of every token of a sequence back.
fn put_head(out: &mut [f32], sequence: usize, width: usize, head: usize, head_dim: usize, values: &[f32]) {
	let seq = values.len() / head_dim;
	let rows = out.chunks_exact_mut(width).skip(sequence * seq);
	for (row, values) in rows.zip(values.chunks_exact(head_dim)) {
		row[head * head_dim..(head + 1) * head_dim].copy_from_slice(values);
	}
}

fn transposed(x: &[f32], side: usize) -> Vec<f32> {
	(0..side).flat_map(|col| (0..side).map(move |row| x[row * side + col])).collect()
}

impl Executor<'_> {
	/// Sequences of the batch times heads.
	fn heads(&self, scores: usize) -> impl Iterator<Item = (usize, usize)> {
		let (heads, seq) = (self.parameters().heads, self.parameters().seq);
		(0..scores / (heads * seq)).flat_map(move |sequence| (0..heads).map(move |head| (sequence, head)))
	}

	/// `a b^T` of each head for the keys up to each query, times `scale`.
	pub(super) fn scores(&self, a: &[f32], b: &[f32], scale: Option<f32>, out: &mut [f32]) {
		let p = self.parameters();
		let (seq, hd, group) = (p.seq, p.head_dim, p.group());
		let rows = out.len() / seq;
		for ((sequence, head), out) in self.heads(rows).zip(out.chunks_exact_mut(seq * seq)) {
			let a = head_of(a, sequence, seq, p.heads * hd, head, hd);
			let b = head_of(b, sequence, seq, p.kv_heads * hd, head / group, hd);
			self.exec().matmul_nt(MatDims { m: seq, n: seq, k: hd }, &a, &b, out, Start::Zero);
			for (query, row) in out.chunks_exact_mut(seq).enumerate() {
				if let Some(scale) = scale {
					row[..=query].iter_mut().for_each(|value| *value *= scale);
				}
				row[query + 1..].fill(0.0);
			}
		}
	}

	pub(super) fn head_dots(&self, a: &[f32], b: &[f32], out: &mut [f32]) {
		let p = self.parameters();
		let (seq, hd, width) = (p.seq, p.head_dim, p.heads * p.head_dim);
		self.in_rows(out, 1, |row, out| {
			let (block, query) = (row / seq, row % seq);
			let (sequence, head) = (block / p.heads, block % p.heads);
			let at = (sequence * seq + query) * width + head * hd;
			let mut lanes = Lanes::default();
			for (element, (&a, &b)) in a[at..at + hd].iter().zip(&b[at..at + hd]).enumerate() {
				lanes.add_product(element, a, b);
			}
			out[0] = lanes.finish();
		});
	}

	/// Weights of each query times the values of its keys. The weights of later keys are zero, which changes no finite sum.
	pub(super) fn weighted_rows(&self, weights: &[f32], values: &[f32], out: &mut [f32]) {
		let p = self.parameters();
		let (seq, hd, group) = (p.seq, p.head_dim, p.group());
		for ((sequence, head), weights) in self.heads(weights.len() / seq).zip(weights.chunks_exact(seq * seq)) {
			let values = head_of(values, sequence, seq, p.kv_heads * hd, head / group, hd);
			let mut sums = vec![0.0; seq * hd];
			self.exec().matmul_nn(MatDims { m: seq, n: hd, k: seq }, weights, &values, &mut sums, Start::Zero);
			put_head(out, sequence, p.heads * hd, head, hd, &sums);
		}
	}

	/// For each key the weights that queries give it times their values, heads of the group ascending, then queries.
	pub(super) fn weighted_columns(&self, weights: &[f32], values: &[f32], out: &mut [f32]) {
		let p = self.parameters();
		let (seq, hd, group) = (p.seq, p.head_dim, p.group());
		let mut sums = vec![0.0; seq * hd];
		for ((sequence, head), weights) in self.heads(weights.len() / seq).zip(weights.chunks_exact(seq * seq)) {
			let values = head_of(values, sequence, seq, p.heads * hd, head, hd);
			// Not `matmul_tn`, which cuts long chains into segments.
			let start = if head % group == 0 { Start::Zero } else { Start::Existing };
			self.exec().matmul_nn(MatDims { m: seq, n: hd, k: seq }, &transposed(weights, seq), &values, &mut sums, start);
			put_head(out, sequence, p.kv_heads * hd, head / group, hd, &sums);
		}
	}
}
