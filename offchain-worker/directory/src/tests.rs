//! What the directory takes, keeps and forgets, and when a worker announces itself.

use crate::*;
use codec::Encode;
use neuroshard_types::{
	announcement::{
		tag_of, Announcement, Held, Holdings, MachineSpeed, Malformed, SignedAnnouncement, Way, Ways, MAX_SKEW_MS, MAX_WAYS,
		MIN_INTERVAL_MS,
	},
	inference::Class,
	provider::{Addresses, PeerIdBytes},
	AccountId, Moment, H256,
};
use proptest::prelude::*;
use sp_core::{ecdsa, Pair};

const GENESIS: H256 = H256::repeat_byte(7);
const START: Moment = 1_700_000_000_000;
/// As in [`neuroshard_types::announcement::MAX_LIFETIME_S`].
const LIFETIME: Moment = 900_000;

fn account(seed: u8) -> AccountId {
	AccountId::new([seed; 32])
}

fn pair(seed: u8) -> ecdsa::Pair {
	ecdsa::Pair::from_seed(&[seed + 1; 32])
}

fn peer(seed: u8) -> PeerIdBytes {
	PeerIdBytes::truncate_from(vec![seed; 38])
}

fn tag(seed: u8) -> [u8; 8] {
	tag_of(&peer(seed))
}

fn registered(seed: u8) -> Registered {
	Registered { key: pair(seed).public().0, peer: peer(seed) }
}

/// What the chain of these tests has registered: accounts of one byte repeated, up to 199.
fn chain(account: &AccountId) -> Option<Registered> {
	let bytes: &[u8; 32] = account.as_ref();
	(bytes[0] < 200).then(|| registered(bytes[0]))
}

fn holdings() -> Holdings {
	Holdings {
		addresses: Addresses::default(),
		speed: MachineSpeed { flops: 1_000_000_000_000, bytes: 20_000_000_000 },
		memory: 8 << 30,
		held: Vec::new().try_into().unwrap(),
		checkpoints: Vec::new().try_into().unwrap(),
		ways: Ways::default(),
	}
}

fn announcement(seed: u8, sequence: u64, issued_at: Moment) -> Announcement {
	let Registered { key, peer } = registered(seed);
	Announcement { provider: account(seed), key, peer, sequence, issued_at, lifetime: 900, holdings: Some(holdings()) }
}

fn farewell(seed: u8, sequence: u64, issued_at: Moment) -> Announcement {
	Announcement { lifetime: 0, holdings: None, ..announcement(seed, sequence, issued_at) }
}

fn signed_by(seed: u8, announcement: Announcement) -> Vec<u8> {
	let signature = pair(seed).sign(&announcement.message(GENESIS)).0;
	SignedAnnouncement { announcement, signature }.encode()
}

fn signed(announcement: Announcement) -> Vec<u8> {
	let bytes: &[u8; 32] = announcement.provider.as_ref();
	signed_by(bytes[0], announcement)
}

fn directory() -> Directory {
	Directory::new(GENESIS, account(0))
}

fn names(directory: &Directory, now: Moment) -> Vec<AccountId> {
	directory.members(now).map(|member| member.account().clone()).collect()
}

#[test]
fn a_provider_is_there_from_its_announcement_until_that_expires() {
	let mut directory = directory();
	assert_eq!(directory.take(&signed(announcement(1, 1, START)), START + 5, chain), Ok(News::Arrived));
	assert_eq!(names(&directory, START + LIFETIME - 1), [account(1)]);
	assert!(names(&directory, START + LIFETIME).is_empty());
	// Renewed before that, it stays.
	let later = START + LIFETIME / 2;
	assert_eq!(directory.take(&signed(announcement(1, 2, later)), later, chain), Ok(News::Renewed));
	directory.expire(START + LIFETIME);
	assert_eq!(names(&directory, START + LIFETIME), [account(1)]);
	directory.expire(later + LIFETIME);
	assert!(directory.records.is_empty() && directory.tagged(&tag(1)).is_none());
	assert_eq!(directory.take(&signed(announcement(1, 3, later + LIFETIME)), later + LIFETIME, chain), Ok(News::Arrived));
}

