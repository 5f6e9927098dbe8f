//! The `neuroshard` namespace: runs, rounds, providers and rewards, typed, from the pallets' view functions.

use crate::service::Client;
use codec::{Decode, Encode};
use frame_support::view_functions::{runtime_api::RuntimeViewFunction, ViewFunction};
use jsonrpsee::{
	core::{async_trait, RpcResult},
	proc_macros::rpc,
	types::{error::INTERNAL_ERROR_CODE, ErrorObjectOwned},
};
use neuroshard_runtime::{AccountId, Balance, Hash, Runtime};
use neuroshard_types::{
	provider::{HardwareProfile, ProviderStatus, Role},
	run::{Phase, RunStatus},
	DatasetId, ModelConfig, RoundIndex, RunId, TrainConfig,
};
use serde::{Deserialize, Serialize};
use sp_api::ProvideRuntimeApi;
use sp_blockchain::HeaderBackend;
use std::sync::Arc;

/// A training run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
	/// Identifier.
	pub id: RunId,
	/// Name given by the sponsor.
	pub name: String,
	/// Who created it.
	pub sponsor: AccountId,
	/// Dataset it trains on.
	pub dataset: DatasetId,
	/// The model.
	pub model: ModelConfig,
	/// How it is trained.
	pub train: TrainConfig,
	/// Rounds to train; `null` for no end.
	pub rounds: Option<RoundIndex>,
	/// Rounds adopted so far.
	pub rounds_adopted: RoundIndex,
	/// Root of the newest adopted checkpoint.
	pub checkpoint: Hash,
	/// Life.
	pub status: RunStatus,
	/// Whether its work draws issuance.
	pub approved: bool,
}

/// The round that a run is in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Round {
	/// Round number.
	pub round: RoundIndex,
	/// How often it was started anew.
	pub attempt: u32,
	/// Phase.
	pub phase: Phase,
	/// Block at which the phase ends at the latest.
	pub deadline: Option<u32>,
	/// Checkpoint that the round starts from.
	pub checkpoint: Hash,
	/// Participants in the order of windows, votes and aggregation.
	pub participants: Vec<Participant>,
}

/// What one participant has done in the round.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Participant {
	/// Account.
	pub account: AccountId,
	/// Whether it has committed.
	pub committed: bool,
	/// Merkle root of its delta once revealed.
	pub delta_root: Option<Hash>,
	/// Whether it has voted on availability.
	pub voted: bool,
	/// Root of the checkpoint that it attested.
	pub attested: Option<Hash>,
	/// Validation loss that it attested, nats per token.
	pub validation_loss: Option<f32>,
	/// Whether its delta is included.
	pub included: bool,
}

/// A compute provider.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
	/// Roles offered.
	pub roles: Vec<Role>,
	/// Measured hardware.
	pub hardware: HardwareProfile,
	/// Whether it takes part.
	pub status: ProviderStatus,
	/// Active bond in planck, as a decimal string.
	pub bonded: String,
	/// Bond on its way out in planck, as a decimal string.
	pub unbonding: String,
	/// Claims that keep every withdrawal back.
	pub open_claims: u32,
	/// Reputation, 0 to 1,000.
	pub reputation: u32,
}

/// What an account has earned; planck as decimal strings.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingRewards {
	/// Minted so far.
	pub claimed: String,
	/// Of ended eras, ready to claim.
	pub claimable: String,
	/// Estimate for the current era if it ended now.
	pub current_era_estimate: String,
	/// Proofs whose challenge window is still open.
	pub pending_proofs: u32,
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

/// Implements [`NeuroshardApiServer`].
pub struct Neuroshard {
	client: Arc<Client>,
}

impl Neuroshard {
	/// Answers from `client`.
	pub fn new(client: Arc<Client>) -> Self {
		Self { client }
	}

