//! Recomputing on a thread of its own, and putting it off for what has more haste.

use super::Verifier;
use crate::{actor::guarded::panicked, WorkerError};
use neuroshard_chain_client::{ChainAt, ChainError, Heads};
use neuroshard_disputes::{
	cases::case::{Case, CaseError},
	games::move_of,
};
use neuroshard_training::priority::Priority;
use neuroshard_types::BlockNumber;
use std::{
	future::Future,
	panic::{catch_unwind, AssertUnwindSafe},
	sync::{
		atomic::{AtomicBool, Ordering},
		Arc,
	},
};
use tokio::sync::{oneshot, watch};

/// Haste of a computation: what it is put off for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Haste {
	/// Put off for moves and audits.
	Check,
	/// Put off for moves that cannot wait until this block, the last one in which its sample is of use.
	Audit { until: BlockNumber },
}

/// So shortly before its deadline, in blocks, a move that has failed puts off everything else again: time for a slow attempt and another one.
const LAST_TRIES: BlockNumber = 60;

/// Returns whether an audit that goes on for at most `audit` blocks may be finished before the moves that are due in so many blocks, of which each
/// may take `extension` blocks, what a side gains for a move. They keep more than half of their time, and that much each, one after the other.
///
/// What holds at one block holds at the next ones until the audit's time is over: both sides of the comparison run down, the audit's faster.
fn can_wait(moves: &[BlockNumber], audit: BlockNumber, extension: BlockNumber) -> bool {
	let mut moves = moves.to_vec();
	moves.sort_unstable();
	let mut needed = audit.saturating_mul(2);
	audit > 0
		&& moves.iter().all(|left| {
			needed = needed.saturating_add(extension);
			*left >= needed
		})
}

impl Verifier {
	/// Returns the output of `work`, downloads and computation; `None` if something with more haste came up. What it had begun ends then.
	pub(super) async fn unless_urgent<T>(
		&self,
		heads: watch::Receiver<Heads>,
		haste: Haste,
		work: impl Future<Output = Result<T, WorkerError>>,
	) -> Result<Option<T>, WorkerError> {
		tokio::select! {
			done = work => done.map(Some),
			() = self.more_urgent(heads, haste) => Ok(None),
		}
	}

	/// Returns when there is something to do that has more haste.
	async fn more_urgent(&self, mut heads: watch::Receiver<Heads>, haste: Haste) {
		while heads.changed().await.is_ok() {
			match self.is_more_urgent(haste).await {
				Ok(true) => return,
				Ok(false) => {}
				// Not knowing better is no reason to throw work away.
				Err(error) => tracing::debug!("verifier: {error}"),
			}
		}
		std::future::pending().await
	}

	pub(super) async fn is_more_urgent(&self, haste: Haste) -> Result<bool, ChainError> {
		let at = self.client.now().await?;
		let moves = self.urgent_moves(&at).await?;
		match haste {
			Haste::Check => Ok(!moves.is_empty() || self.next_audit(&at).await?.is_some()),
			Haste::Audit { .. } if moves.is_empty() => Ok(false),
			Haste::Audit { until } => {
				let extension = at.dispute_terms().await?.extension;
				Ok(!can_wait(&moves, until.saturating_sub(at.block().number), extension))
			}
		}
	}

	/// Blocks that are left for the moves that something else is put off for. A move that has failed is none until shortly before its
	/// deadline: it would throw the same work away again and again.
	pub(super) async fn urgent_moves(&self, at: &ChainAt) -> Result<Vec<BlockNumber>, ChainError> {
		let now = at.block().number;
		let turns = self.our_turns(at, &self.open_games(at).await?).await?;
		let urgent = turns.into_iter().filter_map(|(game, view)| {
			let (id, left) = (move_of(&game, &view), view.deadline.saturating_sub(now));
			let failed = self.games.failed.contains(&id, now) || left > LAST_TRIES && self.games.failed.has_failed(&id);
			(!failed).then_some(left)
		});
		Ok(urgent.collect())
	}
}

/// A case that comes back from its thread, and what was computed of it.
pub(super) type Back<T> = (Case, Result<T, CaseError>);
/// The same, or what a panic left of it.
pub(super) type Ended<T> = Result<Back<T>, WorkerError>;

