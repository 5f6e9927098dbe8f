//! How large a network's training is.

use crate::Rules;
use neuroshard_types::{run::PhaseDurations, ModelConfig, TrainConfig};
use neuroshard_worker::{
	data::{
		corpus::{CorpusLimits, DEFAULT_CORPUS_BYTES},
		dataset::BuildOptions,
	},
	train::presets,
};

/// How large a network's training is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Preset {
	/// Learns visibly within four rounds of about a minute.
	Devnet,
	/// Rounds of seconds, for tests.
	Tiny,
}

impl Preset {
	/// Model and training.
	pub fn configs(self) -> (ModelConfig, TrainConfig) {
		match self {
			Self::Devnet => presets::devnet(),
			Self::Tiny => presets::tiny(),
		}
	}

	/// Longest phases, in blocks. They only matter when somebody is missing, so they leave room for slow machines.
	pub fn durations(self) -> PhaseDurations {
		match self {
			Self::Devnet => PhaseDurations { joining: 2, training: 100, revealing: 20, availability: 20, checkpointing: 40 },
			Self::Tiny => PhaseDurations { joining: 2, training: 10, revealing: 10, availability: 8, checkpointing: 8 },
		}
	}

	/// Durations for networks with cheaters: the window is about as long as it takes one machine to check what its workers have done.
	pub fn rules(self) -> Rules {
		match self {
			Self::Devnet => Rules { window: 100, clock: 40, extension: 20 },
			Self::Tiny => Rules { window: 40, clock: 20, extension: 10 },
		}
	}

	/// How much text is read.
	pub fn limits(self) -> CorpusLimits {
		let total_bytes = match self {
			Self::Devnet => DEFAULT_CORPUS_BYTES,
			Self::Tiny => 2 << 20,
		};
		CorpusLimits { total_bytes, ..CorpusLimits::default() }
	}

	/// How the text becomes shards.
	pub fn shards(self) -> BuildOptions {
		match self {
			Self::Devnet => BuildOptions::default(),
			Self::Tiny => BuildOptions { tokens_per_shard: 16_384, ..BuildOptions::default() },
		}
	}
}
