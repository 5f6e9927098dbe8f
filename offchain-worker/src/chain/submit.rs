//! Extrinsics on their way into a block.
//!
//! One actor per account signs and sends. Whether an extrinsic got into a block is
//! read from the blocks themselves, not from the pool's messages: those end with the node, blocks do not. It is sent again while it is
//! valid, and signed anew when it is not.

use super::{
	attempts::Expiry,
	call::Call,
	client::{BlockId, ChainClient},
	delivery::{Lane, Rank},
	error::ChainError,
};
use crate::keys::Account;
use codec::Decode;
use neuroshard_types::{AccountId, Balance};
use tokio::sync::{mpsc, oneshot};

/// Extrinsics that may wait for the one on its way.
const QUEUE: usize = 16;

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
	expiry: Expiry,
	keep: Balance,
	answer: oneshot::Sender<Result<Included, ChainError>>,
}

/// Sends extrinsics of one account. Clones share the actor; it ends with the last of them.
///
/// An urgent extrinsic does not wait for an ordinary one: it is signed for the account's next place in a block, whatever the pool has for
/// that place, and what it drives out is signed anew behind it.
#[derive(Clone)]
pub struct Submitter {
	who: AccountId,
	urgent: mpsc::Sender<Request>,
	ordinary: mpsc::Sender<Request>,
}

impl Submitter {
	/// Starts the actor of `account`.
	pub fn spawn(client: ChainClient, account: Account) -> Self {
		let ((urgent, incoming_urgent), (ordinary, incoming)) = (mpsc::channel(QUEUE), mpsc::channel(QUEUE));
		let who = account.id();
		tokio::spawn(serve(Lane::new(client, account), incoming_urgent, incoming));
		Self { who, urgent, ordinary }
	}

	/// The account that signs.
	pub fn who(&self) -> &AccountId {
		&self.who
	}

	/// Sends `call` and waits until it is in a block of the best chain. Dropped meanwhile, it gives way to what is sent next; the pool
	/// may have it, and then it gets into a block nevertheless.
	///
	/// While the node is away it waits. A later reorganisation can still take the block away: whoever acts on what the chain says, as
	/// the planner does, then simply sends the call again.
	///
	/// # Errors
	/// [`ChainError::Dispatch`] if the call failed in its block, [`ChainError::Unfunded`], [`ChainError::Pool`],
	/// [`ChainError::NotIncluded`], and the errors of encoding a call.
	pub async fn submit(&self, call: Call) -> Result<Included, ChainError> {
		request(&self.ordinary, call, Expiry::SignAnew, 0).await
	}

	/// As [`Self::submit`], but an extrinsic that the pool had and whose time is over is not signed anew: by then the caller may want
	/// something else, and what must not happen twice does not.
	///
	/// # Errors
	/// As [`Self::submit`]; [`ChainError::NotIncluded`] after one time of validity.
	pub async fn submit_once(&self, call: Call) -> Result<Included, ChainError> {
		request(&self.ordinary, call, Expiry::GiveUp, 0).await
	}

	/// As [`Self::submit_once`], before all that is ordinary: for what has a deadline and costs a stake if it is late. It offers tips where blocks have
	/// no room for it, but never out of the `keep` planck that must remain free, since the call itself needs them.
	///
	/// # Errors
	/// As [`Self::submit_once`].
	pub async fn submit_urgent(&self, call: Call, keep: Balance) -> Result<Included, ChainError> {
		request(&self.urgent, call, Expiry::GiveUp, keep).await
	}
}

async fn request(requests: &mpsc::Sender<Request>, call: Call, expiry: Expiry, keep: Balance) -> Result<Included, ChainError> {
	let (answer, result) = oneshot::channel();
	requests.send(Request { call, expiry, keep, answer }).await.map_err(|_| ChainError::Stopped)?;
	result.await.map_err(|_| ChainError::Stopped)?
}

/// The actor: one extrinsic at a time, so that nonces never race, except that an ordinary one stands aside for those that are urgent.
async fn serve(lane: Lane, mut urgent: mpsc::Receiver<Request>, mut ordinary: mpsc::Receiver<Request>) {
	loop {
		let Request { call, expiry, keep, mut answer } = tokio::select! {
			biased;
			Some(request) = urgent.recv() => {
				hurry(&lane, request).await;
				continue;
			},
			Some(request) = ordinary.recv() => request,
			else => return,
		};
		let mut delivering = std::pin::pin!(lane.deliver(&call, expiry, Rank::Ordinary, keep));
		let result = loop {
			tokio::select! {
				biased;
				// Nobody waits for it any more. It may get into a block all the same, but the next one does not wait for that.
				() = answer.closed() => break None,
				Some(request) = urgent.recv() => hurry(&lane, request).await,
				result = &mut delivering => break Some(result),
			}
		};
		if let Some(result) = result {
			let _ = answer.send(result);
		}
	}
}

async fn hurry(lane: &Lane, Request { call, expiry, keep, mut answer }: Request) {
	let result = tokio::select! {
		result = lane.deliver(&call, expiry, Rank::Urgent, keep) => result,
		() = answer.closed() => return,
	};
	let _ = answer.send(result);
}
