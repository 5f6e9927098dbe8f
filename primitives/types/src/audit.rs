//! Audits: work of an adopted round that is run again by accounts which the chain draws by lot.
//!
//! ```text
//! adoption ... two epochs later: drawn -> Sealing -> Reporting -> Waiting -> closed: who worked is paid
//! ```
//!
//! Two auditors are drawn for a participant's work, and with them one inner step whose end state the work does *not* commit to. An auditor
//! runs the round up to there and reports the root of that state, its *sample*: sealed first, so that neither can copy the other's. Whoever
//! has not worked has no sample. A sample is a claim ([`crate::dispute::ClaimKind::Audit`]): a false one costs the auditor its stake.
//! Nothing about the audited work follows from a sample. If it is false, the auditor disputes it like anybody else.

use crate::{dispute::WorkClaim, AccountId, BlockNumber, RoundIndex, RunId, TrainConfig, H256};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use core::ops::Range;
use neuroshard_graph::{game::MAX_LIST, merkle::blake2_256};
use scale_info::TypeInfo;

/// Accounts that can be drawn at most.
pub const MAX_VERIFIERS: u32 = 512;

/// Report of an auditor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum Report {
	/// Root of the state after the drawn inner step, as the auditor computed it from the round's start.
	Sample(H256),
	/// The data that the round is to be run from could not be fetched from anybody. If both auditors say so, the work is not paid, and nobody loses
	/// for it. Auditors are not paid for this report.
	Unavailable,
	/// The auditor's machine cannot run the round again in the time for sealing. Nothing follows from that but that it is not paid, and drawn no more
	/// until it enrolls again.
	TooSlow,
}

/// Commitment of an auditor to its report. It binds the account, so that a copied one opens with nothing.
pub fn seal_report(genesis: H256, run: RunId, round: RoundIndex, auditor: &AccountId, salt: &[u8; 32], report: &Report) -> H256 {
	H256(blake2_256(&(b"neuroshard/audit-report/1", genesis, run, round, auditor, salt, report).encode()))
}

/// Inner steps of work of `steps`, counted from 0, that a sample can be drawn after: those of the last interval with any whose end state is not committed, so
/// that whoever has the sample has run nearly all of the round. Empty if every state is committed: there is nothing to sample then.
///
/// Only the first [`MAX_LIST`] steps count: the roots of all states up to the sample are one list of a game about it.
pub fn sampled_steps(train: &TrainConfig, steps: u32) -> Range<u32> {
	let (interval, limit) = (train.commit_interval, steps.min(MAX_LIST));
	let Some(number) = limit.saturating_sub(1).checked_div(interval) else { return 0..0 };
	let within = |number: u32| {
		let first = number.saturating_mul(interval);
		// Without the last step of the interval, after which the state is committed.
		first..first.saturating_add(interval).min(steps).saturating_sub(1).min(limit)
	};
	let last = within(number);
	match number.checked_sub(1) {
		Some(before) if last.is_empty() => within(before),
		_ => last,
	}
}

/// State of the audit of one claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum AuditPhase {
	/// Auditors seal their reports. Left when both have, or at the deadline.
	Sealing,
	/// Auditors who have sealed open their reports. Left when all of them have, or at the deadline.
	Reporting,
	/// Samples can be challenged until the challenge window of the round is over. Then the audit closes, or later, with the last of the
	/// games about the work or a sample that are open.
	Waiting,
}

/// One auditor's part in an audit, as the view functions `Disputes::audit` and `Disputes::audits_of` show it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct AuditView {
	/// Run.
	pub run: RunId,
	/// Adopted round of that run.
	pub round: RoundIndex,
	/// Participant whose work is to be run again.
	pub subject: AccountId,
	/// The other auditor of that work.
	pub partner: AccountId,
	/// The sample is the state root after this inner step, counted from 0.
	pub step: u32,
	/// Phase that it is in.
	pub phase: AuditPhase,
	/// Last block in which what [`Self::phase`] is for is accepted; [`Self::closes_at`] while [`AuditPhase::Waiting`].
	pub deadline: BlockNumber,
	/// Sealed commitment of this auditor to its report.
	pub sealed: Option<H256>,
	/// Report of this auditor.
	pub report: Option<Report>,
	/// True if the partner has sealed.
	pub partner_sealed: bool,
	/// Report of the partner.
	pub partner_report: Option<Report>,
	/// Block in which the audit closes: the first one in which the work cannot be challenged any more.
	pub closes_at: BlockNumber,
}

