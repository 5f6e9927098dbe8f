//! What of rounds is too old to be needed.
//!
//! The deltas of a round and the checkpoint that it started from are pinned, and so handed out, until nobody can need them any more. That
//! is when the round was adopted longer ago than its claims can be challenged and the longest game about them takes, and when nothing
//! younger would have its outer steps redone, or is judged by steps that were redone, from there on.

use super::rounds::{first_open, forget_bases, forget_round, rounds_by_run, trim_round};
use crate::{actor::blocking::blocking, parts::Mode, WorkerError};
use neuroshard_chain_client::ChainAt;
use neuroshard_store::Store;
use neuroshard_training::need::kept_for;
use neuroshard_types::{run::RoundRecord, BlockNumber, RoundIndex, RunId};
use std::ops::Range;

/// Newest adopted rounds whose blobs stay in any case: those who are one round behind need them.
pub const RECENT: RoundIndex = 2;

/// Unpins what rounds left behind in `store` and cannot be needed any more according to the finalized block, and what adopted rounds did not
/// take. `at_hand` is the run that this worker is in.
pub async fn forget_old(
	store: &Store,
	at: &ChainAt,
	finalized: BlockNumber,
	at_hand: Option<RunId>,
	mode: Mode,
) -> Result<(), WorkerError> {
	let kept_for = kept_for(&at.dispute_terms().await?);
	for (run, rounds) in rounds_by_run(store.labels()) {
		// Rounds of runs that are not on chain (any more) are nobody's business.
		let adopted = at.run(run).await?.map_or(RoundIndex::MAX, |run| run.rounds_adopted);
		let recent = adopted.saturating_sub(RECENT);
		let Some(oldest) = rounds.first().copied() else { continue };
		let needed = match mode {
			// Whoever only serves is bound to nothing: the newest checkpoints must fit.
			_ if adopted == RoundIndex::MAX => RoundIndex::MAX,
			Mode::ServeOnly => recent,
			Mode::Train => first_needed(at, (run, oldest..recent), (kept_for, finalized)).await?,
		};
		for round in rounds {
			let over = round < needed;
			if !over && !(recent..adopted).contains(&round) {
				continue;
			}
			let record = at.record(run, round).await?;
			let store = store.clone();
			blocking(move || if over { forget_round(&store, run, round, record) } else { trim_round(&store, run, round, record) }).await?;
		}
	}
	let store = store.clone();
	blocking(move || forget_bases(&store, at_hand)).await
}

/// The first of these adopted rounds of a run whose content is still needed after block `finalized`, where claims can be disputed for `kept_for` blocks.
pub async fn first_needed(
	at: &ChainAt,
	(run, rounds): (RunId, Range<RoundIndex>),
	(kept_for, finalized): (BlockNumber, BlockNumber),
) -> Result<RoundIndex, WorkerError> {
	// Records that are gone are older than any that are kept.
	let is_open = |record: RoundRecord| is_within(&record, kept_for, finalized);
	let open = first_open(rounds, async |round| Ok(at.record(run, round).await?.is_some_and(is_open))).await?;
	Ok(at.redo_from(run, open).await?.unwrap_or(open))
}

/// Returns whether the time of so many `blocks` from the adoption of a round is not over after block `finalized`.
pub fn is_within(record: &RoundRecord, blocks: BlockNumber, finalized: BlockNumber) -> bool {
	record.adopted_at.saturating_add(blocks) > finalized
}