#[test]
fn whoever_says_farewell_is_gone_at_once_and_is_not_brought_back_by_what_it_said_before() {
	let mut directory = directory();
	directory.take(&signed(announcement(1, 5, START)), START, chain).unwrap();
	assert_eq!(directory.take(&signed(farewell(1, 6, START + 1)), START + 1, chain), Ok(News::Left));
	assert!(names(&directory, START + 1).is_empty());
	for old in [announcement(1, 5, START), announcement(1, 4, START - 1_000)] {
		assert_eq!(directory.take(&signed(old), START + 2, chain), Err(Refusal::Old));
	}
	assert_eq!(directory.take(&signed(farewell(1, 7, START + 2)), START + 2, chain), Err(Refusal::TooSoon(MIN_INTERVAL_MS - 1)));
	let back = START + 1 + MIN_INTERVAL_MS;
	assert_eq!(directory.take(&signed(announcement(1, 8, back)), back, chain), Ok(News::Arrived));
	// Nor does anybody go back in time to say farewell once more.
	let later = START + 3 * MIN_INTERVAL_MS;
	directory.take(&signed(announcement(1, 30, later)), later, chain).unwrap();
	assert_eq!(directory.take(&signed(farewell(1, 31, START + 3)), later, chain), Err(Refusal::Old));
	// A farewell of somebody who was not known is remembered as well, since what came before it may be under way.
	assert_eq!(directory.take(&signed(farewell(2, 6, START)), START, chain), Ok(News::Left));
	assert_eq!(directory.take(&signed(announcement(2, 5, START - 1)), START, chain), Err(Refusal::Old));
}

#[test]
fn false_announcements_are_told_from_those_that_only_this_worker_does_not_take() {
	let mut directory = directory();
	let mut refuse = |bytes: &[u8]| {
		let refusal = directory.take(bytes, START, chain).unwrap_err();
		assert!(!refusal.to_string().is_empty());
		(refusal, refusal.is_false())
	};
	assert_eq!(refuse(&[1, 2, 3]), (Refusal::False(Malformed::Encoding), true));
	let mut zero = announcement(1, 1, START);
	zero.holdings.as_mut().unwrap().speed.flops = 0;
	assert_eq!(refuse(&signed(zero)), (Refusal::False(Malformed::Range), true));
	assert_eq!(refuse(&signed_by(2, announcement(1, 1, START))), (Refusal::False(Malformed::Signature), true));
	let of_another_chain = {
		let announcement = announcement(1, 1, START);
		let signature = pair(1).sign(&announcement.message(H256::zero())).0;
		SignedAnnouncement { announcement, signature }.encode()
	};
	assert_eq!(refuse(&of_another_chain), (Refusal::False(Malformed::Signature), true));
	assert_eq!(refuse(&signed(announcement(0, 1, START))), (Refusal::Own, false));
	assert_eq!(refuse(&signed(announcement(200, 1, START))), (Refusal::Stranger, false));
	let other_peer = Announcement { peer: peer(9), ..announcement(1, 1, START) };
	assert_eq!(refuse(&signed(other_peer)), (Refusal::Unregistered, false));
	let other_key = Announcement { key: pair(2).public().0, ..announcement(1, 1, START) };
	assert_eq!(refuse(&signed_by(2, other_key)), (Refusal::Unregistered, false));
	assert_eq!(refuse(&signed(announcement(1, 1, START - LIFETIME))), (Refusal::Expired(0), false));
	assert_eq!(refuse(&signed(announcement(1, 1, START + MAX_SKEW_MS + 1))), (Refusal::Future(MAX_SKEW_MS + 1), false));
	assert!(names(&directory, START).is_empty());
	assert_eq!(directory.take(&signed(announcement(1, 1, START + MAX_SKEW_MS)), START, chain), Ok(News::Arrived));
}

#[test]
fn what_comes_too_soon_after_the_last_one_is_not_taken() {
	let mut directory = directory();
	directory.take(&signed(announcement(1, 1, START)), START, chain).unwrap();
	let hurried = announcement(1, 2, START + MIN_INTERVAL_MS - 1);
	assert_eq!(directory.take(&signed(hurried), START + MIN_INTERVAL_MS, chain), Err(Refusal::TooSoon(1)));
	let patient = announcement(1, 3, START + MIN_INTERVAL_MS);
	assert_eq!(directory.take(&signed(patient), START + MIN_INTERVAL_MS, chain), Ok(News::Renewed));
}

