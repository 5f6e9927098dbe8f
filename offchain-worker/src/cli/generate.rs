//! `generate`.

use super::{local, CliError, Common};
use crate::{
	hardware,
	infer::{
		generate::{generate, Sampling},
		printable,
	},
};
use clap::Args;
use neuroshard_kernels::exec::Exec;
use neuroshard_types::RunId;
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct Generate {
	/// Text to continue.
	#[arg(long, default_value = "")]
	prompt: String,
	/// Run whose newest checkpoint to use; the newest run if not given.
	#[arg(long)]
	run: Option<RunId>,
	/// Most tokens to generate.
	#[arg(long, default_value_t = Sampling::default().max_tokens, value_parser = clap::value_parser!(u32).range(1..))]
	max_tokens: u32,
	/// 0 always takes the likeliest token; 1 samples from the model's own distribution.
	#[arg(long, default_value_t = Sampling::default().temperature)]
	temperature: f32,
	/// Seed of the random choices.
	#[arg(long, default_value_t = Sampling::default().seed)]
	seed: u64,
	/// Threads.
	#[arg(long, value_parser = super::parse::threads)]
	threads: Option<usize>,
}

impl Generate {
	pub(super) fn run(self, common: &Common) -> Result<u8, CliError> {
		let threads = hardware::threads(self.threads);
		let (model, checkpoint) = local::load(&common.base()?, self.run, threads)?;
		let exec = Exec::new(threads).map_err(|error| CliError::Invalid(error.to_string()))?;
		let sampling = Sampling { max_tokens: self.max_tokens, temperature: self.temperature, seed: self.seed };
		let text = generate(Arc::new(exec), &model, &checkpoint.params, &self.prompt, &sampling)?;
		println!("{}{}", self.prompt, printable(&text));
		Ok(0)
	}
}
