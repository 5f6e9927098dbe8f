//! The verifier: plays every dispute of this account and checks claims of others, beside the worker's main loop.
//!
//! Whose turn it is and what may still be disputed is read from the chain with every block, so that a restart in the middle of a game needs
//! nothing from before. What was checked is in the [`Ledger`]. Moves come before audits, and these before checks: what is under way is put off
//! for what comes before it. But an audit that has begun is finished first if the moves have time enough: whoever is audited could keep its
//! auditors from it by games otherwise.

mod accusations;
mod audits;
mod cases;
mod checks;
mod compute;
mod games;
mod rests;
#[cfg(test)]
mod tests;

use super::{
	actor::{guarded::guarded, wait::wait},
	conduct::Conduct,
	content::{supply::Cached, Content},
	desk::Desk,
	WorkerError,
};
use crate::status::Reporter;
use accusations::Accusation;
use neuroshard_chain_client::{ChainClient, Heads, Submitter};
use neuroshard_compute::exec::Exec;
use neuroshard_disputes::cases::{case::Case, ledger::Ledger, record::Record};
use neuroshard_training::priority::Priority;
use neuroshard_types::{
	dispute::{ClaimId, OuterJob},
	AccountId, BlockNumber, RoundIndex, RunId, H256,
};
use rests::Rests;
use std::{collections::BTreeMap, path::Path, sync::Arc};
use tokio::sync::{watch, Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

/// Blocks after which a game or claim that failed here is tried again.
const REST: BlockNumber = 3;
/// The same after several failures: somewhat longer than the slowest failure takes, so that something else gets its turn.
const LONGEST_REST: BlockNumber = 48;

/// A game by claim and challenger.
type GameId = (ClaimId, AccountId);
/// A move by its game and how many extrinsics that had before.
type MoveId = (GameId, usize);

/// What the verifier works with.
pub(super) struct Parts<'a> {
	pub base: &'a Path,
	pub client: ChainClient,
	pub submitter: Submitter,
	pub content: Content,
	pub dataset: Arc<Mutex<Cached>>,
	pub reporter: Reporter,
	/// Compute threads.
	pub threads: usize,
	/// Share of the others' work that is checked, from 0 to 1.
	pub audit: f64,
	/// Where samples of audits are left.
	pub desk: Desk,
	/// How this worker behaves, and defends what it did.
	pub conduct: Arc<dyn Conduct>,
}

/// The actor.
pub(super) struct Verifier {
	client: ChainClient,
	submitter: Submitter,
	me: AccountId,
	content: Content,
	dataset: Arc<Mutex<Cached>>,
	reporter: Reporter,
	threads: usize,
	audit: f64,
	desk: Desk,
	conduct: Arc<dyn Conduct>,
	ledger: Ledger,
	execs: std::sync::Mutex<Vec<(Priority, Arc<Exec>)>>,
	/// The claim that was recomputed last: the next move in the same game goes on from there.
	case: Option<(ClaimId, Case)>,
	/// Room for one case.
	room: Arc<Semaphore>,
	/// Claims that are false and still to be disputed.
	accusations: BTreeMap<ClaimId, Accusation>,
	/// Games as they were played, and how many of their extrinsics were read.
	records: BTreeMap<GameId, (Record, usize)>,
	/// Games, and how many extrinsics they had, in which this side has nothing to say.
	resigned: BTreeMap<GameId, usize>,
	failed_moves: Rests<MoveId>,
	failed_claims: Rests<ClaimId>,
	/// By run: the first round in which a claim may still have to be checked.
	checked_to: BTreeMap<RunId, RoundIndex>,
	/// The outer steps that were recomputed last, and the checkpoint that they give: most participants attest the same.
	stepped: Option<(OuterJob, H256)>,
}

impl Verifier {
	pub(super) fn new(parts: Parts<'_>) -> Self {
		let Parts { base, client, submitter, content, dataset, reporter, threads, audit, desk, conduct } = parts;
		Self {
			me: submitter.who().clone(),
			conduct,
			client,
			submitter,
			content,
			dataset,
			reporter,
			threads,
			audit,
			desk,
			ledger: Ledger::open(base),
			execs: Default::default(),
			case: None,
			room: Arc::new(Semaphore::new(1)),
			accusations: BTreeMap::new(),
			records: BTreeMap::new(),
			resigned: BTreeMap::new(),
			failed_moves: Rests::new(),
			failed_claims: Rests::new(),
			checked_to: BTreeMap::new(),
			stepped: None,
		}
	}

	/// Works until `stop` is cancelled.
	pub(super) async fn run(mut self, stop: CancellationToken) {
		let mut heads = self.client.follow(Heads::default(), |_| {});
		loop {
			heads.mark_unchanged();
			let turn = guarded("the verifier", self.turn(heads.clone()));
			let Some(turn) = stop.run_until_cancelled(turn).await else { return };
			match turn {
				Ok(true) => continue,
				Ok(false) => {}
				Err(error) => {
					tracing::warn!("verifier: {error}");
					self.case = None;
				}
			}
			wait(&mut heads, &stop).await;
		}
	}

	/// Does the most urgent thing; `false` if there is none.
	async fn turn(&mut self, heads: watch::Receiver<Heads>) -> Result<bool, WorkerError> {
		let at = self.client.now().await?;
		let (games, now) = (self.games(&at).await?, at.block().number);
		self.tidy(&games, now);
		if let Some((game, view)) = self.our_turn(&at, &games).await? {
			let (failed, deadline) = (games::move_of(&game, &view), view.deadline);
			let played = guarded("a move in a dispute", self.play(&at, heads.clone(), game, view)).await;
			if played.is_err() {
				self.failed_moves.note(failed, latest(&heads, now), deadline);
			}
			return played.map(|()| true);
		}
		if let Some(claim) = self.next_accusation(now) {
			return self.dispute(&at, heads, claim).await.map(|()| true);
		}
		if let Some(audit) = self.next_audit(&at).await? {
			return self.take_sample(&at, heads, &audit).await.map(|()| true);
		}
		match self.next_claim(&at).await? {
			Some(due) => {
				let checked = guarded("a check", self.check(&at, heads.clone(), &due)).await;
				if checked.is_err() {
					self.failed_claims.note(due.claim, latest(&heads, now), due.until);
				}
				checked.map(|()| true)
			}
			None => Ok(false),
		}
	}
}

/// The best block as far as it is known here, after an attempt that began at block `begun`.
fn latest(heads: &watch::Receiver<Heads>, begun: BlockNumber) -> BlockNumber {
	heads.borrow().best.number.max(begun)
}
