//! The role of a member of a quorum that another account leads: it follows the run, and takes its part in the rounds in which the quorum has a place.
//!
//! What it has done of a round is known from what the chain says and from its folder alone, so that a restart goes on where it was.

use super::{attempt::Attempt, forget_seats, seat_folder, Ways};
use crate::{
	actor::{guarded::guarded, told::Told},
	conduct::Conduct,
	content::{dataset::Dataset, filed::layout, old::forget_old, supply::Cached, Content},
	defence::until_over,
	earnings::claim_all,
	parts::{Mode, Parts},
	peers::{addresses, holders},
	samples::Samples,
	status::Reporter,
	verifier::{self, Verifier},
	WorkerError,
};
use neuroshard_chain_client::{keys::PonwSigner, next_block, ChainAt, ChainClient, Heads, Submitter};
use neuroshard_data::loader::Assignment;
use neuroshard_network::PeerAddress;
use neuroshard_quorum::Sources;
use neuroshard_types::{
	assignment::Draw,
	quorum::QuorumClaim,
	run::{Phase, RoundView, RunStatus, RunView},
	AccountId, Balance, BlockNumber, RunId, H256,
};
use std::{path::PathBuf, sync::Arc, time::Instant};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Rounds that were completed here and are remembered: one at hand, and those that are begun anew.
const REMEMBERED: usize = 4;
/// Blocks in which a leader commits to work that is complete. One that has not may have been started again, and lost it.
const COMMITS: BlockNumber = 10;

/// Options of the operator.
pub struct MemberOptions {
	/// The run.
	pub run: RunId,
	/// Who leads.
	pub leader: AccountId,
	/// How the others are reached.
	pub ways: Ways,
	/// Folder of the run's dataset; its shards come from peers if not given.
	pub dataset: Option<PathBuf>,
	/// Compute threads.
	pub threads: usize,
	/// Least earnings that are claimed, in planck: a claim costs a fee.
	pub claim_from: Balance,
	/// Conduct of the worker.
	pub conduct: Arc<dyn Conduct>,
}

/// A round in which this account has a part that it has not done.
struct Duty {
	at: ChainAt,
	view: RunView,
	round: RoundView,
	claim: Arc<QuorumClaim>,
	position: u32,
}

/// The actor.
struct Member {
	me: AccountId,
	base: PathBuf,
	signer: PonwSigner,
	client: ChainClient,
	content: Content,
	cached: Arc<Mutex<Cached>>,
	reporter: Reporter,
	run: RunId,
	leader: AccountId,
	threads: usize,
	conduct: Arc<dyn Conduct>,
	/// Seeds of rounds that are over here, and the block in which it is looked whether the leader still needs this worker.
	done: Vec<(H256, BlockNumber)>,
	/// Rounds that were adopted when old ones were let go of last.
	pruned: Option<u32>,
	told: Told,
}

/// Takes part in the rounds of the quorum until `stop` is cancelled, or the run is over and nothing that this account has signed can be disputed any more.
/// Beside that it plays its part in disputes, and claims what it has earned. It has itself drawn for no audits.
///
/// # Errors
/// What trying again would not help, such as [`WorkerError::UnknownRun`]; everything else is reported and tried again.
pub async fn work_in_quorum(parts: Parts, options: MemberOptions, stop: CancellationToken) -> Result<(), WorkerError> {
	let Parts { base, keys, owner, client, store, net, reporter } = parts;
	let ending = stop.child_token();
	let MemberOptions { run, leader, mut ways, dataset, threads, claim_from, conduct } = options;
	let submitter = Submitter::spawn_for(client.clone(), keys.account.clone(), owner.clone());
	let (content, dataset) = (Content::new(store, net, &base, dataset), Arc::<Mutex<Cached>>::default());
	let verifier = Verifier::new(verifier::Parts {
		base: &base,
		client: client.clone(),
		submitter: submitter.clone(),
		content: content.clone(),
		dataset: dataset.clone(),
		reporter: reporter.clone(),
		threads,
		// What others claim is checked by who has all of a model.
		check: 0.0,
		samples: Samples::open(&base),
		leads: false,
		conduct: conduct.clone(),
	});
	let claiming = claim_all(client.clone(), submitter, claim_from, ending.clone());
	let mut member = Member {
		me: owner,
		content,
		base,
		signer: keys.ponw,
		client,
		cached: dataset,
		reporter,
		run,
		leader,
		threads,
		conduct,
		done: Vec::new(),
		pruned: None,
		told: Told::default(),
	};
	let working = Box::pin(async {
		let ended = member.work(&mut ways, &stop).await;
		if let Err(error) = &ended {
			tracing::error!("{error}");
		}
		let say = |words: &str| member.reporter.update(|status| status.task = Some(words.to_owned()));
		until_over(&member.client, &member.me, &stop, say).await;
		ending.cancel();
		ended
	});
	let (ended, (), ()) = tokio::join!(working, Box::pin(verifier.run(ending.clone())), claiming);
	ended
}