/// Rules that hold for every audit, as the view function `Disputes::audit_terms` shows them. Fixed at genesis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct AuditTerms {
	/// Share of a round's claims that is drawn, in millionths; no audits if zero. One more claim than that is drawn with the probability
	/// of what the share leaves over.
	pub share: u32,
	/// Blocks for sealing, from the draw.
	pub seal_time: BlockNumber,
	/// Blocks for reporting, from when sealing ended.
	pub report_time: BlockNumber,
}

/// Grounds that a sample is judged by.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct AuditClaim {
	/// The work that was to be run again.
	pub claim: WorkClaim,
	/// Inner step, counted from 0, after which the sample was to be taken.
	pub step: u32,
	/// Root of the state after it, as reported.
	pub sample: H256,
}

/// Told of adopted rounds. Implemented by `disputes`, which draws audits of them.
pub trait OnAdopted {
	/// `round` of `run` was adopted in this block, and its claims can be read.
	fn adopted(run: RunId, round: RoundIndex);
	/// Returns whether rounds that are trained so can be audited. Where nothing is audited at all, everything can be.
	fn can_audit(train: &TrainConfig) -> bool;
}

impl OnAdopted for () {
	fn adopted(_: RunId, _: RoundIndex) {}
	fn can_audit(_: &TrainConfig) -> bool {
		true
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use proptest::prelude::*;

	fn train(inner_steps: u32, commit_interval: u32) -> TrainConfig {
		TrainConfig { inner_steps, commit_interval, ..TrainConfig::tiny() }
	}

	#[test]
	fn samples_are_taken_in_the_last_interval_that_has_an_uncommitted_state() {
		// States are committed after steps 3, 7 and 9, counted from 0.
		assert_eq!(sampled_steps(&train(10, 4), 10), 8..9);
		// After 3, 7 and 8: the last interval is one step.
		assert_eq!(sampled_steps(&train(9, 4), 9), 4..7);
		assert_eq!(sampled_steps(&train(8, 4), 8), 4..7);
		assert_eq!(sampled_steps(&train(5, 100), 5), 0..4);
		// Longer than a list of a game.
		assert_eq!(sampled_steps(&train(40_000, 10_000), 40_000), 10_000..16_384);
	}

	#[test]
	fn samples_of_a_shorter_round_are_of_its_own_last_interval() {
		// Of 10 inner steps at most, states are committed after every fourth.
		assert_eq!(sampled_steps(&train(10, 4), 4), 0..3);
		assert_eq!(sampled_steps(&train(10, 4), 8), 4..7);
	}

	#[test]
	fn nothing_is_sampled_where_every_state_is_committed() {
		assert!(sampled_steps(&train(8, 1), 8).is_empty());
		assert!(sampled_steps(&train(1, 4), 1).is_empty());
		assert!(sampled_steps(&train(4, 0), 4).is_empty());
		assert!(sampled_steps(&train(0, 4), 0).is_empty());
	}

	proptest! {
		#[test]
		fn no_sampled_state_is_committed_and_no_later_one_is_uncommitted(steps in 1u32..200, interval in 1u32..50) {
			let train = train(steps, interval);
			let sampled = sampled_steps(&train, steps);
			let uncommitted: Vec<u32> = (0..steps).filter(|step| !train.commits_after(step + 1)).collect();
			prop_assert_eq!(sampled.is_empty(), uncommitted.is_empty());
			prop_assert!(sampled.clone().all(|step| uncommitted.contains(&step)));
			prop_assert!(uncommitted.iter().all(|step| *step < sampled.end));
			prop_assert!(sampled.len() < interval as usize);
		}
	}

	#[test]
	fn a_seal_opens_for_one_account_round_and_report_only() {
		let (genesis, alice, bob, salt) = (H256::zero(), AccountId::new([1; 32]), AccountId::new([2; 32]), [7; 32]);
		let report = Report::Sample(H256::repeat_byte(9));
		let sealed = seal_report(genesis, 1, 2, &alice, &salt, &report);
		assert_eq!(sealed, seal_report(genesis, 1, 2, &alice, &salt, &report));
		let others = [
			seal_report(H256::repeat_byte(1), 1, 2, &alice, &salt, &report),
			seal_report(genesis, 2, 2, &alice, &salt, &report),
			seal_report(genesis, 1, 3, &alice, &salt, &report),
			seal_report(genesis, 1, 2, &bob, &salt, &report),
			seal_report(genesis, 1, 2, &alice, &[8; 32], &report),
			seal_report(genesis, 1, 2, &alice, &salt, &Report::Unavailable),
		];
		assert!(!others.contains(&sealed));
	}
}
