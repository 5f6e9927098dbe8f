//! Gets many extrinsics into finalized blocks: as many at a time as fill a few blocks, so that the pool is never empty, and never larger than it has
//! to be.

use neuroshard_e2e::{until, Connection, Error, Nodes};
use neuroshard_types::{BlockNumber, H256};
use std::{
	collections::HashMap,
	sync::{
		atomic::{AtomicUsize, Ordering},
		Arc,
	},
	time::Duration,
};
use tokio::{sync::Semaphore, task::JoinSet};

/// Extrinsics that are handed over and in no block yet, at most: more than a block holds, and not much more, since the pool validates again with
/// every block what that block has left.
const WINDOW: usize = 6_000;
/// Connections to each node.
const CONNECTIONS: usize = 2;
/// Extrinsics on their way over one connection.
const IN_FLIGHT: usize = 16;

/// Where the extrinsics are.
pub(super) struct Delivered {
	/// The block before the first that holds one.
	pub(super) before: BlockNumber,
	/// Last block that holds one.
	pub(super) last: BlockNumber,
	/// How many of them each block from the first to the last holds, and their places in it.
	pub(super) places: Vec<Vec<usize>>,
}

/// Options of nodes whose pool is to hold what is on its way: it keeps what blocks hold until they are final, and a few full blocks may wait for that.
pub(super) fn options() -> Vec<String> {
	vec![format!("--pool-limit={}", 6 * WINDOW), "--pool-kbytes=81920".into()]
}

/// Hands `extrinsics` to the nodes, and returns when all of them are in finalized blocks.
///
/// # Errors
/// [`Error::Unsound`] if a node refuses one, [`Error::Ended`], and [`Error::Late`] if they are not finalized within `limit`.
pub(super) async fn deliver(nodes: &mut Nodes, extrinsics: Vec<Vec<u8>>, limit: Duration) -> Result<Delivered, Error> {
	let mut connections = Vec::new();
	for validator in &nodes.validators {
		for _ in 0..CONNECTIONS {
			connections.push(Connection::open(validator.url()).await?);
		}
	}
	let chain = Connection::open(nodes.client().url()).await?;
	let mine = extrinsics.iter().enumerate().map(|(index, bytes)| (bytes.clone(), index)).collect();
	let mut follower = Follower::new(chain, mine).await?;
	let (queue, room) = (Arc::new(Queue { extrinsics, next: AtomicUsize::new(0) }), Arc::new(Semaphore::new(WINDOW)));
	let mut senders = JoinSet::new();
	for connection in connections {
		for _ in 0..IN_FLIGHT {
			senders.spawn(hand_over(connection.clone(), queue.clone(), room.clone()));
		}
	}
	until("all extrinsics to be finalized", limit, async || {
		nodes.check()?;
		while let Some(ended) = senders.try_join_next() {
			ended.map_err(|error| Error::Setup(error.to_string()))??;
		}
		room.add_permits(follower.look().await?);
		Ok(follower.is_done().then_some(()))
	})
	.await?;
	follower.delivered()
}

/// What is still to be handed over.
struct Queue {
	extrinsics: Vec<Vec<u8>>,
	next: AtomicUsize,
}

async fn hand_over(connection: Connection, queue: Arc<Queue>, room: Arc<Semaphore>) -> Result<(), Error> {
	while let Some(extrinsic) = queue.extrinsics.get(queue.next.fetch_add(1, Ordering::Relaxed)) {
		// It is given back when a block holds the extrinsic.
		room.acquire().await.map_err(|error| Error::Setup(error.to_string()))?.forget();
		connection.submit(extrinsic).await?;
	}
	Ok(())
}

/// Looks for the extrinsics in blocks as they come.
struct Follower {
	chain: Connection,
	mine: HashMap<Vec<u8>, usize>,
	start: BlockNumber,
	best: BlockNumber,
	/// Places of extrinsics in the best blocks that were looked at, so that no body is asked for twice.
	known: HashMap<H256, Vec<usize>>,
	/// The same in finalized blocks, from the one after `start` on.
	finalized: Vec<Vec<usize>>,
	found: usize,
}

impl Follower {
	async fn new(chain: Connection, mine: HashMap<Vec<u8>, usize>) -> Result<Self, Error> {
		let start = chain.finalized().await?;
		Ok(Self { chain, mine, start, best: start, known: HashMap::new(), finalized: Vec::new(), found: 0 })
	}

	/// Looks at new blocks, and returns how many of the extrinsics are in new best ones.
	async fn look(&mut self) -> Result<usize, Error> {
		let (mut new, best) = (0usize, self.chain.best().await?);
		while self.best < best {
			self.best = self.best.saturating_add(1);
			let hash = self.chain.hash(self.best).await?;
			let places = self.places(hash).await?;
			new = new.saturating_add(places.len());
			self.known.insert(hash, places);
		}
		let finalized = self.chain.finalized().await?;
		while self.next() <= finalized && !self.is_done() {
			let hash = self.chain.hash(self.next()).await?;
			let places = match self.known.remove(&hash) {
				Some(places) => places,
				None => self.places(hash).await?,
			};
			self.found = self.found.saturating_add(places.len());
			self.finalized.push(places);
		}
		Ok(new)
	}

	async fn places(&self, hash: H256) -> Result<Vec<usize>, Error> {
		let body = self.chain.body(hash).await?;
		Ok(body.iter().enumerate().filter(|(_, bytes)| self.mine.contains_key(*bytes)).map(|(place, _)| place).collect())
	}

	/// The finalized block to look at next.
	fn next(&self) -> BlockNumber {
		let looked_at = BlockNumber::try_from(self.finalized.len()).unwrap_or(BlockNumber::MAX);
		self.start.saturating_add(looked_at).saturating_add(1)
	}

	/// An extrinsic is in a chain once at most: its nonce is used up then.
	fn is_done(&self) -> bool {
		self.found >= self.mine.len()
	}

	fn delivered(self) -> Result<Delivered, Error> {
		let empty = self.finalized.iter().take_while(|places| places.is_empty()).count();
		let last = self.next().saturating_sub(1);
		let before = self.start.saturating_add(BlockNumber::try_from(empty).unwrap_or(BlockNumber::MAX));
		let places: Vec<_> = self.finalized.into_iter().skip(empty).collect();
		match places.is_empty() {
			true => Err(Error::Unsound("nothing was handed over".into())),
			false => Ok(Delivered { before, last, places }),
		}
	}
}
