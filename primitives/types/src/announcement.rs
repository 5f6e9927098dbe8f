//! Announcements: what a provider tells all others, off chain, so that they can form rings with it.
//!
//! An announcement is a whole: a later one replaces it. It holds for its lifetime and is repeated before that is over. One with a lifetime of zero is a
//! farewell. Peers pass announcements on, so that each carries the key that signed it: whoever gets one can tell a forged one from one of an account that
//! it does not know yet.

use crate::{
	proof::ProofSignature,
	provider::{Addresses, PeerIdBytes, PonwKey},
	AccountId, Moment, H256,
};
use alloc::vec::Vec;
use codec::{Decode, DecodeAll, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_graph::{merkle::blake2_256, Class};
use sp_core::{bounded::BoundedVec, ecdsa, ConstU32};
use sp_runtime::traits::Verify;

/// Most bytes of an encoded [`SignedAnnouncement`]: what the bounds of its fields add up to, rounded up.
pub const MAX_ANNOUNCEMENT: usize = 4_096;
/// Longest lifetime, in seconds. A provider that vanishes without a farewell is gone after it.
pub const MAX_LIFETIME_S: u16 = 900;
/// Least time from one announcement of a provider to the next, in milliseconds, farewells excepted. What comes sooner is not passed on.
pub const MIN_INTERVAL_MS: Moment = 30_000;
/// How much later than the reader's clock an announcement may be issued, in milliseconds.
pub const MAX_SKEW_MS: Moment = 30_000;
/// Most spans of an announcement.
pub const MAX_HELD: u32 = 16;
/// Most checkpoints of an announcement.
pub const MAX_CHECKPOINTS: u32 = 32;
/// Most ways of an announcement: a row of the matrix of all ways between providers.
pub const MAX_WAYS: u32 = 64;
/// Most operations a second that can be announced: [`MAX_GFLOPS`](crate::provider::MAX_GFLOPS), which is the most that can be registered.
pub const MAX_FLOPS: u64 = 1_000_000 * 1_000_000_000;
/// Most bytes a second of memory that can be announced: more than any machine reads.
pub const MAX_MEMORY_RATE: u64 = 1_000_000_000_000_000;
/// Unit of [`Way::rtt`], in microseconds.
pub const RTT_UNIT_US: u64 = 100;
/// Unit of [`Way::bandwidth`], in bytes a second.
pub const BANDWIDTH_UNIT: u64 = 16 * 1024;

/// A peer in few bytes: the first eight of the Blake2-256 hash of its peer id.
pub type PeerTag = [u8; 8];

/// The tag of a peer.
pub fn tag_of(peer: &[u8]) -> PeerTag {
	let [a, b, c, d, e, f, g, h, ..] = blake2_256(peer);
	[a, b, c, d, e, f, g, h]
}

/// Measured way to another provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen)]
pub struct Way {
	/// To whom.
	pub to: PeerTag,
	/// Time there and back in units of [`RTT_UNIT_US`], at least 1.
	pub rtt: u16,
	/// Bandwidth from there to here in units of [`BANDWIDTH_UNIT`]; 0 if it was not measured.
	pub bandwidth: u16,
}

impl Way {
	/// A way, rounded to its units: microseconds there and back, and bytes a second if they were measured. What is beyond the largest number counts as it.
	pub fn of(to: PeerTag, rtt_us: u64, bandwidth: Option<u64>) -> Self {
		let units = |value: u64, unit: u64| u16::try_from(value.saturating_add(unit / 2) / unit).unwrap_or(u16::MAX).max(1);
		Self { to, rtt: units(rtt_us, RTT_UNIT_US), bandwidth: bandwidth.map_or(0, |bytes| units(bytes, BANDWIDTH_UNIT)) }
	}

	/// Microseconds there and back.
	pub fn rtt_us(&self) -> u64 {
		u64::from(self.rtt).saturating_mul(RTT_UNIT_US)
	}

	/// Bytes a second from there to here, if they were measured.
	pub fn bytes_per_second(&self) -> Option<u64> {
		(self.bandwidth > 0).then(|| u64::from(self.bandwidth).saturating_mul(BANDWIDTH_UNIT))
	}
}

/// Span of a model that a provider holds in memory. The parts of a model are counted from 0: its embedding, each of its layers, and its head.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen)]
pub struct Held {
	/// Root of the parameters.
	pub parameters: H256,
	/// Class of the arithmetic.
	pub class: Class,
	/// First part.
	pub first: u16,
	/// Number of parts, at least one.
	pub parts: u16,
}

impl Held {
	/// The part after the last one.
	pub fn end(&self) -> u32 {
		u32::from(self.first).saturating_add(self.parts.into())
	}

	/// Returns whether it has all parts of `other`, of the same model in the same class.
	pub fn covers(&self, other: &Self) -> bool {
		(self.parameters, self.class) == (other.parameters, other.class) && self.first <= other.first && other.end() <= self.end()
	}
}

/// Measured speed of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen)]
pub struct MachineSpeed {
	/// Operations a second in products of many rows, at least 1.
	pub flops: u64,
	/// Bytes a second that it reads from memory, at least 1.
	pub bytes: u64,
}

/// Spans of an announcement.
pub type HeldSpans = BoundedVec<Held, ConstU32<MAX_HELD>>;
/// Roots of parameters of an announcement.
pub type Checkpoints = BoundedVec<H256, ConstU32<MAX_CHECKPOINTS>>;
/// Ways of an announcement.
pub type Ways = BoundedVec<Way, ConstU32<MAX_WAYS>>;

/// What a provider has.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen)]
pub struct Holdings {
	/// Addresses at which it takes streams of rings; none if it takes none. Where it serves content, the chain says.
	pub addresses: Addresses,
	/// Its speed.
	pub speed: MachineSpeed,
	/// Bytes of memory that are free for further spans.
	pub memory: u64,
	/// Spans that it holds.
	pub held: HeldSpans,
	/// Roots of parameters that it has on disk.
	pub checkpoints: Checkpoints,
	/// Its row of the matrix: ways to others, each named once.
	pub ways: Ways,
}

/// Announcement of a provider.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen)]
pub struct Announcement {
	/// Account of the provider.
	pub provider: AccountId,
	/// Its key for proofs, which signs this.
	pub key: PonwKey,
	/// Its peer id.
	pub peer: PeerIdBytes,
	/// Higher than in all earlier ones, also after a restart.
	pub sequence: u64,
	/// Milliseconds since the Unix epoch.
	pub issued_at: Moment,
	/// Seconds from then on for which it holds, at most [`MAX_LIFETIME_S`]; 0 for a farewell.
	pub lifetime: u16,
	/// What it has; `None` in a farewell.
	pub holdings: Option<Holdings>,
}

/// Why an announcement is false for everybody, whatever they know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
	/// It cannot be decoded, or is too long.
	Encoding,
	/// A number is out of its range.
	Range,
	/// The signature is not one of its key for this chain.
	Signature,
}

