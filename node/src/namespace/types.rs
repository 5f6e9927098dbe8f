//! Answers of the methods. Amounts are planck as decimal strings, since JSON numbers are exact up to 2^53 only.

use neuroshard_runtime::{AccountId, Balance, BlockNumber, Hash};
use neuroshard_types::{
	provider::{HardwareProfile, ProviderStatus, ProviderView, Role, Tier},
	reward::Earnings,
	run::{ParticipantView, Phase, RoundView, RunStatus, RunView},
	DatasetId, ModelConfig, RoundIndex, RunId, TrainConfig,
};
use serde::{Deserialize, Serialize};

/// A training run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
	/// Identifier.
	pub id: RunId,
	/// Name given by the sponsor.
	pub name: String,
	/// Account that created it.
	pub sponsor: AccountId,
	/// Dataset it trains on.
	pub dataset: DatasetId,
	/// The model.
	pub model: ModelConfig,
	/// Training configuration.
	pub train: TrainConfig,
	/// Rounds to train; `null` for no end.
	pub rounds: Option<RoundIndex>,
	/// Rounds adopted so far.
	pub rounds_adopted: RoundIndex,
	/// Root of the newest adopted checkpoint.
	pub checkpoint: Hash,
	/// Life.
	pub status: RunStatus,
	/// True if its work draws issuance.
	pub approved: bool,
}

/// The round that a run is in.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Round {
	/// Round number.
	pub round: RoundIndex,
	/// Number of times that it was started anew.
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

/// Actions of one participant in the round.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Participant {
	/// Account.
	pub account: AccountId,
	/// True if it has committed.
	pub committed: bool,
	/// Merkle root of its delta once revealed.
	pub delta_root: Option<Hash>,
	/// True if it has voted on availability.
	pub voted: bool,
	/// Root of the checkpoint that it attested.
	pub attested: Option<Hash>,
	/// Validation loss that it attested, nats per token.
	pub validation_loss: Option<f32>,
	/// True if its delta is included.
	pub included: bool,
}

/// A compute provider.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
	/// Roles offered.
	pub roles: Vec<Role>,
	/// Measured hardware.
	pub hardware: HardwareProfile,
	/// Participation status.
	pub status: ProviderStatus,
	/// Active bond in planck, as a decimal string.
	pub bonded: String,
	/// Bond on its way out in planck, as a decimal string.
	pub unbonding: String,
	/// Claims that keep every withdrawal back.
	pub open_claims: u32,
	/// First block in which nothing that it claimed in adopted rounds can be disputed any more; no withdrawal before it.
	pub disputable_until: BlockNumber,
	/// Reputation, 0 to 1,000.
	pub reputation: u32,
	/// Class of its machine.
	pub tier: Tier,
	/// First block in which unbonding may start.
	pub locked_until: BlockNumber,
	/// First block in which it may take part again after an offence; the last number that there is if it is banned.
	pub suspended_until: BlockNumber,
}

/// Rewards of an account; planck as decimal strings.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
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

impl Run {
	/// Run `id` as the chain shows it.
	pub fn new(id: RunId, run: RunView) -> Self {
		Self {
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
		}
	}
}

impl From<RoundView> for Round {
	fn from(round: RoundView) -> Self {
		Self {
			round: round.round,
			attempt: round.attempt,
			phase: round.phase,
			deadline: round.deadline,
			checkpoint: round.checkpoint,
			participants: round.participants.into_iter().map(Into::into).collect(),
		}
	}
}

impl From<ParticipantView> for Participant {
	fn from(participant: ParticipantView) -> Self {
		Self {
			account: participant.account,
			committed: participant.sealed.is_some(),
			delta_root: participant.work.map(|work| work.delta_root),
			voted: participant.vote.is_some(),
			attested: participant.attestation.map(|attestation| attestation.checkpoint),
			validation_loss: participant.attestation.map(|attestation| attestation.validation_loss.get()),
			included: participant.included,
		}
	}
}

impl From<ProviderView> for Provider {
	fn from(provider: ProviderView) -> Self {
		let roles = [Role::Driver, Role::Worker, Role::Verifier, Role::Predictor];
		let unbonding = provider.unbonding.iter().fold(0, |sum: Balance, chunk| sum.saturating_add(chunk.amount));
		Self {
			roles: roles.into_iter().filter(|role| provider.info.roles.contains(*role)).collect(),
			hardware: provider.info.hardware,
			status: provider.status,
			bonded: provider.bonded.to_string(),
			unbonding: unbonding.to_string(),
			open_claims: provider.open_claims,
			disputable_until: provider.disputable_until,
			reputation: provider.reputation,
			tier: provider.tier,
			locked_until: provider.locked_until,
			suspended_until: provider.suspended_until,
		}
	}
}

impl PendingRewards {
	/// Puts together what has been earned, and the number of proofs that are not final yet.
	pub fn new(earnings: Earnings, pending: usize) -> Self {
		Self {
			claimed: earnings.claimed.to_string(),
			claimable: earnings.claimable.to_string(),
			current_era_estimate: earnings.current_era_estimate.to_string(),
			pending_proofs: u32::try_from(pending).unwrap_or(u32::MAX),
		}
	}
}
