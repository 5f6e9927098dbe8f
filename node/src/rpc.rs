//! JSON-RPC beyond the SDK's default methods: accounts, fees, BABE, GRANDPA, sync state, and the `neuroshard` namespace.

use crate::service::{Backend, Client, Pool, SelectChain};
use frame_support::view_functions::{runtime_api::RuntimeViewFunction, ViewFunctionId};
use jsonrpsee::RpcModule;
use neuroshard_node::namespace::{Neuroshard, NeuroshardApiServer, ViewFunctions};
use neuroshard_runtime::{opaque::Block, BlockNumber, Hash};
use sc_consensus_babe::BabeWorkerHandle;
use sc_consensus_grandpa::{FinalityProofProvider, GrandpaJustificationStream, SharedAuthoritySet, SharedVoterState};
use sc_rpc::SubscriptionTaskExecutor;
use sp_api::ProvideRuntimeApi;
use sp_blockchain::HeaderBackend;
use sp_keystore::KeystorePtr;
use std::sync::Arc;

/// Dependencies of the RPC handlers.
pub struct Dependencies {
	/// Client.
	pub client: Arc<Client>,
	/// Transaction pool.
	pub pool: Arc<Pool>,
	/// Fork choice.
	pub select_chain: SelectChain,
	/// Chain spec.
	pub chain_spec: Box<dyn sc_service::ChainSpec>,
	/// Session keys.
	pub keystore: KeystorePtr,
	/// BABE's epoch data.
	pub babe_worker: BabeWorkerHandle<Block>,
	/// GRANDPA's round state.
	pub voter_state: SharedVoterState,
	/// GRANDPA's authorities.
	pub authority_set: SharedAuthoritySet<Hash, BlockNumber>,
	/// GRANDPA's justifications as they come.
	pub justification_stream: GrandpaJustificationStream<Block>,
	/// Proofs of finality.
	pub finality_proofs: Arc<FinalityProofProvider<Backend, Block>>,
}

/// Builds the module with all methods.
pub fn create(
	dependencies: &Dependencies,
	executor: SubscriptionTaskExecutor,
) -> Result<RpcModule<()>, Box<dyn std::error::Error + Send + Sync>> {
	use pallet_transaction_payment_rpc::{TransactionPayment, TransactionPaymentApiServer};
	use sc_consensus_babe_rpc::{Babe, BabeApiServer};
	use sc_consensus_grandpa_rpc::{Grandpa, GrandpaApiServer};
	use sc_sync_state_rpc::{SyncState, SyncStateApiServer};
	use substrate_frame_rpc_system::{System, SystemApiServer};

	let Dependencies { client, pool, select_chain, chain_spec, keystore, babe_worker, .. } = dependencies;
	let mut module = RpcModule::new(());
	module.merge(System::new(client.clone(), pool.clone()).into_rpc())?;
	module.merge(TransactionPayment::new(client.clone()).into_rpc())?;
	module.merge(Babe::new(client.clone(), babe_worker.clone(), keystore.clone(), select_chain.clone()).into_rpc())?;
	module.merge(
		Grandpa::new(
			executor,
			dependencies.authority_set.clone(),
			dependencies.voter_state.clone(),
			dependencies.justification_stream.clone(),
			dependencies.finality_proofs.clone(),
		)
		.into_rpc(),
	)?;
	module.merge(
		SyncState::new(chain_spec.cloned_box(), client.clone(), dependencies.authority_set.clone(), babe_worker.clone())?.into_rpc(),
	)?;
	module.merge(Neuroshard::new(Views(client.clone())).into_rpc())?;
	Ok(module)
}

/// The view functions of the node's own chain.
struct Views(Arc<Client>);

impl ViewFunctions for Views {
	fn best(&self) -> Hash {
		self.0.info().best_hash
	}

	fn execute(&self, at: Hash, function: ViewFunctionId, parameters: Vec<u8>) -> Result<Vec<u8>, String> {
		let answer = self.0.runtime_api().execute_view_function(at, function, parameters);
		answer
			.map_err(|error| format!("the runtime call failed: {error}"))?
			.map_err(|error| format!("the runtime at this block does not answer this question: {error:?}"))
	}
}
