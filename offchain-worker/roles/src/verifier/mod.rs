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
mod in_files;
mod seat;
#[cfg(test)]
mod tests;

use super::{
	actor::guarded::guarded,
	conduct::Conduct,
	content::{supply::Cached, Content},
	samples::Samples,
	WorkerError,
};
use crate::status::Reporter;
use accusations::Accusation;
use neuroshard_chain_client::{next_block, ChainClient, Heads, Submitter};
use neuroshard_compute::exec::Exec;
use neuroshard_disputes::{
	cases::{case::Case, ledger::Ledger},
	games::{move_of, Games, BACKOFF},
};
use neuroshard_support::backoff::Rests;
use neuroshard_training::priority::Priority;
use neuroshard_types::{
	dispute::{ClaimId, OuterJob},
	AccountId, BlockNumber, RoundIndex, RunId, H256,
};
use seat::Seat;
use std::{
	collections::BTreeMap,
	path::{Path, PathBuf},
	sync::Arc,
};
use tokio::sync::{watch, Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

/// Parts that the verifier works with.
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
	pub check: f64,
	/// Samples of audits.
	pub samples: Samples,
	/// Conduct of this worker, by which it defends what it did.
	pub conduct: Arc<dyn Conduct>,
	/// Whether this worker leads a quorum, whose rounds take memory beside what is verified.
	pub leads: bool,
}

/// Parameters that several cases share while one of them is there, by their root.
type SharedBase = ([u8; 32], std::sync::Weak<Vec<f32>>);

/// The actor.
pub(super) struct Verifier {
	client: ChainClient,
	submitter: Submitter,
	me: AccountId,
	content: Content,
	dataset: Arc<Mutex<Cached>>,
	reporter: Reporter,
	threads: usize,
	check: f64,
	samples: Samples,
	conduct: Arc<dyn Conduct>,
	leads: bool,
	ledger: Ledger,
	execs: std::sync::Mutex<Vec<(Priority, Arc<Exec>)>>,
	/// The model beside an adapter that cases have in memory, by its root.
	base: std::sync::Mutex<Option<SharedBase>>,
	/// The claim that was recomputed last: the next move in the same game goes on from there.
	case: Option<(ClaimId, Case)>,
	/// The same of a claim of a quorum, as far as it is this account's part.
	seat: Option<(ClaimId, Seat)>,
	base_folder: PathBuf,
	/// Room for one case.
	room: Arc<Semaphore>,
	/// Claims that are false and still to be disputed.
	accusations: BTreeMap<ClaimId, Accusation>,
	games: Games,
	failed_claims: Rests<ClaimId>,
	/// By run: the first round in which a claim may still have to be checked.
	checked_to: BTreeMap<RunId, RoundIndex>,
	/// The outer steps that were recomputed last, and the checkpoint that they give: most participants attest the same.
	stepped: Option<(OuterJob, H256)>,
}

impl Verifier {
	pub(super) fn new(parts: Parts<'_>) -> Self {
		let Parts { base, client, submitter, content, dataset, reporter, threads, check, samples, conduct, leads } = parts;
		// What a worker that was killed left of audits in files. Only one at a time has this folder.
		let _ = std::fs::remove_dir_all(base.join(in_files::FOLDER));
		Self {
			me: submitter.who().clone(),
			games: Games::new(client.clone(), submitter.clone()),
			conduct,
			leads,
			client,
			submitter,
			content,
			dataset,
			reporter,
			threads,
			check,
			samples,
			ledger: Ledger::open(base),
			execs: Default::default(),
			base: Default::default(),
			case: None,
			seat: None,
			base_folder: base.to_path_buf(),
			room: Arc::new(Semaphore::new(1)),
			accusations: BTreeMap::new(),
			failed_claims: Rests::new(BACKOFF),
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
					(self.case, self.seat) = (None, None);
				}
			}
			next_block(&mut heads, &stop).await;
		}
	}

	/// Does the most urgent thing; `false` if there is none.
	async fn turn(&mut self, heads: watch::Receiver<Heads>) -> Result<bool, WorkerError> {
		let at = self.client.now().await?;
		let (games, now) = (self.open_games(&at).await?, at.block().number);
		self.tidy(&games, now);
		if let Some((game, view)) = self.our_turn(&at, &games).await? {
			let (failed, deadline) = (move_of(&game, &view), view.deadline);
			let played = guarded("a move in a dispute", self.play(&at, heads.clone(), game, view)).await;
			if played.is_err() {
				self.games.failed.note(failed, latest(&heads, now), deadline);
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
