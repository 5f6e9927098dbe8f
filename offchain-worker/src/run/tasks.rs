//! Doing what the planner asks for. Tasks change nothing of the worker's memory themselves: they return what is to be remembered.

use super::{
	compute::Compute,
	content::{round_label, save, Content},
	journal::Pending,
	observe::Observed,
	peers::Book,
	plan::{Delta, Mode, NextCheckpoint, RunState, Task},
	status::Reporter,
	supply::Cached,
	WorkerError,
};
use crate::{
	arithmetic,
	chain::{ponw, rewards, staking, training, work_hash, Call, ChainError, Submitter},
	data::loader::Assignment,
	keys::Keys,
	train::{
		checkpoint::Checkpoint,
		kept::{Keeper, OwnRound},
		round::{TrainError, Training},
	},
};
use neuroshard_graph::round::Progress;
use neuroshard_kernels::exec::Exec;
use neuroshard_types::{
	proof::{Proof, ProofKey, ProofKind},
	run::{RoundView, RunConfig},
	DatasetId, RunId, H256,
};
use std::{
	sync::{
		atomic::{AtomicBool, Ordering},
		Arc, PoisonError,
	},
	time::Instant,
};
use tokio::sync::Mutex;

/// What a finished task leaves behind.
#[derive(Clone, Debug)]
pub(super) enum Effect {
	/// Nothing but what the chain shows.
	Sent,
	/// A checkpoint is loaded.
	Loaded(H256),
	/// A checkpoint to redo outer steps from is in the store.
	StoredStart(H256),
	/// The list of a dataset's shards is at hand.
	Dataset(DatasetId),
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

/// Everything that tasks need. Clones share it.
#[derive(Clone)]
pub(super) struct Tasks {
	pub(super) keys: Keys,
	pub(super) genesis: H256,
	pub(super) submitter: Submitter,
	pub(super) content: Content,
	pub(super) compute: Compute,
	/// Where inner states of this worker's rounds are left.
	pub(super) keeper: Keeper,
	pub(super) reporter: Reporter,
	pub(super) dataset: Arc<Mutex<Cached>>,
	pub(super) checked: Checked,
	#[cfg(any(feature = "faults", test))]
	pub(super) fault: Option<crate::faults::Fault>,
}

/// Deltas that were looked at. It is noted here at once, so that what has come counts even if the task that asked for it is given up.
#[derive(Clone, Default)]
pub(super) struct Checked(Arc<std::sync::Mutex<Vec<(H256, Delta)>>>);

impl Checked {
	pub(super) fn note(&self, root: H256, delta: Delta) {
		self.0.lock().unwrap_or_else(PoisonError::into_inner).push((root, delta));
	}

