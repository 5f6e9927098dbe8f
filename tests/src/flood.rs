//! An account that floods a network: it has the pool full of ordinary extrinsics, more than blocks take, until it is stopped. They do nothing,
//! have no tip, and are all of one size.

use crate::{Error, Network};
use neuroshard_types::{AccountId, Balance, BlockNumber, H256, NEURO};
use neuroshard_worker::{
	chain::{balances, ChainClient, Heads},
	keys::Seed,
};
use std::{
	collections::BTreeMap,
	ops::{Range, RangeInclusive},
	sync::Arc,
};
use subxt::{
	backend::LegacyBackend,
	config::{substrate::SubstrateConfig, DefaultExtrinsicParamsBuilder, HashFor, RpcConfigFor},
	constants, dynamic,
	ext::{
		codec::Encode,
		scale_decode::DecodeAsType,
		scale_encode::{self, EncodeAsFields, FieldIter, TypeResolver},
		scale_type_resolver,
	},
	rpcs::{client::RpcClient, methods::legacy::LegacyRpcMethods},
	utils::AccountId32,
	OnlineClient,
};
use subxt_signer::sr25519::Keypair;
use tokio::{
	sync::{oneshot, watch},
	task::JoinHandle,
};

/// Extrinsics that fill what ordinary ones may take of a block. Whatever is smaller ranks above them, so that a block holds it, too.
const OF_BLOCK: u32 = 30;
/// Bytes of a block that are left to each of them beside its remark: for its signature, and for what the block holds of others.
const BESIDE: u32 = 1_024;
/// Extrinsics beyond the best block: two blocks and a half.
const AHEAD: u64 = 75;
/// Extrinsics beyond the finalized block. The pool keeps them until they are final, and has room for 22 MiB by default, which is 177 of them.
const UNFINALIZED: u64 = 165;
/// What the account is given, in planck: a full block costs it 4 NEURO.
const MONEY: Balance = 2_500 * NEURO;
/// What a node answers to an extrinsic that its pool has.
const ALREADY_IMPORTED: i32 = 1013;
/// Function of the runtime that says an account's next nonce.
const NONCE: &str = "AccountNonceApi_account_nonce";

/// A flood that goes on until it is stopped or dropped.
pub(crate) struct Flood {
	stop: oneshot::Sender<()>,
	task: JoinHandle<Result<(), Error>>,
	client: ChainClient,
	room: u32,
	piece: u32,
}

/// What a flood has left to others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flooded {
	/// Bytes of each of its extrinsics.
	pub piece: u32,
	/// Bytes that ordinary extrinsics could still have taken of each block.
	pub room: BTreeMap<BlockNumber, u32>,
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
	/// [`Error::Chain`] if it gets no money, [`Error::Setup`] with what the connection says.
	pub(crate) async fn start(network: &Network) -> Result<Self, Error> {
		let client = network.client().clone();
		let signer = Keypair::from_secret_key(*Seed::random().expose()).map_err(setup)?;
		network.sponsor().submit(balances::transfer(AccountId::new(signer.public_key().0), MONEY)).await?;
		let mut nodes = Vec::new();
		for validator in &network.validators {
			nodes.push(LegacyRpcMethods::new(RpcClient::from_insecure_url(validator.url()).await.map_err(setup)?));
		}
		let connection = RpcClient::from_insecure_url(client.url()).await.map_err(setup)?;
		let backend = LegacyBackend::builder().build(connection);
		let api = OnlineClient::from_backend_with_config(SubstrateConfig::new(), Arc::new(backend)).await.map_err(setup)?;
		let at = api.at_current_block().await.map_err(setup)?;
		let limits: Limits = at.constants().entry(constants::dynamic("System", "BlockLength")).map_err(setup)?;
		let room = limits.max.normal;
		let remark = (room / OF_BLOCK).saturating_sub(BESIDE);
		// All bytes are the same, so that databases keep them small.
		let remark = Remark(vec![0u8; usize::try_from(remark).map_err(setup)?].encode());
		let mut sender = Sender { nodes, api, signer, remark, signed: BTreeMap::new() };
		let piece = u32::try_from(sender.signed(0).await?.len()).map_err(setup)?;
		let heads = client.follow(client.heads().await?, |_| ());
		let (stop, stopped) = oneshot::channel();
		Ok(Self { stop, task: tokio::spawn(flood(sender, heads, stopped)), client, room, piece })
	}

	/// Ends it, and looks at these blocks, which should be finalized.
	///
	/// # Errors
	/// What has ended it before, if something did; [`Error::Chain`] if a block cannot be read.
	pub(crate) async fn stop(self, blocks: RangeInclusive<BlockNumber>) -> Result<Flooded, Error> {
		let Self { stop, task, client, room: limit, piece } = self;
		drop(stop);
		task.await.map_err(setup)??;
		let mut room = BTreeMap::new();
		for number in blocks {
			let body = client.body(client.block_at(number).await?.hash).await?;
			room.insert(number, room_beside(limit, body.iter().map(Vec::len)));
		}
		Ok(Flooded { piece, room })
	}
}

/// What is left of a limit of bytes beside so many.
fn room_beside(limit: u32, lengths: impl Iterator<Item = usize>) -> u32 {
	let used = lengths.fold(0, usize::saturating_add);
	limit.saturating_sub(u32::try_from(used).unwrap_or(u32::MAX))
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
				tracing::warn!("{error}");
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
	nodes: Vec<LegacyRpcMethods<RpcConfigFor<SubstrateConfig>>>,
	api: OnlineClient<SubstrateConfig>,
	signer: Keypair,
	remark: Remark,
	/// What was sent and is not final, by nonces: all nodes get the same.
	signed: BTreeMap<u64, Vec<u8>>,
}

