//! Reports of an auditor, with what it takes to open its seal: on disk before the seal is sent, so that a restart can still open it.

use neuroshard_atomic_write::write_private;
use neuroshard_types::{
	audit::{seal_report, AuditView, Report},
	AccountId, BlockNumber, RoundIndex, RunId, H256,
};
use serde::{Deserialize, Serialize};
use std::{
	collections::BTreeMap,
	io,
	path::{Path, PathBuf},
};

/// File name below the base folder.
const FILE: &str = "reports.json";

/// A report and the salt that seals it. An account audits one participant's work of a round at most.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Note {
	/// Run.
	pub run: RunId,
	/// Audited round of it.
	pub round: RoundIndex,
	/// Account whose work was run again.
	pub subject: AccountId,
	/// The inner step, counted from 0, after which the sample is taken.
	pub step: u32,
	/// Random, secret until it is reported.
	pub salt: [u8; 32],
	/// Report of the auditor.
	pub report: Report,
	/// Block from which nobody asks for it any more.
	pub until: BlockNumber,
	/// True if the partner's sample was disputed, or the chain refused that for good.
	pub challenged: bool,
}

impl Note {
	/// Returns whether this is about `audit`: with a reorganisation something else may have been drawn.
	fn is_about(&self, audit: &AuditView) -> bool {
		(self.run, self.round, &self.subject, self.step) == (audit.run, audit.round, &audit.subject, audit.step)
	}

	/// The commitment to this report.
	pub fn seal(&self, genesis: H256, auditor: &AccountId) -> H256 {
		seal_report(genesis, self.run, self.round, auditor, &self.salt, &self.report)
	}
}

/// The reports of one account on one chain, as far as anybody asks for them.
pub struct Reports {
	path: PathBuf,
	notes: BTreeMap<(RunId, RoundIndex), Note>,
}

impl Reports {
	/// Those in `base`. A file that cannot be read is set aside, and a new one begun: what was sealed with it cannot be reported any more
	/// then, and is not paid.
	pub fn open(base: &Path) -> Self {
		let path = base.join(FILE);
		let notes = match std::fs::read(&path) {
			Ok(bytes) => serde_json::from_slice::<Vec<Note>>(&bytes).unwrap_or_else(|error| set_aside(&path, &error)),
			Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
			Err(error) => set_aside(&path, &error),
		};
		Self { path, notes: notes.into_iter().map(|note| ((note.run, note.round), note)).collect() }
	}

	/// Returns the note of what is to be reported in `audit`; `None` if that is not known yet.
	pub fn of(&self, audit: &AuditView) -> Option<&Note> {
		self.notes.get(&(audit.run, audit.round)).filter(|note| note.is_about(audit))
	}

	/// Notes at block `now` what is reported in `audit`, with a fresh random salt, unless it is known already, and may be sealed. Forgets
	/// what nobody asks for any more.
	///
	/// # Errors
	/// The file system's; then it is not noted, and must not be sealed.
	pub fn note(&mut self, audit: &AuditView, report: Report, salt: [u8; 32], now: BlockNumber) -> io::Result<()> {
		if self.of(audit).is_some() {
			return Ok(());
		}
		let AuditView { run, round, ref subject, step, closes_at: until, .. } = *audit;
		let mut notes = self.notes.clone();
		notes.retain(|_, known| known.until > now);
		notes.insert((run, round), Note { run, round, subject: subject.clone(), step, salt, report, until, challenged: false });
		self.replace(notes)
	}

	/// Notes that the partner's sample need not be disputed (any more).
	///
	/// # Errors
	/// The file system's.
	pub fn note_challenged(&mut self, run: RunId, round: RoundIndex) -> io::Result<()> {
		let mut notes = self.notes.clone();
		if let Some(note) = notes.get_mut(&(run, round)) {
			note.challenged = true;
		}
		self.replace(notes)
	}

	fn replace(&mut self, notes: BTreeMap<(RunId, RoundIndex), Note>) -> io::Result<()> {
		write_private(&self.path, &serde_json::to_vec(&notes.values().collect::<Vec<_>>())?)?;
		self.notes = notes;
		Ok(())
	}
}

