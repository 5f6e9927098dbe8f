//! Blocks and whole states as a node hands them out, for those who check them themselves.

use crate::{
	client::{BlockId, ChainClient, Hash},
	error::ChainError,
};
use codec::{DecodeAll, Encode};
use neuroshard_types::{BlockNumber, H256};
use sp_runtime::{generic, traits::BlakeTwo256};

/// Block header.
pub type Header = generic::Header<BlockNumber, BlakeTwo256>;
/// Storage entries: keys and values.
pub type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Keys that are asked for at a time: the most that a node gives.
const KEYS: u32 = 1_000;
/// Values that are asked for at a time. The largest of many alike, records of rounds, have 5 KiB each.
const VALUES: usize = 250;
/// Keys and values of a state that is larger than this are refused.
const MAX_STATE: usize = 1 << 30;

/// A block as the node hands it out: nothing of it is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
	/// Hash by which the node has it.
	pub hash: H256,
	/// Header with its author's seal.
	pub header: Header,
	/// Extrinsics as SCALE bytes, each with its length in front.
	pub extrinsics: Vec<Vec<u8>>,
}

impl ChainClient {
	/// Header and body of the block at a height of the best chain; `None` if the node does not hold the body.
	///
	/// # Errors
	/// [`ChainError::Missing`] above the best block; [`ChainError::NodeAway`], [`ChainError::Rpc`] or [`ChainError::BadAnswer`].
	pub async fn whole_block(&self, number: BlockNumber) -> Result<Option<Block>, ChainError> {
		let hash = self.block_at(number).await?.hash;
		let details = self.ask("chain_getBlock", self.rpc.chain_get_block(Some(Hash::from(hash.0)))).await?;
		let Some(details) = details else { return Ok(None) };
		// Both types have the encoding that the hash is made of.
		let header = Header::decode_all(&mut details.block.header.encode().as_slice())
			.map_err(|error| ChainError::BadAnswer { what: "chain_getBlock".into(), reason: error.to_string() })?;
		Ok(Some(Block { hash, header, extrinsics: details.block.extrinsics.into_iter().map(|bytes| bytes.0).collect() }))
	}

	/// All storage entries after a block, by key ascending. Child tries are left out: the chain has none.
	///
	/// # Errors
	/// [`ChainError::Rpc`] if the node has discarded that state; [`ChainError::BadAnswer`] for keys out of order, keys without a value,
	/// or more than a gibibyte: whatever the node answers, this ends.
	pub async fn entries(&self, block: BlockId) -> Result<Entries, ChainError> {
		let at = Some(Hash::from(block.hash.0));
		let bad = |reason: &str| ChainError::BadAnswer { what: "state_getKeysPaged".into(), reason: reason.into() };
		let (mut entries, mut last, mut size) = (Entries::new(), None::<Vec<u8>>, 0usize);
		loop {
			let keys = self.ask("state_getKeysPaged", self.rpc.state_get_keys_paged(&[], KEYS, last.as_deref(), at)).await?;
			let ascending = keys.is_sorted_by(|one, next| one < next) && keys.first() > last.as_ref();
			let Some(newest) = keys.last() else { return Ok(entries) };
			if !ascending {
				return Err(bad("the keys are out of order"));
			}
			for keys in keys.chunks(VALUES) {
				let values = self.rpc.state_query_storage_at(keys.iter().map(Vec::as_slice), at);
				let values = self.ask("state_queryStorageAt", values).await?;
				let before = entries.len();
				for (key, value) in values.into_iter().flat_map(|set| set.changes) {
					let Some(value) = value else { continue };
					size = size.saturating_add(key.0.len()).saturating_add(value.0.len());
					entries.push((key.0, value.0));
				}
				if entries.len().saturating_sub(before) != keys.len() {
					return Err(bad("not every key has one value"));
				}
				if size > MAX_STATE {
					return Err(bad("the state is larger than a gibibyte"));
				}
			}
			last = Some(newest.clone());
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::testing::Connect;
	use neuroshard_mock_node::{entry, Fate, MockNode, Script, ENTRIES};

	#[tokio::test]
	async fn a_state_is_whole_or_an_error() {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let client = node.client().await;
		let expected: Entries = (0..ENTRIES).map(entry).collect();
		// More than a page of keys, and than a page of values.
		assert_eq!(client.entries(client.block_at(0).await.unwrap()).await.unwrap(), expected);
		client.heads().await.unwrap();
		let error = client.entries(client.block_at(1).await.unwrap()).await.unwrap_err();
		assert!(matches!(&error, ChainError::BadAnswer { reason, .. } if reason.contains("not every key")), "{error}");
	}
}