	fn view<V>(&self, at: Hash, function: V) -> RpcResult<V::ReturnType>
	where
		V: ViewFunction + Encode,
		V::ReturnType: Decode,
	{
		let bytes = self
			.client
			.runtime_api()
			.execute_view_function(at, V::id(), function.encode())
			.map_err(|error| internal(format!("the runtime call failed: {error}")))?
			.map_err(|error| internal(format!("the runtime at this block does not answer this question: {error:?}")))?;
		V::ReturnType::decode(&mut &bytes[..])
			.map_err(|error| internal(format!("the runtime at this block answers in another format than this node knows: {error}")))
	}

	fn best(&self) -> Hash {
		self.client.info().best_hash
	}
}

fn internal(message: String) -> ErrorObjectOwned {
	ErrorObjectOwned::owned(INTERNAL_ERROR_CODE, message, None::<()>)
}

#[async_trait]
impl NeuroshardApiServer for Neuroshard {
	fn runs(&self) -> RpcResult<Vec<Run>> {
		use pallet_neuro_training::{RunViewFunction, RunsViewFunction};
		let at = self.best();
		let mut runs = Vec::new();
		for id in self.view(at, RunsViewFunction::<Runtime>::new())? {
			let Some(run) = self.view(at, RunViewFunction::<Runtime>::new(id))? else { continue };
			runs.push(Run {
				id,
				name: String::from_utf8_lossy(&run.config.name).into_owned(),
				sponsor: run.sponsor,
				dataset: run.config.dataset,
				model: run.config.model,
				train: run.config.train,
				rounds: run.config.rounds,
				rounds_adopted: run.rounds_adopted,
				checkpoint: run.checkpoint,
				status: run.status,
				approved: run.approved,
			});
		}
		Ok(runs)
	}

	fn current_round(&self, run: RunId) -> RpcResult<Option<Round>> {
		let round = self.view(self.best(), pallet_neuro_training::RoundViewFunction::<Runtime>::new(run))?;
		Ok(round.map(|round| Round {
			round: round.round,
			attempt: round.attempt,
			phase: round.phase,
			deadline: round.deadline,
			checkpoint: round.checkpoint,
			participants: round
				.participants
				.into_iter()
				.map(|participant| Participant {
					account: participant.account,
					committed: participant.sealed.is_some(),
					delta_root: participant.work.map(|work| work.delta_root),
					voted: participant.vote.is_some(),
					attested: participant.attestation.map(|attestation| attestation.checkpoint),
					validation_loss: participant.attestation.map(|attestation| attestation.validation_loss.get()),
					included: participant.included,
				})
				.collect(),
		}))
	}

	fn provider(&self, account: AccountId) -> RpcResult<Option<Provider>> {
		let view = self.view(self.best(), pallet_neuro_staking::ProviderViewFunction::<Runtime>::new(account))?;
		Ok(view.map(|provider| Provider {
			roles: [Role::Driver, Role::Worker, Role::Verifier, Role::Predictor]
				.into_iter()
				.filter(|role| provider.info.roles.contains(*role))
				.collect(),
			hardware: provider.info.hardware,
			status: provider.status,
			bonded: provider.bonded.to_string(),
			unbonding: provider.unbonding.iter().fold(0, |sum: Balance, chunk| sum.saturating_add(chunk.amount)).to_string(),
			open_claims: provider.open_claims,
			reputation: provider.reputation,
		}))
	}

	fn pending_rewards(&self, account: AccountId) -> RpcResult<PendingRewards> {
		let at = self.best();
		let earnings = self.view(at, pallet_neuro_rewards::EarningsViewFunction::<Runtime>::new(account.clone()))?;
		let pending = self.view(at, pallet_neuro_ponw::PendingViewFunction::<Runtime>::new(account))?;
		Ok(PendingRewards {
			claimed: earnings.claimed.to_string(),
			claimable: earnings.claimable.to_string(),
			current_era_estimate: earnings.current_era_estimate.to_string(),
			pending_proofs: u32::try_from(pending.len()).unwrap_or(u32::MAX),
		})
	}
}