impl Member {
	/// Takes part in rounds until `stop` is cancelled, or the run is over.
	async fn work(&mut self, ways: &mut Ways, stop: &CancellationToken) -> Result<(), WorkerError> {
		let mut heads = self.client.follow(Heads::default(), self.reporter.node_notes());
		loop {
			heads.mark_unchanged();
			let Some(looked) = stop.run_until_cancelled(guarded("the quorum", self.look())).await else { return Ok(()) };
			let ended = match looked {
				Ok(Some(duty)) => self.take(duty, ways, &mut heads.clone(), stop).await,
				Ok(None) => Ok(()),
				Err(error) => Err(error),
			};
			match ended {
				Ok(()) => {}
				Err(error) if error.is_fatal() && !stop.is_cancelled() => return Err(error),
				Err(error) => self.say(&error.to_string()),
			}
			if stop.is_cancelled() || self.reporter.current().ended.is_some() {
				return Ok(());
			}
			next_block(&mut heads, stop).await;
		}
	}

	/// Says what is in the way, in log and status.
	fn say(&mut self, words: &str) {
		if self.told.is_new(words, Instant::now()) {
			tracing::warn!("{words}");
		}
		self.reporter.update(|status| status.last_error = Some(words.to_owned()));
	}

	/// Says what this worker waits for.
	fn waits(&mut self, words: String) {
		if self.told.is_new(&words, Instant::now()) {
			tracing::info!("{words}");
		}
		self.reporter.update(|status| status.task = Some(words));
	}

	/// Looks at the chain: the round to take now, if there is one.
	async fn look(&mut self) -> Result<Option<Duty>, WorkerError> {
		let heads = self.client.heads().await?;
		let at = self.client.at(heads.best).await?;
		let view = at.run(self.run).await?.ok_or(WorkerError::UnknownRun(self.run))?;
		if self.pruned != Some(view.rounds_adopted) {
			let finalized = heads.finalized.number;
			forget_old(&self.content.store, &at, finalized, Some(self.run), Mode::Train).await?;
			forget_seats(&self.base, &at, finalized).await?;
			self.pruned = Some(view.rounds_adopted);
		}
		let round = at.round(self.run).await?;
		self.reporter.update(|status| {
			(status.run, status.best_block, status.finalized_block) = (Some(self.run), heads.best.number, heads.finalized.number);
			status.round = round.as_ref().map(|round| round.round);
			status.phase = round.as_ref().map(|round| format!("{:?}", round.phase));
			status.phase_deadline = round.as_ref().and_then(|round| round.deadline);
		});
		if view.status != RunStatus::Active {
			self.waits(format!("run {} is over", self.run));
			self.reporter.update(|status| status.ended = Some(format!("run {} is over", self.run)));
			return Ok(None);
		}
		let over = |seed: H256| self.done.iter().any(|(done, until)| *done == seed && heads.best.number < *until);
		let Some(round) = round.filter(|round| is_wanted(round, &self.leader) && !over(round.seed)) else {
			self.waits(format!("waiting for the next round of run {}", self.run));
			return Ok(None);
		};
		let seats = at.quorums_of(self.run, round.round).await?;
		let claim = QuorumClaim::of(self.client.genesis(), (self.run, round.round, round.seed), &seats, &self.leader);
		let seat = claim.as_ref().and_then(|claim| claim.seats.iter().find(|seat| seat.who == self.me));
		let words = match seat.map(|seat| seat.key) {
			None => Some(format!("in round {} the quorum of {} has no seat of this account", round.round, self.leader)),
			Some(key) if key != Some(self.signer.public()) => Some(format!(
				"the key for proofs in this folder is not the one that this account agreed with to its seat in the quorum of {}: \
				 agree again, or name the folder with that key",
				self.leader
			)),
			Some(_) => None,
		};
		let (Some(claim), Some(position), None) = (claim, round.position(&self.leader), words.as_ref()) else {
			self.waits(words.unwrap_or_default());
			return Ok(None);
		};
		Ok(Some(Duty { at, view, round, claim: Arc::new(claim), position }))
	}

