//! How large a network's training is.

use crate::{AuditRules, Cheat, Rules};
use neuroshard_types::{run::PhaseDurations, BlockNumber, ModelConfig, RoundIndex, TrainConfig};
use neuroshard_worker::{
	data::{
		corpus::{CorpusLimits, DEFAULT_CORPUS_BYTES},
		dataset::BuildOptions,
	},
	train::presets,
};

/// Blocks of three epochs of a local network.
const EPOCHS: BlockNumber = 30;

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

	/// Longest phases, in blocks. They only matter when somebody is missing, so they leave room for slow machines.
	pub fn durations(self) -> PhaseDurations {
		match self {
			Self::Devnet | Self::Large => PhaseDurations { joining: 2, training: 100, revealing: 20, availability: 20, checkpointing: 40 },
			Self::Tiny => PhaseDurations { joining: 2, training: 10, revealing: 10, availability: 8, checkpointing: 8 },
		}
	}

	/// Durations for networks with cheaters: the window is about as long as it takes one machine to check what its workers have done.
	pub fn rules(self) -> Rules {
		match self {
			Self::Devnet | Self::Large => Rules { window: 100, clock: 40, extension: 20, audits: None },
			Self::Tiny => Rules { window: 40, clock: 20, extension: 10, audits: None },
		}
	}

	/// Durations for networks with these cheaters: with audits of all claims if one of them cheats as an auditor. The window then has room
	/// for three epochs, for sealing twice, and for reporting.
	pub fn rules_for(self, cheats: &[(Cheat, RoundIndex)]) -> Rules {
		let rules = self.rules();
		if !cheats.iter().any(|(cheat, _)| cheat.needs_audits()) {
			return rules;
		}
		let (seal_time, report_time) = match self {
			Self::Devnet | Self::Large => (60, 20),
			Self::Tiny => (30, 10),
		};
		let window = EPOCHS.saturating_add(report_time).saturating_add(seal_time).saturating_add(seal_time);
		Rules { window, audits: Some(AuditRules { share: 1_000_000, seal_time, report_time }), ..rules }
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
