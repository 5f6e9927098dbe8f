//! What is kept on disk no longer than it is needed.
//!
//! The deltas of a round and the checkpoint that it started from are pinned, and so handed out, until nobody can need them any more. That
//! is when the round was adopted longer ago than a bond takes to get out, which is more than its claims can be challenged and the longest
//! dispute takes, and when nothing younger would have its outer steps redone, or is judged by steps that were redone, from there on.

use super::{
	content::{blocking, labelled_round, round_label, Content},
	observe::Observed,
	plan::Mode,
	supply::Cached,
	tasks::Tasks,
	WorkerError,
};
use crate::{store::Store, train::kept};
use neuroshard_types::{
	run::{RoundRecord, RunStatus},
	BlockNumber, DatasetId, RoundIndex, RunId, H256,
};
use std::{
	collections::{BTreeMap, BTreeSet},
	ops::Range,
};
use tokio::sync::Mutex;

/// Newest adopted rounds whose blobs stay in any case: those who are one round behind need them.
const RECENT: RoundIndex = 2;

impl Tasks {
	/// Unpins what rounds left behind and cannot be needed any more according to the finalized block, and what adopted rounds did not
	/// take.
	pub(super) async fn prune(&self, seen: &Observed, mode: Mode) -> Result<(), WorkerError> {
		let (at, finalized) = (&seen.at, seen.heads.finalized.number);
		let (_, cooldown) = at.bond_limits().await?;
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
					let is_open = |record: RoundRecord| record.adopted_at.saturating_add(cooldown) > finalized;
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
		Ok(())
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
			if at_hand || disputed || last.is_some_and(|record| is_disputable(&record, window, seen.heads.finalized.number)) {
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

/// Whether claims of a round can be disputed after block `finalized`.
fn is_disputable(record: &RoundRecord, window: BlockNumber, finalized: BlockNumber) -> bool {
	record.adopted_at.saturating_add(window) > finalized
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

/// The first of these rounds, all adopted, that is open; their end if there is none. Rounds are adopted one after the other, so that none
/// is open before one that is not.
pub(super) async fn first_open(
	rounds: Range<RoundIndex>,
	is_open: impl AsyncFn(RoundIndex) -> Result<bool, WorkerError>,
) -> Result<RoundIndex, WorkerError> {
	let Range { start: mut first, end: mut until } = rounds;
	while first < until {
		let middle = first.midpoint(until);
		match is_open(middle).await? {
			true => until = middle,
			false => first = middle.saturating_add(1),
		}
	}
	Ok(until)
}

/// Unpins all blobs of a round, and removes its inner states and the note on the checkpoint that it started from. Blocks.
fn forget_round(store: &Store, run: RunId, round: RoundIndex, record: Option<RoundRecord>) -> Result<(), WorkerError> {
	if let Some(record) = record {
		store.remove_note(record.start)?;
	}
	kept::forget(store, run, round)?;
	Ok(store.unpin_label(&round_label(run, round))?)
}

/// Unpins what is no included delta of an adopted round, nor part of the checkpoint that it started from: deltas of aborted attempts, and
/// checkpoints that were computed and not adopted. Blocks.
fn trim_round(store: &Store, run: RunId, round: RoundIndex, record: Option<RoundRecord>) -> Result<(), WorkerError> {
	let Some(record) = record else { return Ok(()) };
	let Some(start) = Content::stored_header(store, run, record.start)? else { return Ok(()) };
	let taken: BTreeSet<H256> = record.included.iter().map(|(_, root)| *root).chain([start.params, start.momentum]).collect();
	let label = round_label(run, round);
	for root in store.pinned(&label).into_iter().filter(|root| !taken.contains(root)) {
		store.unpin(root, &label)?;
	}
	Ok(())
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
	use crate::train::checkpoint::Header;
	use codec::Encode;
	use neuroshard_types::{AccountId, F32};
	use std::cell::Cell;

	#[tokio::test]
	async fn a_dataset_that_a_task_is_looking_for_is_not_waited_for() {
		let cached = Mutex::new(None);
		let task = cached.lock().await;
		assert!(!forget(&cached, &BTreeSet::new()));
		drop(task);
		assert!(forget(&cached, &BTreeSet::new()));
	}

	/// A record of a round that started from `start` and included `deltas`.
	fn record(start: H256, deltas: &[H256]) -> RoundRecord {
		RoundRecord {
			seed: H256::zero(),
			start,
			first_round: 0,
			participants: Vec::new(),
			included: deltas.iter().map(|root| (AccountId::new([1; 32]), *root)).collect(),
			excluded: Vec::new(),
			attested: Vec::new(),
			checkpoint: H256::zero(),
			fallen: false,
			validation_loss: F32::new(1.0),
			adopted_at: 7,
		}
	}

	#[test]
	fn text_stays_as_long_as_the_last_round_can_be_disputed() {
		// Adopted in block 7.
		let last = record(H256::zero(), &[]);
		assert!(is_disputable(&last, 10, 16) && !is_disputable(&last, 10, 17));
	}

	#[test]
	fn inner_states_go_with_their_round() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		let names = ["0000000003-0000000005-0000000010", "0000000003-0000000006-0000000010"];
		for name in names {
			assert!(store.put_spare(name, &[b"state"], 1 << 10).unwrap());
		}
		forget_round(&store, 3, 5, None).unwrap();
		assert_eq!(store.spares(""), [names[1]]);
	}

	#[test]
	fn an_adopted_round_keeps_what_it_took_until_it_is_forgotten_as_a_whole() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		let label = round_label(3, 5);
		let [params, momentum, included, aborted, stale] =
			[1, 2, 3, 4, 5].map(|byte| store.put_pinned(&[byte; 4096], &label).unwrap().root);
		let elsewhere = store.put_pinned(&[6; 4096], &round_label(3, 6)).unwrap().root;
		let header = Header { run: 3, round: 5, adopted_steps: 50, params, momentum };
		let adopted = || Some(record(header.root(), &[included]));

		trim_round(&store, 3, 5, adopted()).unwrap();
		assert!(store.pinned(&label).contains(&aborted), "without the note it is not known what the checkpoint is made of");
		store.set_note(header.root(), &header.encode()).unwrap();
		trim_round(&store, 3, 5, None).unwrap();
		assert_eq!(store.pinned(&label).len(), 5);
		trim_round(&store, 3, 5, adopted()).unwrap();
		let kept: BTreeSet<H256> = store.pinned(&label).into_iter().collect();
		assert_eq!(kept, BTreeSet::from([params, momentum, included]));
		assert!(store.contains(stale), "it is only not kept any more");

		forget_round(&store, 3, 5, adopted()).unwrap();
		assert_eq!((store.pinned(&label), store.note(header.root()).unwrap()), (vec![], None));
		assert_eq!(store.pinned(&round_label(3, 6)), [elsewhere]);
	}

	#[tokio::test]
	async fn the_first_open_round_is_found_with_few_questions() {
		for first in 0..40 {
			let asked = Cell::new(0);
			let is_open = async |round| {
				asked.set(asked.get() + 1);
				Ok(round >= first)
			};
			assert_eq!(first_open(5..35, is_open).await.unwrap(), first.clamp(5, 35));
			assert!(asked.get() <= 5, "{} of 30", asked.get());
		}
		let never = async |_| Err(WorkerError::Stopped);
		assert_eq!(first_open(Range { start: 7, end: 5 }, never).await.unwrap(), 5, "all that is here is recent");
		assert!(first_open(5..7, never).await.is_err());
	}

	#[test]
	fn rounds_of_all_runs_are_pruned_oldest_first_however_many_there_are() {
		let labels = (0..200).rev().map(|round| round_label(3, round)).chain([round_label(1, 9), "dataset-0".into()]);
		let rounds = rounds_by_run(labels);
		assert_eq!(rounds.keys().copied().collect::<Vec<_>>(), [1, 3]);
		assert!(rounds[&3].iter().copied().eq(0..200));
	}
}
