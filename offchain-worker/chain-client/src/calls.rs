//! Calls of the chain's pallets, typed.

use crate::{
	call::{Call, Signature},
	error::ChainError,
};
use codec::{Compact, Encode};
use neuroshard_types::{
	dataset::Manifest,
	inference::{Offer, SessionId, Voucher},
	proof::{Proof, ProofSignature},
	provider::ProviderInfo,
	reward::EraIndex,
	run::{Attestation, Phase, RunConfig, VoteBitmap, Work},
	AccountId, Balance, BlockNumber, DatasetId, RoundIndex, RunId, H256,
};
use sp_runtime::MultiSignature;
use subxt::metadata::Metadata;

/// Checks that the chain has every call that this worker makes, with the same arguments.
///
/// # Errors
/// The first call that is missing or differs.
pub fn check_calls(metadata: &Metadata) -> Result<(), ChainError> {
	staking::REGISTER.check(metadata)?;
	staking::UPDATE_INFO.check(metadata)?;
	staking::BOND_EXTRA.check(metadata)?;
	staking::UNBOND.check(metadata)?;
	staking::WITHDRAW_UNBONDED.check(metadata)?;
	staking::CHILL.check(metadata)?;
	staking::ACTIVATE.check(metadata)?;
	staking::DEREGISTER.check(metadata)?;
	staking::PROVE_ARITHMETIC.check(metadata)?;
	staking::LOCK.check(metadata)?;
	staking::SET_OPERATOR.check(metadata)?;
	staking::SERVE.check(metadata)?;
	dataset::PROPOSE.check(metadata)?;
	dataset::ACTIVATE.check(metadata)?;
	dataset::RETIRE.check(metadata)?;
	dataset::REMOVE.check(metadata)?;
	training::CREATE_RUN.check(metadata)?;
	training::APPROVE_RUN.check(metadata)?;
	training::STOP_RUN.check(metadata)?;
	training::REMOVE_RUN.check(metadata)?;
	training::JOIN.check(metadata)?;
	training::LEAVE.check(metadata)?;
	training::COMMIT.check(metadata)?;
	training::REVEAL.check(metadata)?;
	training::VOTE_AVAILABILITY.check(metadata)?;
	training::ATTEST.check(metadata)?;
	training::REPORT_MISSING.check(metadata)?;
	training::ADD_COHORT.check(metadata)?;
	ponw::SUBMIT_UPTIME.check(metadata)?;
	inference::OFFER.check(metadata)?;
	inference::JOIN.check(metadata)?;
	inference::LEAVE.check(metadata)?;
	inference::WITHDRAW_OFFER.check(metadata)?;
	inference::OPEN_SESSION.check(metadata)?;
	inference::TOP_UP.check(metadata)?;
	inference::CLAIM.check(metadata)?;
	inference::CLOSE_SESSION.check(metadata)?;
	inference::SETTLE.check(metadata)?;
	rewards::CLAIM.check(metadata)?;
	rewards::CLAIM_FOR.check(metadata)?;
	balances::TRANSFER_KEEP_ALIVE.check(metadata)?;
	system::REMARK.check(metadata)?;
	Ok(())
}

/// Calls of `staking`.
pub mod staking {
	use super::*;

	pub(super) const REGISTER: Signature<(ProviderInfo, Compact<Balance>)> = Signature::new("Staking", "register");
	pub(super) const UPDATE_INFO: Signature<(ProviderInfo,)> = Signature::new("Staking", "update_info");
	pub(super) const BOND_EXTRA: Signature<(Compact<Balance>,)> = Signature::new("Staking", "bond_extra");
	pub(super) const UNBOND: Signature<(Compact<Balance>,)> = Signature::new("Staking", "unbond");
	pub(super) const WITHDRAW_UNBONDED: Signature<()> = Signature::new("Staking", "withdraw_unbonded");
	pub(super) const CHILL: Signature<()> = Signature::new("Staking", "chill");
	pub(super) const ACTIVATE: Signature<()> = Signature::new("Staking", "activate");
	pub(super) const DEREGISTER: Signature<()> = Signature::new("Staking", "deregister");
	pub(super) const PROVE_ARITHMETIC: Signature<(H256,)> = Signature::new("Staking", "prove_arithmetic");
	pub(super) const LOCK: Signature<(u16,)> = Signature::new("Staking", "lock");
	pub(super) const SET_OPERATOR: Signature<(Option<AccountId>,)> = Signature::new("Staking", "set_operator");
	pub(super) const SERVE: Signature<(Option<AccountId>,)> = Signature::new("Staking", "serve");

