//! Workers that cheat on purpose, and what is known of them.

use crate::{Verdicts, View};
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind, Decision},
	AccountId, RoundIndex,
};

/// Ways to cheat, as `--cheat` of `neuroshard-cheat run` and of `neuroshard-cheat serve --provider` has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Cheat {
	/// Random numbers instead of work.
	Noise,
	/// Half of the inner steps, revealed as all of them.
	FewerSteps,
	/// The work of an accomplice, taken over before the commitment.
	CopiedDelta,
	/// Inner steps on other windows than those drawn.
	WrongShard,
	/// One wrong bit of one weight after one inner step.
	BitFlip,
	/// A checkpoint in which one delta counts twice, and another one not at all.
	WrongAggregate,
	/// A checkpoint whose outer step is twice as long.
	WrongOuterStep,
	/// As bit-flip, without a word in disputes.
	Silence,
	/// Random samples of the work that it is drawn to audit.
	LazyAuditor,
	/// Answers in which each 32nd token of the text is another one than the model gives.
	WrongToken,
	/// Answers of the model with one wrong weight in a layer.
	WrongLayer,
	/// Answers of an older checkpoint than the one that is offered.
	StaleCheckpoint,
}

impl Cheat {
	/// Its name.
	pub fn name(self) -> &'static str {
		match self {
			Self::Noise => "noise",
			Self::FewerSteps => "fewer-steps",
			Self::CopiedDelta => "copied-delta",
			Self::WrongShard => "wrong-shard",
			Self::BitFlip => "bit-flip",
			Self::WrongAggregate => "wrong-aggregate",
			Self::WrongOuterStep => "wrong-outer-step",
			Self::Silence => "silence",
			Self::LazyAuditor => "lazy-auditor",
			Self::WrongToken => "wrong-token",
			Self::WrongLayer => "wrong-layer",
			Self::StaleCheckpoint => "stale-checkpoint",
		}
	}

	/// Whether it is a provider that does so, with its answers, and no worker of a round.
	pub fn is_of_answers(self) -> bool {
		matches!(self, Self::WrongToken | Self::WrongLayer | Self::StaleCheckpoint)
	}

	/// Whether this is what is false.
	pub fn falsifies(self, claim: ClaimKind) -> bool {
		match claim {
			ClaimKind::Attestation => matches!(self, Self::WrongAggregate | Self::WrongOuterStep),
			ClaimKind::Audit => self == Self::LazyAuditor,
			ClaimKind::Answer(_) => self.is_of_answers(),
			ClaimKind::Work => {
				matches!(self, Self::Noise | Self::FewerSteps | Self::CopiedDelta | Self::WrongShard | Self::BitFlip | Self::Silence)
			}
		}
	}

	/// How a dispute about it ends: a cheater that has no answers is condemned by its clock.
	pub fn verdict(self) -> Decision {
		match self {
			Self::WrongShard | Self::BitFlip | Self::WrongAggregate | Self::WrongOuterStep => Decision::Fraud,
			Self::WrongToken | Self::WrongLayer | Self::StaleCheckpoint => Decision::Fraud,
			Self::Noise | Self::FewerSteps | Self::CopiedDelta | Self::Silence | Self::LazyAuditor => Decision::DefenderLate,
		}
	}

	/// Whether it goes on with it in later rounds until it is caught, even where everybody checks everything: a false attestation can come too
	/// late to count, and an auditor need not be drawn in every round.
	pub fn repeats(self) -> bool {
		!self.falsifies(ClaimKind::Work)
	}

	/// Whether nothing can come of it in a network without audits.
	pub fn needs_audits(self) -> bool {
		self == Self::LazyAuditor
	}

	/// Accomplices that it takes.
	pub fn accomplices(self) -> u16 {
		u16::from(self == Self::CopiedDelta)
	}

	/// Workers that it takes to cheat in all these ways.
	pub fn workers(cheats: &[(Self, RoundIndex)]) -> u16 {
		cheats.iter().map(|(cheat, _)| cheat.accomplices().saturating_add(1)).fold(0, u16::saturating_add)
	}
}

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

#[cfg(test)]
mod tests {
	use super::*;
	use clap::ValueEnum;

	#[test]
	fn names_are_those_of_the_option() {
		for cheat in Cheat::value_variants() {
			assert_eq!(cheat.to_possible_value().unwrap().get_name(), cheat.name());
		}
	}
}
