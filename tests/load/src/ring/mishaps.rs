//! Members that are killed and started again while the ring is asked.

use neuroshard_e2e::{Error, Ring};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Between two kills.
const EVERY: Duration = Duration::from_secs(30);
/// When memory is looked at first.
const EARLY: Duration = Duration::from_secs(60);
/// Time behind the last kill, at least: whoever is killed comes back before the end.
const REST: Duration = Duration::from_secs(15);

/// A member that was killed.
#[derive(Clone, Debug, Serialize)]
pub struct Kill {
	/// Which holder.
	pub holder: usize,
	/// When, in seconds since the load began.
	pub at: f64,
	/// Seconds until it was a member again.
	pub back: f64,
}

/// Bytes that processes have in use.
#[derive(Clone, Debug, Serialize)]
pub struct Memory {
	/// Seconds since the load began.
	pub at: f64,
	/// Of the driver.
	pub driver: u64,
	/// Of each holder.
	pub holders: Vec<u64>,
}

/// What happened.
#[derive(Clone, Debug)]
pub(super) struct Mishaps {
	pub(super) kills: Vec<Kill>,
	pub(super) memory: Vec<Memory>,
}

/// Kills one member after the other, in turns of spans, until `time` is over.
pub(super) async fn run(ring: &mut Ring, start: Instant, time: Duration, say: &impl Fn(&str)) -> Result<Mishaps, Error> {
	let mut mishaps = Mishaps { kills: Vec::new(), memory: Vec::new() };
	let early = EARLY.min(time / 2);
	// Of the first span, then of the second one; then the other ones.
	let turns: Vec<usize> = [0, 1].iter().flat_map(|place| ring.spans.iter().map(|span| span[*place])).collect();
	let mut kill = EVERY.min(time / 3);
	for holder in turns.into_iter().cycle() {
		let killing = kill.saturating_add(REST) <= time;
		if mishaps.memory.is_empty() && (kill > early || !killing) {
			reach(start + early).await;
			mishaps.memory.push(memory(ring, start)?);
		}
		if !killing {
			break;
		}
		reach(start + kill).await;
		ring.driver.process.check()?;
		let joins = ring.joins(holder)?;
		ring.holders[holder].kill();
		let at = start.elapsed();
		ring.holders[holder].begin().await?;
		ring.joined(holder, joins.saturating_add(1)).await?;
		let back = start.elapsed().saturating_sub(at);
		say(&format!("holder {holder} was killed, and is a member again after {:.1} s", back.as_secs_f64()));
		mishaps.kills.push(Kill { holder, at: at.as_secs_f64(), back: back.as_secs_f64() });
		// Late ones are not made up for.
		kill = kill.saturating_add(EVERY).max(start.elapsed());
	}
	reach(start + time).await;
	mishaps.memory.push(memory(ring, start)?);
	Ok(mishaps)
}

async fn reach(time: Instant) {
	tokio::time::sleep_until(time.into()).await;
}

fn memory(ring: &Ring, start: Instant) -> Result<Memory, Error> {
	let holders = ring.holders.iter().filter_map(|holder| holder.process());
	let holders = holders.map(|process| process.memory()).collect::<Result<_, Error>>()?;
	Ok(Memory { at: start.elapsed().as_secs_f64(), driver: ring.driver.process.memory()?, holders })
}
