//! End of audits.

use super::{Audit, MISSED_POINTS};
use crate::{Audits, Closings, ClosingsSpan, Config, Dockets, Drawn, Event, Pallet, WeightInfo};
use frame_support::weights::Weight;
use neuroshard_types::{
	audit::Report,
	dispute::{ClaimId, ClaimKind, Claims},
	proof::ProofKind,
	provider::Role,
	traits::{Providers, WorkCredits},
};

/// Most audits that are closed in one block; the rest follows in the next blocks.
pub(crate) const MAX_CLOSED: u32 = 16;

impl<T: Config> Pallet<T> {
	/// Closes audits whose time has come, oldest first. Returns the weight.
	pub(crate) fn close_due() -> Weight {
		let (now, mut span) = (Self::now(), ClosingsSpan::<T>::get());
		let mut closed = 0u32;
		while let Some(number) = span.oldest().filter(|_| closed < MAX_CLOSED) {
			if let Some(claim) = Closings::<T>::get(number) {
				match Audits::<T>::get(&claim) {
					Some(audit) if now < audit.closes_at => break,
					Some(audit) if Self::is_disputed(&claim, &audit) => Audits::<T>::insert(&claim, Audit { overdue: true, ..audit }),
					Some(audit) => Self::close(&claim, audit),
					None => {}
				}
			}
			Closings::<T>::remove(number);
			span.pass();
			closed = closed.saturating_add(1);
		}
		if closed > 0 {
			ClosingsSpan::<T>::put(span);
		}
		T::WeightInfo::close_idle().saturating_add(T::WeightInfo::close().saturating_mul(closed.into()))
	}

	/// Closes the audit that `claim` belongs to, as the work or as a sample, if it has only waited for a game about `claim`.
	pub(crate) fn close_overdue(claim: &ClaimId) {
		let found = Self::audit_of(claim).filter(|(claim, audit)| audit.overdue && !Self::is_disputed(claim, audit));
		if let Some((claim, audit)) = found {
			Self::close(&claim, audit);
		}
	}

	/// Returns whether a game about the work or about a sample is open.
	pub(crate) fn is_disputed(claim: &ClaimId, audit: &Audit) -> bool {
		let sample = |auditor| ClaimId { kind: ClaimKind::Audit, who: auditor, ..claim.clone() };
		Dockets::<T>::contains_key(claim) || audit.parts.iter().any(|part| Dockets::<T>::contains_key(sample(part.auditor.clone())))
	}

	/// Pays, notes who has not worked, and forgets the audit.
	fn close(claim: &ClaimId, audit: Audit) {
		let (mut paid, mut missed) = (audit.paid(), audit.missed());
		// Who has been condemned meanwhile has lost all that was pending.
		paid.retain(Self::has_enough_at_stake);
		// Who proves the work false before the sampled step may have no sample: a state that is not finite is none.
		if T::Claims::is_condemned(claim) {
			missed.clear();
		}
		for auditor in &paid {
			T::Credits::credit(auditor, ProofKind::Training, Role::Verifier, audit.units);
			T::Providers::note_success(auditor);
		}
		for auditor in &missed {
			T::Providers::note_failure(auditor, MISSED_POINTS);
			Self::drop_verifier(auditor);
		}
		for part in &audit.parts {
			match part.report {
				Some(Report::TooSlow) => {}
				Some(_) => T::Providers::note_audit_reported(&part.auditor),
				None if missed.contains(&part.auditor) => T::Providers::note_audit_missed(&part.auditor, audit.drawn_at),
				None => {}
			}
			if part.sample().is_some() {
				T::Providers::close_claim(&part.auditor);
			}
			Drawn::<T>::remove(&part.auditor, (claim.run, claim.round));
		}
		Audits::<T>::remove(claim);
		let ClaimId { run, round, who: subject, .. } = claim.clone();
		Self::deposit_event(Event::AuditClosed { run, round, subject, units: audit.units, paid, missed });
	}
}
