//! What a worker that cheats on purpose says in its own disputes.

use super::Verifier;
use crate::verify::case::CaseError;
use neuroshard_types::dispute::{ClaimId, WorkClaim};

impl Verifier {
	/// What this worker does wrong on purpose, if the claim is its own.
	pub(super) fn own_fault(&self, claim: &ClaimId) -> Option<&crate::faults::Fault> {
		self.fault.as_ref().filter(|_| claim.who == self.me)
	}

	/// The claim as the one who cheated with it tells it: with the windows that it read.
	pub(super) fn told_by(&self, claim: &ClaimId, judged: WorkClaim) -> WorkClaim {
		match self.own_fault(claim) {
			Some(fault) => WorkClaim { seed: fault.window_seed(claim.run, claim.round, judged.seed), ..judged },
			None => judged,
		}
	}

	/// The mistake that was made on purpose.
	pub(super) fn mistake(&self, claim: &ClaimId, judged: &WorkClaim) -> Result<Option<neuroshard_graph::trace::Mistake>, CaseError> {
		let Some(fault) = self.own_fault(claim) else { return Ok(None) };
		Ok(fault.mistake(claim.run, claim.round, &judged.config.model, &judged.config.train)?)
	}
}