impl Announcement {
	/// The bytes that the provider's key for proofs signs.
	pub fn message(&self, genesis: H256) -> Vec<u8> {
		(b"neuroshard/announcement/1", genesis, self).encode()
	}

	/// Returns whether it says that the provider is leaving.
	pub fn is_farewell(&self) -> bool {
		self.lifetime == 0
	}

	/// First moment in which it does not hold any more.
	pub fn expires_at(&self) -> Moment {
		self.issued_at.saturating_add(Moment::from(self.lifetime).saturating_mul(1_000))
	}

	/// Returns whether all numbers are in their ranges.
	pub fn is_in_range(&self) -> bool {
		let Some(holdings) = &self.holdings else { return self.is_farewell() };
		let speed = |value: u64, most: u64| (1..=most).contains(&value);
		let mut tags: Vec<PeerTag> = holdings.ways.iter().map(|way| way.to).collect();
		tags.sort_unstable();
		tags.dedup();
		!self.is_farewell()
			&& self.lifetime <= MAX_LIFETIME_S
			&& speed(holdings.speed.flops, MAX_FLOPS)
			&& speed(holdings.speed.bytes, MAX_MEMORY_RATE)
			&& holdings.held.iter().all(|held| held.parts > 0)
			&& holdings.ways.iter().all(|way| way.rtt > 0)
			&& tags.len() == holdings.ways.len()
	}
}

