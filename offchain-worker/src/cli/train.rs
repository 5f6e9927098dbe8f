//! `train template|plan|create-run|approve|stop|add-cohort|remove-run|list`.

use super::{
	bill::Bill,
	dataset_chain, disk,
	money::unsent,
	open::open,
	parse,
	plan::{checks, liars, Plan},
	run_check,
	run_file::Preset,
	run_start::{no_start, trains_the_same, Start},
	CliError, Common, RunFile,
};
use clap::{Args, Subcommand};
use neuroshard_chain_client::{keys::Account, training, Call, ChainAt, ChainClient, Neuro};
use neuroshard_roles::{read_adapter, read_model};
use neuroshard_support::{counted::counted, hardware, printable::printable_line};
use neuroshard_training::{
	need::{longest_round, DiskNeed},
	slowest::too_short,
};
use neuroshard_types::{
	dataset::Manifest,
	run::{RunStart, RunStatus},
	AccountId, DatasetId, RoundIndex, RunId,
};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum TrainCommand {
	/// Print a run file to start from.
	Template {
		/// Configuration.
		#[arg(long, value_enum, default_value = "devnet")]
		preset: Preset,
		/// Folder that `model import` filled: its model takes the place of the configuration's, and a learning rate to train it further.
		#[arg(long, value_name = "DIR")]
		start: Option<PathBuf>,
	},
	/// Say what a run comes to, without creating it: parameters, memory, disk, traffic and time of workers, deposit and fee.
	Plan(Plan),
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
	/// Make a run a cohort of the family of another one that this account created: participants of all its cohorts train one model.
	AddCohort {
		/// A run of the family, or one that is to found it.
		beside: RunId,
		/// The run that joins it.
		run: RunId,
	},
	/// Remove a finished run that this account created, with its records, and get its deposit back.
	RemoveRun {
		/// The run.
		run: RunId,
	},
	/// Show all runs of the chain.
	List,
}

/// Records that one extrinsic removes: a small part of a block.
const RECORDS: u32 = 256;

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
	/// What it starts from: `seed`, the one in the file; a folder that `model import` filled; RUN:ROUND, what that round of another run starts from; or the root of a
	/// checkpoint that the worker in the base folder has. Parameters and momentum are those of the checkpoint, and rounds begin at 0.
	#[arg(long, value_name = "START", default_value = "seed")]
	start: Start,
	/// The model that the adapter of the run file is beside, named as for --start: its parameters stay as they are.
	#[arg(long, value_name = "START")]
	base: Option<Start>,
	/// Rounds instead of those in the file.
	#[arg(long)]
	rounds: Option<RoundIndex>,
	/// Participants that a round waits for, instead of those in the file.
	#[arg(long)]
	min_participants: Option<u32>,
	/// Disk in GiB that each worker has for it: what the run takes is compared with that.
	#[arg(long, value_name = "GIB", default_value = parse::MAX_DISK, value_parser = parse::gib)]
	max_disk: u64,
	/// Approve it, once its block is final, with the sudo key of a development network.
	#[arg(long)]
	approve: bool,
	/// Print the identifier alone.
	#[arg(long)]
	quiet: bool,
}

impl TrainCommand {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		match self {
			Self::Template { preset, start } => {
				let mut file = RunFile::of(preset);
				if let Some(folder) = start {
					file.go_on_with(&read_model(&folder)?.ok_or_else(|| no_start(&folder))?);
					trains_the_same(read_adapter(&folder)?.as_ref(), None, &folder.display().to_string())?;
				}
				let text = serde_json::to_string_pretty(&file).map_err(|error| CliError::Invalid(error.to_string()))?;
				println!("{text}");
			}
			Self::Plan(command) => command.run(common).await?,
			Self::CreateRun(command) => command.run(common).await?,
			Self::Approve { run } => {
				let opened = open(common).await?;
				sudo_only(&opened.account, opened.client.now().await?.sudo_key().await?)?;
				opened.submitter.submit(Call::sudo(training::approve_run(run))).await?;
				println!("run {run} draws issuance from its current round on");
			}
			Self::Stop { run } => {
				open(common).await?.submitter.submit(training::stop_run(run)).await?;
				println!("run {run} is over");
			}
			Self::AddCohort { beside, run } => {
				open(common).await?.submitter.submit(training::add_cohort(beside, run)).await?;
				println!(
					"run {run} is a cohort of the family of run {beside}: their rounds draw each other together from the next ones on"
				);
			}
			Self::RemoveRun { run } => remove_run(common, run).await?,
			Self::List => list(common).await?,
		}
		Ok(0)
	}
}

