//! Row and element-wise operators on every instruction set have the scalar reference's bits.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod executors;

use executors::{executors, same, Inputs, Kind, KINDS};
use neuroshard_kernels::{
	scalar::{self, RmsBackward},
	schedule,
	shape::{tile_count, AdamW, Distance, Measured, Muon, RopeDims, Start, Tiling},
};

/// Elements of each element-wise comparison: three kinds of numbers make it more than a million a function.
const LEN: usize = 350_003;

#[test]
fn element_wise_operators_agree_on_a_million_vectors() {
	let execs = executors();
	let mut inputs = Inputs::new(1);
	for kind in KINDS {
		let [a, b, c, d] = [0; 4].map(|_| inputs.tensor(LEN, kind));
		let mut expected = vec![0.0; LEN];
		let mut expected2 = vec![0.0; LEN];
		let (mut got, mut got2) = (vec![0.0; LEN], vec![0.0; LEN]);

		scalar::swiglu_forward(&a, &b, &mut expected);
		for exec in &execs {
			exec.swiglu_forward(&a, &b, &mut got);
			same("swiglu_forward", exec, &expected, &got);
		}
		scalar::swiglu_backward(&c, &a, &b, &mut expected, &mut expected2);
		for exec in &execs {
			exec.swiglu_backward(&c, &a, &b, &mut got, &mut got2);
			same("swiglu_backward gate", exec, &expected, &got);
			same("swiglu_backward up", exec, &expected2, &got2);
		}
		scalar::sub(&a, &b, &mut expected);
		expected2.copy_from_slice(&a);
		scalar::add_assign(&mut expected2, &b);
		for exec in &execs {
			exec.sub(&a, &b, &mut got);
			same("sub", exec, &expected, &got);
			got2.copy_from_slice(&a);
			exec.add_assign(&mut got2, &b);
			same("add_assign", exec, &expected2, &got2);
		}
		let (mut theta, mut m) = (a.clone(), b.clone());
		scalar::nesterov(&mut theta, &mut m, &c, 0.7, 0.9);
		for exec in &execs {
			let (mut t, mut n) = (a.clone(), b.clone());
			exec.nesterov(&mut t, &mut n, &c, 0.7, 0.9);
			same("nesterov theta", exec, &theta, &t);
			same("nesterov m", exec, &m, &n);
		}
		let step = adamw_step();
		let (mut p, mut m, mut v) = (a.clone(), b.clone(), c.clone());
		scalar::adamw(&step, &mut p, &mut m, &mut v, &d);
		for exec in &execs {
			let (mut p2, mut m2, mut v2) = (a.clone(), b.clone(), c.clone());
			exec.adamw(&step, &mut p2, &mut m2, &mut v2, &d);
			same("adamw p", exec, &p, &p2);
			same("adamw m", exec, &m, &m2);
			same("adamw v", exec, &v, &v2);
		}
		let step = Muon { rate: 0.013, momentum: 0.95, decay: 0.998, clip: 0.37 };
		scalar::muon_direction(&step, &a, &b, &mut expected);
		for exec in &execs {
			exec.muon_direction(&step, &a, &b, &mut got);
			same("muon_direction", exec, &expected, &got);
		}
		for squares in [0.0, 1e-30, 7.3, f32::MAX, f32::INFINITY, f32::NAN] {
			expected.copy_from_slice(&a);
			scalar::muon_normalize(&mut expected, squares);
			for exec in &execs {
				got.copy_from_slice(&a);
				exec.muon_normalize(&mut got, squares);
				same("muon_normalize", exec, &expected, &got);
			}
		}
		let (mut p, mut m) = (a.clone(), b.clone());
		scalar::muon(&step, &mut p, &mut m, &c, &d);
		for exec in &execs {
			let (mut p2, mut m2) = (a.clone(), b.clone());
			exec.muon(&step, &mut p2, &mut m2, &c, &d);
			same("muon p", exec, &p, &p2);
			same("muon m", exec, &m, &m2);
		}
		for n in [1, 5, 16, 31, 64, 591] {
			for (rows, first) in [(n, 0), (n / 2, n / 3), (n, n)] {
				expected[..rows * n].copy_from_slice(&b[..rows * n]);
				scalar::muon_polynomial(&a[..rows * n], &mut expected[..rows * n], n, first);
				for exec in &execs {
					got[..rows * n].copy_from_slice(&b[..rows * n]);
					exec.muon_polynomial(&a[..rows * n], &mut got[..rows * n], n, first);
					same("muon_polynomial", exec, &expected[..rows * n], &got[..rows * n]);
				}
			}
		}
	}
}

