//! The cases of the operators, written once for the reference and for executors: those of training, those of exact int8 alone,
//! and those of Muon.

/// Appends the answers of all operators to a list, on inputs from a generator. The rest of the arguments is what an operator's name is
/// written behind: `scalar::` or `exec.`.
#[doc(hidden)]
#[macro_export]
macro_rules! kat_suite {
	($inputs:ident, $answers:ident, $($target:tt)*) => {{
		use $crate::{
			kat::Digest,
			scalar::{self, AttentionBackward, RmsBackward},
			schedule,
			shape::{tile_count, AdamW, AttentionDims, MatDims, RopeDims, Start},
		};
		// One step of each chain: fused multiply-adds of special numbers, the known vector in the first place.
		let mut digest = Digest::new();
		let dims = MatDims { m: 40, n: 40, k: 1 };
		let mut c: Vec<f32> = (0..1600).map(|_| $inputs.any()).collect();
		let [mut a, mut b] = [0; 2].map(|_| (0..40).map(|_| $inputs.any()).collect::<Vec<f32>>());
		(a[0], b[0], c[0]) = (f32::from_bits(0x2000_0001), f32::from_bits(0x13ff_fffe), f32::from_bits(0x0040_0001));
		$($target)* matmul_nn(dims, &a, &b, &mut c, Start::Existing);
		digest.add(&c);
		$answers.push(("matmul_fma", digest.finish()));

		// The third number says how rare unusual values are: none in the first round.
		for (name, rarity) in [("matmul", None), ("matmul_any", Some(60))] {
			let mut digest = Digest::new();
			let dims = MatDims { m: 14, n: 35, k: 37 };
			let [a, b] = [dims.m * dims.k, dims.n * dims.k].map(|len| $inputs.tensor(len, rarity));
			let initial = $inputs.tensor(dims.m * dims.n, rarity);
			for start in [Start::Zero, Start::Existing] {
				let mut c = initial.clone();
				$($target)* matmul_nt(dims, &a, &b, &mut c, start);
				digest.add(&c);
				c.copy_from_slice(&initial);
				$($target)* matmul_nn(dims, &a, &b, &mut c, start);
				digest.add(&c);
				c.copy_from_slice(&initial);
				$($target)* matmul_tn(dims, &a, &b, &mut c, start);
				digest.add(&c);
			}
			$answers.push((name, digest.finish()));
		}

		let mut digest = Digest::new();
		let dims = MatDims { m: 2, n: 2, k: 4100 };
		let [a, b] = [0; 2].map(|_| $inputs.tensor(2 * dims.k, None));
		let mut c = [0.0; 4];
		$($target)* matmul_tn(dims, &a, &b, &mut c, Start::Zero);
		digest.add(&c);
		$answers.push(("matmul_segments", digest.finish()));

		for (name, rarity) in [("attention", None), ("attention_any", Some(300))] {
			let mut digest = Digest::new();
			for [batch, seq, heads, kv_heads, head_dim] in [[2, 19, 4, 2, 8], [1, 9, 1, 1, 32]] {
				let dims = AttentionDims { batch, seq, heads, kv_heads, head_dim };
				let [q, d_o] = [0; 2].map(|_| $inputs.tensor(dims.query_len(), rarity));
				let [k, v] = [0; 2].map(|_| $inputs.tensor(dims.key_len(), rarity));
				let mut o = vec![0.0; q.len()];
				$($target)* attention_forward(dims, &q, &k, &v, &mut o);
				digest.add(&o);
				let (mut dq, mut dk, mut dv) = (vec![0.0; q.len()], vec![0.0; k.len()], vec![0.0; k.len()]);
				let input = AttentionBackward { q: &q, k: &k, v: &v, o: &o, d_o: &d_o };
				$($target)* attention_backward(dims, input, &mut dq, &mut dk, &mut dv);
				digest.add(&dq);
				digest.add(&dk);
				digest.add(&dv);
				let seen = (seq / 2 + 1) * dims.key_width();
				let width = dims.query_width();
				$($target)* attention_decode(dims, &q[..width], &k[..seen], &v[..seen], &mut o[..width]);
				digest.add(&o[..width]);
			}
			$answers.push((name, digest.finish()));
		}

		for (name, rarity) in [("rms_norm", None), ("rms_norm_any", Some(100))] {
			let mut digest = Digest::new();
			let (rows, dim) = (9, 83);
			let [dy, x, mut y] = [0; 3].map(|_| $inputs.tensor(rows * dim, rarity));
			let [w, mut dw] = [0; 2].map(|_| $inputs.tensor(dim, rarity));
			let (mut r, mut k) = (vec![0.0; rows], vec![0.0; rows]);
			$($target)* rms_stats(&x, dim, 1e-5, &mut r);
			$($target)* rms_backward_stats(&dy, &x, &w, &r, &mut k);
			digest.add(&r);
			digest.add(&k);
			$($target)* rms_backward_apply(RmsBackward { dy: &dy, x: &x, w: &w, r: &r, k: &k }, &mut y, Start::Existing);
			digest.add(&y);
			$($target)* rms_apply(&x, &r, &w, &mut y);
			digest.add(&y);
			$($target)* rms_weight_grad(&dy, &x, &r, 1, &mut dw, Start::Existing);
			digest.add(&dw);
			$answers.push((name, digest.finish()));
		}

		let mut digest = Digest::new();
		let dims = RopeDims { seq: 5, heads: 3, head_dim: 36 };
		let (mut cos, mut sin) = (vec![0.0; 5 * 18], vec![0.0; 5 * 18]);
		schedule::rope_tables(10_000, schedule::RopeScaling::None, 36, 3, &mut cos, &mut sin);
		let mut x = $inputs.tensor(2 * 5 * 3 * 36, Some(20));
		$($target)* rope_forward(dims, &mut x, &cos, &sin);
		digest.add(&x);
		$($target)* rope_backward(dims, &mut x, &cos, &sin);
		digest.add(&x);
		$answers.push(("rope", digest.finish()));

		let mut digest = Digest::new();
		let [a, b, c] = [0; 3].map(|_| $inputs.tensor(1003, Some(5)));
		let (mut d, mut e) = (vec![0.0; 1003], vec![0.0; 1003]);
		$($target)* swiglu_forward(&a, &b, &mut d);
		digest.add(&d);
		$($target)* swiglu_backward(&c, &a, &b, &mut d, &mut e);
		digest.add(&d);
		digest.add(&e);
		$($target)* sub(&a, &b, &mut d);
		digest.add(&d);
		$($target)* add_assign(&mut d, &c);
		digest.add(&d);
		$answers.push(("element_wise", digest.finish()));

		let mut digest = Digest::new();
		let (vocab, dim) = (20, 19);
		let (table, dy, ids) = ($inputs.tensor(vocab * dim, Some(30)), $inputs.tensor(50 * dim, Some(30)), $inputs.ids(50, vocab as u32));
		let (mut out, mut grad) = (vec![0.0; 50 * dim], table.clone());
		$($target)* embedding_gather(&table, dim, &ids, &mut out);
		$($target)* embedding_scatter_add(&dy, dim, &ids, &mut grad);
		digest.add(&out);
		digest.add(&grad);
		$answers.push(("embedding", digest.finish()));

		for (name, rarity) in [("cross_entropy", None), ("cross_entropy_any", Some(400))] {
			let mut digest = Digest::new();
			let (rows, vocab) = (10, 101);
			let (mut logits, targets) = ($inputs.tensor(rows * vocab, rarity), $inputs.ids(rows, vocab as u32));
			let (mut max, mut sum, mut loss) = (vec![0.0; rows], vec![0.0; rows], vec![0.0; rows]);
			$($target)* cross_entropy_stats(&logits, vocab, &mut max, &mut sum);
			$($target)* cross_entropy_loss(&logits, vocab, &targets, &max, &sum, &mut loss);
			$($target)* cross_entropy_backward(&mut logits, vocab, &targets, &max, &sum, schedule::reciprocal(10));
			digest.add(&max);
			digest.add(&sum);
			digest.add(&loss);
			digest.add(&logits);
			$answers.push((name, digest.finish()));
		}

		let mut digest = Digest::new();
		for (rows, cols, rarity) in [(70, 50, None), (1, 99, Some(30))] {
			let x = $inputs.tensor(rows * cols, rarity);
			let (mut squares, mut sums) = (vec![0.0; tile_count(rows, cols)], vec![0.0; tile_count(rows, cols)]);
			$($target)* tile_sum_squares(&x, rows, cols, &mut squares);
			$($target)* tile_sums(&x, rows, cols, &mut sums);
			digest.add(&squares);
			digest.add(&sums);
			let total = $($target)* tree_sum(&mut squares);
			digest.add(&[total, scalar::clip_scale(total, 1.0)]);
		}
		let mut many = $inputs.tensor(2500, None);
		digest.add(&[$($target)* tree_sum(&mut many)]);
		$answers.push(("reduction", digest.finish()));

		let mut digest = Digest::new();
		let [mut p, mut m, mut v, g] = [0; 4].map(|_| $inputs.tensor(500, Some(10)));
		let step = AdamW {
			lr: 1.5e-3,
			beta1: 0.9,
			complement1: schedule::complement(0.9),
			beta2: 0.95,
			complement2: schedule::complement(0.95),
			correction1: schedule::bias_correction(0.9, 3),
			correction2: schedule::bias_correction(0.95, 3),
			eps: 1e-8,
			decay: schedule::decay_factor(1.5e-3, 0.1),
			clip: 0.7,
		};
		$($target)* adamw(&step, &mut p, &mut m, &mut v, &g);
		digest.add(&p);
		digest.add(&m);
		digest.add(&v);
		$($target)* nesterov(&mut p, &mut m, &g, 0.7, 0.9);
		digest.add(&p);
		digest.add(&m);
		$answers.push(("optimizer", digest.finish()));

		let mut digest = Digest::new();
		let tensors = [0; 7].map(|_| $inputs.tensor(203, Some(5)));
		let views: Vec<&[f32]> = tensors.iter().map(|t| &t[..]).collect();
		let mut out = vec![0.0; 203];
		$($target)* mean(&views, &mut out);
		digest.add(&out);
		for trim in [0, 1, 3] {
			$($target)* trimmed_mean(&views, &[], trim, &mut out);
			digest.add(&out);
		}
		$answers.push(("aggregation", digest.finish()));

		// More rows than are packed at a time, enough of them for many threads; then more columns than are packed at a time.
		let mut digest = Digest::new();
		for dims in [MatDims { m: 401, n: 33, k: 3 }, MatDims { m: 3, n: 4130, k: 2 }] {
			let [a, b] = [dims.m * dims.k, dims.n * dims.k].map(|len| $inputs.tensor(len, Some(100)));
			let mut c = vec![0.0; dims.m * dims.n];
			$($target)* matmul_nt(dims, &a, &b, &mut c, Start::Zero);
			$($target)* matmul_nn(dims, &a, &b, &mut c, Start::Existing);
			$($target)* matmul_tn(dims, &a, &b, &mut c, Start::Existing);
			digest.add(&c);
		}
		$answers.push(("matmul_blocks", digest.finish()));

		let mut digest = Digest::new();
		let (rows, heads, dim) = (7, 3, 19);
		let [mut x, dy] = [0; 2].map(|_| $inputs.tensor(rows * heads * dim, Some(100)));
		let (b, r, mut dw) = ($inputs.tensor(heads * dim, Some(30)), $inputs.tensor(rows * heads, None), $inputs.tensor(dim, None));
		let mut db = vec![0.0; heads * dim];
		$($target)* add_bias(&mut x, &b);
		digest.add(&x);
		$($target)* column_sums(&dy, &mut db, Start::Zero);
		digest.add(&db);
		$($target)* rms_weight_grad(&dy, &x, &r, heads, &mut dw, Start::Existing);
		digest.add(&dw);
		$answers.push(("biases_and_heads", digest.finish()));

		let mut digest = Digest::new();
		let mut x = $inputs.tensor(67, Some(100));
		$($target)* scale(&mut x, 0.375);
		$($target)* scale(&mut x, 1.1);
		digest.add(&x);
		$answers.push(("scale", digest.finish()));
	}};
}

