//! Audits: running again the work that this account was drawn to audit, for the sample and to dispute what is false.

use super::{
	checks::MARGIN,
	compute::{Haste, Running},
	games::FETCHING,
	latest, Verifier,
};
use crate::{
	cases::ledger::Finding,
	run::{
		actor::{blocking::within, guarded::guarded},
		pace::is_near,
		WorkerError,
	},
	train::priority::Priority,
};
use neuroshard_chain_client::{disputes, ChainAt, ChainError, Heads};
use neuroshard_types::{
	audit::{AuditPhase, AuditView},
	dispute::{ClaimId, ClaimKind},
	grounds::Grounds,
	BlockNumber,
};
use std::time::Instant;
use tokio::sync::watch;

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
		if self.desk.note_of(audit).is_none() {
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
		#[cfg(any(feature = "faults", test))]
		if let Some(sample) = self.made_up_sample(audit) {
			self.desk.note_sample(audit, Some(sample), at.block().number)?;
			return self.note(audited(audit), Finding::Unknown, audit.closes_at, at.block().number);
		}
		let taken = guarded("an audit", self.audit(at, heads.clone(), audit)).await;
		if let Err(error) = &taken {
			self.desk.note_reach(audit, !error.is_out_of_reach());
			let now = latest(&heads, at.block().number);
			let until = if is_sealing(audit, now) { audit.deadline } else { audit.closes_at };
			self.failed_claims.note(self.report_on(audit), now, until);
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
			let case = within(FETCHING, "what is audited", self.case_of(at, &claim, held, priority)).await??;
			let Some(case) = case else { return Err(gone(audit)) };
			let work = self.revealed(&record, &claim, at).await?;
			let case = match &work {
				Some(work) => within(FETCHING, "what is audited", self.with_residual_of(at, &claim, case, work)).await??,
				None => case,
			};
			self.desk.note_reach(audit, true);
			tracing::info!(round, subject = %claim.who, step, "auditing");
			let revealed = work.clone();
			let begun = Instant::now();
			let (case, (doubt, sample)) = Running::start(priority, case, move |case| case.audit(revealed.as_ref(), step))?.done().await?;
			if let Grounds::Work { claim, .. } = case.grounds() {
				let (took, now) = (begun.elapsed(), at.block().number);
				self.desk.pace.note_audit((run, &claim.config), claim.steps, took, priority, now);
			}
			Ok((case, work, doubt, sample))
		};
		// Put off.
		let haste = Haste::Audit { until: if is_sealing(audit, at.block().number) { audit.deadline } else { 0 } };
		let Some((case, work, doubt, sample)) = self.unless_urgent(heads, haste, auditing).await? else { return Ok(()) };
		self.desk.note_sample(audit, sample, at.block().number)?;
		let finding = match (work, doubt) {
			(None, _) => Finding::Unknown,
			(Some(_), None) => Finding::Right,
			// A check found that before.
			_ if self.ledger.finding(&claim).is_some() || self.accusations.contains_key(&claim) => return Ok(()),
			(Some(work), Some(doubt)) => {
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
}

impl Verifier {
	/// How much of the machine an audit gets: most of it if its window is near, while training, which costs less when it is late, has the rest. Says so if
	/// it cannot be done in time.
	pub(super) async fn priority_of(&self, at: &ChainAt, audit: &AuditView) -> Result<Priority, WorkerError> {
		let now = at.block().number;
		let (Some(judged), true) = (at.work_claim(audit.run, audit.round, &audit.subject).await?, is_sealing(audit, now)) else {
			return Ok(Priority::Low);
		};
		let gflops = at.provider(&self.me).await?.map_or(0, |provider| u64::from(provider.info.hardware.gflops));
		let takes_ms = self.desk.pace.audit_ms(audit.run, &judged.config, judged.steps, gflops);
		let left_ms = self.desk.pace.blocks_ms(audit.deadline.saturating_sub(now));
		if let Some(left_ms) = left_ms.filter(|left| takes_ms > *left && self.desk.note_too_late(audit)) {
			tracing::warn!(
				round = audit.round,
				subject = %audit.subject,
				"this machine will probably not finish an audit in time: it takes about {} s, and {} s are left. It is tried before anything else",
				takes_ms.div_ceil(1_000),
				left_ms / 1_000
			);
		}
		let beside_ms = self.desk.pace.beside_ms(audit.run, &judged.config, judged.steps);
		Ok(if is_near(takes_ms, beside_ms, left_ms) { Priority::Normal } else { Priority::Low })
	}
}

/// Whether a sample that is computed now can be sealed yet.
fn is_sealing(audit: &AuditView, now: BlockNumber) -> bool {
	audit.phase == AuditPhase::Sealing && audit.sealed.is_none() && now < audit.deadline
}

/// The claim that is audited.
fn audited(audit: &AuditView) -> ClaimId {
	ClaimId { run: audit.run, round: audit.round, kind: ClaimKind::Work, who: audit.subject.clone() }
}

/// There is nothing to audit any more, whatever the chain still asks for.
fn gone(audit: &AuditView) -> WorkerError {
	ChainError::Missing { what: format!("the record of round {} of run {}, which is audited", audit.round, audit.run) }.into()
}
