//! An account that floods a network: it has the pool full of ordinary extrinsics, more than blocks take, until it is stopped. Each declares the same
//! share of what a block may take, pays for it, fails, and costs the machine next to nothing: what is tried under a flood is tried by the chain's rules
//! for full blocks, not by the machine's speed.

use crate::{
	blocks::{Chain, Connection},
	Error, Network,
};
use neuroshard_chain_client::{
	balances,
	keys::{Account, Seed},
	multisig, Call, ChainAt, ChainClient, Heads, Refusal,
};
use neuroshard_types::{Balance, BlockNumber, NEURO};
use std::{
	collections::BTreeMap,
	ops::{Range, RangeInclusive},
};
use tokio::{
	sync::{oneshot, watch},
	task::JoinHandle,
};

/// Extrinsics that fill what ordinary ones may take of a block, to the last picosecond but thirty.
const OF_BLOCK: u64 = 30;
/// Extrinsics beyond the best block: five blocks.
const AHEAD: u64 = 150;
/// Extrinsics beyond the finalized block. The pool keeps them until they are final.
const UNFINALIZED: u64 = 900;
/// What each offers, in planck: with it they come before all that offers nothing.
const TIP: Balance = NEURO / 1_000_000;
/// What the account is given, in planck: a full block costs it 15 NEURO.
const MONEY: Balance = 30_000 * NEURO;

/// A flood that goes on until it is stopped or dropped.
pub struct Flood {
	stop: oneshot::Sender<()>,
	task: JoinHandle<Result<(), Error>>,
	chain: Chain,
	piece: u64,
}

/// What a flood has left to others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flooded {
	/// What each of its extrinsics takes of a block, in picoseconds.
	pub piece: u64,
	/// What ordinary extrinsics could still have taken of each block, in picoseconds.
	pub room: BTreeMap<BlockNumber, u64>,
}

impl Flooded {
	/// Blocks of these that are known, and how many of them have less room than another one of its extrinsics takes.
	pub fn full(&self, blocks: RangeInclusive<BlockNumber>) -> (usize, usize) {
		let rooms = || self.room.range(blocks.clone()).map(|(_, room)| *room);
		(rooms().count(), rooms().filter(|room| *room < self.piece).count())
	}
}

impl Flood {
	/// Has a new account, which the sponsor gives money, flood the network from now on.
	///
	/// # Errors
	/// [`Error::Chain`] if it gets no money, or a node is away.
	pub(crate) async fn of_network(network: &Network) -> Result<Self, Error> {
		let account = Account::from_secret(&format!("0x{}", hex::encode(Seed::random().expose())))?;
		network.sponsor().submit(balances::transfer(account.id(), MONEY)).await?;
		let mut nodes = Vec::new();
		for validator in &network.validators {
			nodes.push(ChainClient::connect(validator.url()).await?);
		}
		Self::start(nodes, account, TIP).await
	}

	/// Has an account flood these nodes from now on, with extrinsics that offer `tip` planck each.
	///
	/// # Errors
	/// [`Error::Chain`] if a node is away, [`Error::Setup`] without nodes.
	pub async fn start(nodes: Vec<ChainClient>, account: Account, tip: Balance) -> Result<Self, Error> {
		let client = nodes.first().cloned().ok_or_else(|| setup("there is no node"))?;
		let (connection, chain) = (Connection::open(client.url()).await?, Chain::connect(client.url()).await?);
		let at = client.now().await?;
		let ordinary = chain.ordinary(at.block().number).await?;
		let piece = ordinary.limit / OF_BLOCK;
		let mut sender = Sender { nodes, account, call: multisig::refused(0), tip, signed: BTreeMap::new() };
		let least = connection.time_of(&at.sign(&sender.account, &sender.call, 0, tip, None)?).await?;
		sender.call = multisig::refused(piece.saturating_sub(least).saturating_sub(ordinary.base));
		let heads = client.follow(client.heads().await?, |_| ());
		let (stop, stopped) = oneshot::channel();
		Ok(Self { stop, task: tokio::spawn(flood(sender, heads, stopped)), chain, piece })
	}

	/// Ends it, and looks at these blocks, which should be finalized.
	///
	/// # Errors
	/// What has ended it before, if something did; [`Error::Chain`] if a block cannot be read.
	pub async fn stop(self, blocks: RangeInclusive<BlockNumber>) -> Result<Flooded, Error> {
		let Self { stop, task, chain, piece } = self;
		drop(stop);
		task.await.map_err(setup)??;
		let mut room = BTreeMap::new();
		for number in blocks {
			let ordinary = chain.ordinary(number).await?;
			room.insert(number, ordinary.limit.saturating_sub(ordinary.used));
		}
		Ok(Flooded { piece, room })
	}
}

/// Next nonces of the account: after the finalized block, after the best one, and after what the pool has beyond that without a gap.
#[derive(Clone, Copy, Debug)]
struct Nonces {
	finalized: u64,
	best: u64,
	pool: u64,
}

