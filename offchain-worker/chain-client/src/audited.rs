//! Results of audits, from the events of blocks: for those who watch a network. Whoever takes part asks view functions.

use crate::{client::ChainAt, error::ChainError, event::EventShape};
use neuroshard_types::{audit::Report, AccountId, BlockNumber, RoundIndex, RunId};
use subxt::metadata::Metadata;

const PALLET: &str = "Disputes";
type Drawn = (RunId, RoundIndex, AccountId, [AccountId; 2], u32, BlockNumber);
type Reported = (RunId, RoundIndex, AccountId, Report);
type Closed = (RunId, RoundIndex, AccountId, u128, Vec<AccountId>, Vec<AccountId>);
const DRAWN: EventShape<Drawn> = EventShape::new(PALLET, "AuditDrawn", &["run", "round", "subject", "auditors", "step", "seal_by"]);
const REPORTED: EventShape<Reported> = EventShape::new(PALLET, "AuditReported", &["run", "round", "auditor", "report"]);
const CLOSED: EventShape<Closed> = EventShape::new(PALLET, "AuditClosed", &["run", "round", "subject", "units", "paid", "missed"]);

/// Something that happened in an audit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Audited {
	/// Two auditors were drawn.
	Drawn {
		/// Run.
		run: RunId,
		/// Adopted round.
		round: RoundIndex,
		/// Account whose work they are to run again.
		subject: AccountId,
		/// The auditors.
		auditors: [AccountId; 2],
		/// The sample is the state root after this inner step, from 0.
		step: u32,
	},
	/// An auditor has reported.
	Reported {
		/// Run.
		run: RunId,
		/// Adopted round.
		round: RoundIndex,
		/// The auditor.
		auditor: AccountId,
		/// Report of the auditor.
		report: Report,
	},
	/// An audit is over.
	Closed {
		/// Run.
		run: RunId,
		/// Adopted round.
		round: RoundIndex,
		/// Account whose work was audited.
		subject: AccountId,
		/// Auditors that were paid.
		paid: Vec<AccountId>,
		/// Auditors that did not do what they were drawn for.
		missed: Vec<AccountId>,
	},
}

/// Checks that the chain's events have the same fields. A chain without audits passes.
pub(super) fn check(metadata: &Metadata) -> Result<(), ChainError> {
	DRAWN.check(metadata)?;
	REPORTED.check(metadata)?;
	CLOSED.check(metadata)
}

/// Returns the audit event in an event of the pallet; `None` for one that says nothing of an audit.
fn audited(name: &str, bytes: &[u8]) -> Result<Option<Audited>, ChainError> {
	Ok(if name == DRAWN.name {
		let (run, round, subject, auditors, step, _) = DRAWN.decode(bytes)?;
		Some(Audited::Drawn { run, round, subject, auditors, step })
	} else if name == REPORTED.name {
		let (run, round, auditor, report) = REPORTED.decode(bytes)?;
		Some(Audited::Reported { run, round, auditor, report })
	} else if name == CLOSED.name {
		let (run, round, subject, _, paid, missed) = CLOSED.decode(bytes)?;
		Some(Audited::Closed { run, round, subject, paid, missed })
	} else {
		None
	})
}

impl ChainAt {
	/// Returns what happened in audits in this block, in order.
	///
	/// # Errors
	/// [`ChainError::Incompatible`] if the chain means something else by the events; the node is away or has discarded the block's state.
	pub async fn audited(&self) -> Result<Vec<Audited>, ChainError> {
		check(self.at.metadata_ref())?;
		self.read_events(|pallet, name, bytes| if pallet == PALLET { audited(name, bytes) } else { Ok(None) }).await
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use codec::Encode;
	use neuroshard_types::H256;

	#[test]
	fn events_of_audits_are_read_field_by_field_and_others_are_none() {
		let [subject, one, other] = [1, 2, 3].map(|byte| AccountId::new([byte; 32]));
		let auditors = [one.clone(), other.clone()];
		let drawn = audited("AuditDrawn", &(7u32, 8u32, subject.clone(), auditors.clone(), 5u32, 90u32).encode()).unwrap();
		assert_eq!(drawn, Some(Audited::Drawn { run: 7, round: 8, subject: subject.clone(), auditors, step: 5 }));
		let report = Report::Sample(H256([4; 32]));
		let reported = audited("AuditReported", &(7u32, 8u32, one.clone(), report).encode()).unwrap();
		assert_eq!(reported, Some(Audited::Reported { run: 7, round: 8, auditor: one.clone(), report }));
		let fields = (7u32, 8u32, subject.clone(), 1_000u128, vec![one.clone()], vec![other.clone()]).encode();
		let closed = Some(Audited::Closed { run: 7, round: 8, subject, paid: vec![one], missed: vec![other] });
		assert_eq!(audited("AuditClosed", &fields).unwrap(), closed);
		assert_eq!(audited("Decided", &fields).unwrap(), None);
		assert!(audited("AuditClosed", &fields[1..]).is_err());
	}
}
