//! Checks of what others claim: which are due, what they find, and the challenge.

use super::{
	compute::{Haste, Running},
	Verifier,
};
use crate::{
	content::rounds::{first_open, rounds_by_run},
	WorkerError,
};
use neuroshard_chain_client::{disputes, work_hash, Call, ChainAt, ChainError, Heads};
use neuroshard_disputes::cases::{case::Case, ledger::Finding};
use neuroshard_training::priority::Priority;
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind},
	run::{RoundRecord, Work},
	BlockNumber, RoundIndex, RunId, H256,
};
use std::collections::BTreeSet;
use tokio::sync::watch;

/// A claim is not begun to be checked so shortly before nobody can dispute it any more.
pub(super) const MARGIN: BlockNumber = 4;
/// The last part of a window, as its divisor, is for challenges: blocks may be full. A machine that cannot check everything spends none of it on checks that come too late.
const LAST_PART: BlockNumber = 4;
/// Blocks before the adoption of a round that are searched for what was revealed in it.
const SEARCHED: BlockNumber = 10_000;

/// A claim to check.
pub(super) struct Due {
	pub(super) claim: ClaimId,
	/// Of its round.
	pub(super) record: RoundRecord,
	/// First block in which it cannot be disputed any more.
	pub(super) until: BlockNumber,
}

impl Due {
	/// Returns the order in which it is checked, the least first. Where there is time enough for a challenge, whose time is over first; then what has the most time
	/// left.
	pub(super) fn haste(&self, now: BlockNumber, window: BlockNumber) -> (bool, BlockNumber) {
		let left = self.until.saturating_sub(now);
		let late = is_late(left, window);
		(late, if late { BlockNumber::MAX.saturating_sub(left) } else { left })
	}
}

/// Returns whether so many blocks of a window are left for a challenge that it may come too late.
fn is_late(left: BlockNumber, window: BlockNumber) -> bool {
	left <= window / LAST_PART
}

/// Result of a check.
enum Checked {
	/// Something else has more haste.
	PutOff,
	/// Nothing is to be done about the claim.
	Found(Finding),
	/// The claim is false: to be disputed by this call.
	False(Call),
}

impl Verifier {
	/// The next claim to check: the one whose time is over first, of those that can be disputed in time as a rule.
	pub(super) async fn next_claim(&mut self, at: &ChainAt) -> Result<Option<Due>, WorkerError> {
		if self.check <= 0.0 {
			return Ok(None);
		}
		let runs = self.runs_to_check();
		self.checked_to.retain(|run, _| runs.contains(run));
		let (window, now) = (at.dispute_terms().await?.window, at.block().number);
		let mut next: Option<Due> = None;
		for run in runs {
			let due = self.next_claim_of(at, run, window).await?;
			next = next.into_iter().chain(due).min_by_key(|due| due.haste(now, window));
		}
		Ok(next)
	}

	/// The run at hand, and those of which something is kept here: their claims can be disputed when they are finished, or another one is at hand.
	fn runs_to_check(&self) -> BTreeSet<RunId> {
		let kept = rounds_by_run(self.content.store.labels()).into_keys();
		kept.chain(self.reporter.current().run).collect()
	}

	async fn next_claim_of(&mut self, at: &ChainAt, run: RunId, window: BlockNumber) -> Result<Option<Due>, WorkerError> {
		let Some(view) = at.run(run).await? else { return Ok(None) };
		let now = at.block().number;
		let is_open = |record: &RoundRecord| record.adopted_at.saturating_add(window) > now.saturating_add(MARGIN);
		let first = match self.checked_to.get(&run) {
			Some(first) => *first,
			None => {
				let open = async |round| Ok(at.record(run, round).await?.as_ref().is_some_and(is_open));
				first_open(0..view.rounds_adopted, open).await?
			}
		};
		// Whatever was put off or failed in a round keeps the search from beginning behind it.
		let (mut done, mut late) = (first, None);
		for round in first..view.rounds_adopted {
			if let Some(record) = at.record(run, round).await?.filter(is_open) {
				let until = record.adopted_at.saturating_add(window);
				let open = self.unchecked(run, round, &record);
				if let Some(claim) = open.iter().find(|claim| !self.failed_claims.contains(claim, now)).cloned() {
					let due = Due { claim, record, until };
					if !is_late(until.saturating_sub(now), window) {
						self.checked_to.insert(run, done);
						return Ok(Some(due));
					}
					// Those of later rounds have more time left.
					late = Some(due);
				}
				if !open.is_empty() {
					continue;
				}
			}
			if done == round {
				done = round.saturating_add(1);
			}
		}
		self.checked_to.insert(run, done);
		Ok(late)
	}

