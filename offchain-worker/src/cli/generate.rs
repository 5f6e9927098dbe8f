//! `generate`.

use super::{local, CliError, Common};
use clap::Args;
use neuroshard_graph::{sampler::Sampling, Class};
use neuroshard_inference::generate::generate;
use neuroshard_support::{hardware, printable::printable};
use neuroshard_types::RunId;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct Generate {
	/// Text to continue.
	#[arg(long, default_value = "")]
	prompt: String,
	/// Run whose newest checkpoint to use; the newest run if not given.
	#[arg(long, conflicts_with = "model")]
	run: Option<RunId>,
	/// Use the model in this folder, which is in Hugging Face layout.
	#[arg(long, value_name = "DIR")]
	model: Option<PathBuf>,
	/// Adapter beside the model, in a folder as `export` and PEFT write it.
	#[arg(long, value_name = "DIR")]
	adapter: Option<PathBuf>,
	/// Most tokens to generate.
	#[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
	max_tokens: u32,
	/// 0 always takes the likeliest token; 1 samples from the model's own distribution.
	#[arg(long, default_value_t = 0.7)]
	temperature: f32,
	/// Seed of the random choices.
	#[arg(long, default_value_t = 0)]
	seed: u64,
	#[command(flatten)]
	device: super::device::DeviceOption,
	/// Threads.
	#[arg(long, value_parser = super::parse::threads)]
	threads: Option<usize>,
}

impl Generate {
	pub(super) fn run(self, common: &Common) -> Result<u8, CliError> {
		let computes = local::Computes::new(self.device.device()?, hardware::threads(self.threads))?;
		let which = local::Which { folder: self.model.as_deref(), run: self.run, context: None };
		let (mut model, adapter) = local::with_adapter(&common.base()?, which, self.adapter.as_deref(), Class::ExactF32, &computes)?;
		let sampling = Sampling { temperature: self.temperature, seed: self.seed, ..Sampling::default() };
		let text = generate(&mut model, adapter.as_ref(), &self.prompt, self.max_tokens, &sampling)?;
		println!("{}{}", self.prompt, printable(&text));
		Ok(0)
	}
}