/// An announcement with its signature.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen)]
pub struct SignedAnnouncement {
	/// The announcement.
	pub announcement: Announcement,
	/// Signature of [`Announcement::message`].
	pub signature: ProofSignature,
}

impl SignedAnnouncement {
	/// Reads an announcement, and checks its numbers. The signature is not looked at.
	///
	/// # Errors
	/// [`Malformed::Encoding`], [`Malformed::Range`].
	pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
		if bytes.len() > MAX_ANNOUNCEMENT {
			return Err(Malformed::Encoding);
		}
		let read = Self::decode_all(&mut &*bytes).map_err(|_| Malformed::Encoding)?;
		match read.announcement.is_in_range() {
			true => Ok(read),
			false => Err(Malformed::Range),
		}
	}

	/// Checks that the key that it names has signed it for the chain with this genesis.
	///
	/// # Errors
	/// [`Malformed::Signature`].
	pub fn check_signature(&self, genesis: H256) -> Result<(), Malformed> {
		let (signature, key) = (ecdsa::Signature::from_raw(self.signature), ecdsa::Public::from_raw(self.announcement.key));
		// It hashes with Blake2-256 before it verifies.
		match signature.verify(&self.announcement.message(genesis)[..], &key) {
			true => Ok(()),
			false => Err(Malformed::Signature),
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use sp_core::Pair;

	const GENESIS: H256 = H256::repeat_byte(7);

	fn holdings() -> Holdings {
		Holdings {
			addresses: Addresses::default(),
			speed: MachineSpeed { flops: 1, bytes: 1 },
			memory: 0,
			held: BoundedVec::default(),
			checkpoints: BoundedVec::default(),
			ways: BoundedVec::default(),
		}
	}

	fn announcement(holdings: Holdings) -> Announcement {
		let (provider, key, peer) = (AccountId::new([1; 32]), [2; 33], PeerIdBytes::truncate_from(vec![3; 38]));
		Announcement { provider, key, peer, sequence: 1, issued_at: 1_000, lifetime: 900, holdings: Some(holdings) }
	}

	fn signed(mut announcement: Announcement, genesis: H256) -> SignedAnnouncement {
		let pair = ecdsa::Pair::from_seed(&[9; 32]);
		announcement.key = pair.public().0;
		let signature = pair.sign(&announcement.message(genesis)).0;
		SignedAnnouncement { announcement, signature }
	}

	#[test]
	fn the_longest_announcement_has_room_in_a_message() {
		// Addresses 1 + 8 * (2 + 128); spans 1 + 16 * 37; checkpoints 1 + 32 * 32; ways 2 + 64 * 12; the rest as it stands here.
		let holdings = 1 + 8 * (2 + 128) + 16 + 8 + (1 + 16 * 37) + (1 + 32 * 32) + (2 + 64 * 12);
		let longest = 32 + 33 + (2 + 64) + 8 + 8 + 2 + (1 + holdings) + 65;
		assert!(longest <= MAX_ANNOUNCEMENT, "{longest}");
		let most = SignedAnnouncement::max_encoded_len();
		assert!((longest..=MAX_ANNOUNCEMENT).contains(&most), "{most}");
	}

	#[test]
	fn only_what_the_key_signed_for_this_chain_is_taken() {
		let good = signed(announcement(holdings()), GENESIS);
		assert_eq!(SignedAnnouncement::read(&good.encode()).unwrap(), good);
		assert_eq!(good.check_signature(GENESIS), Ok(()));
		assert_eq!(good.check_signature(H256::zero()), Err(Malformed::Signature));
		let mut other = good.clone();
		other.announcement.sequence = 2;
		assert_eq!(other.check_signature(GENESIS), Err(Malformed::Signature));
		let mut forged = good.clone();
		forged.announcement.key = ecdsa::Pair::from_seed(&[8; 32]).public().0;
		assert_eq!(forged.check_signature(GENESIS), Err(Malformed::Signature));
		let mut long = good.encode();
		long.push(0);
		assert_eq!(SignedAnnouncement::read(&long), Err(Malformed::Encoding));
		assert_eq!(SignedAnnouncement::read(&[0; MAX_ANNOUNCEMENT + 1]), Err(Malformed::Encoding));
		assert_eq!(SignedAnnouncement::read(&[]), Err(Malformed::Encoding));
	}

	#[test]
	fn numbers_out_of_their_range_are_refused() {
		assert_eq!(MAX_FLOPS, u64::from(crate::provider::MAX_GFLOPS) * 1_000_000_000);
		let way = |to: u8, rtt| Way { to: [to; 8], rtt, bandwidth: 0 };
		let held = |parts| Held { parameters: H256::zero(), class: Class::ExactF32, first: 0, parts };
		let with = |change: &dyn Fn(&mut Holdings)| {
			let mut changed = holdings();
			change(&mut changed);
			announcement(changed).is_in_range()
		};
		assert!(with(&|_| {}));
		assert!(!with(&|all| all.speed.flops = 0) && !with(&|all| all.speed.flops = MAX_FLOPS + 1));
		assert!(!with(&|all| all.speed.bytes = 0) && !with(&|all| all.speed.bytes = MAX_MEMORY_RATE + 1));
		assert!(!with(&|all| all.held = vec![held(0)].try_into().unwrap()) && with(&|all| all.held = vec![held(1)].try_into().unwrap()));
		assert!(!with(&|all| all.ways = vec![way(1, 0)].try_into().unwrap()));
		assert!(!with(&|all| all.ways = vec![way(1, 1), way(1, 2)].try_into().unwrap()));
		assert!(with(&|all| all.ways = vec![way(1, 1), way(2, 1)].try_into().unwrap()));
		let lasting = |lifetime, holdings| Announcement { lifetime, holdings, ..announcement(self::holdings()) }.is_in_range();
		assert!(lasting(900, Some(holdings())) && !lasting(901, Some(holdings())));
		// A farewell has nothing, and nothing else is a farewell.
		assert!(lasting(0, None) && !lasting(0, Some(holdings())) && !lasting(1, None));
	}

	#[test]
	fn ways_are_rounded_to_their_units_and_never_vanish() {
		let way = |rtt, bandwidth| {
			let way = Way::of([0; 8], rtt, bandwidth);
			(way.rtt_us(), way.bytes_per_second())
		};
		assert_eq!(way(0, None), (100, None));
		assert_eq!(way(1_249, Some(0)), (1_200, Some(16_384)));
		assert_eq!(way(1_250, Some(100_000)), (1_300, Some(6 * 16_384)));
		assert_eq!(way(u64::MAX, Some(u64::MAX)), (6_553_500, Some(65_535 * 16_384)));
	}

	#[test]
	fn a_span_covers_what_lies_in_it_of_the_same_model() {
		let span = |root: u8, first, parts| Held { parameters: H256::repeat_byte(root), class: Class::ExactF32, first, parts };
		assert!(span(1, 2, 4).covers(&span(1, 3, 2)) && span(1, 2, 4).covers(&span(1, 2, 4)));
		assert!(!span(1, 2, 4).covers(&span(1, 1, 2)) && !span(1, 2, 4).covers(&span(1, 5, 2)) && !span(1, 2, 4).covers(&span(2, 3, 2)));
		let other = Held { class: Class::ExactInt8, ..span(1, 3, 2) };
		assert!(!span(1, 2, 4).covers(&other));
	}
}
