//! Opens games about answers.

use neuroshard_chain_client::{disputes::challenge_answer, BlockId, Call, ChainAt, ChainClient, ChainError, Neuro, Submitter};
use neuroshard_inference::receipt::Transcript;
use neuroshard_types::{
	answer_audit::AnswerId, dispute::ClaimId, inference::Receipt, proof::ProofSignature, AccountId, Balance, ModelConfig, H256,
};

/// Why an answer is not disputed.
#[derive(Debug, thiserror::Error)]
pub enum ChallengeError {
	/// Nobody vouches for the receipt.
	#[error("nobody has signed the receipt: there is nothing to dispute on chain")]
	Unsigned,
	/// It is of no session.
	#[error("the receipt is of no paid session: nobody can dispute it on chain")]
	Unpaid,
	/// It is the own answer.
	#[error("the receipt is of {0} itself: nobody disputes its own answers")]
	Own(AccountId),
	/// It is of another chain.
	#[error("the receipt is for the chain with the first block {told:?}, and the node is on that with {own:?}")]
	OtherChain {
		/// Of the receipt.
		told: H256,
		/// Of the node.
		own: H256,
	},
	/// The bond cannot be paid.
	#[error("{who} has {free} free, and disputing takes {needed}: {bond} for the bond, which comes back, and what moves may cost. Send it some NEURO")]
	Poor {
		/// Account that pays.
		who: AccountId,
		/// Its free balance.
		free: Neuro,
		/// Bond and fees.
		needed: Neuro,
		/// The bond, and what stays in every account.
		bond: Neuro,
	},
	/// As many games are open against the provider as can be.
	#[error("as many disputes are open against {0} as can be: try again when one has ended")]
	Crowded(AccountId),
	/// The chain.
	#[error(transparent)]
	Chain(#[from] ChainError),
}

impl ChallengeError {
	/// Returns whether trying again may help, without that anybody does something.
	pub fn passes(&self) -> bool {
		match self {
			Self::Crowded(_) => true,
			// What pallet `Disputes` refuses once it refuses again, but for room.
			Self::Chain(error @ ChainError::Dispatch { name, .. }) => {
				error.is_dispatch("Disputes::TooManyGames") || !name.starts_with("Disputes::")
			}
			Self::Chain(error) => {
				!matches!(error, ChainError::Incompatible { .. } | ChainError::Missing { .. } | ChainError::Unfunded { .. })
			}
			Self::Unsigned | Self::Unpaid | Self::Own(_) | Self::OtherChain { .. } | Self::Poor { .. } => false,
		}
	}
}

/// An answer that is false from some choice on.
#[derive(Clone, PartialEq, Debug)]
pub struct Accusation {
	/// The claim.
	pub claim: ClaimId,
	receipt: Receipt,
	signature: ProofSignature,
	/// The first token, counted from 0, that the model does not give.
	doubt: u32,
}

impl Accusation {
	/// The answer of `transcript` is false from `doubt` on, says `who`, on the chain with this first block.
	///
	/// # Errors
	/// [`ChallengeError`] if that cannot be disputed.
	pub fn new(transcript: &Transcript, doubt: u32, who: &AccountId, genesis: H256) -> Result<Self, ChallengeError> {
		let Transcript { receipt, signature, genesis: told, .. } = transcript;
		let (Some(signature), Some(claim)) = (*signature, receipt.claim(genesis)) else {
			return Err(ChallengeError::Unsigned);
		};
		if *told != genesis {
			return Err(ChallengeError::OtherChain { told: *told, own: genesis });
		}
		if receipt.paid.is_none() {
			return Err(ChallengeError::Unpaid);
		}
		match claim.who == *who {
			true => Err(ChallengeError::Own(claim.who)),
			false => Ok(Self { claim, receipt: receipt.clone(), signature, doubt }),
		}
	}

	/// Returns whether it is false by what was signed alone, so that no game is played about it.
	pub fn is_plain(&self) -> bool {
		self.receipt.sampling.validate().is_err()
	}

	/// Returns whether `who` was drawn to audit the answer.
	async fn is_audited_by(&self, at: &ChainAt, who: &AccountId) -> Result<bool, ChainError> {
		let Some((session, place)) = self.receipt.paid else { return Ok(false) };
		let answer = AnswerId { session, provider: self.claim.who.clone(), place };
		Ok(at.answer_audit(&answer).await?.is_some_and(|audit| audit.auditor == *who))
	}

	fn call(&self) -> Call {
		challenge_answer(self.receipt.clone(), self.signature, self.doubt)
	}

	/// Returns the amount that must be free on the account of `submitter` to dispute it, in planck, and how much of that is the bond and what stays in
	/// every account. `model` is the shape of the model.
	///
	/// # Errors
	/// [`ChallengeError::Crowded`], [`ChallengeError::Chain`].
	pub async fn needed(&self, at: &ChainAt, submitter: &Submitter, model: &ModelConfig) -> Result<(Balance, Balance), ChallengeError> {
		// The chain decides at once.
		if self.is_plain() {
			let kept = at.existential_deposit()?;
			return Ok((kept.saturating_add(at.fee(&self.call()).await?), kept));
		}
		let bond = match self.is_audited_by(at, submitter.who()).await? {
			// The chain knows who was drawn when the game is opened, and not before.
			true => Some(at.dispute_terms().await?.bond.saturating_add(at.existential_deposit()?)),
			false => at.needed_against(&self.claim, submitter.who()).await?,
		};
		let bond = bond.ok_or_else(|| ChallengeError::Crowded(self.claim.who.clone()))?;
		let fees = at.fee(&self.call()).await?.saturating_add(at.answer_fees(model).await?.challenge);
		Ok((bond.saturating_add(fees), bond))
	}
}

/// Disputes an answer, unless this account does already. Returns a block that has the game.
///
/// # Errors
/// [`ChallengeError`].
pub async fn challenge(
	client: &ChainClient,
	submitter: &Submitter,
	accusation: &Accusation,
	model: &ModelConfig,
) -> Result<BlockId, ChallengeError> {
	let at = client.now().await?;
	if at.game(&accusation.claim, submitter.who()).await?.is_some() {
		return Ok(at.block());
	}
	let (needed, bond) = accusation.needed(&at, submitter, model).await?;
	let free = at.funds(submitter.signer()).await?.free;
	if free < needed {
		let who = submitter.signer().clone();
		return Err(ChallengeError::Poor { who, free: Neuro(free), needed: Neuro(needed), bond: Neuro(bond) });
	}
	match submitter.submit_prompt(accusation.call(), needed).await {
		Ok(included) => Ok(included.block),
		Err(error) if error.is_dispatch("Disputes::AlreadyOpen") => Ok(client.heads().await?.best),
		Err(error) => Err(error.into()),
	}
}
