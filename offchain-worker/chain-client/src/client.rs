//! Connection to a node, and the blocks it knows.

use crate::{
	calls::check_calls,
	error::ChainError,
	explain::{reason, refusal, Refusal},
	nodes::{timed, Nodes, Watched},
	query::{View, EXECUTE},
	state::{self, Entry},
	views::check_views,
};
use codec::{Decode, DecodeAll, Encode};
use neuroshard_types::{AccountId, BlockNumber, H256};
use scale_info::TypeInfo;
use std::{future::Future, sync::Arc, time::Duration};
use subxt::{
	backend::LegacyBackend,
	client::OnlineClientAtBlockImpl,
	config::{substrate::SubstrateConfig, RpcConfigFor},
	rpcs::methods::legacy::{LegacyRpcMethods, NumberOrHex},
	OnlineClient,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Interval at which the node is asked for its heads. A subscription can die with the node unnoticed; a question cannot.
const HEAD_INTERVAL: Duration = Duration::from_millis(500);
/// Longest wait for a block: a chain that stands still is asked again all the same.
const LONGEST_WAIT: Duration = Duration::from_secs(6);
/// Function of the runtime that says an account's next nonce.
const NONCE: &str = "AccountNonceApi_account_nonce";

pub(super) type Hash = subxt::config::HashFor<SubstrateConfig>;

/// A block by height and hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockId {
	/// Height.
	pub number: BlockNumber,
	/// Hash.
	pub hash: H256,
}

/// The node's newest blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Heads {
	/// Best block: may still be reorganised away.
	pub best: BlockId,
	/// Finalized block.
	pub finalized: BlockId,
}

/// Waits for a new block, for some time, or until `stop` is cancelled.
pub async fn next_block(heads: &mut watch::Receiver<Heads>, stop: &CancellationToken) {
	tokio::select! {
		Ok(()) = heads.changed() => {},
		() = stop.cancelled() => {},
		() = tokio::time::sleep(LONGEST_WAIT) => {},
	}
}

/// Health of the node, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeHealth {
	/// Chain name.
	pub chain: String,
	/// Node version.
	pub version: String,
	/// Its peers.
	pub peers: usize,
	/// True if it still fetches old blocks.
	pub syncing: bool,
}

/// A connection to a node, or to the one in use of several. It restores itself after the node was away; a question asked meanwhile waits, or is
/// asked of another node. Clones share it.
#[derive(Clone)]
pub struct ChainClient {
	pub(super) api: OnlineClient<SubstrateConfig>,
	pub(super) rpc: LegacyRpcMethods<RpcConfigFor<SubstrateConfig>>,
	nodes: Arc<Nodes>,
}

impl ChainClient {
	/// Connects to the node at `url`.
	///
	/// # Errors
	/// [`ChainError::BadUrl`], [`ChainError::NodeAway`] if nobody answers there, or [`ChainError::Refused`] if somebody does not want to.
	pub async fn connect(url: &str) -> Result<Self, ChainError> {
		Self::connect_all(&[url.to_owned()]).await
	}

	/// Connects to the nodes at `urls`, of which one at a time is used. Those that do not answer are asked again later.
	///
	/// # Errors
	/// As [`Self::connect`], if none of them answers; [`ChainError::OtherChain`] if they are not all on one chain.
	pub async fn connect_all(urls: &[String]) -> Result<Self, ChainError> {
		let nodes = Nodes::connect(urls).await?;
		let connection = nodes.client();
		let backend = LegacyBackend::builder().build(connection.clone());
		let api = timed(nodes.url(), OnlineClient::from_backend_with_config(SubstrateConfig::new(), Arc::new(backend)))
			.await?
			.map_err(|error| ChainError::NodeAway { url: nodes.url().to_owned(), reason: reason(&error) })?;
		Ok(Self { api, rpc: LegacyRpcMethods::new(connection), nodes: Arc::new(nodes) })
	}

	/// Returns a receiver of the reports of several nodes, which changes whenever they do. It holds no reports if there is one node only.
	pub fn nodes(&self) -> watch::Receiver<Watched> {
		self.nodes.reports()
	}

