//! Doing what the planner asks for. Tasks change nothing of the worker's memory themselves: they return what is to be remembered.

mod act;
mod checkpoints;
mod dataset;
mod departure;
mod filed;
mod lead;
mod outer_steps;
mod round;

use super::{
	book::Book,
	compute::Compute,
	decide::{
		task::Task,
		view::{Delta, NextCheckpoint, RunState, Sibling},
	},
	observe::Observed,
};
use crate::{
	arithmetic,
	conduct::Conduct,
	content::{supply::Cached, Content},
	earnings,
	journal::Pending,
	parts::Mode,
	status::Reporter,
	WorkerError,
};
use act::act;
pub(super) use lead::Leading;
use neuroshard_chain_client::{keys::Keys, ponw, staking, training, Call, ChainError, Submitter};
use neuroshard_compute::exec::Exec;
use neuroshard_training::{engine::EngineError, keeper::Keeper, need::RoundLeaves};
use neuroshard_types::{
	proof::{Proof, ProofKey, ProofKind},
	run::{RoundView, RunConfig},
	DatasetId, H256,
};
pub(super) use round::Ready;
use std::sync::{
	atomic::{AtomicBool, AtomicU32, Ordering},
	Arc, PoisonError,
};
use tokio::sync::Mutex;

/// Effect of a finished task.
#[derive(Clone, Debug)]
pub(super) enum Effect {
	/// Nothing but what the chain shows.
	Sent,
	/// A checkpoint is loaded.
	Loaded(H256),
	/// The checkpoint with this root is loaded; the one before, where inner steps still start from that, is in the store.
	Adopted {
		/// Its root.
		root: H256,
		/// Root of the one before.
		before: Option<H256>,
	},
	/// An earlier checkpoint is in the store.
	StoredStart(H256),
	/// A checkpoint of another cohort is in the store, or was found to be of no use.
	Sibling(Sibling),
	/// The list of a dataset's shards is at hand.
	Dataset(DatasetId),
	/// The data that the inner steps of a round need is here; they are taken beside all else.
	Ready(Box<Ready>),
	/// Training is finished; to be journalled before it is committed to.
	Trained(Pending),
	/// Training left the finite numbers in the round of this seed.
	Diverged(H256),
	/// Deltas came; what became of each is in [`Checked`].
	Fetched,
	/// Some deltas are still to come.
	Incomplete,
	/// The outer steps are taken.
	Stepped(NextCheckpoint),
	/// Uptime of an hour is proven, or refused for good.
	Uptime(u32),
}

/// Leaves of what a round of a run with this configuration leaves behind.
pub(super) fn leaves(config: &RunConfig) -> Result<RoundLeaves, WorkerError> {
	Ok(RoundLeaves::of(&config.model, &config.train).map_err(|error| EngineError::Setup(error.into()))?)
}

/// Everything that tasks need. Clones share it.
#[derive(Clone)]
pub(super) struct Tasks {
	pub(super) keys: Keys,
	pub(super) genesis: H256,
	pub(super) submitter: Submitter,
	pub(super) content: Content,
	pub(super) compute: Compute,
	/// Keeper of the inner states of this worker's rounds.
	pub(super) keeper: Keeper,
	pub(super) reporter: Reporter,
	pub(super) dataset: Arc<Mutex<Cached>>,
	pub(super) checked: Checked,
	/// If this account leads a quorum: then the model is in files.
	pub(super) quorum: Option<Leading>,
	/// Conduct of the worker.
	pub(super) conduct: Arc<dyn Conduct>,
}

/// Deltas that were looked at. It is noted here at once, so that what has come counts even if the task that asked for it is given up.
#[derive(Clone, Default)]
pub(super) struct Checked(Arc<std::sync::Mutex<Vec<(H256, Delta)>>>);

impl Checked {
	pub(super) fn note(&self, root: H256, delta: Delta) {
		self.0.lock().unwrap_or_else(PoisonError::into_inner).push((root, delta));
	}

	/// Returns the deltas that were noted since this was asked last.
	pub(super) fn take(&self) -> Vec<(H256, Delta)> {
		std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
	}
}

