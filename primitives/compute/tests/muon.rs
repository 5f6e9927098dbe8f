//! What Muon's directions are: what other optimizers of that name orthogonalise, with singular values of about 1.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{lively_theta, random_tokens, small::muon_train, tiny_model, Lcg};
use neuroshard_compute::{exec::Exec, trace::Trace};
use neuroshard_graph::{graph::Op, ModelConfig, ParamLayout, TrainConfig};
use std::sync::Arc;

/// Eigenvalues of a symmetric matrix, by Jacobi's rotations.
fn eigenvalues(mut a: Vec<f64>, n: usize) -> Vec<f64> {
	for _ in 0..12 {
		for p in 0..n {
			for q in p + 1..n {
				let off = a[p * n + q];
				if off.abs() < 1e-14 {
					continue;
				}
				let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * off);
				let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
				let c = 1.0 / (t * t + 1.0).sqrt();
				let s = t * c;
				for k in 0..n {
					let (x, y) = (a[k * n + p], a[k * n + q]);
					(a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
				}
				for k in 0..n {
					let (x, y) = (a[p * n + k], a[q * n + k]);
					(a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
				}
			}
		}
	}
	(0..n).map(|i| a[i * n + i]).collect()
}

/// Singular values of a matrix, ascending.
fn singular_values(x: &[f32], rows: usize, cols: usize) -> Vec<f64> {
	let (n, k) = (rows.min(cols), rows.max(cols));
	let at = |i: usize, e: usize| f64::from(if rows <= cols { x[i * cols + e] } else { x[e * cols + i] });
	let products = (0..n * n).map(|place| (0..k).map(|e| at(place / n, e) * at(place % n, e)).sum()).collect();
	let mut values: Vec<f64> = eigenvalues(products, n).into_iter().map(|value| value.max(0.0).sqrt()).collect();
	values.sort_by(f64::total_cmp);
	values
}

/// Directions of a step whose momentum is random and far larger than its gradient: rows, columns, and the numbers before and after.
fn directions(model: &ModelConfig, train: &TrainConfig) -> Vec<([usize; 2], Vec<f32>, Vec<f32>)> {
	let layout = ParamLayout::new(model).unwrap();
	let mut random = Lcg(9);
	let momentum: Vec<f32> = (0..layout.len()).map(|_| 1e6 * (random.unit() + random.unit() + random.unit())).collect();
	let (theta, zeros) = (lively_theta(&layout, 1), vec![0.0; layout.len()]);
	let tokens = random_tokens((train.batch * (train.seq_len + 1)) as usize, model.vocab, 2);
	let trace = Trace::step(&Arc::new(Exec::new(1).unwrap()), model, train, &[&theta, &momentum, &zeros], &tokens, 0, 0).unwrap();
	let plan = trace.plan();
	let before = plan.stages().iter().filter(|stage| stage.op == Op::MuonDirection).map(|stage| plan.outputs(stage)[0]);
	let after = plan.stages().iter().filter(|stage| stage.op == Op::Muon).map(|stage| plan.inputs(stage)[4].0);
	let pairs = before.zip(after).map(|(u, x)| {
		let info = plan.tensor(x).unwrap();
		([info.rows as usize, info.cols as usize], trace.tensor(u).to_vec(), trace.tensor(x).to_vec())
	});
	pairs.collect()
}

#[test]
fn directions_have_singular_values_of_about_one_and_point_where_the_momentum_does() {
	let model = ModelConfig { dim: 96, heads: 3, kv_heads: 1, ffn: 160, layers: 1, ..tiny_model() };
	let directions = directions(&model, &muon_train());
	let shapes: Vec<_> = directions.iter().map(|(shape, ..)| *shape).collect();
	assert_eq!(shapes, [[96, 96], [32, 96], [32, 96], [96, 96], [160, 96], [160, 96], [96, 160]]);
	for ([rows, cols], u, x) in directions {
		let values = singular_values(&x, rows, cols);
		assert!(values.iter().all(|&value| value < 1.21), "{rows} x {cols}: {values:?}");
		// Of a square matrix the smallest may be too small for five steps.
		let least = if rows == cols { values[3] } else { values[0] };
		assert!(least > 0.67, "{rows} x {cols}: {values:?}");
		// Orthogonalising changes singular values alone: those of the product with u are products of both.
		let [inner, own, other] =
			[(&u, &x), (&x, &x), (&u, &u)].map(|(a, b)| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>());
		assert!(inner / (own * other).sqrt() > 0.8, "{rows} x {cols}: {inner} {own} {other}");
	}
}

#[test]
fn a_matrix_without_a_gradient_is_only_shrunk() {
	let (model, train) = (tiny_model(), TrainConfig { masked: true, ..muon_train() });
	let layout = ParamLayout::new(&model).unwrap();
	let (theta, zeros) = (lively_theta(&layout, 1), vec![0.0; layout.len()]);
	// No token is a target.
	let tokens = vec![neuroshard_graph::corpus::MASK; (train.batch * (train.seq_len + 1)) as usize];
	let trace = Trace::step(&Arc::new(Exec::new(1).unwrap()), &model, &train, &[&theta, &zeros, &zeros], &tokens, 0, 0).unwrap();
	let q = layout.get("model.layers.1.self_attn.q_proj.weight").unwrap().range();
	// The first of four steps of warm-up.
	let decay = 1.0 - f64::from(train.lr.get()) / 4.0 * f64::from(train.weight_decay.get());
	for (after, before) in trace.result(0)[q.clone()].iter().zip(&theta[q.clone()]) {
		assert!((f64::from(*after) - f64::from(*before) * decay).abs() <= 1e-7 * f64::from(before.abs()), "{after} {before}");
	}
	assert!([1, 2].iter().all(|&moment| trace.result(moment)[q.clone()].iter().all(|&value| value == 0.0)));
}
