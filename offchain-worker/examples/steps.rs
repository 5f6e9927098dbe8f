//! `steps VOCAB DIM LAYERS HEADS KV_HEADS FFN BATCH LENGTH STEPS THREADS WAY`: times training steps of a model with a tied head, after one untimed step, and prints the
//! seconds of each. WAY is `whole`, `recomputed` (in micro-batches of one sequence, with activations computed again) or `candle` (with its autograd, on rayon's threads).
//! `scripts/bench-engine.sh` compares these with PyTorch.

use neuroshard_compute::exec::StepMemory;
use neuroshard_graph::{ModelConfig, ParamLayout, TrainConfig};
use neuroshard_training::{
	checkpoint::Checkpoint,
	engine::{autograd::AutogradTrainer, Engine},
	presets,
};
use std::{error::Error, time::Instant};

/// Takes the step with this number.
type Step = Box<dyn FnMut(u64) -> Result<(), Box<dyn Error>>>;

fn main() -> Result<(), Box<dyn Error>> {
	const USAGE: &str = "steps VOCAB DIM LAYERS HEADS KV_HEADS FFN BATCH LENGTH STEPS THREADS WAY";
	let mut arguments: Vec<String> = std::env::args().skip(1).collect();
	let way = arguments.pop().ok_or(USAGE)?;
	let numbers = arguments.iter().map(|argument| argument.parse()).collect::<Result<Vec<u32>, _>>()?;
	let [vocab, dim, layers, heads, kv_heads, ffn, batch, seq_len, steps, threads] = numbers[..] else { return Err(USAGE.into()) };
	let (model, train) = presets::tiny();
	let model = ModelConfig { vocab, dim, layers, heads, kv_heads, ffn, max_seq: seq_len, tied: true, ..model };
	let train = TrainConfig { batch, seq_len, ..train };
	let threads = usize::try_from(threads)?;
	let theta = Checkpoint::genesis(0, &model, &train, threads)?.params;
	let length = usize::try_from(batch)?.saturating_mul(usize::try_from(seq_len)?.saturating_add(1));
	let tokens: Vec<u32> = (0u32..).map(|at| at.wrapping_mul(2_654_435_761) >> 8).map(|number| number % vocab).take(length).collect();
	let mut step: Step = match way.as_str() {
		"candle" => {
			let mut trainer = AutogradTrainer::new(&model, &ParamLayout::new(&model)?, &theta, &train)?;
			let lr = f64::from(train.lr.get());
			Box::new(move |_| Ok(trainer.train_step(&tokens, lr).map(drop)?))
		}
		"whole" | "recomputed" => {
			let recompute = way == "recomputed";
			let memory = StepMemory { micro_batch: recompute.then_some(1), recompute };
			let mut engine = Engine::with_memory(&model, &train, threads, memory)?;
			engine.load(&theta)?;
			drop(theta);
			Box::new(move |step| Ok(engine.train_step(&tokens, step, step.saturating_add(1)).map(drop)?))
		}
		_ => return Err(USAGE.into()),
	};
	for number in 0..=u64::from(steps) {
		let begin = Instant::now();
		step(number)?;
		if number > 0 {
			println!("{}", begin.elapsed().as_secs_f64());
		}
	}
	Ok(())
}
