//! `replay`: recomputes a run from block bodies and its dataset alone.

use super::{CliError, Common};
use crate::{
	chain::{ChainAt, ChainClient, History, Reveal},
	data::{dataset, loader::Loader},
	engine::Engine,
	hardware,
	train::{
		checkpoint::Checkpoint,
		replay::{replay_round, ReplayError},
	},
};
use clap::Args;
use neuroshard_types::{
	run::{RoundRecord, RunView, Work},
	AccountId, BlockNumber, RoundIndex, RunId,
};
use std::{collections::BTreeMap, path::PathBuf};

#[derive(Debug, Args)]
pub(super) struct Replay {
	/// Run to recompute.
	#[arg(long)]
	run: RunId,
	/// Folder of its dataset; checked against the chain first.
	#[arg(long, value_name = "DIR")]
	dataset: PathBuf,
	/// Rounds to recompute; all that were adopted if not given.
	#[arg(long)]
	rounds: Option<RoundIndex>,
	/// First block to look for reveals in.
	#[arg(long, default_value_t = 1)]
	from_block: BlockNumber,
	/// Threads.
	#[arg(long, value_parser = super::parse::threads)]
	threads: Option<usize>,
}

/// What the chain says of a run.
struct Recorded {
	view: RunView,
	rounds: Vec<RoundRecord>,
	/// Revealed work by round.
	works: BTreeMap<RoundIndex, Vec<(AccountId, Work)>>,
}

impl Replay {
	/// Exit code 1 if something differs.
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let client = ChainClient::connect(&common.node).await?;
		let at = client.now().await?;
		let recorded = self.collect(&client, &at).await?;
		let id = recorded.view.config.dataset;
		let dataset_view = at.dataset(id).await?;
		let root = dataset_view.as_ref().map(|view| view.manifest.root);
		let found = dataset::verify(&self.dataset, root)?;
		if root.is_none() {
			println!("dataset {id} is not on chain any more: what the folder holds is only checked against its own manifest");
		}
		let loader = Loader::new(&self.dataset, found.manifest.shape, found.manifest.vocab)?;
		let (run, threads) = (self.run, hardware::threads(self.threads));
		let done = tokio::task::spawn_blocking(move || recompute(run, &recorded, &loader, threads)).await;
		match done.map_err(|error| CliError::Invalid(format!("the replay broke off: {error}")))?? {
			Ok(checkpoint) => {
				println!("every delta and every checkpoint agrees, bit for bit; the last one is {:?}", checkpoint.header.root());
				Ok(0)
			}
			Err(difference) => {
				println!("DIFFERENT: {difference}");
				Ok(1)
			}
		}
	}

	async fn collect(&self, client: &ChainClient, at: &ChainAt) -> Result<Recorded, CliError> {
		let run = self.run;
		let view = at.run(run).await?.ok_or_else(|| CliError::Unknown(format!("run {run} on this chain")))?;
		let count = self.rounds.unwrap_or(view.rounds_adopted).min(view.rounds_adopted);
		let mut rounds = Vec::new();
		for round in 0..count {
			let record = at.record(run, round).await?;
			rounds.push(record.ok_or_else(|| CliError::Unknown(format!("record of round {round}: the chain keeps the newest only")))?);
		}
		let last = rounds.last().map_or(0, |record| record.adopted_at);
		println!("run {run}: {count} rounds, looking for reveals in blocks {} to {last}", self.from_block);
		let history = History::new(client.clone(), run);
		let mut works: BTreeMap<RoundIndex, Vec<(AccountId, Work)>> = BTreeMap::new();
		for block in self.from_block..=last {
			for Reveal { who, round, work, .. } in history.reveals(block).await? {
				// A round that was started anew was revealed anew: the last reveal is the one that counted.
				let of_round = works.entry(round).or_default();
				of_round.retain(|(other, _)| *other != who);
				of_round.push((who, work));
			}
		}
		Ok(Recorded { view, rounds, works })
	}
}

/// The outer result is why there is no answer, the inner one the answer.
fn recompute(run: RunId, recorded: &Recorded, loader: &Loader, threads: usize) -> Result<Result<Checkpoint, ReplayError>, CliError> {
	let config = &recorded.view.config;
	let mut engine = Engine::new(&config.model, &config.train, threads)?;
	let mut checkpoint = Checkpoint::genesis(run, &config.model, &config.train, threads)?;
	let (found, expected) = (checkpoint.header.root(), config.genesis_root);
	if found != expected {
		return Ok(Err(ReplayError::Checkpoint { round: 0, found, expected }));
	}
	println!("genesis    {found:?}");
	for (round, record) in (0u32..).zip(&recorded.rounds) {
		let works = recorded.works.get(&round).map_or(&[][..], Vec::as_slice);
		for (account, _) in &record.included {
			if !works.iter().any(|(other, _)| other == account) {
				return Err(CliError::Unknown(format!(
					"reveal of {account} for round {round} in these blocks: start earlier with --from-block"
				)));
			}
		}
		let shown = |account: &AccountId| println!("round {round}    recomputing {account}");
		match replay_round(&mut engine, &checkpoint, record, works, loader, shown) {
			Ok(next) => checkpoint = next,
			Err(difference) => return Ok(Err(difference)),
		}
		println!("round {round}    {:?}, validation loss {:.4}", checkpoint.header.root(), record.validation_loss.get());
	}
	Ok(Ok(checkpoint))
}
