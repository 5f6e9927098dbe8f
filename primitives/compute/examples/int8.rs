//! Speed of the products of a model that answers, with weights in f32 and in 8 bits: all matrices of a model of 110 million parameters, one
//! after the other, for 1, 8 and 128 rows. Beside them, how fast as much memory is only read.
//!
//! `cargo run --release -p neuroshard-compute --example int8 [-- ROUNDS]`

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod measure;

use measure::{fill, time};
use neuroshard_compute::{
	exec::{Exec, ExecError},
	native::{Packed, PackedInt8, Quantized},
};
use neuroshard_kernels::shape::Start;
use std::hint::black_box;

const LAYERS: usize = 12;
const DIM: usize = 768;
const FFN: usize = 2_048;
const VOCAB: usize = 32_000;

/// A matrix `[n, k]` in both forms.
struct Weight {
	n: usize,
	k: usize,
	/// Whether it multiplies what the matrix before it did.
	again: bool,
	plain: Packed,
	int8: PackedInt8,
}

fn model(exec: &Exec) -> Vec<Weight> {
	let layer =
		[(DIM, DIM, false), (DIM, DIM, true), (DIM, DIM, true), (DIM, DIM, false), (FFN, DIM, false), (FFN, DIM, true), (DIM, FFN, false)];
	let shapes = layer.into_iter().cycle().take(LAYERS * layer.len()).chain([(VOCAB, DIM, false)]);
	let weight = |(n, k, again): (usize, usize, bool)| {
		let values = fill(n * k, 3);
		Weight { n, k, again, plain: exec.pack(n, k, &values), int8: exec.pack_int8(n, k, &values) }
	};
	shapes.map(weight).collect()
}

fn main() -> Result<(), ExecError> {
	let rounds = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(15);
	for threads in [1, 2] {
		let exec = Exec::new(threads)?;
		let weights = model(&exec);
		let parameters: usize = weights.iter().map(|weight| weight.n * weight.k).sum();
		let sizes = [4 * parameters, weights.iter().map(|weight| weight.int8.bytes()).sum()];
		println!(
			"{threads} thread(s), {:?}, {parameters} parameters, {:.0} and {:.0} MB",
			exec.level(),
			sizes[0] as f64 / 1e6,
			sizes[1] as f64 / 1e6
		);
		let memory = vec![1u64; sizes[0] / 8];
		let read = |bytes: usize| {
			let part = bytes / 8 / threads;
			exec.on_threads(|t| {
				// Four streams, as the products have.
				let [one, two, three, four] = [0, 1, 2, 3].map(|stream| &memory[t * part + stream * (part / 4)..][..part / 4]);
				let words = one.iter().zip(two).zip(three.iter().zip(four));
				black_box(words.fold(0u64, |sum, ((one, two), (three, four))| sum ^ one ^ two ^ three ^ four));
			});
		};
		for rows in [1, 8, 128] {
			let x = fill(rows * FFN, 7);
			let mut out = vec![0.0; rows * VOCAB];
			let mut quantized = Quantized::default();
			// Taking turns: other load on the machine then hits all of them.
			let mut times = [const { Vec::new() }; 4];
			for _ in 0..rounds {
				times[0].push(time(|| {
					for Weight { n, k, plain, .. } in &weights {
						exec.matmul_packed(&x[..rows * k], plain, &mut out[..rows * n], Start::Zero);
					}
				}));
				times[1].push(time(|| {
					for Weight { n, k, again, int8, .. } in &weights {
						if !again {
							exec.quantize(*k, &x[..rows * k], &mut quantized);
						}
						exec.matmul_packed_int8(&quantized, int8, &mut out[..rows * n], Start::Zero);
					}
				}));
				times[2].push(time(|| read(sizes[0])));
				times[3].push(time(|| read(sizes[1])));
			}
			// The fastest, the median and the slowest.
			let times = times.map(|mut times: Vec<f64>| {
				times.sort_by(f64::total_cmp);
				[times[0], times[times.len() / 2], times[times.len() - 1]]
			});
			let names = ["f32", "int8"];
			for (name, ([fastest, median, slowest], (bytes, [reading, ..]))) in
				names.iter().zip(times.into_iter().zip(sizes.into_iter().zip(times.into_iter().skip(2))))
			{
				println!(
					"  {rows:>3} rows {name:>4}: {:>8.2} ms ({:.2} to {:.2}), {:>7.1} rows/s, {:>6.1} GB/s of weights where reading alone takes {:.1}, {:>6.1} GFLOP/s",
					1e3 * median,
					1e3 * fastest,
					1e3 * slowest,
					rows as f64 / median,
					bytes as f64 / fastest / 1e9,
					bytes as f64 / reading / 1e9,
					2.0 * (rows * parameters) as f64 / fastest / 1e9,
				);
			}
			println!(
				"  {rows:>3} rows: int8 is {:.2} times as fast (medians), {:.2} (fastest)",
				times[0][1] / times[1][1],
				times[0][0] / times[1][0]
			);
		}
	}
	Ok(())
}