/// A computation on a thread of its own. Dropped, it ends at its next step.
pub(super) struct Running<T> {
	result: oneshot::Receiver<Ended<T>>,
	cancel: Arc<AtomicBool>,
}

impl<T: Send + 'static> Running<T> {
	/// Runs `job`, with this priority of its thread.
	pub(super) fn start(
		priority: Priority,
		mut case: Case,
		job: impl FnOnce(&mut Case) -> Result<T, CaseError> + Send + 'static,
	) -> Result<Self, WorkerError> {
		let (answer, result) = oneshot::channel();
		let cancel = case.cancel();
		cancel.store(false, Ordering::Relaxed);
		let spawned = std::thread::Builder::new().name("verify".into()).spawn(move || {
			priority.take();
			// What a panic left of the case is not used again.
			let ended = catch_unwind(AssertUnwindSafe(move || {
				let done = job(&mut case);
				(case, done)
			}));
			let _ = answer.send(ended.map_err(|panic| panicked("the recomputation of a claim", panic.as_ref())));
		});
		spawned.map_err(|source| WorkerError::File { path: "the verifier's thread".into(), source })?;
		Ok(Self { result, cancel })
	}

	/// The case, and what was computed.
	///
	/// # Errors
	/// [`WorkerError::Panicked`] if the job panicked.
	pub(super) async fn back(mut self) -> Ended<T> {
		(&mut self.result).await.map_err(|_| WorkerError::Stopped)?
	}

	/// As [`Self::back`], where a failed computation has no more use for its case.
	pub(super) async fn done(self) -> Result<(Case, T), WorkerError> {
		let (case, result) = self.back().await?;
		Ok((case, result?))
	}
}

impl<T> Drop for Running<T> {
	fn drop(&mut self) {
		self.cancel.store(true, Ordering::Relaxed);
	}
}

/// Raises a flag when it is dropped.
struct Raised(Arc<AtomicBool>);

impl Drop for Raised {
	fn drop(&mut self) {
		self.0.store(true, Ordering::Relaxed);
	}
}

/// What `job` gives on a thread of its own with this priority. Dropped, it raises `cancel`, at which the job is to end.
///
/// # Errors
/// [`WorkerError::Panicked`] if the job panicked; [`WorkerError::File`] if there is no thread.
pub(super) async fn on_thread<T: Send + 'static>(
	priority: Priority,
	cancel: Arc<AtomicBool>,
	job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, WorkerError> {
	let _raised = Raised(cancel);
	let (answer, result) = oneshot::channel();
	let spawned = std::thread::Builder::new().name("verify".into()).spawn(move || {
		priority.take();
		let ended = catch_unwind(AssertUnwindSafe(job));
		let _ = answer.send(ended.map_err(|panic| panicked("the recomputation of a claim", panic.as_ref())));
	});
	spawned.map_err(|source| WorkerError::File { path: "the verifier's thread".into(), source })?;
	result.await.map_err(|_| WorkerError::Stopped)?
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn an_audit_is_finished_first_if_all_moves_keep_more_than_half_of_their_time_and_enough_for_each() {
		assert!(can_wait(&[500], 200, 100), "300 are left in the end");
		assert!(!can_wait(&[499], 200, 100));
		assert!(can_wait(&[600, 500], 200, 100) && !can_wait(&[599, 500], 200, 100), "one after the other");
		assert!(can_wait(&[], 200, 100));
		assert!(!can_wait(&[500], 0, 100), "its time is over");
	}

	proptest::proptest! {
		#[test]
		fn a_move_that_has_waited_for_an_audit_waits_until_the_audit_is_over(
			moves in proptest::collection::vec(0u32..2_000, 1..5),
			audit in 1u32..500,
			extension in 0u32..100,
			passed in 0u32..500,
		) {
			let later: Vec<_> = moves.iter().map(|left| left.saturating_sub(passed)).collect();
			if can_wait(&moves, audit, extension) && passed < audit {
				proptest::prop_assert!(can_wait(&later, audit - passed, extension));
			}
		}
	}
}
