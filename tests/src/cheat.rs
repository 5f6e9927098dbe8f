//! Workers that cheat on purpose, and what is known of them.

use crate::{Verdicts, View};
pub use neuroshard_cheat::Cheat;
use neuroshard_types::{dispute::ClaimId, AccountId, RoundIndex};

/// A cheater of a network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cheater {
	/// What it does.
	pub cheat: Cheat,
	/// In which round first; with answers of the checkpoint that this round starts from.
	pub round: RoundIndex,
	/// Whether it goes on in later rounds.
	pub again: bool,
	/// Its account.
	pub account: AccountId,
}

impl Cheater {
	/// Whether this is a claim that it cheats with.
	pub fn made(&self, claim: &ClaimId) -> bool {
		let now = claim.round == self.round || (self.again && claim.round > self.round);
		now && claim.who == self.account && self.cheat.falsifies(claim.kind)
	}

	/// Number of the verdict that condemned it for what it did.
	pub fn caught(&self, verdicts: &Verdicts) -> Option<usize> {
		verdicts.list().iter().position(|one| self.made(&one.verdict.claim) && one.verdict.decision.condemns())
	}

	/// Whether it is condemned for what it did, and a checkpoint was adopted after that.
	pub fn is_dealt_with(&self, verdicts: &Verdicts, view: &View) -> bool {
		let condemned = self.caught(verdicts).and_then(|index| verdicts.list().get(index));
		condemned.is_some_and(|one| view.records.iter().any(|record| record.adopted_at > one.block.number))
	}
}
