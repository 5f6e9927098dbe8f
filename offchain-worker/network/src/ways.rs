//! Ways to peers as they are measured: times there and back by the heartbeats, bandwidth by transfers of content. Pure: the time is an argument.

use libp2p::PeerId;
use std::{
	collections::HashMap,
	time::{Duration, Instant},
};

/// Peers to whom ways are remembered; beyond this the one that was measured longest ago is forgotten.
const MOST_WAYS: usize = 1_024;
/// Part of a new time that counts, against what is known: as TCP has it.
const TIME_GAIN: f64 = 1.0 / 8.0;
/// Part of a new bandwidth that counts: transfers are rarer than heartbeats.
const BANDWIDTH_GAIN: f64 = 1.0 / 4.0;
/// Least time of transfers that tells a bandwidth: shorter ones fit into buffers on the way.
const LEAST_TIME: Duration = Duration::from_millis(100);
/// Least times there and back that such a time must have: before that, a connection has not found its pace.
const LEAST_ROUND_TRIPS: f64 = 4.0;
/// Least bytes that tell a bandwidth.
const LEAST_BYTES: u64 = 256 << 10;

/// A measured way to a peer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Way {
	/// Time there and back, smoothed.
	pub rtt: Duration,
	/// Time since it was measured last.
	pub rtt_age: Duration,
	/// Bytes a second that come from there, smoothed, and the time since that was measured last; `None` if no transfer took long enough.
	pub bandwidth: Option<(f64, Duration)>,
}

/// What is known of the way to one peer.
#[derive(Default)]
struct Record {
	/// Seconds.
	rtt: Option<(f64, Instant)>,
	/// Bytes a second.
	bandwidth: Option<(f64, Instant)>,
	/// Requests under way.
	open: usize,
	/// Since when there are any.
	since: Option<Instant>,
	/// Of transfers that no bandwidth was told of yet: how often the first request was sent, time, bytes.
	starts: f64,
	time: Duration,
	bytes: u64,
}

impl Record {
	fn newest(&self) -> Option<Instant> {
		self.rtt.map(|(_, at)| at).max(self.bandwidth.map(|(_, at)| at)).max(self.since)
	}

	/// Takes the time up to `now` in.
	fn pass(&mut self, now: Instant) {
		if let Some(since) = self.since.replace(now) {
			self.time += now.saturating_duration_since(since);
		}
	}

	fn close(&mut self) {
		self.open = self.open.saturating_sub(1);
		if self.open == 0 {
			self.since = None;
		}
	}

	fn forget_transfers(&mut self) {
		(self.starts, self.time, self.bytes) = (0.0, Duration::ZERO, 0);
	}

	/// The bandwidth of the transfers so far, if they took long enough to tell.
	fn told(&self) -> Option<f64> {
		let (time, rtt) = (self.time.as_secs_f64(), self.rtt.map_or(0.0, |(rtt, _)| rtt));
		let enough = self.time >= LEAST_TIME && time >= LEAST_ROUND_TRIPS * rtt && self.bytes >= LEAST_BYTES;
		// Whoever waits for the first byte transfers nothing, but no more than half of the time is taken for that.
		let moving = (time - self.starts * rtt).max(time / 2.0);
		enough.then(|| self.bytes as f64 / moving)
	}
}

fn smoothed(known: Option<(f64, Instant)>, new: f64, gain: f64) -> f64 {
	known.map_or(new, |(known, _)| known + (new - known) * gain)
}

/// Ways to peers.
#[derive(Default)]
pub(crate) struct Ways {
	records: HashMap<PeerId, Record>,
}

impl Ways {
	/// Notes the time of a heartbeat, there and back.
	pub(crate) fn heartbeat(&mut self, peer: PeerId, rtt: Duration, now: Instant) {
		let record = self.record(peer);
		record.rtt = Some((smoothed(record.rtt, rtt.as_secs_f64(), TIME_GAIN), now));
	}

	/// Notes that something was asked for.
	pub(crate) fn asked(&mut self, peer: PeerId, now: Instant) {
		let record = self.record(peer);
		if record.open == 0 {
			record.starts += 1.0;
			record.since = Some(now);
		}
		record.open += 1;
	}

	/// Notes that so many bytes of an answer have come.
	pub(crate) fn answered(&mut self, peer: PeerId, bytes: usize, now: Instant) {
		let Some(record) = self.records.get_mut(&peer).filter(|record| record.open > 0) else { return };
		record.pass(now);
		record.bytes = record.bytes.saturating_add(bytes as u64);
		if let Some(bandwidth) = record.told() {
			record.bandwidth = Some((smoothed(record.bandwidth, bandwidth, BANDWIDTH_GAIN), now));
			record.forget_transfers();
		}
		record.close();
	}

	/// Notes that no answer came. What was measured on the way there tells nothing.
	pub(crate) fn failed(&mut self, peer: PeerId, now: Instant) {
		let Some(record) = self.records.get_mut(&peer).filter(|record| record.open > 0) else { return };
		record.pass(now);
		record.forget_transfers();
		record.close();
	}

