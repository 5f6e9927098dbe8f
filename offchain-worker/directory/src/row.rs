//! A worker's row of the matrix: which of the ways that it has measured it announces.

use neuroshard_types::announcement::{tag_of, Way, Ways, MAX_WAYS};
use std::collections::BTreeMap;

/// Seconds after which a way that was not measured again says nothing any more.
pub const MAX_AGE_S: u64 = 600;

/// A way as it was measured here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measured {
	/// Peer id of the other end.
	pub peer: Vec<u8>,
	/// Microseconds there and back.
	pub rtt_us: u64,
	/// Bytes a second from there to here, if they were measured.
	pub bandwidth: Option<u64>,
	/// Seconds since the time was measured last.
	pub age_s: u64,
}

/// The row that is announced of `measured`: the nearest [`MAX_WAYS`] of those that are not older than [`MAX_AGE_S`], in the order of their tags. Far ones
/// are left out where there are too many: rings are formed among those that are near, and a way to a far one is known from whoever is near to it.
pub fn row(measured: impl IntoIterator<Item = Measured>) -> Ways {
	let fresh = measured.into_iter().filter(|way| way.age_s <= MAX_AGE_S);
	let ways = fresh.map(|way| Way::of(tag_of(&way.peer), way.rtt_us, way.bandwidth));
	let mut ways: Vec<Way> = ways.collect();
	ways.sort_unstable_by_key(|way| (way.rtt, way.to));
	ways.truncate(usize::try_from(MAX_WAYS).unwrap_or(usize::MAX));
	// Of two peers with one tag the nearer one counts.
	let mut row = BTreeMap::new();
	ways.into_iter().for_each(|way| {
		row.entry(way.to).or_insert(way);
	});
	Ways::truncate_from(row.into_values().collect())
}
