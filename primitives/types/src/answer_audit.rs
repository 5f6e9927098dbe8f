//! Audits of answers: some of those that providers are paid for are computed again by accounts which the chain draws by lot.
//!
//! ```text
//! claim of pay ... two epochs later: drawn -> demanded, or not -> delivered, or withheld -> closed
//! ```
//!
//! The chain knows answers by the root of their receipts only. Whoever is drawn asks the provider for the text. If it does not get it, it demands it on
//! chain: then the provider puts it into a block, where nobody can say that it is not, or loses as if the answer were false. What is false is disputed
//! ([`crate::dispute::ClaimKind::Answer`]).

use crate::{
	inference::{CheckpointId, SessionId},
	proof::ProofSignature,
	provider::PonwKey,
	AccountId, Balance, BlockNumber, Moment, H256,
};
use alloc::vec::Vec;
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_graph::answer::MAX_TEXT;
use scale_info::TypeInfo;
use sp_core::{bounded::BoundedVec, ecdsa, ConstU32};
use sp_runtime::traits::Verify;

/// Only so many of the answers of one claim of pay are drawn from, the last ones: whoever delivers one shows the hashes of all later receipts.
pub const MAX_PROVEN: u32 = 256;
/// Most answers that are drawn of one claim of pay.
pub const MAX_DRAWN: u32 = 4;

/// Hashes of the receipts behind an answer, up to the last one of the claim of pay.
pub type LaterReceipts = BoundedVec<H256, ConstU32<MAX_PROVEN>>;
/// Tokens of a prompt, or of an answer.
pub type Text = BoundedVec<u32, ConstU32<MAX_TEXT>>;

/// One answer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct AnswerId {
	/// Session.
	pub session: SessionId,
	/// Provider that answered.
	pub provider: AccountId,
	/// Place among the answers of this provider in this session, counted from 0.
	pub place: u32,
}

/// Answers that a provider is paid for by one claim of pay: those in places from `before` up to, but without, `answers`. If what an escrow had too little
/// for is paid later, for the same answers, `before` is `answers`.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct PaidAnswersOf {
	/// Session.
	pub session: SessionId,
	/// Provider that is paid.
	pub provider: AccountId,
	/// Answers of the voucher that was claimed before.
	pub before: u32,
	/// Answers of the voucher.
	pub answers: u32,
	/// Root of their receipts: see [`crate::inference::chained`].
	pub receipts: H256,
	/// Checkpoint that the provider offers to answer with.
	pub checkpoint: CheckpointId,
	/// Planck that left the escrow by this claim.
	pub paid: Balance,
}

impl PaidAnswersOf {
	/// The first place that can be drawn. Where nothing but a rest is paid, nobody knows which answers it is for: any that can be proven.
	pub fn first(&self) -> u32 {
		let proven = self.answers.saturating_sub(MAX_PROVEN);
		if self.before < self.answers {
			self.before.max(proven)
		} else {
			proven
		}
	}
}

/// Told of claims of pay. Implemented by `disputes`, which draws audits of their answers.
pub trait OnPaid {
	/// These answers were paid for in this block, whose provider noted that something of it can be disputed.
	fn paid(answers: PaidAnswersOf);
}

impl OnPaid for () {
	fn paid(_: PaidAnswersOf) {}
}

/// State of the text of an answer that was drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum Delivery {
	/// Nobody has demanded it on chain.
	Undemanded,
	/// It was demanded: it is delivered up to this block, which is among those it can be delivered in.
	Demanded(BlockNumber),
	/// It was delivered in this block, whose body has it.
	Delivered(BlockNumber),
	/// It was demanded and not delivered: the provider has lost, or had lost already.
	Withheld,
}