/// Moves the file at `path`, which cannot be read for `reason`, out of the way of the next one, and says so.
fn set_aside(path: &Path, reason: &dyn std::fmt::Display) -> Vec<Note> {
	let aside = path.with_extension("json.unreadable");
	let moved = match std::fs::rename(path, &aside) {
		Ok(()) => format!("it is kept as {}", aside.display()),
		Err(error) => format!("it cannot be moved aside either: {error}"),
	};
	tracing::warn!("{} cannot be read ({reason}): audits that were sealed cannot be reported; {moved}", path.display());
	Vec::new()
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::audit::AuditPhase;

	fn audit(round: RoundIndex, closes_at: BlockNumber) -> AuditView {
		AuditView {
			run: 3,
			round,
			subject: AccountId::new([1; 32]),
			partner: AccountId::new([2; 32]),
			step: 4,
			phase: AuditPhase::Sealing,
			deadline: 8,
			sealed: None,
			report: None,
			partner_sealed: false,
			partner_report: None,
			closes_at,
		}
	}

	const SAMPLE: Report = Report::Sample(H256([9; 32]));

	#[test]
	fn a_report_survives_a_restart_as_it_was_first_noted_and_only_its_owner_reads_it() {
		let base = tempfile::tempdir().unwrap();
		let audit = audit(1, 10);
		Reports::open(base.path()).note(&audit, SAMPLE, [7; 32], 5).unwrap();
		let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(base.path().join(FILE)).unwrap().permissions());
		assert_eq!(mode & 0o777, 0o600);
		let mut again = Reports::open(base.path());
		again.note(&audit, Report::Unavailable, [8; 32], 6).unwrap();
		again.note_challenged(3, 1).unwrap();
		let last = Reports::open(base.path());
		let note = last.of(&audit).unwrap();
		assert_eq!((note.salt, note.report, note.challenged), ([7; 32], SAMPLE, true));
		assert_eq!((last.of(&AuditView { round: 2, ..audit.clone() }), last.of(&AuditView { run: 2, ..audit })), (None, None));
	}

	#[test]
	fn a_sample_of_what_was_drawn_on_another_fork_is_none() {
		let base = tempfile::tempdir().unwrap();
		let audit = audit(1, 10);
		let mut reports = Reports::open(base.path());
		reports.note(&audit, SAMPLE, [7; 32], 5).unwrap();
		for other in [AuditView { step: 5, ..audit.clone() }, AuditView { subject: AccountId::new([6; 32]), ..audit.clone() }] {
			assert_eq!(reports.of(&other), None);
			reports.note(&other, Report::Unavailable, [8; 32], 5).unwrap();
			assert_eq!((reports.of(&other).map(|note| note.report), reports.of(&audit)), (Some(Report::Unavailable), None));
		}
	}

	#[test]
	fn reports_are_forgotten_when_their_audits_are_closed() {
		let base = tempfile::tempdir().unwrap();
		let mut reports = Reports::open(base.path());
		reports.note(&audit(1, 10), SAMPLE, [7; 32], 5).unwrap();
		reports.note(&audit(2, 11), SAMPLE, [7; 32], 10).unwrap();
		assert!(reports.of(&audit(1, 10)).is_none() && reports.of(&audit(2, 11)).is_some());
	}

	#[test]
	fn a_report_that_does_not_get_to_disk_is_not_noted() {
		let base = tempfile::tempdir().unwrap();
		let mut reports = Reports::open(&base.path().join("missing"));
		reports.note(&audit(1, 10), SAMPLE, [7; 32], 5).unwrap_err();
		assert_eq!(reports.of(&audit(1, 10)), None);
	}

	#[test]
	fn a_damaged_file_is_begun_anew() {
		let base = tempfile::tempdir().unwrap();
		std::fs::write(base.path().join(FILE), "{").unwrap();
		assert_eq!(Reports::open(base.path()).of(&audit(1, 10)), None);
	}
}
