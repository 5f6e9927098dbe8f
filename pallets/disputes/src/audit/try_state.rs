//! Invariants of what is stored of audits.

use crate::{Audits, Closings, ClosingsSpan, Config, Drawn, Pallet, Undrawn, UndrawnSpan, Verifiers};
use alloc::{collections::BTreeMap, vec::Vec};
use frame_support::ensure;
use neuroshard_types::{
	audit::Report,
	dispute::{ClaimId, ClaimKind},
	span::Span,
	AccountId,
};
use sp_runtime::TryRuntimeError;

impl<T: Config> Pallet<T> {
	/// Samples of `who` whose audits are open: claims that its stake answers for.
	pub fn open_samples(who: &AccountId) -> u32 {
		let audits = Drawn::<T>::iter_key_prefix(who).filter_map(|(run, round)| Self::audit_by(run, round, who));
		let samples = audits.filter(|(_, audit)| audit.part(who).is_some_and(|part| part.sample().is_some()));
		u32::try_from(samples.count()).unwrap_or(u32::MAX)
	}

	/// Checks every invariant of audits and names the first that is broken.
	pub(crate) fn audits_are_sound() -> Result<(), TryRuntimeError> {
		let verifiers = Verifiers::<T>::get();
		ensure!(verifiers.is_sorted_by(|a, b| a.account < b.account), "verifiers are out of order, or twice on their list");
		ensure!(verifiers.iter().all(|one| one.until.is_none_or(|until| one.since <= until)), "a verifier resigned before it enrolled");
		let epochs = entries(UndrawnSpan::<T>::get(), Undrawn::<T>::iter().collect())?;
		ensure!(epochs.is_sorted_by_key(|noted| noted.epoch), "rounds are drawn out of order");
		Self::every_audit_has_its_close()?;
		Self::auditors_are_those_of_the_audits()
	}

	/// Every audit waits for its close once, or for a game.
	fn every_audit_has_its_close() -> Result<(), TryRuntimeError> {
		let closings = entries(ClosingsSpan::<T>::get(), Closings::<T>::iter().collect())?;
		let mut waiting = BTreeMap::<ClaimId, ()>::new();
		let mut last = 0;
		for claim in closings {
			let audit = Audits::<T>::get(&claim).ok_or("an audit was forgotten before its close")?;
			ensure!(last <= audit.closes_at, "audits close out of order");
			last = audit.closes_at;
			ensure!(waiting.insert(claim, ()).is_none(), "an audit closes twice");
		}
		for (claim, audit) in Audits::<T>::iter() {
			ensure!(waiting.contains_key(&claim) != audit.overdue, "an audit never closes, or is overdue before its time");
			ensure!(!audit.overdue || Self::is_disputed(&claim, &audit), "an audit is open past its close without a game");
			ensure!(!audit.overdue || audit.closes_at <= Self::now(), "an audit is overdue before its close");
		}
		Ok(())
	}

	/// Auditors are two for each audit, neither the subject, and no others are listed. Nobody reports what it has not sealed.
	fn auditors_are_those_of_the_audits() -> Result<(), TryRuntimeError> {
		let mut parts = 0usize;
		for (claim, audit) in Audits::<T>::iter() {
			ensure!(claim.kind == ClaimKind::Work, "something else than work is audited");
			ensure!(audit.drawn_at <= audit.seal_by && audit.report_by <= audit.closes_at, "an audit has no time");
			let [first, second] = &audit.parts;
			ensure!(first.auditor != second.auditor, "an auditor is its own partner");
			for part in &audit.parts {
				ensure!(part.auditor != claim.who, "an account audits its own work");
				let drawn = Drawn::<T>::get(&part.auditor, (claim.run, claim.round));
				ensure!(drawn.as_ref() == Some(&claim.who), "an auditor is listed for another claim");
				ensure!(part.report.is_none() || part.sealed.is_some(), "a report was never sealed");
				ensure!(!part.condemned || matches!(part.report, Some(Report::Sample(_))), "what fell was never reported");
				parts = parts.saturating_add(1);
			}
		}
		ensure!(Drawn::<T>::iter_keys().count() == parts, "an auditor without an audit");
		Ok(())
	}
}

/// The entries of a queue in their order, if they have the numbers of `span`.
pub(crate) fn entries<E>(span: Span, entries: Vec<(u64, E)>) -> Result<Vec<E>, TryRuntimeError> {
	let mut sorted: BTreeMap<u64, E> = entries.into_iter().collect();
	let mut ordered = Vec::new();
	for number in span.first..span.next {
		ordered.push(sorted.remove(&number).ok_or("a queue has a gap")?);
	}
	ensure!(sorted.is_empty(), "a queue has an entry beyond its ends");
	Ok(ordered)
}
