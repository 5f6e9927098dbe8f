//! `dataset register|activate|retire|remove|list`: datasets on the chain.

use super::{
	dataset::{describe, refuse_no_dataset},
	money::unsent,
	open::{open, Opened},
	CliError, Common,
};
use clap::Args;
use futures::{stream, StreamExt, TryStreamExt};
use neuroshard_chain_client::{ChainAt, ChainClient, ChainError, Neuro};
use neuroshard_data::dataset;
use neuroshard_support::{counted::counted, printable::printable_line};
use neuroshard_types::{
	dataset::{DatasetStatus, DatasetView, Manifest},
	AccountId, BlockNumber, DatasetId, H256,
};
use std::path::PathBuf;

/// Questions to the node at a time.
const QUESTIONS: usize = 16;

#[derive(Debug, Args)]
pub(super) struct Register {
	/// Folder of the dataset.
	#[arg(long, value_name = "DIR")]
	dir: PathBuf,
	/// Only propose it.
	#[arg(long)]
	propose_only: bool,
	/// Propose it although the chain has a dataset with the same root, for another deposit.
	#[arg(long)]
	again: bool,
	/// Print the identifier alone.
	#[arg(long)]
	quiet: bool,
}

impl Register {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		refuse_no_dataset(&self.dir)?;
		let opened = open(common).await?;
		// A deposit for files that differ from their manifest would be a deposit for nothing.
		let dataset = dataset::verify(&self.dir, None)?;
		let manifest = dataset.manifest.on_chain()?;
		if !self.again {
			refuse_twin(&opened, &manifest).await?;
		}
		let included = opened.submitter.submit_once(neuroshard_chain_client::dataset::propose(manifest)).await.map_err(unsent)?;
		let id: DatasetId = included
			.first_field("Dataset", "Proposed")
			.ok_or_else(|| CliError::Unknown("event that tells the new dataset's identifier".into()))?;
		if !self.propose_only {
			opened.submitter.submit(neuroshard_chain_client::dataset::activate(id)).await?;
		}
		if self.quiet {
			println!("{id}");
			return Ok(0);
		}
		let view = opened.client.now().await?.dataset(id).await?;
		describe(&dataset.manifest);
		println!("dataset {id}, deposit {}", Neuro(view.map_or(0, |view| view.deposit)));
		Ok(0)
	}
}

/// Refuses to pay for a dataset that the chain has.
async fn refuse_twin(opened: &Opened, manifest: &Manifest) -> Result<(), CliError> {
	let at = opened.client.now().await?;
	let Some(words) = twin(&all(&at).await?, manifest.root, &opened.account.id()) else { return Ok(()) };
	let deposit = Neuro(at.dataset_deposit(manifest.clone()).await?);
	Err(CliError::Invalid(format!("{words}. To pay a deposit of {deposit} for another one, name --again")))
}

/// What to do about a dataset with this root that the chain has already and that is not retired.
fn twin(known: &[(DatasetId, DatasetView)], root: H256, own: &AccountId) -> Option<String> {
	let same = |status| known.iter().find(|(_, view)| view.manifest.root == root && view.status == status);
	let (id, view) = same(DatasetStatus::Active).or_else(|| same(DatasetStatus::Proposed))?;
	let remedy = match view.status {
		DatasetStatus::Proposed if view.proposer == *own => {
			format!("it is yours and only proposed: `neuroshard-worker dataset activate {id}` makes it usable")
		}
		DatasetStatus::Proposed => format!("it is only proposed, and {} must activate it", view.proposer),
		_ => format!("use it with `--dataset {id}`"),
	};
	Some(format!("the chain has this dataset already, with the same root, as dataset {id}: {remedy}"))
}

/// Makes a dataset that this account proposed usable.
pub(super) async fn activate(common: &Common, id: DatasetId) -> Result<u8, CliError> {
	let opened = open(common).await?;
	known(&opened.client, id).await?;
	opened.submitter.submit(neuroshard_chain_client::dataset::activate(id)).await?;
	println!("dataset {id} is active");
	Ok(0)
}

/// Takes back a dataset that this account proposed.
pub(super) async fn retire(common: &Common, id: DatasetId) -> Result<u8, CliError> {
	let opened = open(common).await?;
	known(&opened.client, id).await?;
	opened.submitter.submit(neuroshard_chain_client::dataset::retire(id)).await?;
	let removal = opened.client.now().await?.dataset_removable_at(id).await?;
	println!(
		"dataset {id} is retired; {}",
		match removal {
			Some(block) => format!("`neuroshard-worker dataset remove {id}` gives its deposit back from block {block} on"),
			None =>
				format!("runs use it: some time after the last of them, `neuroshard-worker dataset remove {id}` gives its deposit back"),
		}
	);
	Ok(0)
}

/// Removes a dataset that was retired or condemned, whoever proposed it.
pub(super) async fn remove(common: &Common, id: DatasetId) -> Result<u8, CliError> {
	let opened = open(common).await?;
	let DatasetView { proposer, deposit, .. } = known(&opened.client, id).await?;
	let at = opened.client.now().await?;
	removable(id, at.dataset_removable_at(id).await?, at.block().number)?;
	opened.submitter.submit(neuroshard_chain_client::dataset::remove(id)).await?;
	println!("dataset {id} is removed; {} of deposit are back with {proposer}", Neuro(deposit));
	Ok(0)
}

/// Refuses before it costs a fee what the chain would refuse in block `now`.
fn removable(id: DatasetId, at: Option<BlockNumber>, now: BlockNumber) -> Result<(), CliError> {
	let why = match at {
		Some(block) if block <= now => return Ok(()),
		Some(block) => {
			format!(
				"stays until block {block}, so that it can still be condemned: try again in {}",
				counted(block.saturating_sub(now), "block")
			)
		}
		None => "takes new runs, or a run uses it: its proposer takes it back with `dataset retire`, and its runs end before".into(),
	};
	Err(CliError::Invalid(format!("dataset {id} {why}")))
}

