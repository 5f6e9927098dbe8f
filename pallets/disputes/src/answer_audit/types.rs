//! Stored types of audits of answers, and the rules that need nothing else.

use codec::{Decode, Encode, MaxEncodedLen};
use neuroshard_types::{
	answer_audit::{AnswerAuditView, AnswerId, Delivery, PaidAnswersOf},
	inference::CheckpointId,
	AccountId, Balance, BlockNumber, H256,
};
use scale_info::TypeInfo;

/// A claim of pay whose answers wait for their draw.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct NotedAnswers {
	/// Answers that were paid for.
	pub answers: PaidAnswersOf,
	/// Epoch of the claim.
	pub epoch: u64,
	/// Block of the claim.
	pub paid_at: BlockNumber,
}

/// A demand that is not met.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Demand {
	/// Of whom the deposit is held: the auditor, or its operator.
	pub payer: AccountId,
	/// Deposit that is held, in planck.
	pub deposit: Balance,
	/// Last block in which it can be met.
	pub deadline: BlockNumber,
}

/// State of the text of an answer.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub enum TextOf {
	/// Nobody has demanded it.
	Undemanded,
	/// It is waited for.
	Demanded(Demand),
	/// It was delivered in this block.
	Delivered(BlockNumber),
	/// It was not delivered in time.
	Withheld,
}

/// Audit of one answer.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct AnswerAudit {
	/// Account that was drawn.
	pub auditor: AccountId,
	/// Answers of the voucher that was claimed.
	pub answers: u32,
	/// Root of their receipts.
	pub receipts: H256,
	/// Checkpoint that the provider offered to answer with when it claimed: it can be disputed by it, whatever became of offer and records.
	pub checkpoint: CheckpointId,
	/// Last block for a demand.
	pub demand_by: BlockNumber,
	/// Block in which it closes.
	pub closes_at: BlockNumber,
	/// Last block in which the provider's bond is bound by the claim of pay.
	pub bound_until: BlockNumber,
	/// State of the text.
	pub text: TextOf,
	/// The receipt of the place that the auditor has disputed as the one that was drawn: of several, one.
	pub disputed: Option<H256>,
}

impl AnswerAudit {
	/// The demand that is not met, if there is one.
	pub fn demand(&self) -> Option<&Demand> {
		match &self.text {
			TextOf::Demanded(demand) => Some(demand),
			_ => None,
		}
	}

	/// As view functions show it.
	pub(crate) fn shown(self, answer: AnswerId, condemned: bool) -> AnswerAuditView {
		let Self { auditor, answers, receipts, checkpoint, demand_by, closes_at, text, .. } = self;
		let delivery = match text {
			TextOf::Undemanded => Delivery::Undemanded,
			TextOf::Demanded(Demand { deadline, .. }) => Delivery::Demanded(deadline),
			TextOf::Delivered(block) => Delivery::Delivered(block),
			TextOf::Withheld => Delivery::Withheld,
		};
		AnswerAuditView { answer, auditor, answers, receipts, checkpoint, delivery, demand_by, closes_at, condemned }
	}
}

/// A session with open audits of one provider's answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct AuditedSession {
	/// Number of open audits.
	pub audits: u32,
	/// True if one of its answers was proven false, not defended or withheld: known also when the session is settled.
	pub condemned: bool,
}
