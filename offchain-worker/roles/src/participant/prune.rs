//! Pruning of what is kept on disk no longer than it is needed, and datasets that nobody needs any more.

use super::{observe::Observed, tasks::Tasks};
use crate::{
	actor::blocking::blocking,
	content::{
		old::{forget_old, is_within},
		rounds::rounds_by_run,
		supply::Cached,
	},
	parts::Mode,
	quorum::forget_seats,
	WorkerError,
};
use neuroshard_types::{run::RunStatus, DatasetId, RunId};
use std::collections::BTreeSet;
use tokio::sync::Mutex;

impl Tasks {
	/// Unpins what rounds left behind and cannot be needed any more according to the finalized block, and what adopted rounds did not
	/// take.
	pub(super) async fn prune(&self, seen: &Observed, mode: Mode) -> Result<(), WorkerError> {
		let at_hand = seen.chain.run.as_ref().map(|run| run.id);
		forget_old(&self.content.store, &seen.at, seen.heads.finalized.number, at_hand, mode).await?;
		match &self.quorum {
			Some(_) => forget_seats(&self.content.base, &seen.at, seen.heads.finalized.number).await,
			None => Ok(()),
		}
	}

	/// Datasets that are still needed: that of the run at hand while it lasts, and those of runs whose claims can be disputed, or are.
	pub(super) async fn needed_datasets(&self, seen: &Observed) -> Result<BTreeSet<DatasetId>, WorkerError> {
		let at = &seen.at;
		let mut needed = BTreeSet::new();
		let (games, window) = (at.games_of(&seen.chain.me).await?, at.dispute_terms().await?.window);
		let here = rounds_by_run(self.content.store.labels()).into_keys();
		let runs: BTreeSet<RunId> =
			here.chain(seen.chain.run.as_ref().map(|run| run.id)).chain(games.iter().map(|(claim, _)| claim.run)).collect();
		for run in runs {
			let Some(view) = at.run(run).await? else { continue };
			let at_hand = view.status == RunStatus::Active && seen.chain.run.as_ref().is_some_and(|chosen| chosen.id == run);
			let last = match view.rounds_adopted.checked_sub(1) {
				Some(last) => at.record(run, last).await?,
				None => None,
			};
			let disputed = games.iter().any(|(claim, _)| claim.run == run);
			if at_hand || disputed || last.is_some_and(|record| is_within(&record, window, seen.heads.finalized.number)) {
				needed.insert(view.config.dataset);
			}
		}
		Ok(needed)
	}

	/// Lets go of all datasets but those that are `kept`: shards that came from peers are deleted, and what was offered of the operator's
	/// folder may be evicted. The folder itself stays. `false` if a dataset is being looked for right now: then it is to be tried again.
	pub(super) async fn release_datasets(&self, kept: BTreeSet<DatasetId>) -> Result<bool, WorkerError> {
		if !forget(&self.dataset, &kept) {
			return Ok(false);
		}
		let content = self.content.clone();
		blocking(move || content.release_datasets(&kept)).await.map(|()| true)
	}
}

