//! The steps of attention one by one, on all threads.

use super::{Exec, Parts};
use crate::simd::{product::Output, unfused};
use neuroshard_kernels::shape::AttentionDims;

// SAFETY of every `get` below: ranges of one split are disjoint, and so are the parts cut by them and those of different units.
impl Exec {
	/// As [`neuroshard_kernels::scalar::attention_scores`].
	pub fn attention_scores(&self, dims: AttentionDims, q: &[f32], k: &[f32], scale: Option<f32>, s: &mut [f32]) {
		assert!(q.len() == dims.query_len() && k.len() == dims.key_len() && s.len() == dims.score_len(), "shape");
		let (queries, keys, square) = (dims.seq * dims.query_width(), dims.seq * dims.key_width(), dims.seq * dims.seq);
		let s = Parts::new(s);
		self.units((dims.batch * dims.heads, square * dims.head_dim), unfused::buffer(self.level, dims), |unit, buffer| {
			let (b, h) = (unit / dims.heads, unit % dims.heads);
			let s = unsafe { s.get(unit * square..(unit + 1) * square) };
			unfused::scores(self.level, dims, h, &q[b * queries..][..queries], &k[b * keys..][..keys], scale, s, buffer);
		});
	}

	/// As [`neuroshard_kernels::scalar::row_max`].
	pub fn row_max(&self, x: &[f32], cols: usize, causal: bool, max: &mut [f32]) {
		assert_eq!(x.len(), max.len() * cols, "shape");
		let (len, max) = (max.len(), Parts::new(max));
		self.split(len, cols, |at| {
			let max = unsafe { max.get(at.clone()) };
			unfused::row_max(self.level, &x[at.start * cols..at.end * cols], cols, causal, at.start, max);
		});
	}

	/// As [`neuroshard_kernels::scalar::exp_sum`].
	pub fn exp_sum(&self, x: &[f32], cols: usize, causal: bool, max: &[f32], sum: &mut [f32]) {
		assert!(x.len() == max.len() * cols && sum.len() == max.len(), "shape");
		let (len, sum) = (sum.len(), Parts::new(sum));
		self.split(len, 4 * cols, |at| {
			let sum = unsafe { sum.get(at.clone()) };
			unfused::exp_sum(self.level, &x[at.start * cols..at.end * cols], cols, causal, at.start, &max[at], sum);
		});
	}

	/// As [`neuroshard_kernels::scalar::softmax`].
	pub fn softmax(&self, s: &[f32], seq: usize, max: &[f32], sum: &[f32], p: &mut [f32]) {
		assert!(s.len() == max.len() * seq && sum.len() == max.len() && p.len() == s.len(), "shape");
		let p = Parts::new(p);
		self.split(max.len(), 4 * seq, |at| {
			let range = at.start * seq..at.end * seq;
			let p = unsafe { p.get(range.clone()) };
			unfused::softmax(self.level, &s[range], seq, at.start, &max[at.clone()], &sum[at], p);
		});
	}

	/// As [`neuroshard_kernels::scalar::head_dots`].
	pub fn head_dots(&self, dims: AttentionDims, a: &[f32], b: &[f32], d: &mut [f32]) {
		assert!(a.len() == dims.query_len() && b.len() == a.len() && d.len() * dims.seq == dims.score_len(), "shape");
		let (len, d) = (d.len(), Parts::new(d));
		self.split(len, dims.head_dim, |at| unfused::head_dots(self.level, dims, a, b, at.start, unsafe { d.get(at) }));
	}

	/// As [`neuroshard_kernels::scalar::score_back`].
	pub fn score_back(&self, p: &[f32], dp: &[f32], seq: usize, d: &[f32], scale: f32, ds: &mut [f32]) {
		assert!(p.len() == d.len() * seq && dp.len() == p.len() && ds.len() == p.len(), "shape");
		let ds = Parts::new(ds);
		self.split(d.len(), seq, |at| {
			let range = at.start * seq..at.end * seq;
			let ds = unsafe { ds.get(range.clone()) };
			unfused::score_back(self.level, &p[range.clone()], &dp[range], seq, at.start, &d[at], scale, ds);
		});
	}

	/// As [`neuroshard_kernels::scalar::weighted_keys`].
	pub fn weighted_keys(&self, dims: AttentionDims, weights: &[f32], values: &[f32], out: &mut [f32]) {
		assert!(weights.len() == dims.score_len() && values.len() == dims.key_len() && out.len() == dims.query_len(), "shape");
		let (queries, keys, square) = (dims.seq * dims.query_width(), dims.seq * dims.key_width(), dims.seq * dims.seq);
		let out = Output { at: out.as_mut_ptr(), stride: dims.query_width() };
		self.units((dims.batch * dims.heads, square * dims.head_dim), unfused::buffer(self.level, dims), |unit, buffer| {
			let (b, h) = (unit / dims.heads, unit % dims.heads);
			let (weights, values) = (&weights[unit * square..][..square], &values[b * keys..][..keys]);
			// SAFETY: the sequence's first token exists.
			let out = unsafe { out.from(b * queries) };
			unfused::weighted_keys(self.level, dims, h, weights, values, out, buffer);
		});
	}

	/// As [`neuroshard_kernels::scalar::weighted_queries`].
	pub fn weighted_queries(&self, dims: AttentionDims, weights: &[f32], values: &[f32], out: &mut [f32]) {
		assert!(weights.len() == dims.score_len() && values.len() == dims.query_len() && out.len() == dims.key_len(), "shape");
		let (queries, keys) = (dims.seq * dims.query_width(), dims.seq * dims.key_width());
		let scores = dims.heads * dims.seq * dims.seq;
		let out = Output { at: out.as_mut_ptr(), stride: dims.key_width() };
		let work = dims.group() * dims.seq * dims.seq * dims.head_dim;
		self.units((dims.batch * dims.kv_heads, work), unfused::buffer(self.level, dims), |unit, buffer| {
			let (b, group) = (unit / dims.kv_heads, unit % dims.kv_heads);
			let (weights, values) = (&weights[b * scores..][..scores], &values[b * queries..][..queries]);
			// SAFETY: the sequence's first token exists.
			let out = unsafe { out.from(b * keys) };
			unfused::weighted_queries(self.level, dims, group, weights, values, out, buffer);
		});
	}
}
