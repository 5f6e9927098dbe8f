//! A thousand members find each other by what they announce, form a ring, and find each other and a ring again when a tenth leaves, another joins, and
//! another gets slow.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use neuroshard_directory::REPEAT_MS;
use neuroshard_network::MESH_HIGH;
use neuroshard_ring::placement::{
	replacement::{Broken, Cause, REST_S},
	End, Layer, Model, Work,
};
use neuroshard_sim::members::{Driver, Members, Traffic};
use neuroshard_types::{
	announcement::{MAX_LIFETIME_S, MIN_INTERVAL_MS},
	Moment, H256,
};
use std::collections::BTreeSet;

const MEMBERS: usize = 1_000;
const PARAMETERS: H256 = H256::repeat_byte(9);
const SECOND: Moment = 1_000;
const MINUTE: Moment = 60 * SECOND;
/// All who come at one time have come after it.
const COMING: Moment = MINUTE;
/// A message has reached everybody after it: ten hops of a tenth of a second, rounded up, and the look before.
const SPREAD: Moment = 15 * SECOND;
/// All have announced themselves again after it, and everybody has heard it: every live member is known to every other.
const SETTLED: Moment = COMING + REPEAT_MS + SPREAD;
/// Whoever has vanished without a farewell is forgotten after it.
const LIFETIME: Moment = MAX_LIFETIME_S as Moment * SECOND;

/// A model of 32 layers of 1 GiB, which no machine of these holds alone.
fn model() -> Model {
	let layer = Layer {
		memory: 1 << 30,
		attention: Work { flops: 200_000_000, bytes: 300 << 20 },
		mlp: Work { flops: 400_000_000, bytes: 700 << 20 },
	};
	let head = Work { flops: 500_000_000, bytes: 250 << 20 };
	Model {
		embedding: End { memory: 0, work: Work::default() },
		layers: vec![layer; 32],
		head: End { memory: 256 << 20, work: head },
		shared: 0,
		row: 16_384,
		token: 4,
		batch: 1,
	}
}

/// Pairs of which the first should know the second and does not, at most ten.
fn strangers(members: &Members) -> Vec<(usize, usize)> {
	let up = members.up();
	let pairs = up.iter().flat_map(|who| up.iter().map(move |other| (*who, *other)));
	pairs.filter(|(who, other)| !members.knows(*who, *other)).take(10).collect()
}

/// Pairs of which the first is up and knows the second, which is gone; at most ten.
fn haunted(members: &Members, gone: &[usize]) -> Vec<(usize, usize)> {
	let up = members.up();
	let pairs = up.iter().flat_map(|who| gone.iter().map(move |other| (*who, *other)));
	pairs.filter(|(who, other)| members.knows(*who, *other)).take(10).collect()
}

/// Goes on for `ms`, while the driver looks at its ring every minute; returns the most traffic of a member in one of these minutes, and the most in all.
fn go_on(members: &mut Members, driver: &mut Driver, ms: Moment) -> [Traffic; 2] {
	let (mut most, mut all) = (Traffic::default(), Vec::new());
	members.take_traffic();
	for _ in 0..ms / MINUTE {
		members.run(MINUTE);
		driver.look(members).unwrap();
		let minute = members.take_traffic();
		all.resize(minute.len(), Traffic::default());
		all = all.into_iter().zip(&minute).map(|(sum, one)| sum.and(*one)).collect();
		most = minute.into_iter().fold(most, Traffic::larger);
	}
	members.run(ms % MINUTE);
	[most, all.into_iter().fold(Traffic::default(), Traffic::larger)]
}