	/// Registers as a provider with this bond. It is active once it has answered the challenge.
	pub fn register(info: ProviderInfo, bond: Balance) -> Call {
		REGISTER.with((info, Compact(bond)))
	}

	/// Replaces what was registered.
	pub fn update_info(info: ProviderInfo) -> Call {
		UPDATE_INFO.with((info,))
	}

	/// Adds to the active bond.
	pub fn bond_extra(amount: Balance) -> Call {
		BOND_EXTRA.with((Compact(amount),))
	}

	/// Starts to take a part of the bond out.
	pub fn unbond(amount: Balance) -> Call {
		UNBOND.with((Compact(amount),))
	}

	/// Releases unlocked parts of the bond.
	pub fn withdraw_unbonded() -> Call {
		WITHDRAW_UNBONDED.with(())
	}

	/// Takes no new work.
	pub fn chill() -> Call {
		CHILL.with(())
	}

	/// Takes work again.
	pub fn activate() -> Call {
		ACTIVATE.with(())
	}

	/// Chills and starts to take the whole bond out.
	pub fn deregister() -> Call {
		DEREGISTER.with(())
	}

	/// Answers the challenge of the registration.
	pub fn prove_arithmetic(digest: H256) -> Call {
		PROVE_ARITHMETIC.with((digest,))
	}

	/// Locks the stake for so many days, 1 to 365: unbonding cannot start before.
	pub fn lock(days: u16) -> Call {
		LOCK.with((days,))
	}

	/// Names the account that signs the caller's work, or none.
	pub fn set_operator(operator: Option<AccountId>) -> Call {
		SET_OPERATOR.with((operator,))
	}

	/// Makes the caller the operator of `owner`, which has named it; or ends that.
	pub fn serve(owner: Option<AccountId>) -> Call {
		SERVE.with((owner,))
	}
}

/// Calls of `dataset`.
pub mod dataset {
	use super::*;

	pub(super) const PROPOSE: Signature<(Manifest,)> = Signature::new("Dataset", "propose");
	pub(super) const ACTIVATE: Signature<(DatasetId,)> = Signature::new("Dataset", "activate");
	pub(super) const RETIRE: Signature<(DatasetId,)> = Signature::new("Dataset", "retire");
	pub(super) const REMOVE: Signature<(DatasetId,)> = Signature::new("Dataset", "remove");

	/// Proposes a dataset for a deposit.
	pub fn propose(manifest: Manifest) -> Call {
		PROPOSE.with((manifest,))
	}

	/// Makes a proposed dataset usable.
	pub fn activate(id: DatasetId) -> Call {
		ACTIVATE.with((id,))
	}

	/// Takes a dataset back: no new run may use it. Once no run does, and a while has passed, it can be removed.
	pub fn retire(id: DatasetId) -> Call {
		RETIRE.with((id,))
	}

	/// Removes a dataset that was retired or condemned; the deposit goes back to its proposer.
	pub fn remove(id: DatasetId) -> Call {
		REMOVE.with((id,))
	}
}

/// Calls of `training`.
pub mod training {
	use super::*;

	/// Run, round, attempt, salt, work, proof and its signature.
	type Reveal = (RunId, RoundIndex, u32, [u8; 32], Work, Proof, ProofSignature);

	pub(super) const CREATE_RUN: Signature<(RunConfig,)> = Signature::new("Training", "create_run");
	pub(super) const APPROVE_RUN: Signature<(RunId,)> = Signature::new("Training", "approve_run");
	pub(super) const STOP_RUN: Signature<(RunId,)> = Signature::new("Training", "stop_run");
	pub(super) const REMOVE_RUN: Signature<(RunId, u32)> = Signature::new("Training", "remove_run");
	pub(super) const JOIN: Signature<(RunId,)> = Signature::new("Training", "join");
	pub(super) const LEAVE: Signature<(RunId,)> = Signature::new("Training", "leave");
	pub(super) const COMMIT: Signature<(RunId, RoundIndex, u32, H256)> = Signature::new("Training", "commit");
	pub(super) const REVEAL: Signature<Reveal> = Signature::new("Training", "reveal");
	pub(super) const VOTE_AVAILABILITY: Signature<(RunId, RoundIndex, u32, VoteBitmap)> = Signature::new("Training", "vote_availability");
	pub(super) const ATTEST: Signature<(RunId, RoundIndex, u32, Attestation)> = Signature::new("Training", "attest");
	pub(super) const REPORT_MISSING: Signature<(RunId, RoundIndex, u32, Phase, VoteBitmap)> = Signature::new("Training", "report_missing");
	pub(super) const ADD_COHORT: Signature<(RunId, RunId)> = Signature::new("Training", "add_cohort");