fn adamw_step() -> AdamW {
	let lr = 1.5e-3;
	AdamW {
		lr,
		beta1: 0.9,
		complement1: schedule::complement(0.9),
		beta2: 0.95,
		complement2: schedule::complement(0.95),
		correction1: schedule::bias_correction(0.9, 7),
		correction2: schedule::bias_correction(0.95, 7),
		eps: 1e-8,
		decay: schedule::decay_factor(lr, 0.1),
		clip: 0.37,
	}
}

#[test]
fn aggregators_agree_for_every_number_of_inputs() {
	let execs = executors();
	let mut inputs = Inputs::new(2);
	for kind in KINDS {
		for n in [1, 2, 3, 4, 5, 9, 16, 33] {
			let len = 20_000 / n + 5;
			let tensors: Vec<Vec<f32>> = (0..n).map(|_| inputs.tensor(len, kind)).collect();
			let views: Vec<&[f32]> = tensors.iter().map(|t| &t[..]).collect();
			let (mut expected, mut got) = (vec![0.0; len], vec![0.0; len]);
			scalar::mean(&views, &mut expected);
			for exec in &execs {
				exec.mean(&views, &mut got);
				same("mean", exec, &expected, &got);
			}
			let factors = inputs.tensor(n, kind);
			scalar::weighted_sum(&views, &factors, &mut expected);
			for exec in &execs {
				exec.weighted_sum(&views, &factors, &mut got);
				same("weighted_sum", exec, &expected, &got);
			}
			for trim in [0, 1, (n - 1) / 2] {
				if 2 * trim >= n {
					continue;
				}
				for factors in [&[][..], &factors] {
					scalar::trimmed_mean(&views, factors, trim, &mut expected);
					for exec in &execs {
						exec.trimmed_mean(&views, factors, trim, &mut got);
						same("trimmed_mean", exec, &expected, &got);
					}
				}
			}
		}
	}
}

#[test]
fn a_trimmed_mean_ignores_what_lies_outside_even_nan() {
	let inputs: [&[f32]; 5] = [&[1.0, f32::NAN], &[f32::INFINITY, 2.0], &[3.0, 4.0], &[-1e30, -5.0], &[2.0, 3.0]];
	let mut out = [0.0; 2];
	scalar::trimmed_mean(&inputs, &[], 1, &mut out);
	assert_eq!(out, [2.0, 3.0]);
}

#[test]
fn distances_agree_for_every_number_of_vectors_over_tensors_of_any_shape() {
	let execs = executors();
	let mut inputs = Inputs::new(12);
	// The second has three segments.
	for (shapes, counts) in [(vec![(1, 96), (70, 33), (32, 32), (5, 1)], vec![1, 2, 4, 5, 33]), (vec![(640, 1056)], vec![3, 10])] {
		let tiling = Tiling::new(shapes);
		for (count, kind) in counts.iter().flat_map(|count| KINDS.map(|kind| (*count, kind))) {
			let tensors: Vec<Vec<f32>> = (0..count).map(|_| inputs.tensor(tiling.len(), kind)).collect();
			let vectors: Vec<&[f32]> = tensors.iter().map(|tensor| &tensor[..]).collect();
			let factors = inputs.tensor(count, kind);
			for (from, factors) in [Distance::Pairs, Distance::Norms].into_iter().flat_map(|from| [(from, &[][..]), (from, &factors[..])]) {
				let measured = Measured { tiling: &tiling, vectors: &vectors, factors };
				let (rows, cols) = from.block(count);
				let (mut expected, mut got) = (vec![1.0; tiling.segments() * rows * cols], vec![2.0; tiling.segments() * rows * cols]);
				scalar::distance_sums(&measured, from, &mut expected);
				for exec in &execs {
					exec.distance_sums(&measured, from, &mut got);
					same("distance_sums", exec, &expected, &got);
				}
			}
		}
	}
}

