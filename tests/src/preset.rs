//! How large a network's training is.

use crate::{AuditRules, Cheat, Rules};
use neuroshard_data::{
	build::BuildOptions,
	corpus::{CorpusLimits, DEFAULT_CORPUS_BYTES},
};
use neuroshard_training::presets;
use neuroshard_types::{run::PhaseDurations, BlockNumber, ModelConfig, RoundIndex, TrainConfig};

/// One claim of three is audited where nobody cheats: of a round of three workers, one. Each audit runs the round again, twice.
const ONE_OF_THREE: u32 = 333_334;
const ALL: u32 = 1_000_000;

/// How large a network's training is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Preset {
	/// Learns visibly within four rounds of about a minute.
	Devnet,
	/// 13.8 million parameters and rounds of eight inner steps, for disputes about a model of some size.
	Large,
	/// Rounds of seconds, for tests.
	Tiny,
}

impl Preset {
	/// Model and training.
	pub fn configs(self) -> (ModelConfig, TrainConfig) {
		match self {
			Self::Devnet => presets::devnet(),
			Self::Large => presets::large(),
			Self::Tiny => presets::tiny(),
		}
	}

	/// Longest phases, in seconds in place of blocks. They only matter when somebody is missing, so they leave room for slow machines.
	pub fn durations(self) -> PhaseDurations {
		match self {
			Self::Devnet | Self::Large => PhaseDurations { joining: 6, training: 300, revealing: 60, availability: 60, checkpointing: 120 },
			Self::Tiny => PhaseDurations { joining: 4, training: 30, revealing: 15, availability: 15, checkpointing: 24 },
		}
	}

	/// Durations for networks with cheaters: the window is [three times](crate::pace) as long as it takes one machine to check what its workers have done.
	pub fn rules(self) -> Rules {
		match self {
			Self::Devnet | Self::Large => Rules { window: 560, clock: 140, extension: 60, audits: None, answers: None, patient: true },
			Self::Tiny => Rules { window: 180, clock: 30, extension: 15, audits: None, answers: None, patient: true },
		}
	}

	/// Durations for networks with these cheaters. Where nobody cheats, a share of the work is audited; where somebody cheats as an auditor, all
	/// that there are auditors for, and then one machine needs longer. It does so, too, where it has `crowd` times as many workers for its cores as
	/// a devnet on two cores.
	pub fn rules_for(self, cheats: &[(Cheat, RoundIndex)], crowd: BlockNumber) -> Rules {
		let lazy = cheats.iter().any(|(cheat, _)| cheat.needs_audits());
		let (share, seal_time, report_time): (_, BlockNumber, _) = match (self, lazy) {
			(Self::Devnet | Self::Large, false) => (ONE_OF_THREE, 180, 15),
			(Self::Devnet | Self::Large, true) => (ALL, 300, 60),
			(Self::Tiny, false) => (ONE_OF_THREE, 40, 10),
			(Self::Tiny, true) => (ALL, 60, 20),
		};
		let rules = self.rules();
		if !cheats.is_empty() && !lazy {
			return rules;
		}
		let audits = AuditRules { share, seal_time: seal_time.saturating_mul(crowd), report_time };
		// Beside audits of all claims, moves take longer as well.
		let times = if lazy { 2 } else { 1 };
		let (clock, extension) = (rules.clock.saturating_mul(times), rules.extension.saturating_mul(times));
		Rules { window: audits.window(), clock, extension, audits: Some(audits), answers: None, patient: lazy }
	}

	/// How much text is read.
	pub fn limits(self) -> CorpusLimits {
		let total_bytes = match self {
			Self::Devnet | Self::Large => DEFAULT_CORPUS_BYTES,
			Self::Tiny => 2 << 20,
		};
		CorpusLimits { total_bytes, ..CorpusLimits::default() }
	}

	/// How the text becomes shards.
	pub fn shards(self) -> BuildOptions {
		match self {
			Self::Devnet | Self::Large => BuildOptions::default(),
			Self::Tiny => BuildOptions { tokens_per_shard: 16_384, ..BuildOptions::default() },
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn one_of_three_is_audited_where_nobody_cheats_and_all_where_an_auditor_does() {
		let audits = |cheats: &[(Cheat, RoundIndex)]| Preset::Devnet.rules_for(cheats, 1).audits.map(|audits| audits.share);
		assert_eq!(audits(&[]).map(|share| 3 * share / 1_000_000), Some(1));
		assert_eq!(audits(&[(Cheat::BitFlip, 1)]), None);
		assert_eq!(audits(&[(Cheat::BitFlip, 1), (Cheat::LazyAuditor, 1)]), Some(1_000_000));
		// Three epochs of ten blocks, 180 to seal, 15 to report, and 180 to dispute samples.
		assert_eq!(Preset::Devnet.rules_for(&[], 1).window, 405);
		// Twice as long to seal, twice.
		assert_eq!(Preset::Devnet.rules_for(&[], 2).window, 765);
	}
}
