//! Texts of answers for those who were drawn to audit them: handed over when an auditor asks, and put into a block when they are demanded.

use super::{is_timely, order::OrderError, Accounts};
use crate::error::ApiError;
use neuroshard_chain_client::{answer_audits, keys::PonwSigner, next_block, ChainClient, ChainError, Heads, Submitter};
use neuroshard_disputes::{
	answers::{Handed, NotPaid, TranscriptStoreError},
	games::BACKOFF,
};
use neuroshard_support::backoff::Rests;
use neuroshard_types::{
	answer_audit::{AnswerAuditView, AnswerId, Delivery, TextAsk},
	proof::ProofSignature,
	AccountId, BlockNumber,
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Blocks from one look for what can be deleted to the next.
const SWEEP: BlockNumber = 100;

/// Why a text is not here.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
	/// The order of receipts.
	#[error(transparent)]
	Order(#[from] OrderError),
	/// The transcript.
	#[error(transparent)]
	TranscriptStore(#[from] TranscriptStoreError),
	/// It cannot be delivered.
	#[error("it cannot be delivered: {0}")]
	NotPaid(#[from] NotPaid),
	/// The chain.
	#[error(transparent)]
	Chain(#[from] ChainError),
	/// A fault of the program.
	#[error("reading it failed unexpectedly: this is a fault of the program, please report it")]
	Panicked,
}

impl Accounts {
	/// The text of an answer of this provider that was drawn, signed with the key for proofs that is registered now. Blocks.
	///
	/// # Errors
	/// [`TextError`], where it is not here.
	pub fn text_of(&self, audit: &AnswerAuditView, signer: &PonwSigner) -> Result<Handed, TextError> {
		let AnswerId { session, place, .. } = audit.answer;
		let shown = self.0.order.show(session, place, audit.answers, audit.receipts)?;
		let mut transcript = self.0.transcript_store.find(session, shown.receipt)?;
		if transcript.key != Some(signer.public()) {
			// The key was replaced since, and the chain asks for the new one. What is signed stays the same.
			let signature = signer.sign_receipt(&transcript.receipt, transcript.genesis);
			(transcript.key, transcript.signature) = (Some(signer.public()), Some(signature));
		}
		Ok(Handed { transcript, before: shown.before, later: shown.later })
	}
}

/// Keeper of texts for those who audit a provider's answers; it hands them out whether the provider offers anything or not. Clones share it.
#[derive(Clone)]
pub struct Keeper(Arc<Inner>);

struct Inner {
	client: ChainClient,
	submitter: Submitter,
	signer: PonwSigner,
	provider: AccountId,
	accounts: Accounts,
}

impl Keeper {
	/// Of the provider that `submitter` acts for, whose registered key for proofs `signer` has.
	pub fn new(client: ChainClient, submitter: Submitter, signer: PonwSigner, accounts: Accounts) -> Self {
		let provider = submitter.who().clone();
		Self(Arc::new(Inner { client, submitter, signer, provider, accounts }))
	}

	pub(super) fn client(&self) -> &ChainClient {
		&self.0.client
	}

	pub(super) fn submitter(&self) -> &Submitter {
		&self.0.submitter
	}

	pub(super) fn provider(&self) -> &AccountId {
		&self.0.provider
	}

	pub(super) fn accounts(&self) -> &Accounts {
		&self.0.accounts
	}

	/// The text that an auditor asks for, if the chain says that it was drawn.
	///
	/// # Errors
	/// In words for the auditor.
	pub(crate) async fn hand_over(&self, ask: &TextAsk, signature: &ProofSignature) -> Result<Handed, ApiError> {
		let away = |error: ChainError| ApiError::chain(&error);
		if ask.answer.provider != *self.provider() || !is_timely(ask.until) {
			return Err(ApiError::denied("the request is not for this provider, or its time is over"));
		}
		let now = self.client().now().await.map_err(away)?;
		let audit = now.answer_audit(&ask.answer).await.map_err(away)?.filter(|audit| audit.auditor == ask.auditor);
		let audit = audit.ok_or_else(|| ApiError::denied("this account was not drawn to audit this answer"))?;
		let auditor = now.provider(&ask.auditor).await.map_err(away)?;
		if !auditor.is_some_and(|auditor| ask.is_signed(self.client().genesis(), auditor.info.ponw_key, signature)) {
			return Err(ApiError::denied("the request is not signed by the auditor's key for proofs"));
		}
		self.read(audit).await.map_err(|error| {
			let AnswerId { session, place, .. } = ask.answer;
			tracing::error!("the text of answer {place} of session {session} cannot be handed to its auditor: {error}");
			ApiError::internal("the text of this answer cannot be read just now")
		})
	}

	/// Puts texts that are demanded into blocks until `stop` is cancelled, and deletes what nobody can ask for any more.
	pub async fn deliver(self, stop: CancellationToken) {
		let (mut resting, mut swept) = (Rests::new(BACKOFF), None);
		let mut heads = self.client().follow(Heads::default(), |_| {});
		loop {
			heads.mark_unchanged();
			match stop.run_until_cancelled(self.deliver_due(&mut resting, &mut swept)).await {
				None => break,
				Some(Ok(true)) => continue,
				Some(Ok(false)) => {}
				Some(Err(error)) => tracing::debug!("what is demanded of this provider is not known: {error}"),
			}
			next_block(&mut heads, &stop).await;
		}
		let kept = self.accounts().0.transcript_store.sessions().map_or(0, |sessions| sessions.len());
		if kept > 0 {
			tracing::warn!(
				"answers of {kept} sessions can still be audited or disputed: start this again soon. Who does not deliver or defend one in time loses what it has \
				 at stake"
			);
		}
	}

	/// Delivers the most urgent text that is demanded, but for what is resting; `false` if there is none.
	async fn deliver_due(&self, resting: &mut Rests<AnswerId>, swept: &mut Option<BlockNumber>) -> Result<bool, ChainError> {
		let now = self.client().now().await?;
		let block = now.block().number;
		resting.tidy(block);
		// They come in the order of their deadlines.
		let mut demanded = now.answers_demanded_of(self.provider()).await?.into_iter();
		if let Some(audit) = demanded.find(|audit| !audit.condemned && !resting.contains(&audit.answer, block)) {
			let AnswerId { session, place, .. } = audit.answer;
			let until = match audit.delivery {
				Delivery::Demanded(until) => until,
				Delivery::Undemanded | Delivery::Delivered(_) | Delivery::Withheld => audit.closes_at,
			};
			let delivered = self.deliver_one(&audit).await;
			let ended = self.client().now().await.map_or(block, |now| now.block().number);
			// One that succeeds rests until the block that has it is the best one.
			resting.note(audit.answer.clone(), ended, until);
			match delivered {
				Ok(()) => tracing::info!("delivered the text of answer {place} of session {session} to its auditor on chain"),
				Err(error) => tracing::error!(
					"the text of answer {place} of session {session} is demanded on chain and not delivered yet: {error}. Without it, this provider loses \
					 what it has at stake"
				),
			}
			return Ok(true);
		}
		if swept.is_none_or(|before| block >= before.saturating_add(SWEEP)) {
			*swept = Some(block);
			self.sweep().await;
		}
		Ok(false)
	}

	async fn deliver_one(&self, audit: &AnswerAuditView) -> Result<(), TextError> {
		let text = self.read(audit.clone()).await?;
		let call = answer_audits::deliver(audit.answer.session, audit.answer.place, text.into_delivered()?);
		Ok(self.submitter().submit_urgent(call).await.map(drop)?)
	}

	async fn read(&self, audit: AnswerAuditView) -> Result<Handed, TextError> {
		let (accounts, signer) = (self.accounts().clone(), self.0.signer.clone());
		tokio::task::spawn_blocking(move || accounts.text_of(&audit, &signer)).await.unwrap_or(Err(TextError::Panicked))
	}

	/// Forgets the order of receipts where the transcripts are gone.
	async fn sweep(&self) {
		let accounts = self.accounts().clone();
		let swept = tokio::task::spawn_blocking(move || accounts.forget_orders()).await;
		if let Ok(Err(error)) = swept {
			tracing::warn!("what belongs to settled sessions is kept for now: {error}");
		}
	}
}

#[cfg(test)]
mod tests;
