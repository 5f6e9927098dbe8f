//! Liveness of peers: the last sign of life of each peer, and who said farewell.
//!
//! Peers ping each other every two seconds. One of which nothing was heard for six is taken for dead (seed 002, on PRIME), as is one that said
//! farewell, until it is heard of again a few seconds later. Of a peer that was never heard nothing is known: routers may be between the two.
//!
//! What follows from six seconds costs nobody anything, since a busy machine may be silent for longer: who is taken for dead is asked for content after all
//! others. It is asked all the same, an answer that it owes is waited for, and nobody says of it on chain that it is missing.

use libp2p::PeerId;
use std::{
	collections::{HashMap, HashSet},
	time::{Duration, Instant},
};

/// Time from one heartbeat to the next.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(2);
/// Silence after which a peer is taken for dead.
pub const DEAD_AFTER: Duration = Duration::from_secs(6);

/// Longest time from a farewell until its process is gone.
const PARTING: Duration = Duration::from_secs(3);
/// A process that did nothing for so long was suspended.
const ASLEEP: Duration = Duration::from_secs(20);

/// Signs of life of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pulse {
	/// Time since the last sign of life.
	pub silent_for: Duration,
	/// True if its last message was a farewell.
	pub left: bool,
}

impl Pulse {
	/// Returns whether it is taken for dead.
	pub fn is_dead(&self) -> bool {
		self.left || self.silent_for >= DEAD_AFTER
	}
}

struct Heard {
	at: Instant,
	left: bool,
}

/// Signs of life of the peers in the address book. Of others nothing is noted: it costs nothing to be many of them.
#[derive(Default)]
pub(crate) struct Pulses {
	known: HashSet<PeerId>,
	heard: HashMap<PeerId, Heard>,
	/// Time at which this process was awake last.
	awake: Option<Instant>,
}

impl Pulses {
	/// Replaces the address book.
	pub(crate) fn know(&mut self, peers: HashSet<PeerId>) {
		self.heard.retain(|peer, _| peers.contains(peer));
		self.known = peers;
	}

	/// Notes that this process is awake; to be called more often than every 20 s. While it slept it could hear nobody.
	pub(crate) fn awake(&mut self, now: Instant) {
		if self.awake.is_some_and(|last| now.saturating_duration_since(last) >= ASLEEP) {
			self.heard.values_mut().for_each(|heard| heard.at = now);
		}
		self.awake = Some(now);
	}

	/// Notes a sign of life. One that said farewell may still answer while it closes its connections.
	pub(crate) fn heard(&mut self, peer: PeerId, now: Instant) {
		let parting = |heard: &Heard| heard.left && now.saturating_duration_since(heard.at) < PARTING;
		if !self.heard.get(&peer).is_some_and(parting) {
			self.note(peer, Heard { at: now, left: false });
		}
	}

	/// Notes a farewell.
	pub(crate) fn left(&mut self, peer: PeerId, now: Instant) {
		if self.heard.get(&peer).is_none_or(|heard| !heard.left) {
			self.note(peer, Heard { at: now, left: true });
		}
	}

	fn note(&mut self, peer: PeerId, heard: Heard) {
		if self.known.contains(&peer) {
			self.heard.insert(peer, heard);
		}
	}

	/// Puts those who are taken for dead at `now` behind all others, and leaves the order as it is otherwise.
	pub(crate) fn living_first(&mut self, peers: &mut [PeerId], now: Instant) {
		let pulses = self.all(now);
		peers.sort_by_key(|peer| pulses.get(peer).is_some_and(Pulse::is_dead));
	}

	/// Returns the signs of life that are known at `now`.
	pub(crate) fn all(&mut self, now: Instant) -> HashMap<PeerId, Pulse> {
		self.awake(now);
		let pulse = |heard: &Heard| Pulse { silent_for: now.saturating_duration_since(heard.at), left: heard.left };
		self.heard.iter().map(|(peer, heard)| (*peer, pulse(heard))).collect()
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_peer_is_dead_after_six_seconds_of_silence_or_a_farewell_until_it_is_back() {
		let (mut pulses, begun) = (Pulses::default(), Instant::now());
		let [heard, gone] = [1, 2].map(|_| PeerId::random());
		pulses.know(HashSet::from([heard, gone]));
		let after = |seconds: u64| begun + Duration::from_secs(seconds);
		assert!(pulses.all(begun).is_empty());
		pulses.heard(heard, begun);
		pulses.left(gone, begun);
		let dead = |pulses: &mut Pulses, seconds| [heard, gone].map(|peer| pulses.all(after(seconds))[&peer].is_dead());
		assert_eq!(dead(&mut pulses, 5), [false, true]);
		assert_eq!(dead(&mut pulses, 6), [true, true]);
		pulses.heard(heard, after(9));
		pulses.left(gone, after(9));
		// Another farewell changes nothing, nor does an answer on its way when it said farewell.
		assert_eq!((dead(&mut pulses, 10), pulses.all(after(10))[&gone].silent_for), ([false, true], Duration::from_secs(10)));
		pulses.heard(gone, after(10));
		assert_eq!(dead(&mut pulses, 11), [false, false]);
		pulses.left(gone, after(11));
		pulses.heard(gone, after(13));
		assert_eq!(dead(&mut pulses, 13), [false, true]);
		// A stranger, and others that are not in the address book any more.
		pulses.heard(PeerId::random(), after(12));
		pulses.know(HashSet::from([gone]));
		assert_eq!(pulses.all(after(12)).into_keys().collect::<Vec<_>>(), [gone]);
	}

	#[test]
	fn the_dead_come_after_all_others_and_strangers_are_not_dead() {
		let (mut pulses, begun) = (Pulses::default(), Instant::now());
		let [gone, silent, stranger, alive] = [1, 2, 3, 4].map(|_| PeerId::random());
		pulses.know(HashSet::from([gone, silent, alive]));
		let after = |seconds: u64| begun + Duration::from_secs(seconds);
		[gone, silent, alive].into_iter().for_each(|peer| pulses.heard(peer, begun));
		let order = |pulses: &mut Pulses, seconds| {
			let mut peers = [gone, silent, stranger, alive];
			pulses.living_first(&mut peers, after(seconds));
			peers
		};
		assert_eq!(order(&mut pulses, 5), [gone, silent, stranger, alive]);
		pulses.left(gone, after(5));
		pulses.heard(alive, after(5));
		assert_eq!(order(&mut pulses, 5), [silent, stranger, alive, gone]);
		assert_eq!(order(&mut pulses, 6), [stranger, alive, gone, silent]);
		pulses.heard(silent, after(7));
		assert_eq!(order(&mut pulses, 8), [silent, stranger, alive, gone]);
	}

	#[test]
	fn nobody_is_silent_while_this_process_is_suspended() {
		let (mut pulses, begun, peer) = (Pulses::default(), Instant::now(), PeerId::random());
		let after = |seconds: u64| begun + Duration::from_secs(seconds);
		pulses.know(HashSet::from([peer]));
		pulses.awake(begun);
		pulses.heard(peer, after(3));
		pulses.awake(after(5));
		assert_eq!(pulses.all(after(10))[&peer].silent_for, Duration::from_secs(7));
		let pulse = pulses.all(after(100))[&peer];
		assert_eq!((pulse.silent_for, pulse.is_dead()), (Duration::ZERO, false));
		assert_eq!(pulses.all(after(107))[&peer].silent_for, Duration::from_secs(7));
	}
}
