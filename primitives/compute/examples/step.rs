//! How long a training step takes, and the memory of its arena.
//!
//! `cargo run --release -p neuroshard-compute --example step -- VOCAB DIM LAYERS SEQUENCES THREADS STEPS [muon]`: sequences of 128 tokens, heads of 32 channels, a
//! tied head, AdamW or Muon; the first step is not measured.

use neuroshard_compute::exec::{Arena, Exec, Trainer};
use neuroshard_graph::{init::theta_0, ModelConfig, Optimizer, TrainConfig, F32};
use std::{error::Error, sync::Arc, time::Instant};

fn main() -> Result<(), Box<dyn Error>> {
	let mut arguments: Vec<String> = std::env::args().skip(1).collect();
	let muon = arguments.pop_if(|last| last == "muon").is_some();
	let numbers: Vec<u32> = arguments.iter().map(|argument| argument.parse()).collect::<Result<_, _>>()?;
	let [vocab, dim, layers, batch, threads, steps] = numbers[..] else { return Err("six numbers are needed".into()) };
	let heads = dim / 32;
	let model = ModelConfig { vocab, dim, layers, heads, kv_heads: heads, ffn: 3 * dim, max_seq: 128, tied: true, ..ModelConfig::tiny() };
	let optimizer = if muon { Optimizer::Muon { momentum: F32::new(0.95) } } else { Optimizer::AdamW };
	let train = TrainConfig { batch, seq_len: 128, optimizer, ..TrainConfig::tiny() };
	let mut trainer = Trainer::new(Arc::new(Exec::new(usize::try_from(threads)?)?), &model, &train)?;
	let mut arena = Arena::new(trainer.arena_len());
	let theta = theta_0(&model, trainer.layout(), &train.seed);
	trainer.theta_mut(&mut arena).copy_from_slice(&theta);
	let tokens = (0..u32::try_from(trainer.batch_tokens())?).map(|place| (place.wrapping_mul(2_654_435_761) >> 8) % vocab);
	let tokens = tokens.map(TryInto::try_into).collect::<Result<Vec<_>, _>>()?;
	let (mut seconds, mut loss) = (Vec::new(), f32::NAN);
	for step in 0..=u64::from(steps) {
		let begun = Instant::now();
		loss = trainer.train_step(&mut arena, &tokens, step, step + 1)?.loss;
		seconds.extend((step > 0).then_some(begun.elapsed().as_secs_f64()));
	}
	seconds.sort_by(f64::total_cmp);
	let of = |place: usize| 1e3 * seconds.get(place).copied().unwrap_or(f64::NAN);
	println!(
		"{:?}, {threads} thread(s), {} parameters, {} tokens, arena {:.1} MiB, loss {loss}: {:.1} ms a step ({:.1} to {:.1})",
		trainer.exec().level(),
		theta.len(),
		train.tokens_per_step(),
		4.0 * arena.len() as f64 / f64::from(1 << 20),
		of(seconds.len() / 2),
		of(0),
		of(seconds.len().saturating_sub(1)),
	);
	Ok(())
}
