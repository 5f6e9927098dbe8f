//! The steps of attention one by one have the scalar reference's bits on every instruction set, and give what the fused operators give.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod executors;

use executors::{executors, same, Inputs, Kind, KINDS};
use neuroshard_compute::exec::Exec;
use neuroshard_kernels::{
	scalar::{self, AttentionBackward},
	schedule::attention_scale,
	shape::AttentionDims,
};

const SHAPES: [[usize; 5]; 8] = [
	[1, 1, 1, 1, 2],
	[2, 5, 2, 1, 4],
	[1, 13, 3, 3, 6],
	[2, 33, 4, 2, 16],
	[1, 64, 2, 2, 32],
	[1, 70, 6, 3, 48],
	[2, 97, 2, 1, 64],
	[1, 205, 4, 2, 8],
];

fn dims([batch, seq, heads, kv_heads, head_dim]: [usize; 5]) -> AttentionDims {
	AttentionDims { batch, seq, heads, kv_heads, head_dim }
}

/// Runs `reference` and, on every executor, `exec` on outputs of `len` numbers that hold something else, and compares. Returns the result.
fn agree(what: &str, execs: &[Exec], len: usize, reference: impl Fn(&mut [f32]), exec: impl Fn(&Exec, &mut [f32])) -> Vec<f32> {
	let mut expected = vec![f32::INFINITY; len];
	reference(&mut expected);
	for executor in execs {
		let mut got = vec![f32::NAN; len];
		exec(executor, &mut got);
		same(what, executor, &expected, &got);
	}
	expected
}

/// Every step, on numbers that do not come from one another: a maximum need not be the row's.
#[test]
fn every_step_agrees_with_the_reference_on_any_numbers() {
	let execs = executors();
	let mut inputs = Inputs::new(1);
	for shape in SHAPES {
		let dims = dims(shape);
		let (rows, seq) = (dims.score_len() / dims.seq, dims.seq);
		for kind in KINDS {
			let [a, b] = [0; 2].map(|_| inputs.tensor(dims.query_len(), kind));
			let k = inputs.tensor(dims.key_len(), kind);
			let [s, t] = [0; 2].map(|_| inputs.tensor(dims.score_len(), kind));
			let [max, sum] = [0; 2].map(|_| inputs.tensor(rows, kind));
			let what = |step: &str| format!("{step} {dims:?} {kind:?}");
			for scale in [None, Some(0.3)] {
				agree(
					&what("scores"),
					&execs,
					s.len(),
					|out| scalar::attention_scores(dims, &a, &k, scale, out),
					|exec, out| exec.attention_scores(dims, &a, &k, scale, out),
				);
			}
			for causal in [false, true] {
				agree(
					&what("row_max"),
					&execs,
					rows,
					|out| scalar::row_max(&s, seq, causal, out),
					|exec, out| exec.row_max(&s, seq, causal, out),
				);
				agree(
					&what("exp_sum"),
					&execs,
					rows,
					|out| scalar::exp_sum(&s, seq, causal, &max, out),
					|exec, out| exec.exp_sum(&s, seq, causal, &max, out),
				);
			}
			agree(
				&what("softmax"),
				&execs,
				s.len(),
				|out| scalar::softmax(&s, seq, &max, &sum, out),
				|exec, out| exec.softmax(&s, seq, &max, &sum, out),
			);
			agree(
				&what("head_dots"),
				&execs,
				rows,
				|out| scalar::head_dots(dims, &a, &b, out),
				|exec, out| exec.head_dots(dims, &a, &b, out),
			);
			agree(
				&what("score_back"),
				&execs,
				s.len(),
				|out| scalar::score_back(&s, &t, seq, &max, 0.3, out),
				|exec, out| exec.score_back(&s, &t, seq, &max, 0.3, out),
			);
			agree(
				&what("weighted_keys"),
				&execs,
				a.len(),
				|out| scalar::weighted_keys(dims, &s, &k, out),
				|exec, out| exec.weighted_keys(dims, &s, &k, out),
			);
			agree(
				&what("weighted_queries"),
				&execs,
				k.len(),
				|out| scalar::weighted_queries(dims, &s, &a, out),
				|exec, out| exec.weighted_queries(dims, &s, &a, out),
			);
		}
	}
}

#[test]
fn a_maximum_that_is_infinite_or_no_number_leaves_no_trace_of_the_lanes_beyond_a_row() {
	let execs = executors();
	for cols in [1, 15, 16, 17, 37] {
		let x: Vec<f32> = (0..6 * cols).map(|i| (i % 7) as f32 - 3.0).collect();
		let max = [f32::NEG_INFINITY, f32::INFINITY, f32::NAN, -0.0, f32::MAX, f32::MIN];
		for causal in [false, true] {
			let sum = agree(
				"exp_sum",
				&execs,
				6,
				|out| scalar::exp_sum(&x, cols, causal, &max, out),
				|exec, out| exec.exp_sum(&x, cols, causal, &max, out),
			);
			assert!(sum[0] > 1e38 && sum[1] == 0.0 && sum[2].is_nan());
		}
	}
}

#[test]
fn the_steps_together_are_the_fused_operators() {
	let mut inputs = Inputs::new(2);
	for shape in SHAPES {
		let dims = dims(shape);
		let (rows, seq, scale) = (dims.score_len() / dims.seq, dims.seq, attention_scale(dims.head_dim));
		for kind in [Kind::Plain, Kind::Small] {
			let [q, d_o] = [0; 2].map(|_| inputs.tensor(dims.query_len(), kind));
			let [k, v] = [0; 2].map(|_| inputs.tensor(dims.key_len(), kind));
			let mut o = vec![0.0; q.len()];
			scalar::attention_forward(dims, &q, &k, &v, &mut o);
			let input = AttentionBackward { q: &q, k: &k, v: &v, o: &o, d_o: &d_o };
			let (mut dq, mut dk, mut dv) = (vec![0.0; q.len()], vec![0.0; k.len()], vec![0.0; k.len()]);
			scalar::attention_backward(dims, input, &mut dq, &mut dk, &mut dv);
			for exec in executors() {
				let [mut s, mut p, mut dp, mut ds] = [0; 4].map(|_| vec![f32::NAN; dims.score_len()]);
				let [mut max, mut sum, mut d] = [0; 3].map(|_| vec![f32::NAN; rows]);
				let [mut query, mut key] = [q.len(), k.len()].map(|len| vec![f32::NAN; len]);
				exec.attention_scores(dims, &q, &k, Some(scale), &mut s);
				exec.row_max(&s, seq, true, &mut max);
				exec.exp_sum(&s, seq, true, &max, &mut sum);
				exec.softmax(&s, seq, &max, &sum, &mut p);
				exec.weighted_keys(dims, &p, &v, &mut query);
				same("o", &exec, &o, &query);
				exec.head_dots(dims, &d_o, &o, &mut d);
				exec.attention_scores(dims, &d_o, &v, None, &mut dp);
				exec.score_back(&p, &dp, seq, &d, scale, &mut ds);
				exec.weighted_keys(dims, &ds, &k, &mut query);
				same("dq", &exec, &dq, &query);
				exec.weighted_queries(dims, &ds, &q, &mut key);
				same("dk", &exec, &dk, &key);
				exec.weighted_queries(dims, &p, &d_o, &mut key);
				same("dv", &exec, &dv, &key);
				let later = |row: usize| row * seq + row % seq + 1..(row + 1) * seq;
				assert!((0..rows).all(|row| [&s, &p, &dp, &ds].iter().all(|x| x[later(row)].iter().all(|&x| x == 0.0))));
			}
		}
	}
}
