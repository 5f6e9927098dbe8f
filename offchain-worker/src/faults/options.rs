//! How a fault is asked for.

use super::{Deed, Fault};
use clap::{Args, ValueEnum};
use neuroshard_types::{AccountId, RoundIndex};
use std::path::PathBuf;

/// Ways to cheat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Kind {
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
	/// Random samples of the work that it is drawn to audit; it needs the verifier role.
	LazyAuditor,
}

/// Options of `run` that make a worker cheat.
#[derive(Clone, Debug, Args)]
pub struct CheatOptions {
	/// Cheat, to be caught. For networks that are there to watch that.
	#[arg(long, value_name = "KIND", value_enum)]
	cheat: Option<Kind>,
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
			Some(Kind::Noise) => Some(Deed::Noise),
			Some(Kind::FewerSteps) => Some(Deed::FewerSteps),
			Some(Kind::CopiedDelta) => cheat_from.map(Deed::Copy),
			Some(Kind::WrongShard) => Some(Deed::WrongShard),
			Some(Kind::BitFlip) => Some(Deed::BitFlip),
			Some(Kind::WrongAggregate) => Some(Deed::WrongAggregate),
			Some(Kind::WrongOuterStep) => Some(Deed::WrongOuterStep),
			Some(Kind::Silence) => Some(Deed::Silence),
			Some(Kind::LazyAuditor) => Some(Deed::LazyAudit),
		};
		deed.map(|deed| Fault { who, deed, round: cheat_round, again: cheat_again })
	}
}
