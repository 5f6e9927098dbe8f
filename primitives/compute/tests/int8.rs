//! Products of 8-bit numbers on every instruction set have the scalar reference's bits.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod executors;

use executors::{executors, same, Inputs, Kind, KINDS};
use neuroshard_compute::{exec::Exec, native::Quantized};
use neuroshard_kernels::{
	scalar::{self, Group},
	shape::{MatDims, Start},
};

/// A product of packed weights that first saw other rows.
fn packed(exec: &Exec, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32], start: Start) {
	let (weights, mut rows) = (exec.pack_int8(dims.n, dims.k, b), Quantized::default());
	exec.quantize(dims.k, &vec![f32::NAN; 7 * dims.k], &mut rows);
	exec.quantize(dims.k, a, &mut rows);
	exec.matmul_packed_int8(&rows, &weights, c, start);
}

fn compare(execs: &[Exec], inputs: &mut Inputs, dims: MatDims) {
	for kind in KINDS {
		let (a, b) = (inputs.tensor(dims.m * dims.k, kind), inputs.tensor(dims.k * dims.n, kind));
		let initial = inputs.tensor(dims.m * dims.n, kind);
		for start in [Start::Zero, Start::Existing] {
			let mut expected = initial.clone();
			scalar::matmul_int8(dims, &a, &b, &mut expected, start);
			for exec in execs {
				for (name, product) in [("whole", Exec::matmul_int8 as fn(&Exec, _, &_, &_, &mut _, _)), ("packed", packed)] {
					let mut got = initial.clone();
					product(exec, dims, &a, &b, &mut got, start);
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
	let sizes = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 66, 97, 130];
	for _ in 0..200 {
		let [m, n, k] = [0; 3].map(|_| sizes[inputs.below(sizes.len())]);
		compare(&execs, &mut inputs, MatDims { m, n, k });
	}
}

#[test]
fn large_shapes_agree() {
	let execs = executors();
	let mut inputs = Inputs::new(2);
	for [m, n, k] in [[5, 9, 1030], [1, 1200, 256], [2, 70, 2_000], [193, 17, 40], [400, 33, 64], [16, 300, 320], [1, 64, 4_100]] {
		compare(&execs, &mut inputs, MatDims { m, n, k });
	}
}

#[test]
fn the_greatest_sums_that_values_can_have_are_exact() {
	let execs = executors();
	// Every product of two values is 127 * 127 or its opposite; also single ones of the other sign among them.
	for (left, right) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
		for odd in 0..33 {
			let dims = MatDims { m: 7, n: 67, k: 64 };
			let mut a = vec![left; dims.m * dims.k];
			let mut b = vec![right; dims.n * dims.k];
			if odd < 32 {
				a.iter_mut().skip(odd).step_by(32).for_each(|x| *x = -left);
				b.iter_mut().skip(31 - odd).step_by(32).for_each(|x| *x = -right);
			}
			let mut expected = vec![0.0; dims.m * dims.n];
			scalar::matmul_int8(dims, &a, &b, &mut expected, Start::Zero);
			for exec in &execs {
				let mut got = vec![0.0; dims.m * dims.n];
				exec.matmul_int8(dims, &a, &b, &mut got, Start::Zero);
				same("extreme", exec, &expected, &got);
			}
			// In blocks, 127 is what has the greatest value.
			let [a, b] = [&a, &b].map(|x| x.iter().map(|x| x * 127.0).collect::<Vec<f32>>());
			scalar::matmul_int8_nt(dims, &a, &b, &mut expected, Start::Zero);
			assert!(odd < 32 || expected.iter().all(|sum| *sum == left * right * 64.0 * 127.0 * 127.0));
			for exec in &execs {
				let mut got = vec![0.0; dims.m * dims.n];
				exec.matmul_int8_nt(dims, &a, &b, &mut got, Start::Zero);
				same("extreme in blocks", exec, &expected, &got);
			}
		}
	}
}

#[test]
fn empty_dimensions_are_products_too() {
	for exec in executors() {
		for start in [Start::Zero, Start::Existing] {
			for [m, n, k] in [[0, 3, 2], [3, 0, 2], [3, 2, 0], [0, 0, 0]] {
				let dims = MatDims { m, n, k };
				let (a, b) = (vec![1.0; m * k], vec![1.0; k * n]);
				let (mut expected, mut got) = (vec![7.0; m * n], vec![7.0; m * n]);
				scalar::matmul_int8(dims, &a, &b, &mut expected, start);
				exec.matmul_int8(dims, &a, &b, &mut got, start);
				assert_eq!(expected, got);
			}
		}
	}
}

#[test]
fn eight_weights_take_nine_bytes() {
	let exec = Exec::new(1).unwrap();
	assert_eq!(exec.pack_int8(64, 96, &[0.5; 64 * 96]).bytes(), 64 * 96 * 9 / 8);
}

#[test]
fn a_quantized_number_is_nearer_than_half_a_step() {
	let mut inputs = Inputs::new(4);
	for _ in 0..1_000 {
		let numbers = inputs.tensor(32, Kind::Plain);
		let group = Group::of(&numbers);
		for (&x, &value) in numbers.iter().zip(&group.values) {
			assert!((x - f32::from(value) * group.scale).abs() <= 0.500_001 * group.scale);
		}
	}
}
