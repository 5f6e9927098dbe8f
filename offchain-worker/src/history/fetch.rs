//! What is taken from a node: a start state, checked, and blocks, not checked yet.

use super::{spec, HistoryError, State};
use futures::{stream, StreamExt};
use neuroshard_chain_client::{Block, BlockId, ChainClient};
use neuroshard_types::{BlockNumber, H256};
use std::{ops::RangeInclusive, path::Path};
use tokio::{sync::mpsc, task::JoinError};

/// Blocks that are asked for at a time, and those that wait to be executed: a body may have 5 MiB.
const AHEAD: usize = 8;

/// The state after block `number` of the best chain, from the node.
///
/// # Errors
/// [`HistoryError::NoState`] if the node does not have it; [`HistoryError::Root`] if it is not the one that the block's header names;
/// [`HistoryError::NotNext`] if the header has not the block's hash; for genesis as [`genesis_state`].
pub async fn start_state(client: &ChainClient, number: BlockNumber) -> Result<State, HistoryError> {
	let no_state = |source| HistoryError::NoState { number, source: Box::new(source) };
	if number == 0 {
		let hash = client.genesis();
		let entries = client.entries(BlockId { number, hash }).await.map_err(no_state)?;
		return build(number, move || State::genesis(hash, &entries)).await;
	}
	let block = client.whole_block(number).await?.ok_or(HistoryError::NoBody { number })?;
	let hash = block.header.hash();
	if hash != block.hash || block.header.number != number {
		let reason = format!("its header has number {} and hash {hash:?}, not {:?}", block.header.number, block.hash);
		return Err(HistoryError::NotNext { number, reason });
	}
	let id = BlockId { number, hash };
	let entries = client.entries(id).await.map_err(no_state)?;
	build(number, move || State::new(id, block.header.state_root, &entries)).await
}

/// The state at genesis from the raw chain spec at `path`, if it is the spec of the chain with the genesis hash `expected`.
///
/// # Errors
/// [`HistoryError::Spec`] if it cannot be read; [`HistoryError::Genesis`] if it is another chain's.
pub async fn genesis_state(path: &Path, expected: H256) -> Result<State, HistoryError> {
	let path = path.to_path_buf();
	build(0, move || State::genesis(expected, &spec::genesis_entries(&path)?)).await
}

/// Builds a state where it may take long.
async fn build(number: BlockNumber, state: impl FnOnce() -> Result<State, HistoryError> + Send + 'static) -> Result<State, HistoryError> {
	let broken = |error: JoinError| HistoryError::Runtime { number, method: "anything".into(), reason: error.to_string() };
	tokio::task::spawn_blocking(state).await.map_err(broken)?
}

/// The blocks of `range` in order, fetched a few ahead of who receives them. Ends after the first error.
pub fn blocks(client: ChainClient, range: RangeInclusive<BlockNumber>) -> mpsc::Receiver<Result<Block, HistoryError>> {
	let (sender, receiver) = mpsc::channel(AHEAD);
	tokio::spawn(async move {
		let fetch = |number| {
			let client = client.clone();
			async move { client.whole_block(number).await?.ok_or(HistoryError::NoBody { number }) }
		};
		let mut fetched = stream::iter(range).map(fetch).buffered(AHEAD);
		while let Some(block) = fetched.next().await {
			let failed = block.is_err();
			if sender.send(block).await.is_err() || failed {
				return;
			}
		}
	});
	receiver
}
