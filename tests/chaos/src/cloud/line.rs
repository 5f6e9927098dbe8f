//! What lines do to packets. Pure: time and dice are passed in.

use std::time::{Duration, Instant};

/// Longest wait of a packet for a line that is busy: beyond it, packets are dropped, as a router's queue drops them.
const QUEUE: Duration = Duration::from_millis(200);
/// One in a million.
const MILLION: u32 = 1_000_000;

/// A machine's line to all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Line {
	/// Time of a packet from the machine to the middle, and from there to the machine.
	pub delay_ms: u32,
	/// Packets of a million that are lost, each way.
	pub lost_of_a_million: u32,
	/// Bits a second, each way.
	pub rate: u64,
}

impl Line {
	/// A line that does nothing.
	pub const PERFECT: Self = Self { delay_ms: 0, lost_of_a_million: 0, rate: u64::MAX };

	fn time_for(&self, bytes: usize) -> Duration {
		let bits = u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(8);
		Duration::from_nanos(bits.saturating_mul(1_000_000_000).checked_div(self.rate).unwrap_or(u64::MAX))
	}

	fn delay(&self) -> Duration {
		Duration::from_millis(self.delay_ms.into())
	}
}

/// The lines of all machines, and since when each is free.
#[derive(Debug)]
pub(crate) struct Lines {
	lines: Vec<Line>,
	up: Vec<Option<Instant>>,
	down: Vec<Option<Instant>>,
	/// Part that each machine is in while there is a partition: only within a part anything passes.
	parts: Option<Vec<bool>>,
}

impl Lines {
	pub(crate) fn new(lines: Vec<Line>) -> Self {
		let free = vec![None; lines.len()];
		Self { lines, up: free.clone(), down: free, parts: None }
	}

	/// Cuts the machines in two parts, or joins them again.
	pub(crate) fn cut(&mut self, parts: Option<Vec<bool>>) {
		self.parts = parts;
	}

	/// When a packet that leaves `from` at `now` arrives at `to`; `None` if it does not. `dice` are two random numbers.
	pub(crate) fn arrival(&mut self, from: usize, to: usize, bytes: usize, now: Instant, dice: [u32; 2]) -> Option<Instant> {
		let (sender, receiver) = (*self.lines.get(from)?, *self.lines.get(to)?);
		// Machines that nobody was asked about are in the first one's part.
		let part = |parts: &Vec<bool>, machine: usize| parts.get(machine).copied().unwrap_or_default();
		if self.parts.as_ref().is_some_and(|parts| part(parts, from) != part(parts, to)) {
			return None;
		}
		let lost = |line: Line, dice: u32| dice % MILLION < line.lost_of_a_million;
		let [first, second] = dice;
		if lost(sender, first) {
			return None;
		}
		let in_the_middle = send(self.up.get_mut(from)?, &sender, bytes, now)? + sender.delay();
		if lost(receiver, second) {
			return None;
		}
		Some(send(self.down.get_mut(to)?, &receiver, bytes, in_the_middle)? + receiver.delay())
	}
}

/// When a packet has left through a line that is free at `free`; `None` if it would wait too long.
fn send(free: &mut Option<Instant>, line: &Line, bytes: usize, now: Instant) -> Option<Instant> {
	let start = free.map_or(now, |free| free.max(now));
	if start.saturating_duration_since(now) > QUEUE {
		return None;
	}
	let sent = start + line.time_for(bytes);
	*free = Some(sent);
	Some(sent)
}

#[cfg(test)]
mod tests {
	use super::*;

	const SURE: [u32; 2] = [MILLION - 1; 2];

	fn lines() -> Lines {
		let thin = Line { delay_ms: 20, lost_of_a_million: 30_000, rate: 8_000_000 };
		Lines::new(vec![Line::PERFECT, thin, Line { delay_ms: 5, ..Line::PERFECT }])
	}

	#[test]
	fn a_packet_takes_the_delay_of_both_lines_and_the_time_that_its_bits_take() {
		let (mut lines, now) = (lines(), Instant::now());
		let ms = |lines: &mut Lines, from, to, bytes| lines.arrival(from, to, bytes, now, SURE).unwrap().duration_since(now).as_millis();
		assert_eq!(ms(&mut lines, 0, 2, 1_000), 5);
		// A thousand bytes take a millisecond, each after the one before.
		assert_eq!((ms(&mut lines, 1, 2, 1_000), ms(&mut lines, 1, 2, 1_000)), (26, 27));
		// The other way is free.
		assert_eq!(ms(&mut lines, 2, 1, 1_000), 26);
	}

	#[test]
	fn what_would_wait_too_long_for_a_busy_line_is_dropped() {
		let (mut lines, now) = (lines(), Instant::now());
		let arrived = (0..300).filter(|_| lines.arrival(1, 0, 1_000, now, SURE).is_some()).count();
		assert_eq!(arrived, 201);
		assert!(lines.arrival(1, 0, 1_000, now + QUEUE, SURE).is_some());
	}

	#[test]
	fn as_many_packets_are_lost_as_the_line_says_and_none_passes_between_parts() {
		let (mut lines, now) = (lines(), Instant::now());
		assert!(lines.arrival(1, 0, 1, now, [29_999, 0]).is_none() && lines.arrival(1, 0, 1, now, [30_000, 0]).is_some());
		assert!(lines.arrival(0, 1, 1, now, [0, 29_999]).is_none() && lines.arrival(0, 1, 1, now, [0, 30_000]).is_some());
		lines.cut(Some(vec![true, false, true]));
		let arrives = |lines: &mut Lines, from, to| lines.arrival(from, to, 1, now, SURE).is_some();
		assert!(!arrives(&mut lines, 0, 1) && !arrives(&mut lines, 1, 2) && arrives(&mut lines, 2, 0));
		lines.cut(None);
		assert!(arrives(&mut lines, 0, 1));
	}
}