	/// Claims of others in a round that are to be checked and were not yet, attestations first, in an order that is this worker's own: where nobody checks everything,
	/// others check something else.
	pub(super) fn unchecked(&self, run: RunId, round: RoundIndex, record: &RoundRecord) -> Vec<ClaimId> {
		let others = record.participants.iter().filter(|who| **who != self.me);
		let claims = others
			.flat_map(move |who| [ClaimKind::Attestation, ClaimKind::Work].map(|kind| ClaimId { run, round, kind, who: who.clone() }));
		let wanted = claims.filter(|claim| {
			let wanted = claim.kind == ClaimKind::Attestation || self.is_drawn(claim);
			wanted && self.ledger.finding(claim).is_none() && !self.accusations.contains_key(claim)
		});
		let mut claims: Vec<ClaimId> = wanted.collect();
		claims.sort_by_cached_key(|claim| (claim.kind == ClaimKind::Work, self.draw(b"neuroshard/check/1", claim)));
		claims
	}

	/// A number of a claim that nobody else can tell.
	fn draw(&self, purpose: &[u8; 18], claim: &ClaimId) -> u32 {
		let hash = neuroshard_graph::merkle::blake2_256(&codec::Encode::encode(&(purpose, self.ledger.secret(), &self.me, claim)));
		let [a, b, c, d, ..] = hash;
		u32::from_le_bytes([a, b, c, d])
	}

	/// Returns whether a claim is among the share that is checked: the same answer whenever it is asked, and one that nobody else can tell.
	fn is_drawn(&self, claim: &ClaimId) -> bool {
		f64::from(self.draw(b"neuroshard/audit/1", claim)) < self.check * f64::from(u32::MAX) + 1.0
	}

	pub(super) fn note(&mut self, claim: ClaimId, finding: Finding, until: BlockNumber, now: BlockNumber) -> Result<(), WorkerError> {
		let noted = self.ledger.note(claim, finding, until, now);
		noted.map_err(|source| WorkerError::File { path: "audits.json".into(), source })
	}

	/// Checks a claim, and has it disputed if it is false.
	pub(super) async fn check(&mut self, at: &ChainAt, heads: watch::Receiver<Heads>, due: &Due) -> Result<(), WorkerError> {
		let checked = match due.claim.kind {
			ClaimKind::Work => self.check_work(at, heads, due).await?,
			ClaimKind::Attestation => self.check_attestation(at, heads, &due.claim).await?,
			// Samples are checked by the auditor of the same work.
			ClaimKind::Audit => Checked::Found(Finding::NoClaim),
			// Nobody but who was answered has what it takes.
			ClaimKind::Answer(_) => Checked::Found(Finding::NoClaim),
		};
		match checked {
			Checked::PutOff => Ok(()),
			Checked::False(call) => {
				self.accuse(due.claim.clone(), call, due.until);
				Ok(())
			}
			Checked::Found(finding) => {
				self.found(finding);
				self.note(due.claim.clone(), finding, due.until, at.block().number)
			}
		}
	}

	/// Counts what a check found.
	pub(super) fn found(&self, finding: Finding) {
		if finding == Finding::NoClaim {
			return;
		}
		self.reporter.update(|status| {
			status.disputes.checked = status.disputes.checked.saturating_add(1);
			if finding == Finding::Challenged {
				status.disputes.challenged = status.disputes.challenged.saturating_add(1);
			}
		});
	}

	async fn check_work(&mut self, at: &ChainAt, heads: watch::Receiver<Heads>, due: &Due) -> Result<Checked, WorkerError> {
		let (claim, held) = (&due.claim, self.take_case(&due.claim));
		let checking = async {
			let Some(work) = self.revealed(&due.record, claim, at).await? else { return Ok(Err(Finding::Unknown)) };
			let Some(case) = self.case_of(at, claim, held, Priority::Low).await? else { return Ok(Err(Finding::NoClaim)) };
			let case = self.with_residual_of(at, claim, case, &work).await?;
			let revealed = work.clone();
			let (case, doubt) = Running::start(Priority::Low, case, move |case| case.doubt(&revealed))?.done().await?;
			Ok(Ok((case, work, doubt)))
		};
		let (case, work, doubt) = match self.unless_urgent(heads, Haste::Check, checking).await? {
			None => return Ok(Checked::PutOff),
			Some(Err(finding)) => return Ok(Checked::Found(finding)),
			Some(Ok(checked)) => checked,
		};
		let Some(doubt) = doubt else { return Ok(Checked::Found(Finding::Right)) };
		tracing::warn!(round = claim.round, who = %claim.who, ?doubt, "work is not what its inner steps give: disputing it");
		self.case = Some((claim.clone(), case));
		Ok(Checked::False(disputes::challenge_work(claim.run, claim.round, claim.who.clone(), work, doubt)))
	}

