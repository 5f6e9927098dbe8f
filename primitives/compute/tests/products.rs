//! Products on every instruction set have the scalar reference's bits.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod executors;

use executors::{executors, same, Inputs, KINDS};
use neuroshard_compute::exec::Exec;
use neuroshard_kernels::{
	scalar,
	shape::{MatDims, Start},
};

type Reference = fn(MatDims, &[f32], &[f32], &mut [f32], Start);
type Native = fn(&Exec, MatDims, &[f32], &[f32], &mut [f32], Start);
const LAYOUTS: [(&str, Reference, Native); 6] = [
	("nt", scalar::matmul_nt, Exec::matmul_nt),
	("nn", scalar::matmul_nn, Exec::matmul_nn),
	("tn", scalar::matmul_tn, Exec::matmul_tn),
	("int8 nt", scalar::matmul_int8_nt, Exec::matmul_int8_nt),
	("int8 nn", scalar::matmul_int8_nn, Exec::matmul_int8_nn),
	("int8 tn", scalar::matmul_int8_tn, Exec::matmul_int8_tn),
];

fn compare(execs: &[Exec], inputs: &mut Inputs, dims: MatDims) {
	for kind in KINDS {
		let (a, b) = (inputs.tensor(dims.m * dims.k, kind), inputs.tensor(dims.k * dims.n, kind));
		let initial = inputs.tensor(dims.m * dims.n, kind);
		for (name, reference, native) in LAYOUTS {
			for start in [Start::Zero, Start::Existing] {
				let mut expected = initial.clone();
				reference(dims, &a, &b, &mut expected, start);
				for exec in execs {
					let mut got = initial.clone();
					native(exec, dims, &a, &b, &mut got, start);
					same(&format!("{name} {dims:?} {kind:?} {start:?}"), exec, &expected, &got);
				}
			}
		}
	}
}

#[test]
fn odd_shapes_agree() {
	let execs = executors();
	let mut inputs = Inputs::new(1);
	let sizes = [1, 2, 3, 5, 7, 11, 12, 13, 16, 17, 31, 32, 33, 47, 48, 65, 97];
	for _ in 0..120 {
		let [m, n, k] = [0; 3].map(|_| sizes[inputs.below(sizes.len())]);
		compare(&execs, &mut inputs, MatDims { m, n, k });
	}
}

#[test]
fn chains_and_rows_longer_than_a_packed_block_agree() {
	let execs = executors();
	let mut inputs = Inputs::new(2);
	for [m, n, k] in
		[[5, 9, 1030], [13, 33, 513], [200, 17, 31], [401, 3, 7], [1, 4131, 5], [2, 70, 600], [30, 4100, 3], [150, 130, 90], [7, 700, 130]]
	{
		compare(&execs, &mut inputs, MatDims { m, n, k });
	}
}

#[test]
fn chains_over_many_tokens_are_cut_into_segments() {
	let execs = executors();
	let mut inputs = Inputs::new(3);
	for k in [4096, 4097, 8200] {
		compare(&execs, &mut inputs, MatDims { m: 3, n: 5, k });
	}
	// Told apart from one long chain: 2^24 swallows ones, but not the sum of a segment of them.
	let k = 4096 + 64;
	let dims = MatDims { m: 1, n: 1, k };
	let mut a = vec![1.0; k];
	a[..4096].fill(0.0);
	a[0] = 16_777_216.0;
	let mut c = [0.0];
	scalar::matmul_tn(dims, &a, &vec![1.0; k], &mut c, Start::Zero);
	assert_eq!(c[0], 16_777_216.0 + 64.0);
	scalar::matmul_nn(dims, &a, &vec![1.0; k], &mut c, Start::Zero);
	assert_eq!(c[0], 16_777_216.0);
}

#[test]
fn empty_dimensions_are_products_too() {
	for exec in executors() {
		for (_, reference, native) in LAYOUTS {
			for (start, dims) in [Start::Zero, Start::Existing]
				.into_iter()
				.flat_map(|s| [[0, 3, 2], [3, 0, 2], [3, 2, 0]].map(|[m, n, k]| (s, MatDims { m, n, k })))
			{
				let (a, b) = (vec![1.0; dims.m * dims.k], vec![1.0; dims.k * dims.n]);
				let (mut expected, mut got) = (vec![7.0; dims.m * dims.n], vec![7.0; dims.m * dims.n]);
				reference(dims, &a, &b, &mut expected, start);
				native(&exec, dims, &a, &b, &mut got, start);
				assert_eq!(expected, got);
			}
		}
	}
}

#[test]
fn a_product_is_the_mathematical_one() {
	let mut inputs = Inputs::new(4);
	let dims = MatDims { m: 9, n: 14, k: 21 };
	let (a, b) = (inputs.tensor(9 * 21, executors::Kind::Plain), inputs.tensor(21 * 14, executors::Kind::Plain));
	let transpose = |x: &[f32], rows: usize, cols: usize| -> Vec<f32> {
		(0..cols).flat_map(|c| (0..rows).map(move |r| (r, c))).map(|(r, c)| x[r * cols + c]).collect()
	};
	let (at, bt) = (transpose(&a, 9, 21), transpose(&b, 21, 14));
	for (name, reference, _) in LAYOUTS {
		let mut c = vec![0.0; 9 * 14];
		reference(dims, if name.ends_with("tn") { &at } else { &a }, if name.ends_with("nt") { &bt } else { &b }, &mut c, Start::Zero);
		// Two numbers that are rounded to 8 bits are wrong by a 127th each, in places.
		let error = if name.starts_with("int8") { 0.3 } else { 1e-5 };
		for i in 0..9 {
			for j in 0..14 {
				let exact: f64 = (0..21).map(|k| f64::from(a[i * 21 + k]) * f64::from(b[k * 14 + j])).sum();
				assert!((f64::from(c[i * 14 + j]) - exact).abs() < error, "{name}");
			}
		}
	}
}

#[test]
fn one_executor_serves_several_callers_at_once() {
	let mut inputs = Inputs::new(5);
	let dims = MatDims { m: 60, n: 80, k: 200 };
	let (a, b) = (inputs.tensor(dims.m * dims.k, executors::Kind::Plain), inputs.tensor(dims.k * dims.n, executors::Kind::Plain));
	for exec in executors() {
		std::thread::scope(|scope| {
			for (_, reference, native) in [LAYOUTS[1], LAYOUTS[3], LAYOUTS[5]] {
				let (exec, a, b) = (&exec, &a, &b);
				scope.spawn(move || {
					let mut expected = vec![0.0; dims.m * dims.n];
					reference(dims, a, b, &mut expected, Start::Zero);
					for _ in 0..10 {
						let mut got = vec![0.0; dims.m * dims.n];
						native(exec, dims, a, b, &mut got, Start::Zero);
						same("shared", exec, &expected, &got);
					}
				});
			}
		});
	}
}
