//! Checks of what others claim: which are due, what they find, and the challenge.

use super::Verifier;
use crate::{
	chain::{disputes, work_hash, Call, ChainAt, ChainError, Heads},
	run::{prune::first_open, WorkerError},
	verify::{case::Case, ledger::Finding},
};
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind},
	run::{RoundRecord, Work},
	BlockNumber, RoundIndex, RunId,
};
use std::sync::{atomic::AtomicBool, Arc};
use tokio::sync::watch;

/// A claim is not begun to be checked so shortly before nobody can dispute it any more.
const MARGIN: BlockNumber = 4;

/// A claim to check.
pub(super) struct Due {
	pub(super) claim: ClaimId,
	/// Of its round.
	record: RoundRecord,
	/// First block in which it cannot be disputed any more.
	until: BlockNumber,
}

impl Verifier {
	/// The next claim to check. Those whose time is over first come first.
	pub(super) async fn next_claim(&mut self, at: &ChainAt) -> Result<Option<Due>, WorkerError> {
		let Some(run) = self.reporter.current().run.filter(|_| self.audit > 0.0) else { return Ok(None) };
		let Some(view) = at.run(run).await? else { return Ok(None) };
		let window = at.dispute_terms().await?.window;
		let now = at.block().number;
		let is_open = |record: &RoundRecord| record.adopted_at.saturating_add(window) > now.saturating_add(MARGIN);
		let first = match self.checked_to.filter(|(known, _)| *known == run) {
			Some((_, first)) => first,
			None => {
				let open = async |round| Ok(at.record(run, round).await?.as_ref().is_some_and(is_open));
				first_open(0..view.rounds_adopted, open).await?
			}
		};
		// Whatever was put off or failed in a round keeps the search from beginning behind it.
		let mut done = first;
		for round in first..view.rounds_adopted {
			if let Some(record) = at.record(run, round).await?.filter(is_open) {
				let until = record.adopted_at.saturating_add(window);
				let mut open = self.unchecked(run, round, &record);
				if let Some(claim) = open.find(|claim| !self.failed_claims.contains_key(claim)) {
					drop(open);
					self.checked_to = Some((run, done));
					return Ok(Some(Due { claim, record, until }));
				}
				drop(open);
				if self.unchecked(run, round, &record).next().is_some() {
					continue;
				}
			}
			if done == round {
				done = round.saturating_add(1);
			}
		}
		self.checked_to = Some((run, done));
		Ok(None)
	}

	/// Claims of others in a round that are to be checked and were not yet.
	fn unchecked<'a>(&'a self, run: RunId, round: RoundIndex, record: &'a RoundRecord) -> impl Iterator<Item = ClaimId> + 'a {
		let others = record.participants.iter().filter(|who| **who != self.me);
		let claims = others
			.flat_map(move |who| [ClaimKind::Attestation, ClaimKind::Work].map(|kind| ClaimId { run, round, kind, who: who.clone() }));
		claims.filter(|claim| {
			let wanted = claim.kind == ClaimKind::Attestation || self.is_drawn(claim);
			wanted && self.ledger.finding(claim).is_none()
		})
	}

	/// Whether a claim is among the share that is checked: the same answer whenever it is asked, and one that nobody else can tell.
	fn is_drawn(&self, claim: &ClaimId) -> bool {
		let secret = self.ledger.secret();
		let hash = neuroshard_graph::merkle::blake2_256(&codec::Encode::encode(&(b"neuroshard/audit/1", secret, &self.me, claim)));
		let [a, b, c, d, ..] = hash;
		f64::from(u32::from_le_bytes([a, b, c, d])) < self.audit * f64::from(u32::MAX) + 1.0
	}

	fn note(&mut self, claim: ClaimId, finding: Finding, until: BlockNumber, now: BlockNumber) -> Result<(), WorkerError> {
		let noted = self.ledger.note(claim, finding, until, now);
		noted.map_err(|source| WorkerError::File { path: "audits.json".into(), source })
	}

