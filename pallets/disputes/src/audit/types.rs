//! Stored types of audits, and the rules that need nothing else.

use alloc::vec::Vec;
use codec::{Decode, Encode, MaxEncodedLen};
use neuroshard_types::{
	audit::{AuditPhase, Report},
	AccountId, BlockNumber, RoundIndex, RunId, H256,
};
use scale_info::TypeInfo;

/// Epochs between what a draw is made from, and the draw: the randomness of an epoch is what blocks of the one before it carry.
pub const EPOCHS: u64 = 2;

/// An account that can be drawn.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Verifier {
	/// Its account.
	pub account: AccountId,
	/// Epoch in which it enrolled.
	pub since: u64,
	/// Epoch in which it resigned, or was dropped.
	pub until: Option<u64>,
}

impl Verifier {
	/// Returns whether a draw in `epoch` can fall on it: fixed [`EPOCHS`] before, so that nobody comes or goes knowing where it falls.
	pub fn takes_part(&self, epoch: u64) -> bool {
		self.since.saturating_add(EPOCHS) <= epoch && !self.has_left(epoch)
	}

	/// Returns whether no draw in `epoch` or later can fall on it any more.
	pub fn has_left(&self, epoch: u64) -> bool {
		self.until.is_some_and(|until| until.saturating_add(EPOCHS) <= epoch)
	}
}

/// An adopted round that waits for its draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Noted {
	/// Run.
	pub run: RunId,
	/// Round.
	pub round: RoundIndex,
	/// Epoch of its adoption.
	pub epoch: u64,
}

/// Part of one auditor.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Part {
	/// Its account.
	pub auditor: AccountId,
	/// Commitment that it has sealed.
	pub sealed: Option<H256>,
	/// Report that it has made.
	pub report: Option<Report>,
	/// True if its sample was proven false, or not defended.
	pub condemned: bool,
}

impl Part {
	/// The part of an auditor that was just drawn.
	pub fn new(auditor: AccountId) -> Self {
		Self { auditor, sealed: None, report: None, condemned: false }
	}

	/// Its sample.
	pub fn sample(&self) -> Option<H256> {
		match self.report {
			Some(Report::Sample(root)) => Some(root),
			_ => None,
		}
	}

	/// Its sample, unless it fell.
	fn standing(&self) -> Option<H256> {
		self.sample().filter(|_| !self.condemned)
	}
}

/// Audit of one participant's work.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Audit {
	/// The sample is the state root after this inner step, from 0.
	pub step: u32,
	/// Work units that it is worth to each auditor.
	pub units: u128,
	/// Block of the draw.
	pub drawn_at: BlockNumber,
	/// Last block for sealing.
	pub seal_by: BlockNumber,
	/// Last block for reporting: brought forward when both have sealed.
	pub report_by: BlockNumber,
	/// Block in which it closes.
	pub closes_at: BlockNumber,
	/// True if that block has come while games were open: it closes with the last of them.
	pub overdue: bool,
	/// The two auditors.
	pub parts: [Part; 2],
}

impl Audit {
	/// Returns the phase in block `now`.
	pub fn phase(&self, now: BlockNumber) -> AuditPhase {
		if now <= self.seal_by && self.parts.iter().any(|part| part.sealed.is_none()) {
			AuditPhase::Sealing
		} else if now <= self.report_by && self.parts.iter().any(|part| part.sealed.is_some() && part.report.is_none()) {
			AuditPhase::Reporting
		} else {
			AuditPhase::Waiting
		}
	}

	/// Last block of the phase that it is in; the block of the close at the end.
	pub fn deadline(&self, now: BlockNumber) -> BlockNumber {
		match self.phase(now) {
			AuditPhase::Sealing => self.seal_by,
			AuditPhase::Reporting => self.report_by,
			AuditPhase::Waiting => self.closes_at,
		}
	}

	/// The part of `auditor`.
	pub fn part(&self, auditor: &AccountId) -> Option<&Part> {
		self.parts.iter().find(|part| part.auditor == *auditor)
	}

	/// The part of `auditor`, to change.
	pub fn part_mut(&mut self, auditor: &AccountId) -> Option<&mut Part> {
		self.parts.iter_mut().find(|part| part.auditor == *auditor)
	}

	/// The part of the other auditor.
	pub fn partner(&self, auditor: &AccountId) -> Option<&Part> {
		self.parts.iter().find(|part| part.auditor != *auditor)
	}

	/// Returns whether both auditors say that what they need cannot be had.
	pub fn is_unavailable(&self) -> bool {
		self.parts.iter().all(|part| part.report == Some(Report::Unavailable))
	}

