//! Trains a model that no limited worker has the memory for: see `scripts/quorums.sh --help`.

use clap::Parser;
use neuroshard_e2e::{exit_code, in_temporary_folder, set_pace, Error, Limited, Size};
use neuroshard_types::{RoundIndex, H256};
use std::{
	path::{Path, PathBuf},
	process::ExitCode,
	time::Instant,
};

/// Trains a model by a quorum of workers whose memory is limited, beside a worker that holds all of it, and has limited workers audit that in files.
#[derive(Debug, Parser)]
#[command(name = "quorums")]
struct Arguments {
	/// Parameters of the model.
	#[arg(long, value_enum, default_value = "14M")]
	size: Size,
	/// Members of the quorum.
	#[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=16))]
	members: u16,
	/// Rounds.
	#[arg(long, default_value_t = 2, value_parser = clap::value_parser!(RoundIndex).range(1..))]
	rounds: RoundIndex,
	/// New or empty folder for everything that the network writes.
	#[arg(long, value_name = "DIR")]
	base_path: Option<PathBuf>,
	/// How many times as long as on a machine of two fast cores everything may take; measured if not given.
	#[arg(long, value_name = "TIMES")]
	pace: Option<f64>,
}

fn main() -> ExitCode {
	let arguments = Arguments::parse();
	arguments.pace.into_iter().for_each(set_pace);
	exit_code(match &arguments.base_path {
		Some(folder) => tokio::runtime::Runtime::new()
			.map_err(|error| Error::Setup(format!("the system gives no threads: {error}")))
			.and_then(|runtime| runtime.block_on(train(folder, &arguments))),
		None => in_temporary_folder("neuroshard-quorums-", async |folder| train(folder, &arguments).await),
	})
}

async fn train(folder: &Path, arguments: &Arguments) -> Result<(), Error> {
	let Arguments { size, members, rounds, .. } = *arguments;
	let begun = Instant::now();
	let seconds = || begun.elapsed().as_secs();
	let mut limited = Limited::start(folder, size, members, rounds).await?;
	let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
	println!(
		"{} parameters: training takes {} MiB of memory at least, and members are held to {} MiB, and those who audit in files to {}",
		limited.config.model.parameters(),
		mebibytes(limited.alone()?),
		mebibytes(limited.limits[0]),
		mebibytes(limited.limits[1])
	);
	let both = [limited.whole(), limited.leader()];
	for round in 0..rounds {
		let record = limited.adopted(round).await?;
		let missing = both.iter().find(|who| record.included.iter().all(|(account, _)| account != *who));
		if let Some(who) = missing {
			return Err(Error::Unsound(format!("round {round} was adopted without {who}")));
		}
		let roots: Vec<H256> = record.attested.iter().map(|(_, root)| *root).collect();
		if roots.iter().any(|root| *root != record.checkpoint) {
			return Err(Error::Unsound(format!("in round {round} checkpoints differ: {roots:?}")));
		}
		let attested: Vec<_> = record.attested.iter().map(|(who, _)| name(&limited, who)).collect();
		let (loss, root) = (record.validation_loss.get(), record.checkpoint);
		println!("{:5} s  round {round}: checkpoint {root:?} by {}, held-out loss {loss:.4}", seconds(), attested.join(" and "));
	}
	for round in 0..rounds {
		let [one, other] = limited.audited(round).await?;
		if one != other {
			return Err(Error::Unsound(format!("auditors of the quorum's round {round} report {one:?} and {other:?}")));
		}
		println!("{:5} s  round {round}: both auditors of the quorum report {one:?}", seconds());
	}
	limited.memory()?.iter().for_each(|memory| println!("{memory}"));
	limited.training.stopped(&limited.network).await?;
	limited.network.stop().await;
	Ok(())
}

/// What is said of a participant.
fn name(limited: &Limited, who: &neuroshard_types::AccountId) -> &'static str {
	match *who == limited.leader() {
		true => "the quorum's leader",
		false => "the one that holds all",
	}
}
