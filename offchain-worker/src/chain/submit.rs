//! Extrinsics on their way into a block.
//!
//! One actor per account signs and sends, one extrinsic at a time, so that nonces never race. Whether an extrinsic got into a block is
//! read from the blocks themselves, not from the pool's messages: those end with the node, blocks do not. It is sent again while it is
//! valid, and signed anew when it is not.

use super::{
	call::Call,
	client::{BlockId, ChainClient, Hash},
	error::{ChainError, Neuro},
	explain::{self, Refusal},
};
use crate::keys::Account;
use codec::Decode;
use neuroshard_types::{AccountId, BlockNumber, H256};
use std::{collections::HashSet, time::Duration};
use subxt::{
	config::{substrate::SubstrateConfig, DefaultExtrinsicParamsBuilder},
	error::DispatchError,
	events::Phase,
};
use tokio::sync::{mpsc, oneshot};

/// Blocks that an extrinsic is valid for.
const MORTALITY: BlockNumber = 64;
/// The birth block is the finalized one, but at most this far behind the best one, so that validity remains while finality lags.
const BIRTH_LAG: BlockNumber = 16;
/// Signed anew so many times before it is given up.
const SIGNATURES: u32 = 3;
/// An extrinsic is handed to the pool again after so many blocks without it: a restarted node may have lost its pool.
const RESEND_AFTER: BlockNumber = 4;
/// Extrinsics that may wait for the one on its way.
const QUEUE: usize = 16;
/// Pause between two looks at the chain.
const LOOK_INTERVAL: Duration = Duration::from_millis(300);

/// An event of an extrinsic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
	/// Pallet.
	pub pallet: String,
	/// Name.
	pub name: String,
	/// SCALE bytes of its fields.
	pub fields: Vec<u8>,
}

/// An extrinsic that got into a block of the best chain and did what it should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Included {
	/// The block.
	pub block: BlockId,
	/// What happened.
	pub events: Vec<Event>,
}

impl Included {
	/// First field of the first event of this name, for instance a new identifier.
	pub fn first_field<T: Decode>(&self, pallet: &str, name: &str) -> Option<T> {
		let event = self.events.iter().find(|event| event.pallet == pallet && event.name == name)?;
		T::decode(&mut event.fields.as_slice()).ok()
	}
}

struct Request {
	call: Call,
	answer: oneshot::Sender<Result<Included, ChainError>>,
}

/// Sends extrinsics of one account. Clones share the actor; it ends with the last of them.
#[derive(Clone)]
pub struct Submitter {
	who: AccountId,
	requests: mpsc::Sender<Request>,
}

impl Submitter {
	/// Starts the actor of `account`.
	pub fn spawn(client: ChainClient, account: Account) -> Self {
		let (requests, mut incoming) = mpsc::channel::<Request>(QUEUE);
		let who = account.id();
		tokio::spawn(async move {
			while let Some(Request { call, answer }) = incoming.recv().await {
				let result = deliver(&client, &account, &call).await;
				// Nobody waits any more if the asker was cancelled; the extrinsic is in its block all the same.
				let _ = answer.send(result);
			}
		});
		Self { who, requests }
	}

	/// The account that signs.
	pub fn who(&self) -> &AccountId {
		&self.who
	}

	/// Sends `call` and waits until it is in a block of the best chain.
	///
	/// While the node is away it waits. A later reorganisation can still take the block away: whoever acts on what the chain says, as
	/// the planner does, then simply sends the call again.
	///
	/// # Errors
	/// [`ChainError::Dispatch`] if the call failed in its block, [`ChainError::Unfunded`], [`ChainError::Pool`],
	/// [`ChainError::NotIncluded`], and the errors of encoding a call.
	pub async fn submit(&self, call: Call) -> Result<Included, ChainError> {
		let (answer, result) = oneshot::channel();
		self.requests.send(Request { call, answer }).await.map_err(|_| ChainError::Stopped)?;
		result.await.map_err(|_| ChainError::Stopped)?
	}
}

