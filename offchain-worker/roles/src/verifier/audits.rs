//! Audits: running again the work that this account was drawn to audit, for the sample and to dispute what is false.

use super::{
	checks::MARGIN,
	compute::{Haste, Running},
	latest, Verifier,
};
use crate::{actor::guarded::guarded, pace::is_near, WorkerError};
use neuroshard_chain_client::{disputes, ChainAt, ChainError, Heads};
use neuroshard_disputes::cases::ledger::Finding;
use neuroshard_graph::game::Doubt;
use neuroshard_training::priority::Priority;
use neuroshard_types::{
	audit::{AuditPhase, AuditView},
	dispute::{ClaimId, ClaimKind},
	grounds::Grounds,
	run::Work,
	BlockNumber, H256,
};
use std::{future::Future, time::Instant};
use tokio::sync::watch;

/// An attempt to fetch something for an audit ends when this part of the time that is left, as its divisor, is over: there is time for another
/// attempt, and to report.
const ATTEMPTS: BlockNumber = 4;
/// It takes no more blocks than this: others get their turn.
const LONGEST_ATTEMPT: BlockNumber = 40;

impl Verifier {
	/// The audit to work on next: the one whose time is over first.
	pub(super) async fn next_audit(&self, at: &ChainAt) -> Result<Option<AuditView>, ChainError> {
		let now = at.block().number;
		let audits = at.audits_of(&self.me).await?.into_iter();
		let open = audits.filter(|audit| !self.failed_claims.contains(&self.report_on(audit), now));
		let open = open.filter_map(|audit| self.due(&audit, now).map(|until| (until, audit)));
		Ok(open.min_by_key(|(until, _)| *until).map(|(_, audit)| audit))
	}

	/// The block until which there is something to do for an audit, if there is: its sample is missing, or the work is to be disputed, and a
	/// restart or an empty account has kept that from happening.
	fn due(&self, audit: &AuditView, now: BlockNumber) -> Option<BlockNumber> {
		if self.samples.note_of(audit).is_none() {
			return is_sealing(audit, now).then_some(audit.deadline);
		}
		let disputable = now.saturating_add(MARGIN) < audit.closes_at;
		(disputable && self.ledger.finding(&audited(audit)).is_none() && !self.accusations.contains_key(&audited(audit)))
			.then_some(audit.closes_at)
	}

	/// The claim that this account makes with its report.
	fn report_on(&self, audit: &AuditView) -> ClaimId {
		ClaimId { run: audit.run, round: audit.round, kind: ClaimKind::Audit, who: self.me.clone() }
	}

	/// Computes a sample for the auditor to seal, and disputes the work if it is false.
	pub(super) async fn take_sample(&mut self, at: &ChainAt, heads: watch::Receiver<Heads>, audit: &AuditView) -> Result<(), WorkerError> {
		if let Some(sample) = self.conduct.sample(audit.run, audit.round) {
			self.samples.note_sample(audit, Some(sample), at.block().number)?;
			return self.note(audited(audit), Finding::Unknown, audit.closes_at, at.block().number);
		}
		let taken = guarded("an audit", self.audit(at, heads.clone(), audit)).await;
		if let Err(error) = &taken {
			self.samples.note_reach(audit, !error.is_out_of_reach());
			let now = latest(&heads, at.block().number);
			self.failed_claims.note(self.report_on(audit), now, end(audit, now));
		}
		taken
	}

