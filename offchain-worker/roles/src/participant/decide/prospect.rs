//! Prospect of a run for this machine: pay for an hour of computing, if it fits. By that a worker chooses among several runs.

use super::view::RunState;
use crate::{memory::Needs, pace::time_ms, WorkerError};
use neuroshard_types::{
	run::{Phase, RoundView, RunView},
	work::OperationUnits,
	BlockNumber, Moment, RunId, TrainConfig,
};
use std::fmt;

/// Milliseconds of an hour.
const HOUR_MS: u128 = 3_600_000;

/// This machine, as far as a run's promise depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
	/// GFLOP/s that are registered.
	pub gflops: u64,
	/// Bytes of memory that are free; `None` if nobody knows.
	pub memory: Option<u64>,
	/// Milliseconds from block to block.
	pub block_ms: u64,
}

/// Prospect of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prospect {
	/// It does not fit into memory.
	TooLarge {
		/// Bytes that it takes.
		needed: u64,
		/// Bytes that there are.
		available: u64,
	},
	/// All places are held.
	Full,
	/// Its rounds are over before this machine has done its inner steps.
	TooSlow {
		/// Milliseconds that the fewest steps take.
		takes_ms: u64,
		/// Milliseconds of Training.
		has_ms: u64,
	},
	/// Its pay.
	Pays {
		/// Work units for an hour of computing.
		units_per_hour: u128,
	},
}

impl Prospect {
	/// Returns the rank of the prospect, where greater is better: first by its kind, then by its number.
	pub fn rank(self) -> (u8, u128) {
		match self {
			Self::Pays { units_per_hour } => (3, units_per_hour),
			// Machines are sooner a little faster than registered than much faster.
			Self::TooSlow { takes_ms, has_ms } => {
				let thousandths = u128::from(takes_ms).saturating_mul(1_000).checked_div(has_ms.into());
				(2, u128::MAX.saturating_sub(thousandths.unwrap_or(u128::MAX)))
			}
			Self::Full => (1, 0),
			Self::TooLarge { needed, .. } => (0, u128::MAX.saturating_sub(needed.into())),
		}
	}

	/// Of a run with so many members, on `machine`. Weights of operations are those that a chain begins with: all runs are measured by the same.
	pub fn new(view: &RunView, members: usize, machine: Machine) -> Self {
		let config = &view.config;
		if let Some(Err(WorkerError::TooLittleMemory { needed, available })) =
			Needs::of(config).ok().map(|needs| needs.participant(machine.memory))
		{
			return Self::TooLarge { needed, available };
		}
		if u32::try_from(members).is_ok_and(|members| members >= config.max_participants) {
			return Self::Full;
		}
		let (train, has_ms) = (&config.train, u64::from(config.durations.training).saturating_mul(machine.block_ms));
		let takes_ms = |steps: u32| time_ms(config, steps, machine.gflops);
		let fits = |steps: u32| takes_ms(steps) <= u128::from(has_ms);
		let Some(steps) = ends(train).find(|steps| fits(*steps)) else {
			let least = ends(train).last().unwrap_or(train.inner_steps);
			return Self::TooSlow { takes_ms: u64::try_from(takes_ms(least)).unwrap_or(u64::MAX), has_ms };
		};
		let units = OperationUnits::default().of_round(&config.model, train, steps);
		Self::Pays { units_per_hour: units.saturating_mul(HOUR_MS).checked_div(takes_ms(steps)).unwrap_or(u128::MAX) }
	}
}

/// Returns whether a machine with so many GFLOP/s that joined in the block after `best`, whose chain time is `time`, would get a place in the round
/// under way and not take the fewest steps in time. A while later it joins for the next round.
pub fn comes_too_late(run: &RunState, (best, time): (BlockNumber, Moment), gflops: u64) -> bool {
	let config = &run.view.config;
	let trained = run.round.as_ref().filter(|round| config.train.weighs_steps() && round.phase == Phase::Training);
	let Some((round, deadline)) = trained.and_then(|round| Some((round, round.deadline?))) else { return false };
	let (began, _) = round.started_at;
	let in_first_half = best.saturating_sub(began) <= deadline.saturating_sub(began) / 2;
	let Some(left_ms) = left_ms(round, (best, time)).filter(|_| in_first_half) else { return false };
	ends(&config.train).last().is_some_and(|least| time_ms(config, least, gflops) > left_ms)
}

/// Returns whether a machine with so many GFLOP/s would not take all inner steps of the round under way, and an eighth more for what else there is to
/// do, if it waited for anything before it began. Not in runs where each takes as many as it does in time.
pub fn has_no_time_to_wait(run: &RunState, now: (BlockNumber, Moment), gflops: u64) -> bool {
	let config = &run.view.config;
	let trained = run.round.as_ref().filter(|round| !config.train.weighs_steps() && round.phase == Phase::Training);
	let Some(left_ms) = trained.and_then(|round| left_ms(round, now)) else { return false };
	let takes_ms = time_ms(config, config.train.inner_steps, gflops);
	takes_ms.saturating_add(takes_ms / 8) > left_ms
}

