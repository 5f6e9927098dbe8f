//! Time that rounds take on this machine: what is registered of it says when nothing else is known, and what was measured counts as soon as it is slower.

use neuroshard_training::priority::Priority;
use neuroshard_types::{run::RunConfig, BlockNumber, Moment, RunId, TrainConfig};
use std::{
	collections::BTreeMap,
	sync::{Arc, Mutex, MutexGuard, PoisonError},
	time::Duration,
};

/// Floating-point operations of a GFLOP/s in a millisecond.
const FLOPS_PER_MS: u128 = 1_000_000;
/// An audit whose window is so many times what it takes alone, or less, is computed before anything else: beside other work it takes twice as long, and
/// the machine may get slower meanwhile.
const ROOM: u64 = 3;
/// The same of what it took beside other work the last time.
const ROOM_BESIDE: u64 = 2;
/// Blocks over which their time is measured, at least and at most.
pub(super) const FEWEST_BLOCKS: BlockNumber = 8;
pub(super) const MEASURED_BLOCKS: BlockNumber = 100;

/// Operations of so many inner steps and the validation after them. A forward pass is a third of a step.
fn flops(config: &RunConfig, steps: u32) -> u128 {
	let train = &config.train;
	let validation = u64::from(train.validation_sequences).saturating_mul(train.seq_len.into()).div_ceil(3);
	train.flops_of(&config.model, train.tokens_after(steps).saturating_add(validation))
}

/// Milliseconds of so many inner steps and the validation after them at so many GFLOP/s, at least one.
pub(super) fn time_ms(config: &RunConfig, steps: u32, gflops: u64) -> u128 {
	flops(config, steps).div_ceil(u128::from(gflops.max(1)).saturating_mul(FLOPS_PER_MS)).max(1)
}

/// Measured speeds. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace(Arc<Mutex<Measured>>);

#[derive(Debug, Default)]
struct Measured {
	/// By run: small models take fewer operations in a second than large ones, so that one says nothing of another.
	audits: BTreeMap<RunId, Rate>,
	/// The same of audits that stepped back for training.
	beside: BTreeMap<RunId, Rate>,
	trainings: BTreeMap<RunId, Rate>,
	/// The training that was told last: it counts once, however often it is told.
	told: Option<(RunId, f64)>,
	/// Milliseconds from block to block, and the block at which that was measured.
	block_ms: Option<(u64, BlockNumber)>,
	/// GFLOP/s of the CPU, where another device computes inner steps.
	cpu: Option<u64>,
}

/// Speed that was measured last of a run.
#[derive(Clone, Copy, Debug)]
struct Rate {
	/// Operations in a millisecond.
	rate: u128,
	/// Block at which it was measured.
	at: BlockNumber,
}

impl Pace {
	fn lock(&self) -> MutexGuard<'_, Measured> {
		self.0.lock().unwrap_or_else(PoisonError::into_inner)
	}

	/// Notes the speed of the CPU: audits are computed there, and what is registered of this machine is the speed of a device.
	pub(super) fn note_cpu(&self, gflops: u64) {
		self.lock().cpu = Some(gflops);
	}

	/// Notes at block `at` how long it took to run a round of so many inner steps of a run again, with this priority.
	pub(super) fn note_audit(&self, (run, config): (RunId, &RunConfig), steps: u32, took: Duration, priority: Priority, at: BlockNumber) {
		let rate = flops(config, steps).checked_div(took.as_millis()).unwrap_or(u128::MAX).max(1);
		let mut measured = self.lock();
		let rates = match priority {
			Priority::Normal => &mut measured.audits,
			Priority::Low => &mut measured.beside,
		};
		rates.insert(run, Rate { rate, at });
	}

	/// Notes at block `at` how many tokens of a run are trained on in a second, with nothing beside that. No tokens say nothing, and neither does what was noted already.
	pub(super) fn note_training(&self, run: RunId, config: &RunConfig, tokens_per_second: f64, at: BlockNumber) {
		// Far below 2^64, and a part of a token does not count.
		let rate = config.train.flops_of(&config.model, tokens_per_second.max(0.0) as u64) / 1_000;
		let mut measured = self.lock();
		if rate > 0 && measured.told.replace((run, tokens_per_second)) != Some((run, tokens_per_second)) {
			measured.trainings.insert(run, Rate { rate, at });
		}
	}

	/// Forgets what was measured of runs before block `block`: a machine that was busy then may not be so any more, and one that is drawn for nothing
	/// measures nothing.
	pub(super) fn forget_before(&self, block: BlockNumber) {
		let mut measured = self.lock();
		let Measured { audits, beside, trainings, .. } = &mut *measured;
		[audits, beside, trainings].into_iter().for_each(|rates| rates.retain(|_, rate| rate.at >= block));
	}

	/// Notes the chain's time in two blocks, unless they are too near each other to say how long blocks take.
	pub(super) fn note_blocks(&self, earlier: (BlockNumber, Moment), later: (BlockNumber, Moment)) {
		let (blocks, ms) = (later.0.saturating_sub(earlier.0), later.1.saturating_sub(earlier.1));
		if blocks >= FEWEST_BLOCKS && ms > 0 {
			self.lock().block_ms = Some((ms / u64::from(blocks), later.0));
		}
	}

	/// Returns whether it is known at block `now` how long blocks take, or too early to say: what was measured while blocks were missing is measured again.
	pub(super) fn knows_blocks(&self, now: BlockNumber) -> bool {
		let wait = |(_, at): (u64, BlockNumber)| now < at.saturating_add(MEASURED_BLOCKS);
		now <= FEWEST_BLOCKS || self.lock().block_ms.is_some_and(wait)
	}

	/// Milliseconds of so many blocks, if that is known.
	pub(super) fn blocks_ms(&self, blocks: BlockNumber) -> Option<u64> {
		Some(self.lock().block_ms?.0.saturating_mul(blocks.into()))
	}

	/// Milliseconds that it takes to run a round of so many inner steps of a run again, with nothing beside it, on a machine with so many registered
	/// GFLOP/s, which count no further than those of its CPU.
	pub(super) fn audit_ms(&self, run: RunId, config: &RunConfig, steps: u32, gflops: u64) -> u64 {
		let measured = self.lock();
		let gflops = measured.cpu.map_or(gflops, |cpu| cpu.min(gflops));
		let registered = u128::from(gflops.max(1)).saturating_mul(FLOPS_PER_MS);
		let rates = [measured.audits.get(&run), measured.trainings.get(&run)].into_iter().flatten();
		let slowest = rates.map(|rate| rate.rate).fold(registered, u128::min);
		at_rate(flops(config, steps), slowest)
	}

	/// The same of an audit that steps back for training, if one was measured.
	pub(super) fn beside_ms(&self, run: RunId, config: &RunConfig, steps: u32) -> Option<u64> {
		self.lock().beside.get(&run).map(|rate| at_rate(flops(config, steps), rate.rate))
	}
}

