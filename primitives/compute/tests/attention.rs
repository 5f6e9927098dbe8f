//! Attention on every instruction set has the scalar reference's bits; prefill and decoding agree.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod executors;

use executors::{executors, same, Inputs, Kind, KINDS};
use neuroshard_kernels::{
	scalar::{self, AttentionBackward},
	shape::AttentionDims,
};

const SHAPES: [[usize; 5]; 8] = [
	[1, 1, 1, 1, 2],
	[2, 5, 2, 1, 4],
	[1, 13, 3, 3, 6],
	[2, 33, 4, 2, 16],
	[1, 64, 2, 2, 32],
	[1, 70, 6, 3, 48],
	[1, 97, 2, 1, 64],
	[1, 205, 2, 1, 8],
];

fn dims([batch, seq, heads, kv_heads, head_dim]: [usize; 5]) -> AttentionDims {
	AttentionDims { batch, seq, heads, kv_heads, head_dim }
}

#[test]
fn forward_and_backward_agree_with_the_reference() {
	let execs = executors();
	let mut inputs = Inputs::new(1);
	for shape in SHAPES {
		let dims = dims(shape);
		for kind in KINDS {
			let [q, d_o] = [0; 2].map(|_| inputs.tensor(dims.query_len(), kind));
			let [k, v] = [0; 2].map(|_| inputs.tensor(dims.key_len(), kind));
			let mut o = vec![0.0; q.len()];
			scalar::attention_forward(dims, &q, &k, &v, &mut o);
			let input = AttentionBackward { q: &q, k: &k, v: &v, o: &o, d_o: &d_o };
			let (mut dq, mut dk, mut dv) = (vec![0.0; q.len()], vec![0.0; k.len()], vec![0.0; k.len()]);
			scalar::attention_backward(dims, input, &mut dq, &mut dk, &mut dv);
			for exec in &execs {
				let what = format!("{dims:?} {kind:?}");
				let mut got = vec![f32::NAN; q.len()];
				exec.attention_forward(dims, &q, &k, &v, &mut got);
				same(&what, exec, &o, &got);
				let (mut dq2, mut dk2, mut dv2) = (vec![f32::NAN; q.len()], vec![f32::NAN; k.len()], vec![f32::NAN; k.len()]);
				exec.attention_backward(dims, input, &mut dq2, &mut dk2, &mut dv2);
				same(&format!("dq {what}"), exec, &dq, &dq2);
				same(&format!("dv {what}"), exec, &dv, &dv2);
				same(&format!("dk {what}"), exec, &dk, &dk2);
			}
		}
	}
}

#[test]
fn decoding_token_by_token_gives_the_bits_of_the_whole_sequence() {
	let execs = executors();
	let mut inputs = Inputs::new(2);
	for shape in SHAPES {
		let dims = dims([1, shape[1], shape[2], shape[3], shape[4]]);
		let q = inputs.tensor(dims.query_len(), Kind::Plain);
		let [k, v] = [0; 2].map(|_| inputs.tensor(dims.key_len(), Kind::Plain));
		let mut o = vec![0.0; q.len()];
		scalar::attention_forward(dims, &q, &k, &v, &mut o);
		let (qw, kw) = (dims.query_width(), dims.key_width());
		for t in [0, dims.seq / 2, dims.seq - 1] {
			let (row, seen) = (t * qw..(t + 1) * qw, (t + 1) * kw);
			let mut got = vec![0.0; qw];
			scalar::attention_decode(dims, &q[row.clone()], &k[..seen], &v[..seen], &mut got);
			same("scalar decode", &execs[0], &o[row.clone()], &got);
			for exec in &execs {
				exec.attention_decode(dims, &q[row.clone()], &k[..seen], &v[..seen], &mut got);
				same("decode", exec, &o[row.clone()], &got);
			}
		}
	}
}

#[test]
fn later_tokens_never_reach_earlier_ones_not_even_infinities() {
	let dims = dims([1, 30, 2, 1, 16]);
	let mut inputs = Inputs::new(3);
	let q = inputs.tensor(dims.query_len(), Kind::Plain);
	let [mut k, mut v] = [0; 2].map(|_| inputs.tensor(dims.key_len(), Kind::Plain));
	for exec in executors() {
		let (mut before, mut after) = (vec![0.0; q.len()], vec![0.0; q.len()]);
		exec.attention_forward(dims, &q, &k, &v, &mut before);
		let (old_k, old_v) = (k.clone(), v.clone());
		k[20 * 16..].fill(f32::NAN);
		v[20 * 16..].fill(f32::INFINITY);
		exec.attention_forward(dims, &q, &k, &v, &mut after);
		assert_eq!(before[..20 * 32], after[..20 * 32]);
		(k, v) = (old_k, old_v);
	}
}

/// Loss `sum(o * g)` of the mathematical definition, in f64.
fn loss(dims: AttentionDims, q: &[f64], k: &[f64], v: &[f64], g: &[f32]) -> f64 {
	let (hd, qw, kw) = (dims.head_dim, dims.query_width(), dims.key_width());
	let mut total = 0.0;
	for b in 0..dims.batch {
		for h in 0..dims.heads {
			for i in 0..dims.seq {
				let row = (b * dims.seq + i) * qw + h * hd;
				let key = |j: usize| (b * dims.seq + j) * kw + h / dims.group() * hd;
				let e: Vec<f64> =
					(0..=i).map(|j| ((0..hd).map(|d| q[row + d] * k[key(j) + d]).sum::<f64>() / (hd as f64).sqrt()).exp()).collect();
				let sum: f64 = e.iter().sum();
				for d in 0..hd {
					total += f64::from(g[row + d]) * (0..=i).map(|j| e[j] / sum * v[key(j) + d]).sum::<f64>();
				}
			}
		}
	}
	total
}

#[test]
fn gradients_are_those_of_the_mathematical_definition() {
	let dims = dims([2, 6, 4, 2, 4]);
	let mut inputs = Inputs::new(4);
	let [q, g] = [0; 2].map(|_| inputs.tensor(dims.query_len(), Kind::Plain));
	let [k, v] = [0; 2].map(|_| inputs.tensor(dims.key_len(), Kind::Plain));
	let mut o = vec![0.0; q.len()];
	scalar::attention_forward(dims, &q, &k, &v, &mut o);
	let (mut dq, mut dk, mut dv) = (vec![0.0; q.len()], vec![0.0; k.len()], vec![0.0; k.len()]);
	scalar::attention_backward(dims, AttentionBackward { q: &q, k: &k, v: &v, o: &o, d_o: &g }, &mut dq, &mut dk, &mut dv);
	let wide = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| f64::from(x)).collect() };
	let point = [wide(&q), wide(&k), wide(&v)];
	let at = |p: &[Vec<f64>; 3]| loss(dims, &p[0], &p[1], &p[2], &g);
	let direct: f64 = o.iter().zip(&g).map(|(&o, &g)| f64::from(o) * f64::from(g)).sum();
	assert!((direct - at(&point)).abs() < 1e-4);
	for (input, gradient) in [&dq, &dk, &dv].into_iter().enumerate() {
		for (i, &expected) in gradient.iter().enumerate() {
			let (mut up, mut down) = (point.clone(), point.clone());
			up[input][i] += 1e-5;
			down[input][i] -= 1e-5;
			let slope = (at(&up) - at(&down)) / 2e-5;
			assert!((slope - f64::from(expected)).abs() < 1e-4, "input {input} element {i}: {slope} {expected}");
		}
	}
}