/// Milliseconds until the deadline of a phase, by its blocks so far; `None` without a deadline, or before its second block.
fn left_ms(round: &RoundView, (best, time): (BlockNumber, Moment)) -> Option<u128> {
	let (began, began_ms) = round.started_at;
	let left = u128::from(round.deadline?.saturating_sub(best));
	u128::from(time.saturating_sub(began_ms)).saturating_mul(left).checked_div(best.saturating_sub(began).into())
}

/// Inner steps after which a round may end, the most first.
fn ends(train: &TrainConfig) -> impl Iterator<Item = u32> + '_ {
	let interval = train.commit_interval.max(1);
	let committed = (1..=train.inner_steps / interval).rev().map(move |number| number.saturating_mul(interval));
	let all = std::iter::once(train.inner_steps).chain(committed.filter(|steps| *steps != train.inner_steps));
	all.filter(|steps| train.may_end_after(*steps))
}

impl fmt::Display for Prospect {
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		const MIB: u64 = 1 << 20;
		let seconds = |ms: u64| ms.div_ceil(1_000);
		match *self {
			Self::Pays { units_per_hour } => write!(formatter, "{units_per_hour} work units for an hour of computing"),
			Self::Full => formatter.write_str("all places are held"),
			Self::TooSlow { takes_ms, has_ms } => {
				write!(formatter, "its rounds take {} s on this machine, and may last {} s", seconds(takes_ms), seconds(has_ms))
			}
			Self::TooLarge { needed, available } => {
				write!(formatter, "it takes {} MiB of memory, and {} are free", needed.div_ceil(MIB), available / MIB)
			}
		}
	}
}