#[test]
fn a_full_directory_forgets_who_has_left_and_then_who_was_heard_longest_ago_but_never_itself() {
	let mut directory = Directory::remembering(GENESIS, account(0), 3);
	directory.note_own(std::sync::Arc::new(SignedAnnouncement { announcement: announcement(0, 1, START), signature: [0; 65] }), START);
	for (seed, at) in [(1, 10), (2, 20)] {
		directory.take(&signed(announcement(seed, 1, START + at)), START + at, chain).unwrap();
	}
	directory.take(&signed(announcement(3, 1, START + 30)), START + 30, chain).unwrap();
	assert_eq!(names(&directory, START + 30), [account(0), account(2), account(3)]);
	assert_eq!(directory.take(&signed(announcement(4, 1, START + 15)), START + 30, chain), Err(Refusal::Full));
	directory.take(&signed(farewell(3, 2, START + 40)), START + 40, chain).unwrap();
	directory.take(&signed(announcement(5, 1, START + 5)), START + 40, chain).unwrap();
	assert_eq!(names(&directory, START + 40), [account(0), account(2), account(5)]);
	assert_eq!((directory.tagged(&tag(3)), directory.tagged(&tag(5))), (None, Some(&account(5))));
}

#[test]
fn a_peer_that_moves_to_another_account_is_found_by_that_once_the_old_one_is_forgotten() {
	let mut directory = directory();
	let moved = |_: &AccountId| Some(Registered { peer: peer(1), ..registered(2) });
	let of_two = |sequence, at| Announcement { peer: peer(1), ..announcement(2, sequence, at) };
	directory.take(&signed(announcement(1, 1, START)), START, chain).unwrap();
	directory.take(&signed(of_two(1, START + 1)), START + 1, moved).unwrap();
	assert_eq!(directory.tagged(&tag(1)), Some(&account(1)));
	directory.forget(&account(1));
	assert_eq!(directory.take(&signed(of_two(2, START + 60_000)), START + 60_000, moved), Ok(News::Renewed));
	assert_eq!(directory.tagged(&tag(1)), Some(&account(2)));
	// And with another peer it is found by that one only.
	let back = START + 120_000;
	directory.take(&signed(announcement(2, 3, back)), back, chain).unwrap();
	assert_eq!((directory.tagged(&tag(1)), directory.tagged(&tag(2))), (None, Some(&account(2))));
}

#[test]
fn spans_that_adjoin_hold_what_lies_across_them() {
	let held = |root: u8, first, parts| Held { parameters: H256::repeat_byte(root), class: Class::ExactF32, first, parts };
	let mut directory = directory();
	for (seed, spans) in [(1, vec![held(1, 4, 2), held(1, 0, 4)]), (2, vec![held(1, 0, 3), held(1, 4, 4)]), (3, vec![held(2, 0, 9)])] {
		let mut one = announcement(seed, 1, START);
		let holdings = one.holdings.as_mut().unwrap();
		holdings.held = spans.try_into().unwrap();
		holdings.checkpoints = vec![H256::repeat_byte(seed)].try_into().unwrap();
		directory.take(&signed(one), START, chain).unwrap();
	}
	let of = |members: &mut dyn Iterator<Item = Member>| members.map(|member| member.account().clone()).collect::<Vec<_>>();
	let span = held(1, 2, 3);
	assert_eq!(of(&mut directory.holding(&span, START)), [account(1)]);
	assert_eq!(of(&mut directory.lacking(&span, START)), [account(2), account(3)]);
	assert!(of(&mut directory.holding(&span, START + LIFETIME)).is_empty());
	assert!(directory.member(&account(3), START).unwrap().has(&H256::repeat_byte(3)));
	assert!(!directory.member(&account(3), START).unwrap().has(&H256::repeat_byte(1)));
}

