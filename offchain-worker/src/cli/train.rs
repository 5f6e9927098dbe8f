//! `train template|create-run|approve|stop`.

use super::{open::open, run_file::Preset, CliError, Common, RunFile};
use crate::{
	chain::{training, Call},
	hardware,
};
use clap::{Args, Subcommand};
use neuroshard_types::{DatasetId, RoundIndex, RunId};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum TrainCommand {
	/// Print a run file to start from.
	Template {
		/// Configuration.
		#[arg(long, value_enum, default_value = "devnet")]
		preset: Preset,
	},
	/// Create a training run on chain.
	CreateRun(CreateRun),
	/// Let a run draw issuance, with the sudo key of a development network.
	Approve {
		/// The run.
		run: RunId,
	},
	/// End a run that this account created.
	Stop {
		/// The run.
		run: RunId,
	},
}

#[derive(Debug, Args)]
pub(super) struct CreateRun {
	/// Run file.
	#[arg(long, value_name = "FILE", conflicts_with = "preset")]
	file: Option<PathBuf>,
	/// Configuration, if there is no run file.
	#[arg(long, value_enum, default_value = "devnet")]
	preset: Preset,
	/// Dataset on chain.
	#[arg(long, value_name = "ID")]
	dataset: DatasetId,
	/// Rounds instead of those in the file.
	#[arg(long)]
	rounds: Option<RoundIndex>,
	/// Participants that a round waits for, instead of those in the file.
	#[arg(long)]
	min_participants: Option<u32>,
	/// Approve it at once, with the sudo key of a development network.
	#[arg(long)]
	approve: bool,
	/// Print the identifier alone.
	#[arg(long)]
	quiet: bool,
}

impl TrainCommand {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		match self {
			Self::Template { preset } => {
				let text = serde_json::to_string_pretty(&RunFile::of(preset)).map_err(|error| CliError::Invalid(error.to_string()))?;
				println!("{text}");
			}
			Self::CreateRun(command) => command.run(common).await?,
			Self::Approve { run } => {
				open(common).await?.submitter.submit(Call::sudo(training::approve_run(run))).await?;
				println!("run {run} draws issuance from its current round on");
			}
			Self::Stop { run } => {
				open(common).await?.submitter.submit(training::stop_run(run)).await?;
				println!("run {run} is over");
			}
		}
		Ok(0)
	}
}

impl CreateRun {
	async fn run(self, common: &Common) -> Result<(), CliError> {
		let mut file = self.file.as_deref().map_or_else(|| Ok(RunFile::of(self.preset)), RunFile::read)?;
		file.rounds = self.rounds.or(file.rounds);
		file.min_participants = self.min_participants.unwrap_or(file.min_participants);
		let opened = open(common).await?;
		let dataset = self.dataset;
		let prepared = tokio::task::spawn_blocking(move || file.config(dataset, hardware::threads(None))).await;
		let config = prepared.map_err(|error| CliError::Invalid(format!("computing the genesis root failed: {error}")))??;
		let genesis = config.genesis_root;
		let included = opened.submitter.submit(training::create_run(config)).await?;
		let run: RunId = included
			.first_field("Training", "RunCreated")
			.ok_or_else(|| CliError::Unknown("event that tells the new run's identifier".into()))?;
		if self.approve {
			opened.submitter.submit(Call::sudo(training::approve_run(run))).await?;
		}
		if self.quiet {
			println!("{run}");
		} else {
			println!("run {run}, genesis checkpoint {genesis:?}; it starts when enough workers have joined");
		}
		Ok(())
	}
}
