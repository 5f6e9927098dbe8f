//! Scores of peers by their conduct, and the order in which they are asked. Pure: the time is an argument.

use crate::ScorePolicy;
use libp2p::PeerId;
use neuroshard_graph::merkle::blake2_256;
use neuroshard_types::H256;
use std::{
	cmp::Reverse,
	collections::HashMap,
	time::{Duration, Instant},
};

/// Lowest score.
const WORST: i32 = -100;
/// Peers remembered; beyond this the ones nearest to zero are forgotten.
const MAX_PEERS: usize = 4096;

/// Conduct of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conduct {
	/// Its answer was verified.
	Good,
	/// It did not answer or could not be reached.
	Unresponsive,
	/// It asked for something and did not take the answer, or too slowly.
	Stalled,
	/// Its answer was not what was asked for, or a message that it passed on was false, or it passed on far too many.
	Corrupt,
}

/// Peers in the order in which to ask them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ranking {
	/// Those that may be asked, best first.
	pub(crate) usable: Vec<PeerId>,
	/// Those that are shut out, and for how much longer.
	pub(crate) banned: Vec<(PeerId, Duration)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Record {
	points: i32,
	banned_until: Option<Instant>,
	distrusted_until: Option<Instant>,
}

/// Scores and bans.
#[derive(Debug)]
pub(crate) struct Scores {
	policy: ScorePolicy,
	records: HashMap<PeerId, Record>,
}

impl Scores {
	pub(crate) fn new(policy: ScorePolicy) -> Self {
		Self { policy, records: HashMap::new() }
	}

	/// Notes what `peer` did; says whether that bans it.
	pub(crate) fn note(&mut self, peer: PeerId, conduct: Conduct, now: Instant) -> bool {
		self.forget_one();
		let policy = self.policy;
		let record = self.records.entry(peer).or_default();
		let change = match conduct {
			Conduct::Good => policy.good,
			Conduct::Unresponsive => -policy.unresponsive,
			Conduct::Stalled => -policy.stalled,
			Conduct::Corrupt => -policy.corrupt,
		};
		record.points = record.points.saturating_add(change).clamp(WORST, policy.best.max(0));
		if conduct == Conduct::Stalled {
			record.distrusted_until = now.checked_add(policy.distrust);
		}
		if conduct == Conduct::Corrupt {
			record.banned_until = now.checked_add(policy.ban);
		}
		conduct == Conduct::Corrupt
	}

	/// Returns the time for which `peer` is still banned.
	pub(crate) fn banned(&self, peer: &PeerId, now: Instant) -> Option<Duration> {
		let until = self.records.get(peer)?.banned_until?;
		until.checked_duration_since(now).filter(|rest| !rest.is_zero())
	}

	/// Returns whether `peer` did not take an answer lately.
	pub(crate) fn is_distrusted(&self, peer: &PeerId, now: Instant) -> bool {
		self.records.get(peer).and_then(|record| record.distrusted_until).is_some_and(|until| now < until)
	}

	/// Ends bans that are over and says whose.
	pub(crate) fn pardon(&mut self, now: Instant) -> Vec<PeerId> {
		let over = |record: &Record| record.banned_until.is_some_and(|until| until <= now);
		let pardoned = self.records.iter_mut().filter(|(_, record)| over(record));
		pardoned
			.map(|(peer, record)| {
				record.banned_until = None;
				*peer
			})
			.collect()
	}

	/// Parts `peers` into those that may be asked, best first, and the banned. `first` surely has the blob: it comes first unless it kept
	/// others waiting before. Equals are ordered by a hash that depends on asker and blob, so that not everybody asks the same one.
	pub(crate) fn rank(&self, peers: &[PeerId], first: Option<PeerId>, asker: PeerId, root: H256, now: Instant) -> Ranking {
		let mut ranking = Ranking::default();
		for peer in peers {
			match self.banned(peer, now) {
				None => ranking.usable.push(*peer),
				Some(rest) => ranking.banned.push((*peer, rest)),
			}
		}
		ranking.usable.sort_by_cached_key(|peer| {
			let spread = [root.as_bytes(), asker.to_bytes().as_slice(), peer.to_bytes().as_slice()].concat();
			let preferred = first == Some(*peer) && self.points(peer) >= 0;
			(Reverse(preferred), Reverse(self.points(peer)), blake2_256(&spread))
		});
		ranking.usable.dedup();
		ranking
	}

	/// Score of `peer`; 0 if nothing is known.
	pub(crate) fn points(&self, peer: &PeerId) -> i32 {
		self.records.get(peer).map_or(0, |record| record.points)
	}

