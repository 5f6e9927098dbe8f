//! Pruning of what is kept on disk no longer than it is needed.
//!
//! The deltas of a round and the checkpoint that it started from are pinned, and so handed out, until nobody can need them any more. That
//! is when the round was adopted longer ago than its claims can be challenged and the longest game about them takes, and when nothing
//! younger would have its outer steps redone, or is judged by steps that were redone, from there on.

use super::{observe::Observed, tasks::Tasks};
use crate::{
	actor::blocking::blocking,
	content::{
		rounds::{first_open, forget_bases, forget_round, rounds_by_run, trim_round},
		supply::Cached,
	},
	parts::Mode,
	WorkerError,
};
use neuroshard_training::need::kept_for;
use neuroshard_types::{
	run::{RoundRecord, RunStatus},
	BlockNumber, DatasetId, RoundIndex, RunId,
};
use std::collections::BTreeSet;
use tokio::sync::Mutex;

/// Newest adopted rounds whose blobs stay in any case: those who are one round behind need them.
const RECENT: RoundIndex = 2;

impl Tasks {
	/// Unpins what rounds left behind and cannot be needed any more according to the finalized block, and what adopted rounds did not
	/// take.
	pub(super) async fn prune(&self, seen: &Observed, mode: Mode) -> Result<(), WorkerError> {
		let (at, finalized) = (&seen.at, seen.heads.finalized.number);
		let kept_for = kept_for(&at.dispute_terms().await?);
		for (run, rounds) in rounds_by_run(self.content.store.labels()) {
			// Rounds of runs that are not on chain (any more) are nobody's business.
			let adopted = at.run(run).await?.map_or(RoundIndex::MAX, |run| run.rounds_adopted);
			let recent = adopted.saturating_sub(RECENT);
			let Some(oldest) = rounds.first().copied() else { continue };
			let needed = match mode {
				// Whoever only serves is bound to nothing: the newest checkpoints must fit.
				_ if adopted == RoundIndex::MAX => RoundIndex::MAX,
				Mode::ServeOnly => recent,
				Mode::Train => {
					// Records that are gone are older than any that are kept.
					let is_open = |record: RoundRecord| is_within(&record, kept_for, finalized);
					let open = first_open(oldest..recent, async |round| Ok(at.record(run, round).await?.is_some_and(is_open))).await?;
					at.redo_from(run, open).await?.unwrap_or(open)
				}
			};
			for round in rounds {
				let over = round < needed;
				if !over && !(recent..adopted).contains(&round) {
					continue;
				}
				let record = at.record(run, round).await?;
				let store = self.content.store.clone();
				blocking(move || if over { forget_round(&store, run, round, record) } else { trim_round(&store, run, round, record) })
					.await?;
			}
		}
		let (store, at_hand) = (self.content.store.clone(), seen.chain.run.as_ref().map(|run| run.id));
		blocking(move || forget_bases(&store, at_hand)).await
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

/// Returns whether the time of so many `blocks` from the adoption of a round is not over after block `finalized`.
fn is_within(record: &RoundRecord, blocks: BlockNumber, finalized: BlockNumber) -> bool {
	record.adopted_at.saturating_add(blocks) > finalized
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
	use neuroshard_types::{dispute::Terms, H256, NEURO};
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
