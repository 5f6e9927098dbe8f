//! How fast deltas are aggregated, and what comes out: `scripts/bench-aggregate.sh` compares that with a peer.
//!
//! `cargo run --release -p neuroshard-compute --example aggregate -- FOLDER COUNT THREADS REPEAT`: `FOLDER/vectors.f32` has COUNT vectors of equally many
//! little-endian floats. Each rule's result goes to `FOLDER/RULE.f32`, and a line of JSON with the seconds that each turn took to the output.

use neuroshard_compute::exec::{aggregate, Exec};
use neuroshard_graph::{Aggregator, Robust, Rule, F32};
use neuroshard_kernels::shape::Tiling;
use std::{error::Error, fmt::Write, path::PathBuf, time::Instant};

/// Liars that the rules bear.
const LIARS: u16 = 3;
/// Columns of the tensor that the vectors are.
const COLS: usize = 1_000;

fn rules() -> [(&'static str, Aggregator); 9] {
	let robust = |rule| Aggregator::Robust(Robust { clip: F32::new(0.0), rule });
	let one = F32::new(1.0);
	[
		("mean", Aggregator::Mean),
		("trimmed-mean", Aggregator::TrimmedMean { trim: LIARS }),
		("median", robust(Rule::Median)),
		("krum", robust(Rule::Krum { liars: LIARS })),
		("multi-krum", robust(Rule::MultiKrum { liars: LIARS })),
		("mixed-krum", robust(Rule::MixedKrum { liars: LIARS })),
		("centred-clipping", robust(Rule::CentredClipping { liars: LIARS, radius: one, steps: 1 })),
		("geometric-median", robust(Rule::GeometricMedian { liars: LIARS, floor: F32::new(1e-3), steps: 3 })),
		("clipping", Aggregator::Robust(Robust { clip: one, rule: Rule::Mean })),
	]
}

fn main() -> Result<(), Box<dyn Error>> {
	let mut arguments = std::env::args().skip(1);
	let mut next = |what: &str| arguments.next().ok_or_else(|| format!("{what} is missing"));
	let folder = PathBuf::from(next("the folder")?);
	let (count, threads): (usize, usize) = (next("the number of vectors")?.parse()?, next("the number of threads")?.parse()?);
	let repeat: usize = next("the number of turns")?.parse()?;
	let bytes = std::fs::read(folder.join("vectors.f32"))?;
	let numbers: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
	let len = numbers.len() / count.max(1);
	let vectors: Vec<&[f32]> = numbers.chunks_exact(len.max(1)).collect();
	let tiling = Tiling::new([(len / COLS, COLS), (1, len % COLS)]);
	let exec = Exec::new(threads)?;
	let mut out = vec![0.0; len];
	for (name, aggregator) in rules() {
		let mut seconds = String::new();
		for turn in 0..repeat {
			let begun = Instant::now();
			aggregate(&exec, &tiling, &vectors, &[], aggregator, &mut out)?;
			let separator = if turn == 0 { "" } else { ", " };
			write!(seconds, "{separator}{:.6}", begun.elapsed().as_secs_f64())?;
		}
		println!("{{\"rule\": \"{name}\", \"level\": \"{:?}\", \"seconds\": [{seconds}]}}", exec.level());
		let bytes: Vec<u8> = out.iter().flat_map(|value| value.to_le_bytes()).collect();
		std::fs::write(folder.join(format!("{name}.f32")), bytes)?;
	}
	Ok(())
}
