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

/// Bursts that may be refused of a peer before it counts as flooding: identifiers of messages are remembered for a while, also of those that are refused.
const FLOOD: f64 = 10.0;

struct Bucket {
	left: f64,
	refused: f64,
	at: Instant,
}

/// What is done with a message, by how many there were before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admission {
	/// It is taken.
	Taken,
	/// It is not.
	Refused,
	/// Nor is it, and so many were refused that whoever sends them means harm.
	Flood,
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

	/// Counts a message of `peer`.
	pub(crate) fn admit(&mut self, peer: PeerId, now: Instant) -> Admission {
		if self.buckets.len() >= MOST_PEERS && !self.buckets.contains_key(&peer) {
			self.prune(now);
			if self.buckets.len() >= MOST_PEERS {
				return Admission::Refused;
			}
		}
		let rate = self.rate;
		let bucket = self.buckets.entry(peer).or_insert(Bucket { left: rate.burst, refused: 0.0, at: now });
		*bucket = filled(rate, bucket, now);
		if bucket.left >= 1.0 {
			bucket.left -= 1.0;
			return Admission::Taken;
		}
		bucket.refused += 1.0;
		if bucket.refused > FLOOD * rate.burst {
			Admission::Flood
		} else {
			Admission::Refused
		}
	}

	/// Forgets peers that have as much left as those of whom nothing is known.
	pub(crate) fn prune(&mut self, now: Instant) {
		let rate = self.rate;
		self.buckets.retain(|_, bucket| {
			let bucket = filled(rate, bucket, now);
			bucket.left < rate.burst || bucket.refused > 0.0
		});
	}
}

/// `bucket` as it is at `now`.
fn filled(rate: Rate, bucket: &Bucket, now: Instant) -> Bucket {
	let more = now.saturating_duration_since(bucket.at).as_secs_f64() * rate.per_second;
	Bucket { left: (bucket.left + more).min(rate.burst), refused: (bucket.refused - more).max(0.0), at: now }
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::time::Duration;

	#[test]
	fn a_peer_has_a_burst_and_then_its_rate_and_others_have_theirs() {
		let (mut rates, begun) = (Rates::new(Rate { per_second: 2.0, burst: 3.0 }), Instant::now());
		let [one, other] = [1, 2].map(|_| PeerId::random());
		let mut taken = |peer, millis| {
			let at = begun + Duration::from_millis(millis);
			(0..10).filter(|_| rates.admit(peer, at) == Admission::Taken).count()
		};
		assert_eq!((taken(one, 0), taken(other, 0)), (3, 3));
		assert_eq!((taken(one, 499), taken(one, 500), taken(one, 1_500)), (0, 1, 2));
		assert_eq!(taken(one, 60_000), 3, "a pause saves up no more than a burst");
	}

	#[test]
	fn a_peer_that_goes_on_far_beyond_its_rate_floods_and_one_that_pauses_does_not() {
		let (mut rates, begun, peer) = (Rates::new(Rate { per_second: 1.0, burst: 2.0 }), Instant::now(), PeerId::random());
		let mut sent = |count: usize, seconds: u64| {
			let all: Vec<Admission> = (0..count).map(|_| rates.admit(peer, begun + Duration::from_secs(seconds))).collect();
			[Admission::Taken, Admission::Refused, Admission::Flood].map(|kind| all.iter().filter(|one| **one == kind).count())
		};
		// Two bursts of one are taken, and ten times two are refused.
		assert_eq!((sent(22, 0), sent(1, 0)), ([2, 20, 0], [0, 0, 1]));
		// After five seconds two are taken, and five may be refused.
		assert_eq!((sent(7, 5), sent(1, 5)), ([2, 4, 1], [0, 0, 1]));
	}

	#[test]
	fn the_number_of_peers_is_bounded_and_those_who_were_silent_make_room() {
		let (mut rates, begun) = (Rates::new(Rate { per_second: 1.0, burst: 1.0 }), Instant::now());
		for _ in 0..MOST_PEERS {
			assert_eq!(rates.admit(PeerId::random(), begun), Admission::Taken);
		}
		assert_eq!(rates.admit(PeerId::random(), begun), Admission::Refused);
		assert_eq!(rates.admit(PeerId::random(), begun + Duration::from_secs(1)), Admission::Taken);
		assert_eq!(rates.buckets.len(), 1);
	}
}
