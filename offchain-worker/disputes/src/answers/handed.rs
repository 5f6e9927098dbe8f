//! The text of an answer that was drawn for an audit, with the proof that it is the one that was paid for.

use codec::{DecodeAll, Encode};
use neuroshard_chain_client::answer_audits::Delivered;
use neuroshard_inference::receipt::{Malformed, Transcript};
use neuroshard_types::{
	answer_audit::{AnswerAuditView, TextAsk},
	inference::chained,
	proof::ProofSignature,
	provider::PonwKey,
	H256,
};
use serde::{Deserialize, Serialize};

/// Text that a provider hands to the auditor of an answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Handed {
	/// The answer, with its receipt.
	pub transcript: Transcript,
	/// Root of the receipts of the answers before.
	pub before: H256,
	/// Hashes of the receipts behind it, up to the last one that was claimed with it.
	pub later: Vec<H256>,
}

/// Path that auditors ask at.
pub const TEXTS: &str = "/v1/texts";

/// Request of an auditor: its statement that it asks, and the signature, SCALE-encoded, in hexadecimal digits behind 0x.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Asking {
	ask: String,
}

impl Asking {
	/// This request, signed.
	pub fn new(ask: &TextAsk, signature: &ProofSignature) -> Self {
		Self { ask: format!("0x{}", hex::encode((ask, signature).encode())) }
	}

	/// The request and its signature; `None` if it is something else.
	pub fn read(&self) -> Option<(TextAsk, ProofSignature)> {
		let bytes = hex::decode(self.ask.strip_prefix("0x")?).ok()?;
		DecodeAll::decode_all(&mut &bytes[..]).ok()
	}
}

/// Why a text is not that of the answer that was drawn.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotPaid {
	/// Of another place, or of somebody else.
	#[error("it is of another answer")]
	Other,
	/// It contradicts itself.
	#[error(transparent)]
	Malformed(#[from] Malformed),
	/// Nobody vouches for it.
	#[error("it is not signed by the key for proofs that its provider has registered")]
	Unsigned,
	/// The receipts are others.
	#[error("its receipt is not among those that were paid for")]
	Unpaid,
	/// Longer than anything that can be delivered.
	#[error("it is longer than what fits into a block")]
	TooLong,
}

impl Handed {
	/// Checks that this is the answer that was paid for, which the provider with this key has signed for this chain.
	///
	/// # Errors
	/// [`NotPaid`].
	pub fn check(&self, audit: &AnswerAuditView, key: PonwKey, genesis: H256) -> Result<(), NotPaid> {
		let Self { transcript, before, later } = self;
		let (receipt, answer) = (&transcript.receipt, &audit.answer);
		let is_it = receipt.paid == Some((answer.session, answer.place)) && receipt.provider.as_ref() == Some(&answer.provider);
		if !is_it || transcript.genesis != genesis {
			return Err(NotPaid::Other);
		}
		if !transcript.validate()? || transcript.key != Some(key) {
			return Err(NotPaid::Unsigned);
		}
		let behind = audit.answers.saturating_sub(answer.place).saturating_sub(1);
		let root = later.iter().fold(chained(*before, receipt.hash(genesis)), |root, later| chained(root, *later));
		match usize::try_from(behind) == Ok(later.len()) && root == audit.receipts {
			true => Ok(()),
			false => Err(NotPaid::Unpaid),
		}
	}

	/// The same as it is put into a block.
	///
	/// # Errors
	/// [`NotPaid::Unsigned`], [`NotPaid::TooLong`].
	pub fn into_delivered(self) -> Result<Delivered, NotPaid> {
		let Self { transcript: Transcript { receipt, signature, prompt, answer, .. }, before, later } = self;
		let signature = signature.ok_or(NotPaid::Unsigned)?;
		let (prompt, answer) = (prompt.try_into().map_err(|_| NotPaid::TooLong)?, answer.try_into().map_err(|_| NotPaid::TooLong)?);
		let later = later.try_into().map_err(|_| NotPaid::TooLong)?;
		Ok(Delivered { receipt, signature, before, later, prompt, answer })
	}

	/// Returns the text that somebody with this key has put into a block of this chain.
	pub fn of(delivered: Delivered, key: PonwKey, genesis: H256) -> Self {
		let Delivered { receipt, signature, before, later, prompt, answer } = delivered;
		let (prompt, answer) = (prompt.into_inner(), answer.into_inner());
		let transcript = Transcript { receipt, genesis, key: Some(key), signature: Some(signature), prompt, answer };
		Self { transcript, before, later: later.into_inner() }
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_fixtures::answers::{answered, audit, newest, somebody, GENESIS, SESSION};
	use neuroshard_types::{answer_audit::AnswerId, AccountId};

	/// The second of three answers, and its audit.
	fn second() -> (Handed, AnswerAuditView, PonwKey) {
		let transcripts = [0, 1, 2].map(|place| answered(somebody(), &newest().params, place, |_| {}));
		let hashes = [0, 1, 2].map(|place: usize| transcripts[place].receipt.hash(GENESIS));
		let receipts = hashes.iter().fold(H256::zero(), |root, hash| chained(root, *hash));
		let [_, transcript, _] = transcripts;
		let (audit, key) = (audit(&transcript, 3, receipts), transcript.key.unwrap());
		(Handed { transcript, before: chained(H256::zero(), hashes[0]), later: vec![hashes[2]] }, audit, key)
	}

	#[test]
	fn the_answer_that_was_paid_for_is_known_by_the_receipts_around_it() {
		let (handed, audit, key) = second();
		assert_eq!((audit.answer.session, audit.answer.place), (SESSION, 1));
		assert_eq!(handed.check(&audit, key, GENESIS), Ok(()));
		let delivered = handed.clone().into_delivered().unwrap();
		assert_eq!(Handed::of(delivered, key, GENESIS), handed);
	}

	#[test]
	fn who_asks_is_read_back() {
		let answer = AnswerId { session: 1, provider: somebody(), place: 2 };
		let ask = TextAsk { answer, auditor: AccountId::new([9; 32]), until: 7 };
		let asking = Asking::new(&ask, &[8; 65]);
		let written = serde_json::to_string(&asking).unwrap();
		assert_eq!(serde_json::from_str::<Asking>(&written).unwrap().read(), Some((ask, [8; 65])));
		assert_eq!(Asking { ask: "0x00".into() }.read(), None);
	}

	#[test]
	fn any_other_text_is_told_from_it() {
		let (handed, audit, key) = second();
		let changed = |change: &dyn Fn(&mut Handed)| {
			let mut changed = handed.clone();
			change(&mut changed);
			changed.check(&audit, key, GENESIS)
		};
		assert_eq!(changed(&|other| other.before = H256::zero()), Err(NotPaid::Unpaid));
		assert_eq!(changed(&|other| other.later.clear()), Err(NotPaid::Unpaid));
		assert_eq!(changed(&|other| other.later.push(H256::zero())), Err(NotPaid::Unpaid));
		assert!(matches!(changed(&|other| _ = other.transcript.answer.pop()), Err(NotPaid::Malformed(_))));
		assert_eq!(changed(&|other| (other.transcript.key, other.transcript.signature) = (None, None)), Err(NotPaid::Unsigned));
		assert_eq!(changed(&|other| other.transcript = answered(somebody(), &newest().params, 2, |_| {})), Err(NotPaid::Other));
		assert_eq!(handed.check(&audit, [2; 33], GENESIS), Err(NotPaid::Unsigned));
		assert_eq!(handed.check(&audit, key, H256::zero()), Err(NotPaid::Other));
	}
}
