//! What a worker that cheats on purpose says in its own disputes.

use super::Verifier;
use crate::cases::case::CaseError;
use neuroshard_types::{
	audit::AuditView,
	dispute::{ClaimId, ClaimKind, WorkClaim},
	H256,
};

impl Verifier {
	/// What this worker does wrong on purpose, if the claim is its own.
	pub(super) fn own_fault(&self, claim: &ClaimId) -> Option<&crate::faults::Fault> {
		self.fault.as_ref().filter(|_| claim.who == self.me)
	}

	/// The claim as the one who cheated with it tells it: with the windows that it read.
	pub(super) fn told_by(&self, claim: &ClaimId, judged: WorkClaim) -> WorkClaim {
		match self.own_fault(claim).filter(|_| claim.kind == ClaimKind::Work) {
			Some(fault) => WorkClaim { seed: fault.window_seed(claim.run, claim.round, judged.seed), ..judged },
			None => judged,
		}
	}

	/// The mistake that was made on purpose.
	pub(super) fn mistake(&self, claim: &ClaimId, judged: &WorkClaim) -> Result<Option<neuroshard_graph::trace::Mistake>, CaseError> {
		let Some(fault) = self.own_fault(claim).filter(|_| claim.kind == ClaimKind::Work) else { return Ok(None) };
		Ok(fault.mistake(claim.run, claim.round, &judged.config.model, &judged.config.train)?)
	}

	/// What this worker reports in an audit instead of running the work again, if it is lazy on purpose.
	pub(super) fn made_up_sample(&self, audit: &AuditView) -> Option<H256> {
		self.fault.as_ref().and_then(|fault| fault.made_up_sample(audit.run, audit.round))
	}
}
