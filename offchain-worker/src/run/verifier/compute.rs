//! Recomputing on a thread of its own, and putting it off for what has more haste.

use super::Verifier;
use crate::{
	chain::{ChainError, Heads},
	run::WorkerError,
	train::priority::lower_thread_priority,
	verify::case::{Case, CaseError},
};
use std::{
	future::Future,
	sync::{
		atomic::{AtomicBool, Ordering},
		Arc,
	},
};
use tokio::sync::{oneshot, watch};

/// What is put off for what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Haste {
	/// Put off for moves and audits.
	Check,
	/// Put off for moves.
	Audit,
}

impl Verifier {
	/// What `work` gives, downloads and computation; `None` if something with more haste came up. What it had begun ends then.
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

	async fn is_more_urgent(&self, haste: Haste) -> Result<bool, ChainError> {
		let at = self.client.now().await?;
		Ok(self.our_turn(&at, &at.games_of(&self.me).await?).await?.is_some()
			|| haste == Haste::Check && self.next_audit(&at).await?.is_some())
	}
}

/// A case that comes back from its thread, and what was computed of it.
type Back<T> = (Case, Result<T, CaseError>);

/// A computation on a thread of its own. Dropped, it ends at its next step.
pub(super) struct Running<T> {
	result: oneshot::Receiver<Back<T>>,
	cancel: Arc<AtomicBool>,
}

impl<T: Send + 'static> Running<T> {
	/// Runs `job` at low priority.
	pub(super) fn start(mut case: Case, job: impl FnOnce(&mut Case) -> Result<T, CaseError> + Send + 'static) -> Result<Self, WorkerError> {
		let (answer, result) = oneshot::channel();
		let cancel = case.cancel();
		cancel.store(false, Ordering::Relaxed);
		let spawned = std::thread::Builder::new().name("verify".into()).spawn(move || {
			lower_thread_priority();
			let done = job(&mut case);
			let _ = answer.send((case, done));
		});
		spawned.map_err(|source| WorkerError::File { path: "the verifier's thread".into(), source })?;
		Ok(Self { result, cancel })
	}

	/// The case, and what was computed.
	pub(super) async fn back(mut self) -> Result<Back<T>, WorkerError> {
		(&mut self.result).await.map_err(|_| WorkerError::Stopped)
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