	async fn audit(&mut self, at: &ChainAt, heads: watch::Receiver<Heads>, audit: &AuditView) -> Result<(), WorkerError> {
		let (&AuditView { run, round, step, .. }, claim) = (audit, audited(audit));
		let priority = self.priority_of(at, audit).await?;
		let held = self.take_case(&claim);
		let auditing = async {
			// That a machine has much to do is no sign that something cannot be fetched.
			self.wait_for_room().await?;
			let Some(record) = at.record(run, round).await? else { return Err(gone(audit)) };
			let slow = |seconds| WorkerError::Slow { what: "what is audited".into(), seconds };
			let case = match attempt(heads.clone(), audit, slow, self.case_of(at, &claim, held, priority)).await {
				Err(short @ WorkerError::TooLittleMemory { .. }) => {
					let work = self.revealed(&record, &claim, at).await?;
					let (doubt, sample) = self.audit_out_of_core(at, heads.clone(), audit, (work.as_ref(), short, priority)).await?;
					return Ok((None, work, doubt, sample));
				}
				case => case?,
			};
			let Some(case) = case else { return Err(gone(audit)) };
			let work = self.revealed(&record, &claim, at).await?;
			let case = match &work {
				Some(work) => {
					let before = case.config().and_then(|config| work.residuals(&config.train)).map(|[before, _]| before);
					let slow = |seconds| WorkerError::SlowResidual { root: before.unwrap_or_default(), who: claim.who.clone(), seconds };
					let case = attempt(heads.clone(), audit, slow, self.with_residual_of(at, &claim, case, work)).await;
					if case.as_ref().is_err_and(WorkerError::is_out_of_reach) {
						self.samples.note_withheld(audit);
					}
					case?
				}
				None => case,
			};
			self.samples.note_complete(audit);
			tracing::info!(round, subject = %claim.who, step, "auditing");
			let revealed = work.clone();
			let begun = Instant::now();
			let (case, (doubt, sample)) = Running::start(priority, case, move |case| case.audit(revealed.as_ref(), step))?.done().await?;
			if let Grounds::Work { claim, .. } = case.grounds() {
				let (took, now) = (begun.elapsed(), at.block().number);
				self.samples.pace.note_audit((run, &claim.config), claim.steps, took, priority, now);
			}
			Ok((Some(case), work, doubt, sample))
		};
		// Put off.
		let haste = Haste::Audit { until: if is_sealing(audit, at.block().number) { audit.deadline } else { 0 } };
		let Some((case, work, doubt, sample)) = self.unless_urgent(heads.clone(), haste, auditing).await? else { return Ok(()) };
		self.samples.note_sample(audit, sample, at.block().number)?;
		let finding = match (work, doubt) {
			(None, _) => Finding::Unknown,
			(Some(_), None) => Finding::Right,
			// A check found that before.
			_ if self.ledger.finding(&claim).is_some() || self.accusations.contains_key(&claim) => return Ok(()),
			(Some(work), Some(doubt)) => {
				let Some(case) = case else {
					tracing::warn!(
						round,
						who = %claim.who,
						?doubt,
						"audited work is not what its inner steps give. To dispute it takes more memory than is free: its sample is reported, and others dispute it"
					);
					return self.note(claim, Finding::Unknown, audit.closes_at, at.block().number);
				};
				tracing::warn!(round, who = %claim.who, ?doubt, "audited work is not what its inner steps give: disputing it");
				self.case = Some((claim.clone(), case));
				let call = disputes::challenge_work(run, round, claim.who.clone(), work, doubt);
				self.accuse(claim, call, audit.closes_at);
				return Ok(());
			}
		};
		self.found(finding);
		self.note(claim, finding, audit.closes_at, at.block().number)
	}

