//! Next step of an auditor. Pure.

use super::look::{Efforts, Longest, TooLarge};
use crate::obstacle::Obstacle;
use neuroshard_chain_client::{audits, Call};
use neuroshard_disputes::cases::reports::Note;
use neuroshard_types::{
	audit::{AuditPhase, AuditView, Report, MAX_VERIFIERS},
	provider::{ProviderStatus, ProviderView, Role},
	AccountId, Balance, BlockNumber, RoundIndex, RunId, H256,
};

/// So shortly before a deadline, in blocks, nothing is waited for any more.
pub(super) const LAST_CALL: BlockNumber = 4;

/// An extrinsic of an auditor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
	/// Be drawn.
	Enroll,
	/// Be drawn no more.
	Resign,
	/// Commit to a report.
	Seal { run: RunId, round: RoundIndex, sealed: H256 },
	/// Open it.
	Report { run: RunId, round: RoundIndex, salt: [u8; 32], report: Report },
	/// Dispute the partner's sample.
	Challenge { run: RunId, round: RoundIndex, who: AccountId },
}

impl Step {
	/// The extrinsic.
	pub(super) fn call(&self) -> Call {
		match self.clone() {
			Self::Enroll => audits::enroll(),
			Self::Resign => audits::resign(),
			Self::Seal { run, round, sealed } => audits::seal(run, round, sealed),
			Self::Report { run, round, salt, report } => audits::report(run, round, salt, report),
			Self::Challenge { run, round, who } => audits::challenge(run, round, who),
		}
	}
}

/// Facts that decide whether an account is to be drawn.
pub(super) struct Standing<'a> {
	/// The account as a provider.
	pub(super) provider: &'a ProviderView,
	/// Accounts that can be drawn.
	pub(super) verifiers: usize,
	/// True if it is one of them.
	pub(super) enrolled: bool,
	/// True if the chain draws anybody.
	pub(super) audited: bool,
	/// First block in which it enrolls again, if it has to rest; see [`super::place::Place`].
	pub(super) rests: Option<BlockNumber>,
	/// True if its operator asked to leave.
	pub(super) leaving: bool,
	/// Its free balance, in planck.
	pub(super) free: Balance,
	/// Part of it that must stay for the fees of disputes about its reports, in planck; see [`neuroshard_chain_client::ChainAt::reserve`].
	pub(super) reserve: Balance,
	/// Efforts of audits that it can be drawn for on its machine.
	pub(super) efforts: Efforts,
	/// True if a dispute is open that it opened: the bond comes back with it.
	pub(super) challenging: bool,
}