async fn deliver(client: &ChainClient, account: &Account, call: &Call) -> Result<Included, ChainError> {
	let mut last = ChainError::NotIncluded { call: call.describe(), blocks: MORTALITY.saturating_mul(SIGNATURES) };
	for _ in 0..SIGNATURES {
		let signed = patiently(|| sign(client, account, call)).await?;
		match follow(client, account, call, &signed).await? {
			Followed::Included(included) => return Ok(included),
			Followed::Expired => {}
			Followed::Outdated(reason) => last = ChainError::Pool { call: call.describe(), reason },
		}
	}
	Err(last)
}

/// A signed extrinsic and the block its validity begins with.
struct Signed {
	bytes: Vec<u8>,
	birth: BlockId,
}

async fn sign(client: &ChainClient, account: &Account, call: &Call) -> Result<Signed, ChainError> {
	let heads = client.heads().await?;
	let at = client.at(heads.best).await?;
	let oldest = heads.best.number.saturating_sub(BIRTH_LAG);
	let birth = if heads.finalized.number >= oldest { heads.finalized } else { client.block_at(oldest).await? };
	let nonce = client.next_nonce(&account.id()).await?;
	let payload = call.payload(at.at.metadata_ref())?;
	let parameters = DefaultExtrinsicParamsBuilder::<SubstrateConfig>::new()
		.nonce(nonce)
		.mortal_from_unchecked(MORTALITY.into(), birth.number.into(), Hash::from(birth.hash.0))
		.build();
	let refused = |error: subxt::error::ExtrinsicError| ChainError::Missing { what: format!("way to sign {}: {error}", call.describe()) };
	let mut signable = at.at.tx().create_signable_offline(&payload, parameters).map_err(refused)?;
	let bytes = signable.sign(account.signer()).map_err(refused)?.into_encoded();
	Ok(Signed { bytes, birth })
}

enum Followed {
	Included(Included),
	/// Its time is over, and it is in no block.
	Expired,
	/// The pool wants another nonce or birth block.
	Outdated(String),
}

async fn follow(client: &ChainClient, account: &Account, call: &Call, signed: &Signed) -> Result<Followed, ChainError> {
	let mut seen = HashSet::new();
	let mut sent_at: Option<BlockNumber> = None;
	let mut outdated = 0;
	loop {
		let heads = patiently(|| client.heads()).await?;
		// The blocks come first: an extrinsic that is in one is refused by the pool as outdated.
		if let Some((block, index)) = patiently(|| find(client, heads.best.hash, signed, seen.clone())).await?.merge(&mut seen) {
			return patiently(|| outcome(client, call, block, index)).await.map(Followed::Included);
		}
		if heads.best.number > signed.birth.number.saturating_add(MORTALITY) {
			return Ok(Followed::Expired);
		}
		if sent_at.is_none_or(|sent| heads.best.number >= sent.saturating_add(RESEND_AFTER)) {
			match patiently(|| client.submit(&signed.bytes)).await?.map_err(|error| explain::refusal(&error)) {
				Ok(()) | Err(Refusal::Known) => {}
				Err(Refusal::Outdated) if !overtaken(sent_at.is_some(), &mut outdated) => {}
				Err(Refusal::Outdated) => {
					tokio::time::sleep(LOOK_INTERVAL).await;
					return Ok(Followed::Outdated(
						"another extrinsic of this account was faster; is the account used elsewhere, too?".into(),
					));
				}
				Err(Refusal::Unfunded) => return Err(unfunded(client, account).await),
				Err(Refusal::Later(reason)) => tracing::debug!("{} waits: {reason}", call.describe()),
				Err(Refusal::Never(reason)) => return Err(ChainError::Pool { call: call.describe(), reason }),
			}
			sent_at = Some(heads.best.number);
		}
		tokio::time::sleep(LOOK_INTERVAL).await;
	}
}

