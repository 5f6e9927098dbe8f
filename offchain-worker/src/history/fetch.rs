//! What is taken from a node: a start state, checked, and blocks, not checked yet.

use super::{spec, HistoryError, State};
use crate::chain::{Block, BlockId, ChainClient};
use futures::{stream, StreamExt};
use neuroshard_types::BlockNumber;
use std::{ops::RangeInclusive, path::Path};
use tokio::sync::mpsc;

/// Blocks that are asked for at a time, and those that wait to be executed: a body may have 5 MiB.
const AHEAD: usize = 8;

/// The state after block `number` of the best chain, from the node; that of genesis from the raw chain spec, if one is given.
///
/// # Errors
/// [`HistoryError::NoState`] if the node does not have it; [`HistoryError::Root`] if it is not the one that the block's header names;
/// [`HistoryError::NotNext`] if the header has not the block's hash.
pub async fn start_state(client: &ChainClient, number: BlockNumber, spec: Option<&Path>) -> Result<State, HistoryError> {
	let block = client.whole_block(number).await?.ok_or(HistoryError::NoBody { number })?;
	let hash = block.header.hash();
	if hash != block.hash || block.header.number != number || (number == 0 && hash != client.genesis()) {
		let reason = format!("its header has number {} and hash {hash:?}, not {:?}", block.header.number, block.hash);
		return Err(HistoryError::NotNext { number, reason });
	}
	let id = BlockId { number, hash };
	let entries = match spec {
		Some(path) => spec::genesis_entries(path)?,
		None => client.entries(id).await.map_err(|source| HistoryError::NoState { number, source: Box::new(source) })?,
	};
	let built = tokio::task::spawn_blocking(move || State::new(id, block.header.state_root, &entries)).await;
	built.map_err(|error| HistoryError::Runtime { number, method: "anything".into(), reason: error.to_string() })?
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
