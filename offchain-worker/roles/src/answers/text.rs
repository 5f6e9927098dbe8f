//! The text of an answer, from its provider or from the block that it was delivered in.

use axum::{
	body::{to_bytes, Body, Bytes},
	http::{
		header::{HeaderMap, HeaderValue, CONTENT_TYPE},
		uri::PathAndQuery,
		Method, StatusCode,
	},
};
use neuroshard_chain_client::{keys::PonwSigner, BlockId, ChainAt, ChainClient, ChainError};
use neuroshard_disputes::answers::{
	handed::TEXTS,
	provider::{Away, BadEndpoint, Endpoint, Provider},
	Asking, Handed, NotPaid,
};
use neuroshard_network::Reach;
use neuroshard_types::{
	answer_audit::{AnswerAuditView, TextAsk},
	provider::PonwKey,
	AccountId, Moment, H256,
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::timeout;

/// For all of one request.
const ANSWER: Duration = Duration::from_secs(15);
/// For so long, in milliseconds, the statement that one asks holds: clocks differ.
const HOLDS: Moment = 5 * 60 * 1_000;
/// Bytes of a text with its receipts, as JSON: 16,384 tokens of ten digits, and 256 hashes.
const MOST: usize = 1 << 19;

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub(super) enum TextError {
	#[error(transparent)]
	Chain(#[from] ChainError),
	#[error("the provider offers nothing any more, so that it cannot be asked")]
	NoOffer,
	#[error(transparent)]
	Endpoint(#[from] BadEndpoint),
	#[error("its address cannot be asked: {0}")]
	Connector(#[from] std::io::Error),
	#[error("the provider did not answer: {0}")]
	Away(#[from] Away),
	#[error("the provider did not answer within {} seconds", ANSWER.as_secs())]
	Late,
	#[error("the provider refused with status {0}")]
	Refused(StatusCode),
	#[error("what the provider answered is no text: {0}")]
	Unreadable(String),
	#[error("what the provider handed over is not what was paid for: {0}")]
	NotPaid(#[from] NotPaid),
	#[error("the provider is not registered any more")]
	Unregistered,
	#[error("block {0} has no such text: where the chain is changing its branch, it is read again")]
	NotThere(u32),
}

/// Auditor that asks.
pub(super) struct Asker<'a> {
	pub(super) me: &'a AccountId,
	pub(super) signer: &'a PonwSigner,
	pub(super) genesis: H256,
	/// Range of addresses of offers that may be dialled.
	pub(super) reach: Reach,
}

/// The provider's key for proofs.
pub(super) async fn key_of(at: &ChainAt, provider: &AccountId) -> Result<PonwKey, TextError> {
	Ok(at.provider(provider).await?.ok_or(TextError::Unregistered)?.info.ponw_key)
}

impl Asker<'_> {
	/// Asks the provider for the text of an answer that was drawn.
	pub(super) async fn ask(&self, at: &ChainAt, audit: &AnswerAuditView) -> Result<Handed, TextError> {
		let key = key_of(at, &audit.answer.provider).await?;
		let offer = at.offer_of(&audit.answer.provider).await?.ok_or(TextError::NoOffer)?.offer;
		let provider = Provider::new(Endpoint::parse(&offer.endpoint)?.reaching(self.reach))?;
		let asked = timeout(ANSWER, self.ask_at(&provider, audit));
		let handed = asked.await.map_err(|_| TextError::Late)??;
		handed.check(audit, key, self.genesis)?;
		Ok(handed)
	}

	async fn ask_at(&self, provider: &Provider, audit: &AnswerAuditView) -> Result<Handed, TextError> {
		let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
		let until = Moment::try_from(since.as_millis()).unwrap_or(Moment::MAX).saturating_add(HOLDS);
		let ask = TextAsk { answer: audit.answer.clone(), auditor: self.me.clone(), until };
		let asking = Asking::new(&ask, &self.signer.sign_text_ask(&ask, self.genesis));
		let unreadable = |error: serde_json::Error| TextError::Unreadable(error.to_string());
		let mut headers = HeaderMap::new();
		headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
		let body = Bytes::from(serde_json::to_vec(&asking).map_err(unreadable)?);
		let response = provider.ask(Method::POST, PathAndQuery::from_static(TEXTS), headers, body).await?;
		if response.status() != StatusCode::OK {
			return Err(TextError::Refused(response.status()));
		}
		let bytes = to_bytes(Body::new(response.into_body()), MOST).await;
		let bytes = bytes.map_err(|error| TextError::Unreadable(error.to_string()))?;
		serde_json::from_slice(&bytes).map_err(unreadable)
	}
}

/// The text of an answer that was drawn, and delivered in this block.
pub(super) async fn delivered(client: &ChainClient, at: &ChainAt, audit: &AnswerAuditView, block: BlockId) -> Result<Handed, TextError> {
	let (key, genesis) = (key_of(at, &audit.answer.provider).await?, client.genesis());
	let all = at.delivered(block).await?.into_iter().map(|delivered| Handed::of(delivered, key, genesis));
	all.into_iter().find(|handed| handed.check(audit, key, genesis).is_ok()).ok_or(TextError::NotThere(block.number))
}
