//! The participant: trains. It joins a run, and in every round does what is asked of a member: inner steps, commitment and reveal, deltas of others
//! and a vote on them, outer steps and an attestation.
//!
//! [`work`] is its loop: it looks at the chain ([`observe`]), asks what comes next ([`decide`]), and has that done ([`tasks`]). [`deltas`] gets those
//! of others, and refuses bad ones.

mod adopted;
mod alive;
mod announce;
mod beside;
mod book;
mod chores;
mod compute;
pub mod decide;
mod deltas;
mod leave;
mod observe;
mod prune;
mod tasks;
mod tell;
#[cfg(test)]
mod tests;
mod work;

use super::{
	actor::{aside::Aside, guarded::guarded, told::Told},
	defence::{reserves::Reserves, until_over},
	journal::{Journal, JournalError},
	parts::{Options, Shared},
	quorum::Ways,
	WorkerError,
};
use announce::{Announcer, Outcome};
use beside::Beside;
use book::Book;
use chores::Chore;
use compute::Compute;
use decide::{choice::Choice, notice::Noticed, refusals::Refusals, view::LocalState};
pub use decide::{
	choice::{choose_run, KnownRun},
	prospect::Prospect,
};
use neuroshard_chain_client::{keys::Keys, ChainClient};
use neuroshard_network::TrafficTotals;
use neuroshard_training::keeper::Keeper;
use neuroshard_types::{run::RunStatus, BlockNumber, RoundIndex, RunId, H256};
use std::path::PathBuf;
use tasks::{Leading, Tasks};
use tokio_util::sync::CancellationToken;

/// The actor.
pub(super) struct Participant {
	base: PathBuf,
	client: ChainClient,
	journal: Journal,
	/// Why nothing can be trained here from the start.
	unfit: Option<WorkerError>,
	tasks: Tasks,
	local: LocalState,
	book: Book,
	choice: Choice,
	/// Version of the runtime that this worker can use all of.
	usable: Option<u32>,
	/// Run that the worker is in, and its newest adopted round that was noted.
	at_hand: Option<(RunId, RoundIndex)>,
	/// True if this account takes part in that run, or may.
	placed: bool,
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
	/// Chore that is on its way and that no round waits for.
	chore: Aside<Chore>,
	/// Inner steps under way, in a run whose rounds overlap.
	beside: Option<Beside>,
	/// The run at hand and its status when datasets were let go of last, and the block.
	released: Option<((RunId, RunStatus), BlockNumber)>,
	/// Obstacle that keeps this worker from taking part, as it was said last.
	waiting: Option<String>,
	/// Part of the run's dataset that is missing, while it is.
	lacking: Option<String>,
	noticed: Noticed,
	told: Told,
	/// The task that was begun last, as it was said.
	begun: Told,
	leaving: bool,
}

impl Participant {
	/// Opens the journal and starts the compute thread. With a journal that cannot be read it trains nothing, and defends what it claimed.
	///
	/// # Errors
	/// [`WorkerError::Journal`] for a folder of another chain or account; [`WorkerError::File`] without threads.
	pub(super) fn new(shared: Shared, keys: Keys, options: &Options) -> Result<Self, WorkerError> {
		let Shared { base, client, submitter, content, dataset, reporter } = shared;
		let owner = submitter.who();
		let (journal, unfit) = match Journal::open(&base, client.genesis(), owner.clone()) {
			Ok(journal) => (journal, None),
			Err(error @ (JournalError::OtherChain { .. } | JournalError::OtherAccount { .. })) => return Err(error.into()),
			Err(error) => (Journal::empty(&base, client.genesis(), owner.clone()), Some(error.into())),
		};
		let compute = Compute::start(options.threads, options.device)
			.map_err(|source| WorkerError::File { path: "the compute thread".into(), source })?;
		let keeper =
			Keeper::start(content.store.clone()).map_err(|source| WorkerError::File { path: "the keeper thread".into(), source })?;
		let pending = journal.pending_work();
		let at_hand = pending.first().map(|pending| (pending.run, pending.round));
		let local = LocalState {
			mode: options.mode,
			checkpoint: None,
			dataset: None,
			pending,
			stored: None,
			sibling: None,
			deltas: Default::default(),
			next: None,
			diverged: Vec::new(),
			missing: Default::default(),
			uptime: journal.uptime(),
			claim_from: options.claim_from,
			in_a_hurry: false,
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
			dataset,
			checked: Default::default(),
			quorum: None,
			conduct: options.conduct.clone(),
		};
		Ok(Self {
			base,
			client,
			choice: Choice::new(options.run),
			journal,
			unfit,
			tasks,
			local,
			book: Book::default(),
			usable: None,
			// A worker that is started again goes on with what it committed to.
			at_hand,
			placed: true,
			seed: None,
			traffic: TrafficTotals::default(),
			reserves: Reserves::default(),
			refusals: Refusals::default(),
			announcer: Announcer::default(),
			registration: Aside::default(),
			chore: Aside::default(),
			beside: None,
			released: None,
			waiting: None,
			lacking: None,
			noticed: Noticed::default(),
			told: Told::default(),
			begun: Told::default(),
			leaving: false,
		})
	}

	/// Holds its place as the leader of a quorum from now on, whose members are reached like this.
	pub(super) fn lead(&mut self, ways: Ways, threads: usize) {
		self.tasks.quorum = Some(Leading::new(ways, threads));
		self.reserves = Reserves::of_leader(self.tasks.submitter.who().clone());
	}

	/// Whether it does.
	pub(super) fn leads(&self) -> bool {
		self.tasks.quorum.is_some()
	}

	/// Trains until `stop` is cancelled, or until it has left because its operator asked for it.
	///
	/// When training cannot go on, whatever the reason, it stays until nothing of this account is at stake any more.
	///
	/// # Errors
	/// Why training ended: only what trying again would not help.
	pub(super) async fn run(&mut self, stop: &CancellationToken) -> Result<(), WorkerError> {
		let ended = match self.unfit.take() {
			None => guarded("training", self.work(stop)).await,
			Some(error) => Err(error),
		};
		self.end_training().await;
		if let Err(error) = &ended {
			self.outlive(error, stop).await;
		}
		ended
	}

	/// Ends what is on its way beside the loop.
	pub(super) async fn end_asides(&mut self) {
		self.registration.stop().await;
		self.chore.stop().await;
	}

	/// Says why training has ended, and waits until nothing of this account is at stake any more.
	async fn outlive(&self, error: &WorkerError, stop: &CancellationToken) {
		// Whoever started the worker says it in its last words, too.
		tracing::error!("training has ended: {error}");
		let reporter = &self.tasks.reporter;
		reporter.update(|status| {
			(status.task, status.step, status.phase) = (None, None, None);
			status.ended = Some(error.to_string());
			status.last_error = Some(error.to_string());
		});
		let me = self.tasks.submitter.who().clone();
		until_over(&self.client, &me, stop, |words| reporter.update(|status| status.task = Some(words.to_owned()))).await;
	}
}