impl Nonces {
	/// Nonces of the extrinsics that are missing.
	fn missing(self) -> Range<u64> {
		let Self { finalized, best, pool } = self;
		let end = best.saturating_add(AHEAD).min(finalized.saturating_add(UNFINALIZED));
		pool.max(best)..end
	}
}

/// The task.
async fn flood(mut sender: Sender, mut heads: watch::Receiver<Heads>, mut stopped: oneshot::Receiver<()>) -> Result<(), Error> {
	let work = async {
		loop {
			let now = *heads.borrow_and_update();
			// A node that is busy now may have time at the next block. Whether blocks were full is seen in the end.
			if let Err(error) = sender.fill(now).await {
				tracing::warn!("the flood: {error}");
			}
			heads.changed().await.map_err(setup)?;
		}
	};
	tokio::select! {
		// Nothing is ever sent: it ends when the other side is gone.
		_ = &mut stopped => Ok(()),
		ended = work => ended,
	}
}

/// What signs and sends.
struct Sender {
	/// All validators: one of them would pass on what its own pool holds, and no more of what another one has missed of it.
	nodes: Vec<ChainClient>,
	account: Account,
	call: Call,
	/// Planck that the next extrinsic offers.
	tip: Balance,
	/// What was sent and is not final, by nonces: all nodes get the same.
	signed: BTreeMap<u64, Vec<u8>>,
}

impl Sender {
	/// Sends each node what it is missing.
	async fn fill(&mut self, heads: Heads) -> Result<(), Error> {
		// The first node is the one whose heads are followed: the others may not know them yet.
		let Some(first) = self.nodes.first() else { return Ok(()) };
		let (at, who) = (first.at(heads.finalized).await?, self.account.id());
		let (finalized, best) = (at.nonce(&who).await?, first.at(heads.best).await?.nonce(&who).await?);
		self.signed.retain(|nonce, _| *nonce >= finalized);
		for node in self.nodes.clone() {
			let pool = node.next_nonce(&who).await?;
			self.send(&node, &at, Nonces { finalized, best, pool }.missing()).await?;
		}
		Ok(())
	}

	/// Sends these to a node until its pool refuses one. That is no failure: the next block makes room, and what a lost branch has taken along is
	/// missing then.
	async fn send(&mut self, node: &ChainClient, at: &ChainAt, nonces: Range<u64>) -> Result<(), Error> {
		for nonce in nonces {
			while let Err(refusal) = node.submit(&self.signed(at, nonce)?).await? {
				match refusal {
					// Another node has passed it on.
					Refusal::Known => break,
					// Too many that came before those with lower nonces: the pool has thrown this one out, and does not take the same bytes again for half
					// an hour. It takes what offers more, and all that follow offer it, too.
					Refusal::Banned(_) if self.signed.remove(&nonce).is_some() => self.tip = self.tip.saturating_add(1),
					refusal => {
						tracing::debug!(nonce, ?refusal, "the flood waits for the next block");
						return Ok(());
					}
				}
			}
		}
		Ok(())
	}

	/// The extrinsic with this nonce. It is valid for ever, on any branch.
	fn signed(&mut self, at: &ChainAt, nonce: u64) -> Result<Vec<u8>, Error> {
		if let Some(signed) = self.signed.get(&nonce) {
			return Ok(signed.clone());
		}
		let signed = at.sign(&self.account, &self.call, nonce, self.tip, None)?;
		self.signed.insert(nonce, signed.clone());
		Ok(signed)
	}
}

fn setup(error: impl std::fmt::Display) -> Error {
	Error::Setup(format!("the flood: {error}"))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn what_blocks_and_the_pool_lack_is_sent_and_no_more_than_a_pool_keeps() {
		let missing = |finalized, best, pool| Nonces { finalized, best, pool }.missing();
		assert_eq!(missing(0, 0, 0), 0..150);
		// A block took thirty, and the pool has the other ones.
		assert_eq!(missing(0, 30, 150), 150..180);
		// A lost branch has taken some along.
		assert_eq!(missing(10, 40, 50), 50..190);
		// The pool does not know the best block yet.
		assert_eq!(missing(10, 40, 30), 40..190);
		// Finality is so many blocks behind that the pool has nearly all that it should.
		assert_eq!(missing(0, 800, 890), 890..900);
		assert!(missing(0, 920, 920).is_empty());
		assert!(missing(0, 0, 150).is_empty());
	}

	#[test]
	fn a_block_is_full_if_another_piece_finds_no_room_in_it() {
		let flooded = Flooded { piece: 40, room: BTreeMap::from([(7, 39), (8, 40), (9, 0), (10, 100)]) };
		assert_eq!((flooded.full(7..=10), flooded.full(7..=7), flooded.full(8..=9)), ((4, 2), (1, 1), (2, 1)));
		assert_eq!(flooded.full(11..=20), (0, 0));
	}
}