	/// Creates a run.
	pub fn create_run(config: RunConfig) -> Call {
		CREATE_RUN.with((config,))
	}

	/// Lets a run's work draw issuance; needs the approving origin.
	pub fn approve_run(run: RunId) -> Call {
		APPROVE_RUN.with((run,))
	}

	/// Ends a run.
	pub fn stop_run(run: RunId) -> Call {
		STOP_RUN.with((run,))
	}

	/// Removes up to `limit` records of a finished run, and with the last one the run itself.
	pub fn remove_run(run: RunId, limit: u32) -> Call {
		REMOVE_RUN.with((run, limit))
	}

	/// Takes part from the next round on.
	pub fn join(run: RunId) -> Call {
		JOIN.with((run,))
	}

	/// Takes no part from the next round on.
	pub fn leave(run: RunId) -> Call {
		LEAVE.with((run,))
	}

	/// Commits to the work of an attempt at a round.
	pub fn commit(run: RunId, round: RoundIndex, attempt: u32, sealed: H256) -> Call {
		COMMIT.with((run, round, attempt, sealed))
	}

	/// Shows the work that was committed to.
	pub fn reveal(
		run: RunId,
		round: RoundIndex,
		attempt: u32,
		salt: [u8; 32],
		work: Work,
		proof: Proof,
		signature: ProofSignature,
	) -> Call {
		REVEAL.with((run, round, attempt, salt, work, proof, signature))
	}

	/// Says which deltas could be fetched and checked.
	pub fn vote_availability(run: RunId, round: RoundIndex, attempt: u32, vote: VoteBitmap) -> Call {
		VOTE_AVAILABILITY.with((run, round, attempt, vote))
	}

	/// Says what the next checkpoint is.
	pub fn attest(run: RunId, round: RoundIndex, attempt: u32, attestation: Attestation) -> Call {
		ATTEST.with((run, round, attempt, attestation))
	}

	/// Says of whom nothing was heard for a while in a phase: one bit for each participant.
	pub fn report_missing(run: RunId, round: RoundIndex, attempt: u32, phase: Phase, missing: VoteBitmap) -> Call {
		REPORT_MISSING.with((run, round, attempt, phase, missing))
	}

	/// Makes `run` a cohort of the family of the run `beside`, which founds one if it is in none.
	pub fn add_cohort(beside: RunId, run: RunId) -> Call {
		ADD_COHORT.with((beside, run))
	}
}

/// Work, as its hash in a proof has it.
pub fn work_hash(work: &Work) -> H256 {
	H256(sp_crypto_hashing::blake2_256(&work.encode()))
}

/// Calls of `ponw`.
pub mod ponw {
	use super::*;

	pub(super) const SUBMIT_UPTIME: Signature<(Proof, ProofSignature)> = Signature::new("Ponw", "submit_uptime");

	/// Proves to be reachable in this hour.
	pub fn submit_uptime(proof: Proof, signature: ProofSignature) -> Call {
		SUBMIT_UPTIME.with((proof, signature))
	}
}

/// Calls of `inference`.
pub mod inference {
	use super::*;

	pub(super) const OFFER: Signature<(Offer,)> = Signature::new("Inference", "offer");
	pub(super) const JOIN: Signature<(AccountId, H256)> = Signature::new("Inference", "join");
	pub(super) const LEAVE: Signature<(AccountId,)> = Signature::new("Inference", "leave");
	pub(super) const WITHDRAW_OFFER: Signature<()> = Signature::new("Inference", "withdraw_offer");
	pub(super) const OPEN_SESSION: Signature<(Option<AccountId>, Balance)> = Signature::new("Inference", "open_session");
	pub(super) const TOP_UP: Signature<(SessionId, Balance)> = Signature::new("Inference", "top_up");
	pub(super) const CLAIM: Signature<(SessionId, Voucher, MultiSignature)> = Signature::new("Inference", "claim");
	pub(super) const CLOSE_SESSION: Signature<(SessionId,)> = Signature::new("Inference", "close_session");
	pub(super) const SETTLE: Signature<(SessionId,)> = Signature::new("Inference", "settle");

