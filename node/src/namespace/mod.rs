//! The `neuroshard` namespace: runs, rounds, providers and rewards, typed, from the pallets' view functions.

mod types;

#[cfg(test)]
mod tests;

pub use types::{Participant, PendingRewards, Provider, Round, Run};

use codec::{DecodeAll, Encode};
use frame_support::view_functions::{ViewFunction, ViewFunctionId};
use jsonrpsee::{
	core::{async_trait, RpcResult},
	proc_macros::rpc,
	types::{error::INTERNAL_ERROR_CODE, ErrorObjectOwned},
};
use neuroshard_runtime::{AccountId, Hash, Runtime};
use neuroshard_types::RunId;
use pallet_neuro_ponw::PendingViewFunction;
use pallet_neuro_rewards::EarningsViewFunction;
use pallet_neuro_staking::ProviderViewFunction;
use pallet_neuro_training::{RoundViewFunction, RunViewFunction, RunsViewFunction};

/// A chain whose view functions can be asked.
pub trait ViewFunctions: Send + Sync + 'static {
	/// The best block.
	fn best(&self) -> Hash;
	/// The SCALE-encoded answer of a view function to its SCALE-encoded parameters, at block `at`.
	///
	/// # Errors
	/// Why there is no answer, in words.
	fn execute(&self, at: Hash, function: ViewFunctionId, parameters: Vec<u8>) -> Result<Vec<u8>, String>;
}

/// JSON-RPC methods of the `neuroshard` namespace. Every method answers at the best block.
#[rpc(server, namespace = "neuroshard")]
pub trait NeuroshardApi {
	/// All runs, by identifier ascending.
	#[method(name = "runs", blocking)]
	fn runs(&self) -> RpcResult<Vec<Run>>;
	/// The round that a run is in; `null` for an unknown or finished run.
	#[method(name = "currentRound", blocking)]
	fn current_round(&self, run: RunId) -> RpcResult<Option<Round>>;
	/// A provider; `null` for an account that is not registered.
	#[method(name = "provider", blocking)]
	fn provider(&self, account: AccountId) -> RpcResult<Option<Provider>>;
	/// What an account has earned and what is on its way.
	#[method(name = "pendingRewards", blocking)]
	fn pending_rewards(&self, account: AccountId) -> RpcResult<PendingRewards>;
}

/// Implements [`NeuroshardApiServer`] on a chain's view functions.
pub struct Neuroshard<V> {
	views: V,
}

impl<V: ViewFunctions> Neuroshard<V> {
	/// Answers from `views`.
	pub fn new(views: V) -> Self {
		Self { views }
	}

	fn view<F>(&self, at: Hash, function: F) -> RpcResult<F::ReturnType>
	where
		F: ViewFunction + Encode,
		F::ReturnType: DecodeAll,
	{
		let answer = self.views.execute(at, F::id(), function.encode()).map_err(internal)?;
		F::ReturnType::decode_all(&mut &answer[..])
			.map_err(|error| internal(format!("the runtime at this block answers in another format than this node knows: {error}")))
	}
}

fn internal(message: String) -> ErrorObjectOwned {
	ErrorObjectOwned::owned(INTERNAL_ERROR_CODE, message, None::<()>)
}

#[async_trait]
impl<V: ViewFunctions> NeuroshardApiServer for Neuroshard<V> {
	fn runs(&self) -> RpcResult<Vec<Run>> {
		let at = self.views.best();
		let mut runs = Vec::new();
		for id in self.view(at, RunsViewFunction::<Runtime>::new())? {
			runs.extend(self.view(at, RunViewFunction::<Runtime>::new(id))?.map(|run| Run::new(id, run)));
		}
		Ok(runs)
	}

	fn current_round(&self, run: RunId) -> RpcResult<Option<Round>> {
		Ok(self.view(self.views.best(), RoundViewFunction::<Runtime>::new(run))?.map(Into::into))
	}

	fn provider(&self, account: AccountId) -> RpcResult<Option<Provider>> {
		Ok(self.view(self.views.best(), ProviderViewFunction::<Runtime>::new(account))?.map(Into::into))
	}

	fn pending_rewards(&self, account: AccountId) -> RpcResult<PendingRewards> {
		let at = self.views.best();
		let earnings = self.view(at, EarningsViewFunction::<Runtime>::new(account.clone()))?;
		let pending = self.view(at, PendingViewFunction::<Runtime>::new(account))?;
		Ok(PendingRewards::new(earnings, pending.len()))
	}
}
