//! Where the time of a training step goes, beside what this machine can do.

use crate::bench::{begin, BenchError};
use neuroshard_compute::exec::{Exec, Spent, StepMemory};
use neuroshard_graph::{ModelConfig, TrainConfig};
use neuroshard_support::hardware;
use neuroshard_training::engine::{Device, Engine, EngineError};
use std::{
	fmt,
	time::{Duration, Instant},
};

/// Numbers that are copied, more than caches hold, and times.
const COPIED: usize = 16 << 20;
const COPIES: u32 = 5;

/// Times of operators, each the median of some steps.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
	/// What computed.
	pub device: String,
	/// Threads of the CPU.
	pub threads: usize,
	/// Tokens of a step.
	pub tokens: u64,
	/// Fastest exact products of this machine's CPU, GFLOP/s.
	pub products: u32,
	/// Speed at which its CPU reads and writes, GB/s.
	pub copies: f64,
	/// Operators, those first that took most time.
	pub operators: Vec<(&'static str, Spent)>,
}

impl fmt::Display for Report {
	fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
		let all: Duration = self.operators.iter().map(|(_, spent)| spent.time).sum();
		let seconds = all.as_secs_f64();
		writeln!(
			f,
			"{}: {:.1} ms in the operators of a step of {} tokens ({:.0} tokens/s); the CPU with {} threads multiplies at {} GFLOP/s and copies at {:.1} GB/s",
			self.device,
			1e3 * seconds,
			self.tokens,
			self.tokens as f64 / seconds,
			self.threads,
			self.products,
			self.copies
		)?;
		writeln!(f, "{:<24} {:>6} {:>10} {:>7} {:>14} {:>12}", "operator", "calls", "ms", "share", "speed", "of the CPU's")?;
		for (name, spent) in &self.operators {
			let (time, share) = (spent.time.as_secs_f64(), 100.0 * spent.time.as_secs_f64() / seconds);
			let (speed, unit, most) = match spent.flops > 0.0 {
				true => (spent.flops / time / 1e9, "GFLOP/s", f64::from(self.products)),
				false => (spent.bytes / time / 1e9, "GB/s", self.copies),
			};
			writeln!(
				f,
				"{name:<24} {:>6} {:>10.2} {share:>6.1}% {speed:>6.1} {unit:<7} {:>11.0}%",
				spent.calls,
				1e3 * time,
				100.0 * speed / most
			)?;
		}
		write!(f, "GB/s count operands and results once each; what stays in caches is faster than copying")
	}
}

/// Takes `repetitions` steps after one that is not counted.
///
/// # Errors
/// [`BenchError`].
pub fn profile(
	model: &ModelConfig,
	train: &TrainConfig,
	(device, threads): (Device, usize),
	memory: StepMemory,
	repetitions: u32,
) -> Result<Report, BenchError> {
	let exec = Exec::new(threads).map_err(EngineError::from)?;
	let (products, copies) = (hardware::measure(&exec, 0).gflops, copy_speed(&exec));
	let mut engine = Engine::on(device, model, train, threads, Some(memory))?;
	let tokens = begin(&mut engine)?;
	engine.train_step(&tokens, 0, 1)?;
	let mut steps = Vec::new();
	for step in 1..=u64::from(repetitions) {
		steps.push(engine.profiled_step(&tokens, step, step + 1)?.operators());
	}
	Ok(Report { device: engine.is_on(), threads, tokens: train.tokens_per_step(), products, copies, operators: medians(steps) })
}

/// Each operator with the median of its times, the lower one of two.
fn medians(steps: Vec<Vec<(&'static str, Spent)>>) -> Vec<(&'static str, Spent)> {
	let first = steps.first().cloned().unwrap_or_default();
	let of = |name: &str| -> Vec<Duration> {
		let mut times: Vec<_> = steps.iter().flatten().filter(|(found, _)| *found == name).map(|(_, spent)| spent.time).collect();
		times.sort_unstable();
		times
	};
	let median = |times: Vec<Duration>| times.get(times.len().saturating_sub(1) / 2).copied().unwrap_or_default();
	let mut all: Vec<_> = first.into_iter().map(|(name, spent)| (name, Spent { time: median(of(name)), ..spent })).collect();
	all.sort_by_key(|(_, spent)| core::cmp::Reverse(spent.time));
	all
}

/// GB/s that are read and written, in the fastest of some copies.
fn copy_speed(exec: &Exec) -> f64 {
	let (from, mut to) = (vec![1.0; COPIED], vec![0.0; COPIED]);
	let copy = |to: &mut [f32]| {
		let begun = Instant::now();
		exec.copy(&from, to);
		begun.elapsed()
	};
	let fastest = (0..COPIES).map(|_| copy(&mut to)).min().unwrap_or(Duration::MAX);
	(2 * 4 * COPIED) as f64 / fastest.as_secs_f64() / 1e9
}

#[cfg(test)]
mod tests {
	use super::*;

	fn spent(time: u64, flops: f64, bytes: f64) -> Spent {
		Spent { calls: 2, time: Duration::from_millis(time), flops, bytes }
	}

	#[test]
	fn operators_have_the_median_of_their_times_and_the_slowest_is_first() {
		let step = |nt, adamw| vec![("matmul_nt", spent(nt, 1e9, 1e6)), ("adamw", spent(adamw, 0.0, 4e6))];
		let found = medians(vec![step(10, 30), step(50, 20), step(20, 25)]);
		assert_eq!(found, [("adamw", spent(25, 0.0, 4e6)), ("matmul_nt", spent(20, 1e9, 1e6))]);
		let report = Report { device: "the CPU".into(), threads: 2, tokens: 90, products: 100, copies: 0.32, operators: found };
		let text = report.to_string();
		// 1e9 operations in 20 ms are 50 GFLOP/s, 4e6 bytes in 25 ms 0.16 GB/s; 45 ms in all.
		for words in ["45.0 ms", "(2000 tokens/s)", "50.0 GFLOP/s", "0.2 GB/s", "55.6%", "44.4%", "50%"] {
			assert!(text.contains(words), "{words}: {text}");
		}
	}
}
