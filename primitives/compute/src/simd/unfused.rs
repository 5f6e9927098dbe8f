//! The steps of attention one by one: see [`neuroshard_kernels::scalar::attention_scores`] and what follows there.

use super::{
	attention::{add_weighted, dot, take, weighted_sum, Sizes, BLOCK},
	kernels,
	product::{pack, panels, Operand, Output, SLACK},
	Level, LANES,
};
use neuroshard_kernels::{scalar::counted, shape::AttentionDims};

/// Elements of working memory that [`scores`], [`weighted_keys`] and [`weighted_queries`] need.
pub(crate) fn buffer(level: Level, dims: AttentionDims) -> usize {
	let s = Sizes::new(level.tile_rows(), level.tile_cols(), dims.seq, dims.head_dim);
	s.packed() + s.panel() + s.rows * (s.keys + s.width) + BLOCK * s.width + SLACK + s.keys * s.width
}

kernels! {
	/// As [`neuroshard_kernels::scalar::attention_scores`] for head `h` of one sequence; `q` and `k` begin at its first token, `s` has the head's rows.
	fn scores<I>(dims: AttentionDims, h: usize, q: &[f32], k: &[f32], scale: Option<f32>, s: &mut [f32], buffer: &mut [f32]) {
		let (seq, hd, qw) = (dims.seq, dims.head_dim, dims.query_width());
		let sizes = Sizes::new(I::MR, I::NR, seq, hd);
		let mut rest = buffer;
		let (packed, panel) = (take(&mut rest, sizes.packed()), take(&mut rest, sizes.panel()));
		let chains = take(&mut rest, I::MR * sizes.keys);
		pack::<I>(Operand::new(k, h / dims.group() * hd, dims.key_width(), true), seq, hd, I::NR, packed.as_mut_ptr());
		for (first, s) in (0..).step_by(I::MR).zip(s.chunks_mut(I::MR * seq)) {
			let rows = s.len() / seq;
			pack::<I>(Operand::new(q, first * qw + h * hd, qw, true), rows, hd, I::MR, panel.as_mut_ptr());
			let n = (first + rows).next_multiple_of(I::NR);
			panels::<I>((I::MR, n, hd), (panel.as_ptr(), hd), (packed.as_ptr(), hd), chains.as_mut_ptr(), sizes.keys, false);
			for ((row, s), chains) in (first..).zip(s.chunks_exact_mut(seq)).zip(chains.chunks_exact(sizes.keys)) {
				let (seen, later) = s.split_at_mut(row + 1);
				seen.copy_from_slice(&chains[..row + 1]);
				later.fill(0.0);
				if let Some(scale) = scale {
					for i in (0..seen.len()).step_by(LANES) {
						let scaled = I::mul(I::splat(scale), I::get(seen, i));
						I::put(seen, i, scaled);
					}
				}
			}
		}
	}

	/// As [`neuroshard_kernels::scalar::row_max`] for the rows of `x`, the first of which is row `first` of the tensor.
	fn row_max<I>(x: &[f32], cols: usize, causal: bool, first: usize, max: &mut [f32]) {
		for ((row, x), max) in (first..).zip(x.chunks_exact(cols)).zip(max) {
			let x = &x[..counted(row, cols, causal)];
			let mut top = I::key(I::splat(f32::NEG_INFINITY));
			for i in (0..x.len()).step_by(LANES) {
				top = I::max_key(top, I::key(I::get_or(x, i, f32::NEG_INFINITY)));
			}
			*max = I::max(top);
		}
	}

	/// As [`neuroshard_kernels::scalar::exp_sum`] for the rows of `x`, the first of which is row `first` of the tensor.
	fn exp_sum<I>(x: &[f32], cols: usize, causal: bool, first: usize, max: &[f32], sum: &mut [f32]) {
		for (((row, x), &max), sum) in (first..).zip(x.chunks_exact(cols)).zip(max).zip(sum) {
			let x = &x[..counted(row, cols, causal)];
			let (shift, mut acc) = (I::splat(max), I::splat(0.0));
			for i in (0..x.len()).step_by(LANES) {
				let e = I::exp(I::sub(I::get(x, i), shift));
				// Lanes beyond the end add +0, whatever the maximum is.
				let mut lanes = [0.0; LANES];
				let e = if i + LANES <= x.len() {
					e
				} else {
					I::put(&mut lanes[..x.len() - i], 0, e);
					I::get(&lanes, 0)
				};
				acc = I::add(acc, e);
			}
			*sum = I::sum(acc);
		}
	}

	/// As [`neuroshard_kernels::scalar::softmax`] for the rows of `s`, the first of which is row `first` of the tensor.
	fn softmax<I>(s: &[f32], seq: usize, first: usize, max: &[f32], sum: &[f32], p: &mut [f32]) {
		let rows = s.chunks_exact(seq).zip(p.chunks_exact_mut(seq)).zip(max).zip(sum);
		for (row, (((s, p), &max), &sum)) in (first..).zip(rows) {
			let (shift, inv) = (I::splat(max), I::splat(1.0 / sum));
			let (p, later) = p.split_at_mut(row % seq + 1);
			for i in (0..p.len()).step_by(LANES) {
				I::put(p, i, I::mul(I::exp(I::sub(I::get(s, i), shift)), inv));
			}
			later.fill(0.0);
		}
	}

	/// As [`neuroshard_kernels::scalar::head_dots`] for the rows of `d`, the first of which is row `first` of the tensor.
	fn head_dots<I>(dims: AttentionDims, a: &[f32], b: &[f32], first: usize, d: &mut [f32]) {
		for (row, d) in (first..).zip(d) {
			let (block, i) = (row / dims.seq, row % dims.seq);
			let at = (block / dims.heads * dims.seq + i) * dims.query_width() + block % dims.heads * dims.head_dim;
			*d = dot::<I>(&a[at..at + dims.head_dim], &b[at..at + dims.head_dim]);
		}
	}

	/// As [`neuroshard_kernels::scalar::score_back`] for the rows of `d`, the first of which is row `first` of the tensor.
	fn score_back<I>(p: &[f32], dp: &[f32], seq: usize, first: usize, d: &[f32], scale: f32, ds: &mut [f32]) {
		let rows = p.chunks_exact(seq).zip(dp.chunks_exact(seq)).zip(ds.chunks_exact_mut(seq)).zip(d);
		for (row, (((p, dp), ds), &d)) in (first..).zip(rows) {
			let (d, scale) = (I::splat(d), I::splat(scale));
			let (ds, later) = ds.split_at_mut(row % seq + 1);
			for i in (0..ds.len()).step_by(LANES) {
				I::put(ds, i, I::mul(I::mul(I::get(p, i), I::sub(I::get(dp, i), d)), scale));
			}
			later.fill(0.0);
		}
	}

	/// As [`neuroshard_kernels::scalar::weighted_keys`] for head `h` of one sequence: `weights` has the head's rows, `values` and `out` begin at the
	/// sequence's first token.
	fn weighted_keys<I>(dims: AttentionDims, h: usize, weights: &[f32], values: &[f32], out: Output, buffer: &mut [f32]) {
		let (seq, hd, kw, at) = (dims.seq, dims.head_dim, dims.key_width(), h / dims.group() * dims.head_dim);
		let sizes = Sizes::new(I::MR, I::NR, seq, hd);
		let mut rest = buffer;
		let (packed, panel) = (take(&mut rest, sizes.packed()), take(&mut rest, sizes.panel()));
		let sums = take(&mut rest, I::MR * sizes.width);
		pack::<I>(Operand::new(values, at, kw, false), hd, seq, I::NR, packed.as_mut_ptr());
		for first in (0..seq).step_by(I::MR) {
			let rows = I::MR.min(seq - first);
			let value = |j: usize| &values[j * kw + at..j * kw + at + hd];
			weighted_sum::<I>((rows, first, seq), &weights[first * seq..], (packed, seq), value, panel, sums);
			for (row, sums) in (first..).zip(sums.chunks_exact(sizes.width).take(rows)) {
				core::ptr::copy_nonoverlapping(sums.as_ptr(), out.at.add(row * out.stride + h * hd), hd);
			}
		}
	}

	/// As [`neuroshard_kernels::scalar::weighted_queries`] for the heads of `group` of one sequence: `weights` has the sequence's rows, `values` and
	/// `out` begin at its first token.
	fn weighted_queries<I>(dims: AttentionDims, group: usize, weights: &[f32], values: &[f32], out: Output, buffer: &mut [f32]) {
		let (seq, hd, qw) = (dims.seq, dims.head_dim, dims.query_width());
		let sizes = Sizes::new(I::MR, I::NR, seq, hd);
		let mut rest = buffer;
		let (packed, panel) = (take(&mut rest, BLOCK * sizes.width + SLACK), take(&mut rest, sizes.panel()));
		let sums = take(&mut rest, sizes.keys * sizes.width);
		sums.fill(0.0);
		for h in group * dims.group()..(group + 1) * dims.group() {
			let weights = &weights[h * seq * seq..(h + 1) * seq * seq];
			let value = |i: usize| &values[i * qw + h * hd..i * qw + h * hd + hd];
			for begin in (0..seq).step_by(BLOCK) {
				let end = seq.min(begin + BLOCK);
				pack::<I>(Operand::new(values, begin * qw + h * hd, qw, false), hd, end - begin, I::NR, packed.as_mut_ptr());
				add_weighted::<I>((begin, end), (&weights[begin * seq..], seq), packed, value, panel, (&mut *sums, sizes.width));
			}
		}
		for (row, sums) in sums.chunks_exact(sizes.width).enumerate().take(seq) {
			core::ptr::copy_nonoverlapping(sums.as_ptr(), out.at.add(row * out.stride + group * hd), hd);
		}
	}
}