#[test]
fn the_worse_of_what_both_ends_say_counts_and_a_third_member_helps_where_neither_says_anything() {
	let mut directory = directory();
	let way = |to: u8, ms: u64, bandwidth: Option<u64>| Way::of(tag(to), ms * 1_000, bandwidth);
	let megabytes = |count: u64| Some(count * 64 * 16_384);
	let rows = [
		(1, vec![way(2, 10, megabytes(5)), way(3, 20, None)]),
		(2, vec![way(1, 30, megabytes(8))]),
		// A way to itself, and one to somebody that is not known, are none.
		(3, vec![way(3, 1, None), way(77, 1, None)]),
		(4, vec![]),
	];
	for (seed, row) in rows {
		let mut one = announcement(seed, 1, START);
		one.holdings.as_mut().unwrap().ways = row.try_into().unwrap();
		directory.take(&signed(one), START, chain).unwrap();
	}
	let matrix = directory.matrix(&[account(2), account(1), account(3), account(4), account(99)], START);
	let route = |latency: f64, bandwidth: f64, measured| Some(Route { latency, bandwidth, measured });
	assert_eq!(matrix.size(), 5);
	for (from, to) in [(0, 1), (1, 0)] {
		assert_eq!(matrix.get(from, to), route(0.015, 5.0 * 1_048_576.0, true));
	}
	for (from, to) in [(1, 2), (2, 1)] {
		assert_eq!(matrix.get(from, to), route(0.01, ASSUMED_BANDWIDTH, true));
	}
	for (from, to) in [(0, 2), (2, 0)] {
		assert_eq!(matrix.get(from, to), route(0.025, ASSUMED_BANDWIDTH, false), "by way of the first");
	}
	for other in 0..6 {
		assert_eq!([matrix.get(3, other), matrix.get(other, 3), matrix.get(4, other), matrix.get(other, other)], [None; 4]);
	}
}

#[test]
fn a_row_has_the_nearest_ways_that_are_not_too_old() {
	let measured = |seed: u8, ms: u64, age_s| Measured { peer: peer(seed).into_inner(), rtt_us: ms * 1_000, bandwidth: None, age_s };
	let many = (1..=100).map(|seed| measured(seed, 200 - u64::from(seed), 0));
	let announced = row(many.chain([measured(101, 1, MAX_AGE_S + 1), measured(102, 1, MAX_AGE_S), measured(100, 500, 0)]));
	assert_eq!(announced.len(), MAX_WAYS as usize);
	let mut expected: Vec<_> = (38..=100).chain([102]).map(tag).collect();
	expected.sort_unstable();
	assert_eq!(announced.iter().map(|way| way.to).collect::<Vec<_>>(), expected);
	assert_eq!(announced.iter().find(|way| way.to == tag(100)).unwrap().rtt_us(), 100_000, "of two measurements the shorter");
}

fn announcer() -> Announcer {
	let Registered { key, peer } = registered(1);
	Announcer::new(account(1), key, peer)
}

#[test]
fn a_worker_repeats_itself_after_half_a_lifetime_at_the_latest_and_four_fifths_of_that_at_the_earliest() {
	for (chance, wait) in [(0, 450_000), (u64::MAX, 360_000)] {
		let mut announcer = announcer();
		assert!(announcer.is_due(&holdings(), START, 0));
		let first = announcer.announce(holdings(), START, chance);
		assert_eq!((first.sequence, first.issued_at, first.lifetime), (START, START, 900));
		assert!(!announcer.is_due(&holdings(), START + wait - 1, 0), "{chance}");
		assert!(announcer.is_due(&holdings(), START + wait, 0), "{chance}");
		// The clock was set back: numbers rise all the same.
		assert_eq!(announcer.announce(holdings(), START - 5, chance).sequence, START + 1);
		assert_eq!(announcer.farewell(START).map(|last| (last.sequence, last.lifetime, last.holdings)), Some((START + 2, 0, None)));
		assert_eq!(announcer.farewell(START), None);
	}
}

#[test]
fn a_change_is_announced_within_a_minute_but_not_sooner_than_is_allowed_nor_if_it_is_undone() {
	let changed = Holdings { memory: 1 << 30, ..holdings() };
	let mut one = announcer();
	one.announce(holdings(), START, 0);
	assert!(!one.is_due(&changed, START + 1_000, 0));
	assert!(!one.is_due(&changed, START + MIN_INTERVAL_MS - 1, u64::MAX));
	assert!(one.is_due(&changed, START + MIN_INTERVAL_MS, u64::MAX), "the time was drawn when it was noticed");

	let mut late = announcer();
	late.announce(holdings(), START, 0);
	let noticed = START + 2 * MIN_INTERVAL_MS;
	assert!(!late.is_due(&changed, noticed, u64::MAX));
	assert!(!late.is_due(&changed, noticed + MIN_INTERVAL_MS - 1, 0));
	assert!(late.is_due(&changed, noticed + MIN_INTERVAL_MS, 0));
	assert!(!late.is_due(&holdings(), noticed + MIN_INTERVAL_MS, 0), "it has changed back");
	late.announce(changed.clone(), noticed + MIN_INTERVAL_MS, 0);
	assert!(!late.is_due(&changed, noticed + 2 * MIN_INTERVAL_MS, 0), "it has been said");
}

