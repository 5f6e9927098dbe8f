//! Audits: what is asked of an auditor, and the calls that answer.

use crate::{
	call::{Call, Signature},
	client::ChainAt,
	error::ChainError,
	query::View,
};
use neuroshard_types::{
	audit::{AuditClaim, AuditTerms, AuditView, Report},
	dispute::PAGE,
	AccountId, RoundIndex, RunId, H256,
};
use subxt::metadata::Metadata;

const PALLET: &str = "Disputes";
const ENROLL: Signature<()> = Signature::new(PALLET, "enroll");
const RESIGN: Signature<()> = Signature::new(PALLET, "resign");
const SEAL: Signature<(RunId, RoundIndex, H256)> = Signature::new(PALLET, "seal_audit");
const REPORT: Signature<(RunId, RoundIndex, [u8; 32], Report)> = Signature::new(PALLET, "report_audit");
const CHALLENGE: Signature<(RunId, RoundIndex, AccountId)> = Signature::new(PALLET, "challenge_audit");

const VERIFIERS: View<(), Vec<AccountId>> = View::new(PALLET, "verifiers");
/// Run and round of the last audit of a page.
type AuditCursor = (RunId, RoundIndex);

const AUDITS_OF: View<(AccountId, Option<AuditCursor>), Vec<AuditView>> = View::new(PALLET, "audits_of");
const AUDIT_CLAIM: View<(RunId, RoundIndex, AccountId), Option<AuditClaim>> = View::new(PALLET, "audit_claim");
const TERMS: View<(), AuditTerms> = View::new(PALLET, "audit_terms");

/// Checks that the chain has these calls and view functions with the same types.
///
/// # Errors
/// The first one that is missing or differs.
pub(super) fn check(metadata: &Metadata) -> Result<(), ChainError> {
	ENROLL.check(metadata)?;
	RESIGN.check(metadata)?;
	SEAL.check(metadata)?;
	REPORT.check(metadata)?;
	CHALLENGE.check(metadata)?;
	VERIFIERS.check(metadata)?;
	AUDITS_OF.check(metadata)?;
	AUDIT_CLAIM.check(metadata)?;
	TERMS.check(metadata)
}

/// Has the caller drawn for audits, which an active provider with the verifier role can be.
pub fn enroll() -> Call {
	ENROLL.with(())
}

/// Has the caller drawn no more. Audits that it was drawn for stay.
pub fn resign() -> Call {
	RESIGN.with(())
}

/// Commits to a report.
pub fn seal(run: RunId, round: RoundIndex, sealed: H256) -> Call {
	SEAL.with((run, round, sealed))
}

/// Opens what was sealed.
pub fn report(run: RunId, round: RoundIndex, salt: [u8; 32], report: Report) -> Call {
	REPORT.with((run, round, salt, report))
}

/// Disputes the sample that auditor `who` reported.
pub fn challenge(run: RunId, round: RoundIndex, who: AccountId) -> Call {
	CHALLENGE.with((run, round, who))
}

impl ChainAt {
	/// Accounts that can be drawn for audits.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn verifiers(&self) -> Result<Vec<AccountId>, ChainError> {
		self.view(&VERIFIERS, ()).await
	}

	/// All audits that `who` was drawn for and that are not closed, by run and round ascending.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn audits_of(&self, who: &AccountId) -> Result<Vec<AuditView>, ChainError> {
		let mut audits = self.pages(&AUDITS_OF, PAGE, |last| (who.clone(), last.map(|last| (last.run, last.round)))).await?;
		audits.sort_by_key(|audit| (audit.run, audit.round));
		Ok(audits)
	}

	/// Returns the grounds that the sample of auditor `who` is judged by; `None` if it reported none.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn audit_claim(&self, run: RunId, round: RoundIndex, who: &AccountId) -> Result<Option<AuditClaim>, ChainError> {
		self.view(&AUDIT_CLAIM, (run, round, who.clone())).await
	}

	/// Returns the rules that hold for all audits.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn audit_terms(&self) -> Result<AuditTerms, ChainError> {
		self.view(&TERMS, ()).await
	}
}