/// Whether the pool's answer "outdated" means that another extrinsic has taken the nonce. One that was sent before and is in no block that
/// was looked at may be in the very next one; the second time, some blocks later, it would have been found there.
fn overtaken(sent_before: bool, outdated: &mut u32) -> bool {
	*outdated = outdated.saturating_add(1);
	!sent_before || *outdated > 1
}

/// What a walk back from the best block found, and the blocks it looked at.
struct Walk {
	found: Option<(BlockId, u32)>,
	looked_at: Vec<H256>,
}

impl Walk {
	fn merge(self, seen: &mut HashSet<H256>) -> Option<(BlockId, u32)> {
		seen.extend(self.looked_at);
		self.found
	}
}

/// Looks for the extrinsic from `head` back to its birth block, skipping what was looked at before.
async fn find(client: &ChainClient, head: H256, signed: &Signed, seen: HashSet<H256>) -> Result<Walk, ChainError> {
	let mut walk = Walk { found: None, looked_at: Vec::new() };
	let mut hash = head;
	while !seen.contains(&hash) {
		let (number, parent) = client.header(hash).await?;
		if number <= signed.birth.number {
			break;
		}
		let body = client.body(hash).await?;
		let position = body.iter().position(|extrinsic| *extrinsic == signed.bytes);
		if let Some(index) = position.and_then(|index| u32::try_from(index).ok()) {
			walk.found = Some((BlockId { number, hash }, index));
			return Ok(walk);
		}
		walk.looked_at.push(hash);
		hash = parent;
	}
	Ok(walk)
}

/// Events of extrinsic `index`, unless it failed.
async fn outcome(client: &ChainClient, call: &Call, block: BlockId, index: u32) -> Result<Included, ChainError> {
	let at = client.at(block).await?;
	let bad = |error: subxt::error::EventsError| client.rpc_error("the events of a block", error);
	let all = at.at.events().fetch().await.map_err(bad)?;
	let mut events = Vec::new();
	for event in all.iter() {
		let event = event.map_err(bad)?;
		if event.phase() != Phase::ApplyExtrinsic(index) {
			continue;
		}
		let failed = match (event.pallet_name(), event.event_name()) {
			("System", "ExtrinsicFailed") => Some(event.field_bytes()),
			// The outer call succeeds whatever becomes of the inner one: `Result<(), DispatchError>`.
			("Sudo", "Sudid") => event.field_bytes().split_first().filter(|(tag, _)| **tag == 1).map(|(_, error)| error),
			_ => None,
		};
		if let Some(bytes) = failed {
			let undecodable = |error: subxt::error::DispatchErrorDecodeError| ChainError::BadAnswer {
				what: format!("the failure of {}", call.describe()),
				reason: error.to_string(),
			};
			let error = DispatchError::decode_from(bytes, at.at.metadata()).map_err(undecodable)?;
			return Err(explain::failure(&call.describe(), &error));
		}
		events.push(Event {
			pallet: event.pallet_name().to_owned(),
			name: event.event_name().to_owned(),
			fields: event.field_bytes().to_vec(),
		});
	}
	Ok(Included { block, events })
}

async fn unfunded(client: &ChainClient, account: &Account) -> ChainError {
	let funds = async { client.now().await?.funds(&account.id()).await };
	let free = funds.await.map(|funds| funds.free).unwrap_or_default();
	ChainError::Unfunded { address: account.address(), free: Neuro(free) }
}

/// Repeats what fails because the node is away, until it is back.
async fn patiently<T, F: std::future::Future<Output = Result<T, ChainError>>>(mut ask: impl FnMut() -> F) -> Result<T, ChainError> {
	loop {
		match ask().await {
			Err(ChainError::NodeAway { .. }) => tokio::time::sleep(LOOK_INTERVAL).await,
			done => return done,
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn an_extrinsic_is_given_up_when_another_one_has_its_nonce() {
		assert!(overtaken(false, &mut 0), "it was never sent: the nonce is somebody else's");
		let mut outdated = 0;
		assert!(!overtaken(true, &mut outdated), "it may be in the block that is being made");
		assert!(overtaken(true, &mut outdated));
	}
}
