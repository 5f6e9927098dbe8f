//! Samples, which the verifier computes and the auditor sends.

use super::{pace::Pace, WorkerError};
use neuroshard_disputes::cases::reports::{Note, Reports};
use neuroshard_types::{
	audit::{AuditView, Report},
	BlockNumber, RoundIndex, RunId, H256,
};
use rand::{rngs::OsRng, RngCore};
use std::{
	collections::BTreeSet,
	path::Path,
	sync::{Arc, Mutex, MutexGuard, PoisonError},
};

struct Inner {
	reports: Reports,
	/// Audited rounds of which something could not be fetched at the last attempt.
	out_of_reach: BTreeSet<(RunId, RoundIndex)>,
	/// Audited rounds of which the participant has not handed out what it alone has, whatever became of later attempts.
	withheld: BTreeSet<(RunId, RoundIndex)>,
	/// Audits of which was said that they cannot be done in time.
	too_late: BTreeSet<(RunId, RoundIndex)>,
}

/// Reports, on disk, and what keeps others from being made. Clones share them.
#[derive(Clone)]
pub(super) struct Samples {
	inner: Arc<Mutex<Inner>>,
	/// Pace of audits on this machine.
	pub(super) pace: Pace,
}

impl Samples {
	/// The reports in `base`.
	pub(super) fn open(base: &Path) -> Self {
		let (out_of_reach, withheld, too_late) = Default::default();
		let inner = Inner { reports: Reports::open(base), out_of_reach, withheld, too_late };
		Self { inner: Arc::new(Mutex::new(inner)), pace: Pace::default() }
	}

	fn lock(&self) -> MutexGuard<'_, Inner> {
		self.inner.lock().unwrap_or_else(PoisonError::into_inner)
	}

	/// Returns the note of what is to be reported in `audit`, if that is known.
	pub(super) fn note_of(&self, audit: &AuditView) -> Option<Note> {
		self.lock().reports.of(audit).cloned()
	}

	/// Notes the sample that is to be reported in `audit`, unless it is known already what is: `None` if there is no such state.
	pub(super) fn note_sample(&self, audit: &AuditView, sample: Option<H256>, now: BlockNumber) -> Result<(), WorkerError> {
		// Work that goes on where the round ends without a result is false, and the dispute about it shows that there is no sample.
		self.note_report(audit, sample.map_or(Report::Unavailable, Report::Sample), now)
	}

	/// Notes what is to be reported in `audit`, unless it is known already.
	pub(super) fn note_report(&self, audit: &AuditView, report: Report, now: BlockNumber) -> Result<(), WorkerError> {
		let mut salt = [0; 32];
		OsRng.fill_bytes(&mut salt);
		let noted = self.lock().reports.note(audit, report, salt, now);
		noted.map_err(|source| WorkerError::File { path: "reports.json".into(), source })
	}

	/// Notes that what the audited account alone has did not come.
	pub(super) fn note_withheld(&self, audit: &AuditView) {
		self.lock().withheld.insert((audit.run, audit.round));
	}

	/// Notes that all that `audit` takes is here.
	pub(super) fn note_complete(&self, audit: &AuditView) {
		self.lock().withheld.remove(&(audit.run, audit.round));
		self.note_reach(audit, true);
	}

	/// Notes whether an attempt has found something that nobody hands out.
	pub(super) fn note_reach(&self, audit: &AuditView, in_reach: bool) {
		let (mut inner, round) = (self.lock(), (audit.run, audit.round));
		match in_reach {
			true => inner.out_of_reach.remove(&round),
			false => inner.out_of_reach.insert(round),
		};
	}

	/// Returns whether something that `audit` takes could not be fetched at the last attempt, or is withheld, and nothing is to be reported in it yet.
	pub(super) fn is_out_of_reach(&self, audit: &AuditView) -> bool {
		let (inner, round) = (self.lock(), (audit.run, audit.round));
		let missing = inner.out_of_reach.contains(&round) || inner.withheld.contains(&round);
		drop(inner);
		missing && self.note_of(audit).is_none()
	}

	/// Notes that `audit` cannot be done in time; whether that is new.
	pub(super) fn note_too_late(&self, audit: &AuditView) -> bool {
		self.lock().too_late.insert((audit.run, audit.round))
	}

	/// Forgets what was noted of audits that are no more.
	pub(super) fn keep_only(&self, audits: &[AuditView]) {
		let mut inner = self.lock();
		let is_open = |round: &(RunId, RoundIndex)| audits.iter().any(|audit| (audit.run, audit.round) == *round);
		inner.out_of_reach.retain(is_open);
		inner.withheld.retain(is_open);
		inner.too_late.retain(is_open);
	}

	/// Notes that the partner's sample need not be disputed (any more).
	pub(super) fn note_challenged(&self, run: RunId, round: RoundIndex) -> Result<(), WorkerError> {
		let noted = self.lock().reports.note_challenged(run, round);
		noted.map_err(|source| WorkerError::File { path: "reports.json".into(), source })
	}
}