	/// Everybody of whom something is known: points, and how long a ban lasts.
	pub(crate) fn all(&self, now: Instant) -> Vec<(PeerId, i32, Option<Duration>)> {
		self.records.iter().map(|(peer, record)| (*peer, record.points, self.banned(peer, now))).collect()
	}

	fn forget_one(&mut self) {
		if self.records.len() >= MAX_PEERS {
			let dullest = self.records.iter().filter(|(_, record)| record.banned_until.is_none());
			if let Some(peer) = dullest.min_by_key(|(_, record)| record.points.unsigned_abs()).map(|(peer, _)| *peer) {
				self.records.remove(&peer);
			}
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	const ROOT: H256 = H256::repeat_byte(5);

	#[test]
	fn a_corrupt_answer_bans_for_a_while_and_a_timeout_only_costs_rank() {
		let (now, policy) = (Instant::now(), ScorePolicy::default());
		let [good, slow, corrupt, me] = [(); 4].map(|()| PeerId::random());
		let mut scores = Scores::new(policy);
		assert!(!scores.note(good, Conduct::Good, now));
		assert!(!scores.note(slow, Conduct::Unresponsive, now));
		assert!(scores.note(corrupt, Conduct::Corrupt, now));
		let ranking = scores.rank(&[corrupt, slow, good], None, me, ROOT, now);
		assert_eq!(ranking, Ranking { usable: vec![good, slow], banned: vec![(corrupt, policy.ban)] });
		assert_eq!(scores.banned(&corrupt, now), Some(policy.ban));

		let later = now + policy.ban;
		assert_eq!(scores.banned(&corrupt, later), None);
		assert_eq!(scores.pardon(later), vec![corrupt]);
		assert_eq!(scores.rank(&[corrupt, slow, good], None, me, ROOT, later).usable, vec![good, slow, corrupt]);
	}

	#[test]
	fn whoever_does_not_take_an_answer_loses_points_and_is_distrusted_for_a_while() {
		let (now, policy) = (Instant::now(), ScorePolicy::default());
		let (peer, mut scores) = (PeerId::random(), Scores::new(policy));
		assert!(!scores.is_distrusted(&peer, now));
		assert!(!scores.note(peer, Conduct::Stalled, now));
		assert_eq!(scores.points(&peer), -policy.stalled);
		assert_eq!(scores.banned(&peer, now), None);
		assert!(scores.is_distrusted(&peer, now + policy.distrust - Duration::from_nanos(1)));
		assert!(!scores.is_distrusted(&peer, now + policy.distrust));
	}

	#[test]
	fn points_stay_in_bounds() {
		let (now, policy) = (Instant::now(), ScorePolicy::default());
		let (peer, mut scores) = (PeerId::random(), Scores::new(policy));
		for _ in 0..1_000 {
			scores.note(peer, Conduct::Good, now);
		}
		assert_eq!(scores.points(&peer), policy.best);
		for _ in 0..1_000 {
			scores.note(peer, Conduct::Unresponsive, now);
		}
		assert_eq!(scores.points(&peer), WORST);
	}

	#[test]
	fn whoever_surely_has_a_blob_is_asked_first_unless_it_was_silent_or_is_banned() {
		let (now, policy) = (Instant::now(), ScorePolicy::default());
		let [good, owner, me] = [(); 3].map(|()| PeerId::random());
		let mut scores = Scores::new(policy);
		scores.note(good, Conduct::Good, now);
		let usable = |scores: &Scores| scores.rank(&[good, owner], Some(owner), me, ROOT, now).usable;
		assert_eq!(usable(&scores), [owner, good]);
		scores.note(owner, Conduct::Unresponsive, now);
		assert_eq!(usable(&scores), [good, owner]);
		scores.note(owner, Conduct::Corrupt, now);
		assert_eq!(usable(&scores), [good]);
	}

	#[test]
	fn equals_are_asked_in_an_order_that_differs_between_askers() {
		let scores = Scores::new(ScorePolicy::default());
		let peers: Vec<PeerId> = (0..8).map(|_| PeerId::random()).collect();
		let firsts = (0..64).map(|_| scores.rank(&peers, None, PeerId::random(), ROOT, Instant::now()).usable[0]);
		assert!(firsts.collect::<std::collections::HashSet<_>>().len() > 1);
	}

	#[test]
	fn memory_is_bounded_and_bans_are_not_forgotten() {
		let (now, mut scores) = (Instant::now(), Scores::new(ScorePolicy::default()));
		let banned = PeerId::random();
		scores.note(banned, Conduct::Corrupt, now);
		for _ in 0..MAX_PEERS + 10 {
			scores.note(PeerId::random(), Conduct::Good, now);
		}
		assert!(scores.records.len() <= MAX_PEERS);
		assert!(scores.banned(&banned, now).is_some());
	}
}
