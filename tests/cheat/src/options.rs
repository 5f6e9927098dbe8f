//! How a fault is asked for.

use super::{Cheat, Deed, Fault};
use clap::Args;
use neuroshard_graph::graph::Op;
use neuroshard_quorum::Slipped;
use neuroshard_types::{AccountId, RoundIndex};
use std::path::PathBuf;

/// Options of `run` and `quorum work` that make a worker cheat.
#[derive(Clone, Debug, Args)]
pub struct CheatOptions {
	/// Cheat, to be caught. For networks that are there to watch that.
	#[arg(long, value_name = "KIND", value_parser = of_work)]
	cheat: Option<Cheat>,
	/// Round to cheat in.
	#[arg(long, value_name = "ROUND", default_value_t = 1)]
	cheat_round: RoundIndex,
	/// Cheat in all later rounds too.
	#[arg(long)]
	cheat_again: bool,
	/// With copied-delta: base folder of the accomplice.
	#[arg(long, value_name = "DIR", required_if_eq("cheat", "copied-delta"))]
	cheat_from: Option<PathBuf>,
	/// Be the accomplice of a copied delta: train and commit, and leave the revealing to the other.
	#[arg(long, conflicts_with = "cheat")]
	hand_over: bool,
}

impl CheatOptions {
	/// What `who` is to do wrong; `None` if nothing is.
	pub fn fault(self, who: AccountId) -> Option<Fault> {
		let Self { cheat, cheat_round, cheat_again, cheat_from, hand_over } = self;
		let deed = match cheat {
			None => hand_over.then_some(Deed::HandOver),
			Some(Cheat::Noise) => Some(Deed::Noise),
			Some(Cheat::FewerSteps) => Some(Deed::FewerSteps),
			Some(Cheat::CopiedDelta) => cheat_from.map(Deed::Copy),
			Some(Cheat::WrongShard) => Some(Deed::WrongShard),
			Some(Cheat::WrongMask) => Some(Deed::WrongMask),
			Some(Cheat::WrongBase) => Some(Deed::WrongBase),
			Some(Cheat::BitFlip) => Some(Deed::BitFlip(Op::AdamW)),
			Some(Cheat::WrongEmbedding) => Some(Deed::BitFlip(Op::Gather)),
			Some(Cheat::WrongLoss) => Some(Deed::BitFlip(Op::LossBack)),
			Some(Cheat::WrongScatter) => Some(Deed::BitFlip(Op::ScatterAdd)),
			Some(Cheat::WrongAggregate) => Some(Deed::WrongAggregate),
			Some(Cheat::WrongOuterStep) => Some(Deed::WrongOuterStep),
			Some(Cheat::Silence) => Some(Deed::Silence),
			Some(Cheat::WrongRows) => Some(Deed::Slip(Slipped::Rows)),
			Some(Cheat::WrongGradient) => Some(Deed::Slip(Slipped::Gradient)),
			Some(Cheat::WrongUpdate) => Some(Deed::Slip(Slipped::Parameters)),
			Some(Cheat::LazyAuditor) => Some(Deed::LazyAudit),
			// No option of `run` names these.
			Some(Cheat::WrongToken | Cheat::WrongLayer | Cheat::StaleCheckpoint) => None,
		};
		deed.map(|deed| Fault { who, deed, round: cheat_round, again: cheat_again })
	}
}

fn of_work(name: &str) -> Result<Cheat, String> {
	Cheat::named(name, false)
}
