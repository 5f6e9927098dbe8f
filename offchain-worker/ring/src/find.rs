//! Who could hold a part of a model, as the directory knows it.

use neuroshard_directory::{Directory, Member};
use neuroshard_graph::merkle::blake2_256;
use neuroshard_network::{PeerAddress, PeerId};
use neuroshard_types::{Moment, H256};
use std::{
	collections::HashMap,
	sync::{Arc, Mutex, MutexGuard, PoisonError},
	time::{Duration, Instant},
};

/// Most holders that are found: as many are greeted, which takes some MiB each.
pub const MOST_FOUND: usize = 32;
/// Time for which one that could not be used is left alone.
pub const UNUSABLE: Duration = Duration::from_secs(60);
/// Time for which one is left alone that said what it can do, and then did not hold a span.
pub const UNTRUE: Duration = Duration::from_secs(3_600);

/// Most peers that are left alone at a time.
const MOST_RESTING: usize = 4_096;
/// Time after which lots are drawn anew, in milliseconds.
const DRAW_MS: Moment = 60_000;

/// What holders are found for.
#[derive(Clone, Debug)]
pub struct Wanted {
	/// Root of the parameters.
	pub parameters: H256,
	/// Bytes of memory that all of the model takes: nobody is preferred for claiming more.
	pub needed: u64,
	/// What lots are drawn with: random, and known to nobody else.
	pub seed: [u8; 32],
}

/// Peers that take streams of rings and have the parameters, of those whom `passes` lets pass, and at most [`MOST_FOUND`].
///
/// Nobody vouches for the memory that they claim, so that lots decide who comes first, and who is found at all: each in proportion to its claim. They are drawn
/// anew each minute.
pub fn holders(directory: &Directory, now: Moment, wanted: &Wanted, passes: &dyn Fn(&PeerId) -> bool) -> Vec<PeerAddress> {
	let has =
		|member: &Member| member.has(&wanted.parameters) || member.holdings.held.iter().any(|held| held.parameters == wanted.parameters);
	let mut found: Vec<(f64, PeerAddress)> = directory
		.members(now)
		.filter(has)
		.filter_map(|member| {
			let addresses = member.holdings.addresses.iter().map(|address| address.as_slice());
			let address = PeerAddress::from_bytes(&member.announcement.peer, addresses).ok()?;
			let memory = member.holdings.memory.min(wanted.needed);
			(!address.addresses.is_empty() && passes(&address.peer)).then(|| (lot(&address.peer, memory, wanted, now), address))
		})
		.collect();
	found.sort_by(|(lot, one), (more, other)| more.total_cmp(lot).then_with(|| one.peer.cmp(&other.peer)));
	found.truncate(MOST_FOUND);
	found.into_iter().map(|(_, address)| address).collect()
}

/// The lot of a peer: the highest ones are a sample that is weighted by memory (Efraimidis and Spirakis).
fn lot(peer: &PeerId, memory: u64, wanted: &Wanted, now: Moment) -> f64 {
	let drawn = blake2_256(&[&wanted.seed[..], &(now / DRAW_MS).to_le_bytes(), &peer.to_bytes()].concat());
	let [a, b, c, d, ..] = drawn;
	let uniform = (f64::from(u32::from_le_bytes([a, b, c, d])) + 1.0) / (f64::from(u32::MAX) + 2.0);
	// A share of what is needed; whoever has nothing free may hold a part already.
	uniform.ln() / (memory.max(1) as f64 / wanted.needed.max(1) as f64)
}

/// Peers that are left alone for a while. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Resting(Arc<Mutex<HashMap<PeerId, Instant>>>);