/// As [`kat_suite`], of the operators that only answers and training in exact int8 are computed with.
#[doc(hidden)]
#[macro_export]
macro_rules! kat_int8_suite {
	($inputs:ident, $answers:ident, $($target:tt)*) => {{
		use $crate::{
			kat::Digest,
			shape::{MatDims, Start},
		};
		for (name, rarity) in [("matmul_int8", None), ("matmul_int8_any", Some(300))] {
			let mut digest = Digest::new();
			// Few rows and more than are multiplied at a time, whole groups and parts of one, columns of whole panels and of parts of one.
			for [m, n, k] in [[1, 70, 96], [2, 33, 64], [7, 16, 37], [14, 35, 75], [200, 19, 33], [3, 130, 5]] {
				let dims = MatDims { m, n, k };
				let [a, b] = [m * k, n * k].map(|len| $inputs.tensor(len, rarity));
				let initial = $inputs.tensor(m * n, rarity);
				for start in [Start::Zero, Start::Existing] {
					let mut c = initial.clone();
					$($target)* matmul_int8(dims, &a, &b, &mut c, start);
					digest.add(&c);
				}
			}
			$answers.push((name, digest.finish()));
		}
		for (name, rarity) in [("matmul_int8_blocks", None), ("matmul_int8_blocks_any", Some(2_000))] {
			let mut digest = Digest::new();
			// One block and many, whole ones and parts, more rows than are multiplied at a time.
			for [m, n, k] in [[32, 32, 32], [1, 70, 96], [33, 31, 65], [7, 16, 37], [200, 49, 64], [64, 130, 5]] {
				let dims = MatDims { m, n, k };
				let [a, b] = [m * k, n * k].map(|len| $inputs.tensor(len, rarity));
				let initial = $inputs.tensor(m * n, rarity);
				for start in [Start::Zero, Start::Existing] {
					let mut c = initial.clone();
					$($target)* matmul_int8_nt(dims, &a, &b, &mut c, start);
					digest.add(&c);
					c.copy_from_slice(&initial);
					$($target)* matmul_int8_nn(dims, &a, &b, &mut c, start);
					digest.add(&c);
					c.copy_from_slice(&initial);
					$($target)* matmul_int8_tn(dims, &a, &b, &mut c, start);
					digest.add(&c);
				}
			}
			$answers.push((name, digest.finish()));
		}
		let mut digest = Digest::new();
		let dims = MatDims { m: 2, n: 2, k: 4100 };
		let [a, b] = [0; 2].map(|_| $inputs.tensor(2 * dims.k, None));
		let mut c = [0.0; 4];
		$($target)* matmul_int8_tn(dims, &a, &b, &mut c, Start::Zero);
		digest.add(&c);
		$answers.push(("matmul_int8_segments", digest.finish()));
	}};
}