	/// Returns the auditors that are paid: those whose sample stands, and is not contradicted by another that stands, nor the same as one that fell.
	pub fn paid(&self) -> Vec<AccountId> {
		let earns = |[own, other]: [&Part; 2]| {
			let right = match (own.standing(), other.standing(), other.sample()) {
				(None, ..) => false,
				(own, Some(standing), _) => own == Some(standing),
				(own, None, fallen) => own != fallen,
			};
			right.then(|| own.auditor.clone())
		};
		let [first, second] = &self.parts;
		[[first, second], [second, first]].into_iter().filter_map(earns).collect()
	}

	/// Returns the auditors that have not done what they were drawn for: not reported, or said that something cannot be had that the other one has
	/// worked with. Two who say that cost a participant its pay, so that they are not to say so again at once. Whoever says that it is too slow has not
	/// failed.
	pub fn missed(&self) -> Vec<AccountId> {
		let fails = |[own, other]: [&Part; 2]| {
			let failed = match own.report {
				None => true,
				Some(Report::Unavailable) => other.standing().is_some() || other.report == own.report,
				Some(Report::Sample(_) | Report::TooSlow) => false,
			};
			failed.then(|| own.auditor.clone())
		};
		let [first, second] = &self.parts;
		[[first, second], [second, first]].into_iter().filter_map(fails).collect()
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	/// An audit with these reports, and whether they fell.
	fn audit(reports: [(Option<Report>, bool); 2]) -> Audit {
		let part = |tag: u8, (report, condemned): (Option<Report>, bool)| {
			let sealed = report.map(|_| H256::zero());
			Part { sealed, report, condemned, ..Part::new(AccountId::new([tag; 32])) }
		};
		let [first, second] = reports;
		let parts = [part(1, first), part(2, second)];
		Audit { step: 0, units: 1, drawn_at: 0, seal_by: 5, report_by: 8, closes_at: 20, overdue: false, parts }
	}

	#[test]
	fn who_is_paid_and_who_has_missed_its_audit() {
		let sample = |tag: u8| Some(Report::Sample(H256::repeat_byte(tag)));
		let (none, away, slow) = ((None, false), (Some(Report::Unavailable), false), (Some(Report::TooSlow), false));
		let (right, other) = ((sample(1), false), (sample(2), false));
		let (fell, other_fell) = ((sample(1), true), (sample(2), true));
		// Reports, the paid and the missing; 1 for the first auditor and 2 for the second.
		let cases = [
			([right, right], vec![1, 2], vec![]),
			([right, other], vec![], vec![]),
			([right, none], vec![1], vec![2]),
			([none, right], vec![2], vec![1]),
			([none, none], vec![], vec![1, 2]),
			([right, away], vec![1], vec![2]),
			([away, away], vec![], vec![1, 2]),
			([away, none], vec![], vec![2]),
			([right, other_fell], vec![1], vec![]),
			([fell, right], vec![], vec![]),
			([fell, fell], vec![], vec![]),
			([fell, none], vec![], vec![2]),
			// What was not to be had may well be so if the only sample is false.
			([fell, away], vec![], vec![]),
			([right, slow], vec![1], vec![]),
			([slow, none], vec![], vec![2]),
			([slow, away], vec![], vec![]),
			([slow, slow], vec![], vec![]),
		];
		for (reports, paid, missed) in cases {
			let tags = |who: Vec<AccountId>| who.into_iter().map(|who| <[u8; 32]>::from(who)[0]).collect::<Vec<_>>();
			let audit = audit(reports);
			assert_eq!((tags(audit.paid()), tags(audit.missed())), (paid, missed), "{reports:?}");
		}
	}

	#[test]
	fn phases_end_with_their_deadlines_or_when_nobody_is_waited_for() {
		let mut audit = audit([(None, false), (None, false)]);
		assert_eq!((audit.phase(5), audit.deadline(5)), (AuditPhase::Sealing, 5));
		assert_eq!((audit.phase(6), audit.deadline(6)), (AuditPhase::Waiting, 20));
		audit.parts[0].sealed = Some(H256::zero());
		assert_eq!((audit.phase(5), audit.phase(6), audit.deadline(6)), (AuditPhase::Sealing, AuditPhase::Reporting, 8));
		audit.parts[1].sealed = Some(H256::zero());
		assert_eq!((audit.phase(0), audit.phase(8), audit.phase(9)), (AuditPhase::Reporting, AuditPhase::Reporting, AuditPhase::Waiting));
		audit.parts.iter_mut().for_each(|part| part.report = Some(Report::Unavailable));
		assert_eq!(audit.phase(1), AuditPhase::Waiting);
	}
}