/// Forgets the dataset that was used last, unless it is `kept`. `false` if a task holds it. That is not waited for: the task stands
/// still while the worker looks at the chain, which is when this is called, so that neither would ever go on.
fn forget(cached: &Mutex<Cached>, kept: &BTreeSet<DatasetId>) -> bool {
	let Ok(mut cached) = cached.try_lock() else { return false };
	if cached.as_ref().is_some_and(|(id, _)| !kept.contains(id)) {
		*cached = None;
	}
	true
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{
		content::{
			rounds::{round_label, tests::record},
			Content,
		},
		participant::{compute::Compute, decide::plan::tests::training},
		status::Reporter,
	};
	use neuroshard_chain_client::keys::Keys;
	use neuroshard_fixtures::Connect;
	use neuroshard_mock_node::{Fate, MockNode, Script};
	use neuroshard_network::{keypair_from_secret, Network, NetworkConfig};
	use neuroshard_store::Store;
	use neuroshard_training::engine::Device;
	use neuroshard_training::keeper::Keeper;
	use neuroshard_types::{dispute::Terms, BlockNumber, RoundIndex, H256, NEURO};
	use tokio_util::sync::CancellationToken;

	#[tokio::test]
	async fn a_dataset_that_a_task_is_looking_for_is_not_waited_for() {
		let cached = Mutex::new(None);
		let task = cached.lock().await;
		assert!(!forget(&cached, &BTreeSet::new()));
		drop(task);
		assert!(forget(&cached, &BTreeSet::new()));
	}

	/// Returns what is kept of ten rounds, adopted in block 7, once block 2,000 or so is final, where unbonding takes 100,000 blocks and disputes have
	/// these terms.
	async fn kept_of_ten_rounds(terms: Terms) -> Vec<RoundIndex> {
		let node = MockNode::start(Script { blocks_a_look: 2_000, fate: |_| Fate::Included }).await;
		let (mut chain, _) = training();
		let run = chain.run.as_mut().unwrap();
		run.view.rounds_adopted = 10;
		node.answer("Training", "run", &Some(run.view.clone()));
		node.answer("Training", "record", &Some(record(H256::zero(), &[])));
		node.answer("Training", "redo_from", &None::<RoundIndex>);
		node.answer("Staking", "limits", &(100 * NEURO, 100_000 as BlockNumber));
		node.answer("Disputes", "terms", &terms);
		let (base, stop) = (tempfile::tempdir().unwrap(), CancellationToken::new());
		let store = Store::open(&base.path().join("store"), 1 << 24).unwrap();
		for round in 0..10 {
			store.put_pinned(&[u8::try_from(round).unwrap(); 4096], &round_label(run.id, round)).unwrap();
		}
		let network = keypair_from_secret(&mut [1; 32]).unwrap();
		let (net, _) = Network::start(NetworkConfig::default(), network, store.clone(), stop.clone()).await.unwrap();
		let tasks = Tasks {
			keys: Keys::load(base.path(), Some("//Alice")).unwrap(),
			genesis: H256::zero(),
			submitter: node.submitter().await,
			content: Content::new(store.clone(), net, base.path(), None),
			compute: Compute::start(1, Device::Cpu).unwrap(),
			keeper: Keeper::start(store.clone()).unwrap(),
			reporter: Reporter::new(Default::default()),
			dataset: Default::default(),
			checked: Default::default(),
			quorum: None,
			conduct: std::sync::Arc::new(crate::Honest),
		};
		let client = node.client().await;
		let heads = client.heads().await.unwrap();
		let at = client.at(heads.best).await.unwrap();
		let seen = Observed { heads, at, chain, time: 0, provider: None, least_bond: None, earnings: Default::default(), eras: Vec::new() };
		tasks.prune(&seen, Mode::Train).await.unwrap();
		let _stop = stop.drop_guard();
		rounds_by_run(store.labels()).into_values().flatten().collect()
	}

	#[tokio::test]
	async fn rounds_are_kept_until_nobody_can_dispute_them_and_not_until_bonds_are_out() {
		// 100 and the longest game, 3 * 20 + 7 * (10 + 20): 370 blocks. The two newest rounds stay in any case.
		let terms = Terms { window: 100, clock: 20, extension: 10, bond: NEURO, most_games: 32 };
		assert_eq!(kept_of_ten_rounds(terms).await, [8, 9]);
		// A game that is opened when the window is over may last longer than that.
		assert_eq!(kept_of_ten_rounds(Terms { clock: 400, ..terms }).await, (0..10).collect::<Vec<_>>());
	}

	#[test]
	fn text_stays_as_long_as_the_last_round_can_be_disputed() {
		// Adopted in block 7.
		let last = record(H256::zero(), &[]);
		assert!(is_within(&last, 10, 16) && !is_within(&last, 10, 17));
	}
}