/// State of the moment that a task was planned in.
#[derive(Clone)]
pub(super) struct Moment {
	pub(super) seen: Observed,
	pub(super) book: Book,
	pub(super) pending: Option<Pending>,
	/// Raised when the task is not wanted any more.
	pub(super) cancel: Arc<AtomicBool>,
	/// Raised before that when the worker is stopped.
	pub(super) stopping: Arc<AtomicBool>,
	/// Newest block that was seen since.
	pub(super) best: Arc<AtomicU32>,
}

impl Moment {
	pub(super) fn run(&self) -> Result<&RunState, WorkerError> {
		self.seen.chain.run.as_ref().ok_or(WorkerError::Stopped)
	}

	pub(super) fn round(&self) -> Result<(&RunState, &RoundView), WorkerError> {
		let run = self.run()?;
		run.round.as_ref().map(|round| (run, round)).ok_or(WorkerError::Stopped)
	}
}

impl Tasks {
	/// Does `task`.
	pub(super) async fn perform(&self, task: Task, moment: &Moment) -> Result<Effect, WorkerError> {
		match task {
			Task::BuildGenesis if self.quorum.is_some() => self.filed_genesis(moment).await,
			Task::FetchCheckpoint { root } if self.quorum.is_some() => self.filed_checkpoint(moment, root).await,
			Task::Adopt { root } if self.quorum.is_some() => self.filed_adopt(moment, root),
			Task::FetchStart { root } if self.quorum.is_some() => self.filed_start(moment, root).await,
			Task::OuterSteps { job } if self.quorum.is_some() => self.filed_outer_steps(moment, job).await,
			// A quorum is no bridge: it starts from its own cohort's.
			Task::FetchSibling { root, .. } if self.quorum.is_some() => Ok(Effect::Sibling(Sibling::Unfit(root))),
			Task::BuildGenesis => self.build_genesis(moment).await,
			Task::FetchCheckpoint { root } => self.fetch_checkpoint(moment, root).await,
			Task::Adopt { root } => self.adopt(moment, root).await,
			Task::FindDataset { id } => self.dataset(moment).await.map(|_| Effect::Dataset(id)),
			Task::Join => self.join(moment).await,
			Task::Train { drawn } => self.train(moment, drawn).await,
			Task::Commit => self.commit(moment).await,
			Task::Reveal => self.reveal(moment).await,
			Task::FetchDeltas { wanted } => self.fetch_deltas(moment, wanted).await,
			Task::Vote { vote } => {
				let (run, round) = moment.round()?;
				self.act(moment, training::vote_availability(run.id, round.round, round.attempt, vote)).await
			}
			Task::FetchStart { root } => self.fetch_start(moment, root).await,
			Task::FetchSibling { run, round, root } => self.fetch_sibling(moment, (run, round), root).await,
			Task::OuterSteps { job } => self.outer_steps(moment, job).await,
			Task::Attest { attestation } => {
				let (run, round) = moment.round()?;
				self.act(moment, training::attest(run.id, round.round, round.attempt, attestation)).await
			}
			Task::ReportMissing { missing } => {
				let (run, round) = moment.round()?;
				self.act(moment, training::report_missing(run.id, round.round, round.attempt, round.phase, missing)).await
			}
			Task::ProveArithmetic { challenge } => self.prove_arithmetic(moment, challenge).await,
			Task::Leave | Task::ProveUptime { .. } | Task::Claim => self.chore(&task, moment).await,
		}
	}

	/// Does a chore: what [`Task::is_chore`] names, and nothing else.
	pub(super) async fn chore(&self, task: &Task, moment: &Moment) -> Result<Effect, WorkerError> {
		match task {
			Task::Leave => self.send(training::leave(moment.run()?.id)).await,
			Task::ProveUptime { hour } => self.prove_uptime(moment, *hour).await,
			Task::Claim => self.send(earnings::claim(&moment.seen.chain.me, &moment.seen.eras)).await,
			_ => Err(WorkerError::Stopped),
		}
	}