impl CreateRun {
	/// Says what the run takes of each worker's disk: one that outgrows it goes on only as fast as old rounds may be deleted.
	fn tell_disk(&self, need: &DiskNeed, file: &RunFile) {
		let blocks = longest_round(&file.durations);
		let (words, fits) = disk::fits(need, blocks, self.max_disk);
		if !self.quiet {
			println!(
				"disk: {}; rounds that end early come more often, and take as much each",
				disk::need(need, file.max_participants, blocks)
			);
			println!("disk: {words}");
		} else if !fits {
			tracing::warn!("{words}");
		}
	}

	async fn run(self, common: &Common) -> Result<(), CliError> {
		let mut file = self.file.as_deref().map_or_else(|| Ok(RunFile::of(self.preset)), RunFile::read)?;
		file.rounds = self.rounds.or(file.rounds);
		file.min_participants = self.min_participants.unwrap_or(file.min_participants);
		file.check()?;
		let opened = open(common).await?;
		let (dataset, at) = (self.dataset, opened.client.now().await?);
		// Before the deposit: who retries after a refused approval would pay again.
		if self.approve {
			sudo_only(&opened.account, at.sudo_key().await?)?;
		}
		let view = dataset_chain::usable(dataset, at.dataset(dataset).await?)?;
		run_check::fits(&file, &view.manifest, at.longest_phase()?)?;
		let manifest = view.manifest;
		let terms = at.dispute_terms().await?;
		if !self.quiet {
			println!("{}\n{}", liars(&file), checks(&file));
		}
		if let Some(base) = &self.base {
			self.set_base(&mut file, base, common, &at, &manifest).await?;
		}
		for time in too_short(&file.durations, &file.train.config(false), &at.audit_terms().await?, &terms) {
			tracing::warn!("{time}");
		}
		if let Ok(need) = DiskNeed::new(
			&file.model.config(manifest.vocab),
			&file.train.config(manifest.masked),
			file.max_participants,
			&manifest.shape,
			&terms,
		) {
			self.tell_disk(&need, &file);
		}
		file.has_base()?;
		let start = match &self.start {
			Start::Seed => RunStart::Seed,
			given => {
				let adapter = file.train.config(manifest.masked).adapter;
				given.resolve(&common.base()?, &at, (&file.model.config(manifest.vocab), adapter.as_ref())).await?
			}
		};
		let prepared = tokio::task::spawn_blocking(move || file.config(dataset, &manifest, start, hardware::threads(None))).await;
		let config = prepared.map_err(|error| CliError::Invalid(format!("computing the genesis root failed: {error}")))??;
		let genesis = config.genesis_root;
		// The genesis root took its time: blocks have passed.
		let at = opened.client.now().await?;
		let deposit = at.run_deposit(config.rounds)?;
		let create = training::create_run(config);
		let mut calls = vec![create.clone()];
		// The length of the identifier does not depend on its value.
		calls.extend(self.approve.then(|| Call::sudo(training::approve_run(0))));
		Bill::of(&at, deposit, &calls).await?.check(&opened, &at, "the run's deposit").await?;
		let included = opened.submitter.submit_once(create).await.map_err(unsent)?;
		let run: RunId = included
			.first_field("Training", "RunCreated")
			.ok_or_else(|| CliError::Unknown("event that tells the new run's identifier".into()))?;
		// Said before anything else can fail: the run is paid for.
		if self.quiet {
			println!("{run}");
		} else {
			println!("run {run} created (deposit {} held), genesis checkpoint {genesis:?}", Neuro(deposit));
			for advice in [Some(&self.start), self.base.as_ref()].into_iter().flatten().filter_map(|start| start.advice(run)) {
				println!("{advice}");
			}
		}
		if self.approve {
			// On another branch, somebody else's run may have that number.
			if !opened.client.becomes_final(included.block).await? {
				return Err(CliError::RunMoved { run });
			}
			let approved = opened.submitter.submit(Call::sudo(training::approve_run(run))).await;
			approved.map_err(|source| CliError::NotApproved { run, source })?;
		}
		if !self.quiet {
			let issuance = if self.approve { "draws issuance" } else { "is not approved and draws no issuance" };
			println!("run {run} {issuance}; it starts when enough workers have joined");
		}
		Ok(())
	}
}

