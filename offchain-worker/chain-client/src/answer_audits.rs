//! Audits of answers: what is asked of auditors and providers, and the calls that answer.

use crate::{
	call::{Call, Signature},
	client::{BlockId, ChainAt},
	error::ChainError,
	query::View,
};
use codec::DecodeAll;
use neuroshard_types::{
	answer_audit::{AnswerAuditTerms, AnswerAuditView, AnswerId, LaterReceipts, Text},
	dispute::PAGE,
	inference::{Receipt, SessionId},
	proof::ProofSignature,
	AccountId, BlockNumber, H256,
};
use subxt::metadata::Metadata;

/// Arguments of [`deliver`].
type Delivery = (SessionId, u32, Receipt, ProofSignature, H256, LaterReceipts, Text, Text);

const PALLET: &str = "Disputes";
const DEMAND: Signature<(SessionId, AccountId, u32)> = Signature::new(PALLET, "demand_answer");
const DELIVER: Signature<Delivery> = Signature::new(PALLET, "deliver_answer");

/// Close and answer of the last audit of a page.
type AuditCursor = (BlockNumber, AnswerId);

const AUDITS_OF: View<(AccountId, Option<AuditCursor>), Vec<AnswerAuditView>> = View::new(PALLET, "answer_audits_of");
const AUDIT: View<(SessionId, AccountId, u32), Option<AnswerAuditView>> = View::new(PALLET, "answer_audit");
const DEMANDED_OF: View<(AccountId, Option<AnswerId>), Vec<AnswerAuditView>> = View::new(PALLET, "answers_demanded_of");
const TERMS: View<(), AnswerAuditTerms> = View::new(PALLET, "answer_audit_terms");

/// Checks that the chain has these calls and view functions with the same types.
///
/// # Errors
/// The first one that is missing or differs.
pub(super) fn check(metadata: &Metadata) -> Result<(), ChainError> {
	DEMAND.check(metadata)?;
	DELIVER.check(metadata)?;
	AUDITS_OF.check(metadata)?;
	AUDIT.check(metadata)?;
	DEMANDED_OF.check(metadata)?;
	TERMS.check(metadata)
}

/// The text of an answer, with what shows that it is the one that was paid for.
#[derive(Clone, PartialEq, Debug)]
pub struct Delivered {
	/// The receipt; it names session and place.
	pub receipt: Receipt,
	/// Its signature.
	pub signature: ProofSignature,
	/// Root of the receipts of the answers before.
	pub before: H256,
	/// Hashes of the receipts behind it, up to the last one that was claimed with it.
	pub later: LaterReceipts,
	/// Tokens of the prompt.
	pub prompt: Text,
	/// Tokens of the answer.
	pub answer: Text,
}

/// Demands the text of an answer that the caller was drawn to audit.
pub fn demand(answer: AnswerId) -> Call {
	let AnswerId { session, provider, place } = answer;
	DEMAND.with((session, provider, place))
}

/// Delivers the text of the answer in a place of a session, which is demanded of the caller.
pub fn deliver(session: SessionId, place: u32, text: Delivered) -> Call {
	let Delivered { receipt, signature, before, later, prompt, answer } = text;
	DELIVER.with((session, place, receipt, signature, before, later, prompt, answer))
}

/// Returns the text that a call delivers; `None` if it delivers none.
fn delivered(call: &str, mut fields: &[u8]) -> Option<Delivered> {
	let fields = (call == "deliver_answer").then(|| Delivery::decode_all(&mut fields).ok())??;
	let (_, _, receipt, signature, before, later, prompt, answer) = fields;
	Some(Delivered { receipt, signature, before, later, prompt, answer })
}

impl ChainAt {
	/// All audits of answers that `auditor` was drawn for and in which something is left to do, those first that close first.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn answer_audits_of(&self, auditor: &AccountId) -> Result<Vec<AnswerAuditView>, ChainError> {
		let after = |last: &AnswerAuditView| (last.closes_at, last.answer.clone());
		self.pages(&AUDITS_OF, PAGE, |last| (auditor.clone(), last.map(after))).await
	}

	/// The audit of an answer; `None` if it is not drawn, or closed.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn answer_audit(&self, answer: &AnswerId) -> Result<Option<AnswerAuditView>, ChainError> {
		let AnswerId { session, provider, place } = answer.clone();
		self.view(&AUDIT, (session, provider, place)).await
	}

	/// All answers whose texts `provider` has to deliver, those first whose time ends first.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn answers_demanded_of(&self, provider: &AccountId) -> Result<Vec<AnswerAuditView>, ChainError> {
		self.pages(&DEMANDED_OF, PAGE, |last| (provider.clone(), last.map(|last| last.answer.clone()))).await
	}

	/// Returns the rules that hold for audits of all answers.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn answer_audit_terms(&self) -> Result<AnswerAuditTerms, ChainError> {
		self.view(&TERMS, ()).await
	}

	/// Texts that were delivered in a block, or were tried to be: whoever uses one checks what it is.
	///
	/// # Errors
	/// [`ChainError::Missing`] if the node does not have the block's body; the node is away.
	pub async fn delivered(&self, block: BlockId) -> Result<Vec<Delivered>, ChainError> {
		self.said(block, PALLET, delivered).await
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use codec::Encode;
	use neuroshard_graph::sampler::Sampling;
	use neuroshard_types::inference::{Class, Ending, Tokens};

	#[test]
	fn a_delivery_is_read_back_from_its_call_and_anything_else_is_none() {
		let receipt = Receipt {
			provider: Some(AccountId::new([7; 32])),
			paid: Some((3, 4)),
			parameters: H256([5; 32]),
			checkpoint: Some((1, 2)),
			class: Class::ExactF32,
			usable: 257,
			prompt: Tokens::of(&[1]),
			answer: Tokens::of(&[2, 3]),
			ending: Ending::Cut,
			sampling: Sampling::default().into(),
			price: 9,
		};
		let text = Delivered {
			receipt,
			signature: [8; 65],
			before: H256([1; 32]),
			later: vec![H256([2; 32])].try_into().unwrap(),
			prompt: vec![1].try_into().unwrap(),
			answer: vec![2, 3].try_into().unwrap(),
		};
		let Delivered { receipt, signature, before, later, prompt, answer } = text.clone();
		let fields = (3u64, 4u32, receipt, signature, before, later, prompt, answer).encode();
		assert_eq!(delivered("deliver_answer", &fields), Some(text));
		assert_eq!(delivered("demand_answer", &fields), None);
		assert_eq!(delivered("deliver_answer", &fields[1..]), None);
	}
}
