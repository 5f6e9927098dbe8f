//! How many messages each peer may pass on. Pure: the time is an argument.

use libp2p::PeerId;
use std::{collections::HashMap, time::Instant};

/// Peers whose messages are counted at a time; of others none is taken.
const MOST_PEERS: usize = 1_024;

/// A rate of messages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rate {
	/// Messages a second, in the long run.
	pub per_second: f64,
	/// Messages that may come at once after a pause.
	pub burst: f64,
}

struct Bucket {
	left: f64,
	at: Instant,
}

/// Counts of messages by peer.
pub(crate) struct Rates {
	rate: Rate,
	buckets: HashMap<PeerId, Bucket>,
}

impl Rates {
	pub(crate) fn new(rate: Rate) -> Self {
		Self { rate, buckets: HashMap::new() }
	}

	/// Counts a message of `peer`; returns whether it may send one.
	pub(crate) fn admits(&mut self, peer: PeerId, now: Instant) -> bool {
		if self.buckets.len() >= MOST_PEERS && !self.buckets.contains_key(&peer) {
			self.prune(now);
			if self.buckets.len() >= MOST_PEERS {
				return false;
			}
		}
		let rate = self.rate;
		let bucket = self.buckets.entry(peer).or_insert(Bucket { left: rate.burst, at: now });
		*bucket = Bucket { left: filled(rate, bucket, now), at: now };
		let admitted = bucket.left >= 1.0;
		if admitted {
			bucket.left -= 1.0;
		}
		admitted
	}

	/// Forgets peers that have as much left as those of whom nothing is known.
	pub(crate) fn prune(&mut self, now: Instant) {
		let rate = self.rate;
		self.buckets.retain(|_, bucket| filled(rate, bucket, now) < rate.burst);
	}
}

fn filled(rate: Rate, bucket: &Bucket, now: Instant) -> f64 {
	(bucket.left + now.saturating_duration_since(bucket.at).as_secs_f64() * rate.per_second).min(rate.burst)
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::time::Duration;

	#[test]
	fn a_peer_has_a_burst_and_then_its_rate_and_others_have_theirs() {
		let (mut rates, begun) = (Rates::new(Rate { per_second: 2.0, burst: 3.0 }), Instant::now());
		let [one, other] = [1, 2].map(|_| PeerId::random());
		let mut taken = |peer, millis| (0..10).filter(|_| rates.admits(peer, begun + Duration::from_millis(millis))).count();
		assert_eq!((taken(one, 0), taken(other, 0)), (3, 3));
		assert_eq!((taken(one, 499), taken(one, 500), taken(one, 1_500)), (0, 1, 2));
		assert_eq!(taken(one, 60_000), 3, "a pause saves up no more than a burst");
	}

	#[test]
	fn the_number_of_peers_is_bounded_and_those_who_were_silent_make_room() {
		let (mut rates, begun) = (Rates::new(Rate { per_second: 1.0, burst: 1.0 }), Instant::now());
		for _ in 0..MOST_PEERS {
			assert!(rates.admits(PeerId::random(), begun));
		}
		assert!(!rates.admits(PeerId::random(), begun));
		assert!(rates.admits(PeerId::random(), begun + Duration::from_secs(1)));
		assert_eq!(rates.buckets.len(), 1);
	}
}
