//! Audits: lists, draws, reports, games about samples, closes.

mod closes;
mod disputed;
mod draws;
mod properties;
mod reports;
mod verifiers;

use super::*;
use crate::{Audit, Audits};
use neuroshard_types::{
	audit::{seal_report, AuditPhase, AuditView, OnAdopted, Report},
	dispute::ClaimKind,
	RoundIndex, H256,
};

/// Work units of an audit.
const UNITS: u128 = 160;
/// Something that nobody has computed.
const JUNK: Report = Report::Sample(H256::repeat_byte(0xba));

/// An account with a stake that is no claimant.
pub(super) fn verifier(number: u8) -> AccountId {
	account(52 + number)
}

/// So many verifiers are on the list, and can be drawn.
pub(super) fn enrolled(count: u8) {
	for number in 0..count {
		assert_ok!(Disputes::enroll(signed(&verifier(number))));
	}
	Epoch::mutate(|epoch| *epoch += 2);
}

/// The round of `claim`, which was adopted in this block, is drawn in the next one.
pub(super) fn draw(claim: &ClaimId) -> [AccountId; 2] {
	AuditUnits::set(UNITS);
	<Disputes as OnAdopted>::adopted(claim.run, claim.round);
	Epoch::mutate(|epoch| *epoch += 2);
	next_block();
	audit(claim).expect("all claims are drawn").parts.map(|part| part.auditor)
}

/// Right work of `HONEST` that two of three verifiers audit.
fn drawn() -> (ClaimId, [AccountId; 2]) {
	enrolled(3);
	let (claim, _) = right_work();
	let auditors = draw(&claim);
	(claim, auditors)
}

fn audit(claim: &ClaimId) -> Option<Audit> {
	Audits::<Test>::get(claim)
}

pub(super) fn view(auditor: &AccountId) -> AuditView {
	Disputes::audit(0, case::ROUND, auditor.clone()).expect("an audit")
}

pub(super) fn sealed(auditor: &AccountId, salt: u8, report: Report) -> H256 {
	seal_report(System::block_hash(0), 0, case::ROUND, auditor, &[salt; 32], &report)
}

fn seal(auditor: &AccountId, salt: u8, report: Report) -> DispatchResult {
	Disputes::seal_audit(signed(auditor), 0, case::ROUND, sealed(auditor, salt, report))
}

fn open(auditor: &AccountId, salt: u8, report: Report) -> DispatchResult {
	Disputes::report_audit(signed(auditor), 0, case::ROUND, [salt; 32], report)
}

/// Both auditors seal and open these reports.
fn report_both(auditors: &[AccountId; 2], reports: [Report; 2]) {
	for (auditor, report) in auditors.iter().zip(reports) {
		assert_ok!(seal(auditor, 1, report));
	}
	for (auditor, report) in auditors.iter().zip(reports) {
		assert_ok!(open(auditor, 1, report));
	}
}

/// The claim that a sample is.
fn sample_of(auditor: &AccountId) -> ClaimId {
	claim(ClaimKind::Audit, case::ROUND, auditor)
}

fn challenge_sample(challenger: &AccountId, auditor: &AccountId) -> DispatchResult {
	Disputes::challenge_audit(signed(challenger), 0, case::ROUND, auditor.clone())
}

/// Returns the true report.
pub(super) fn truth() -> Report {
	Report::Sample(case::sample(None))
}

/// Returns the report of an auditor with a mistake.
fn mistaken() -> Report {
	Report::Sample(case::sample(Some(case::EARLY_MISTAKE)))
}

/// Audits that closed: whose work, who was paid, and who had missed it.
fn closed() -> Vec<(AccountId, Vec<AccountId>, Vec<AccountId>)> {
	let closed = |event| match event {
		Event::AuditClosed { subject, paid, missed, .. } => Some((subject, paid, missed)),
		_ => None,
	};
	events().into_iter().filter_map(closed).collect()
}

/// Returns the credits of the auditors.
fn credits() -> Vec<(AccountId, u128)> {
	let of = |(who, role, units)| {
		assert_eq!(role, neuroshard_types::provider::Role::Verifier);
		(who, units)
	};
	Credited::get().into_iter().map(of).collect()
}

/// Nothing is left of any audit.
fn assert_forgotten() {
	assert_eq!(Audits::<Test>::iter().count() + crate::Drawn::<Test>::iter().count() + crate::Closings::<Test>::iter().count(), 0);
}
