//! Time that the slowest machine which can take part in a run needs to check what others did in a round, and whether the chain leaves it that long.

use neuroshard_types::{audit::AuditTerms, dispute::Terms, run::PhaseDurations, BlockNumber, TrainConfig};
use std::fmt;

/// Blocks in which a machine runs the longest work of a round again, if it is just fast enough to take the least inner steps of a round in the time for
/// training.
pub fn longest_check(durations: &PhaseDurations, train: &TrainConfig) -> BlockNumber {
	let steps = u64::from(durations.training).saturating_mul(train.inner_steps.into());
	let blocks = steps.div_ceil(u64::from(train.least_steps()).max(1));
	BlockNumber::try_from(blocks).unwrap_or(BlockNumber::MAX)
}

/// A time that is too short for the slowest machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooShort {
	/// Purpose of the time.
	what: &'static str,
	/// Its name in genesis.
	name: &'static str,
	/// Time in genesis, in blocks.
	blocks: BlockNumber,
	/// Time that the slowest machine needs, in blocks.
	needed: BlockNumber,
}

/// Returns the times of a chain that are too short for the slowest machine of a run.
pub fn too_short(durations: &PhaseDurations, train: &TrainConfig, audits: &AuditTerms, disputes: &Terms) -> Vec<TooShort> {
	let needed = longest_check(durations, train);
	let times = [
		("to audit a round", "sealTime", Some(audits.seal_time).filter(|_| audits.share > 0)),
		("to answer in a dispute about a round", "clock", Some(disputes.clock)),
	];
	let times = times.into_iter().filter_map(|(what, name, blocks)| Some(TooShort { what, name, blocks: blocks?, needed }));
	times.filter(|time| time.blocks < time.needed).collect()
}

impl fmt::Display for TooShort {
	fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
		let Self { what, name, blocks, needed } = *self;
		write!(
			f,
			"this chain leaves {blocks} blocks {what} ({name}), but a machine that is just fast enough to train in this run takes {needed}: with fewer \
			 train.inner_steps and a shorter durations.training, more machines can check in time"
		)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::{Aggregator, Robust, Rule, F32};

	const DURATIONS: PhaseDurations = PhaseDurations { joining: 4, training: 30, revealing: 15, availability: 15, checkpointing: 24 };

	fn train(least_steps: Option<u32>) -> TrainConfig {
		let rule = least_steps.map_or(Rule::Mean, |least_steps| Rule::WeightedMean { least_steps });
		TrainConfig { inner_steps: 100, aggregator: Aggregator::Robust(Robust { clip: F32::new(0.0), rule }), ..TrainConfig::tiny() }
	}

	#[test]
	fn the_slowest_machine_needs_the_time_for_training_and_as_much_longer_as_others_may_take_more_steps() {
		assert_eq!(longest_check(&DURATIONS, &train(None)), 30);
		// 40 of 100 steps in 30 blocks: all of them in 75.
		assert_eq!(longest_check(&DURATIONS, &train(Some(40))), 75);
		// 30 * 100 / 70 is 42.9.
		assert_eq!(longest_check(&DURATIONS, &train(Some(70))), 43);
	}

	#[test]
	fn times_that_are_too_short_are_named_with_both_numbers() {
		let audits = |share, seal_time| AuditTerms { share, seal_time, report_time: 10 };
		let disputes = |clock| Terms { window: 100, clock, extension: 10, bond: 0, most_games: 32 };
		let words =
			|audits, disputes| too_short(&DURATIONS, &train(None), &audits, &disputes).iter().map(ToString::to_string).collect::<Vec<_>>();
		assert!(words(audits(1, 30), disputes(30)).is_empty());
		assert!(words(audits(0, 1), disputes(30)).is_empty(), "nothing is audited");
		let short = words(audits(1, 29), disputes(30));
		assert!(
			short.len() == 1 && short[0].contains("29 blocks") && short[0].contains("sealTime") && short[0].contains("takes 30"),
			"{short:?}"
		);
		let short = words(audits(1, 30), disputes(12));
		assert!(short.len() == 1 && short[0].contains("12 blocks") && short[0].contains("clock"), "{short:?}");
	}
}