/// Milliseconds of so many operations at so many in a millisecond, at least one.
fn at_rate(flops: u128, rate: u128) -> u64 {
	u64::try_from(flops.div_ceil(rate.max(1))).unwrap_or(u64::MAX).max(1)
}

/// Returns whether training on so many tokens of a round says how fast this machine is. A round that goes on from near its end, as after a restart, is
/// validation for the most part, which has no tokens.
pub(super) fn tells_speed(train: &TrainConfig, tokens: u64) -> bool {
	tokens > 0 && tokens.saturating_mul(2) >= train.tokens_after(train.least_steps())
}

/// Returns whether what takes so long alone, and so long when it steps back for training, has to be done before anything else to be done in the time that is
/// left; also if nobody knows that time.
pub(super) fn is_near(takes_ms: u64, beside_ms: Option<u64>, left_ms: Option<u64>) -> bool {
	let is_long = |ms: u64, room: u64, left: u64| ms.saturating_mul(room) >= left;
	left_ms.is_none_or(|left| is_long(takes_ms, ROOM, left) || beside_ms.is_some_and(|beside| is_long(beside, ROOM_BESIDE, left)))
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::participant::decide::plan::tests::training;

	fn config() -> RunConfig {
		training().0.run.unwrap().view.config
	}

	#[test]
	fn an_audit_takes_what_it_takes_the_cpu_whatever_is_registered_of_a_device() {
		let (pace, config) = (Pace::default(), config());
		let steps = config.train.inner_steps;
		let (slow, fast) = (pace.audit_ms(7, &config, steps, 2), pace.audit_ms(7, &config, steps, 1_000));
		assert!(fast < slow);
		pace.note_cpu(2);
		assert_eq!(pace.audit_ms(7, &config, steps, 1_000), slow);
		assert!(pace.audit_ms(7, &config, steps, 1) > slow, "a slower one that was registered still counts");
	}

	#[test]
	fn an_audit_takes_as_long_as_the_slowest_of_what_is_registered_and_measured_says() {
		let (pace, config) = (Pace::default(), config());
		let steps = config.train.inner_steps;
		let registered = pace.audit_ms(7, &config, steps, 1);
		assert_eq!(u128::from(registered), time_ms(&config, steps, 1));
		// Measured faster than registered: busy when it was registered, or not busy now.
		pace.note_audit((7, &config), steps, Duration::from_millis(registered / 10 + 1), Priority::Normal, 1);
		assert_eq!(pace.audit_ms(7, &config, steps, 1), registered);
		let slow = 7 * registered;
		pace.note_audit((7, &config), steps, Duration::from_millis(slow), Priority::Normal, 2);
		assert!(pace.audit_ms(7, &config, steps, 1).abs_diff(slow) <= slow / 100 + 1, "{} {slow}", pace.audit_ms(7, &config, steps, 1));
		// Half of the steps, about half of the time; training was slower still.
		assert!(pace.audit_ms(7, &config, steps / 2, 1) < slow * 3 / 4);
		pace.note_training(7, &config, 1.0, 3);
		let tokens = config.train.tokens_after(steps);
		assert!(pace.audit_ms(7, &config, steps, 1) >= tokens * 1_000 * 9 / 10, "a token a second");
	}

	#[test]
	fn a_run_whose_steps_are_slow_for_what_they_compute_says_nothing_of_another_run() {
		let (pace, config) = (Pace::default(), config());
		let steps = config.train.inner_steps;
		let registered = pace.audit_ms(2, &config, steps, 1);
		pace.note_training(1, &config, 1.0, 5);
		pace.note_audit((1, &config), steps, Duration::from_secs(1_000_000), Priority::Normal, 5);
		assert_eq!(pace.audit_ms(2, &config, steps, 1), registered);
	}

	#[test]
	fn what_was_measured_on_a_busy_machine_is_forgotten_and_no_tokens_are_no_speed() {
		let (pace, config) = (Pace::default(), config());
		let steps = config.train.inner_steps;
		let registered = pace.audit_ms(7, &config, steps, 1);
		pace.note_training(7, &config, 0.0, 10);
		pace.note_training(7, &config, -1.0, 10);
		pace.note_training(7, &config, f64::NAN, 10);
		assert_eq!(pace.audit_ms(7, &config, steps, 1), registered);
		pace.note_audit((7, &config), steps, Duration::from_millis(9 * registered), Priority::Normal, 10);
		pace.forget_before(10);
		assert!(pace.audit_ms(7, &config, steps, 1) > 8 * registered);
		pace.forget_before(11);
		assert_eq!(pace.audit_ms(7, &config, steps, 1), registered);
	}

	#[test]
	fn a_training_counts_once_however_often_it_is_told() {
		let (pace, config) = (Pace::default(), config());
		let steps = config.train.inner_steps;
		let registered = pace.audit_ms(7, &config, steps, 1);
		pace.note_training(7, &config, 1.0, 10);
		assert!(pace.audit_ms(7, &config, steps, 1) > registered);
		// It stands in the status until there is a newer one.
		pace.note_training(7, &config, 1.0, 20);
		pace.forget_before(11);
		pace.note_training(7, &config, 1.0, 21);
		assert_eq!(pace.audit_ms(7, &config, steps, 1), registered);
		pace.note_training(7, &config, 2.0, 22);
		assert!(pace.audit_ms(7, &config, steps, 1) > registered);
	}

	#[test]
	fn blocks_are_measured_over_several_and_again_after_a_while() {
		let pace = Pace::default();
		assert!(pace.knows_blocks(FEWEST_BLOCKS) && !pace.knows_blocks(FEWEST_BLOCKS + 1), "it is too early, then it is not");
		pace.note_blocks((10, 5_000), (12, 90_000));
		assert_eq!(pace.blocks_ms(10), None);
		// Nobody made blocks for a while.
		pace.note_blocks((10, 5_000), (30, 6_005_000));
		assert_eq!((pace.blocks_ms(10), pace.knows_blocks(30), pace.knows_blocks(129)), (Some(3_000_000), true, true));
		assert!(!pace.knows_blocks(130));
		pace.note_blocks((30, 6_005_000), (130, 6_305_000));
		assert_eq!((pace.blocks_ms(10), pace.knows_blocks(130)), (Some(30_000), true));
	}

	#[test]
	fn what_an_audit_took_beside_training_brings_the_next_one_forward_and_makes_no_machine_too_slow() {
		let (pace, config) = (Pace::default(), config());
		let steps = config.train.inner_steps;
		let registered = pace.audit_ms(7, &config, steps, 1);
		assert_eq!(pace.beside_ms(7, &config, steps), None);
		pace.note_audit((7, &config), steps, Duration::from_millis(20 * registered), Priority::Low, 1);
		assert_eq!((pace.audit_ms(7, &config, steps, 1), pace.beside_ms(8, &config, steps)), (registered, None));
		let beside = pace.beside_ms(7, &config, steps).unwrap();
		assert!(beside.abs_diff(20 * registered) <= registered, "{beside} {registered}");
		assert!(is_near(10, Some(50), Some(100)) && !is_near(10, Some(50), Some(101)));
	}

	#[test]
	fn a_round_that_went_on_from_near_its_end_says_nothing_of_speed() {
		let train = TrainConfig { inner_steps: 10, ..TrainConfig::tiny() };
		let tokens = |steps| train.tokens_after(steps);
		assert_eq!([0, 1, 4, 5, 10].map(|steps| tells_speed(&train, tokens(steps))), [false, false, false, true, true]);
	}

	#[test]
	fn a_window_is_near_below_three_times_what_it_takes_and_if_nobody_knows() {
		assert!(is_near(10, None, Some(30)) && !is_near(10, None, Some(31)) && is_near(10, None, None) && is_near(10, None, Some(0)));
	}
}
