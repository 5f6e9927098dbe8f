//! `neuroshard-sim`: simulates networks of providers, and prints what they cost the chain.

use clap::Parser;
use neuroshard_sim::{
	chain::{Terms, SLOT_MS},
	world::{Plan, World},
};
use neuroshard_types::run::PhaseDurations;
use std::{path::PathBuf, process::ExitCode, time::Instant};

/// Simulates networks of providers in virtual time: the chain's own runtime, and the worker's own decisions.
#[derive(Parser)]
#[command(version)]
struct Arguments {
	/// Providers, one network after the other.
	#[arg(long, value_delimiter = ',', default_value = "10,100,1000,10000")]
	providers: Vec<u32>,
	/// Most of them in a run.
	#[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(2..=128))]
	places: u32,
	/// Rounds of each run.
	#[arg(long, default_value_t = 3)]
	rounds: u32,
	/// Inner steps of a round, of 50 to 200 ms.
	#[arg(long, default_value_t = 1_000)]
	inner_steps: u32,
	/// Fewest inner steps of a round, if everybody takes as many as its machine does in time; without it, all take as many.
	#[arg(long)]
	least_steps: Option<u32>,
	/// All runs are cohorts of one family.
	#[arg(long)]
	family: bool,
	/// Seconds from when the members of a run come to when those of the next one do.
	#[arg(long, default_value_t = 3)]
	apart: u64,
	/// First seed.
	#[arg(long, default_value_t = 1)]
	seed: u64,
	/// Networks of each size, with one seed after the other.
	#[arg(long, default_value_t = 1)]
	seeds: u64,
	/// Mean seconds between faults; without it there are none.
	#[arg(long)]
	faults_every: Option<u64>,
	/// Blocks between two looks at all that must always hold.
	#[arg(long, default_value_t = 1_000)]
	checked_every: u32,
	/// Blocks after which a simulation ends in any case.
	#[arg(long, default_value_t = 20_000)]
	most_blocks: u32,
	/// Write the reports to this file as JSON.
	#[arg(long)]
	json: Option<PathBuf>,
}

fn main() -> ExitCode {
	let arguments = Arguments::parse();
	match simulate(&arguments) {
		Ok(true) => ExitCode::SUCCESS,
		Ok(false) => ExitCode::FAILURE,
		Err(error) => {
			eprintln!("{error}");
			ExitCode::FAILURE
		}
	}
}

fn simulate(arguments: &Arguments) -> Result<bool, String> {
	println!("providers     seed   blocks  a round   weight: mean    most     own   waited   acts a round  failed  bridged   seconds");
	let (mut reports, mut sound) = (Vec::new(), true);
	for &providers in &arguments.providers {
		for seed in arguments.seed..arguments.seed.saturating_add(arguments.seeds) {
			let terms = Terms {
				inner_steps: arguments.inner_steps,
				least_steps: arguments.least_steps,
				rounds: arguments.rounds,
				// Twice what the slowest machine takes; with steps of their own, as long as the fastest takes, so that it takes all and the slowest a fourth.
				durations: PhaseDurations {
					joining: 20,
					training: arguments
						.inner_steps
						.saturating_mul(if arguments.least_steps.is_some() { 75 } else { 400 })
						.div_ceil(u32::try_from(SLOT_MS).unwrap_or(u32::MAX))
						.max(5),
					revealing: 20,
					availability: 20,
					checkpointing: 20,
				},
				family: arguments.family,
			};
			let faults_every_ms = arguments.faults_every.map(|seconds| seconds.saturating_mul(1_000));
			let begun = Instant::now();
			let world = World::new(Plan {
				providers,
				places: arguments.places,
				terms,
				apart_ms: arguments.apart.saturating_mul(1_000),
				seed,
				faults_every_ms,
				checked_every: arguments.checked_every,
			})?;
			let report = world.run(arguments.most_blocks);
			println!(
				"{providers:9} {seed:8} {:8} {:8.1} {:14.2}% {:6.1}% {:6.1}% {:8} {:14.2} {:7} {:8} {:9.1}",
				report.blocks,
				report.blocks_per_round,
				100.0 * report.mean_used,
				100.0 * report.most_used,
				100.0 * report.most_own,
				report.most_waiting,
				report.acts_per_round(),
				report.extrinsics[1],
				report.bridged,
				begun.elapsed().as_secs_f64(),
			);
			if let Err(error) = report.check() {
				println!("          seed {seed}: {error}");
				sound = false;
			}
			reports.push(report);
		}
	}
	if let Some(path) = &arguments.json {
		let text = serde_json::to_string_pretty(&reports).map_err(|error| error.to_string())?;
		std::fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))?;
	}
	Ok(sound)
}