impl Resting {
	fn all(&self) -> MutexGuard<'_, HashMap<PeerId, Instant>> {
		// There is nothing half done about a map.
		self.0.lock().unwrap_or_else(PoisonError::into_inner)
	}

	/// A peer is left alone for so long. Where there are too many, the one whose time is over first is not any more.
	pub fn rest(&self, peer: PeerId, now: Instant, time: Duration) {
		let mut all = self.all();
		all.retain(|_, until| *until > now);
		if all.len() >= MOST_RESTING && !all.contains_key(&peer) {
			let first = all.iter().min_by_key(|(_, until)| **until).map(|(peer, _)| *peer);
			first.map(|first| all.remove(&first));
		}
		let until = all.entry(peer).or_insert(now);
		*until = (*until).max(now + time);
	}

	/// Returns whether a peer is left alone.
	pub fn has(&self, peer: &PeerId, now: Instant) -> bool {
		self.all().get(peer).is_some_and(|until| *until > now)
	}

	/// A peer is not left alone any more.
	pub(super) fn end(&self, peer: &PeerId) {
		self.all().remove(peer);
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::{
		announcement::{Announcement, Checkpoints, Holdings, MachineSpeed, SignedAnnouncement},
		provider::{Addresses, PeerIdBytes},
		AccountId,
	};
	use std::collections::HashSet;

	const NOW: Moment = 1_700_000_000_000;
	const PARAMETERS: H256 = H256::repeat_byte(1);

	/// A directory of workers with these bytes of memory, and their identities.
	fn directory(memory: &[u64]) -> (Directory, Vec<PeerId>) {
		let mut directory = Directory::new(H256::zero(), AccountId::new([255; 32]));
		let mut peers = Vec::new();
		for (number, memory) in (0..).zip(memory) {
			let peer = PeerId::random();
			let (_, addresses) = PeerAddress::new(peer, ["/ip4/127.0.0.1/udp/7/quic-v1".parse().unwrap()]).to_bytes();
			let holdings = Holdings {
				addresses: Addresses::truncate_from(addresses.into_iter().map(|bytes| bytes.try_into().unwrap()).collect()),
				speed: MachineSpeed { flops: 1, bytes: 1 },
				memory: *memory,
				held: Default::default(),
				checkpoints: Checkpoints::truncate_from(vec![PARAMETERS]),
				ways: Default::default(),
			};
			let announcement = Announcement {
				provider: AccountId::new([number; 32]),
				key: [0; 33],
				peer: PeerIdBytes::truncate_from(peer.to_bytes()),
				sequence: 1,
				issued_at: NOW,
				lifetime: 900,
				holdings: Some(holdings),
			};
			directory.note_own(Arc::new(SignedAnnouncement { announcement, signature: [0; 65] }), NOW);
			peers.push(peer);
		}
		(directory, peers)
	}

	fn wanted(seed: u8) -> Wanted {
		Wanted { parameters: PARAMETERS, needed: 1 << 30, seed: [seed; 32] }
	}

	fn peers(found: Vec<PeerAddress>) -> HashSet<PeerId> {
		found.into_iter().map(|found| found.peer).collect()
	}

	#[test]
	fn no_claim_of_memory_hides_anybody() {
		let memory = [&[1 << 30; 8][..], &[u64::MAX; 56]].concat();
		let (directory, known) = directory(&memory);
		// Half of 64 are found, and a claim of more than is needed is worth no more: 4 of 8 as a rule, and none of them once in 400 draws.
		let honest =
			|seed| peers(holders(&directory, NOW, &wanted(seed), &|_| true)).iter().filter(|peer| known[..8].contains(peer)).count();
		let found: usize = (0..100).map(honest).sum();
		assert!((300..500).contains(&found), "{found}");
		// Of those who were tried, nobody takes another one's place.
		let left = peers(holders(&directory, NOW, &wanted(0), &|peer| !known[8..].contains(peer)));
		assert_eq!(left, known[..8].iter().copied().collect());
	}

	#[test]
	fn who_has_more_memory_of_what_is_needed_is_found_more_often() {
		let memory = [&[1 << 30; 32][..], &[1 << 20; 32]].concat();
		let (directory, known) = directory(&memory);
		let found = holders(&directory, NOW, &wanted(1), &|_| true);
		assert_eq!(found.len(), MOST_FOUND);
		assert!(peers(found).iter().filter(|peer| known[..32].contains(peer)).count() > 24);
	}

	#[test]
	fn lots_stay_for_a_minute() {
		let (directory, _) = directory(&[1 << 30; 40]);
		let (begin, at) = (NOW - NOW % DRAW_MS, |now| holders(&directory, now, &wanted(1), &|_| true));
		let first = at(begin + DRAW_MS);
		assert_eq!(first, at(begin + 2 * DRAW_MS - 1));
		assert_ne!(first, at(begin + 2 * DRAW_MS));
	}

	#[test]
	fn one_rests_until_its_time_is_over_and_no_more_do_than_there_is_room_for() {
		let (resting, now, second) = (Resting::default(), Instant::now(), Duration::from_secs(1));
		let [one, other] = [PeerId::random(), PeerId::random()];
		resting.rest(one, now, second * 9);
		// It stays as long as it was to before.
		resting.rest(one, now, second);
		resting.rest(other, now, second * 5);
		assert!(resting.has(&one, now + second * 8) && !resting.has(&one, now + second * 9));
		resting.end(&other);
		assert!(!resting.has(&other, now));
		for _ in 1..MOST_RESTING {
			resting.rest(PeerId::random(), now, second * 60);
		}
		resting.rest(other, now, second * 60);
		assert!(resting.has(&other, now) && !resting.has(&one, now));
		assert_eq!(resting.all().len(), MOST_RESTING);
	}
}
