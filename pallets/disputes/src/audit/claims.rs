//! Samples as claims: what they are judged by, and what verdicts do to them.

use crate::{Audit, Audits, Config, Error, Games, Pallet};
use neuroshard_graph::game::open_sample;
use neuroshard_types::{
	audit::AuditClaim,
	dispute::{ClaimId, ClaimKind, Claims, WorkClaim},
	offence::Offence,
	traits::Providers,
	AccountId, RoundIndex, RunId,
};
use sp_runtime::DispatchResult;

/// Returns the offence of an account whose claim fell.
const fn offence_of(kind: ClaimKind) -> Offence {
	match kind {
		ClaimKind::Work | ClaimKind::Answer(_) => Offence::InvalidProof,
		ClaimKind::Attestation | ClaimKind::Audit => Offence::Byzantine,
	}
}

impl<T: Config> Pallet<T> {
	/// Returns the grounds that the sample of `auditor` is judged by; `None` if it reported none, its audit is closed, or the record is gone.
	pub(crate) fn sample_of(run: RunId, round: RoundIndex, auditor: &AccountId) -> Option<AuditClaim> {
		let (claim, audit) = Self::audit_by(run, round, auditor)?;
		let sample = audit.part(auditor)?.sample()?;
		// Who samples work has computed all of it alone.
		let claim = WorkClaim { quorum: None, ..T::Claims::work(run, round, &claim.who)? };
		Some(AuditClaim { claim, step: audit.step, sample })
	}

	/// See [`crate::Call::challenge_audit`].
	pub(crate) fn do_challenge_audit(payer: AccountId, claim: ClaimId) -> DispatchResult {
		let challenger = T::Providers::acts_for(payer.clone());
		let grounds = Self::disputable(&claim, &challenger)?;
		let AuditClaim { step, sample, .. } = Self::sample_of(claim.run, claim.round, &claim.who).ok_or(Error::<T>::NoClaim)?;
		let position = grounds.judge(|setting| open_sample(setting, step, sample.0)).map_err(Error::<T>::from)?;
		Self::open(claim, challenger, payer, None, position, &grounds)
	}

	/// Returns whether this claim was proven false, or not defended.
	pub(crate) fn is_condemned(claim: &ClaimId) -> bool {
		match claim.kind {
			ClaimKind::Audit => Self::audit_by(claim.run, claim.round, &claim.who)
				.and_then(|(_, audit)| Some(audit.part(&claim.who)?.condemned))
				.unwrap_or(false),
			ClaimKind::Work | ClaimKind::Attestation => T::Claims::is_condemned(claim),
			ClaimKind::Answer(_) => Self::is_answer_condemned(claim),
		}
	}

	/// The audit that `claim` belongs to, as the work or as a sample, with the claim about the work.
	pub(crate) fn audit_of(claim: &ClaimId) -> Option<(ClaimId, Audit)> {
		match claim.kind {
			ClaimKind::Work => Audits::<T>::get(claim).map(|audit| (claim.clone(), audit)),
			ClaimKind::Audit => Self::audit_by(claim.run, claim.round, &claim.who),
			ClaimKind::Attestation | ClaimKind::Answer(_) => None,
		}
	}

	/// Returns whether `who` was drawn to audit `claim`, or the work that `claim` is a sample of.
	pub(crate) fn is_drawn_for(claim: &ClaimId, who: &AccountId) -> bool {
		if let ClaimKind::Answer(_) = claim.kind {
			return Self::auditor_of_answer(claim).as_ref() == Some(who);
		}
		Self::audit_of(claim).is_some_and(|(_, audit)| audit.part(who).is_some())
	}

	/// A game about `claim` has proven it false, or it was not defended, by the fault of `culprit`, and the game has left. The stake is lost already.
	pub(crate) fn condemn(claim: &ClaimId, culprit: &AccountId) {
		if let (ClaimKind::Audit, Some((of, mut audit))) = (claim.kind, Self::audit_by(claim.run, claim.round, &claim.who)) {
			if let Some(part) = audit.part_mut(&claim.who) {
				part.condemned = true;
			}
			Audits::<T>::insert(of, audit);
		}
		Self::condemn_answer(claim);
		T::Claims::condemn(claim, culprit);
		T::Providers::punish(culprit, offence_of(claim.kind));
		Self::drop_verifier(culprit);
	}

	/// Among the auditors that were drawn for `claim`, or for the work that it is a sample of, and have an open game about it, the one that
	/// opened first.
	pub(crate) fn first_auditor(claim: &ClaimId) -> Option<AccountId> {
		if let ClaimKind::Answer(_) = claim.kind {
			return Self::auditor_of_answer(claim).filter(|auditor| Games::<T>::contains_key(claim, auditor));
		}
		let (_, audit) = Self::audit_of(claim)?;
		let opened = audit.parts.into_iter().filter_map(|part| Some((Games::<T>::get(claim, &part.auditor)?.opened_at(), part.auditor)));
		opened.min().map(|(_, auditor)| auditor)
	}
}
