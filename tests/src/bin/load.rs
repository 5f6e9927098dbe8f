//! `neuroshard-load`: how much a chain on this machine takes.

use clap::Parser;
use neuroshard_e2e::{exit_code, in_temporary_folder, Binaries, Error, Load, Measurement};
use std::{
	path::{Path, PathBuf},
	process::ExitCode,
	time::Instant,
};

/// Starts one or two validators on this machine, hands them transfers and Proofs of Neural Work that were signed before, and says how many of
/// them were finalized in a second, how full blocks were, and how much memory the nodes took.
#[derive(Debug, Parser)]
#[command(name = "neuroshard-load", version)]
struct Arguments {
	/// Validators: 1 or 2.
	#[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=2))]
	validators: u16,
	/// Transfers, each of another account to a new one; 0 to leave them out.
	#[arg(long, value_name = "N", default_value_t = 30_000, value_parser = clap::value_parser!(u32).range(0..=200_000))]
	transfers: u32,
	/// Proofs, each of another provider, which is registered before; 0 to leave them out.
	#[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(0..=20_000))]
	proofs: u32,
	/// Write what was measured to this file, as a JSON list.
	#[arg(long, value_name = "FILE")]
	json: Option<PathBuf>,
	/// Give the nodes a further option, for instance --node-option=--pool-type=single-state. Can be repeated.
	#[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
	node_option: Vec<String>,
}

fn main() -> ExitCode {
	tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
	let arguments = Arguments::parse();
	exit_code(in_temporary_folder("neuroshard-load-", async |folder| measure(arguments, folder).await))
}

async fn measure(arguments: Arguments, folder: &Path) -> Result<(), Error> {
	let Arguments { validators, transfers, proofs, json, node_option } = arguments;
	let (started, binaries) = (Instant::now(), Binaries::find()?);
	let load = Load { validators, transfers, proofs, options: node_option };
	let say = |words: &str| eprintln!("[{:>4.0} s] {words}", started.elapsed().as_secs_f64());
	let measured = load.run(&binaries.node, &folder.join("chain"), say).await?;
	for one in &measured {
		println!("{}", one.describe());
	}
	json.map_or(Ok(()), |path| Measurement::write(&measured, &path))
}
