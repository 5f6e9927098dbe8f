//! One node: the connection to it, and what it is asked to be compared with others.

use super::refusal;
use crate::{client::Hash, error::ChainError, explain::reason, BlockId, Heads};
use neuroshard_types::{BlockNumber, H256};
use std::{future::Future, sync::OnceLock, time::Duration};
use subxt::{
	config::{substrate::SubstrateConfig, RpcConfigFor},
	rpcs::{
		client::{reconnecting_rpc_client, RpcClient},
		methods::legacy::{LegacyRpcMethods, NumberOrHex},
		Error,
	},
};

/// Longest wait for one answer while a connection is made.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest pause between two attempts to reach the node again.
const RECONNECT_DELAY: Duration = Duration::from_secs(2);
/// An answer larger than this is refused: a view of the largest run is below 2 MiB.
const MAX_ANSWER: u32 = 32 * 1024 * 1024;

/// A node by its address. Once it was reached, the connection restores itself.
pub(super) struct Link {
	url: String,
	client: OnceLock<RpcClient>,
}

/// Report of a node on itself.
pub(super) struct Look {
	pub(super) heads: Heads,
	pub(super) syncing: bool,
	pub(super) genesis: H256,
	pub(super) spec: u32,
	/// Blocks that are final there: the first and the newest one, and those at the heights that were asked for.
	pub(super) finalized: Vec<BlockId>,
}

impl Link {
	/// The node at `url`, which is not connected to yet.
	///
	/// # Errors
	/// [`ChainError::BadUrl`].
	pub(super) fn new(url: &str) -> Result<Self, ChainError> {
		let port = url.strip_prefix("ws://").or_else(|| url.strip_prefix("wss://"));
		match port.is_none_or(str::is_empty) {
			true => Err(ChainError::BadUrl { url: url.to_owned() }),
			false => Ok(Self { url: url.to_owned(), client: OnceLock::new() }),
		}
	}

	/// A node that is connected by `client`.
	#[cfg(test)]
	pub(super) fn connected(url: &str, client: RpcClient) -> Self {
		Self { url: url.into(), client: OnceLock::from(client) }
	}

	pub(super) fn url(&self) -> &str {
		&self.url
	}

	/// The connection, once there was one.
	pub(super) fn client(&self) -> Option<&RpcClient> {
		self.client.get()
	}

	/// Connects, unless that was done before.
	///
	/// # Errors
	/// [`ChainError::NodeAway`] if nobody answers, [`ChainError::Refused`] if somebody does not want to.
	pub(super) async fn connect(&self) -> Result<(), ChainError> {
		if self.client().is_some() {
			return Ok(());
		}
		// The reconnecting client tries for ever, also the first time: whether there is a node at all is asked before.
		if let Err(error) = timed(&self.url, RpcClient::from_insecure_url(&self.url)).await? {
			return Err(refusal::failed(&self.url, reason(&error)).await);
		}
		let policy = reconnecting_rpc_client::ExponentialBackoff::from_millis(50).max_delay(RECONNECT_DELAY);
		let building = reconnecting_rpc_client::RpcClient::builder().max_response_size(MAX_ANSWER).retry_policy(policy).build(&self.url);
		let away = |reason| ChainError::NodeAway { url: self.url.clone(), reason };
		let connection = timed(&self.url, building).await?.map_err(|error| away(reason(&error)))?;
		self.client.get_or_init(|| RpcClient::new(connection));
		Ok(())
	}

	/// Asks for heads, and for the blocks at `heights` as far as they are finalized; `None` if there is no connection.
	pub(super) async fn look(&self, heights: &[BlockNumber]) -> Option<Result<Look, Error>> {
		Some(look(&Rpc::new(self.client()?.clone()), heights).await)
	}

	/// Hands an extrinsic to the pool; whether that took it.
	pub(super) async fn submit(&self, extrinsic: &[u8]) -> bool {
		let Some(client) = self.client() else { return false };
		Rpc::new(client.clone()).author_submit_extrinsic(extrinsic).await.is_ok()
	}
}

type Rpc = LegacyRpcMethods<RpcConfigFor<SubstrateConfig>>;

async fn look(rpc: &Rpc, heights: &[BlockNumber]) -> Result<Look, Error> {
	let genesis = hash_at(rpc, 0).await?.ok_or_else(|| unknown("genesis block"))?;
	let best = rpc.chain_get_block_hash(None).await?.ok_or_else(|| unknown("best block"))?;
	let best = block(rpc, best).await?;
	let finalized = block(rpc, rpc.chain_get_finalized_head().await?).await?;
	let mut all = vec![BlockId { number: 0, hash: genesis }, finalized];
	// The best chain has all that is finalized, unless the node began with a newer block.
	for number in heights.iter().copied().filter(|number| *number < finalized.number) {
		all.extend(hash_at(rpc, number).await?.map(|hash| BlockId { number, hash }));
	}
	let syncing = rpc.system_health().await?.is_syncing;
	let spec = rpc.state_get_runtime_version(Some(Hash::from(best.hash.0))).await?.spec_version;
	Ok(Look { heads: Heads { best, finalized }, syncing, genesis, spec, finalized: all })
}

async fn hash_at(rpc: &Rpc, number: BlockNumber) -> Result<Option<H256>, Error> {
	let hash = rpc.chain_get_block_hash(Some(NumberOrHex::Number(number.into()))).await?;
	Ok(hash.map(|hash| H256(hash.0)))
}

async fn block(rpc: &Rpc, hash: Hash) -> Result<BlockId, Error> {
	let header = rpc.chain_get_header(Some(hash)).await?.ok_or_else(|| unknown("head"))?;
	let number = BlockNumber::try_from(header.number).map_err(|_| unknown("height"))?;
	Ok(BlockId { number, hash: H256(hash.0) })
}

fn unknown(what: &str) -> Error {
	Error::Client(format!("the node does not know its own {what}").into())
}

/// Waits for `answer`, with a timeout.
///
/// # Errors
/// [`ChainError::NodeAway`].
pub(crate) async fn timed<T>(url: &str, answer: impl Future<Output = T>) -> Result<T, ChainError> {
	let late = |_| ChainError::NodeAway { url: url.to_owned(), reason: format!("no answer within {} s", ANSWER_TIMEOUT.as_secs()) };
	tokio::time::timeout(ANSWER_TIMEOUT, answer).await.map_err(late)
}