/// Audit of one answer, as the view functions `Disputes::answer_audit`, `answer_audits_of` and `answers_demanded_of` show it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct AnswerAuditView {
	/// The answer.
	pub answer: AnswerId,
	/// Account that was drawn to compute it again.
	pub auditor: AccountId,
	/// Answers of the voucher that was claimed.
	pub answers: u32,
	/// Root of the receipts of these answers.
	pub receipts: H256,
	/// Checkpoint that the provider offered to answer with when it claimed.
	pub checkpoint: CheckpointId,
	/// State of its text.
	pub delivery: Delivery,
	/// Last block in which it can be demanded.
	pub demand_by: BlockNumber,
	/// Block in which the audit closes: the first one in which being drawn is no reason to dispute the answer any more.
	pub closes_at: BlockNumber,
	/// True if an answer of the provider in this session was proven false, or withheld, so that no other one of it is disputed or demanded.
	pub condemned: bool,
}

impl AnswerAuditView {
	/// Returns whether anything is left to do about it in block `now` or later.
	pub fn is_due(&self, now: BlockNumber) -> bool {
		now < self.closes_at && !self.condemned && self.delivery != Delivery::Withheld
	}
}

/// Rules that hold for audits of all answers, as the view function `Disputes::answer_audit_terms` shows them. Fixed at genesis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct AnswerAuditTerms {
	/// Probability with which an answer is drawn, in millionths; no audits if zero.
	pub share: u32,
	/// Planck that are paid for answers for each audit that is drawn of them, at least and on average: answers that cost less are drawn more rarely.
	pub draw_price: Balance,
	/// Blocks from the demand for a text in which it is delivered; as many to demand it in, from the draw, and to dispute it in at the end.
	pub deliver_time: BlockNumber,
	/// Deposit that a demand holds of the auditor, in planck.
	pub deposit: Balance,
	/// Blocks from a claim of pay until no audit of its answers is open, nor can be drawn any more.
	pub open_for: BlockNumber,
}

impl AnswerAuditTerms {
	/// Blocks from a claim of pay for which a provider keeps what it may have to deliver; none if nothing is audited.
	pub fn kept_for(&self) -> BlockNumber {
		if self.share > 0 {
			self.open_for
		} else {
			0
		}
	}
}

/// An auditor's statement that it asks a provider for the text of an answer, off chain.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct TextAsk {
	/// Answer whose text is asked for.
	pub answer: AnswerId,
	/// Account that was drawn to compute it again.
	pub auditor: AccountId,
	/// Milliseconds since the Unix epoch up to which it holds.
	pub until: Moment,
}

impl TextAsk {
	/// The bytes that the auditor's key for proofs signs.
	pub fn message(&self, genesis: H256) -> Vec<u8> {
		(b"neuroshard/text/1", genesis, self).encode()
	}

	/// Returns whether the key has signed it for the chain with this genesis.
	pub fn is_signed(&self, genesis: H256, key: PonwKey, signature: &ProofSignature) -> bool {
		let (signature, key) = (ecdsa::Signature::from_raw(*signature), ecdsa::Public::from_raw(key));
		// It hashes with Blake2-256 before it verifies.
		signature.verify(&self.message(genesis)[..], &key)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn the_last_256_new_answers_can_be_drawn() {
		let checkpoint = CheckpointId { run: 0, round: 0, root: H256::zero() };
		let first = |before, answers| {
			let provider = AccountId::new([1; 32]);
			PaidAnswersOf { session: 0, provider, before, answers, receipts: H256::zero(), checkpoint, paid: 1 }.first()
		};
		assert_eq!([first(0, 1), first(0, 256), first(0, 257), first(0, 1_000)], [0, 0, 1, 744]);
		assert_eq!([first(7, 8), first(700, 1_000), first(800, 1_000)], [7, 744, 800]);
		// The rest for answers of before.
		assert_eq!([first(9, 9), first(1_000, 1_000), first(0, 0)], [0, 744, 0]);
		assert_eq!(first(0, u32::MAX), u32::MAX - 256);
	}
}
