//! What is kept on disk no longer than it is needed.

use super::{
	content::{blocking, labelled_round, round_label},
	observe::Observed,
	supply::Cached,
	tasks::Tasks,
	WorkerError,
};
use neuroshard_types::{DatasetId, RoundIndex, RunId};
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::Mutex;

impl Tasks {
	/// Unpins what rounds left behind whose challenge window is over according to the finalized block.
	pub(super) async fn prune(&self, seen: &Observed) -> Result<(), WorkerError> {
		let window = seen.at.challenge_window().await?;
		for (run, rounds) in rounds_by_run(self.content.store.labels()) {
			// Rounds of runs that are not on chain (any more) are nobody's business.
			let adopted = seen.at.run(run).await?.map(|run| run.rounds_adopted);
			for round in rounds {
				// The last two are needed by those who are one round behind.
				if adopted.is_some_and(|adopted| round >= adopted.saturating_sub(2)) {
					break;
				}
				let record = seen.at.record(run, round).await?;
				// Rounds are adopted one after the other: the windows of those that follow end later.
				if record.as_ref().is_some_and(|record| record.adopted_at.saturating_add(window) > seen.heads.finalized.number) {
					break;
				}
				let before = match round.checked_sub(1) {
					Some(before) => seen.at.record(run, before).await?,
					None => None,
				};
				let store = self.content.store.clone();
				blocking(move || {
					// The checkpoint that the round started from goes with it.
					if let Some(before) = before {
						store.remove_note(before.checkpoint)?;
					}
					Ok(store.unpin_label(&round_label(run, round))?)
				})
				.await?;
			}
		}
		Ok(())
	}

	/// Lets go of all datasets but `kept`, that of the run at hand while it lasts: shards that came from peers are deleted, and what was
	/// offered of the operator's folder may be evicted. The folder itself stays. `false` if a dataset is being looked for right now:
	/// then it is to be tried again.
	pub(super) async fn release_datasets(&self, kept: Option<DatasetId>) -> Result<bool, WorkerError> {
		if !forget(&self.dataset, kept) {
			return Ok(false);
		}
		let content = self.content.clone();
		blocking(move || content.release_datasets(kept)).await.map(|()| true)
	}
}

/// Forgets the dataset that was used last, unless it is `kept`. `false` if a task holds it. That is not waited for: the task stands
/// still while the worker looks at the chain, which is when this is called, so that neither would ever go on.
fn forget(cached: &Mutex<Cached>, kept: Option<DatasetId>) -> bool {
	let Ok(mut cached) = cached.try_lock() else { return false };
	if cached.as_ref().is_some_and(|(id, _)| Some(*id) != kept) {
		*cached = None;
	}
	true
}

/// Rounds, ascending, whose blobs are kept, by run.
fn rounds_by_run(labels: impl IntoIterator<Item = String>) -> BTreeMap<RunId, BTreeSet<RoundIndex>> {
	let mut rounds = BTreeMap::<_, BTreeSet<_>>::new();
	for (run, round) in labels.into_iter().filter_map(|label| labelled_round(&label)) {
		rounds.entry(run).or_default().insert(round);
	}
	rounds
}

#[cfg(test)]
mod tests {
	use super::*;

	#[tokio::test]
	async fn a_dataset_that_a_task_is_looking_for_is_not_waited_for() {
		let cached = Mutex::new(None);
		let task = cached.lock().await;
		assert!(!forget(&cached, None));
		drop(task);
		assert!(forget(&cached, None));
	}

	#[test]
	fn rounds_of_all_runs_are_pruned_oldest_first_however_many_there_are() {
		let labels = (0..200).rev().map(|round| round_label(3, round)).chain([round_label(1, 9), "dataset-0".into()]);
		let rounds = rounds_by_run(labels);
		assert_eq!(rounds.keys().copied().collect::<Vec<_>>(), [1, 3]);
		assert!(rounds[&3].iter().copied().eq(0..200));
	}
}
