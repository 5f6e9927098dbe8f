//! Inner steps that go on beside all else, in a run whose rounds overlap: what is exchanged, voted on and attested of one round does not keep the worker
//! from computing the next one.

use super::{
	decide::{
		plan::is_drawn,
		task::{Drawn, Task},
	},
	observe::Observed,
	tasks::{Effect, Moment, Ready},
	work::{Ended, LAST_STEP},
	Participant,
};
use crate::WorkerError;
use std::{future::pending, sync::atomic::Ordering};
use tokio_util::task::AbortOnDropHandle;

/// A round that is being trained, or has been and waits to be noted.
pub(super) struct Beside {
	drawn: Drawn,
	moment: Moment,
	training: AbortOnDropHandle<Result<Effect, WorkerError>>,
	/// Its result.
	result: Option<Result<Effect, WorkerError>>,
}

impl Beside {
	/// Returns whether inner steps are under way.
	pub(super) fn trains(&self) -> bool {
		self.result.is_none() && !self.training.is_finished()
	}

	/// Describes what it does, for people.
	pub(super) fn words(&self) -> String {
		Task::Train { drawn: self.drawn }.to_string()
	}

	/// Waits until training is over. Nothing is lost if the caller stops waiting.
	async fn over(&mut self) {
		if self.result.is_none() {
			let result = (&mut self.training).await;
			self.result = Some(result.unwrap_or(Err(WorkerError::Stopped)));
		}
	}
}

impl Participant {
	/// Waits until training beside all else ends that has not ended yet.
	pub(super) async fn training_over(&mut self) {
		match &mut self.beside {
			Some(beside) if beside.result.is_none() => beside.over().await,
			_ => pending().await,
		}
	}

	/// Takes over what came of training, if it is over. Gives up what the chain does not want any more. What came of it, if anything is to be done
	/// about that.
	pub(super) async fn settle_training(&mut self, seen: &Observed) -> Option<Ended> {
		let beside = self.beside.as_mut()?;
		if !is_drawn(&seen.chain, beside.drawn.seed) {
			tracing::info!("training round {} is not wanted any more", beside.drawn.round);
			beside.moment.cancel();
			self.beside = None;
			return None;
		}
		beside.moment.best.store(seen.chain.best, Ordering::Relaxed);
		if beside.trains() {
			return None;
		}
		beside.over().await;
		let Beside { drawn, moment, result, .. } = self.beside.take()?;
		Some(self.ended(Task::Train { drawn }, result?, &moment))
	}

	/// Begins to take inner steps beside all else.
	pub(super) fn begin_training(&mut self, ready: Ready) {
		let (drawn, moment, tasks) = (ready.drawn, ready.moment.clone(), self.tasks.clone());
		let training = AbortOnDropHandle::new(tokio::spawn(async move { tasks.take_steps(ready).await }));
		self.beside = Some(Beside { drawn, moment, training, result: None });
	}

	/// Has training leave its state on disk, and waits for that.
	pub(super) async fn end_training(&mut self) {
		if let Some(mut beside) = self.beside.take() {
			beside.moment.stop();
			// What takes longer than a step is not waited for: an earlier state is on disk.
			let _ = tokio::time::timeout(LAST_STEP, beside.over()).await;
			// Unless it has just ended.
			if let Some(Ok(effect @ Effect::Trained(_))) = beside.result.take() {
				if let Err(error) = self.remember(effect) {
					self.report(&error);
				}
			}
		}
	}
}