#[test]
fn a_thousand_members_find_each_other_and_a_ring_and_again_after_a_tenth_leaves_joins_and_slows_down() {
	let mut members = Members::new(MEMBERS, COMING, PARAMETERS, 1);
	members.run(SETTLED);
	assert_eq!((members.up().len(), strangers(&members)), (MEMBERS, vec![]));

	// While nothing happens, a ring stays where it was placed, and each repeats itself every six minutes at the most often.
	let mut driver = Driver::new(0, model(), PARAMETERS);
	driver.look(&members).unwrap();
	let ring = driver.names();
	assert!(ring.len() >= 3, "no three machines have 32 GiB: {ring:?}");
	let [most, all] = go_on(&mut members, &mut driver, 12 * MINUTE);
	assert_eq!((driver.moves.len(), driver.names(), strangers(&members)), (0, ring.clone(), vec![]));
	let in_a_minute = |announcements: u64| announcements * MESH_HIGH as u64 * members.longest();
	assert!(
		members.longest() <= 1_100,
		"account, key, peer, numbers and signature 190, a row of 64 ways 770, and a root: {}",
		members.longest()
	);
	let once_each = in_a_minute(MEMBERS as u64);
	assert!(most.received <= once_each && most.sent <= once_each, "{most:?}, {once_each}");
	let twice = 2 * once_each;
	assert!(all.received <= twice && all.sent <= twice, "in 12 minutes: {all:?}, {twice}");
	// The bound on what one may cause, whatever changes: an announcement and a farewell of each in every interval.
	let bound = in_a_minute(MEMBERS as u64 * 11 / 10 * 2 * (MINUTE / MIN_INTERVAL_MS));

	// A tenth leaves, one half with a farewell; a tenth gets four times slower; a tenth comes. The ring loses a member, and another one gets slow.
	let began = members.now();
	let in_ring: Vec<usize> = ring.iter().map(|name| members.named(name).unwrap()).filter(|who| *who != 0).collect();
	let others: Vec<usize> = (1..MEMBERS).filter(|who| !in_ring.contains(who)).step_by(4).collect();
	let leaving: Vec<usize> = others[..1].iter().chain(&in_ring[..1]).chain(&others[1..99]).copied().collect();
	let slowing: Vec<usize> = in_ring[1..2].iter().chain(&others[100..199]).copied().collect();
	leaving.iter().enumerate().for_each(|(place, who)| members.leave(*who, !place.is_multiple_of(2)));
	slowing.iter().for_each(|who| members.slow(*who, 4));
	let coming = members.add(100, COMING, PARAMETERS);
	go_on(&mut members, &mut driver, SPREAD);
	let polite: Vec<usize> = leaving.iter().copied().skip(1).step_by(2).collect();
	assert_eq!(haunted(&members, &polite), [], "who said farewell is gone at once");

	let [most, _] = go_on(&mut members, &mut driver, SETTLED);
	assert!(most.received <= bound && most.sent <= bound, "{most:?}, {bound}");
	assert_eq!(members.up().len(), MEMBERS);
	assert_eq!((strangers(&members), coming.len()), (vec![], 100));
	go_on(&mut members, &mut driver, LIFETIME - SETTLED);
	assert_eq!(haunted(&members, &leaving), [], "who vanished is forgotten after a lifetime");

	// The ring has lost a member at once. Then it rests, and moves away from the one that got slow if that is worth it. Then it stays.
	let settles = LIFETIME + REST_S as Moment * SECOND + 2 * MINUTE;
	let rest = settles.saturating_sub(members.now() - began);
	go_on(&mut members, &mut driver, rest);
	let moves = driver.moves.clone();
	let lost = &ring.iter().find(|name| members.named(name) == Some(in_ring[0])).unwrap()[..];
	assert!(matches!(&moves[0].cause, Cause::Broken(Broken::Gone(names)) if *names == [lost]), "{moves:?}");
	assert!(moves[0].at <= began + SPREAD + MINUTE && moves.len() <= 3, "{moves:?}");
	go_on(&mut members, &mut driver, 10 * MINUTE);
	assert_eq!(driver.moves, moves, "it has settled");
	let gone: BTreeSet<usize> = leaving.into_iter().collect();
	assert!(driver.names().iter().all(|name| !gone.contains(&members.named(name).unwrap())));
}
