//! Causal grouped-query attention (rule 10): exact softmax over the keys up to the query, without online rescaling.

use super::{product::add_scaled, reduce::dot, Lanes};
use crate::{
	math::exp,
	num::{fma, from_order_key, order_key},
	schedule::attention_scale,
	shape::AttentionDims,
};
use alloc::{vec, vec::Vec};

/// `o = softmax(scale * q k^T) v`, where query `i` of a sequence sees its keys `0..=i`. `o` has the shape of `q`.
pub fn attention_forward(dims: AttentionDims, q: &[f32], k: &[f32], v: &[f32], o: &mut [f32]) {
	assert!(q.len() == dims.query_len() && o.len() == q.len() && k.len() == dims.key_len() && v.len() == k.len(), "shape");
	let keys = dims.seq * dims.key_width();
	let mut p = Vec::with_capacity(dims.seq);
	for (row, (q, o)) in q.chunks_exact(dims.query_width()).zip(o.chunks_exact_mut(dims.query_width())).enumerate() {
		let (b, i) = (row / dims.seq, row % dims.seq);
		let end = b * keys + (i + 1) * dims.key_width();
		attend(dims, q, &k[b * keys..end], &v[b * keys..end], o, &mut p);
	}
}

/// Attention of one query row against a cache: `q`, `o` `[heads * head_dim]`, `k`, `v` `[len, kv_heads * head_dim]`.
///
/// Gives the bits of the last row of [`attention_forward`] over the same tokens. `batch` and `seq` of `dims` are not used.
pub fn attention_decode(dims: AttentionDims, q: &[f32], k: &[f32], v: &[f32], o: &mut [f32]) {
	assert!(q.len() == dims.query_width() && o.len() == q.len(), "query shape");
	assert!(k.len() == v.len() && k.len().is_multiple_of(dims.key_width()), "cache shape");
	attend(dims, q, k, v, o, &mut Vec::new());
}

/// One token's heads against the keys it sees.
fn attend(dims: AttentionDims, q: &[f32], k: &[f32], v: &[f32], o: &mut [f32], p: &mut Vec<f32>) {
	let (hd, width) = (dims.head_dim, dims.key_width());
	for (h, (q, o)) in q.chunks_exact(hd).zip(o.chunks_exact_mut(hd)).enumerate() {
		let at = h / dims.group() * hd;
		probabilities(q, k.chunks_exact(width).map(|k| &k[at..at + hd]), p);
		o.fill(0.0);
		for (&p, v) in p.iter().zip(v.chunks_exact(width)) {
			add_scaled(p, &v[at..at + hd], o);
		}
	}
}

/// Softmax of the scaled products of `q` with each key, into `p`.
fn probabilities<'a>(q: &[f32], keys: impl Iterator<Item = &'a [f32]>, p: &mut Vec<f32>) {
	let scale = attention_scale(q.len());
	p.clear();
	p.extend(keys.map(|k| scale * chain(q, k)));
	let max = from_order_key(p.iter().map(|&s| order_key(s)).max().unwrap_or(i32::MIN));
	let mut lanes = Lanes::default();
	for (j, s) in p.iter_mut().enumerate() {
		*s = exp(*s - max);
		lanes.add(j, *s);
	}
	let inv = 1.0 / lanes.finish();
	for p in p.iter_mut() {
		*p *= inv;
	}
}

/// The product chain of two head vectors from +0.
fn chain(a: &[f32], b: &[f32]) -> f32 {
	a.iter().zip(b).fold(0.0, |acc, (&a, &b)| fma(a, b, acc))
}

/// Inputs of the backward pass: what the forward pass read and gave, and the gradient of its output.
#[derive(Clone, Copy)]
pub struct AttentionBackward<'a> {
	/// Queries.
	pub q: &'a [f32],
	/// Keys.
	pub k: &'a [f32],
	/// Values.
	pub v: &'a [f32],
	/// Output of the forward pass.
	pub o: &'a [f32],
	/// Gradient of the output.
	pub d_o: &'a [f32],
}

impl AttentionBackward<'_> {
	/// Asserts that the lengths match.
	pub fn check(&self, dims: AttentionDims, dq: &[f32], dk: &[f32], dv: &[f32]) {
		let (queries, keys) = (dims.query_len(), dims.key_len());
		assert!([self.q, self.o, self.d_o, dq].iter().all(|x| x.len() == queries), "query shape");
		assert!([self.k, self.v, dk, dv].iter().all(|x| x.len() == keys), "key shape");
	}
}

/// Gradients of queries, keys and values; overwrites all three.
///
/// The probabilities `p` are recomputed. `dP = dO V^T` as chains, `D = sum(dO * O)` by lanes, `dS = (p * (dP - D)) * scale`,
/// `dQ = dS K` with keys ascending; `dK = dS^T Q` and `dV = p^T dO` over the heads of the group ascending, then queries ascending.
pub fn attention_backward(dims: AttentionDims, input: AttentionBackward, dq: &mut [f32], dk: &mut [f32], dv: &mut [f32]) {
	input.check(dims, dq, dk, dv);
	let (hd, scale) = (dims.head_dim, attention_scale(dims.head_dim));
	let (qw, kw) = (dims.query_width(), dims.key_width());
	let mut p = Vec::with_capacity(dims.seq);
	let mut ds = vec![0.0; dims.seq];
	dq.fill(0.0);
	dk.fill(0.0);
	dv.fill(0.0);
	for b in 0..dims.batch {
		for h in 0..dims.heads {
			let key = |j: usize| (b * dims.seq + j) * kw + h / dims.group() * hd;
			for i in 0..dims.seq {
				let row = (b * dims.seq + i) * qw + h * hd;
				let (q, d_o, dq) = (&input.q[row..row + hd], &input.d_o[row..row + hd], &mut dq[row..row + hd]);
				probabilities(q, (0..=i).map(|j| &input.k[key(j)..key(j) + hd]), &mut p);
				let d = dot(d_o, &input.o[row..row + hd]);
				for j in 0..=i {
					let at = key(j)..key(j) + hd;
					ds[j] = (p[j] * (chain(d_o, &input.v[at.clone()]) - d)) * scale;
					add_scaled(ds[j], &input.k[at.clone()], dq);
					add_scaled(ds[j], q, &mut dk[at.clone()]);
					add_scaled(p[j], d_o, &mut dv[at]);
				}
			}
		}
	}
}