#[test]
fn distances_are_those_of_the_vectors_whatever_their_tiles() {
	let tiling = Tiling::new([(40, 40), (1, 64)]);
	let vector = |value: f32| vec![value; tiling.len()];
	let (one, two) = (vector(1.0), vector(3.0));
	let mut sums = vec![0.0; 32 * 32];
	let measured = Measured { tiling: &tiling, vectors: &[&one, &two], factors: &[] };
	scalar::distance_sums(&measured, Distance::Pairs, &mut sums);
	assert_eq!((tiling.tiles(), tiling.segments()), (6, 1));
	assert_eq!([sums[0], sums[1], sums[32], sums[33], sums[2]], [0.0, 4.0 * 1_664.0, 4.0 * 1_664.0, 0.0, 0.0]);
	scalar::distance_sums(&Measured { factors: &[2.0, 1.0], ..measured }, Distance::Norms, &mut sums);
	assert_eq!(sums[..3], [4.0 * 1_664.0, 9.0 * 1_664.0, 0.0]);
}

#[test]
fn weights_of_robust_aggregators_match_hand_computation() {
	// Norms 1, 2, 4: the median is 2.
	assert_eq!(scalar::clip_factors(&[1.0, 4.0, 16.0], 1.0), [1.0, 1.0, 0.5]);
	assert_eq!(scalar::clip_factors(&[1.0, 4.0, f32::INFINITY], 1.0), [1.0, 1.0, 0.0]);
	// Points 0, 1, 2 and 10 on a line: scores of the nearest two others 1+4, 1+1, 1+4, 64+81.
	let of = |line: &[f32]| -> Vec<f32> { line.iter().flat_map(|a| line.iter().map(move |b| (a - b) * (a - b))).collect() };
	let rows = of(&[0.0, 1.0, 2.0, 10.0]);
	let line = scalar::Squares { rows: &rows, stride: 4, count: 4 };
	assert_eq!(scalar::krum_weights(line, 2, 1), [0.0, 1.0, 0.0, 0.0]);
	assert_eq!(scalar::krum_weights(line, 2, 2), [0.5, 0.5, 0.0, 0.0], "of equal scores the first");
	// Not mixed, from the point 1, which has the best score: distances 1, 0, 1, 9 with the median 1.
	let clipped = scalar::moved_weights(scalar::Squares { rows: &rows, ..line }, 0, scalar::Move::Clipping(1.0), 1);
	assert_eq!(clipped, [0.25, 0.25 + 1.0 - 0.75 - 0.25 / 9.0, 0.25, 0.25 / 9.0].map(|weight| weight as f32));
	let weights = [1.0f64, 1.0, 1.0, 1.0 / 9.0].map(|weight| (weight / (3.0 + 1.0 / 9.0)) as f32);
	assert_eq!(scalar::moved_weights(line, 0, scalar::Move::Weiszfeld(1.0), 1), weights);
	// The same three are the best of the mixed ones, and the fourth is mixed with two of them: it is the last.
	let mixed = scalar::mixed_krum_weights(line, 2, 3);
	assert_eq!(mixed, [1.0, 1.0, 1.0, 0.0].map(|weight: f32| weight / 3.0));
	// Five corners of a simplex, and twice the same lie, off its centre: the lies are nearest to each other, but the corners mix with corners.
	let rows: Vec<f32> = (0..49)
		.map(|at| (at / 7, at % 7))
		.map(|(row, col)| match (row < 5, col < 5) {
			(true, true) => {
				if row == col {
					0.0
				} else {
					2.0
				}
			}
			(false, false) => 0.0,
			_ => 2.2,
		})
		.collect();
	let hidden = scalar::Squares { rows: &rows, stride: 7, count: 7 };
	assert!(scalar::krum_weights(hidden, 4, 5)[5..].iter().all(|weight| *weight > 0.0), "both lies are among the best five");
	assert_eq!(scalar::mixed_krum_weights(hidden, 4, 5), [0.2, 0.2, 0.2, 0.2, 0.2, 0.0, 0.0]);
	// Each of the first three mixed with the other two is their mean, and so is the start: the fourth is far from what most agree on.
	for step in [scalar::Move::Clipping(1.0), scalar::Move::Weiszfeld(0.5)] {
		let third = (1.0f64 / 3.0) as f32;
		let found = scalar::moved_weights(line, 2, step, 3);
		assert!(found[..3].iter().all(|weight| (weight - third).abs() < 1e-6) && found[3].abs() < 1e-6, "{step:?}: {found:?}");
	}
	assert_eq!(
		scalar::moved_weights(scalar::Squares { rows: &[0.0; 4], stride: 2, count: 2 }, 0, scalar::Move::Weiszfeld(1.0), 2),
		[0.5, 0.5]
	);
}

