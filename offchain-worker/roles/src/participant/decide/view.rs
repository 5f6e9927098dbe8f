//! View that decisions are made from: what the chain says, and what this machine has.

use crate::{journal::PendingWork, parts::Mode};
use neuroshard_types::{
	dispute::OuterJob,
	run::{Attestation, MissingReport, RoundView, RunStatus, RunView},
	AccountId, Balance, BlockNumber, DatasetId, Moment, RunId, H256,
};
use std::collections::{BTreeMap, BTreeSet};

/// State of the chain at its best block (and where noted, at its finalized one).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainView {
	/// Height of the best block.
	pub best: BlockNumber,
	/// This worker's account.
	pub me: AccountId,
	/// True if the account is a registered, active provider with the worker role.
	pub active: bool,
	/// The chain's test of arithmetic that the provider has to pass first, and has the bond for.
	pub challenge: Option<H256>,
	/// Its active bond, in planck.
	pub bond: Balance,
	/// The run this worker takes part in, if there is one.
	pub run: Option<RunState>,
	/// Hour whose uptime this account may prove now; see [`uptime_hour`].
	pub hour: Option<u32>,
	/// Rewards that can be claimed according to both the best and the *finalized* block, in planck.
	pub claimable: Balance,
	/// Its free balance, in planck.
	pub free: Balance,
	/// Part of it that must stay for the fees of a dispute; see [`neuroshard_chain_client::ChainAt::reserve`].
	pub reserve: Balance,
}

/// Milliseconds of an hour: uptime proofs are numbered by hours of chain time.
const HOUR_MS: u64 = 3_600_000;
/// Part of an hour in which accounts begin to prove their uptime.
const SPREAD_MS: u64 = 600_000;

/// Chain time in whole hours since the epoch, the number of an uptime proof, when `who` may prove its uptime. Each account has a moment of its own in an
/// hour: thousands that prove theirs as an hour begins fill blocks.
pub fn uptime_hour(time: Moment, who: &AccountId) -> Option<u32> {
	let bytes: &[u8; 32] = who.as_ref();
	let own = bytes.first_chunk().map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes))) % SPREAD_MS;
	u32::try_from(time / HOUR_MS).ok().filter(|_| time % HOUR_MS >= own)
}

impl ChainView {
	/// Returns whether a dispute could cost more than the account has: who cannot pay for a move loses its stake.
	pub fn is_short(&self) -> bool {
		self.free < self.reserve
	}
}

impl RunState {
	/// Returns whether `who` takes part, or may: an active run without a free place has nothing for anybody else.
	pub fn has_place_for(&self, who: &AccountId) -> bool {
		let members = &self.members;
		let acts = || self.round.iter().flat_map(|round| &round.participants).any(|one| one.account == *who);
		let free = u32::try_from(members.len()).is_ok_and(|count| count < self.view.config.max_participants);
		self.view.status != RunStatus::Active || free || members.binary_search(who).is_ok() || acts()
	}
}

/// One run on chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunState {
	/// Its number.
	pub id: RunId,
	/// The run.
	pub view: RunView,
	/// Its current round; `None` when there is none (any more).
	pub round: Option<RoundView>,
	/// Outer steps that are to be attested, in Checkpointing.
	pub job: Option<OuterJob>,
	/// Participants of the current round or from the next one on.
	pub members: Vec<AccountId>,
	/// This account's sealed commitment to the current round, as of the *finalized* block.
	pub finalized_seal: Option<H256>,
	/// This account's place in the current round, as of the *finalized* block, if it came late to it: on another branch others may have come before.
	pub finalized_place: Option<u32>,
	/// First block in which this account may join again after dropouts in a row; `None` if it need not wait, or is a member.
	pub next_join: Option<BlockNumber>,
	/// Reports of participants that others are missing in this phase. Empty unless this account has acted in it.
	pub reported: Vec<MissingReport>,
}

/// The result of outer steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextCheckpoint {
	/// Run.
	pub run: RunId,
	/// The steps that were taken.
	pub job: OuterJob,
	/// The attestation.
	pub attestation: Attestation,
}

/// Knowledge of this machine about a delta.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delta {
	/// It is here, and one of the run's model.
	Held,
	/// It is here, and can be applied, but is larger than inner steps can have made it ([`neuroshard_training::reach`]): no vote for it.
	Excessive,
	/// Its bytes have the root that was revealed, but are no finite delta of the run's model: asking again gives the same bytes.
	Unsound,
}

/// Knowledge of this machine about a checkpoint of another cohort, by its root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sibling {
	/// It is in the store, for inner steps to start from.
	Here(H256),
	/// It is none that anybody can have trained, or nothing can be trained from it: inner steps start from the own cohort's.
	Unfit(H256),
}

/// State of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalState {
	/// Trains or serves.
	pub mode: Mode,
	/// Root of the checkpoint that is loaded.
	pub checkpoint: Option<H256>,
	/// Dataset whose list of shards is at hand, so that its shards can be had.
	pub dataset: Option<DatasetId>,
	/// Finished training: of a round, and where rounds overlap of the next one.
	pub pending: Vec<PendingWork>,
	/// A checkpoint besides the loaded one that is in the store, for outer steps to be redone from.
	pub stored: Option<H256>,
	/// The checkpoint of another cohort that was got last.
	pub sibling: Option<Sibling>,
	/// Knowledge of the deltas of the current round, and of those that are redone in it, by root. One that is not listed has not come
	/// yet.
	pub deltas: BTreeMap<H256, Delta>,
	/// Result of the newest outer steps.
	pub next: Option<NextCheckpoint>,
	/// Rounds, by their seeds, that ended in divergence here, the newest last: they are not tried again.
	pub diverged: Vec<H256>,
	/// Participants that this worker does not wait for: they said farewell, or nothing was heard of them for longer than a restart takes.
	pub missing: BTreeSet<AccountId>,
	/// Hour of the newest uptime proof.
	pub uptime: Option<u32>,
	/// Earnings below this stay on chain: a claim costs a fee.
	pub claim_from: Balance,
	/// This machine needs all that is left of the time for training for its inner steps.
	pub in_a_hurry: bool,
	/// The operator asked to leave: the round is finished, no new one is begun.
	pub leaving: bool,
}

impl LocalState {
	/// Checkpoints that were in memory are not there any more: those that are needed are loaded again.
	pub fn unloaded(&mut self) {
		(self.checkpoint, self.stored, self.next) = (None, None, None);
		self.let_sibling_go();
	}

	/// Forgets what is known of a checkpoint of another cohort, so that it is looked at again, unless it is of no use.
	pub fn let_sibling_go(&mut self) {
		self.sibling = self.sibling.filter(|sibling| matches!(sibling, Sibling::Unfit(_)));
	}

	/// Finished training of the round with this seed.
	pub fn pending_of(&self, seed: H256) -> Option<&PendingWork> {
		self.pending.iter().find(|work| work.seed == seed)
	}

	/// Returns whether the inner steps of the round with this seed are over, whatever came of them.
	pub fn has_trained(&self, seed: H256) -> bool {
		self.diverged.contains(&seed) || self.pending_of(seed).is_some()
	}
}
