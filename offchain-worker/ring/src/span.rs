//! A part of the model in a ring: who holds it, and how long it usually takes.

use super::message::Hold;
use std::{collections::HashMap, time::Duration};

/// A part of the model, and who holds it, the preferred one first.
pub(super) struct Span {
	pub(super) hold: Hold,
	pub(super) members: Vec<usize>,
	/// Usual time of a pass, by the logarithm of its rows.
	usual: HashMap<u32, Duration>,
}

impl Span {
	/// A span, and its members by their numbers.
	pub(super) fn new(hold: Hold, members: Vec<usize>) -> Self {
		Self { hold, members, usual: HashMap::new() }
	}

	/// Usual time of a pass of so many numbers, or more than it; `None` before the first pass.
	pub(super) fn usual(&self, numbers: usize) -> Option<Duration> {
		let wanted = bucket(numbers);
		let (seen, time) = self.usual.iter().min_by_key(|(seen, _)| (wanted.saturating_sub(**seen), seen.abs_diff(wanted)))?;
		// What is twice as large takes twice as long at most.
		Some(time.saturating_mul(2u32.saturating_pow(wanted.saturating_sub(*seen))))
	}

	/// Notes how long a pass of so many numbers took.
	pub(super) fn remember(&mut self, numbers: usize, took: Duration) {
		let usual = self.usual.entry(bucket(numbers)).or_insert(took);
		// Slowly down, at once up: a time that was needed once may be needed again.
		*usual = took.max(*usual * 7 / 8);
	}
}

fn bucket(rows: usize) -> u32 {
	rows.checked_ilog2().unwrap_or_default()
}