/// Describes what was chosen among several runs, for people. `None` if there was no choice.
pub fn words(chosen: RunId, prospects: &[(RunId, Prospect)]) -> Option<String> {
	let own = prospects.iter().find(|(id, _)| *id == chosen).map(|(_, prospect)| prospect)?;
	let others = prospects.iter().filter(|(id, _)| *id != chosen).map(|(id, prospect)| format!("run {id}: {prospect}"));
	let others: Vec<String> = others.collect();
	(!others.is_empty()).then(|| format!("run {chosen} is chosen: {own}; {}", others.join("; ")))
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::participant::decide::plan::tests::training;
	use neuroshard_types::{Aggregator, ModelConfig, Robust, Rule, F32};

	/// 10 GFLOP/s, as much memory as it takes, a block a second.
	const MACHINE: Machine = Machine { gflops: 10, memory: None, block_ms: 1_000 };

	/// A run with ten places, and 30 blocks for 100 inner steps of 4 sequences of 32 tokens.
	fn run(dim: u32, layers: u32) -> RunView {
		let mut view = training().0.run.unwrap().view;
		view.config.model = ModelConfig { dim, layers, ..ModelConfig::tiny() };
		view.config.train = TrainConfig { batch: 4, seq_len: 32, inner_steps: 100, commit_interval: 10, ..TrainConfig::tiny() };
		(view.config.min_participants, view.config.max_participants, view.config.durations.training) = (2, 10, 30);
		view
	}

	fn pay(prospect: Prospect) -> u128 {
		match prospect {
			Prospect::Pays { units_per_hour } => units_per_hour,
			other => panic!("it pays nothing: {other}"),
		}
	}

	#[test]
	fn pay_is_that_of_a_round_by_the_time_that_it_takes_here() {
		let view = run(32, 2);
		let (model, train) = (&view.config.model, &view.config.train);
		// 100 steps of 128 tokens, and a third of what 4 sequences of 32 take.
		let ms = train.flops_of(model, 12_800 + 43).div_ceil(10 * 1_000_000);
		let expected = OperationUnits::default().of_round(model, train, 100) * 3_600_000 / ms;
		assert_eq!(pay(Prospect::new(&view, 3, MACHINE)), expected);
		// Twice as fast, twice the pay, but for the rounding of milliseconds.
		let twice = pay(Prospect::new(&view, 3, Machine { gflops: 20, ..MACHINE }));
		assert!(twice > expected * 19 / 10 && twice < expected * 21 / 10, "{expected}, {twice}");
	}

	#[test]
	fn layers_are_paid_alike_so_that_narrow_ones_pay_more_by_the_hour() {
		let [narrow, wide] = [32, 128].map(|dim| Prospect::new(&run(dim, 4), 3, MACHINE));
		assert!(pay(narrow) > 2 * pay(wide), "{narrow} {wide}");
		assert!(narrow.rank() > wide.rank());
	}

	#[test]
	fn a_machine_that_is_too_slow_takes_fewer_steps_where_that_is_allowed_and_else_none() {
		let slow = Machine { gflops: 1, block_ms: 10, ..MACHINE };
		let mut view = run(32, 2);
		let takes_ms = time_ms(&view.config, 100, 1);
		assert!((300..3_000).contains(&takes_ms), "{takes_ms}");
		assert_eq!(Prospect::new(&view, 3, slow), Prospect::TooSlow { takes_ms: takes_ms as u64, has_ms: 300 });
		let rule = |least_steps| Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::WeightedMean { least_steps } });
		view.config.train.aggregator = rule(10);
		assert!(matches!(Prospect::new(&view, 3, slow), Prospect::Pays { .. }));
		view.config.train.aggregator = rule(91);
		assert_eq!(Prospect::new(&view, 3, slow), Prospect::TooSlow { takes_ms: takes_ms as u64, has_ms: 300 });
	}

	#[test]
	fn a_machine_joins_no_round_that_it_could_not_take_the_fewest_steps_of() {
		let (mut chain, _) = training();
		let state = chain.run.as_mut().unwrap();
		state.view = run(32, 2);
		let train = &mut state.view.config.train;
		train.aggregator = Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::WeightedMean { least_steps: train.inner_steps } });
		let (config, round) = (state.view.config.clone(), state.round.as_mut().unwrap());
		let least_ms = u32::try_from(time_ms(&config, ends(&config.train).last().unwrap(), 1)).unwrap();
		assert!(least_ms > 30, "{least_ms}");
		// With a block in each millisecond, the fewest steps take 60% of the time.
		(round.started_at, round.deadline) = ((1_000, 0), Some(1_000 + least_ms * 5 / 3));
		let late = |state: &RunState, blocks: u32| comes_too_late(state, (1_000 + blocks, blocks.into()), 1);
		let (last, half) = (least_ms * 2 / 3, least_ms * 5 / 6);
		// In the second half nobody gets a place.
		let blocks = [0, 1, last - 2, last + 2, half - 2, half + 2];
		assert_eq!(blocks.map(|blocks| late(state, blocks)), [false, false, false, true, true, false]);
		state.round.as_mut().unwrap().phase = Phase::Revealing;
		assert!(!late(state, last + 2));
	}

	#[test]
	fn a_machine_that_needs_most_of_the_time_for_its_steps_waits_for_nothing() {
		let (mut chain, _) = training();
		let state = chain.run.as_mut().unwrap();
		state.view = run(32, 2);
		let takes_ms = u32::try_from(time_ms(&state.view.config, 100, 1)).unwrap();
		let round = state.round.as_mut().unwrap();
		// With a block in each millisecond, all steps take half of the time.
		(round.started_at, round.deadline) = ((1_000, 0), Some(1_000 + 2 * takes_ms));
		let no_time = |state: &RunState, blocks: u32, gflops| has_no_time_to_wait(state, (1_000 + blocks, blocks.into()), gflops);
		// An eighth more than half of it: from 7 / 16 of the time on.
		let last = takes_ms * 7 / 8;
		let blocks = [0, 1, last - 2, last + 2];
		assert_eq!(blocks.map(|blocks| no_time(state, blocks, 1)), [false, false, false, true]);
		assert!(!no_time(state, last + 2, 2), "a machine twice as fast waits longer");
		let train = &mut state.view.config.train;
		train.aggregator = Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::WeightedMean { least_steps: 10 } });
		assert!(!no_time(state, last + 2, 1), "it takes as many as it does in time");
		state.view.config.train.aggregator = Aggregator::Mean;
		state.round.as_mut().unwrap().phase = Phase::Revealing;
		assert!(!no_time(state, last + 2, 1));
	}

	#[test]
	fn whatever_pays_is_better_than_what_does_not_fit() {
		let view = run(32, 2);
		let full = Prospect::new(&view, 10, MACHINE);
		let large = Prospect::new(&view, 3, Machine { memory: Some(1_000), ..MACHINE });
		assert_eq!(full, Prospect::Full);
		assert!(matches!(large, Prospect::TooLarge { available: 1_000, .. }), "{large:?}");
		let slow = |takes_ms| Prospect::TooSlow { takes_ms, has_ms: 10 };
		let pays = |units_per_hour| Prospect::Pays { units_per_hour };
		let larger = Prospect::TooLarge { needed: u64::MAX, available: 1 };
		let mut all = vec![pays(1), slow(11), full, large, pays(2), slow(99), larger];
		all.sort_unstable_by_key(|prospect| prospect.rank());
		assert_eq!(all, [larger, large, full, slow(99), slow(11), pays(1), pays(2)], "of what does not fit, what comes nearest");
	}

	#[test]
	fn a_choice_is_told_in_words_and_no_choice_is_not() {
		let pays = |units_per_hour| Prospect::Pays { units_per_hour };
		assert_eq!(words(7, &[(7, pays(5))]), None);
		assert_eq!(words(7, &[]), None);
		let slow = Prospect::TooSlow { takes_ms: 61_500, has_ms: 30_000 };
		assert_eq!(
			words(7, &[(2, slow), (7, pays(500)), (9, Prospect::TooLarge { needed: 3 << 20, available: 1 << 20 })]).unwrap(),
			"run 7 is chosen: 500 work units for an hour of computing; run 2: its rounds take 62 s on this machine, and may last 30 s; \
			 run 9: it takes 3 MiB of memory, and 1 are free"
		);
	}
}
