//! Inference that is paid: who offers a model, what users owe, and what was answered.

use crate::{
	dataset::TextTokens,
	dispute::{ClaimId, ClaimKind},
	proof::ProofSignature,
	provider::PonwKey,
	AccountId, Balance, BlockNumber, Moment, RoundIndex, RunId, F32, H256,
};
use alloc::{collections::BTreeSet, vec::Vec};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
pub use neuroshard_graph::Class;
use neuroshard_graph::{
	answer::{Answer, TokenList},
	merkle::blake2_256,
	sampler::{self, SamplingError},
};
use scale_info::TypeInfo;
use sp_core::{bounded::BoundedVec, ecdsa, ConstU32};
use sp_runtime::{traits::Verify, MultiSignature, Perbill};

/// Identifier of a session, counted from 0.
pub type SessionId = u64;
/// Address of a provider's HTTP interface, as UTF-8.
pub type Endpoint = BoundedVec<u8, ConstU32<256>>;
/// Most spans of one ring.
pub const MAX_SPANS: u32 = 32;
/// Those who compute the answers of an offer.
pub type Ring = BoundedVec<Span, ConstU32<MAX_SPANS>>;

/// A checkpoint of a run: theta of `round`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct CheckpointId {
	/// Run.
	pub run: RunId,
	/// Round that starts from it.
	pub round: RoundIndex,
	/// Its root.
	pub root: H256,
}

/// Layers that one account computes.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Span {
	/// Account.
	pub who: AccountId,
	/// First layer.
	pub first: u16,
	/// Number of layers, at least one.
	pub layers: u16,
}

impl Span {
	/// The layer after the last one.
	pub fn end(&self) -> u32 {
		u32::from(self.first).saturating_add(self.layers.into())
	}
}

/// Prices of tokens, in planck.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Prices {
	/// Each token of a prompt.
	pub prompt: Balance,
	/// Each token of an answer.
	pub generated: Balance,
}

impl Prices {
	/// Returns the price of an answer of `generated` tokens to a prompt of `prompt` tokens, in planck. Saturates.
	pub fn of(&self, prompt: u32, generated: u32) -> Balance {
		self.prompt.saturating_mul(prompt.into()).saturating_add(self.generated.saturating_mul(generated.into()))
	}
}

/// Offer of a driver.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Offer {
	/// Checkpoint that answers are computed with.
	pub checkpoint: CheckpointId,
	/// Class of the arithmetic.
	pub class: Class,
	/// For how much.
	pub prices: Prices,
	/// Number of accounts that compute each layer.
	pub redundancy: u8,
	/// Endpoint that takes requests.
	pub endpoint: Endpoint,
	/// Accounts and the layers that they compute: each layer of the model, `redundancy` times.
	pub ring: Ring,
}

/// Problem of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RingProblem {
	/// A span has no layers, or layers that the model does not have.
	Span,
	/// Somebody computes a layer twice.
	Twice,
	/// A layer is not computed as often as the redundancy says, or that is zero.
	Redundancy,
}

impl Offer {
	/// Returns the hash that members of the ring agree to when `driver` offers it.
	pub fn hash(&self, driver: &AccountId) -> H256 {
		H256(blake2_256(&(b"neuroshard/offer/1", driver, self).encode()))
	}

	/// Returns the accounts that have to agree when `driver` offers it: those of the ring, but `driver` itself.
	pub fn members(&self, driver: &AccountId) -> BTreeSet<AccountId> {
		self.ring.iter().map(|span| &span.who).filter(|who| *who != driver).cloned().collect()
	}

	/// Returns the problem of its ring for a model of so many layers; `None` if it has none.
	pub fn ring_problem(&self, layers: u32) -> Option<RingProblem> {
		if self.ring.iter().any(|span| span.layers == 0 || span.end() > layers) {
			return Some(RingProblem::Span);
		}
		if self.ring.is_empty() || self.redundancy == 0 {
			return Some(RingProblem::Redundancy);
		}
		// Who computes a layer changes only where a span begins or ends.
		let changes = self.ring.iter().flat_map(|span| [u32::from(span.first), span.end()]);
		changes.chain([0]).filter(|layer| *layer < layers).find_map(|layer| self.problem_at(layer))
	}

	fn problem_at(&self, layer: u32) -> Option<RingProblem> {
		let here = self.ring.iter().filter(|span| u32::from(span.first) <= layer && layer < span.end());
		let spans = here.clone().count();
		let accounts: BTreeSet<_> = here.map(|span| &span.who).collect();
		if accounts.len() < spans {
			return Some(RingProblem::Twice);
		}
		(spans != usize::from(self.redundancy)).then_some(RingProblem::Redundancy)
	}
}

/// Debt of a user to a provider for all answers of a session so far. A later voucher replaces an earlier one.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Voucher {
	/// Session.
	pub session: SessionId,
	/// Provider that is paid.
	pub provider: AccountId,
	/// In planck, for all answers so far.
	pub amount: Balance,
	/// Number of these answers.
	pub answers: u32,
	/// Their receipts: see [`chained`].
	pub receipts: H256,
}