	/// Takes the part of this account in a round, as long as that is wanted.
	async fn take(
		&mut self,
		duty: Duty,
		ways: &mut Ways,
		heads: &mut tokio::sync::watch::Receiver<Heads>,
		stop: &CancellationToken,
	) -> Result<(), WorkerError> {
		let (number, seed) = (duty.round.round, duty.round.seed);
		tracing::info!("takes its part in round {number} of run {}, which {} leads", self.run, self.leader);
		let (client, run, leader) = (self.client.clone(), self.run, self.leader.clone());
		let cancel = stop.child_token();
		let placed = {
			let doing = async {
				let Some(attempt) = cancel.run_until_cancelled(self.attempt(&duty)).await else { return Ok(None) };
				let attempt = attempt?;
				self.reporter.update(|status| {
					status.task = Some(format!("training round {number} as a member of the quorum of {}", self.leader));
				});
				attempt.take(ways, self.threads, &cancel).await
			};
			let mut doing = std::pin::pin!(guarded("a round of the quorum", doing));
			loop {
				tokio::select! {
					done = &mut doing => break done,
					changed = heads.changed(), if !cancel.is_cancelled() => {
						let wanted = async {
							let round = client.now().await?.round(run).await?;
							Ok::<_, WorkerError>(round.is_some_and(|round| round.seed == seed && is_wanted(&round, &leader)))
						};
						let wanted = cancel.run_until_cancelled(wanted).await;
						// Not knowing better is no reason to throw work away.
						if changed.is_err() || matches!(wanted, Some(Ok(false))) {
							cancel.cancel();
						}
					}
				}
			}
		};
		self.reporter.update(|status| status.step = None);
		match placed {
			Ok(Some(placed)) => {
				tracing::info!("round {number} of run {run} is done: the leader reveals the work with delta {:?}", placed.work.delta_root);
				self.reporter.update(|status| {
					status.tokens = status.tokens.saturating_add(placed.work.tokens);
					status.last_error = None;
				});
				let best = heads.borrow().best.number;
				self.over(seed, best.saturating_add(COMMITS));
				Ok(())
			}
			Ok(None) if stop.is_cancelled() => Ok(()),
			Ok(None) => {
				tracing::info!("round {number} of run {run} goes on without this worker's part, or has ended");
				Ok(())
			}
			Err(WorkerError::Seat(error)) if error.is_divergence() => {
				self.over(seed, BlockNumber::MAX);
				self.say(&format!("round {number} of run {run}: {error}"));
				Ok(())
			}
			Err(error) => Err(error),
		}
	}

	/// Notes that there is nothing left to do of a round, until this block.
	fn over(&mut self, seed: H256, until: BlockNumber) {
		self.done.retain(|(done, _)| *done != seed);
		self.done.push((seed, until));
		let gone = self.done.len().saturating_sub(REMEMBERED);
		self.done.drain(..gone);
	}

	/// Gets all that the round takes.
	async fn attempt(&self, duty: &Duty) -> Result<Attempt, WorkerError> {
		let Duty { at, view, round, claim, position } = duty;
		let config = view.config.clone();
		let place = Attempt::place(&config, claim, &self.me).ok_or(WorkerError::Stopped)?;
		let peers = self.peers(at, view, round).await?;
		let layout = layout(&config)?;
		let leaves = u32::try_from(layout.tile_count()).map_err(|_| WorkerError::Stopped)?;
		self.reporter.update(|status| status.task = Some(format!("fetching checkpoint {:?}", round.start)));
		self.content.checkpoint_of((self.run, &config), round.start, leaves, &peers).await?;
		self.content.base((self.run, &config), &peers).await?;
		let dataset = self.dataset(at, view, &peers).await?;
		let draw = Draw::new(&config, (self.run, round.round), round.seed, &dataset.loader.shape());
		let assignment = Assignment::new(&config.train, *position, draw);
		if place.reads_tokens() {
			let shards = dataset.loader.round_shards(&assignment)?;
			self.content.shards(&dataset, &shards, &peers).await?;
		}
		let (content, run, start) = (self.content.clone(), self.run, round.start);
		let folder = seat_folder(&self.base, run, round.round, round.seed);
		let open = move |threads: usize| {
			let checkpoint = content.filed_checkpoint(run, start, &layout, threads)?;
			Ok(Sources { checkpoint, base: content.filed_base(&config, threads)?, residual: None, folder })
		};
		let (reporter, steps) = (self.reporter.clone(), view.config.train.inner_steps);
		let heard = move |done: std::ops::Range<u32>, loss: Option<f32>| {
			tracing::debug!("inner step {} of {steps} is done", done.end);
			reporter.update(|status| (status.step, status.training_loss) = (Some((done.end, steps)), loss));
		};
		Ok(Attempt {
			place,
			claim: claim.clone(),
			signer: self.signer.clone(),
			windows: (dataset.loader, assignment),
			open: Box::new(open),
			heard: Arc::new(heard),
			slip: self.conduct.slip(run, round.round, &view.config.train),
		})
	}

	async fn dataset(&self, at: &ChainAt, view: &RunView, peers: &[PeerAddress]) -> Result<Dataset, WorkerError> {
		self.content.dataset(at, view.config.dataset, &self.cached, peers).await
	}

	/// Who may have what a round takes.
	async fn peers(&self, at: &ChainAt, view: &RunView, round: &RoundView) -> Result<Vec<PeerAddress>, WorkerError> {
		let mut accounts = holders(at, view.config.dataset).await?;
		accounts.extend(round.participants.iter().map(|one| one.account.clone()));
		accounts.extend(at.members(self.run).await?);
		let peers: Vec<PeerAddress> = addresses(at, accounts, &self.me).await?.into_values().collect();
		self.content.net.set_peers(peers.clone()).await?;
		Ok(peers)
	}
}

/// Whether the quorum of `leader` is to train in a round.
fn is_wanted(round: &RoundView, leader: &AccountId) -> bool {
	let led = round.participants.iter().find(|one| one.account == *leader);
	round.phase == Phase::Training && led.is_some_and(|led| led.counted && led.sealed.is_none())
}

#[cfg(test)]
mod tests;
