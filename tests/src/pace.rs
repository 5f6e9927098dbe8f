//! How long things last on this machine: blocks of networks, and waits for what processes do.
//!
//! Every duration of a network is a number of blocks: windows, clocks, phases, epochs. They are chosen for a machine of [`REFERENCE`] speed, with room for
//! one that gets [`ROOM`] times slower while a network runs. On a slower machine blocks take longer, so that all of it does, and so do waits.

use neuroshard_training::{engine::Engine, presets, priority::lower_thread_priority};
use neuroshard_worker::bench::steps_within;
use std::{
	sync::{Barrier, OnceLock},
	thread,
	time::Duration,
};

/// Time from block to block in networks of workers on a machine of reference speed, or a faster one: their durations in blocks are those in seconds there.
pub const SLOT: Duration = Duration::from_secs(1);
/// Inner steps of the tiny model that all cores together take in a second on the machine that durations are chosen for.
const REFERENCE: f64 = 120.0;
/// So many times slower than it was measured a machine may get.
const ROOM: u32 = 3;
/// How long it is measured.
const MEASURED: Duration = Duration::from_secs(2);

/// Time from block to block in networks of workers on this machine.
pub fn slot() -> Duration {
	SLOT.mul_f64(pace())
}

/// How long to wait for what is done within `limit` on a machine of reference speed.
pub(crate) fn longest(limit: Duration) -> Duration {
	limit.saturating_mul(ROOM).mul_f64(pace())
}

static PACE: OnceLock<f64> = OnceLock::new();

/// How many times as long as on a machine of reference speed things take here, at least 1. Measured once in a process, beside whatever else the machine
/// does, unless it was [given](set_pace).
pub fn pace() -> f64 {
	*PACE.get_or_init(|| pace_of(steps_per_second()))
}

/// Has things take `times` as long as on a machine of reference speed, in place of what would be measured. A pace below 1 counts as 1, and one that was
/// given or measured before stays.
pub fn set_pace(times: f64) {
	PACE.get_or_init(|| times.max(1.0));
}

/// The pace of a machine that takes so many steps in a second.
fn pace_of(steps_per_second: f64) -> f64 {
	// Whoever takes none in the time has no speed that could be told.
	(REFERENCE / steps_per_second.max(1.0)).max(1.0)
}

/// Inner steps that all cores together take in a second, at the priority of workers.
fn steps_per_second() -> f64 {
	let cores = thread::available_parallelism().map_or(1, usize::from);
	let (model, train) = presets::tiny();
	let begin = Barrier::new(cores);
	let measured = || {
		lower_thread_priority();
		begin.wait();
		// What a machine has no memory for is not measured; whatever needs that says so.
		Engine::new(&model, &train, 1).ok().and_then(|engine| steps_within(engine, MEASURED).ok()).unwrap_or(0.0)
	};
	thread::scope(|scope| {
		let threads: Vec<_> = (0..cores).map(|_| scope.spawn(measured)).collect();
		threads.into_iter().map(|thread| thread.join().unwrap_or(0.0)).sum()
	})
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_slower_machine_gets_more_time_and_a_faster_one_no_less() {
		assert_eq!(pace_of(REFERENCE), 1.0);
		assert_eq!(pace_of(REFERENCE / 2.5), 2.5);
		assert_eq!(pace_of(16.0 * REFERENCE), 1.0);
		assert_eq!(pace_of(0.0), REFERENCE);
	}

	#[test]
	fn this_machine_has_a_pace_that_blocks_and_waits_follow() {
		assert!(pace() >= 1.0);
		assert_eq!(slot(), SLOT.mul_f64(pace()));
		assert_eq!(longest(Duration::from_secs(10)), Duration::from_secs(30).mul_f64(pace()));
	}
}