#[test]
fn vectors_weigh_by_their_share_of_all_steps() {
	assert_eq!(scalar::step_weights(&[1, 3]), [0.25, 0.75]);
	assert_eq!(scalar::step_weights(&[u32::MAX; 128]), [1.0 / 128.0; 128], "their sum is more than a u32 holds");
	assert_eq!(scalar::step_weights(&[]), []);
	assert_eq!(scalar::step_weights(&[0, 0]), [0.0, 0.0]);
}

#[test]
fn vectors_that_are_too_far_away_for_a_float_do_not_count() {
	let far = f32::INFINITY;
	let rows = [
		[0.0, 1.0, 1.0, 1.0, far],
		[1.0, 0.0, 1.0, 1.0, far],
		[1.0, 1.0, 0.0, 1.0, far],
		[1.0, 1.0, 1.0, 0.0, far],
		[far, far, far, far, 0.0],
	];
	let squares = scalar::Squares { rows: rows.as_flattened(), stride: 5, count: 5 };
	for weights in [
		scalar::krum_weights(squares, 3, 4),
		scalar::mixed_krum_weights(squares, 3, 4),
		scalar::moved_weights(squares, 3, scalar::Move::Clipping(1.0), 3),
		scalar::moved_weights(squares, 3, scalar::Move::Weiszfeld(0.1), 3),
		scalar::moved_weights(squares, 0, scalar::Move::Weiszfeld(0.1), 3),
	] {
		assert!(weights[4].abs() < 1e-15 && weights[..4].iter().all(|weight| weight.is_finite()), "{weights:?}");
		assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{weights:?}");
	}
}

