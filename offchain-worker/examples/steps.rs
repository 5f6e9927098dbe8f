//! `steps VOCAB DIM LAYERS BATCH LENGTH STEPS [MICRO_BATCH]`: times training steps of a Llama with heads of 64 and a tied embedding, after one untimed step, and prints the
//! seconds of each. With a `MICRO_BATCH`, gradients are accumulated and activations computed again. `scripts/bench-steps.sh` compares that with PyTorch.

use neuroshard_compute::exec::StepMemory;
use neuroshard_graph::{ModelConfig, TrainConfig};
use neuroshard_training::{checkpoint::Checkpoint, engine::Engine, presets};
use std::{error::Error, thread::available_parallelism, time::Instant};

fn main() -> Result<(), Box<dyn Error>> {
	let arguments = std::env::args().skip(1).map(|argument| argument.parse()).collect::<Result<Vec<u32>, _>>()?;
	let [vocab, dim, layers, batch, seq_len, steps, micro_batch @ ..] = arguments.as_slice() else {
		return Err("steps VOCAB DIM LAYERS BATCH LENGTH STEPS [MICRO_BATCH]".into());
	};
	let (mut model, train) = presets::tiny();
	model = ModelConfig { vocab: *vocab, dim: *dim, layers: *layers, max_seq: *seq_len, ..model };
	(model.heads, model.kv_heads, model.ffn, model.tied) = (dim / 64, dim / 64, (dim * 8 / 3).next_multiple_of(32), true);
	let train = TrainConfig { batch: *batch, seq_len: *seq_len, ..train };
	let memory = StepMemory { micro_batch: micro_batch.first().copied(), recompute: !micro_batch.is_empty() };
	let threads = available_parallelism()?.get();
	let mut engine = Engine::with_memory(&model, &train, threads, memory)?;
	engine.load(&Checkpoint::genesis(0, &model, &train, threads)?.params)?;
	let length = usize::try_from(*batch)?.saturating_mul(usize::try_from(*seq_len)?.saturating_add(1));
	let tokens: Vec<u32> = (0u32..).map(|at| at.wrapping_mul(2_654_435_761) >> 8).map(|number| number % vocab).take(length).collect();
	for step in 0..=u64::from(*steps) {
		let begin = Instant::now();
		engine.train_step(&tokens, step, step.saturating_add(1))?;
		if step > 0 {
			println!("{}", begin.elapsed().as_secs_f64());
		}
	}
	Ok(())
}
