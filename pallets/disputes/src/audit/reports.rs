//! Actions of auditors: they seal, then report.

use super::Audit;
use crate::{Audits, Config, Drawn, Error, Event, Pallet, ReportTime};
use frame_support::{ensure, traits::Get};
use frame_system::pallet_prelude::BlockNumberFor;
use neuroshard_types::{
	audit::{seal_report, AuditPhase, Report},
	dispute::{ClaimId, ClaimKind, Claims},
	traits::Providers,
	AccountId, RoundIndex, RunId, H256,
};
use sp_runtime::DispatchResult;

impl<T: Config> Pallet<T> {
	/// The audit of a round that `auditor` was drawn for, with the claim that it is of.
	pub(crate) fn audit_by(run: RunId, round: RoundIndex, auditor: &AccountId) -> Option<(ClaimId, Audit)> {
		let who = Drawn::<T>::get(auditor, (run, round))?;
		let claim = ClaimId { run, round, kind: ClaimKind::Work, who };
		let audit = Audits::<T>::get(&claim)?;
		Some((claim, audit))
	}

	/// Returns whether `auditor` has enough at stake to answer for what it reports, as much as the least provider. What a verifier needs now does not
	/// matter: others could take the role from an auditor that was drawn, by bonding so much that it is demoted.
	pub(crate) fn has_enough_at_stake(auditor: &AccountId) -> bool {
		T::Providers::slashable(auditor) >= T::LeastStake::get()
	}

	/// Whoever has too little at stake has no say, not even about what cannot be had.
	pub(crate) fn ensure_has_say(auditor: &AccountId) -> Result<(), Error<T>> {
		ensure!(Self::has_enough_at_stake(auditor), Error::<T>::TooLittleAtStake);
		Ok(())
	}

	/// The audit of which `auditor` may seal a report now.
	pub(crate) fn to_seal(auditor: &AccountId, run: RunId, round: RoundIndex) -> Result<(ClaimId, Audit), Error<T>> {
		let (claim, audit) = Self::audit_by(run, round, auditor).ok_or(Error::<T>::NotDrawn)?;
		let part = audit.part(auditor).ok_or(Error::<T>::NotDrawn)?;
		ensure!(part.sealed.is_none(), Error::<T>::AlreadySealed);
		ensure!(audit.phase(Self::now()) == AuditPhase::Sealing, Error::<T>::SealingOver);
		Self::ensure_has_say(auditor)?;
		Ok((claim, audit))
	}

	/// The audit of which `auditor` may open this report now.
	pub(crate) fn to_report(
		auditor: &AccountId,
		run: RunId,
		round: RoundIndex,
		salt: &[u8; 32],
		report: &Report,
	) -> Result<(ClaimId, Audit), Error<T>> {
		let (claim, audit) = Self::audit_by(run, round, auditor).ok_or(Error::<T>::NotDrawn)?;
		let part = audit.part(auditor).ok_or(Error::<T>::NotDrawn)?;
		let sealed = part.sealed.ok_or(Error::<T>::NothingSealed)?;
		ensure!(part.report.is_none(), Error::<T>::AlreadyReported);
		let phase = audit.phase(Self::now());
		ensure!(phase != AuditPhase::Sealing, Error::<T>::StillSealing);
		ensure!(phase == AuditPhase::Reporting, Error::<T>::ReportingOver);
		let genesis = frame_system::Pallet::<T>::block_hash(BlockNumberFor::<T>::default());
		ensure!(seal_report(genesis, run, round, auditor, salt, report) == sealed, Error::<T>::SealBroken);
		Self::ensure_has_say(auditor)?;
		Ok((claim, audit))
	}

	/// See [`crate::Call::seal_audit`].
	pub(crate) fn do_seal(auditor: AccountId, run: RunId, round: RoundIndex, sealed: H256) -> DispatchResult {
		let (claim, mut audit) = Self::to_seal(&auditor, run, round)?;
		audit.part_mut(&auditor).ok_or(Error::<T>::NotDrawn)?.sealed = Some(sealed);
		if audit.parts.iter().all(|part| part.sealed.is_some()) {
			audit.report_by = Self::now().saturating_add(ReportTime::<T>::get());
		}
		Audits::<T>::insert(claim, audit);
		Self::deposit_event(Event::AuditSealed { run, round, auditor, sealed });
		Ok(())
	}

	/// See [`crate::Call::report_audit`].
	pub(crate) fn do_report(auditor: AccountId, run: RunId, round: RoundIndex, salt: &[u8; 32], report: Report) -> DispatchResult {
		let (claim, mut audit) = Self::to_report(&auditor, run, round, salt, &report)?;
		if let Report::Sample(_) = report {
			// From here to the close, the auditor answers for it with its stake.
			T::Providers::open_claim(&auditor)?;
		}
		audit.part_mut(&auditor).ok_or(Error::<T>::NotDrawn)?.report = Some(report);
		if report == Report::TooSlow {
			// It is to enroll again when its machine is fast enough. Until the close it would be drawn for more, in the place of others.
			Self::drop_verifier(&auditor);
		}
		let unavailable = audit.is_unavailable();
		Audits::<T>::insert(&claim, audit);
		Self::deposit_event(Event::AuditReported { run, round, auditor, report });
		if unavailable {
			T::Claims::exclude(&claim);
		}
		Ok(())
	}
}