	/// Returns whether `block` is final: `None` as long as that is not decided, or nodes contradict each other, `false` once it never will be.
	///
	/// # Errors
	/// [`ChainError::NodeAway`], [`ChainError::NodeBusy`] or [`ChainError::Rpc`].
	pub async fn is_final(&self, block: BlockId) -> Result<Option<bool>, ChainError> {
		match self.heads().await?.finalized.number < block.number || self.nodes.is_contradicted() {
			true => Ok(None),
			false => Ok(Some(self.block_at(block.number).await? == block)),
		}
	}

	/// Waits until it is decided whether `block` is final, also while nodes are away.
	///
	/// # Errors
	/// Those of [`Self::is_final`] that do not pass.
	pub async fn becomes_final(&self, block: BlockId) -> Result<bool, ChainError> {
		loop {
			match self.is_final(block).await {
				Ok(Some(is_final)) => return Ok(is_final),
				Err(error) if !error.passes() => return Err(error),
				Ok(None) | Err(_) => tokio::time::sleep(HEAD_INTERVAL).await,
			}
		}
	}

	/// Hash of the chain's first block: which chain this is.
	pub fn genesis(&self) -> H256 {
		H256(self.api.genesis_hash().0)
	}

	/// Address of the node in use.
	pub fn url(&self) -> &str {
		self.nodes.url()
	}

	/// Returns whether the node has yet to catch up with others.
	///
	/// # Errors
	/// [`ChainError::NodeAway`] or [`ChainError::Rpc`].
	pub async fn is_syncing(&self) -> Result<bool, ChainError> {
		Ok(self.ask("system_health", self.rpc.system_health()).await?.is_syncing)
	}

	/// Returns whether the node's chain is one for development or of one machine, as its chain spec says.
	///
	/// # Errors
	/// [`ChainError::NodeAway`] or [`ChainError::Rpc`].
	pub async fn is_for_development(&self) -> Result<bool, ChainError> {
		let kind = self.ask("system_chainType", self.rpc.system_chain_type()).await?;
		Ok(matches!(kind.as_str(), "Development" | "Local"))
	}

	/// Returns the health of the node.
	///
	/// # Errors
	/// [`ChainError::NodeAway`] or [`ChainError::Rpc`].
	pub async fn health(&self) -> Result<NodeHealth, ChainError> {
		let health = self.ask("system_health", self.rpc.system_health()).await?;
		Ok(NodeHealth {
			chain: self.ask("system_chain", self.rpc.system_chain()).await?,
			version: self.ask("system_version", self.rpc.system_version()).await?,
			peers: health.peers,
			syncing: health.is_syncing,
		})
	}

	/// Best and finalized block now. Of several nodes, finalized is what two of them call so, and nothing new while they contradict each other.
	///
	/// # Errors
	/// [`ChainError::NodeAway`] or [`ChainError::Rpc`].
	pub async fn heads(&self) -> Result<Heads, ChainError> {
		let best = async {
			let best = self.ask("chain_getBlockHash", self.rpc.chain_get_block_hash(None)).await?;
			self.block(H256(best.ok_or_else(|| ChainError::Missing { what: "best block".into() })?.0)).await
		};
		let finalized = async {
			let finalized = self.ask("chain_getFinalizedHead", self.rpc.chain_get_finalized_head()).await?;
			self.block(H256(finalized.0)).await
		};
		let (best, finalized) = tokio::try_join!(best, finalized)?;
		Ok(Heads { best, finalized: self.nodes.final_of(finalized) })
	}

	/// The block with this hash.
	///
	/// # Errors
	/// [`ChainError::Missing`] if the node does not know it.
	pub async fn block(&self, hash: H256) -> Result<BlockId, ChainError> {
		let (number, _) = self.header(hash).await?;
		Ok(BlockId { number, hash })
	}

	/// Height and parent of a block.
	pub(super) async fn header(&self, hash: H256) -> Result<(BlockNumber, H256), ChainError> {
		let header = self.ask("chain_getHeader", self.rpc.chain_get_header(Some(Hash::from(hash.0)))).await?;
		let header = header.ok_or_else(|| self.missing(format!("block {hash:?}")))?;
		let number = BlockNumber::try_from(header.number)
			.map_err(|_| ChainError::BadAnswer { what: "chain_getHeader".into(), reason: "height above 2^32".into() })?;
		Ok((number, H256(header.parent_hash.0)))
	}