/// As [`kat_suite`], of the operators of Muon.
#[doc(hidden)]
#[macro_export]
macro_rules! kat_muon_suite {
	($inputs:ident, $answers:ident, $($target:tt)*) => {{
		use $crate::{kat::Digest, schedule, shape::Muon};
		let mut digest = Digest::new();
		let step = Muon { rate: 1.5e-3 * schedule::muon_scale(384), momentum: 0.95, decay: schedule::decay_factor(1.5e-3, 0.1), clip: 0.7 };
		for len in [1, 53, 1_024, 4_399] {
			let [mut p, mut m, g, x] = [0; 4].map(|_| $inputs.tensor(len, Some(30)));
			let mut u = vec![0.0; len];
			$($target)* muon_direction(&step, &m, &g, &mut u);
			digest.add(&u);
			for squares in [$inputs.plain().abs(), 0.0, 1e-20] {
				$($target)* muon_normalize(&mut u, squares);
				digest.add(&u);
			}
			$($target)* muon(&step, &mut p, &mut m, &g, &x);
			digest.add(&p);
			digest.add(&m);
		}
		// A whole square, rows of one that reach the diagonal, and some that do not.
		for [n, rows, first] in [[1, 1, 0], [19, 19, 0], [83, 30, 40], [35, 20, 30], [32, 32, 32]] {
			let [a, mut aa] = [0; 2].map(|_| $inputs.tensor(rows * n, Some(30)));
			$($target)* muon_polynomial(&a, &mut aa, n, first);
			digest.add(&aa);
		}
		$answers.push(("muon", digest.finish()));
	}};
}