	async fn send(&self, call: Call) -> Result<Effect, WorkerError> {
		// What expired is planned anew: the phase that it belonged to may be over.
		self.submitter.submit_once(call).await?;
		Ok(Effect::Sent)
	}

	async fn act(&self, moment: &Moment, call: Call) -> Result<Effect, WorkerError> {
		act(&self.submitter, &moment.seen.chain, call).await?;
		Ok(Effect::Sent)
	}

	async fn join(&self, moment: &Moment) -> Result<Effect, WorkerError> {
		let run = moment.run()?;
		self.make_room(moment, run.members.len().saturating_add(1)).await?;
		act::join(&self.submitter, &moment.seen.chain, run.id).await?;
		Ok(Effect::Sent)
	}

	/// Sees to it that there is room for a round with this many deltas, before anybody counts on this worker.
	async fn make_room(&self, moment: &Moment, deltas: usize) -> Result<(), WorkerError> {
		let run = moment.run()?;
		let leaves = leaves(&run.view.config)?;
		if Content::check_room(&self.content.store, leaves, deltas).is_ok() {
			return Ok(());
		}
		// More may be too old by now than when the last round was adopted: no other one might ever be.
		self.prune(&moment.seen, Mode::Train).await?;
		Content::check_room(&self.content.store, leaves, deltas)
	}

	async fn prove_arithmetic(&self, moment: &Moment, challenge: H256) -> Result<Effect, WorkerError> {
		let answer = self.compute.run(move |state| Ok(arithmetic::answer(&Exec::new(state.threads())?, challenge)?));
		// A second answer, or one to a challenge of another branch, would fail and cost its fee.
		self.submitter.submit_as_of(staking::prove_arithmetic(answer.await?), moment.seen.at.block()).await?;
		tracing::info!("passed the chain's test: this machine computes what the chain computes");
		Ok(Effect::Sent)
	}

	async fn prove_uptime(&self, moment: &Moment, hour: u32) -> Result<Effect, WorkerError> {
		let key = ProofKey { run: hour, round: 0, kind: ProofKind::Uptime };
		let proof = Proof { key, timestamp: moment.seen.time, work_hash: H256::zero() };
		let signature = self.keys.ponw.sign(&proof, self.genesis, &moment.seen.chain.me);
		match self.send(ponw::submit_uptime(proof, signature)).await {
			// What the chain refused once in this hour it refuses again, and every attempt costs a fee.
			Err(WorkerError::Chain(error @ ChainError::Dispatch { .. })) => tracing::info!("{error}"),
			other => drop(other?),
		}
		Ok(Effect::Uptime(hour))
	}
}

impl Moment {
	/// The same moment for another task, which is given up by itself.
	pub(super) fn apart(&self) -> Self {
		let best = Arc::new(AtomicU32::new(self.best.load(Ordering::Relaxed)));
		Self { cancel: Arc::default(), stopping: Arc::default(), best, ..self.clone() }
	}

	/// Asks a running job to end at its next step, and to leave on disk where it is.
	pub(super) fn stop(&self) {
		self.stopping.store(true, Ordering::Relaxed);
		self.cancel();
	}

	/// Asks a running job to end at its next step.
	pub(super) fn cancel(&self) {
		self.cancel.store(true, Ordering::Relaxed);
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_training::engine::Device;

	#[tokio::test]
	async fn a_delta_that_was_checked_after_its_task_was_given_up_still_counts() {
		let (compute, checked) = (Compute::start(1, Device::Cpu).unwrap(), Checked::default());
		let noting = checked.clone();
		let mut given_up = Box::pin(compute.run(move |_| {
			noting.note(H256::zero(), Delta::Held);
			Ok(())
		}));
		// Handed over, and nobody waits for the answer.
		let _ = futures::poll!(given_up.as_mut());
		drop(given_up);
		// Jobs run in order: the one before is over when this one is.
		compute.run(|_| Ok(())).await.unwrap();
		assert_eq!(checked.take(), [(H256::zero(), Delta::Held)]);
		assert_eq!(checked.take(), [], "it is noted once");
	}
}