impl Voucher {
	/// The bytes that the user's account signs.
	pub fn message(&self, genesis: H256) -> Vec<u8> {
		(b"neuroshard/voucher/1", genesis, self).encode()
	}

	/// Returns whether `user` signed it for the chain with this genesis: the bytes as they are, or between `<Bytes>` and `</Bytes>`, as wallets sign what
	/// is no extrinsic.
	pub fn is_signed(&self, genesis: H256, user: &AccountId, signature: &MultiSignature) -> bool {
		is_signed(&self.message(genesis), user, signature)
	}
}

/// Returns whether `user` signed `message`: the bytes as they are, or between `<Bytes>` and `</Bytes>`.
fn is_signed(message: &[u8], user: &AccountId, signature: &MultiSignature) -> bool {
	let wrapped = || [&b"<Bytes>"[..], message, &b"</Bytes>"[..]].concat();
	signature.verify(message, user) || signature.verify(&wrapped()[..], user)
}

/// A user's statement that it is the one that asks in a session: vouchers get public when they are claimed.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Ask {
	/// Session.
	pub session: SessionId,
	/// Provider that is asked.
	pub provider: AccountId,
	/// Milliseconds since the Unix epoch up to which it holds.
	pub until: Moment,
}

impl Ask {
	/// The bytes that the user's account signs.
	pub fn message(&self, genesis: H256) -> Vec<u8> {
		(b"neuroshard/ask/1", genesis, self).encode()
	}

	/// Returns whether `user` signed it, as with [`Voucher::is_signed`].
	pub fn is_signed(&self, genesis: H256, user: &AccountId, signature: &MultiSignature) -> bool {
		is_signed(&self.message(genesis), user, signature)
	}
}

/// The receipts of a session's answers, by the one of the answers before (zero before the first) and the hash of the next receipt.
pub fn chained(before: H256, receipt: H256) -> H256 {
	H256(blake2_256(&(b"neuroshard/receipts/1", before, receipt).encode()))
}

/// Sampling settings that the tokens of an answer were chosen with (`docs/spec/arithmetic.md`, section 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Sampling {
	/// Logits are divided by it; 0 takes the likeliest token.
	pub temperature: F32,
	/// Only so many of the likeliest tokens are drawn from; 0 for all.
	pub top_k: u32,
	/// Only the likeliest tokens that have this share of the probability together are drawn from.
	pub top_p: F32,
	/// Only tokens with at least this share of the likeliest one's probability are drawn from.
	pub min_p: F32,
	/// Of tokens that are in the text.
	pub repetition: F32,
	/// Of tokens that were generated.
	pub presence: F32,
	/// Of tokens that were generated, each time.
	pub frequency: F32,
	/// Of the random choices.
	pub seed: u64,
}

impl Sampling {
	/// Checks that it can be claimed that tokens were chosen with these settings, by [`sampler::Sampling::validate`]: for chain, auditors, checkers and users
	/// alike. A receipt with other settings is false, whatever the model says.
	///
	/// # Errors
	/// [`SamplingError`] names the first setting that is out of its range.
	pub fn validate(&self) -> Result<(), SamplingError> {
		sampler::Sampling::from(*self).validate()
	}
}

impl From<sampler::Sampling> for Sampling {
	fn from(from: sampler::Sampling) -> Self {
		let sampler::Sampling { temperature, top_k, top_p, min_p, repetition, presence, frequency, seed } = from;
		let [temperature, top_p, min_p] = [temperature, top_p, min_p].map(F32::new);
		let [repetition, presence, frequency] = [repetition, presence, frequency].map(F32::new);
		Self { temperature, top_k, top_p, min_p, repetition, presence, frequency, seed }
	}
}

impl From<Sampling> for sampler::Sampling {
	fn from(from: Sampling) -> Self {
		let Sampling { temperature, top_k, top_p, min_p, repetition, presence, frequency, seed } = from;
		let [temperature, top_p, min_p] = [temperature, top_p, min_p].map(F32::get);
		let [repetition, presence, frequency] = [repetition, presence, frequency].map(F32::get);
		Self { temperature, top_k, top_p, min_p, repetition, presence, frequency, seed }
	}
}

/// Why an answer ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Ending {
	/// The next token would have been one that ends texts.
	End,
	/// Nothing is said about the next token: so many were asked for, a stop string was found, or nobody was there any more.
	Cut,
}

/// Tokens, told by their number and their root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Tokens {
	/// Number of tokens.
	pub count: u32,
	/// Blake2-256 of a domain and the SCALE-encoded list.
	pub root: H256,
}

impl Tokens {
	/// Of these tokens.
	pub fn of(tokens: &[u32]) -> Self {
		let TokenList { count, root } = TokenList::of(tokens);
		Self { count, root: H256(root) }
	}
}