impl Sender {
	/// Sends each node what it is missing.
	async fn fill(&mut self, heads: Heads) -> Result<(), Error> {
		// The first node is the one whose heads are followed: the others may not know them yet.
		let Some(first) = self.nodes.first().cloned() else { return Ok(()) };
		let (finalized, best) = (self.nonce(&first, heads.finalized.hash).await?, self.nonce(&first, heads.best.hash).await?);
		self.signed.retain(|nonce, _| *nonce >= finalized);
		for node in self.nodes.clone() {
			let pool = node.system_account_next_index(&self.who()).await.map_err(setup)?;
			self.send(&node, Nonces { finalized, best, pool }.missing()).await?;
		}
		Ok(())
	}

	/// Sends these to a node until its pool refuses one. That is no failure: the next block makes room, and what a lost branch has taken along is
	/// missing then.
	async fn send(&mut self, node: &LegacyRpcMethods<RpcConfigFor<SubstrateConfig>>, nonces: Range<u64>) -> Result<(), Error> {
		for nonce in nonces {
			let extrinsic = self.signed(nonce).await?;
			match node.author_submit_extrinsic(&extrinsic).await {
				Ok(_) => {}
				// Another node has passed it on.
				Err(subxt::rpcs::Error::User(refusal)) if refusal.code == ALREADY_IMPORTED => {}
				Err(subxt::rpcs::Error::User(refusal)) => {
					tracing::debug!(nonce, "the flood waits for the next block: {}", refusal.message);
					return Ok(());
				}
				Err(error) => return Err(setup(error)),
			}
		}
		Ok(())
	}

	/// The extrinsic with this nonce. It is valid for ever, on any branch.
	async fn signed(&mut self, nonce: u64) -> Result<Vec<u8>, Error> {
		if let Some(signed) = self.signed.get(&nonce) {
			return Ok(signed.clone());
		}
		let at = self.api.at_current_block().await.map_err(setup)?;
		let call = dynamic::tx("System", "remark", self.remark.clone());
		let parameters = DefaultExtrinsicParamsBuilder::<SubstrateConfig>::new().immortal().nonce(nonce).build();
		let mut signable = at.tx().create_signable_offline(&call, parameters).map_err(setup)?;
		let signed = signable.sign(&self.signer).map_err(setup)?.into_encoded();
		self.signed.insert(nonce, signed.clone());
		Ok(signed)
	}

	/// Its next nonce after a block that a node knows.
	async fn nonce(&self, node: &LegacyRpcMethods<RpcConfigFor<SubstrateConfig>>, block: H256) -> Result<u64, Error> {
		let at = HashFor::<SubstrateConfig>::from(block.0);
		let answer = node.state_call(NONCE, Some(&self.who().0), Some(at)).await.map_err(setup)?;
		let nonce = answer.try_into().map_err(|answer| setup(format!("{answer:?} is no nonce")))?;
		Ok(u32::from_le_bytes(nonce).into())
	}

	fn who(&self) -> AccountId32 {
		AccountId32(self.signer.public_key().0)
	}
}

/// Encoded arguments of `System::remark`. The library would encode them number by number, for every extrinsic.
#[derive(Clone)]
struct Remark(Vec<u8>);

impl EncodeAsFields for Remark {
	fn encode_as_fields_to<R: TypeResolver>(
		&self,
		_fields: &mut dyn FieldIter<'_, <R as scale_type_resolver::TypeResolver>::TypeId>,
		_types: &R,
		out: &mut Vec<u8>,
	) -> Result<(), scale_encode::Error> {
		out.extend_from_slice(&self.0);
		Ok(())
	}
}

/// What is read of the limits of blocks.
#[derive(DecodeAsType)]
#[decode_as_type(crate_path = "subxt::ext::scale_decode")]
struct Limits {
	max: OfClasses,
}

/// Bytes that classes of extrinsics may take.
#[derive(DecodeAsType)]
#[decode_as_type(crate_path = "subxt::ext::scale_decode")]
struct OfClasses {
	normal: u32,
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
		assert_eq!(missing(0, 0, 0), 0..75);
		// A block took thirty, and the pool has the other forty-five.
		assert_eq!(missing(0, 30, 75), 75..105);
		// A lost branch has taken some along.
		assert_eq!(missing(10, 40, 50), 50..115);
		// The pool does not know the best block yet.
		assert_eq!(missing(10, 40, 30), 40..115);
		// Finality is three blocks behind, then six.
		assert_eq!(missing(0, 90, 150), 150..165);
		assert!(missing(0, 180, 180).is_empty());
		assert!(missing(0, 0, 75).is_empty());
	}

	#[test]
	fn a_block_is_full_if_another_piece_finds_no_room_beside_all_that_it_holds() {
		assert_eq!(room_beside(100, [30, 30].into_iter()), 40);
		assert_eq!(room_beside(100, [30, 30, 30, 30].into_iter()), 0, "operational extrinsics may take more");
		let flooded = Flooded { piece: 40, room: BTreeMap::from([(7, 39), (8, 40), (9, 0), (10, 100)]) };
		assert_eq!((flooded.full(7..=10), flooded.full(7..=7), flooded.full(8..=9)), ((4, 2), (1, 1), (2, 1)));
		assert_eq!(flooded.full(11..=20), (0, 0));
	}
}
