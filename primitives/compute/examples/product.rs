//! Speed of the matrix products, in GFLOP/s, beside those in exact int8 with square blocks, and the `gemm` crate, on the same shapes in the same run.
//!
//! `cargo run --release -p neuroshard-compute --example product [-- SECONDS_PER_SHAPE]`; with `exact` or `gemm`, then `nt`, `nn` or `tn`, M, N, K and THREADS, only the
//! GFLOP/s of that product, for `scripts/bench-engine.sh`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod measure;

use measure::{fill, time};
use neuroshard_compute::{
	exec::{Exec, ExecError},
	pages::zeros,
};
use neuroshard_kernels::shape::{MatDims, Start};
use std::time::{Duration, Instant};

/// How the operands lie in memory.
#[derive(Clone, Copy, Debug)]
enum Layout {
	Nt,
	Nn,
	Tn,
}

fn main() -> Result<(), ExecError> {
	let arguments: Vec<String> = std::env::args().skip(1).collect();
	if let [way, layout, numbers @ ..] = &arguments[..] {
		return one(way == "exact", layout, numbers);
	}
	let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(0.4);
	let budget = Duration::from_secs_f64(seconds);
	let shapes = [
		(Layout::Nt, 2048, 1024, 384),
		(Layout::Nt, 2048, 384, 1024),
		(Layout::Nt, 2048, 384, 384),
		(Layout::Nt, 2048, 4096, 384),
		(Layout::Nn, 2048, 384, 1024),
		(Layout::Nn, 2048, 1024, 384),
		(Layout::Nn, 2048, 384, 4096),
		(Layout::Tn, 384, 1024, 2048),
		(Layout::Tn, 4096, 384, 2048),
		(Layout::Nn, 512, 512, 512),
		(Layout::Nn, 1024, 1024, 1024),
		(Layout::Nn, 2048, 2048, 2048),
	];
	for threads in [1, 2] {
		let exec = Exec::new(threads)?;
		println!("{threads} thread(s), {:?}", exec.level());
		println!("{:>24} {:>10} {:>10} {:>7} {:>10} {:>7}", "layout m n k", "exact", "gemm", "ratio", "int8", "ratio");
		let mut product = 1.0f64;
		for (layout, m, n, k) in shapes {
			let dims = MatDims { m, n, k };
			let (a, b) = (fill(m * k, 1), fill(k * n, 2));
			let mut c = zeros(m * n);
			let work = 2.0 * (m * n * k) as f64 / 1e9;
			let mut ours = f64::MAX;
			let mut theirs = f64::MAX;
			let mut int8 = f64::MAX;
			// Interleaved, the best of each: other load on the machine then hits both.
			let begin = Instant::now();
			while begin.elapsed() < budget {
				ours = ours.min(time(|| exact(&exec, layout, dims, &a, &b, &mut c)));
				int8 = int8.min(time(|| match layout {
					Layout::Nt => exec.matmul_int8_nt(dims, &a, &b, &mut c, Start::Zero),
					Layout::Nn => exec.matmul_int8_nn(dims, &a, &b, &mut c, Start::Zero),
					Layout::Tn => exec.matmul_int8_tn(dims, &a, &b, &mut c, Start::Zero),
				}));
				theirs = theirs.min(time(|| peer(layout, dims, &a, &b, &mut c, threads)));
			}
			product *= theirs / ours;
			println!(
				"{:>24} {:>10.1} {:>10.1} {:>7.2} {:>10.1} {:>7.2}",
				format!("{layout:?} {m}x{n}x{k}"),
				work / ours,
				work / theirs,
				theirs / ours,
				work / int8,
				ours / int8
			);
		}
		println!("geometric mean of the first ratios: {:.2}", product.powf(1.0 / shapes.len() as f64));
	}
	Ok(())
}

/// Prints the GFLOP/s of the fastest product of a shape.
fn one(is_exact: bool, layout: &str, numbers: &[String]) -> Result<(), ExecError> {
	let layout = match layout {
		"nt" => Layout::Nt,
		"nn" => Layout::Nn,
		_ => Layout::Tn,
	};
	let [m, n, k, threads] = numbers.iter().map(|number| number.parse().unwrap()).collect::<Vec<usize>>()[..] else {
		panic!("M, N, K and THREADS are needed")
	};
	let (exec, dims) = (Exec::new(threads)?, MatDims { m, n, k });
	let (a, b, mut c) = (fill(m * k, 1), fill(k * n, 2), zeros(m * n));
	let (begin, mut fastest) = (Instant::now(), f64::MAX);
	while begin.elapsed() < Duration::from_millis(300) {
		fastest = fastest.min(time(|| match is_exact {
			true => exact(&exec, layout, dims, &a, &b, &mut c),
			false => peer(layout, dims, &a, &b, &mut c, threads),
		}));
	}
	println!("{}", 2.0 * (m * n * k) as f64 / 1e9 / fastest);
	Ok(())
}

fn exact(exec: &Exec, layout: Layout, dims: MatDims, a: &[f32], b: &[f32], c: &mut [f32]) {
	match layout {
		Layout::Nt => exec.matmul_nt(dims, a, b, c, Start::Zero),
		Layout::Nn => exec.matmul_nn(dims, a, b, c, Start::Zero),
		Layout::Tn => exec.matmul_tn(dims, a, b, c, Start::Zero),
	}
}

fn peer(layout: Layout, MatDims { m, n, k }: MatDims, a: &[f32], b: &[f32], c: &mut [f32], threads: usize) {
	// (column stride, row stride) of the operands.
	let (a_strides, b_strides) = match layout {
		Layout::Nt => ((1, k), (k, 1)),
		Layout::Nn => ((1, k), (1, n)),
		Layout::Tn => ((m, 1), (1, n)),
	};
	let parallelism = if threads == 1 { gemm::Parallelism::None } else { gemm::Parallelism::Rayon(threads) };
	// SAFETY: the strides describe row-major slices of these lengths.
	unsafe {
		gemm::gemm(
			m,
			n,
			k,
			c.as_mut_ptr(),
			1,
			n as isize,
			false,
			a.as_ptr(),
			a_strides.0 as isize,
			a_strides.1 as isize,
			b.as_ptr(),
			b_strides.0 as isize,
			b_strides.1 as isize,
			0.0f32,
			1.0f32,
			false,
			false,
			false,
			parallelism,
		);
	}
}