#[test]
fn norms_agree_for_odd_shapes() {
	let execs = executors();
	let mut inputs = Inputs::new(3);
	for kind in KINDS {
		for (rows, dim) in [(1, 1), (3, 7), (5, 16), (70, 48), (33, 100), (129, 384), (400, 96)] {
			let [dy, x, dx] = [0; 3].map(|_| inputs.tensor(rows * dim, kind));
			let (w, dw) = (inputs.tensor(dim, kind), inputs.tensor(dim, kind));
			// Rows are heads of as many rows as make it out even.
			let heads = if rows % 3 == 0 { 3 } else { 1 };
			let (mut r, mut k, mut y) = (vec![0.0; rows], vec![0.0; rows], vec![0.0; rows * dim]);
			scalar::rms_stats(&x, dim, 1e-5, &mut r);
			scalar::rms_apply(&x, &r, &w, &mut y);
			scalar::rms_backward_stats(&dy, &x, &w, &r, &mut k);
			let input = RmsBackward { dy: &dy, x: &x, w: &w, r: &r, k: &k };
			for exec in &execs {
				let (mut r2, mut k2, mut y2) = (vec![0.0; rows], vec![0.0; rows], vec![0.0; rows * dim]);
				exec.rms_stats(&x, dim, 1e-5, &mut r2);
				same("rms_stats", exec, &r, &r2);
				exec.rms_apply(&x, &r, &w, &mut y2);
				same("rms_apply", exec, &y, &y2);
				exec.rms_backward_stats(&dy, &x, &w, &r, &mut k2);
				same("rms_backward_stats", exec, &k, &k2);
			}
			for start in [Start::Zero, Start::Existing] {
				let (mut expected, mut expected_w) = (dx.clone(), dw.clone());
				scalar::rms_backward_apply(input, &mut expected, start);
				scalar::rms_weight_grad(&dy, &x, &r, heads, &mut expected_w, start);
				for exec in &execs {
					let (mut got, mut got_w) = (dx.clone(), dw.clone());
					exec.rms_backward_apply(input, &mut got, start);
					same("rms_backward_apply", exec, &expected, &got);
					exec.rms_weight_grad(&dy, &x, &r, heads, &mut got_w, start);
					same("rms_weight_grad", exec, &expected_w, &got_w);
				}
			}
		}
	}
}

#[test]
fn biases_and_their_gradients_agree_for_odd_shapes() {
	let execs = executors();
	let mut inputs = Inputs::new(31);
	for kind in KINDS {
		for (rows, cols) in [(1, 1), (3, 7), (5, 16), (70, 48), (33, 100), (129, 384)] {
			let (x, b) = (inputs.tensor(rows * cols, kind), inputs.tensor(cols, kind));
			let (mut expected, mut sums) = (x.clone(), vec![0.0; cols]);
			scalar::add_bias(&mut expected, &b);
			scalar::column_sums(&x, &mut sums, Start::Zero);
			for exec in &execs {
				let (mut got, mut got_sums) = (x.clone(), vec![f32::NAN; cols]);
				exec.add_bias(&mut got, &b);
				same("add_bias", exec, &expected, &got);
				exec.column_sums(&x, &mut got_sums, Start::Zero);
				same("column_sums", exec, &sums, &got_sums);
			}
		}
	}
	let exec = &execs[0];
	let (mut x, mut sums) = ([1.0, 2.0, 3.0, 4.0], [9.0; 2]);
	exec.add_bias(&mut x, &[10.0, 20.0]);
	assert_eq!(x, [11.0, 22.0, 13.0, 24.0]);
	exec.column_sums(&x, &mut sums, Start::Zero);
	assert_eq!(sums, [24.0, 46.0]);
}

#[test]
fn rotations_agree_and_the_backward_one_undoes_the_forward_one() {
	let execs = executors();
	let mut inputs = Inputs::new(4);
	for (batch, seq, heads, head_dim) in [(1, 1, 1, 2), (2, 7, 3, 10), (3, 33, 2, 64), (2, 70, 6, 48)] {
		let dims = RopeDims { seq, heads, head_dim };
		let (mut cos, mut sin) = (vec![0.0; seq * head_dim / 2], vec![0.0; seq * head_dim / 2]);
		schedule::rope_tables(10_000, schedule::RopeScaling::None, head_dim, 0, &mut cos, &mut sin);
		for kind in KINDS {
			let x = inputs.tensor(batch * seq * heads * head_dim, kind);
			let (mut forward, mut backward) = (x.clone(), x.clone());
			scalar::rope_forward(dims, &mut forward, &cos, &sin);
			scalar::rope_backward(dims, &mut backward, &cos, &sin);
			for exec in &execs {
				let (mut f, mut b) = (x.clone(), x.clone());
				exec.rope_forward(dims, &mut f, &cos, &sin);
				same("rope_forward", exec, &forward, &f);
				exec.rope_backward(dims, &mut b, &cos, &sin);
				same("rope_backward", exec, &backward, &b);
			}
			if kind == Kind::Plain {
				scalar::rope_backward(dims, &mut forward, &cos, &sin);
				assert!(forward.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-5));
			}
		}
	}
}