	/// The ways that are known, to all peers of whom a heartbeat came back.
	pub(crate) fn all(&self, now: Instant) -> HashMap<PeerId, Way> {
		let age = |at: Instant| now.saturating_duration_since(at);
		let way = |record: &Record| {
			let (rtt, at) = record.rtt?;
			let bandwidth = record.bandwidth.map(|(bandwidth, at)| (bandwidth, age(at)));
			Some(Way { rtt: Duration::from_secs_f64(rtt.max(0.0)), rtt_age: age(at), bandwidth })
		};
		self.records.iter().filter_map(|(peer, record)| Some((*peer, way(record)?))).collect()
	}

	fn record(&mut self, peer: PeerId) -> &mut Record {
		if self.records.len() >= MOST_WAYS && !self.records.contains_key(&peer) {
			let oldest = self.records.iter().min_by_key(|(_, record)| record.newest()).map(|(peer, _)| *peer);
			oldest.and_then(|oldest| self.records.remove(&oldest));
		}
		self.records.entry(peer).or_default()
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn millis(count: u64) -> Duration {
		Duration::from_millis(count)
	}

	#[test]
	fn a_time_is_smoothed_and_says_how_old_it_is() {
		let (mut ways, begun, peer) = (Ways::default(), Instant::now(), PeerId::random());
		ways.heartbeat(peer, millis(80), begun);
		assert_eq!(ways.all(begun)[&peer], Way { rtt: millis(80), rtt_age: Duration::ZERO, bandwidth: None });
		ways.heartbeat(peer, millis(160), begun + millis(2_000));
		// An eighth of the way from 80 to 160.
		let way = ways.all(begun + millis(5_000))[&peer];
		assert_eq!(((way.rtt.as_secs_f64() * 1e6).round(), way.rtt_age), (90_000.0, millis(3_000)));
	}

	#[test]
	fn bandwidth_is_told_by_transfers_that_take_long_enough_without_the_wait_for_the_first_byte() {
		let (mut ways, begun, peer) = (Ways::default(), Instant::now(), PeerId::random());
		ways.heartbeat(peer, millis(50), begun);
		let bandwidth = |ways: &Ways| ways.all(begun)[&peer].bandwidth.map(|(bandwidth, _)| bandwidth.round());
		// 400 KiB within 99 ms: too short.
		ways.asked(peer, begun);
		ways.answered(peer, 400 << 10, begun + millis(99));
		assert_eq!(bandwidth(&ways), None);
		// A second later another one: 1 MiB in 250 ms in all, of which twice 50 ms were waiting.
		ways.asked(peer, begun + millis(1_000));
		ways.answered(peer, 624 << 10, begun + millis(1_151));
		assert_eq!(bandwidth(&ways), Some((f64::from(1 << 20) / 0.15).round()));
		// Little data tells nothing, however long it takes.
		ways.asked(peer, begun + millis(2_000));
		ways.answered(peer, 1_000, begun + millis(9_000));
		assert_eq!(bandwidth(&ways), Some((f64::from(1 << 20) / 0.15).round()));
	}

	#[test]
	fn requests_beside_each_other_share_the_time_and_failures_tell_nothing() {
		let (mut ways, begun, peer) = (Ways::default(), Instant::now(), PeerId::random());
		ways.heartbeat(peer, Duration::ZERO, begun);
		(0..4).for_each(|_| ways.asked(peer, begun));
		(1..=3).for_each(|part| ways.answered(peer, 100 << 10, begun + millis(100 * part)));
		// 300 KiB in 300 ms, and not in 600 ms.
		let bandwidth = ways.all(begun + millis(400))[&peer].bandwidth.unwrap();
		assert_eq!((bandwidth.0.round(), bandwidth.1), (1_024_000.0, millis(100)));
		ways.failed(peer, begun + millis(15_300));
		ways.asked(peer, begun + millis(20_000));
		ways.answered(peer, 512 << 10, begun + millis(20_500));
		let next = ways.all(begun)[&peer].bandwidth.unwrap().0;
		assert_eq!(next.round(), (1_024_000.0f64 + (1_048_576.0 - 1_024_000.0) / 4.0).round());
		// An answer that nobody asked for.
		ways.answered(peer, 1 << 30, begun + millis(99_000));
		assert_eq!(ways.all(begun)[&peer].bandwidth.unwrap().0, next);
	}

	#[test]
	fn memory_is_bounded_and_the_oldest_is_forgotten() {
		let (mut ways, begun) = (Ways::default(), Instant::now());
		let peers: Vec<PeerId> = (0..=MOST_WAYS).map(|_| PeerId::random()).collect();
		for (at, peer) in peers.iter().enumerate() {
			ways.heartbeat(*peer, millis(1), begun + millis(at as u64));
		}
		let known = ways.all(begun);
		assert!(known.len() == MOST_WAYS && !known.contains_key(&peers[0]) && known.contains_key(&peers[MOST_WAYS]));
	}
}
