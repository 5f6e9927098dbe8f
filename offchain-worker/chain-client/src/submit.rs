//! Extrinsics on their way into a block.
//!
//! One actor per account signs and sends. Whether an extrinsic got into a block is
//! read from the blocks themselves, not from the pool's messages: those end with the node, blocks do not. It is sent again while it is
//! valid, and signed anew when it is not.

use crate::{
	attempts::Expiry,
	call::Call,
	client::{BlockId, ChainClient},
	delivery::{Lane, Rank},
	error::ChainError,
	keys::Account,
};
use codec::Decode;
use futures::FutureExt;
use neuroshard_types::{AccountId, Balance, BlockNumber};
use std::{panic::AssertUnwindSafe, task::Poll};
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
	/// Its events.
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
/// An extrinsic does not wait for one of a lower rank: it is signed for the account's next place in a block, whatever the pool has for that
/// place, and what it drives out is signed anew behind it.
#[derive(Clone)]
pub struct Submitter {
	who: AccountId,
	signer: AccountId,
	/// Queues, the most urgent one first.
	urgent: mpsc::Sender<Request>,
	timely: mpsc::Sender<Request>,
	prompt: mpsc::Sender<Request>,
	paying: mpsc::Sender<Request>,
	ordinary: mpsc::Sender<Request>,
}

impl Submitter {
	/// Starts the actor of `account`, which acts for itself.
	pub fn spawn(client: ChainClient, account: Account) -> Self {
		let who = account.id();
		Self::spawn_for(client, account, who)
	}

	/// Starts the actor of `account`, which is the operator of `who`, or that account itself. What an operator sends is sent as long as it is
	/// one: afterwards it would act for itself.
	pub fn spawn_for(client: ChainClient, account: Account, who: AccountId) -> Self {
		let [(urgent, first), (timely, second), (prompt, third), (paying, fourth), (ordinary, fifth)] =
			std::array::from_fn(|_| mpsc::channel(QUEUE));
		let signer = account.id();
		let owner = Some(who.clone()).filter(|who| *who != signer);
		let queues =
			[(Rank::Urgent, first), (Rank::Timely, second), (Rank::Prompt, third), (Rank::Prompt, fourth), (Rank::Ordinary, fifth)];
		tokio::spawn(serve(Lane::new(client, account, owner), queues));
		Self { who, signer, urgent, timely, prompt, paying, ordinary }
	}

	/// The account whose work it is.
	pub fn who(&self) -> &AccountId {
		&self.who
	}

	/// The account that signs, and pays fees and the bonds of challenges: [`Self::who`], or its operator.
	pub fn signer(&self) -> &AccountId {
		&self.signer
	}

	/// Returns whether an operator signs.
	pub fn is_operator(&self) -> bool {
		self.who != self.signer
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

	/// As [`Self::submit_once`], for what may be wanted in the state after block `decided` only: no branch without that block has it, and none has it
	/// after another extrinsic of this account. So it cannot be there twice, however often it is decided anew.
	///
	/// # Errors
	/// As [`Self::submit_once`]; [`ChainError::Pool`] also if another extrinsic of this account has taken its place.
	pub async fn submit_as_of(&self, call: Call, decided: BlockId) -> Result<Included, ChainError> {
		request(&self.ordinary, call, Expiry::AsOf(decided), 0).await
	}

	/// As [`Self::submit_once`], before all else: for moves in disputes and what else blocks keep room for.
	///
	/// # Errors
	/// As [`Self::submit_once`].
	pub async fn submit_urgent(&self, call: Call) -> Result<Included, ChainError> {
		request(&self.urgent, call, Expiry::GiveUp, 0).await
	}

	/// As [`Self::submit_urgent`], but it stands aside for those: for what a participant has to do in a round. It is given up when no block before
	/// `deadline` can have it any more, and no sooner. Its tips are never out of the `keep` planck that must remain free.
	///
	/// # Errors
	/// As [`Self::submit`]; [`ChainError::Late`] at its deadline.
	pub async fn submit_timely(&self, call: Call, deadline: BlockNumber, keep: Balance) -> Result<Included, ChainError> {
		request(&self.timely, call, Expiry::Deadline(deadline), keep).await
	}

	/// As [`Self::submit_once`], before all that has no deadline: for ordinary calls that have one. It offers tips where blocks have no room for
	/// it, as urgent ones do, but never out of the `keep` planck that must remain free, since the call itself needs them.
	///
	/// # Errors
	/// As [`Self::submit_once`].
	pub async fn submit_prompt(&self, call: Call, keep: Balance) -> Result<Included, ChainError> {
		request(&self.prompt, call, Expiry::GiveUp, keep).await
	}

	/// As [`Self::submit_prompt`], but it stands aside for those: for what has no deadline, and is worth a tip.
	///
	/// # Errors
	/// As [`Self::submit_once`].
	pub async fn submit_paying(&self, call: Call, keep: Balance) -> Result<Included, ChainError> {
		request(&self.paying, call, Expiry::GiveUp, keep).await
	}
}

async fn request(requests: &mpsc::Sender<Request>, call: Call, expiry: Expiry, keep: Balance) -> Result<Included, ChainError> {
	let (answer, result) = oneshot::channel();
	requests.send(Request { call, expiry, keep, answer }).await.map_err(|_| ChainError::Stopped)?;
	result.await.map_err(|_| ChainError::Stopped)?
}

/// Requests that are as urgent as each other.
type Queue = (Rank, mpsc::Receiver<Request>);

/// The actor: one extrinsic at a time, so that nonces never race, except that it stands aside for those of a higher rank.
async fn serve(lane: Lane, mut queues: [Queue; 5]) {
	while let Some((place, request)) = next(&mut queues).await {
		send(&lane, &mut queues, place, request).await;
	}
}

/// The next request, of the first queue that has one, and the place of that queue. `None` once nobody can ask for anything any more.
async fn next(queues: &mut [Queue]) -> Option<(usize, Request)> {
	std::future::poll_fn(|context| {
		let mut open = false;
		for (place, (_, queue)) in queues.iter_mut().enumerate() {
			match queue.poll_recv(context) {
				Poll::Ready(Some(request)) => return Poll::Ready(Some((place, request))),
				Poll::Ready(None) => {}
				Poll::Pending => open = true,
			}
		}
		match open {
			true => Poll::Pending,
			false => Poll::Ready(None),
		}
	})
	.await
}

/// Sends what the queue at `place` had, and before it whatever the queues before that one get meanwhile.
async fn send(lane: &Lane, queues: &mut [Queue], place: usize, request: Request) {
	let Request { call, expiry, keep, mut answer } = request;
	let (before, queue) = queues.split_at_mut(place);
	let Some((rank, _)) = queue.first() else { return };
	// A panic costs this one its answer, and no other one anything: a defence depends on what is asked for next.
	let mut delivering = std::pin::pin!(AssertUnwindSafe(lane.deliver(&call, expiry, *rank, keep)).catch_unwind());
	let result = loop {
		tokio::select! {
			biased;
			// Nobody waits for it any more. It may get into a block all the same, but the next one does not wait for that.
			() = answer.closed() => return,
			Some((place, request)) = next(before) => Box::pin(send(lane, before, place, request)).await,
			result = &mut delivering => break result,
		}
	};
	match result {
		Ok(result) => drop(answer.send(result)),
		Err(_) => tracing::error!("{} was given up by a panic: this is a fault of the program, please report it", call.describe()),
	}
}
