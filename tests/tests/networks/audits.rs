//! Drawn audits, as processes: nobody checks anything but what it is drawn for.

use crate::trial;
use neuroshard_e2e::{AuditSummary, Cheat, DisputeSummary, Terms};
use neuroshard_types::dispute::ClaimKind;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_drawn_finds_false_work_and_false_samples_and_is_paid_for_it() {
	let cheats = [Cheat::BitFlip, Cheat::LazyAuditor];
	let summary = trial::all_are_caught(&cheats.map(|cheat| (cheat, 1)), Terms::Plain).await;
	let drawn_for = |audit: &AuditSummary, who: &str| audit.auditors.iter().any(|auditor| auditor.who == who);
	for (cheat, cheater) in cheats.iter().zip(&summary.cheaters) {
		let dispute = &summary.disputes[cheater.dispute.unwrap()];
		let winner = dispute.receiver.as_deref().unwrap();
		// The subject of the audit, or one of its two auditors: the other one won.
		let about = |audit: &&AuditSummary| match cheat {
			Cheat::LazyAuditor => drawn_for(audit, &cheater.who),
			_ => audit.subject == cheater.who,
		};
		let audit = summary.audits.iter().filter(|audit| audit.round == dispute.claim.round).find(about).unwrap();
		assert!(drawn_for(audit, winner) && winner != cheater.who, "{dispute:?} about {audit:?}");
	}
	// A false sample differs from the right one: its auditor disputes that, and loses.
	let honest = |who: &str| summary.cheaters.iter().all(|cheater| cheater.who != who);
	let defended = |dispute: &&DisputeSummary| dispute.claim.kind == ClaimKind::Audit && honest(&dispute.claim.who);
	assert!(summary.disputes.iter().filter(defended).any(|dispute| dispute.receiver.as_ref() == Some(&dispute.claim.who)));
	let paid = summary.audits.iter().flat_map(|audit| &audit.auditors).filter(|auditor| auditor.outcome == "paid");
	assert!(paid.count() > 0, "{:?}", summary.audits);
}