impl CreateRun {
	/// Names the model in the run file that its adapter is beside.
	async fn set_base(&self, file: &mut RunFile, base: &Start, common: &Common, at: &ChainAt, manifest: &Manifest) -> Result<(), CliError> {
		let params = match base.resolve(&common.base()?, at, (&file.model.config(manifest.vocab), None)).await? {
			RunStart::Given { params, .. } => params,
			RunStart::Seed => return Err(CliError::Invalid("--base names a checkpoint: a folder, its root, or RUN:ROUND".into())),
		};
		Ok(file.set_base(params)?)
	}
}

/// Refuses an account that does not have the chain's sudo key.
fn sudo_only(account: &Account, key: Option<AccountId>) -> Result<(), CliError> {
	match key {
		Some(key) if key == account.id() => Ok(()),
		key => Err(CliError::NotSudo { address: account.address(), key }),
	}
}

async fn remove_run(common: &Common, run: RunId) -> Result<(), CliError> {
	let opened = open(common).await?;
	let at = opened.client.now().await?;
	let view = at.run(run).await?.ok_or_else(|| CliError::Unknown(format!("run {run} on this chain")))?;
	if view.sponsor != opened.account.id() {
		return Err(CliError::Invalid(format!("run {run} belongs to {}, who alone can remove it", view.sponsor)));
	}
	if view.status == RunStatus::Active {
		return Err(CliError::Invalid(format!(
			"run {run} is still going on: `neuroshard-worker train stop {run}` ends it, and {} later it can be removed",
			counted(at.history_period()?, "block")
		)));
	}
	loop {
		let included = match opened.submitter.submit(training::remove_run(run, RECORDS)).await {
			Err(error) if error.is_dispatch("Training::HistoryNeeded") => {
				let blocks = at.history_period()?;
				return Err(CliError::Invalid(format!("run {run} cannot be removed until {} after its end", counted(blocks, "block"))));
			}
			removed => removed?,
		};
		if included.first_field::<RunId>("Training", "RunRemoved").is_some() {
			let stays = if view.rounds_adopted > 0 { ", but for what stays on hold for its model" } else { "" };
			println!("run {run} is removed, its deposit is back{stays}");
			return Ok(());
		}
		// Without this event the call did something else than it is known to do, and would do it for ever.
		if included.first_field::<RunId>("Training", "HistoryRemoved").is_none() {
			return Err(CliError::Unknown(format!("event that tells what became of run {run}")));
		}
	}
}

async fn list(common: &Common) -> Result<(), CliError> {
	let at = ChainClient::connect_all(&common.node).await?.now().await?;
	let runs = at.runs().await?;
	for id in &runs {
		let Some(run) = at.run(*id).await? else { continue };
		let rounds = run.config.rounds.map_or("without end".to_owned(), |rounds| format!("of {rounds}"));
		let issuance = if run.approved { "draws issuance" } else { "not approved" };
		println!("run {id}, {:?}, {issuance}: {}", run.status, printable_line(&String::from_utf8_lossy(&run.config.name)));
		println!(
			"    {} done, {rounds}; dataset {}, checkpoint {:?}",
			counted(run.rounds_adopted, "round"),
			run.config.dataset,
			run.checkpoint
		);
		println!("    by {}", run.sponsor);
		let cohorts = at.cohorts(*id).await?;
		if !cohorts.is_empty() {
			let cohorts: Vec<String> = cohorts.iter().map(ToString::to_string).collect();
			println!("    a cohort of runs {}", cohorts.join(", "));
		}
	}
	if runs.is_empty() {
		println!("there is no run on this chain");
	}
	Ok(())
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn only_the_sudo_key_may_approve_and_others_learn_whose_it_is() {
		let [alice, bob] = ["//Alice", "//Bob"].map(|suri| Account::from_secret(suri).unwrap());
		sudo_only(&alice, Some(alice.id())).unwrap();
		let words = sudo_only(&bob, Some(alice.id())).unwrap_err().to_string();
		assert!(words.contains(&bob.address()) && words.contains(&format!("sudo key is {}", alice.address())), "{words}");
		let words = sudo_only(&bob, None).unwrap_err().to_string();
		assert!(words.contains("has no sudo key. Nothing was sent"), "{words}");
	}

	#[test]
	fn a_failed_approval_says_that_the_run_is_there_and_what_approves_it() {
		let words = CliError::NotApproved { run: 7, source: neuroshard_chain_client::ChainError::Stopped }.to_string();
		assert!(words.starts_with("run 7 is created") && words.contains("`neuroshard-worker train approve 7`"), "{words}");
	}
}