#[test]
fn small_changes_are_none_and_large_ones_are() {
	let ways = |times: &[u64]| -> Ways {
		(1..).zip(times).map(|(seed, ms)| Way::of(tag(seed), ms * 1_000, None)).collect::<Vec<_>>().try_into().unwrap()
	};
	let with = |change: &dyn Fn(&mut Holdings)| {
		let mut then = holdings();
		then.ways = ways(&[10, 20, 30, 40]);
		let mut now = then.clone();
		change(&mut now);
		is_changed(&then, &now)
	};
	assert!(!with(&|_| {}));
	assert!(!with(&|all| all.speed.flops = 800_000_000_000) && with(&|all| all.speed.flops = 799_999_999_999));
	assert!(!with(&|all| all.memory = 10 << 30) && with(&|all| all.memory = 11 << 30));
	assert!(with(&|all| all.checkpoints = vec![H256::zero()].try_into().unwrap()));
	let held = Held { parameters: H256::zero(), class: Class::ExactF32, first: 0, parts: 1 };
	assert!(with(&|all| all.held = vec![held].try_into().unwrap()));
	assert!(with(&|all| all.addresses = vec![vec![1].try_into().unwrap()].try_into().unwrap()));
	// One of four, and two of four.
	assert!(!with(&|all| all.ways = ways(&[10, 20, 30, 90])) && with(&|all| all.ways = ways(&[10, 20, 90, 90])));
	assert!(!with(&|all| all.ways = ways(&[14, 24, 34, 44])), "4 ms are noise");
	assert!(with(&|all| all.ways = ways(&[10, 20, 30, 40, 50, 60])) && with(&|all| all.ways = Ways::default()));
}

/// What happens to a directory: who announces, with which number, when it was issued, and whether it is a farewell.
type Step = (u8, u64, Moment, bool);

proptest! {
	#[test]
	fn whatever_comes_in_whatever_order_bounds_hold_and_nobody_is_there_longer_than_its_newest_announcement(
		steps in prop::collection::vec((1u8..8, 1u64..20, 0u64..2_000_000, any::<bool>()), 1..60),
		most in 1usize..10,
	) {
		let mut directory = Directory::remembering(GENESIS, account(0), most);
		let mut newest = std::collections::BTreeMap::<u8, (u64, Moment, bool)>::new();
		let mut now = START;
		for (seed, sequence, issued, bye) in steps as Vec<Step> {
			// Time goes on, and what is issued reaches the directory a little later.
			now = now.max(START + issued);
			let issued_at = START + issued;
			let one = if bye { farewell(seed, sequence, issued_at) } else { announcement(seed, sequence, issued_at) };
			if directory.take(&signed(one), now, chain).is_ok() {
				let before = newest.insert(seed, (sequence, issued_at, bye));
				// Numbers rise for as long as something earlier could hold.
				if let Some((number, at, _)) = before.filter(|(_, at, _)| at + LIFETIME > now && most >= 7) {
					prop_assert!(number < sequence, "{number} at {at}");
				}
			}
			directory.expire(now);
			prop_assert!(directory.records.len() <= most);
			for member in directory.members(now) {
				let bytes: &[u8; 32] = member.account().as_ref();
				let (sequence, issued_at, bye) = newest[&bytes[0]];
				prop_assert_eq!(member.announcement.sequence, sequence);
				prop_assert!(!bye && now < issued_at + LIFETIME);
				prop_assert_eq!(directory.tagged(&tag(bytes[0])), Some(member.account()));
			}
		}
	}

	#[test]
	fn bytes_of_any_kind_are_refused_and_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..5_000)) {
		let mut directory = directory();
		prop_assert!(directory.take(&bytes, START, chain).is_err_and(|refusal| refusal.is_false()));
		prop_assert_eq!(directory.members(START).count(), 0);
	}
}
