//! How long a training step takes, and the memory of its arena.
//!
//! `cargo run --release -p neuroshard-compute --example step -- VOCAB DIM LAYERS SEQUENCES THREADS STEPS [muon] [int8] [commit]`: sequences of 128 tokens, heads
//! of 32 channels, a tied head, AdamW or Muon; the first steps are not measured. In place of the six numbers also
//! `VOCAB DIM LAYERS HEADS KV_HEADS FFN SEQUENCES TOKENS THREADS STEPS`. With `int8`, steps with products in f32 and in exact int8 take turns, also on
//! the instruction set before the fastest. With `commit`, so do five steps with a commitment to the state after the last one, and five without.

use neuroshard_compute::exec::{Arena, Exec, StepError, Trainer};
use neuroshard_compute::native::Level;
use neuroshard_graph::{
	config::{Optimizer, Products, F32},
	init::theta_0,
	ModelConfig, TrainConfig,
};
use std::{error::Error, sync::Arc, time::Instant};

/// Steps between two commitments.
const INTERVAL: u64 = 5;

/// A model that takes steps.
struct Run {
	name: String,
	trainer: Trainer,
	arena: Arena,
	tokens: Vec<u32>,
	steps: u64,
	loss: f32,
}

impl Run {
	fn new(exec: Exec, model: &ModelConfig, train: &TrainConfig) -> Result<Self, Box<dyn Error>> {
		let name = format!("{:?}, {:?} products", exec.level(), train.products);
		let trainer = Trainer::new(Arc::new(exec), model, train)?;
		let mut arena = Arena::new(trainer.arena_len());
		trainer.begin(&mut arena, &theta_0(model, trainer.layout(), &train.seed));
		let tokens = (0..u32::try_from(trainer.batch_tokens())?).map(|place| (place.wrapping_mul(2_654_435_761) >> 8) % model.vocab);
		let tokens = tokens.map(TryInto::try_into).collect::<Result<Vec<_>, _>>()?;
		Ok(Self { name, trainer, arena, tokens, steps: 0, loss: f32::NAN })
	}

	/// Milliseconds of a step.
	fn step(&mut self) -> Result<f64, StepError> {
		let begun = Instant::now();
		self.loss = self.trainer.train_step(&mut self.arena, &self.tokens, self.steps, self.steps + 1)?.loss;
		self.steps += 1;
		Ok(1e3 * begun.elapsed().as_secs_f64())
	}

	/// Milliseconds of so many steps, and of a commitment after the last one if there is to be one.
	fn steps(&mut self, count: u64, commit: bool) -> Result<[f64; 2], StepError> {
		let steps = (0..count).map(|_| self.step()).sum::<Result<f64, _>>()?;
		let begun = Instant::now();
		if commit {
			std::hint::black_box(self.trainer.state_roots(&self.arena));
		}
		Ok([steps, 1e3 * begun.elapsed().as_secs_f64()])
	}
}

/// Median, least and most.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
	values.sort_by(f64::total_cmp);
	let of = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
	[of(values.len() / 2), of(0), of(values.len().saturating_sub(1))]
}

fn main() -> Result<(), Box<dyn Error>> {
	let mut arguments: Vec<String> = std::env::args().skip(1).collect();
	let mut asked = |word: &str| arguments.iter().position(|argument| argument == word).map(|place| arguments.remove(place)).is_some();
	let [muon, int8, commit] = ["muon", "int8", "commit"].map(&mut asked);
	let numbers: Vec<u32> = arguments.iter().map(|argument| argument.parse()).collect::<Result<_, _>>()?;
	let [vocab, dim, layers, heads, kv_heads, ffn, batch, seq_len, threads, steps] = match numbers[..] {
		[vocab, dim, layers, batch, threads, steps] => [vocab, dim, layers, dim / 32, dim / 32, 3 * dim, batch, 128, threads, steps],
		_ => numbers.try_into().map_err(|_| "six or ten numbers are needed")?,
	};
	let model = ModelConfig { vocab, dim, layers, heads, kv_heads, ffn, max_seq: seq_len, tied: true, ..ModelConfig::tiny() };
	let optimizer = if muon { Optimizer::Muon { momentum: F32::new(0.95) } } else { Optimizer::AdamW };
	let train = TrainConfig { batch, seq_len, optimizer, ..TrainConfig::tiny() };
	let threads = usize::try_from(threads)?;
	let mut runs = vec![Run::new(Exec::new(threads)?, &model, &train)?];
	if int8 {
		let train = TrainConfig { products: Products::Int8, ..train.clone() };
		let levels = Level::available();
		for level in levels.into_iter().rev().take(2) {
			runs.push(Run::new(Exec::with_level(threads, level)?, &model, &train)?);
		}
	}
	let parameters = runs[0].trainer.layout().len();
	println!("{parameters} parameters, {} tokens, {threads} thread(s)", train.tokens_per_step());
	for run in &mut runs {
		run.step()?;
	}
	let mut times = vec![Vec::new(); runs.len()];
	for _ in 0..steps {
		for (run, times) in runs.iter_mut().zip(&mut times) {
			times.push(run.step()?);
		}
	}
	for (run, own) in runs.iter().zip(&times) {
		let [median, least, most] = spread(own.clone());
		let mebibytes = 4.0 * run.arena.len() as f64 / f64::from(1 << 20);
		println!("{}: {median:.1} ms a step ({least:.1} to {most:.1}), loss {}, arena {mebibytes:.1} MiB", run.name, run.loss);
		let [ratio, least, most] = spread(times[0].iter().zip(own).map(|(first, own)| first / own).collect());
		println!("   {ratio:.3} times the speed of the first ({least:.3} to {most:.3}), pair by pair");
	}
	for run in runs.iter_mut().filter(|_| commit) {
		let (mut cost, mut after, mut commitments) = (Vec::new(), Vec::new(), Vec::new());
		for _ in 0..steps {
			let [with, commitment] = run.steps(INTERVAL, true)?;
			let [without, _] = run.steps(INTERVAL, false)?;
			cost.push(100.0 * commitment / with.min(without));
			after.push(100.0 * (without / with - 1.0));
			commitments.push(commitment);
		}
		let ([median, least, most], [slower, ..], [commitment, ..]) = (spread(cost), spread(after), spread(commitments));
		println!(
			"{}: a commitment takes {commitment:.2} ms, {median:.3}% of {INTERVAL} steps ({least:.3} to {most:.3}); steps after it {slower:+.2}%",
			run.name
		);
	}
	Ok(())
}
