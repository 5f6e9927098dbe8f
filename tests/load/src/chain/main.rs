//! `neuroshard-load`: how much a chain on this machine takes. Extrinsics are signed before the clock starts, counted when they are finalized, and each
//! looked up in its block.

mod accounts;
mod delivery;
mod measurement;
mod proofs;
mod transfers;

use clap::Parser;
use measurement::Measurement;
use neuroshard_e2e::{exit_code, in_temporary_folder, write_json, Binaries, Error, Nodes, Start};
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
	let (started, binaries) = (Instant::now(), Binaries::find()?);
	let say = |words: &str| eprintln!("[{:>4.0} s] {words}", started.elapsed().as_secs_f64());
	let measured = load(&arguments, &binaries.node, &folder.join("chain"), say).await?;
	for one in &measured {
		println!("{}", one.describe());
	}
	arguments.json.map_or(Ok(()), |path| write_json(&measured, &path))
}

/// Starts a chain in the new folder `folder`, loads it, and says how it did. `say` is told what is done.
///
/// # Errors
/// Those of [`Nodes::start`]; [`Error::Unsound`] if an extrinsic fails, a receiver has another amount than it was sent, or a block is heavier than
/// blocks may be.
async fn load(arguments: &Arguments, node: &Path, folder: &Path, say: impl Fn(&str)) -> Result<Vec<Measurement>, Error> {
	say("making accounts");
	let senders = transfers::senders(arguments.transfers)?;
	let providers = proofs::providers(arguments.proofs)?;
	let endowed = senders.iter().map(|sender| (sender.id(), transfers::ENDOWMENT));
	let endowed = endowed.chain(providers.iter().map(|provider| (provider.account.id(), proofs::ENDOWMENT))).collect();
	let mut options = delivery::options();
	options.extend_from_slice(&arguments.node_option);
	say("starting the chain");
	let mut nodes = Nodes::start(node, folder, arguments.validators, &Start { endowed, slot: None, options }).await?;
	let mut measured = Vec::new();
	if !senders.is_empty() {
		say(&format!("signing {} transfers", senders.len()));
		measured.push(transfers::measure(&mut nodes, &senders, &say).await?);
	}
	if !providers.is_empty() {
		measured.push(proofs::measure(&mut nodes, &providers, &say).await?);
	}
	nodes.stop().await;
	Ok(measured)
}

#[cfg(test)]
mod tests {
	use super::*;
	use clap::CommandFactory;

	#[tokio::test]
	async fn the_script_tells_every_option_without_building_anything() {
		let (told, known) = neuroshard_e2e::told_by("load.sh", Arguments::command()).await.unwrap();
		assert_eq!(told, known);
		assert!(told.contains("transfers"), "{told:?}");
	}
}