impl Standing<'_> {
	/// Returns the step to have it drawn, or drawn no more, if there is one to take. What it was drawn for is done all the same.
	pub(super) fn enrolment(&self) -> Option<Step> {
		let room = u32::try_from(self.verifiers).is_ok_and(|verifiers| verifiers < MAX_VERIFIERS);
		match (self.enrolled, self.offers() && !self.is_short() && self.too_slow_for().is_none()) {
			(false, true) if room && self.rests.is_none() && self.efforts.too_large.is_none() => Some(Step::Enroll),
			(true, false) => Some(Step::Resign),
			_ => None,
		}
	}

	/// Returns the obstacle that keeps it from being drawn, as far as nobody else reports that.
	pub(super) fn obstacle(&self) -> Option<Obstacle> {
		let Self { free, reserve, .. } = *self;
		match self.rests.filter(|_| !self.enrolled) {
			_ if !self.offers() => None,
			_ if self.is_short() => Some(Obstacle::ShortForAudits { free, reserve }),
			_ if self.too_slow_for().is_some() => {
				self.too_slow_for().map(|Longest { run, takes_ms, has_ms }| Obstacle::SlowForAudits { run, takes_ms, has_ms })
			}
			_ if self.too_large_for().is_some() => {
				self.too_large_for().map(|TooLarge { run, needed, available }| Obstacle::LargeForAudits { run, needed, available })
			}
			rests => rests.map(|until| Obstacle::OffTheList { until }),
		}
	}

	/// Returns whether the chain takes its seals and reports, whatever became of its role since it was drawn.
	pub(super) fn has_say(&self) -> bool {
		self.provider.slashable() > 0
	}

	/// Returns whether the chain lets it enroll, and its operator wants that.
	fn offers(&self) -> bool {
		let may = self.provider.status == ProviderStatus::Active && self.provider.info.roles.contains(Role::Verifier);
		self.audited && may && !self.leaving
	}

	/// The audit that it could be drawn for and not do in time, if there is one. Whoever is on the list stays there somewhat longer, so that an estimate that
	/// changes a little changes nothing.
	fn too_slow_for(&self) -> Option<Longest> {
		let most = |takes: u64| if self.enrolled { takes } else { takes.saturating_add(takes / 4) };
		self.efforts.longest.filter(|Longest { takes_ms, has_ms, .. }| most(*takes_ms) > *has_ms)
	}

	/// The audit that it could be drawn for and has no memory for. Whoever is on the list stays there: memory that is taken now may be free by then.
	fn too_large_for(&self) -> Option<TooLarge> {
		self.efforts.too_large.filter(|_| !self.enrolled)
	}

	/// Returns whether a dispute could cost more than the account has: who cannot pay for a move loses its stake. The bond of a dispute that it opened
	/// itself, as it must, is no reason to leave the list.
	fn is_short(&self) -> bool {
		self.free < self.reserve && !(self.enrolled && self.challenging)
	}
}

/// Returns whether something is asked of this auditor, now or after the phase at hand.
pub(super) fn is_open(audit: &AuditView) -> bool {
	match audit.phase {
		AuditPhase::Sealing => true,
		AuditPhase::Reporting => audit.sealed.is_some() && audit.report.is_none(),
		AuditPhase::Waiting => false,
	}
}

/// Returns whether the next block is still one in which what an audit asks for is accepted.
pub(super) fn is_in_time(audit: &AuditView, now: BlockNumber) -> bool {
	now < audit.deadline
}

/// Returns whether what is missing for a report will not come in time any more.
pub(super) fn is_last_call(audit: &AuditView, now: BlockNumber) -> bool {
	audit.phase == AuditPhase::Sealing && is_in_time(audit, now) && audit.deadline <= now.saturating_add(LAST_CALL)
}

/// Returns the step to send in an audit at block `now`, with what was noted for it, and with the audit as the finalized block has it.
pub(super) fn answer(audit: &AuditView, note: &Note, finalized: Option<&AuditView>, sealed: H256, now: BlockNumber) -> Option<Step> {
	let AuditView { run, round, .. } = *audit;
	match audit.phase {
		AuditPhase::Sealing if audit.sealed.is_none() && is_in_time(audit, now) => Some(Step::Seal { run, round, sealed }),
		AuditPhase::Reporting if audit.report.is_none() && audit.sealed == Some(sealed) && is_in_time(audit, now) => {
			// On another fork the partner could still seal what it reads here.
			let closed = finalized.is_some_and(|then| then.phase == AuditPhase::Reporting && then.sealed == Some(sealed));
			let Note { salt, report, .. } = *note;
			(closed || audit.deadline <= now.saturating_add(LAST_CALL)).then_some(Step::Report { run, round, salt, report })
		}
		_ => {
			let (Some(Report::Sample(own)), Some(Report::Sample(other))) = (audit.report, audit.partner_report) else { return None };
			let open = !note.challenged && now.saturating_add(1) < audit.closes_at;
			let differs = note.report == Report::Sample(own) && own != other;
			(open && differs).then(|| Step::Challenge { run, round, who: audit.partner.clone() })
		}
	}
}

#[cfg(test)]
pub(super) mod tests;