#[test]
fn cross_entropy_agrees() {
	let execs = executors();
	let mut inputs = Inputs::new(5);
	for kind in KINDS {
		for (rows, vocab) in [(1, 1), (4, 15), (3, 17), (40, 96), (61, 1000)] {
			let logits = inputs.tensor(rows * vocab, kind);
			let targets = inputs.ids(rows, vocab);
			let inv_n = schedule::reciprocal(rows as u64);
			let (mut max, mut sum, mut loss) = (vec![0.0; rows], vec![0.0; rows], vec![0.0; rows]);
			let mut grad = logits.clone();
			scalar::cross_entropy_stats(&logits, vocab, &mut max, &mut sum);
			scalar::cross_entropy_loss(&logits, vocab, &targets, &max, &sum, &mut loss);
			scalar::cross_entropy_backward(&mut grad, vocab, &targets, &max, &sum, inv_n);
			for exec in &execs {
				let (mut max2, mut sum2, mut loss2) = (vec![0.0; rows], vec![0.0; rows], vec![0.0; rows]);
				let mut grad2 = logits.clone();
				exec.cross_entropy_stats(&logits, vocab, &mut max2, &mut sum2);
				same("max", exec, &max, &max2);
				same("sum", exec, &sum, &sum2);
				exec.cross_entropy_loss(&logits, vocab, &targets, &max2, &sum2, &mut loss2);
				same("loss", exec, &loss, &loss2);
				exec.cross_entropy_backward(&mut grad2, vocab, &targets, &max, &sum, inv_n);
				same("dlogits", exec, &grad, &grad2);
			}
			if kind == Kind::Plain {
				for row in 0..rows {
					let row_logits = &logits[row * vocab..(row + 1) * vocab];
					let lse = row_logits.iter().map(|&l| f64::from(l).exp()).sum::<f64>().ln();
					assert!((f64::from(loss[row]) - (lse - f64::from(row_logits[targets[row] as usize]))).abs() < 1e-5);
					let total: f32 = grad[row * vocab..(row + 1) * vocab].iter().sum();
					assert!(total.abs() < 1e-5, "gradients of a row sum to zero");
				}
			}
		}
	}
}

#[test]
fn embeddings_agree_and_repeated_tokens_add_up_in_order() {
	let execs = executors();
	let mut inputs = Inputs::new(6);
	for kind in KINDS {
		for (vocab, dim, tokens) in [(5, 7, 40), (64, 32, 700), (300, 96, 1000)] {
			let (table, dy) = (inputs.tensor(vocab * dim, kind), inputs.tensor(tokens * dim, kind));
			let ids = inputs.ids(tokens, vocab);
			let (mut out, mut grad) = (vec![0.0; tokens * dim], table.clone());
			scalar::embedding_gather(&table, dim, &ids, &mut out);
			scalar::embedding_scatter_add(&dy, dim, &ids, &mut grad);
			for exec in &execs {
				let (mut out2, mut grad2) = (vec![0.0; tokens * dim], table.clone());
				exec.embedding_gather(&table, dim, &ids, &mut out2);
				same("embedding_gather", exec, &out, &out2);
				exec.embedding_scatter_add(&dy, dim, &ids, &mut grad2);
				same("embedding_scatter_add", exec, &grad, &grad2);
			}
		}
	}
	let mut grad = [16_777_216.0, 0.0];
	scalar::embedding_scatter_add(&[1.0, 5.0, 1.0], 1, &[0, 1, 0], &mut grad);
	assert_eq!(grad, [16_777_216.0, 5.0], "each one is lost to rounding; their sum would not be");
}

