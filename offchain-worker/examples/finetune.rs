//! `finetune FOLDER TOKENS BATCH LENGTH WARMUP OUT`: trains the model in a Hugging Face folder on batches of tokens, four bytes each, and prints the loss and the norm
//! of the gradient of each step; what it ends with goes to `OUT`, as a folder again. With a `RANK` behind these an adapter of all projections is trained, whose alpha is twice
//! its rank, and goes to `OUT`, what it starts with to `OUT/start`. `scripts/finetune.sh` compares that with PyTorch.

use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_graph::{Adapter, ParamLayout, Projections, TrainConfig, F32};
use neuroshard_inference::import;
use neuroshard_training::{
	checkpoint::Checkpoint,
	engine::Engine,
	export::{export, peft},
	presets,
};
use std::{error::Error, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
	let arguments: Vec<String> = std::env::args().skip(1).collect();
	let [folder, tokens, batch, length, warmup, out, rank @ ..] = arguments.as_slice() else {
		return Err("finetune FOLDER TOKENS BATCH LENGTH WARMUP OUT [RANK]".into());
	};
	let (out, rank) = (Path::new(out), rank.first().map(|rank| rank.parse::<u16>()).transpose()?);
	let (batch, seq_len, warmup_steps) = (batch.parse()?, length.parse()?, warmup.parse()?);
	let tokens: Vec<u32> = std::fs::read(tokens)?.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
	let sequences = usize::try_from(batch)?.saturating_mul(usize::try_from(seq_len)?.saturating_add(1));
	let steps = tokens.len().checked_div(sequences).unwrap_or_default();
	let checkpoint = tempfile::tempdir()?;
	let imported = import(Path::new(folder), checkpoint.path(), 2)?;
	let start = Checkpoint::load(checkpoint.path(), &ParamLayout::new(&imported.model)?, 2)?.ok_or("no checkpoint")?;
	let (lr, lr_min, weight_decay) = (F32::new(3e-4), F32::new(3e-5), F32::new(0.1));
	let total_steps = u32::try_from(steps)?;
	let adapter = rank.map(|rank| Adapter {
		base: start.header.params.0,
		rank: rank.into(),
		alpha: F32::new(2.0 * f32::from(rank)),
		projections: Projections::ALL,
	});
	let train = TrainConfig { adapter, batch, seq_len, lr, lr_min, weight_decay, warmup_steps, total_steps, ..presets::tiny().1 };
	let [beta1, beta2, eps, clip] = [train.beta1, train.beta2, train.eps, train.clip].map(F32::get);
	println!("settings {} {} {} {beta1} {beta2} {eps} {clip}", lr.get(), lr_min.get(), weight_decay.get());
	let mut engine = Engine::new(&imported.model, &train, 2)?;
	match &adapter {
		None => engine.load(&start.params)?,
		Some(adapter) => {
			let first = Checkpoint::genesis(0, &imported.model, &train, 2)?.params;
			peft::export(&out.join("start"), &imported.model, adapter, &first)?;
			engine.load_model(&start.params)?;
			engine.load(&first)?;
		}
	}
	for (step, tokens) in (0u64..).zip(tokens.chunks_exact(sequences)) {
		let outcome = engine.train_step(tokens, step, step.saturating_add(1))?;
		println!("step {} {}", outcome.loss, outcome.grad_norm);
	}
	match &adapter {
		Some(adapter) => peft::export(out, &imported.model, adapter, &engine.theta()?)?,
		// The tokenizer does not matter: no vocabulary here is smaller than that of bytes.
		None => export(out, &imported.model, &Tokenizer::bytes(), &engine.theta()?)?,
	}
	Ok(())
}