impl From<Tokens> for TokenList {
	fn from(Tokens { count, root }: Tokens) -> Self {
		Self { count, root: root.0 }
	}
}

/// A provider's statement that an answer is the one that the model gives.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Receipt {
	/// Provider that answered; `None` if nobody vouches for it.
	pub provider: Option<AccountId>,
	/// The session that it was asked in, and the place among its answers, counted from 0.
	pub paid: Option<(SessionId, u32)>,
	/// Root of the parameters.
	pub parameters: H256,
	/// Run, and its round that starts from these parameters; `None` for a model of no run.
	pub checkpoint: Option<(RunId, RoundIndex)>,
	/// Arithmetic.
	pub class: Class,
	/// Tokens below this one were chosen from.
	pub usable: u32,
	/// Prompt.
	pub prompt: Tokens,
	/// Answer.
	pub answer: Tokens,
	/// Why it ends there.
	pub ending: Ending,
	/// Sampling settings that tokens were chosen with.
	pub sampling: Sampling,
	/// Price of the answer, in planck.
	pub price: Balance,
}

impl Receipt {
	/// The bytes that the provider's key for proofs signs. `genesis` is the chain's first block; zero without a chain.
	pub fn message(&self, genesis: H256) -> alloc::vec::Vec<u8> {
		(b"neuroshard/receipt/2", genesis, self).encode()
	}

	/// Returns the answer that it claims of a model of one of the chain's runs. There, no provider says which tokens there are to choose from, and which end
	/// texts: `tokens` are those of the run.
	pub fn claimed<'a>(&self, tokens: &'a TextTokens) -> Answer<'a> {
		let (prompt, answer, ended) = (self.prompt.into(), self.answer.into(), self.ending == Ending::End);
		Answer {
			prompt,
			answer,
			ended,
			sampling: self.sampling.into(),
			usable: tokens.usable,
			ends: core::slice::from_ref(&tokens.end),
			class: self.class,
		}
	}

	/// Returns whether the key has signed it for the chain with this genesis.
	pub fn is_signed(&self, genesis: H256, key: PonwKey, signature: &ProofSignature) -> bool {
		let (signature, key) = (ecdsa::Signature::from_raw(*signature), ecdsa::Public::from_raw(key));
		// It hashes with Blake2-256 before it verifies.
		signature.verify(&self.message(genesis)[..], &key)
	}

	/// The claim that it makes on the chain with this genesis; `None` if nobody vouches for it, or the model is of no run.
	pub fn claim(&self, genesis: H256) -> Option<ClaimId> {
		let ((run, round), who) = (self.checkpoint?, self.provider.clone()?);
		Some(ClaimId { run, round, kind: ClaimKind::Answer(self.hash(genesis)), who })
	}

	/// Returns the hash that is signed, which vouchers refer to.
	pub fn hash(&self, genesis: H256) -> H256 {
		H256(blake2_256(&self.message(genesis)))
	}
}

/// A session, as the view function `Inference::session` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct SessionView {
	/// Account that pays.
	pub user: AccountId,
	/// Provider that is paid; `None` for a prepaid balance, from which everybody with a voucher is.
	pub provider: Option<AccountId>,
	/// Planck on hold.
	pub escrow: Balance,
	/// Planck that were paid.
	pub paid: Balance,
	/// First block in which what is left may be returned; `None` while it is open.
	pub closes_at: Option<BlockNumber>,
}

/// An offer, as the view function `Inference::offer_of` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct OfferView {
	/// Driver that offers it.
	pub driver: AccountId,
	/// The offer.
	pub offer: Offer,
	/// Its hash, which members name when they agree.
	pub hash: H256,
	/// Members of the ring that have agreed, by account bytes ascending. The driver is none of them.
	pub consents: BoundedVec<AccountId, ConstU32<MAX_SPANS>>,
	/// True if all have, so that sessions may begin.
	pub ready: bool,
	/// Sessions with this driver alone that are not settled.
	pub sessions: u32,
	/// Planck on hold of the driver.
	pub deposit: Balance,
}

/// Claim of a provider on a session, as the view function `Inference::claimed` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct ClaimView {
	/// Planck that left the escrow for it.
	pub paid: Balance,
	/// Planck of the last voucher: more than `paid` if the escrow had less.
	pub owed: Balance,
	/// Answers of the last voucher.
	pub answers: u32,
	/// Receipts of the last voucher.
	pub receipts: H256,
}

/// Rules that hold for sessions and offers, as the view function `Inference::terms` shows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct InferenceTerms {
	/// Least escrow of a new session, in planck.
	pub min_escrow: Balance,
	/// Most sessions of a user at a time.
	pub max_sessions: u32,
	/// Most providers that are paid by one prepaid session.
	pub max_payees: u32,
	/// Blocks from the end of a session until what is left may be returned.
	pub close_delay: BlockNumber,
	/// Part of every payment that is for the owners of the model.
	pub owners_share: Perbill,
}
