//! Recomputing on a thread of its own, put off when a move is due.

use super::Verifier;
use crate::{
	chain::Heads,
	run::WorkerError,
	train::priority::lower_thread_priority,
	verify::case::{Case, CaseError},
};
use std::sync::{
	atomic::{AtomicBool, Ordering},
	Arc,
};
use tokio::sync::{oneshot, watch};

impl Verifier {
	/// Computes on a thread of its own; puts it off (`None`) when this account has to move in a dispute meanwhile.
	pub(super) async fn compute<T: Send + 'static>(
		&mut self,
		case: Case,
		mut heads: watch::Receiver<Heads>,
		cancel: Arc<AtomicBool>,
		job: impl FnOnce(&mut Case) -> Result<T, CaseError> + Send + 'static,
	) -> Result<Option<(Case, T)>, WorkerError> {
		let mut result = on_thread(case, job)?;
		heads.mark_unchanged();
		let mut followed = true;
		loop {
			tokio::select! {
				done = &mut result => {
					let (case, result) = done.map_err(|_| WorkerError::Stopped)?;
					return match result {
						Ok(computed) => Ok(Some((case, computed))),
						Err(error) if error.is_cancelled() => Ok(None),
						Err(error) => Err(error.into()),
					};
				},
				changed = heads.changed(), if followed => {
					followed = changed.is_ok();
					let at = self.client.now().await?;
					if self.our_turn(&at).await?.is_some() {
						cancel.store(true, Ordering::Relaxed);
						followed = false;
					}
				},
			}
		}
	}
}

/// A case that comes back from its thread, and what was computed of it.
type Back<T> = (Case, Result<T, CaseError>);

/// Runs `job` on a thread of its own, at low priority.
pub(super) fn on_thread<T: Send + 'static>(
	mut case: Case,
	job: impl FnOnce(&mut Case) -> Result<T, CaseError> + Send + 'static,
) -> Result<oneshot::Receiver<Back<T>>, WorkerError> {
	let (answer, result) = oneshot::channel();
	let spawned = std::thread::Builder::new().name("verify".into()).spawn(move || {
		lower_thread_priority();
		let done = job(&mut case);
		let _ = answer.send((case, done));
	});
	spawned.map_err(|source| WorkerError::File { path: "the verifier's thread".into(), source })?;
	Ok(result)
}