	/// What was noted since this was asked last.
	pub(super) fn take(&self) -> Vec<(H256, Delta)> {
		std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
	}
}

/// What a task knows of the moment it was planned in.
#[derive(Clone)]
pub(super) struct Moment {
	pub(super) seen: Observed,
	pub(super) book: Book,
	pub(super) pending: Option<Pending>,
	/// Raised when the task is not wanted any more.
	pub(super) cancel: Arc<AtomicBool>,
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
			Task::BuildGenesis => self.build_genesis(moment).await,
			Task::FetchCheckpoint { root } => self.fetch_checkpoint(moment, root).await,
			Task::Adopt { root } => self.adopt(moment, root).await,
			Task::FindDataset { id } => self.dataset(moment).await.map(|_| Effect::Dataset(id)),
			Task::Join => self.join(moment).await,
			Task::Leave => self.send(training::leave(moment.run()?.id)).await,
			Task::Train { position } => self.train(moment, position).await,
			Task::Commit => self.commit(moment).await,
			Task::Reveal => self.reveal(moment).await,
			Task::FetchDeltas { wanted } => self.fetch_deltas(moment, wanted).await,
			Task::Vote { vote } => {
				let (run, round) = moment.round()?;
				self.send(training::vote_availability(run.id, round.round, round.attempt, vote)).await
			}
			Task::FetchStart { root } => self.fetch_start(moment, root).await,
			Task::OuterSteps { job } => self.outer_steps(moment, job).await,
			Task::Attest { attestation } => {
				let (run, round) = moment.round()?;
				self.send(training::attest(run.id, round.round, round.attempt, attestation)).await
			}
			Task::ProveArithmetic { challenge } => self.prove_arithmetic(challenge).await,
			Task::ProveUptime { hour } => self.prove_uptime(moment, hour).await,
			Task::Claim => {
				let claims: Vec<Call> = moment.seen.eras.iter().take(rewards::MOST_CLAIMS).map(|era| rewards::claim(*era)).collect();
				self.send(Call::all(claims)).await
			}
		}
	}

	async fn send(&self, call: Call) -> Result<Effect, WorkerError> {
		// What expired is planned anew: the phase that it belonged to may be over.
		self.submitter.submit_once(call).await?;
		Ok(Effect::Sent)
	}

	async fn join(&self, moment: &Moment) -> Result<Effect, WorkerError> {
		let run = moment.run()?;
		self.make_room(moment, run.members.len().saturating_add(1)).await?;
		self.send(training::join(run.id)).await
	}

	/// Sees to it that there is room for a round with this many deltas, before anybody counts on this worker.
	async fn make_room(&self, moment: &Moment, deltas: usize) -> Result<(), WorkerError> {
		let run = moment.run()?;
		let leaves = self.leaves(run.id, &run.view.config).await?;
		if Content::check_room(&self.content.store, leaves, deltas).is_ok() {
			return Ok(());
		}
		// More may be too old by now than when the last round was adopted: no other one might ever be.
		self.prune(&moment.seen, Mode::Train).await?;
		Content::check_room(&self.content.store, leaves, deltas)
	}

	async fn build_genesis(&self, moment: &Moment) -> Result<Effect, WorkerError> {
		self.offer_dataset(moment).await?;
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		let (store, folder) = (self.content.store.clone(), self.content.checkpoint_folder(run));
		let root = config.genesis_root;
		let job = self.compute.run(move |bench| {
			let threads = bench.threads();
			let prepared = bench.prepare(run, &config)?;
			let checkpoint = Checkpoint::genesis(run, &config.model, &config.train, threads)?;
			let found = checkpoint.header.root();
			if found != root {
				return Err(WorkerError::Genesis { run, expected: root, found });
			}
			Content::publish(&store, &checkpoint, prepared.engine.layout())?;
			save(&folder, &checkpoint, prepared.engine)?;
			*prepared.current = Some(checkpoint);
			Ok(root)
		});
		job.await.map(Effect::Loaded)
	}

	async fn fetch_checkpoint(&self, moment: &Moment, root: H256) -> Result<Effect, WorkerError> {
		self.offer_dataset(moment).await?;
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		let folder = self.content.checkpoint_folder(run);
		// The newest one before a restart may still be the newest one.
		let (known, at, store) = (config.clone(), folder.clone(), self.content.store.clone());
		let loaded = self.compute.run(move |bench| {
			let threads = bench.threads();
			let prepared = bench.prepare(run, &known)?;
			match Checkpoint::load(&at, prepared.engine.layout(), threads) {
				Ok(Some(checkpoint)) if checkpoint.header.root() == root => {
					// Others ask the store for it, and that may have lost it.
					Content::publish(&store, &checkpoint, prepared.engine.layout())?;
					*prepared.current = Some(checkpoint);
					Ok(true)
				}
				Ok(_) => Ok(false),
				Err(error) => {
					tracing::warn!("{error}; asking peers instead");
					Ok(false)
				}
			}
		});
		if loaded.await? {
			return Ok(Effect::Loaded(root));
		}
		let leaves = self.leaves(run, &config).await?;
		self.content.checkpoint(run, root, leaves, &moment.book.all()).await?;
		let store = self.content.store.clone();
		let job = self.compute.run(move |bench| {
			let threads = bench.threads();
			let prepared = bench.prepare(run, &config)?;
			let checkpoint = Content::read_checkpoint(&store, run, root, prepared.engine.layout(), threads)?;
			save(&folder, &checkpoint, prepared.engine)?;
			*prepared.current = Some(checkpoint);
			Ok(root)
		});
		job.await.map(Effect::Loaded)
	}

	/// Leaves of an encoded parameter vector of the run's model.
	pub(super) async fn leaves(&self, run: RunId, config: &RunConfig) -> Result<u32, WorkerError> {
		let config = config.clone();
		let job = self.compute.run(move |bench| Ok(bench.prepare(run, &config)?.engine.layout().tile_count()));
		u32::try_from(job.await?).map_err(|_| WorkerError::Stopped)
	}

	async fn adopt(&self, moment: &Moment, root: H256) -> Result<Effect, WorkerError> {
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		let folder = self.content.checkpoint_folder(run);
		let job = self.compute.run(move |bench| {
			let prepared = bench.prepare(run, &config)?;
			let next = prepared.next.as_ref().filter(|next| next.header.root() == root).ok_or(WorkerError::NotLoaded { root })?;
			save(&folder, next, prepared.engine)?;
			*prepared.current = prepared.next.take();
			Ok(root)
		});
		job.await.map(Effect::Loaded)
	}

	async fn train(&self, moment: &Moment, position: u32) -> Result<Effect, WorkerError> {
		#[cfg(any(feature = "faults", test))]
		if let Some(effect) = self.false_work(moment, position).await? {
			return Ok(effect);
		}
		let (state, round) = moment.round()?;
		let attempt = round.attempt;
		let (run, config, index, seed, root) = (state.id, state.view.config.clone(), round.round, round.seed, round.checkpoint);
		self.make_room(moment, round.participants.len()).await?;
		let dataset = self.dataset(moment).await?;
		let train = &config.train;
		let assignment = Assignment { position, seed, inner_steps: train.inner_steps, batch: train.batch, seq_len: train.seq_len };
		let shards = dataset.loader.round_shards(&assignment)?;
		self.content.shards(&dataset, &shards, &moment.book.all()).await?;

		let (store, reporter, cancel) = (self.content.store.clone(), self.reporter.clone(), moment.cancel.clone());
		let keeper = self.keeper.clone();
		let job = self.compute.run(move |bench| {
			let steps = config.train.inner_steps;
			let mut prepared = bench.prepare(run, &config)?;
			let (engine, checkpoint) = prepared.at(root)?;
			let started = Instant::now();
			let keep = keeper.of(OwnRound { run, round: index, seed }, &config.train, engine.layout().len());
			let progress = |progress: &Progress| {
				reporter.update(|status| {
					status.step = Some((progress.step, steps));
					status.training_loss = Some(progress.outcome.loss);
				});
			};
			let training = Training::start(engine, checkpoint, &dataset.loader, position, seed)?;
			let trained = training.run_keeping(&cancel, progress, keep)?;
			let seconds = started.elapsed().as_secs_f64();
			let tokens = trained.work.tokens;
			reporter.update(|status| {
				status.step = None;
				status.tokens = status.tokens.saturating_add(tokens);
				status.tokens_per_second = (seconds > 0.0).then(|| tokens as f64 / seconds);
			});
			store.put_pinned(&trained.delta, &round_label(run, index))?;
			Ok(Pending::new(run, (index, attempt), seed, trained.work))
		});
		match job.await {
			Ok(pending) => Ok(Effect::Trained(pending)),
			Err(WorkerError::Train(TrainError::Diverged(step))) => {
				tracing::warn!("training diverged in step {step:?} of round {index}: it is sat out");
				Ok(Effect::Diverged(seed))
			}
			Err(error) => Err(error),
		}
	}

	async fn commit(&self, moment: &Moment) -> Result<Effect, WorkerError> {
		let pending = moment.pending.as_ref().ok_or(WorkerError::Stopped)?;
		let seal = pending.seal(self.genesis, &moment.seen.chain.me);
		self.send(training::commit(pending.run, pending.round, pending.attempt, seal)).await
	}

	async fn reveal(&self, moment: &Moment) -> Result<Effect, WorkerError> {
		#[cfg(any(feature = "faults", test))]
		if moment.pending.as_ref().is_some_and(|pending| self.keeps_back(pending)) {
			return Ok(Effect::Incomplete);
		}
		let Pending { run, round, attempt, salt, work, .. } = moment.pending.clone().ok_or(WorkerError::Stopped)?;
		let key = ProofKey { run, round, kind: ProofKind::Training };
		let proof = Proof { key, timestamp: moment.seen.time, work_hash: work_hash(&work) };
		let signature = self.keys.ponw.sign(&proof, self.genesis, &moment.seen.chain.me);
		self.send(training::reveal(run, round, attempt, salt, work, proof, signature)).await
	}

	async fn prove_arithmetic(&self, challenge: H256) -> Result<Effect, WorkerError> {
		let answer = self.compute.run(move |bench| Ok(arithmetic::answer(&Exec::new(bench.threads())?, challenge)?));
		let sent = self.send(staking::prove_arithmetic(answer.await?)).await?;
		tracing::info!("passed the chain's test: this machine computes what the chain computes");
		Ok(sent)
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
	/// Asks a running job to end at its next step.
	pub(super) fn cancel(&self) {
		self.cancel.store(true, Ordering::Relaxed);
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[tokio::test]
	async fn a_delta_that_was_checked_after_its_task_was_given_up_still_counts() {
		let (compute, checked) = (Compute::start(1).unwrap(), Checked::default());
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
