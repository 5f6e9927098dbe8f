//! How long rounds take on this machine: what is registered of it says when nothing else is known, and what was measured counts as soon as it is slower.

use neuroshard_types::{run::RunConfig, BlockNumber, Moment};
use std::{
	sync::{Arc, Mutex, MutexGuard, PoisonError},
	time::Duration,
};

/// Floating-point operations of a GFLOP/s in a millisecond.
const FLOPS_PER_MS: u128 = 1_000_000;
/// An audit whose window is so many times what it takes alone, or less, is computed before anything else: beside other work it takes twice as long, and
/// the machine may get slower meanwhile.
const ROOM: u64 = 3;
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

/// What was measured. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace(Arc<Mutex<Measured>>);

#[derive(Clone, Copy, Debug, Default)]
struct Measured {
	/// Operations in a millisecond, of the newest audit and of the newest round that was trained.
	audit: Option<u128>,
	training: Option<u128>,
	/// Milliseconds from block to block.
	block_ms: Option<u64>,
}

impl Pace {
	fn lock(&self) -> MutexGuard<'_, Measured> {
		self.0.lock().unwrap_or_else(PoisonError::into_inner)
	}

	/// Notes how long it took to run a round of so many inner steps again.
	pub(super) fn note_audit(&self, config: &RunConfig, steps: u32, took: Duration) {
		self.lock().audit = Some(flops(config, steps).checked_div(took.as_millis()).unwrap_or(u128::MAX).max(1));
	}

	/// Notes how many tokens of a run are trained on in a second, with nothing beside that.
	pub(super) fn note_training(&self, config: &RunConfig, tokens_per_second: f64) {
		// Far below 2^64, and a part of a token does not count.
		let rate = config.train.flops_of(&config.model, tokens_per_second.max(0.0) as u64) / 1_000;
		self.lock().training = Some(rate.max(1));
	}

	/// Notes the chain's time in two blocks, unless they are too near each other to say how long blocks take.
	pub(super) fn note_blocks(&self, earlier: (BlockNumber, Moment), later: (BlockNumber, Moment)) {
		let (blocks, ms) = (later.0.saturating_sub(earlier.0), later.1.saturating_sub(earlier.1));
		if blocks >= FEWEST_BLOCKS && ms > 0 {
			self.lock().block_ms = Some(ms / u64::from(blocks));
		}
	}

	/// Whether it is known how long blocks take.
	pub(super) fn knows_blocks(&self) -> bool {
		self.lock().block_ms.is_some()
	}

	/// Milliseconds of so many blocks, if that is known.
	pub(super) fn blocks_ms(&self, blocks: BlockNumber) -> Option<u64> {
		Some(self.lock().block_ms?.saturating_mul(blocks.into()))
	}

	/// Milliseconds that it takes to run a round of so many inner steps again, with nothing beside it, on a machine with so many registered GFLOP/s.
	pub(super) fn audit_ms(&self, config: &RunConfig, steps: u32, gflops: u64) -> u64 {
		let Measured { audit, training, .. } = *self.lock();
		let registered = u128::from(gflops.max(1)).saturating_mul(FLOPS_PER_MS);
		let slowest = [audit, training].into_iter().flatten().fold(registered, u128::min);
		u64::try_from(flops(config, steps).div_ceil(slowest.max(1))).unwrap_or(u64::MAX).max(1)
	}
}

/// Whether what takes so long alone has to be done before anything else to be done in the time that is left; also if nobody knows that time.
pub(super) fn is_near(takes_ms: u64, left_ms: Option<u64>) -> bool {
	left_ms.is_none_or(|left| takes_ms.saturating_mul(ROOM) >= left)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::run::participant::decide::plan::tests::training;

	fn config() -> RunConfig {
		training().0.run.unwrap().view.config
	}

	#[test]
	fn an_audit_takes_as_long_as_the_slowest_of_what_is_registered_and_measured_says() {
		let (pace, config) = (Pace::default(), config());
		let steps = config.train.inner_steps;
		let registered = pace.audit_ms(&config, steps, 1);
		assert_eq!(u128::from(registered), time_ms(&config, steps, 1));
		// Measured faster than registered: busy when it was registered, or not busy now.
		pace.note_audit(&config, steps, Duration::from_millis(registered / 10 + 1));
		assert_eq!(pace.audit_ms(&config, steps, 1), registered);
		let slow = 7 * registered;
		pace.note_audit(&config, steps, Duration::from_millis(slow));
		assert!(pace.audit_ms(&config, steps, 1).abs_diff(slow) <= slow / 100 + 1, "{} {slow}", pace.audit_ms(&config, steps, 1));
		// Half of the steps, about half of the time; training was slower still.
		assert!(pace.audit_ms(&config, steps / 2, 1) < slow * 3 / 4);
		pace.note_training(&config, 1.0);
		let tokens = config.train.tokens_after(steps);
		assert!(pace.audit_ms(&config, steps, 1) >= tokens * 1_000 * 9 / 10, "a token a second");
	}

	#[test]
	fn blocks_are_measured_over_several() {
		let pace = Pace::default();
		pace.note_blocks((10, 5_000), (12, 90_000));
		assert_eq!(pace.blocks_ms(10), None);
		pace.note_blocks((10, 5_000), (30, 65_000));
		assert_eq!((pace.blocks_ms(10), pace.knows_blocks()), (Some(30_000), true));
	}

	#[test]
	fn a_window_is_near_below_three_times_what_it_takes_and_if_nobody_knows() {
		assert!(is_near(10, Some(30)) && !is_near(10, Some(31)) && is_near(10, None) && is_near(10, Some(0)));
	}
}