	/// What an audit finds, with what does not fit into memory in files. `short` is the error that says what is missing, which is returned where that cannot be.
	async fn audit_out_of_core(
		&self,
		at: &ChainAt,
		heads: watch::Receiver<Heads>,
		audit: &AuditView,
		(work, short, priority): (Option<&Work>, WorkerError, Priority),
	) -> Result<(Option<Doubt>, Option<H256>), WorkerError> {
		let WorkerError::TooLittleMemory { available, .. } = short else { return Err(short) };
		let claim = audited(audit);
		let slow = |seconds| WorkerError::Slow { what: "what is audited".into(), seconds };
		let filed = attempt(heads.clone(), audit, slow, self.filed(at, &claim)).await?;
		let Some(mut filed) = filed else { return Err(short) };
		if let Some(work) = work {
			let before = work.residuals(&filed.judged.config.train).map(|[before, _]| before);
			let slow = |seconds| WorkerError::SlowResidual { root: before.unwrap_or_default(), who: claim.who.clone(), seconds };
			let fetched = attempt(heads, audit, slow, self.with_filed_residual(at, &claim, filed, work)).await;
			if fetched.as_ref().is_err_and(WorkerError::is_out_of_reach) {
				self.samples.note_withheld(audit);
			}
			filed = fetched?;
		}
		self.samples.note_complete(audit);
		tracing::info!(round = audit.round, subject = %claim.who, step = audit.step, "auditing in files: a round takes more memory than is free");
		let (config, steps, begun) = (filed.judged.config.clone(), filed.judged.steps, Instant::now());
		let found = self.audit_in_files(filed, (work.cloned(), audit.step), (available, priority)).await?;
		self.samples.pace.note_audit((audit.run, &config), steps, begun.elapsed(), priority, at.block().number);
		Ok(found)
	}
}

impl Verifier {
	/// Returns the priority of an audit: most of it if its window is near, while training, which costs less when it is late, has the rest. Says so if
	/// it cannot be done in time.
	pub(super) async fn priority_of(&self, at: &ChainAt, audit: &AuditView) -> Result<Priority, WorkerError> {
		let now = at.block().number;
		let (Some(judged), true) = (at.work_claim(audit.run, audit.round, &audit.subject).await?, is_sealing(audit, now)) else {
			return Ok(Priority::Low);
		};
		let gflops = at.provider(&self.me).await?.map_or(0, |provider| u64::from(provider.info.hardware.gflops));
		let takes_ms = self.samples.pace.audit_ms(audit.run, &judged.config, judged.steps, gflops);
		let left_ms = self.samples.pace.blocks_ms(audit.deadline.saturating_sub(now));
		if let Some(left_ms) = left_ms.filter(|left| takes_ms > *left && self.samples.note_too_late(audit)) {
			tracing::warn!(
				round = audit.round,
				subject = %audit.subject,
				"this machine will probably not finish an audit in time: it takes about {} s, and {} s are left. It is tried before anything else",
				takes_ms.div_ceil(1_000),
				left_ms / 1_000
			);
		}
		let beside_ms = self.samples.pace.beside_ms(audit.run, &judged.config, judged.steps);
		Ok(if is_near(takes_ms, beside_ms, left_ms) { Priority::Normal } else { Priority::Low })
	}
}

/// Returns whether a sample that is computed now can be sealed yet.
fn is_sealing(audit: &AuditView, now: BlockNumber) -> bool {
	audit.phase == AuditPhase::Sealing && audit.sealed.is_none() && now < audit.deadline
}

/// The last block in which what is computed for an audit at block `now` is of use: for its sample, or for a dispute.
fn end(audit: &AuditView, now: BlockNumber) -> BlockNumber {
	if is_sealing(audit, now) {
		audit.deadline
	} else {
		audit.closes_at
	}
}

/// The block that an attempt to fetch something for an audit, begun at block `now`, ends with.
fn attempted_until(audit: &AuditView, now: BlockNumber) -> BlockNumber {
	let left = end(audit, now).saturating_sub(now);
	now.saturating_add((left / ATTEMPTS).clamp(1, LONGEST_ATTEMPT))
}

/// Fetches what an audit needs by `work`, if it does so in one attempt: else returns what `slow` says of the seconds that it took.
async fn attempt<T>(
	mut heads: watch::Receiver<Heads>,
	audit: &AuditView,
	slow: impl FnOnce(u64) -> WorkerError,
	work: impl Future<Output = Result<T, WorkerError>>,
) -> Result<T, WorkerError> {
	let (begun, until) = (Instant::now(), attempted_until(audit, latest(&heads, 0)));
	let over = async {
		// Nobody tells of blocks any more while the worker shuts down.
		if heads.wait_for(|heads| heads.best.number >= until).await.is_err() {
			std::future::pending::<()>().await;
		}
	};
	tokio::select! {
		biased;
		done = work => done,
		() = over => Err(slow(begun.elapsed().as_secs())),
	}
}

