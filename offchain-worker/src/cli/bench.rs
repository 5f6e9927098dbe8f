//! `bench`.

use super::{run_file::Preset, CliError};
use crate::bench::bench;
use clap::Args;
use neuroshard_compute::exec::StepMemory;
use neuroshard_support::hardware;

#[derive(Debug, Args)]
pub(super) struct Bench {
	/// Configuration to measure.
	#[arg(long, value_enum, default_value = "devnet")]
	preset: Preset,
	/// Timed steps on either side.
	#[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
	repetitions: u32,
	/// Threads.
	#[arg(long, value_parser = super::parse::threads)]
	threads: Option<usize>,
	/// Sequences of a micro-batch, whose gradients are accumulated [default: the whole batch at once].
	#[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
	micro_batch: Option<u32>,
	/// Compute activations again before the backward pass instead of keeping them.
	#[arg(long)]
	recompute: bool,
}

impl Bench {
	pub(super) fn run(self) -> Result<u8, CliError> {
		let (model, train) = self.preset.configs();
		let memory = StepMemory { micro_batch: self.micro_batch, recompute: self.recompute };
		println!("{}", bench(&model, &train, hardware::threads(self.threads), memory, self.repetitions)?);
		Ok(0)
	}
}