	/// The block at a height of the best chain.
	///
	/// # Errors
	/// [`ChainError::Missing`] above the best block.
	pub async fn block_at(&self, number: BlockNumber) -> Result<BlockId, ChainError> {
		let asked = self.rpc.chain_get_block_hash(Some(NumberOrHex::Number(number.into())));
		let hash = self.ask("chain_getBlockHash", asked).await?;
		let hash = hash.ok_or_else(|| self.missing(format!("block {number}")))?;
		Ok(BlockId { number, hash: H256(hash.0) })
	}

	/// Extrinsics of a block, each as SCALE bytes with its length in front.
	///
	/// # Errors
	/// [`ChainError::Missing`] if the node does not have (or has pruned) it.
	pub async fn body(&self, hash: H256) -> Result<Vec<Vec<u8>>, ChainError> {
		let block = self.ask("chain_getBlock", self.rpc.chain_get_block(Some(Hash::from(hash.0)))).await?;
		let block = block.ok_or_else(|| self.missing(format!("body of block {hash:?}")))?;
		Ok(block.block.extrinsics.into_iter().map(|bytes| bytes.0).collect())
	}

	/// The chain's state after a block.
	///
	/// # Errors
	/// [`ChainError::Rpc`] if the node does not know the block or has discarded its state.
	pub async fn at(&self, block: BlockId) -> Result<ChainAt, ChainError> {
		let asked = self.api.at_block_hash_and_number(Hash::from(block.hash.0), block.number.into());
		let at = timed(self.url(), asked).await?.map_err(|error| self.rpc_error("the state of a block", error))?;
		Ok(ChainAt { client: self.clone(), at, block })
	}

	/// The state after the best block.
	///
	/// # Errors
	/// As [`Self::heads`] and [`Self::at`].
	pub async fn now(&self) -> Result<ChainAt, ChainError> {
		self.at(self.heads().await?.best).await
	}

	/// Follows best and finalized block until the last receiver is gone. While the node is away the value stays as it was.
	/// `note` is told after every question to the node what it failed with, if it did.
	pub fn follow(&self, start: Heads, mut note: impl FnMut(Option<&ChainError>) + Send + 'static) -> watch::Receiver<Heads> {
		let (sender, receiver) = watch::channel(start);
		let client = self.clone();
		tokio::spawn(async move {
			let mut away = false;
			loop {
				tokio::select! {
					() = sender.closed() => return,
					() = tokio::time::sleep(HEAD_INTERVAL) => {},
				}
				// An answer that does not come keeps nothing alive.
				let heads = tokio::select! {
					() = sender.closed() => return,
					heads = client.heads() => heads,
				};
				note(heads.as_ref().err());
				match heads {
					Ok(heads) => {
						if std::mem::take(&mut away) {
							tracing::info!(best = heads.best.number, "the node is back");
						}
						sender.send_if_modified(|known| std::mem::replace(known, heads) != heads);
					}
					Err(error) if !away => {
						away = true;
						tracing::warn!("{error}; trying on");
					}
					Err(_) => {}
				}
			}
		});
		receiver
	}

	/// Next nonce of an account, extrinsics in the node's pool included.
	///
	/// # Errors
	/// [`ChainError::NodeAway`] or [`ChainError::Rpc`].
	pub async fn next_nonce(&self, who: &AccountId) -> Result<u64, ChainError> {
		let who = subxt::utils::AccountId32(*AsRef::<[u8; 32]>::as_ref(who));
		self.ask("system_accountNextIndex", self.rpc.system_account_next_index(&who)).await
	}

	/// Hands an extrinsic, as SCALE bytes with its length in front, to the pools of all nodes. The answer is that of the node in use, which may
	/// refuse it, unless another one has taken it.
	///
	/// # Errors
	/// [`ChainError::NodeAway`] or [`ChainError::Rpc`].
	pub async fn submit(&self, extrinsic: &[u8]) -> Result<Result<(), Refusal>, ChainError> {
		let here = async {
			match timed(self.url(), self.rpc.author_submit_extrinsic(extrinsic)).await? {
				Ok(_) => Ok(Ok(())),
				Err(subxt::rpcs::Error::User(error)) => Ok(Err(refusal(&error))),
				Err(error) => Err(self.rpc_error("author_submitExtrinsic", error)),
			}
		};
		let (answer, taken) = tokio::join!(here, self.nodes.hand_over(extrinsic));
		match taken {
			true => Ok(Ok(())),
			false => answer,
		}
	}