/// The claim that is audited.
fn audited(audit: &AuditView) -> ClaimId {
	ClaimId { run: audit.run, round: audit.round, kind: ClaimKind::Work, who: audit.subject.clone() }
}

/// There is nothing to audit any more, whatever the chain still asks for.
fn gone(audit: &AuditView) -> WorkerError {
	ChainError::Missing { what: format!("the record of round {} of run {}, which is audited", audit.round, audit.run) }.into()
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::samples::Samples;
	use futures::FutureExt;
	use neuroshard_types::{AccountId, H256};
	use std::future::pending;

	/// An audit to be sealed by block 200.
	fn audit() -> AuditView {
		AuditView {
			run: 1,
			round: 2,
			subject: AccountId::new([1; 32]),
			partner: AccountId::new([2; 32]),
			step: 3,
			phase: AuditPhase::Sealing,
			deadline: 200,
			sealed: None,
			report: None,
			partner_sealed: false,
			partner_report: None,
			closes_at: 1_000,
		}
	}

	/// Returns the error of an attempt that begins at the first of these blocks and never ends by itself, when the second one has come.
	fn never_done(blocks: [BlockNumber; 2], slow: impl FnOnce(u64) -> WorkerError) -> Option<WorkerError> {
		let mut heads = Heads::default();
		heads.best.number = blocks[0];
		let (chain, heads) = watch::channel(heads);
		let audit = audit();
		let mut attempt = std::pin::pin!(attempt(heads, &audit, slow, pending::<Result<(), WorkerError>>()));
		assert!(attempt.as_mut().now_or_never().is_none(), "it has just begun");
		chain.send_modify(|heads| heads.best.number = blocks[1]);
		attempt.as_mut().now_or_never().map(Result::unwrap_err)
	}

	fn slow(seconds: u64) -> WorkerError {
		WorkerError::Slow { what: "what is audited".into(), seconds }
	}

	fn slow_residual(seconds: u64) -> WorkerError {
		WorkerError::SlowResidual { root: H256::zero(), who: AccountId::new([1; 32]), seconds }
	}

	#[tokio::test]
	async fn an_attempt_to_fetch_ends_with_a_quarter_of_the_time_that_is_left_or_after_40_blocks() {
		assert!(never_done([100, 124], slow).is_none());
		assert!(matches!(never_done([100, 125], slow), Some(WorkerError::Slow { .. })));
		// However short that is, it ends before the time is over: no clock counts.
		assert!(matches!(never_done([190, 192], slow_residual), Some(WorkerError::SlowResidual { .. })));
		assert!(matches!(never_done([199, 200], slow), Some(WorkerError::Slow { .. })));
		// Of what is too late to be sealed, until it cannot be disputed any more.
		assert!(never_done([200, 239], slow).is_none());
		assert!(never_done([200, 240], slow).is_some());
		let (_chain, heads) = watch::channel(Heads::default());
		assert_eq!(attempt(heads, &audit(), slow, async { Ok(7) }).await.unwrap(), 7);
	}

	#[test]
	fn only_what_the_audited_account_alone_has_is_out_of_reach_when_it_takes_long() {
		let (base, audit) = (tempfile::tempdir().unwrap(), audit());
		let samples = Samples::open(base.path());
		let reported = |error: WorkerError| {
			samples.note_reach(&audit, !error.is_out_of_reach());
			samples.is_out_of_reach(&audit)
		};
		assert!(!reported(slow(30)), "a slow line");
		assert!(reported(slow_residual(30)), "a subject that holds its residual back");
		assert!(!reported(slow(30)) && reported(WorkerError::NoShardList { dataset: 1, peers: 0 }));
		// A last attempt that is too short to find it missing again changes nothing, until it has come.
		samples.note_withheld(&audit);
		assert!(reported(slow(1)));
		samples.note_complete(&audit);
		assert!(!reported(slow(1)));
	}
}
