//! The steps of attention one by one, with every tensor between them: what `attention_forward` and `attention_backward` fuse.
//!
//! Scores and what has their shape are `[batch * heads * seq, seq]`, row `(b * heads + h) * seq + i` for query `i` of head `h`; what stands
//! at keys after the query is +0, and read by nobody.

use super::{product::add_scaled, reduce::dot, Lanes};
use crate::{
	math::exp,
	num::{fma, from_order_key, order_key},
	shape::AttentionDims,
};

/// First element of the query of row `row` of the scores.
fn query(dims: AttentionDims, row: usize) -> usize {
	let (block, i) = (row / dims.seq, row % dims.seq);
	(block / dims.heads * dims.seq + i) * dims.query_width() + block % dims.heads * dims.head_dim
}

/// First element of key `j` of row `row` of the scores.
fn key(dims: AttentionDims, row: usize, j: usize) -> usize {
	let block = row / dims.seq;
	(block / dims.heads * dims.seq + j) * dims.key_width() + block % dims.heads / dims.group() * dims.head_dim
}

/// Product chain of each query with each key up to it, times `scale` if there is one.
pub fn attention_scores(dims: AttentionDims, q: &[f32], k: &[f32], scale: Option<f32>, s: &mut [f32]) {
	assert!(q.len() == dims.query_len() && k.len() == dims.key_len() && s.len() == dims.score_len(), "shape");
	s.fill(0.0);
	for (row, s) in s.chunks_exact_mut(dims.seq).enumerate() {
		let q = &q[query(dims, row)..][..dims.head_dim];
		for (j, s) in s.iter_mut().enumerate().take(row % dims.seq + 1) {
			let k = &k[key(dims, row, j)..][..dims.head_dim];
			let chain = q.iter().zip(k).fold(0.0, |acc, (&q, &k)| fma(q, k, acc));
			*s = scale.map_or(chain, |scale| scale * chain);
		}
	}
}

/// Elements of row `row` that count: with `causal` those up to its place in its sequence, of `cols` tokens.
#[inline]
pub fn counted(row: usize, cols: usize, causal: bool) -> usize {
	if causal {
		row % cols + 1
	} else {
		cols
	}
}

/// Maximum in the total order of each row of `x` `[max.len(), cols]`; with `causal` of its first `row % cols + 1` elements.
pub fn row_max(x: &[f32], cols: usize, causal: bool, max: &mut [f32]) {
	assert_eq!(x.len(), max.len() * cols, "shape");
	for ((row, x), max) in x.chunks_exact(cols).enumerate().zip(max) {
		let counted = &x[..counted(row, cols, causal)];
		*max = from_order_key(counted.iter().map(|&x| order_key(x)).fold(order_key(f32::NEG_INFINITY), i32::max));
	}
}

/// Sum by lanes of `exp(x - max)` of each row of `x` `[max.len(), cols]`; with `causal` of its first `row % cols + 1` elements.
pub fn exp_sum(x: &[f32], cols: usize, causal: bool, max: &[f32], sum: &mut [f32]) {
	assert!(x.len() == max.len() * cols && sum.len() == max.len(), "shape");
	for (((row, x), &max), sum) in x.chunks_exact(cols).enumerate().zip(max).zip(sum) {
		let mut lanes = Lanes::default();
		x.iter().enumerate().take(counted(row, cols, causal)).for_each(|(e, &x)| lanes.add(e, exp(x - max)));
		*sum = lanes.finish();
	}
}

/// `p = exp(s - max) * (1 / sum)`, with `s`, `p` `[max.len(), seq]`.
pub fn softmax(s: &[f32], seq: usize, max: &[f32], sum: &[f32], p: &mut [f32]) {
	assert!(s.len() == max.len() * seq && sum.len() == max.len() && p.len() == s.len(), "shape");
	p.fill(0.0);
	for (row, (s, p)) in s.chunks_exact(seq).zip(p.chunks_exact_mut(seq)).enumerate() {
		let inv = 1.0 / sum[row];
		for (&s, p) in s.iter().zip(p).take(row % seq + 1) {
			*p = exp(s - max[row]) * inv;
		}
	}
}

/// For each query of each head the sum of products by lanes of its rows in `a` and `b`, both of the queries' shape.
pub fn head_dots(dims: AttentionDims, a: &[f32], b: &[f32], d: &mut [f32]) {
	assert!(a.len() == dims.query_len() && b.len() == a.len() && d.len() * dims.seq == dims.score_len(), "shape");
	for (row, d) in d.iter_mut().enumerate() {
		let at = query(dims, row)..query(dims, row) + dims.head_dim;
		*d = dot(&a[at.clone()], &b[at]);
	}
}

/// `ds = (p * (dp - d)) * scale`, with `p`, `dp`, `ds` `[d.len(), seq]`.
pub fn score_back(p: &[f32], dp: &[f32], seq: usize, d: &[f32], scale: f32, ds: &mut [f32]) {
	assert!(p.len() == d.len() * seq && dp.len() == p.len() && ds.len() == p.len(), "shape");
	ds.fill(0.0);
	for (row, &d) in d.iter().enumerate() {
		for at in row * seq..row * seq + row % seq + 1 {
			ds[at] = (p[at] * (dp[at] - d)) * scale;
		}
	}
}

/// For each query its weights times the values of the keys up to it, added from +0, keys ascending. `out` has the shape of the queries.
pub fn weighted_keys(dims: AttentionDims, weights: &[f32], values: &[f32], out: &mut [f32]) {
	assert!(weights.len() == dims.score_len() && values.len() == dims.key_len() && out.len() == dims.query_len(), "shape");
	out.fill(0.0);
	for (row, weights) in weights.chunks_exact(dims.seq).enumerate() {
		let out = &mut out[query(dims, row)..][..dims.head_dim];
		for (j, &weight) in weights.iter().enumerate().take(row % dims.seq + 1) {
			add_scaled(weight, &values[key(dims, row, j)..][..dims.head_dim], out);
		}
	}
}

/// For each key the weights that queries from its own place on give it times their values, added from +0: heads of the group ascending,
/// within each queries ascending. `values` has the shape of the queries, `out` that of the keys.
pub fn weighted_queries(dims: AttentionDims, weights: &[f32], values: &[f32], out: &mut [f32]) {
	assert!(weights.len() == dims.score_len() && values.len() == dims.query_len() && out.len() == dims.key_len(), "shape");
	out.fill(0.0);
	for (row, weights) in weights.chunks_exact(dims.seq).enumerate() {
		let values = &values[query(dims, row)..][..dims.head_dim];
		for (j, &weight) in weights.iter().enumerate().take(row % dims.seq + 1) {
			add_scaled(weight, values, &mut out[key(dims, row, j)..][..dims.head_dim]);
		}
	}
}