	/// Checks a claim, and disputes it if it is false.
	pub(super) async fn check(&mut self, at: &ChainAt, heads: watch::Receiver<Heads>, due: &Due) -> Result<(), WorkerError> {
		let found = match due.claim.kind {
			ClaimKind::Work => self.check_work(at, heads, due).await?,
			ClaimKind::Attestation => self.check_attestation(at, heads, &due.claim).await?,
			// Samples are checked by the auditor of the same work.
			ClaimKind::Audit => Some(Finding::NoClaim),
		};
		// Put off.
		let Some(finding) = found else { return Ok(()) };
		if finding != Finding::NoClaim {
			self.reporter.update(|status| {
				status.disputes.checked = status.disputes.checked.saturating_add(1);
				if finding == Finding::Challenged {
					status.disputes.challenged = status.disputes.challenged.saturating_add(1);
				}
			});
		}
		self.note(due.claim.clone(), finding, due.until, at.block().number)
	}

	/// `None` if it was put off.
	async fn check_work(&mut self, at: &ChainAt, heads: watch::Receiver<Heads>, due: &Due) -> Result<Option<Finding>, WorkerError> {
		let (claim, cancel) = (&due.claim, Arc::new(AtomicBool::new(false)));
		let Some(work) = self.revealed(&due.record, claim, at).await? else { return Ok(Some(Finding::Unknown)) };
		let Some(case) = self.case_of(at, claim, cancel.clone()).await? else { return Ok(Some(Finding::NoClaim)) };
		let revealed = work.clone();
		let Some((case, doubt)) = self.compute(case, heads, cancel, move |case| case.doubt(&revealed)).await? else { return Ok(None) };
		let Some(doubt) = doubt else { return Ok(Some(Finding::Right)) };
		tracing::warn!(round = claim.round, who = %claim.who, ?doubt, "work is not what its inner steps give: disputing it");
		self.case = Some((claim.clone(), case));
		let call = disputes::challenge_work(claim.run, claim.round, claim.who.clone(), work, doubt);
		self.challenge(call).await.map(Some)
	}

	/// `None` if it was put off.
	async fn check_attestation(
		&mut self,
		at: &ChainAt,
		heads: watch::Receiver<Heads>,
		claim: &ClaimId,
	) -> Result<Option<Finding>, WorkerError> {
		let ClaimId { run, round, who, .. } = claim;
		let Some(judged) = at.attestation_claim(*run, *round, who).await? else { return Ok(Some(Finding::NoClaim)) };
		let known = self.stepped.as_ref().filter(|(job, _)| *job == judged.job).map(|(_, root)| *root);
		let root = match known {
			Some(root) => root,
			None => {
				let cancel = Arc::new(AtomicBool::new(false));
				let Some(case) = self.case_of(at, claim, cancel.clone()).await? else { return Ok(Some(Finding::NoClaim)) };
				let Some((case, root)) = self.compute(case, heads, cancel, Case::checkpoint).await? else { return Ok(None) };
				// Only a game about it needs it any more.
				self.case = (root != judged.checkpoint).then(|| (claim.clone(), case));
				self.stepped = Some((judged.job, root));
				root
			}
		};
		if root == judged.checkpoint {
			return Ok(Some(Finding::Right));
		}
		tracing::warn!(round, %who, ours = ?root, "attested another checkpoint: disputing it");
		self.challenge(disputes::challenge_attestation(*run, *round, who.clone())).await.map(Some)
	}

	async fn challenge(&self, call: Call) -> Result<Finding, WorkerError> {
		match self.submitter.submit_urgent(call).await {
			Ok(_) => Ok(Finding::Challenged),
			// What the chain refuses once, such as a claim that fell meanwhile, it refuses again.
			Err(error @ ChainError::Dispatch { .. }) => {
				tracing::warn!("the challenge was refused: {error}");
				Ok(Finding::Unknown)
			}
			Err(error) => Err(error.into()),
		}
	}

	/// What a participant revealed in a round that was adopted since; `None` if the node does not have that state any more.
	async fn revealed(&self, record: &RoundRecord, claim: &ClaimId, at: &ChainAt) -> Result<Option<Work>, WorkerError> {
		let Some(judged) = at.work_claim(claim.run, claim.round, &claim.who).await? else { return Ok(None) };
		let before = self.client.block_at(record.adopted_at.saturating_sub(1)).await?;
		let round = match self.client.at(before).await {
			Ok(state) => state.round(claim.run).await,
			Err(error) => Err(error),
		};
		let round = match round {
			Ok(round) => round,
			Err(error @ ChainError::NodeAway { .. }) => return Err(error.into()),
			Err(_) => None,
		};
		let work = round.into_iter().flat_map(|round| round.participants).find(|one| one.account == claim.who).and_then(|one| one.work);
		Ok(work.filter(|work| work_hash(work) == judged.work_hash))
	}
}
