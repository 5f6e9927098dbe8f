//! The worker's main loop: look at the chain, plan, do, remember.

use super::{
	announce::{current_info, register, Announcer, Outcome},
	aside::Aside,
	auditor::{Auditor, Desk},
	compute::Compute,
	content::Content,
	forget_request,
	holder::Holder,
	journal::Journal,
	notice::{notice, Noticed},
	observe::{observe, Observed, Reserves},
	obstacle::obstacle,
	peers::Book,
	plan::{farewell, has_left, plan_without, Delta, LocalState, Mode, Task},
	refusals::Refusals,
	status::{Reporter, RoundStatus},
	tasks::{Effect, Moment, Tasks},
	told::Told,
	verifier::{self, Verifier},
	wait::wait,
	WorkerError, LEAVE_FILE,
};
use crate::{
	chain::{staking, ChainClient, Heads, Submitter},
	keys::Keys,
	net::{Handle, TrafficTotals},
	store::Store,
	train::kept::Keeper,
};
use neuroshard_types::{run::RunStatus, Balance, BlockNumber, RoundIndex, RunId, H256};
use std::{path::PathBuf, sync::Arc, time::Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Blocks after which it is looked again whether a dataset is needed.
const RELEASE: BlockNumber = 100;

/// What the operator decides.
#[derive(Clone, Debug)]
pub struct Options {
	/// Trains or only serves.
	pub mode: Mode,
	/// Run to take part in; chosen by the worker if not given.
	pub run: Option<RunId>,
	/// Folder of the run's dataset; its shards come from peers if not given.
	pub dataset: Option<PathBuf>,
	/// Whether that dataset is attested on chain; if not, what was attested of it is withdrawn.
	pub attest: bool,
	/// Compute threads.
	pub threads: usize,
	/// Earnings below this are not claimed.
	pub claim_from: Balance,
	/// What is done wrong on purpose.
	#[cfg(any(feature = "faults", test))]
	pub fault: Option<crate::faults::Fault>,
	/// Share of the others' work that is checked, from 0 to 1. With any at all, checkpoints that others attested are checked too.
	pub audit: f64,
}

/// What a worker works with.
pub struct Parts {
	/// Base folder.
	pub base: PathBuf,
	/// Keys.
	pub keys: Keys,
	/// Chain.
	pub client: ChainClient,
	/// Content store.
	pub store: Store,
	/// Network, running.
	pub net: Handle,
	/// Where to report.
	pub reporter: Reporter,
}

/// A worker, ready to run.
pub struct Worker {
	base: PathBuf,
	client: ChainClient,
	options: Options,
	journal: Journal,
	tasks: Tasks,
	local: LocalState,
	book: Book,
	/// Run that the worker is in, and its newest adopted round that was noted.
	at_hand: Option<(RunId, RoundIndex)>,
	/// Seed of the round whose deltas are counted.
	seed: Option<H256>,
	/// Bytes moved when the last round was noted.
	traffic: TrafficTotals,
	reserves: Reserves,
	/// Tasks that are not tried again for now.
	refusals: Refusals,
	announcer: Announcer,
	/// The registration of this worker's addresses that is on its way.
	registration: Aside<Outcome>,
	/// The run at hand and its status when datasets were let go of last, and the block.
	released: Option<((RunId, RunStatus), BlockNumber)>,
	/// What keeps this worker from taking part, as it was said last.
	waiting: Option<String>,
	/// What of the run's dataset is missing, while it is.
	lacking: Option<String>,
	noticed: Noticed,
	told: Told,
	/// The task that was begun last, as it was said.
	begun: Told,
	leaving: bool,
}

/// How a task ended.
enum Ended {
	Done(Effect),
	Failed(WorkerError),
	/// The plan does not want it any more.
	Abandoned,
	Stopped,
}

impl Worker {
	/// Opens the journal and starts the compute thread.
	///
	/// # Errors
	/// [`WorkerError::Journal`] for a folder of another chain or account.
	pub fn new(parts: Parts, options: Options) -> Result<Self, WorkerError> {
		let Parts { base, keys, client, store, net, reporter } = parts;
		let journal = Journal::open(&base, client.genesis(), keys.account.id())?;
		let compute = Compute::start(options.threads).map_err(|source| WorkerError::File { path: "the compute thread".into(), source })?;
		let keeper = Keeper::start(store.clone()).map_err(|source| WorkerError::File { path: "the keeper thread".into(), source })?;
		let content = Content::new(store, net, &base, options.dataset.clone());
		let submitter = Submitter::spawn(client.clone(), keys.account.clone());
		let local = LocalState {
			mode: options.mode,
			checkpoint: None,
			dataset: None,
			pending: journal.pending_work(),
			stored: None,
			deltas: Default::default(),
			next: None,
			diverged: None,
			uptime: journal.uptime(),
			claim_from: options.claim_from,
			leaving: false,
		};
		let tasks = Tasks {
			keys,
			genesis: client.genesis(),
			submitter,
			content,
			compute,
			keeper,
			reporter,
			dataset: Default::default(),
			checked: Default::default(),
			#[cfg(any(feature = "faults", test))]
			fault: options.fault.clone(),
		};
		Ok(Self {
			base,
			client,
			options,
			journal,
			tasks,
			local,
			book: Book::default(),
			at_hand: None,
			seed: None,
			traffic: TrafficTotals::default(),
			reserves: Reserves::default(),
			refusals: Refusals::default(),
			announcer: Announcer::default(),
			registration: Aside::default(),
			released: None,
			waiting: None,
			lacking: None,
			noticed: Noticed::default(),
			told: Told::default(),
			begun: Told::default(),
			leaving: false,
		})
	}

	/// Works until `stop` is cancelled, or until it has left because its operator asked for it.
	///
	/// # Errors
	/// Only what trying again would not help, such as [`WorkerError::Genesis`]; everything else is reported and tried again.
	pub async fn run(mut self, stop: CancellationToken) -> Result<(), WorkerError> {
		let desk = Desk::open(&self.base);
		let (client, submitter) = (self.client.clone(), self.tasks.submitter.clone());
		let auditor = Auditor::new(self.base.clone(), client, submitter, self.tasks.reporter.clone(), desk.clone());
		let verifier = Verifier::new(verifier::Parts {
			base: &self.base,
			client: self.client.clone(),
			submitter: self.tasks.submitter.clone(),
			content: self.tasks.content.clone(),
			dataset: self.tasks.dataset.clone(),
			reporter: self.tasks.reporter.clone(),
			threads: self.options.threads,
			audit: self.options.audit,
			desk,
			#[cfg(any(feature = "faults", test))]
			fault: self.options.fault.clone(),
		});
		let ending = stop.child_token();
		let (client, submitter) = (self.client.clone(), self.tasks.submitter.clone());
		let holder = Holder::new(self.base.clone(), client, submitter, self.options.dataset.clone(), self.options.attest);
		let working = async {
			let ended = self.work(&stop).await;
			ending.cancel();
			ended
		};
		let (ended, (), (), ()) =
			tokio::join!(working, verifier.run(ending.clone()), auditor.run(ending.clone()), holder.run(ending.clone()));
		self.registration.stop().await;
		ended
	}

	async fn work(&mut self, stop: &CancellationToken) -> Result<(), WorkerError> {
		let mut heads = self.client.follow(Heads::default(), self.tasks.reporter.node_notes());
		loop {
			heads.mark_unchanged();
			// Answers of a node that is away, and what is on its way into a block, take their time: stopping does not wait for them.
			let Some(seen) = stop.run_until_cancelled(self.observe()).await else { return Ok(()) };
			let ended = match seen {
				Ok(seen) => {
					if stop.run_until_cancelled(self.announce(&seen)).await.is_none() {
						return Ok(());
					}
					if self.leaving && has_left(&seen.chain) && self.tasks.reporter.current().audits.open == 0 {
						match stop.run_until_cancelled(self.leave(&seen)).await {
							Some(Ok(false)) => wait(&mut heads, stop).await,
							Some(Ok(true)) | None => return Ok(()),
							Some(Err(error)) => return Err(error),
						}
						continue;
					}
					match self.plan(&seen) {
						Some(task) => self.perform(task, seen, &mut heads, stop).await,
						None => {
							self.tasks.reporter.update(|status| status.task = None);
							wait(&mut heads, stop).await;
							continue;
						}
					}
				}
				Err(error) => Ended::Failed(error),
			};
			match ended {
				Ended::Done(Effect::Incomplete) => {
					// Whoever does not have it yet, or is not where the book says, is asked again with the next block.
					self.book.expire();
					wait(&mut heads, stop).await;
				}
				Ended::Done(effect) => {
					self.tasks.reporter.update(|status| status.last_error = None);
					if let Err(error) = self.remember(effect) {
						self.report(&error);
						wait(&mut heads, stop).await;
					}
				}
				Ended::Failed(error) if error.is_fatal() && !stop.is_cancelled() => {
					// Whoever started the worker says it in its last words.
					self.tasks.reporter.update(|status| status.last_error = Some(error.to_string()));
					return Err(error);
				}
				Ended::Failed(error) => {
					self.report(&error);
					match error {
						WorkerError::Fetch(_) | WorkerError::Slow { .. } => self.book.expire(),
						// Another run's work, or a reorganisation, took its place in memory.
						WorkerError::NotLoaded { .. } => self.local.unloaded(),
						// What was here may be damaged or gone: it is checked, and fetched if need be, again.
						WorkerError::Store(_) | WorkerError::Checkpoint(_) => {
							self.local.deltas.clear();
							self.local.stored = None;
						}
						_ => {}
					}
					wait(&mut heads, stop).await;
				}
				Ended::Abandoned => {}
				Ended::Stopped => return Ok(()),
			}
		}
	}

	/// What to do now, but for what was refused just before.
	fn plan(&self, seen: &Observed) -> Option<Task> {
		plan_without(&seen.chain, &self.local, |task| self.refusals.bars(task, seen.chain.best))
	}

	/// Looks at the chain and brings memory and status up to date.
	async fn observe(&mut self) -> Result<Observed, WorkerError> {
		let me = self.tasks.keys.account.id();
		let seen = observe(&self.client, &me, self.options.run, self.at_hand.map(|(run, _)| run), &mut self.reserves).await?;
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
			self.local.deltas.clear();
			if let Some(pending) = self.journal.pending().filter(|pending| Some(pending.seed) == seed) {
				if self.tasks.content.store.contains(pending.work.delta_root) {
					self.local.deltas.insert(pending.work.delta_root, Delta::Held);
				}
			}
		}
		self.local.deltas.extend(self.tasks.checked.take());
		if self.book.is_old(seen.heads.best.number) {
			self.book.refresh(&seen.at, &me, &self.tasks.content.net).await?;
		}
		self.note_rounds(&seen).await?;
		self.noticed.tell(notice(&seen.chain, &self.local));
		self.tell_obstacle(&seen);
		self.show(&seen).await;
		Ok(seen)
	}

	/// Notes rounds that were adopted since the last look.
	async fn note_rounds(&mut self, seen: &Observed) -> Result<(), WorkerError> {
		let Some(run) = seen.chain.run.as_ref() else { return Ok(()) };
		let adopted = run.view.rounds_adopted;
		let known = match self.at_hand {
			Some((id, known)) if id == run.id => known,
			_ => adopted,
		};
		for round in known..adopted {
			let Some(record) = seen.at.record(run.id, round).await? else { continue };
			let now = self.tasks.content.net.traffic();
			let before = std::mem::replace(&mut self.traffic, now);
			let note = RoundStatus {
				round,
				validation_loss: Some(record.validation_loss.get()),
				included: u32::try_from(record.included.len()).unwrap_or(u32::MAX),
				own_included: record.included.iter().any(|(account, _)| *account == seen.chain.me),
				bytes_in: now.received.saturating_sub(before.received),
				bytes_out: now.sent.saturating_sub(before.sent),
			};
			tracing::info!(round, loss = note.validation_loss, included = note.included, "round adopted");
			self.tasks.reporter.update(|status| status.note_round(note));
		}
		self.at_hand = Some((run.id, adopted));
		if known < adopted {
			self.tasks.prune(seen, self.local.mode).await?;
		}
		let (here, best) = ((run.id, run.view.status), seen.chain.best);
		let changed = self.released.is_none_or(|(before, _)| before != here);
		if changed || self.released.is_some_and(|(_, at)| best >= at.saturating_add(RELEASE)) {
			let needed = self.tasks.needed_datasets(seen).await?;
			self.local.dataset = self.local.dataset.filter(|id| needed.contains(id));
			if self.tasks.release_datasets(needed).await? {
				self.released = Some((here, best));
				if changed {
					self.lacking = None;
				}
			}
		}
		Ok(())
	}

	/// Says once what keeps this worker from taking part.
	fn tell_obstacle(&mut self, seen: &Observed) {
		let training = self.local.mode == Mode::Train && !self.leaving;
		let failed = |challenge| self.refusals.gave_up(&Task::ProveArithmetic { challenge });
		let found = training.then(|| obstacle(&seen.chain, seen.provider.as_ref(), seen.least_bond, failed)).flatten();
		let words = found.map(|found| found.to_string());
		if self.waiting != words {
			match &words {
				Some(words) => tracing::warn!("{words}"),
				None if training => tracing::info!("nothing keeps this worker from taking part any more"),
				None => {}
			}
			self.waiting = words;
		}
	}

	async fn show(&self, seen: &Observed) {
		let network = self.tasks.content.net.status().await.ok();
		let traffic = self.tasks.content.net.traffic();
		let run = seen.chain.run.as_ref();
		let round = run.and_then(|run| run.round.as_ref());
		let loaded = self.local.checkpoint;
		self.tasks.reporter.update(|status| {
			status.best_block = seen.heads.best.number;
			status.finalized_block = seen.heads.finalized.number;
			status.run = run.map(|run| run.id);
			status.round = round.map(|round| round.round);
			status.waiting = self.waiting.clone().or_else(|| self.lacking.clone());
			status.phase = round.map(|round| format!("{:?}", round.phase));
			status.checkpoint = loaded.map(|root| format!("{root:?}"));
			status.checkpoint_round = run.filter(|run| loaded == Some(run.view.checkpoint)).map(|run| run.view.rounds_adopted);
			status.bytes_in = traffic.received;
			status.bytes_out = traffic.sent;
			status.earned = seen.earnings.claimed.to_string();
			status.claimable = seen.earnings.claimable.to_string();
			if let Some(network) = network {
				status.peers = u32::try_from(network.connections.len()).unwrap_or(u32::MAX);
				status.reachability = network.reachability.words();
				status.addresses = network.listening.iter().map(ToString::to_string).collect();
			}
		});
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
		let pending = self.journal.pending().cloned();
		let moment = Moment { seen, book: self.book.clone(), pending, cancel: Arc::default() };
		let tasks = self.tasks.clone();
		let mut doing = std::pin::pin!(tasks.perform(task.clone(), &moment));
		let mut followed = true;
		loop {
			tokio::select! {
				result = &mut doing => {
					if let Some(rest) = result.as_ref().err().and_then(WorkerError::rest) {
						self.refusals.note(task, rest, moment.seen.chain.best);
					}
					return result.map_or_else(Ended::Failed, Ended::Done);
				},
				() = stop.cancelled() => {
					moment.cancel();
					return Ended::Stopped;
				},
				changed = heads.changed(), if followed && task.is_long() => {
					followed = changed.is_ok();
					let wanted = match stop.run_until_cancelled(self.observe()).await {
						Some(Ok(seen)) => task.is_part_of(self.plan(&seen).as_ref()),
						// Not knowing better is no reason to throw work away.
						Some(Err(_)) => true,
						None => continue,
					};
					if !wanted {
						tracing::info!("{task} is not wanted any more");
						moment.cancel();
						return Ended::Abandoned;
					}
				},
			}
		}
	}

	/// Takes over what a task left behind.
	fn remember(&mut self, effect: Effect) -> Result<(), WorkerError> {
		// None of these comes about without the dataset. A member looks for it when it trains.
		if matches!(effect, Effect::Dataset(_) | Effect::Trained(_) | Effect::Stepped(_)) {
			self.lacking = None;
		}
		match effect {
			Effect::Sent | Effect::Fetched | Effect::Incomplete => {}
			Effect::Dataset(id) => self.local.dataset = Some(id),
			Effect::Loaded(root) => self.local.checkpoint = Some(root),
			Effect::StoredStart(root) => self.local.stored = Some(root),
			Effect::Trained(pending) => {
				let root = pending.work.delta_root;
				self.journal.set_pending(pending)?;
				self.local.pending = self.journal.pending_work();
				self.local.deltas.insert(root, Delta::Held);
			}
			Effect::Diverged(seed) => self.local.diverged = Some(seed),
			Effect::Stepped(next) => self.local.next = Some(next),
			Effect::Uptime(hour) => {
				self.local.uptime = Some(hour);
				self.journal.set_uptime(hour)?;
			}
		}
		Ok(())
	}

	/// Tells the chain where this worker is now, if that is not what it registered. That goes on beside the loop, which has deadlines.
	async fn announce(&mut self, seen: &Observed) {
		let best = seen.chain.best;
		match self.registration.take().await {
			None => {}
			Some(Ok(outcome)) => {
				self.announcer.note(&outcome, best);
				match outcome {
					Outcome::Sent => tracing::info!("registered this worker's present addresses"),
					Outcome::Late => tracing::debug!("this worker's present addresses got into no block yet"),
					Outcome::Failed(error) => self.report(&error.into()),
				}
			}
			Some(Err(error)) => self.report(&error),
		}
		if self.registration.is_busy() {
			return;
		}
		let Some(provider) = seen.provider.as_ref().filter(|_| !self.leaving && !seen.chain.is_short()) else { return };
		let current = match current_info(&self.tasks, &provider.info).await {
			Ok(current) => current,
			Err(error) => return self.report(&error),
		};
		if self.announcer.is_due(&current, &provider.info, best) {
			self.registration.start(register(self.tasks.submitter.clone(), current));
		}
	}

	/// The end of leaving: takes the bond out, and stays to defend what this account has claimed. `true` once nothing of that can be
	/// disputed any more: whoever is gone before loses its bond to the first who asks.
	async fn leave(&mut self, seen: &Observed) -> Result<bool, WorkerError> {
		if seen.provider.as_ref().is_some_and(|provider| provider.bonded > 0) {
			self.tasks.submitter.submit(staking::deregister()).await?;
			tracing::info!("left: the bond is on its way out; `neuroshard-worker leave` withdraws it after the cooldown");
			return Ok(false);
		}
		let open = self.tasks.reporter.current().disputes.open;
		let until = seen.provider.as_ref().map_or(0, |provider| provider.disputable_until);
		let samples = seen.at.audits_of(&seen.chain.me).await?.len();
		let attested = seen.at.attestations_of(&seen.chain.me).await?.len();
		let words = if open > 0 || samples > 0 || until > seen.heads.finalized.number {
			format!("stays to defend what it claimed, which can be disputed until block {until}")
		} else if attested > 0 {
			"stays until what it attests of datasets has ended".into()
		} else {
			forget_request(&self.base)?;
			return Ok(true);
		};
		if self.told.is_new(&words, Instant::now()) {
			tracing::info!("{words}");
		}
		self.tasks.reporter.update(|status| status.task = Some(words));
		Ok(false)
	}

	fn report(&mut self, error: &WorkerError) {
		// Whoever follows the heads says, also in the status, that the node is away, and when it is back.
		if error.is_outrun() || matches!(error, WorkerError::Chain(error) if error.passes()) {
			return tracing::debug!("{error}");
		}
		let words = error.to_string();
		let told = match error.lacks_dataset() {
			true => self.lacking.replace(words.clone()).is_some(),
			false => !self.told.is_new(&words, Instant::now()),
		};
		match told {
			true => tracing::debug!("still: {words}"),
			false => tracing::warn!("{words}"),
		}
		// What is missing of the dataset stands in the status anyway, until it is there.
		if !error.lacks_dataset() {
			self.tasks.reporter.update(|status| status.last_error = Some(words));
		}
	}
}