#[test]
fn tile_reductions_agree_and_do_not_depend_on_padding() {
	let execs = executors();
	let mut inputs = Inputs::new(7);
	for kind in KINDS {
		for (rows, cols) in [(1, 1), (1, 384), (32, 32), (31, 33), (65, 100), (300, 384)] {
			let x = inputs.tensor(rows * cols, kind);
			let tiles = tile_count(rows, cols);
			let (mut squares, mut sums) = (vec![0.0; tiles], vec![0.0; tiles]);
			scalar::tile_sum_squares(&x, rows, cols, &mut squares);
			scalar::tile_sums(&x, rows, cols, &mut sums);
			for exec in &execs {
				let (mut squares2, mut sums2) = (vec![0.0; tiles], vec![0.0; tiles]);
				exec.tile_sum_squares(&x, rows, cols, &mut squares2);
				same("tile_sum_squares", exec, &squares, &squares2);
				exec.tile_sums(&x, rows, cols, &mut sums2);
				same("tile_sums", exec, &sums, &sums2);
				same("tree_sum", exec, &[scalar::tree_sum(&mut squares.clone())], &[exec.tree_sum(&mut squares2)]);
			}
			let (padded_rows, padded_cols) = (rows.next_multiple_of(32), cols.next_multiple_of(32));
			let mut padded = vec![0.0; padded_rows * padded_cols];
			for r in 0..rows {
				padded[r * padded_cols..r * padded_cols + cols].copy_from_slice(&x[r * cols..(r + 1) * cols]);
			}
			let mut again = vec![0.0; tiles];
			scalar::tile_sum_squares(&padded, padded_rows, padded_cols, &mut again);
			same("padded", &execs[0], &squares, &again);
		}
	}
}

#[test]
fn a_tree_adds_groups_of_1024_by_16_lanes() {
	assert_eq!(scalar::tree_sum(&mut []), 0.0);
	assert_eq!(scalar::tree_sum(&mut [3.5]), 3.5);
	assert_eq!(scalar::tree_sum(&mut vec![1.0; 3_000_000]), 3_000_000.0);
	// Elements 0 and 16 share a lane: 2^24 + 1 loses the one there, and only there.
	let mut values = vec![0.0; 32];
	(values[0], values[16]) = (16_777_216.0, 1.0);
	assert_eq!(scalar::tree_sum(&mut values.clone()), 16_777_216.0);
	(values[16], values[1], values[3]) = (0.0, 1.0, 1.0);
	assert_eq!(scalar::tree_sum(&mut values), 16_777_218.0);
}

#[test]
fn the_clip_bounds_the_norm_and_passes_smaller_ones() {
	assert_eq!(scalar::clip_scale(16.0, 1.0), 0.25);
	assert_eq!(scalar::clip_scale(1.0, 1.0), 1.0);
	assert_eq!(scalar::clip_scale(0.0, 1.0), 1.0);
	assert_eq!(scalar::clip_scale(f32::NAN, 1.0), 1.0);
}

#[test]
fn adamw_follows_the_formula_in_f64() {
	let step = adamw_step();
	let (mut p, mut m, mut v) = ([0.5], [0.01], [0.002]);
	scalar::adamw(&step, &mut p, &mut m, &mut v, &[0.3]);
	let g = 0.3 * 0.37;
	let (m64, v64) = (0.9 * 0.01 + 0.1 * g, 0.95 * 0.002 + 0.05 * g * g);
	let (m_hat, v_hat) = (m64 / (1.0 - 0.9f64.powi(7)), v64 / (1.0 - 0.95f64.powi(7)));
	let expected = 0.5 * (1.0 - 1.5e-3 * 0.1) - 1.5e-3 * m_hat / (v_hat.sqrt() + 1e-8);
	assert!((f64::from(p[0]) - expected).abs() < 1e-7);
	assert!((f64::from(m[0]) - m64).abs() < 1e-8 && (f64::from(v[0]) - v64).abs() < 1e-9);
}