	/// Offers to answer with a checkpoint, in place of what was offered before.
	pub fn offer(offer: Offer) -> Call {
		OFFER.with((offer,))
	}

	/// Agrees to the offer of `driver` with this hash.
	pub fn join(driver: AccountId, offer_hash: H256) -> Call {
		JOIN.with((driver, offer_hash))
	}

	/// Agrees no more to the offer of `driver`.
	pub fn leave(driver: AccountId) -> Call {
		LEAVE.with((driver,))
	}

	/// Ends the caller's offer and returns its deposit.
	pub fn withdraw_offer() -> Call {
		WITHDRAW_OFFER.with(())
	}

	/// Puts `escrow` planck aside for answers of `provider`, or of everybody.
	pub fn open_session(provider: Option<AccountId>, escrow: Balance) -> Call {
		OPEN_SESSION.with((provider, escrow))
	}

	/// Puts `amount` planck more aside for an open session.
	pub fn top_up(session: SessionId, amount: Balance) -> Call {
		TOP_UP.with((session, amount))
	}

	/// Has the chain pay what the voucher says beyond what it has paid before.
	pub fn claim(voucher: Voucher, signature: MultiSignature) -> Call {
		CLAIM.with((voucher.session, voucher, signature))
	}

	/// Ends a session: what is left goes back after a delay.
	pub fn close_session(session: SessionId) -> Call {
		CLOSE_SESSION.with((session,))
	}

	/// Returns what is left of a session that was closed, after the delay.
	pub fn settle(session: SessionId) -> Call {
		SETTLE.with((session,))
	}
}

/// Calls of `rewards`.
pub mod rewards {
	use super::*;

	/// Eras to claim in one extrinsic.
	pub const MOST_CLAIMS: usize = 16;

	pub(super) const CLAIM: Signature<(EraIndex,)> = Signature::new("Rewards", "claim");
	pub(super) const CLAIM_FOR: Signature<(AccountId, EraIndex)> = Signature::new("Rewards", "claim_for");

	/// Mints what an ended era owes the caller.
	pub fn claim(era: EraIndex) -> Call {
		CLAIM.with((era,))
	}

	/// Mints what an ended era owes `who`, at the caller's fee.
	pub fn claim_for(who: AccountId, era: EraIndex) -> Call {
		CLAIM_FOR.with((who, era))
	}
}

/// Calls of `balances`.
pub mod balances {
	use super::*;
	use sp_runtime::MultiAddress;

	pub(super) const TRANSFER_KEEP_ALIVE: Signature<(MultiAddress<AccountId, ()>, Compact<Balance>)> =
		Signature::new("Balances", "transfer_keep_alive");

	/// Sends NEURO and keeps the sender's account alive.
	pub fn transfer(to: AccountId, amount: Balance) -> Call {
		TRANSFER_KEEP_ALIVE.with((MultiAddress::Id(to), Compact(amount)))
	}
}

/// Calls of `multisig`.
pub mod multisig {
	use super::*;

	/// Threshold, other signatories, when it began, hash of the call, and reference time and proof size that it may take.
	type Arguments = (u16, Vec<AccountId>, Option<(BlockNumber, u32)>, [u8; 32], (Compact<u64>, Compact<u64>));
	pub(super) const APPROVE_AS_MULTI: Signature<Arguments> = Signature::new("Multisig", "approve_as_multi");

	/// Nobody's approval of nothing: it fails, and takes what it declares for the call, `ref_time` picoseconds, and some for itself.
	pub fn refused(ref_time: u64) -> Call {
		APPROVE_AS_MULTI.with((0, Vec::new(), None, [0; 32], (Compact(ref_time), Compact(0))))
	}
}

/// Calls of `system`.
pub mod system {
	use super::*;

	pub(super) const REMARK: Signature<(Vec<u8>,)> = Signature::new("System", "remark");

	/// Has these bytes in a block, and does nothing.
	pub fn remark(bytes: Vec<u8>) -> Call {
		REMARK.with((bytes,))
	}
}
