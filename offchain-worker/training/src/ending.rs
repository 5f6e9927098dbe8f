//! End of a participant's inner steps in a run in which their number is its own: after as many as its machine does in time.

use neuroshard_types::{run::PhaseDurations, BlockNumber, TrainConfig};
use std::time::{Duration, Instant};

/// Fewest blocks before the deadline in which the work is to be done: the delta is hashed, and the commitment has to get into one of them.
const LEAST_RESERVE: BlockNumber = 8;
/// The same as a part of the time for training.
const RESERVE_PART: BlockNumber = 16;
/// Blocks after which the time between two is known well enough; until then it is taken to be that of the fastest chains, or longer if none came.
const KNOWN_AFTER: BlockNumber = 3;
const LEAST_APART: Duration = Duration::from_secs(1);

/// A moment, on this machine's clock and on the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Now {
	/// On the clock.
	pub clock: Instant,
	/// Newest block.
	pub best: BlockNumber,
}

/// Tells when a round's inner steps end.
#[derive(Clone, Debug)]
pub struct Ending {
	train: TrainConfig,
	/// Time after the round's beginning at which that was, of one that this participant came late to.
	late: Option<Duration>,
	/// Block in which they are to be done.
	until: BlockNumber,
	begun: Now,
	/// Steps that were done then.
	done_before: u32,
}

impl Ending {
	/// Of a round that goes on from `done_before` inner steps, whose training is over in block `deadline`. Whoever begins so `late` in one that it
	/// came late to ends when a machine like this one does that was there from the beginning, so that nobody waits for a newcomer.
	pub fn new(
		train: &TrainConfig,
		durations: &PhaseDurations,
		(late, deadline): (Option<Duration>, BlockNumber),
		begun: Now,
		done_before: u32,
	) -> Self {
		let reserve = LEAST_RESERVE.max(durations.training / RESERVE_PART).min(durations.training / 2);
		Self { train: train.clone(), late, until: deadline.saturating_sub(reserve), begun, done_before }
	}

	/// Returns whether the round ends with `done` inner steps: it may, and at the pace so far it would not get in time to the next state after which it
	/// may.
	pub fn ends_after(&self, done: u32, now: Now) -> bool {
		let next = done.saturating_add(1)..=self.train.inner_steps;
		let Some(next) = next.into_iter().find(|&step| self.train.may_end_after(step)) else { return self.train.may_end_after(done) };
		let more = next.saturating_sub(done);
		self.train.may_end_after(done) && (self.block_after(more, done, now) >= self.until || self.others_end_before(more, done, now))
	}

	/// Returns whether a machine like this one that took all steps from the beginning of the round on is done before this one has taken `more`, if it
	/// came late.
	fn others_end_before(&self, more: u32, done: u32, now: Now) -> bool {
		let elapsed = now.clock.saturating_duration_since(self.begun.clock);
		let (Some(late), Some(step)) = (self.late, elapsed.checked_div(done.saturating_sub(self.done_before))) else { return false };
		late.saturating_add(elapsed).saturating_add(step.saturating_mul(more)) > step.saturating_mul(self.train.inner_steps)
	}