	pub(super) async fn ask<T>(&self, what: &str, answer: impl Future<Output = Result<T, subxt::rpcs::Error>>) -> Result<T, ChainError> {
		timed(self.url(), answer).await?.map_err(|error| self.rpc_error(what, error))
	}

	/// Why a request has no answer. A connection that ended meanwhile, and a limit, are no refusal: the request can be made again.
	pub(super) fn rpc_error(&self, what: &str, error: impl std::error::Error) -> ChainError {
		match error.to_string() {
			words if is_lost(&words) => ChainError::NodeAway { url: self.url().to_owned(), reason: "the connection was lost".into() },
			words if is_busy(&words) => ChainError::NodeBusy { url: self.url().to_owned(), reason: reason(&error) },
			_ => self.unless_settling(ChainError::Rpc { what: what.to_owned(), reason: reason(&error) }),
		}
	}

	/// That the node does not have something that was asked for by hash or height.
	fn missing(&self, what: String) -> ChainError {
		self.unless_settling(ChainError::Missing { what })
	}

	/// Turns `error` into [`ChainError::NodeAway`] if the node has just come into use: it was asked for what another one has, and may have it soon.
	fn unless_settling(&self, error: ChainError) -> ChainError {
		match self.nodes.is_settling() {
			true => ChainError::NodeAway { url: self.url().to_owned(), reason: format!("it has just taken another one's place: {error}") },
			false => error,
		}
	}
}

/// Returns whether an error of the client says that the connection ended, and not that the node refused something. The library knows this by
/// its types in some places only; its words are the same everywhere.
fn is_lost(words: &str) -> bool {
	["connection was lost", "reconnect initiated", "connection was closed", "restart required"].iter().any(|sign| words.contains(sign))
}

/// Returns whether an error of the client says that the node answers no more calls for now, in the words of the servers of RPC that nodes have.
fn is_busy(words: &str) -> bool {
	["RPC rate limit exceeded", "Server is busy"].iter().any(|sign| words.contains(sign))
}

/// The chain's state after one block.
#[derive(Clone)]
pub struct ChainAt {
	pub(super) client: ChainClient,
	pub(super) at: subxt::client::ClientAtBlock<SubstrateConfig, OnlineClientAtBlockImpl<SubstrateConfig>>,
	block: BlockId,
}

impl ChainAt {
	/// Returns the block that this is the state of.
	pub fn block(&self) -> BlockId {
		self.block
	}

	/// Asks a view function.
	///
	/// # Errors
	/// [`ChainError::Missing`] or [`ChainError::Incompatible`] if the chain does not have it as this worker knows it.
	pub(super) async fn view<A, R>(&self, view: &View<A, R>, arguments: A) -> Result<R, ChainError>
	where
		A: Encode + TypeInfo + 'static,
		R: Decode + TypeInfo + 'static,
	{
		let input = view.encode(self.at.metadata_ref(), &arguments)?;
		let hash = Some(Hash::from(self.block.hash.0));
		let output = self.client.ask(&view.describe(), self.client.rpc.state_call(EXECUTE, Some(&input), hash)).await?;
		view.decode(&output)
	}

	/// All that a view function lists, which answers with pages of at most `size`. `arguments` are those of the page behind an entry, `None` for the first one.
	///
	/// # Errors
	/// As [`Self::view`].
	pub(super) async fn pages<A, R>(
		&self,
		view: &View<A, Vec<R>>,
		size: u32,
		arguments: impl Fn(Option<&R>) -> A,
	) -> Result<Vec<R>, ChainError>
	where
		A: Encode + TypeInfo + 'static,
		R: Decode + TypeInfo + 'static,
	{
		let (mut all, size) = (Vec::new(), usize::try_from(size).unwrap_or(usize::MAX));
		loop {
			let page = self.view(view, arguments(all.last())).await?;
			let was_last = page.len() < size;
			all.extend(page);
			if was_last {
				return Ok(all);
			}
		}
	}

