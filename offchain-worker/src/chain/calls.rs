//! Calls of the chain's pallets, typed.

use super::call::Call;
use codec::Compact;
use neuroshard_types::{
	dataset::Manifest,
	proof::{Proof, ProofSignature},
	provider::ProviderInfo,
	reward::EraIndex,
	run::{Attestation, RunConfig, VoteBitmap, Work},
	AccountId, Balance, DatasetId, RoundIndex, RunId, H256,
};

/// Calls of `staking`.
pub mod staking {
	use super::*;

	/// Registers as an active provider with this bond.
	pub fn register(info: ProviderInfo, bond: Balance) -> Call {
		Call::new("Staking", "register", &(info, Compact(bond)))
	}

	/// Replaces what was registered.
	pub fn update_info(info: ProviderInfo) -> Call {
		Call::new("Staking", "update_info", &(info,))
	}

	/// Adds to the active bond.
	pub fn bond_extra(amount: Balance) -> Call {
		Call::new("Staking", "bond_extra", &(Compact(amount),))
	}

	/// Starts to take a part of the bond out.
	pub fn unbond(amount: Balance) -> Call {
		Call::new("Staking", "unbond", &(Compact(amount),))
	}

	/// Releases unlocked parts of the bond.
	pub fn withdraw_unbonded() -> Call {
		Call::new("Staking", "withdraw_unbonded", &())
	}

	/// Takes no new work.
	pub fn chill() -> Call {
		Call::new("Staking", "chill", &())
	}

	/// Takes work again.
	pub fn activate() -> Call {
		Call::new("Staking", "activate", &())
	}

	/// Chills and starts to take the whole bond out.
	pub fn deregister() -> Call {
		Call::new("Staking", "deregister", &())
	}
}

/// Calls of `dataset`.
pub mod dataset {
	use super::*;

	/// Proposes a dataset for a deposit.
	pub fn propose(manifest: Manifest) -> Call {
		Call::new("Dataset", "propose", &(manifest,))
	}

	/// Makes a proposed dataset usable.
	pub fn activate(id: DatasetId) -> Call {
		Call::new("Dataset", "activate", &(id,))
	}
}

/// Calls of `training`.
pub mod training {
	use super::*;

	/// Creates a run.
	pub fn create_run(config: RunConfig) -> Call {
		Call::new("Training", "create_run", &(config,))
	}

	/// Lets a run's work draw issuance; needs the approving origin.
	pub fn approve_run(run: RunId) -> Call {
		Call::new("Training", "approve_run", &(run,))
	}

	/// Ends a run.
	pub fn stop_run(run: RunId) -> Call {
		Call::new("Training", "stop_run", &(run,))
	}

	/// Takes part from the next round on.
	pub fn join(run: RunId) -> Call {
		Call::new("Training", "join", &(run,))
	}

	/// Takes no part from the next round on.
	pub fn leave(run: RunId) -> Call {
		Call::new("Training", "leave", &(run,))
	}

	/// Commits to the work of a round.
	pub fn commit(run: RunId, round: RoundIndex, sealed: H256) -> Call {
		Call::new("Training", "commit", &(run, round, sealed))
	}

	/// Shows the work that was committed to.
	pub fn reveal(run: RunId, round: RoundIndex, salt: [u8; 32], work: Work, proof: Proof, signature: ProofSignature) -> Call {
		Call::new("Training", "reveal", &(run, round, salt, work, proof, signature))
	}

	/// Says which deltas could be fetched and checked.
	pub fn vote_availability(run: RunId, round: RoundIndex, vote: VoteBitmap) -> Call {
		Call::new("Training", "vote_availability", &(run, round, vote))
	}

	/// Says what the next checkpoint is.
	pub fn attest(run: RunId, round: RoundIndex, attestation: Attestation) -> Call {
		Call::new("Training", "attest", &(run, round, attestation))
	}
}

/// Calls of `ponw`.
pub mod ponw {
	use super::*;

	/// Proves to be reachable in this hour.
	pub fn submit_uptime(proof: Proof, signature: ProofSignature) -> Call {
		Call::new("Ponw", "submit_uptime", &(proof, signature))
	}
}

/// Calls of `rewards`.
pub mod rewards {
	use super::*;

	/// Mints what an ended era owes the caller.
	pub fn claim(era: EraIndex) -> Call {
		Call::new("Rewards", "claim", &(era,))
	}
}

/// Calls of `balances`.
pub mod balances {
	use super::*;
	use sp_runtime::MultiAddress;

	/// Sends NEURO and keeps the sender's account alive.
	pub fn transfer(to: AccountId, amount: Balance) -> Call {
		Call::new("Balances", "transfer_keep_alive", &(MultiAddress::<AccountId, ()>::Id(to), Compact(amount)))
	}
}
