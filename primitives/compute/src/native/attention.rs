//! Attention on all threads: threads split pairs of sequence and key head.

use super::{share, Exec};
use crate::{
	pool::lock,
	simd::{attention, product::Output},
};
use neuroshard_kernels::{scalar::AttentionBackward, shape::AttentionDims};

impl Exec {
	/// As [`neuroshard_kernels::scalar::attention_forward`].
	pub fn attention_forward(&self, dims: AttentionDims, q: &[f32], k: &[f32], v: &[f32], o: &mut [f32]) {
		assert!(q.len() == dims.query_len() && o.len() == q.len() && k.len() == dims.key_len() && v.len() == k.len(), "shape");
		let (queries, keys) = (dims.seq * dims.query_width(), dims.seq * dims.key_width());
		let output = Output { at: o.as_mut_ptr(), stride: dims.query_width() };
		let work = dims.group() * dims.seq * dims.seq * dims.head_dim;
		self.units((dims.batch * dims.kv_heads, work), attention::forward_buffer(self.level, dims.seq, dims.head_dim), |unit, buffer| {
			let (b, group) = (unit / dims.kv_heads, unit % dims.kv_heads);
			let (q, k, v) = (&q[b * queries..][..queries], &k[b * keys..][..keys], &v[b * keys..][..keys]);
			// SAFETY: the sequence's first query exists.
			let o = unsafe { output.from(b * queries) };
			attention::forward(self.level, dims, group, 0, dims.seq, q, k, v, o, buffer);
		});
	}

	/// As [`neuroshard_kernels::scalar::attention_decode`].
	pub fn attention_decode(&self, dims: AttentionDims, q: &[f32], k: &[f32], v: &[f32], o: &mut [f32]) {
		assert!(q.len() == dims.query_width() && o.len() == q.len(), "query shape");
		assert!(k.len() == v.len() && k.len().is_multiple_of(dims.key_width()), "cache shape");
		let keys = k.len() / dims.key_width();
		if keys == 0 {
			return o.fill(0.0);
		}
		let output = Output { at: o.as_mut_ptr(), stride: dims.query_width() };
		self.units(
			(dims.kv_heads, dims.group() * keys * dims.head_dim * 2),
			attention::forward_buffer(self.level, keys, dims.head_dim),
			|group, buffer| {
				attention::forward(self.level, dims, group, keys - 1, 1, q, k, v, output, buffer);
			},
		);
	}

	/// As [`neuroshard_kernels::scalar::attention_backward`].
	pub fn attention_backward(&self, dims: AttentionDims, input: AttentionBackward, dq: &mut [f32], dk: &mut [f32], dv: &mut [f32]) {
		input.check(dims, dq, dk, dv);
		let (queries, keys) = (dims.seq * dims.query_width(), dims.seq * dims.key_width());
		let dq = Output { at: dq.as_mut_ptr(), stride: dims.query_width() };
		let (dk, dv) = (Output { at: dk.as_mut_ptr(), stride: dims.key_width() }, Output { at: dv.as_mut_ptr(), stride: dims.key_width() });
		let work = dims.group() * dims.seq * dims.seq * dims.head_dim * 3;
		self.units((dims.batch * dims.kv_heads, work), attention::backward_buffer(self.level, dims.seq, dims.head_dim), |unit, buffer| {
			let (b, group) = (unit / dims.kv_heads, unit % dims.kv_heads);
			let (of_queries, of_keys) = (b * queries..(b + 1) * queries, b * keys..(b + 1) * keys);
			let input = AttentionBackward {
				q: &input.q[of_queries.clone()],
				k: &input.k[of_keys.clone()],
				v: &input.v[of_keys],
				o: &input.o[of_queries.clone()],
				d_o: &input.d_o[of_queries],
			};
			// SAFETY: the sequence's first token exists.
			let (dq, dk, dv) = unsafe { (dq.from(b * queries), dk.from(b * keys), dv.from(b * keys)) };
			attention::backward(self.level, dims, group, input, dq, dk, dv, buffer);
		});
	}

	/// Runs `f` for every unit of `work` multiply-adds, each thread with its own working memory.
	pub(super) fn units(&self, (units, work): (usize, usize), buffer: usize, f: impl Fn(usize, &mut [f32]) + Sync) {
		let threads = self.threads_for(units * work / 16);
		self.run(threads, |t| {
			let mut scratch = lock(&self.scratch[t]);
			for unit in share(units, 1, t, threads) {
				f(unit, scratch.take(buffer));
			}
		});
	}
}
