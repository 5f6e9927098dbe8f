//! The node's chain for reports of equivocation: what it says of them, and how it is told.

use crate::service::{Client, Pool};
use futures::StreamExt;
use neuroshard_node::patches::{
	equivocation::{Chain, Failure},
	reports::Reports,
};
use neuroshard_runtime::{opaque::Block, Hash, Header};
use sc_client_api::BlockchainEvents;
use sc_transaction_pool_api::{OffchainTransactionPoolFactory, TransactionSource};
use sp_api::{ApiError, ApiExt, ProvideRuntimeApi};
use sp_blockchain::HeaderBackend;
use sp_consensus_babe::{AuthorityId, BabeApi, EquivocationProof, Slot, SlotDuration};
use sp_runtime::{traits::Block as BlockT, transaction_validity::TransactionValidityError};
use sp_transaction_pool::runtime_api::TaggedTransactionQueue;
use std::sync::{Arc, Mutex, PoisonError};

/// The authorities of two epochs, and the block that was asked about them.
type Epochs = Option<(Hash, [Vec<AuthorityId>; 2])>;

/// The chain as this node has it.
pub struct LocalChain {
	client: Arc<Client>,
	pool: OffchainTransactionPoolFactory<Block>,
	slot_duration: SlotDuration,
	/// The latest answer: most headers that are looked at follow the same block.
	epochs: Mutex<Epochs>,
}

impl LocalChain {
	/// Reports go to `reports`.
	pub fn new(client: Arc<Client>, reports: Arc<Reports<Client, Arc<Pool>>>, slot_duration: SlotDuration) -> Self {
		Self { client, pool: OffchainTransactionPoolFactory::new(reports), slot_duration, epochs: Mutex::default() }
	}

	/// Authorities of the epoch of the block `at`, and of the one that follows.
	fn epochs(&self, at: Hash) -> Result<[Vec<AuthorityId>; 2], ApiError> {
		let mut epochs = self.epochs.lock().unwrap_or_else(PoisonError::into_inner);
		if let Some((_, known)) = epochs.as_ref().filter(|(known, _)| *known == at) {
			return Ok(known.clone());
		}
		let api = self.client.runtime_api();
		let answer = [api.current_epoch(at)?, api.next_epoch(at)?].map(|epoch| epoch.authorities.into_iter().map(|(id, _)| id).collect());
		*epochs = Some((at, answer.clone()));
		Ok(answer)
	}
}

impl Chain for LocalChain {
	fn now(&self) -> Slot {
		Slot::from_timestamp(sp_timestamp::Timestamp::current(), self.slot_duration)
	}

	fn best(&self) -> Hash {
		self.client.info().best_hash
	}

	fn authors(&self, parent: Hash, index: u32) -> Vec<AuthorityId> {
		let epochs = self.epochs(parent).unwrap_or_else(|error| {
			tracing::debug!("The authorities after block {parent} are unknown: {error}");
			Default::default()
		});
		let place = usize::try_from(index).ok();
		epochs.iter().filter_map(|authorities| authorities.get(place?).cloned()).collect()
	}

	fn report(&self, proof: EquivocationProof<Header>) -> Result<(), Failure> {
		let best = self.best();
		let key = self.client.runtime_api().generate_key_ownership_proof(best, proof.slot, proof.offender.clone())?;
		let key = key.ok_or("the chain does not know whose key it is")?;
		let mut api = self.client.runtime_api();
		api.register_extension(self.pool.offchain_transaction_pool(best));
		Ok(api.submit_report_equivocation_unsigned_extrinsic(best, proof, key)?.ok_or("the report was not taken")?)
	}
}

/// Reports what is kept again with every best block. It ends with the client.
pub async fn report_again(client: Arc<Client>, reports: Arc<Reports<Client, Arc<Pool>>>) {
	let mut blocks = client.import_notification_stream();
	let is_valid = |at: Hash, report: &<Block as BlockT>::Extrinsic| {
		let answer = client.runtime_api().validate_transaction(at, TransactionSource::Local, report.clone(), at);
		match answer.map_err(|error| error.to_string())? {
			Ok(_) => Ok(true),
			Err(TransactionValidityError::Invalid(_)) => Ok(false),
			Err(error) => Err(format!("{error:?}")),
		}
	};
	while let Some(block) = blocks.next().await {
		if !block.is_new_best {
			continue;
		}
		if let Err(error) = reports.again(is_valid) {
			tracing::warn!("Reports of equivocation are not made again: {error}");
		}
	}
}
