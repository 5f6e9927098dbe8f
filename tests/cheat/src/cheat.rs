//! Ways to cheat, and what is known of them.

use clap::ValueEnum;
use neuroshard_types::{
	dispute::{ClaimKind, Decision},
	RoundIndex,
};

/// Ways to cheat. Those of answers are for `serve --provider`, the others for `run`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Cheat {
	/// Random numbers instead of work.
	Noise,
	/// Half of the inner steps, revealed as all of them.
	FewerSteps,
	/// The work of an accomplice, taken over before the commitment.
	CopiedDelta,
	/// Inner steps on other windows than those drawn.
	WrongShard,
	/// Inner steps in which every token is a target of the loss, in a run on a masked dataset.
	WrongMask,
	/// Inner steps beside another model than the one that the run's adapter is beside.
	WrongBase,
	/// One wrong bit of one weight after one inner step.
	BitFlip,
	/// One wrong number of the embeddings that one inner step takes for its tokens.
	WrongEmbedding,
	/// One wrong number of the gradient of the logits in one inner step.
	WrongLoss,
	/// One wrong number of the gradient of the embedding in one inner step, in a run that trains a model.
	WrongScatter,
	/// A checkpoint in which one delta counts twice, and another one not at all.
	WrongAggregate,
	/// A checkpoint whose outer step is twice as long.
	WrongOuterStep,
	/// As bit-flip, without a word in disputes; as a member of a quorum as wrong-update.
	Silence,
	/// One wrong number of the rows that a member of a quorum gives in one inner step.
	WrongRows,
	/// One wrong number of the gradient that a member of a quorum gives in one inner step.
	WrongGradient,
	/// One wrong bit of a weight of a member of a quorum after one inner step.
	WrongUpdate,
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
			Self::WrongMask => "wrong-mask",
			Self::WrongBase => "wrong-base",
			Self::BitFlip => "bit-flip",
			Self::WrongEmbedding => "wrong-embedding",
			Self::WrongLoss => "wrong-loss",
			Self::WrongScatter => "wrong-scatter",
			Self::WrongAggregate => "wrong-aggregate",
			Self::WrongOuterStep => "wrong-outer-step",
			Self::Silence => "silence",
			Self::WrongRows => "wrong-rows",
			Self::WrongGradient => "wrong-gradient",
			Self::WrongUpdate => "wrong-update",
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

	/// Whether only a member of a quorum can do so.
	pub fn is_of_quorums(self) -> bool {
		matches!(self, Self::WrongRows | Self::WrongGradient | Self::WrongUpdate)
	}

	/// Whether this is what is false.
	pub fn falsifies(self, claim: ClaimKind) -> bool {
		match claim {
			ClaimKind::Attestation => matches!(self, Self::WrongAggregate | Self::WrongOuterStep),
			ClaimKind::Audit => self == Self::LazyAuditor,
			ClaimKind::Answer(_) => self.is_of_answers(),
			ClaimKind::Work => {
				matches!(
					self,
					Self::Noise
						| Self::FewerSteps | Self::CopiedDelta
						| Self::WrongShard | Self::WrongMask
						| Self::WrongBase | Self::BitFlip
						| Self::WrongEmbedding
						| Self::WrongLoss | Self::WrongScatter
						| Self::WrongRows | Self::WrongGradient
						| Self::WrongUpdate
						| Self::Silence
				)
			}
		}
	}

	/// The one with this name, if it is one of answers, or none of them.
	///
	/// # Errors
	/// The names to choose from, for people.
	pub(crate) fn named(name: &str, of_answers: bool) -> Result<Self, String> {
		let mut known = Self::value_variants().iter().filter(|cheat| cheat.is_of_answers() == of_answers);
		known.find(|cheat| cheat.name() == name).copied().ok_or_else(|| {
			let names: Vec<&str> =
				Self::value_variants().iter().filter(|cheat| cheat.is_of_answers() == of_answers).map(|cheat| cheat.name()).collect();
			format!("the ways to cheat here are {}", names.join(", "))
		})
	}

	/// How a dispute about it ends: a cheater that has no answers is condemned by its clock.
	pub fn verdict(self) -> Decision {
		match self {
			Self::WrongShard | Self::WrongMask | Self::WrongBase | Self::WrongAggregate | Self::WrongOuterStep => Decision::Fraud,
			Self::BitFlip | Self::WrongEmbedding | Self::WrongLoss | Self::WrongScatter => Decision::Fraud,
			Self::WrongToken | Self::WrongLayer | Self::StaleCheckpoint => Decision::Fraud,
			Self::WrongRows | Self::WrongGradient | Self::WrongUpdate => Decision::Fraud,
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

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn names_are_those_of_the_option() {
		for cheat in Cheat::value_variants() {
			assert_eq!(cheat.to_possible_value().unwrap().get_name(), cheat.name());
		}
	}
}