/// Shows all datasets of the chain.
pub(super) async fn list(common: &Common) -> Result<u8, CliError> {
	let at = ChainClient::connect_all(&common.node).await?.now().await?;
	let known = all(&at).await?;
	for (id, view) in &known {
		let (manifest, text) = (&view.manifest, |bytes: &[u8]| printable_line(&String::from_utf8_lossy(bytes)).into_owned());
		println!("dataset {id}, {:?}: {} ({})", view.status, text(&manifest.name), text(&manifest.licence));
		println!(
			"    {} of {} tokens, {} held out",
			counted(manifest.shape.shard_count, "shard"),
			manifest.shape.tokens_per_shard,
			manifest.shape.held_out
		);
		println!("    root {:?}", manifest.root);
		println!("    by {}, deposit {}, used by {}", view.proposer, Neuro(view.deposit), counted(view.users, "run"));
	}
	if known.is_empty() {
		println!("there is no dataset on this chain");
	}
	Ok(0)
}

/// The dataset, which must be on the chain.
pub(super) async fn known(client: &ChainClient, id: DatasetId) -> Result<DatasetView, CliError> {
	client.now().await?.dataset(id).await?.ok_or_else(|| unknown(id))
}

fn unknown(id: DatasetId) -> CliError {
	CliError::Unknown(format!(
		"dataset {id} on this chain: `neuroshard-worker dataset list` shows all; retired ones vanish some time after their last run"
	))
}

/// The dataset that a new run is to use, or in words why it cannot.
pub(super) fn usable(id: DatasetId, view: Option<DatasetView>) -> Result<DatasetView, CliError> {
	let view = view.ok_or_else(|| unknown(id))?;
	match view.status {
		DatasetStatus::Active => Ok(view),
		DatasetStatus::Proposed => Err(CliError::Invalid(format!(
			"dataset {id} is proposed, but not active yet: its proposer, {}, must call `neuroshard-worker dataset activate {id}`",
			view.proposer
		))),
		DatasetStatus::Retired => Err(CliError::Invalid(format!("dataset {id} is retired and takes no new runs: use another one"))),
		DatasetStatus::Condemned => Err(CliError::Invalid(format!(
			"dataset {id} is condemned, since its text is not what its manifest says, and takes no new runs: use another one"
		))),
	}
}

async fn all(at: &ChainAt) -> Result<Vec<(DatasetId, DatasetView)>, ChainError> {
	let ask = |id| async move { Ok::<_, ChainError>(at.dataset(id).await?.map(|view| (id, view))) };
	let answers: Vec<_> = stream::iter(at.datasets().await?).map(ask).buffered(QUESTIONS).try_collect().await?;
	Ok(answers.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::dataset::{DatasetShape, Tokenizer};

	const OWN: AccountId = AccountId::new([1; 32]);

	fn view(root: u8, status: DatasetStatus, proposer: AccountId) -> DatasetView {
		let manifest = Manifest {
			name: Default::default(),
			licence: Default::default(),
			source: Default::default(),
			tokenizer: Tokenizer::BYTES,
			vocab: 288,
			masked: false,
			shape: DatasetShape { tokens_per_shard: 64, shard_count: 2, held_out: 1 },
			root: H256::repeat_byte(root),
			bytes: 1,
		};
		DatasetView { proposer, deposit: 1, manifest, status, users: 0 }
	}

	#[test]
	fn nobody_pays_twice_for_one_dataset_unawares() {
		let other = AccountId::new([2; 32]);
		let words = |known: &[(DatasetId, DatasetView)]| twin(known, H256::repeat_byte(7), &OWN);
		assert_eq!(words(&[(0, view(6, DatasetStatus::Active, OWN)), (1, view(7, DatasetStatus::Retired, OWN))]), None);
		let active = words(&[(0, view(7, DatasetStatus::Proposed, OWN)), (3, view(7, DatasetStatus::Active, other.clone()))]).unwrap();
		assert!(active.contains("--dataset 3"), "{active}");
		let own = words(&[(4, view(7, DatasetStatus::Proposed, OWN))]).unwrap();
		assert!(own.contains("dataset activate 4"), "{own}");
		let foreign = words(&[(5, view(7, DatasetStatus::Proposed, other.clone()))]).unwrap();
		assert!(foreign.contains(&other.to_string()), "{foreign}");
	}

	#[test]
	fn a_removal_that_the_chain_would_refuse_is_refused_before_it_costs_a_fee() {
		let words = |at| removable(7, at, 100).unwrap_err().to_string();
		assert!(words(None).contains("dataset retire"), "{}", words(None));
		assert!(words(Some(103)).contains("until block 103") && words(Some(103)).contains("in 3 blocks"), "{}", words(Some(103)));
		assert!(removable(7, Some(100), 100).is_ok());
	}

	#[test]
	fn unknown_proposed_and_retired_datasets_are_told_apart() {
		let words = |view| usable(7, view).map(drop).unwrap_err().to_string();
		assert!(words(None).contains("no dataset 7 on this chain"), "{}", words(None));
		let proposed = words(Some(view(1, DatasetStatus::Proposed, OWN)));
		assert!(proposed.contains("dataset activate 7") && proposed.contains(&OWN.to_string()), "{proposed}");
		assert!(words(Some(view(1, DatasetStatus::Retired, OWN))).contains("retired"));
		assert!(usable(7, Some(view(1, DatasetStatus::Active, OWN))).is_ok());
	}
}