	async fn check_attestation(&mut self, at: &ChainAt, heads: watch::Receiver<Heads>, claim: &ClaimId) -> Result<Checked, WorkerError> {
		let ClaimId { run, round, who, .. } = claim;
		let Some(judged) = at.attestation_claim(*run, *round, who).await? else { return Ok(Checked::Found(Finding::NoClaim)) };
		let known = self.stepped.as_ref().filter(|(job, _)| *job == judged.job).map(|(_, root)| *root);
		let root = match known {
			Some(root) => root,
			None => {
				let held = self.take_case(claim);
				let checking = async {
					let Some(case) = self.case_of(at, claim, held, Priority::Low).await? else { return Ok(None) };
					Running::start(Priority::Low, case, Case::checkpoint)?.done().await.map(Some)
				};
				let (case, root) = match self.unless_urgent(heads, Haste::Check, checking).await? {
					None => return Ok(Checked::PutOff),
					Some(None) => return Ok(Checked::Found(Finding::NoClaim)),
					Some(Some(checked)) => checked,
				};
				// Only a game about it needs it any more.
				self.case = (root != judged.checkpoint).then(|| (claim.clone(), case));
				self.stepped = Some((judged.job, root));
				root
			}
		};
		if root == judged.checkpoint {
			return Ok(Checked::Found(Finding::Right));
		}
		tracing::warn!(round, %who, ours = ?root, "attested another checkpoint: disputing it");
		Ok(Checked::False(disputes::challenge_attestation(*run, *round, who.clone())))
	}

	/// The case with the residual that `work` says it began with, if its run's deltas leave any.
	pub(super) async fn with_residual_of(&self, at: &ChainAt, claim: &ClaimId, case: Case, work: &Work) -> Result<Case, WorkerError> {
		match case.config().and_then(|config| work.residuals(&config.train)) {
			Some([before, _]) => self.with_residual(at, claim, case, before).await,
			None => Ok(case),
		}
	}

	/// Returns the work that a participant revealed in a round that was adopted since; `None` if that is nowhere to be found any more.
	pub(super) async fn revealed(&self, record: &RoundRecord, claim: &ClaimId, at: &ChainAt) -> Result<Option<Work>, WorkerError> {
		let Some(judged) = at.work_claim(claim.run, claim.round, &claim.who).await? else { return Ok(None) };
		let before = self.client.block_at(record.adopted_at.saturating_sub(1)).await?;
		let round = match self.client.at(before).await {
			Ok(state) => state.round(claim.run).await,
			Err(error) => Err(error),
		};
		let round = match round {
			Ok(round) => round,
			Err(error) if error.passes() => return Err(error.into()),
			Err(_) => None,
		};
		let work = round.into_iter().flat_map(|round| round.participants).find(|one| one.account == claim.who).and_then(|one| one.work);
		match work.filter(|work| work_hash(work) == judged.work_hash) {
			Some(work) => Ok(Some(work)),
			// The node has discarded that state.
			None => self.posted_work(record, claim, judged.work_hash, at).await,
		}
	}

	/// The work with this hash, from the block in which it was revealed; `None` if that block is too far back, or not here.
	async fn posted_work(&self, record: &RoundRecord, claim: &ClaimId, hash: H256, at: &ChainAt) -> Result<Option<Work>, WorkerError> {
		let last = record.adopted_at;
		for number in (last.saturating_sub(SEARCHED)..last).rev() {
			let found = match at.reveals(self.client.block_at(number).await?).await {
				Err(ChainError::Missing { .. }) => return Ok(None),
				found => found?,
			};
			let mut works = found.into_iter().filter(|(run, round, _)| (run, round) == (&claim.run, &claim.round));
			if let Some((.., work)) = works.find(|(.., work)| work_hash(work) == hash) {
				return Ok(Some(work));
			}
		}
		Ok(None)
	}
}
