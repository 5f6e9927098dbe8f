//! The main loop of a participant: look at the chain, decide, do, remember.

use super::{
	beside::Beside,
	decide::{
		choice::Bar,
		notice::notice,
		plan::{farewell, has_left, may_wait, plan_without},
		prospect::{comes_too_late, has_no_time_to_wait},
		refusals::Rest,
		task::Task,
		view::{Delta, Sibling},
	},
	observe::{observe, Observed},
	tasks::{Effect, Moment},
	Participant,
};
use crate::{
	actor::aside::beside,
	content::{rounds::bridge_label, Content},
	journal::Pending,
	leave::LEAVE_FILE,
	WorkerError,
};
use futures::future::OptionFuture;
use neuroshard_chain_client::{next_block, ChainAt, Heads};
use neuroshard_training::{hot, kept::OwnRound};
use neuroshard_types::run::Phase;
use std::{
	sync::{
		atomic::{AtomicU32, Ordering},
		Arc,
	},
	time::{Duration, Instant},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Longest wait for training to end with the step under way when the worker is stopped.
pub(super) const LAST_STEP: Duration = Duration::from_secs(10);

/// End of a task.
pub(super) enum Ended {
	Done(Effect),
	Failed(WorkerError),
	/// Training cannot go on.
	Fatal(WorkerError),
	/// The plan does not want it any more.
	Abandoned,
	Stopped,
}

impl Participant {
	/// Goes on until `stop` is cancelled, the worker has left, or training cannot go on.
	pub(super) async fn work(&mut self, stop: &CancellationToken) -> Result<(), WorkerError> {
		let mut heads = self.client.follow(Heads::default(), self.tasks.reporter.node_notes());
		loop {
			heads.mark_unchanged();
			// First, so that the chain is seen as it is after the block that took it.
			let best = heads.borrow().best.number;
			self.settle_chore(best).await;
			// Answers of a node that is away, and what is on its way into a block, take their time: stopping does not wait for them.
			let Some(seen) = stop.run_until_cancelled(self.observe()).await else { return Ok(()) };
			let ended = match seen {
				Ok(seen) => {
					if stop.run_until_cancelled(self.announce(&seen)).await.is_none() {
						return Ok(());
					}
					let trained = self.settle_training(&seen).await;
					if self.leaving && has_left(&seen.chain) && self.tasks.reporter.current().audits.open == 0 {
						match stop.run_until_cancelled(self.leave(&seen)).await {
							Some(Ok(false)) => next_block(&mut heads, stop).await,
							Some(Ok(true)) | None => return Ok(()),
							Some(Err(error)) if error.is_fatal() => return Err(error),
							Some(Err(error)) => {
								self.report(&error);
								// The bond goes the way of the membership, and is refused like it.
								self.refusals.note(Task::Leave, error.rest().unwrap_or(Rest::Growing), seen.chain.best);
								next_block(&mut heads, stop).await;
							}
						}
						continue;
					}
					let next = if trained.is_some() { None } else { self.begin_chore(&seen) };
					match (trained, next) {
						(Some(ended), _) => ended,
						(None, Some(task)) => self.perform(task, seen, &mut heads, stop).await,
						(None, None) => {
							let task = self.beside.as_ref().filter(|beside| beside.trains()).map(Beside::words);
							self.tasks.reporter.update(|status| status.task = task);
							tokio::select! {
								() = next_block(&mut heads, stop) => {},
								() = self.training_over() => {},
							}
							continue;
						}
					}
				}
				Err(error) if error.is_fatal() => Ended::Fatal(error),
				Err(error) => Ended::Failed(error),
			};
			match ended {
				Ended::Done(Effect::Incomplete) => {
					// Whoever does not have it yet, or is not where the book says, is asked again with the next block.
					self.book.expire();
					next_block(&mut heads, stop).await;
				}
				Ended::Done(effect) => {
					self.tasks.reporter.update(|status| status.last_error = None);
					if let Err(error) = self.remember(effect) {
						self.report(&error);
						next_block(&mut heads, stop).await;
					}
				}
				Ended::Fatal(error) if !stop.is_cancelled() => return Err(error),
				Ended::Failed(error) | Ended::Fatal(error) => {
					self.failed(&error);
					next_block(&mut heads, stop).await;
				}
				Ended::Abandoned => {}
				Ended::Stopped => return Ok(()),
			}
		}
	}

	/// Says that a task has failed, and looks anew for what may be gone.
	pub(super) fn failed(&mut self, error: &WorkerError) {
		self.report(error);
		match error {
			WorkerError::Fetch(_) | WorkerError::Slow { .. } => self.book.expire(),
			// Another run's work, or a reorganisation, took its place in memory.
			WorkerError::NotLoaded { .. } => self.local.unloaded(),
			// The device has been left, with all that was in its memory.
			error if error.is_of_device() => self.local.unloaded(),
			// What was here may be damaged or gone: it is checked, and fetched if need be, again.
			WorkerError::Store(_) | WorkerError::Checkpoint(_) => {
				self.local.deltas.clear();
				self.local.stored = None;
				self.local.let_sibling_go();
			}
			_ => {}
		}
	}

	/// Returns the task to do now, but for what was refused just before, and for what goes on aside.
	pub(super) fn plan(&self, seen: &Observed) -> Option<Task> {
		let goes_on = |task: &Task| match task {
			Task::Train { .. } => self.beside.is_some(),
			task => task.is_chore() && self.chore.is_busy(),
		};
		let too_late = || seen.chain.run.as_ref().is_some_and(|run| comes_too_late(run, (seen.chain.best, seen.time), gflops(seen)));
		let barred = |task: &Task| self.refusals.bars(task, seen.chain.best) || goes_on(task) || (*task == Task::Join && too_late());
		plan_without(&seen.chain, &self.local, barred)
	}

	/// Returns the training to do beside an act that waits for a block, in a run whose rounds overlap.
	fn plan_training(&self, seen: &Observed) -> Option<Task> {
		let overlaps = seen.chain.run.as_ref().is_some_and(|run| run.view.config.overlaps) && self.beside.is_none();
		let barred = |task: &Task| !matches!(task, Task::Train { .. }) || self.refusals.bars(task, seen.chain.best);
		plan_without(&seen.chain, &self.local, barred).filter(|_| overlaps)
	}

	/// Looks at the chain and brings memory and status up to date.
	async fn observe(&mut self) -> Result<Observed, WorkerError> {
		let (me, payer) = (self.tasks.submitter.who().clone(), self.tasks.submitter.signer());
		// Whoever came too late for a place looks for another run.
		let at_hand = self.at_hand.filter(|_| self.placed).map(|(run, _)| run);
		let seen = observe(&self.client, (&me, payer), &mut self.choice, at_hand, &mut self.reserves).await;
		// What cannot be used may fail in any way: whether this is the chain's release is said first.
		let seen = match seen {
			Err(WorkerError::Chain(error)) if !error.passes() => {
				self.check_release(&self.client.now().await?)?;
				return Err(error.into());
			}
			seen => seen?,
		};
		self.check_release(&seen.at)?;
		self.placed = seen.chain.run.as_ref().is_none_or(|run| run.has_place_for(&me));
		if !self.leaving && self.base.join(LEAVE_FILE).exists() {
			self.leaving = true;
			let request = self.base.join(LEAVE_FILE);
			tracing::info!("{} (to stay after all: stop the worker and delete {})", farewell(&seen.chain), request.display());
		}
		self.local.leaving = self.leaving;
		let seed = seen.chain.run.as_ref().and_then(|run| run.round.as_ref()).map(|round| round.seed);
		if self.seed != seed {
			// Another round, or another attempt: other deltas.
			self.seed = seed;
			self.local.let_sibling_go();
			self.local.deltas.clear();
			if let Some(pending) = seed.and_then(|seed| self.journal.pending_of(seed)) {
				if self.tasks.content.store.contains(pending.work.delta_root) {
					self.local.deltas.insert(pending.work.delta_root, Delta::Held);
				}
			}
		}
		self.local.in_a_hurry =
			seen.chain.run.as_ref().is_some_and(|run| has_no_time_to_wait(run, (seen.chain.best, seen.time), gflops(&seen)));
		self.find_sibling(&seen)?;
		self.local.deltas.extend(self.tasks.checked.take());
		if self.book.is_old(seen.heads.best.number) {
			self.book.refresh(&seen.at, seen.chain.run.as_ref(), &me, &self.tasks.content.net).await?;
		}
		self.note_rounds(&seen).await?;
		self.local.missing = self.missing(&seen).await?;
		self.noticed.tell(notice(&seen.chain, &self.local));
		self.tell_obstacle(&seen);
		self.show(&seen).await;
		Ok(seen)
	}

	/// Finds the checkpoint of another cohort that this worker is to start from, if it is here already, and keeps it for the round at hand. Late in a round, only where its inner
	/// steps have begun there: others are not given up for it.
	fn find_sibling(&mut self, seen: &Observed) -> Result<(), WorkerError> {
		let run = seen.chain.run.as_ref();
		let round = run.and_then(|run| run.round.as_ref()).filter(|round| round.phase == Phase::Training);
		let (Some(run), Some(round)) = (run, round) else { return Ok(()) };
		let Some(bridge) = round.bridge.as_ref().filter(|bridge| bridge.who == seen.chain.me) else { return Ok(()) };
		let (root, store) = (bridge.checkpoint, &self.tasks.content.store);
		if [Sibling::Here(root), Sibling::Unfit(root)].map(Some).contains(&self.local.sibling) {
			return Ok(());
		}
		let goes_on = || hot::is_of(store, OwnRound::new(run.id, round.round, round.seed, Some(root)));
		if !may_wait(seen.chain.best, &run.view.config, round) && !goes_on() {
			return Ok(());
		}
		let header = Content::stored_header(store, run.id, root)?;
		if let Some(header) = header.filter(|header| store.contains(header.params) && store.contains(header.momentum)) {
			let fits = header.is_of(bridge.round, &run.view.config.train);
			self.local.sibling = Some(if fits { Sibling::Here(root) } else { Sibling::Unfit(root) });
			store.pin_all([header.params, header.momentum], &bridge_label(run.id, round.round))?;
		}
		Ok(())
	}

	/// Checks that this worker knows all calls and view functions that it uses as the chain has them now. It is looked at again whenever the runtime
	/// was exchanged.
	fn check_release(&mut self, at: &ChainAt) -> Result<(), WorkerError> {
		let version = at.spec_version();
		if self.usable != Some(version) {
			at.check_compatible().map_err(WorkerError::Outdated)?;
			self.usable = Some(version);
		}
		Ok(())
	}

	/// Finished training of the round at hand.
	pub(super) fn pending_of(&self, seen: &Observed) -> Option<Pending> {
		let round = seen.chain.run.as_ref()?.round.as_ref()?;
		self.journal.pending_of(round.seed).cloned()
	}

	/// Does `task`; a long one is given up when a newer plan does not want it any more.
	async fn perform(&mut self, task: Task, seen: Observed, heads: &mut watch::Receiver<Heads>, stop: &CancellationToken) -> Ended {
		// What is tried again and again is said once.
		let again = self.lacking.is_some() && matches!(task, Task::FindDataset { .. });
		match !again && self.begun.is_new(&task.to_string(), Instant::now()) {
			true => tracing::info!("{task}"),
			false => tracing::debug!("{task}"),
		}
		self.tasks.reporter.update(|status| status.task = Some(task.to_string()));
		let pending = self.pending_of(&seen);
		let best = Arc::new(AtomicU32::new(seen.chain.best));
		let moment = Moment { seen, book: self.book.clone(), pending, cancel: Arc::default(), stopping: Arc::default(), best };
		let tasks = self.tasks.clone();
		let mut doing = Box::pin(tasks.perform(task.clone(), &moment));
		// Processors do not wait for a block that takes an act.
		let trains = self.plan_training(&moment.seen).filter(|_| task.is_act());
		let apart = moment.apart();
		let mut preparing = std::pin::pin!(OptionFuture::from(trains.map(|train| tasks.perform(train, &apart))));
		let mut prepared = false;
		let mut followed = true;
		loop {
			tokio::select! {
				result = &mut doing => return self.ended(task, result, &moment),
				ready = &mut preparing, if !prepared => {
					prepared = true;
					// What fails is tried again when nothing else is to be done.
					if let Some(Ok(effect)) = ready {
						if let Err(error) = self.remember(effect) {
							self.report(&error);
						}
					}
				},
				() = stop.cancelled() => {
					moment.stop();
					if !matches!(task, Task::Train { .. }) {
						return Ended::Stopped;
					}
					// It leaves its state on disk, or has just ended.
					return match tokio::time::timeout(LAST_STEP, &mut doing).await {
						Ok(Ok(effect @ Effect::Trained(_))) => Ended::Done(effect),
						_ => Ended::Stopped,
					};
				},
				changed = heads.changed(), if followed && task.is_long() => {
					followed = changed.is_ok();
					// The task goes on meanwhile: to look may take as long as a block.
					let Some((seen, result)) = stop.run_until_cancelled(beside(self.observe(), doing.as_mut())).await else { continue };
					if let Some(result) = result {
						return self.ended(task, result, &moment);
					}
					if let Ok(seen) = &seen {
						moment.best.store(seen.chain.best, Ordering::Relaxed);
					}
					// Not knowing better is no reason to throw work away.
					let wanted = seen.map_or(true, |seen| task.is_part_of(self.plan(&seen).as_ref()));
					if !wanted && task.is_act() {
						return Ended::Done(Effect::Sent);
					}
					if !wanted {
						tracing::info!("{task} is not wanted any more");
						moment.cancel();
						return Ended::Abandoned;
					}
				},
			}
		}
	}

	/// Evaluates the end of `task`. A run that is to blame for a failure is not taken again, or not soon; if it is the one that the operator
	/// named, and the same would happen again, there is nothing left to train.
	pub(super) fn ended(&mut self, task: Task, result: Result<Effect, WorkerError>, moment: &Moment) -> Ended {
		let best = moment.best.load(Ordering::Relaxed);
		let error = match result {
			Ok(effect) => return Ended::Done(effect),
			Err(error) if error.is_fatal() => return Ended::Fatal(error),
			Err(error) => error,
		};
		let blamed = moment.seen.chain.run.as_ref().filter(|_| task.is_of_run()).map(|run| run.id);
		if let (Some(run), Some(bar)) = (blamed, error.bar()) {
			if bar == Bar::Lasting && self.choice.is_asked(run) {
				return Ended::Fatal(error);
			}
			self.choice.bar(run, bar, error.to_string(), best);
			self.local.unloaded();
			return Ended::Abandoned;
		}
		if let Some(rest) = error.rest() {
			self.refusals.note(task, rest, best);
		}
		Ended::Failed(error)
	}

	/// Takes over what a task left behind.
	pub(super) fn remember(&mut self, effect: Effect) -> Result<(), WorkerError> {
		// None of these comes about without the dataset. A member looks for it when it trains.
		if matches!(effect, Effect::Dataset(_) | Effect::Trained(_) | Effect::Stepped(_)) {
			self.lacking = None;
		}
		match effect {
			Effect::Sent | Effect::Fetched | Effect::Incomplete => {}
			Effect::Dataset(id) => self.local.dataset = Some(id),
			Effect::Ready(ready) => self.begin_training(*ready),
			Effect::Loaded(root) => self.local.checkpoint = Some(root),
			Effect::Adopted { root, before } => {
				self.local.checkpoint = Some(root);
				self.local.stored = before.or(self.local.stored);
			}
			Effect::StoredStart(root) => self.local.stored = Some(root),
			Effect::Sibling(known) => self.local.sibling = Some(known),
			Effect::Trained(pending) => {
				let root = pending.work.delta_root;
				self.journal.set_pending(pending)?;
				self.local.pending = self.journal.pending_work();
				self.local.deltas.insert(root, Delta::Held);
			}
			Effect::Diverged(seed) => {
				self.local.diverged.push(seed);
				// One of the round at hand, and one of the next.
				let gone = self.local.diverged.len().saturating_sub(2);
				self.local.diverged.drain(..gone);
			}
			Effect::Stepped(next) => self.local.next = Some(next),
			Effect::Uptime(hour) => {
				self.local.uptime = Some(hour);
				self.journal.set_uptime(hour)?;
			}
		}
		Ok(())
	}
}

/// Returns the speed of this machine that the chain knows, in GFLOP/s.
fn gflops(seen: &Observed) -> u64 {
	seen.provider.as_ref().map_or(0, |provider| provider.info.hardware.gflops.into())
}
