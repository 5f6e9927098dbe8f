//! Notices two blocks of one author for one slot, and reports them to the chain.
//!
//! BABE's own block import looks for them too, but at headers that have lost their seals on the way, with which nothing can be proven: the
//! runtime does not take its reports. So this looks once more, at whole headers, whenever a block is new to this node.

use crate::service::Client;
use neuroshard_node::slots::second_block;
use neuroshard_runtime::{opaque::Block, Header};
use sc_consensus::{BlockCheckParams, BlockImport, BlockImportParams, ImportResult};
use sc_consensus_babe::find_pre_digest;
use sc_transaction_pool_api::OffchainTransactionPoolFactory;
use sp_api::{ApiExt, ProvideRuntimeApi};
use sp_blockchain::HeaderBackend;
use sp_consensus::BlockOrigin;
use sp_consensus_babe::{BabeApi, Slot, SlotDuration};
use std::sync::Arc;

/// A block import that reports what the blocks it passes on to `inner` prove.
#[derive(Clone)]
pub struct Equivocations<I> {
	inner: I,
	client: Arc<Client>,
	pool: OffchainTransactionPoolFactory<Block>,
	slot_duration: SlotDuration,
}

impl<I> Equivocations<I> {
	/// Wraps `inner`, whatever imports blocks. Reports go to `pool`.
	pub fn new(inner: I, client: Arc<Client>, pool: OffchainTransactionPoolFactory<Block>, slot_duration: SlotDuration) -> Self {
		Self { inner, client, pool, slot_duration }
	}

	/// Reports the author of a block that was imported, if it made another one for the same slot.
	fn look_at(&self, header: &Header) -> Result<(), Box<dyn std::error::Error>> {
		let (hash, claim) = (header.hash(), find_pre_digest::<Block>(header)?);
		// Its own state knows the block's epoch and session: those of its parent can be the ones before.
		let epoch = self.client.runtime_api().current_epoch(hash)?;
		let author = usize::try_from(claim.authority_index()).ok().and_then(|place| epoch.authorities.get(place));
		let (author, _) = author.ok_or("the block has no author")?;
		let now = Slot::from_timestamp(sp_timestamp::Timestamp::current(), self.slot_duration);
		let Some(proof) = second_block(&*self.client, now, claim.slot(), header, author)? else { return Ok(()) };
		let key = self.client.runtime_api().generate_key_ownership_proof(hash, proof.slot, proof.offender.clone())?;
		let key = key.ok_or("the chain does not know whose key it is")?;
		let best = self.client.info().best_hash;
		let mut api = self.client.runtime_api();
		api.register_extension(self.pool.offchain_transaction_pool(best));
		let (author, slot) = (proof.offender.clone(), proof.slot);
		api.submit_report_equivocation_unsigned_extrinsic(best, proof, key)?.ok_or("the report was not taken")?;
		tracing::info!("{author} made two blocks for slot {slot}; reported");
		Ok(())
	}
}

#[async_trait::async_trait]
impl<I: BlockImport<Block> + Send + Sync> BlockImport<Block> for Equivocations<I> {
	type Error = I::Error;

	async fn check_block(&self, block: BlockCheckParams<Block>) -> Result<ImportResult, Self::Error> {
		self.inner.check_block(block).await
	}

	async fn import_block(&self, block: BlockImportParams<Block>) -> Result<ImportResult, Self::Error> {
		// Blocks of the past, which a node catches up with, were looked at by others; some come without their state.
		let is_new = matches!(block.origin, BlockOrigin::Own | BlockOrigin::NetworkBroadcast | BlockOrigin::ConsensusBroadcast);
		let header = (is_new && !block.with_state()).then(|| block.post_header());
		let result = self.inner.import_block(block).await?;
		if let (Some(header), ImportResult::Imported(_)) = (header, &result) {
			if let Err(error) = self.look_at(&header) {
				tracing::warn!("Block {} is not compared with others of its slot: {error}", header.hash());
			}
		}
		Ok(result)
	}
}