	/// Next nonce of an account in this state, whatever is in a pool.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn nonce(&self, who: &AccountId) -> Result<u64, ChainError> {
		let hash = Some(Hash::from(self.block.hash.0));
		let answer = self.client.ask(NONCE, self.client.rpc.state_call(NONCE, Some(&who.encode()), hash)).await?;
		let nonce = u32::decode_all(&mut answer.as_slice());
		let bad = |error: codec::Error| ChainError::BadAnswer { what: NONCE.into(), reason: error.to_string() };
		nonce.map(u64::from).map_err(bad)
	}

	/// Asks a function of a runtime API that takes no arguments, and returns its answer as SCALE bytes.
	pub(super) async fn state_call(&self, function: &str) -> Result<Vec<u8>, ChainError> {
		let hash = Some(Hash::from(self.block.hash.0));
		self.client.ask(function, self.client.rpc.state_call(function, None, hash)).await
	}

	/// Checks that the chain has all calls and view functions that this worker uses, as it knows them.
	///
	/// # Errors
	/// [`ChainError::Missing`] or [`ChainError::Incompatible`]: the first difference.
	pub fn check_compatible(&self) -> Result<(), ChainError> {
		check_calls(self.at.metadata_ref()).and_then(|()| check_views(self.at.metadata_ref()))
	}

	/// Checks that the chain has the calls and view functions that a worker defends its claims with, and is drawn for audits with.
	///
	/// # Errors
	/// As [`Self::check_compatible`].
	pub fn check_defence(&self) -> Result<(), ChainError> {
		let metadata = self.at.metadata_ref();
		super::disputes::check(metadata)?;
		super::audits::check(metadata)?;
		super::answer_audits::check(metadata)
	}

	/// Version of the runtime that made this state: with another one, calls and view functions may be others.
	pub fn spec_version(&self) -> u32 {
		self.at.spec_version()
	}

	/// Reads a storage entry; `None` if it is not set.
	pub(super) async fn storage<V: Decode>(&self, entry: &Entry) -> Result<Option<V>, ChainError> {
		let hash = Some(Hash::from(self.block.hash.0));
		let bytes = self.client.ask(&entry.name, self.client.rpc.state_get_storage(&entry.key, hash)).await?;
		bytes.map(|bytes| state::decode(entry, &bytes)).transpose()
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[tokio::test]
	async fn a_node_that_is_away_is_named_with_what_to_do() {
		// Port 9 (discard) has no node.
		let error = ChainClient::connect("ws://127.0.0.1:9").await.map(drop).unwrap_err();
		assert!(matches!(error, ChainError::NodeAway { .. }), "{error:?}");
		let words = "no node answers at ws://127.0.0.1:9 (Connection refused): start one, or name another with --node ws://HOST:PORT";
		assert_eq!(error.to_string(), words);
	}

	#[test]
	fn a_lost_connection_is_no_refusal() {
		let lost = subxt::rpcs::Error::DisconnectedWillReconnect("The connection was closed because of `x` and reconnect initiated".into());
		assert!(is_lost(&lost.to_string()));
		assert!(!is_lost("User error: unknown block"));
	}

	#[test]
	fn a_node_that_has_limits_is_asked_again() {
		let limited = subxt::rpcs::UserError { code: -32_999, message: "RPC rate limit exceeded".into(), data: None };
		assert!(is_busy(&subxt::rpcs::Error::User(limited).to_string()));
		let unknown = subxt::rpcs::UserError { code: -32_000, message: "unknown block".into(), data: None };
		assert!(!is_busy(&subxt::rpcs::Error::User(unknown).to_string()));
	}

	#[tokio::test]
	async fn what_is_no_address_of_a_node_is_refused_at_once() {
		for url in ["", "127.0.0.1:9944", "http://127.0.0.1:9944", "ws://"] {
			let error = ChainClient::connect(url).await.map(drop).unwrap_err();
			assert!(matches!(error, ChainError::BadUrl { .. }), "{url}: {error:?}");
		}
	}

	#[tokio::test]
	async fn something_else_that_answers_is_no_node() {
		let other = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
		let url = format!("ws://{}", other.local_addr().unwrap());
		let closing = tokio::spawn(async move {
			while let Ok((stream, _)) = other.accept().await {
				drop(stream);
			}
		});
		let error = ChainClient::connect(&url).await.map(drop).unwrap_err();
		closing.abort();
		assert!(matches!(error, ChainError::NodeAway { .. }), "{error:?}");
	}
}