	/// Block in which `steps` more will be done.
	fn block_after(&self, steps: u32, done: u32, now: Now) -> BlockNumber {
		let elapsed = now.clock.saturating_duration_since(self.begun.clock);
		let blocks = now.best.saturating_sub(self.begun.best);
		let taken = done.saturating_sub(self.done_before);
		// Nothing is known of the pace where the round goes on from: it ends there only if its time is over.
		if taken == 0 {
			return now.best;
		}
		let needed = elapsed.checked_div(taken).unwrap_or(elapsed).saturating_mul(steps);
		let apart = match blocks {
			0..KNOWN_AFTER => elapsed.checked_div(blocks.saturating_add(1)).unwrap_or(elapsed).max(LEAST_APART),
			_ => elapsed.checked_div(blocks).unwrap_or(elapsed).max(Duration::from_millis(1)),
		};
		let more = needed.as_millis().div_ceil(apart.as_millis().max(1));
		now.best.saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::{Aggregator, Robust, Rule, F32};

	const DURATIONS: PhaseDurations = PhaseDurations { joining: 1, training: 160, revealing: 1, availability: 1, checkpointing: 1 };
	/// Milliseconds between blocks.
	const BLOCK: u64 = 1_000;

	fn train(least_steps: u32, inner_steps: u32, commit_interval: u32) -> TrainConfig {
		let aggregator = Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::WeightedMean { least_steps } });
		TrainConfig { inner_steps, commit_interval, aggregator, ..TrainConfig::tiny() }
	}

	/// Steps that a machine takes, of so many milliseconds each, which begins in block 100 with `done_before`, with a deadline in block 260.
	fn steps(train: &TrainConfig, step_ms: u64, done_before: u32) -> u32 {
		steps_of(train, step_ms, done_before, false)
	}

	/// The same, of one that perhaps `came` late: the round began 80 seconds before.
	fn steps_of(train: &TrainConfig, step_ms: u64, done_before: u32, came: bool) -> u32 {
		let begun = Now { clock: Instant::now(), best: 100 };
		let ending = Ending::new(train, &DURATIONS, (came.then_some(Duration::from_secs(80)), 260), begun, done_before);
		let ends = |done: &u32| {
			let ms = u64::from(done - done_before) * step_ms;
			let best = 100 + u32::try_from(ms / BLOCK).unwrap();
			ending.ends_after(*done, Now { clock: begun.clock + Duration::from_millis(ms), best })
		};
		(done_before + 1..=train.inner_steps).find(ends).expect("the last step ends every round")
	}

	#[test]
	fn a_machine_takes_as_many_steps_as_it_does_in_time_and_a_slower_one_fewer() {
		// A sixteenth of 160 blocks is reserved, so that 150 are left.
		let train = train(10, 10_000, 10);
		let (fast, slow) = (steps(&train, 50, 0), steps(&train, 200, 0));
		// 3,000 and 750 steps fit; the next state would be one interval later.
		assert!((2_970..=3_000).contains(&fast), "{fast}");
		assert!((740..=750).contains(&slow), "{slow}");
		assert!([fast, slow].iter().all(|steps| steps.is_multiple_of(10)));
	}

	#[test]
	fn whoever_comes_late_ends_when_others_of_its_speed_do() {
		// 1,000 steps of 200 ms take 200 seconds, 80 of which are over: 600 steps are left.
		let train = train(10, 1_000, 10);
		assert!((590..=600).contains(&steps_of(&train, 200, 0, true)));
		// It would have 750 until the deadline.
		assert!((740..=750).contains(&steps_of(&train, 200, 0, false)));
		// One that is so slow that others like it end at the deadline does, too; and one that comes when they are done takes the least.
		assert!((290..=300).contains(&steps_of(&train, 500, 0, true)));
		assert_eq!(steps_of(&train, 50, 0, true), 10);
		// After a restart at step 300 the pace is that of the steps since.
		assert!((890..=900).contains(&steps_of(&train, 200, 300, true)));
	}

	#[test]
	fn whoever_comes_late_waits_for_no_blocks() {
		let (train, begun) = (train(10, 1_000, 10), Now { clock: Instant::now(), best: 100 });
		let ending = Ending::new(&train, &DURATIONS, (Some(Duration::from_secs(80)), 260), begun, 0);
		let after = |done: u32| Now { clock: begun.clock + Duration::from_millis(200 * u64::from(done)), best: 100 };
		assert_eq!((1..=1_000).find(|done| ending.ends_after(*done, after(*done))), Some(600));
	}

	#[test]
	fn nobody_takes_more_than_the_most_or_fewer_than_the_least() {
		assert_eq!(steps(&train(10, 500, 10), 50, 0), 500);
		// Too slow by far: the chain drops it if it does not make it, but fewer would not count.
		assert_eq!(steps(&train(400, 500, 10), 10_000, 0), 400);
		assert_eq!(steps(&train(395, 500, 10), 10_000, 0), 400, "a round ends at a state that is committed");
	}

	#[test]
	fn a_round_that_goes_on_after_a_restart_counts_its_pace_anew() {
		let whole = train(10, 10_000, 10);
		let rest = steps(&whole, 100, 400);
		assert!((400 + 1_480..=400 + 1_500).contains(&rest), "{rest}");
	}

	#[test]
	fn a_round_that_goes_on_when_its_time_is_over_ends_where_it_is() {
		let train = train(10, 10_000, 10);
		let at = |best| Now { clock: Instant::now(), best };
		let ends = |best, done| Ending::new(&train, &DURATIONS, (None, 260), at(best), done).ends_after(done, at(best));
		// Time is until block 250.
		assert_eq!([ends(249, 400), ends(250, 400), ends(250, 405), ends(250, 0)], [false, true, false, false]);
	}

	#[test]
	fn shortly_before_the_end_nobody_relies_on_blocks_that_were_not_seen_yet() {
		let train = train(10, 10_000, 10);
		let begun = Now { clock: Instant::now(), best: 240 };
		let ending = Ending::new(&train, &DURATIONS, (None, 260), begun, 400);
		// Ten steps took 9 seconds, in which two blocks came. Ten more may take as long as the other eight blocks: two of 4.5 seconds, or nine of one.
		let now = Now { clock: begun.clock + Duration::from_secs(9), best: 242 };
		assert!(!ending.ends_after(410, now));
		assert!(ending.ends_after(410, Now { best: 247, ..now }));
		// Within the first block nothing says that blocks are not a second apart.
		let early = Now { clock: begun.clock + Duration::from_millis(900), best: 240 };
		assert!(!ending.ends_after(410, early));
		let late = Ending::new(&train, &DURATIONS, (None, 260), Now { best: 249, ..begun }, 400);
		assert!(late.ends_after(410, Now { best: 249, ..early }));
	}

	#[test]
	fn while_no_blocks_come_a_round_goes_on_to_its_last_step() {
		let train = train(10, 50, 10);
		let begun = Now { clock: Instant::now(), best: 100 };
		let ending = Ending::new(&train, &DURATIONS, (None, 260), begun, 0);
		let hour = |done: u32| Now { clock: begun.clock + Duration::from_secs(3_600 * u64::from(done)), best: 100 };
		assert!((1..50).all(|done| !ending.ends_after(done, hour(done))));
		assert!(ending.ends_after(50, hour(50)));
	}
}
