//! `bench`.

use super::{device::DeviceOption, plan, run_file::Preset, CliError};
use crate::{bench::bench, profile::profile};
use clap::Args;
use neuroshard_compute::exec::StepMemory;
use neuroshard_support::hardware;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct Bench {
	/// Configuration to measure.
	#[arg(long, value_enum, default_value = "devnet")]
	preset: Preset,
	/// Measure the model and the steps of this run file instead.
	#[arg(long, value_name = "FILE", conflicts_with = "preset")]
	file: Option<PathBuf>,
	/// Say where the time of a step goes, operator by operator, beside the speeds of products and of copying on this machine, and leave candle out.
	#[arg(long)]
	profile: bool,
	/// Timed steps on either side.
	#[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
	repetitions: u32,
	/// Threads.
	#[arg(long, value_parser = super::parse::threads)]
	threads: Option<usize>,
	#[command(flatten)]
	device: DeviceOption,
	/// Sequences of a micro-batch, whose gradients are accumulated [default: the whole batch at once].
	#[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
	micro_batch: Option<u32>,
	/// Compute activations again before the backward pass instead of keeping them.
	#[arg(long)]
	recompute: bool,
}

impl Bench {
	pub(super) fn run(self) -> Result<u8, CliError> {
		let (model, train) = plan::configs(self.file.as_deref(), self.preset)?;
		let memory = StepMemory { micro_batch: self.micro_batch, recompute: self.recompute };
		if self.profile {
			let on = (self.device.device()?, hardware::threads(self.threads));
			println!("{}", profile(&model, &train, on, memory, self.repetitions)?);
			return Ok(0);
		}
		println!("{}", bench(&model, &train, (self.device.device()?, hardware::threads(self.threads)), memory, self.repetitions)?);
		Ok(0)
	}
}
