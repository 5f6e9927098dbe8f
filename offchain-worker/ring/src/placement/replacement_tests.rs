//! When rings move, and whom the directory names as candidates.

use super::{
	replacement::{replacement, seconds_now, Broken, Cause, Decision, Policy, Stay, GAIN, REST_S},
	*,
};
use codec::Encode;
use neuroshard_directory::{Directory, Registered};
use neuroshard_types::{
	announcement::{tag_of, Announcement, Holdings, MachineSpeed, SignedAnnouncement, Way, MAX_ANNOUNCEMENT},
	provider::PeerIdBytes,
	AccountId, H256,
};
use proptest::prelude::*;
use std::{collections::BTreeMap, sync::Arc};

const RESTED: f64 = REST_S + 1.0;

fn node(name: &str, memory: u64, flops: f64) -> Node {
	Node { name: name.into(), memory, speed: Speed { flops, bytes: 1e3 }, reputation: 500, uptime: 1.0, roles: Roles::ALL }
}

/// Four layers of 10 bytes and 100 operations each, and no ends to speak of.
fn model() -> Model {
	let work = |flops| Work { flops, bytes: 0 };
	Model {
		embedding: End::default(),
		layers: vec![Layer { memory: 10, attention: work(40), mlp: work(60) }; 4],
		head: End::default(),
		shared: 0,
		row: 1,
		token: 1,
		batch: 1,
	}
}

fn near(nodes: usize) -> Links {
	Links::new(nodes, |_, _| Some(Link { latency: 0.1, bandwidth: 1e6 })).unwrap()
}

/// Two nodes that have to share the model, and a third one that is slower.
fn three() -> Vec<Node> {
	vec![node("a", 20, 100.0), node("b", 20, 100.0), node("c", 20, 80.0)]
}

fn placed(nodes: &[Node]) -> Placement {
	place(&model(), nodes, &near(nodes.len()), &Request::default()).unwrap()
}

fn decide(nodes: &[Node], current: &Placement, placed_s: f64) -> Decision {
	replacement(&model(), nodes, &near(nodes.len()), current, placed_s, Policy::default()).unwrap()
}

fn names(placement: &Placement) -> Vec<&str> {
	let mut names: Vec<&str> = placement.ring().map(|span| span.name.as_str()).collect();
	names.sort_unstable();
	names
}

#[test]
fn a_ring_stays_while_nothing_changes_in_whatever_order_the_nodes_are_listed() {
	let current = placed(&three());
	assert_eq!(names(&current), ["a", "b"]);
	let mut other = three();
	other.reverse();
	for nodes in [three(), other] {
		let decision = decide(&nodes, &current, RESTED);
		assert_eq!(decision, Decision::Keep(Stay::Best));
		assert_eq!(decision.words(), "The ring stays: none that is faster was found.");
	}
}

#[test]
fn whoever_is_gone_or_has_too_little_memory_is_replaced_at_once() {
	let current = placed(&three());
	let without_b = [three().remove(0), three().remove(2)];
	let Decision::Move { to, now: None, cause: Cause::Broken(broken) } = decide(&without_b, &current, 0.0) else { panic!("it moves") };
	assert_eq!((names(&to), broken), (vec!["a", "c"], Broken::Gone(vec!["b".into()])));

	let mut small = three();
	small[0].memory = 9;
	let Decision::Move { to, now: None, cause: Cause::Broken(broken) } = decide(&small, &current, 0.0) else { panic!("it moves") };
	assert_eq!((names(&to), broken), (vec!["b", "c"], Broken::Short(vec![("a".into(), 11)])));
}

#[test]
fn a_way_that_is_not_known_any_more_is_not_used() {
	let current = placed(&three());
	let apart = Links::new(3, |from, to| (from + to != 1).then_some(Link { latency: 0.1, bandwidth: 1e6 })).unwrap();
	let decision = replacement(&model(), &three(), &apart, &current, 0.0, Policy::default()).unwrap();
	let Decision::Move { to, cause: Cause::Broken(Broken::Apart(from, next)), .. } = decision else { panic!("{decision:?}") };
	assert_ne!(names(&to), ["a", "b"]);
	assert_eq!(BTreeMap::from([(from, ()), (next, ())]).into_keys().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_ring_that_has_nowhere_to_go_stays_and_says_why_it_should_not() {
	let current = placed(&three());
	let decision = decide(&three()[..1], &current, RESTED);
	let Decision::Keep(Stay::Nowhere(PlacementError::Memory { missing: 20, .. }, Some(Broken::Gone(gone)))) = &decision else {
		panic!("{decision:?}")
	};
	assert_eq!(gone, &["b"]);
	assert!(
		decision.words().starts_with("The ring should move, but there is nowhere to go: b is not there any more. "),
		"{}",
		decision.words()
	);
}

#[test]
fn a_member_that_got_slow_is_replaced_after_the_rest_if_that_is_worth_it() {
	let current = placed(&three());
	let slow = |flops: f64| {
		let mut nodes = three();
		nodes[1].speed.flops = flops;
		nodes
	};
	// Two layers each: 2 + 2 + 0.2 s at first, 2 + 2.86 + 0.2 s with 70, where c takes 2.5 s.
	assert!(matches!(decide(&slow(70.0), &current, RESTED), Decision::Keep(Stay::Little(gain)) if (gain - 0.36 / 5.06).abs() < 0.01));
	// 2 + 8 + 0.2 s with 25: c saves 5.5 s.
	let nodes = slow(25.0);
	let Decision::Keep(Stay::Rests(rest)) = decide(&nodes, &current, 100.0) else { panic!("it rests") };
	assert_eq!(rest, REST_S - 100.0);
	let decision = decide(&nodes, &current, RESTED);
	let Decision::Move { to, now: Some(now), cause: Cause::Slower(times) } = &decision else { panic!("{decision:?}") };
	assert_eq!(names(to), ["a", "c"]);
	assert!((now - 10.2).abs() < 1e-4 && (times - 10.2 / 4.2).abs() < 1e-4 && (to.latency - 4.7).abs() < 1e-4, "{decision:?}");
	assert_eq!(decision.words(), "The ring moves: it takes 2.4 times as long as when it was placed. A token takes 54% less.");
	// There, it stays.
	assert_eq!(decide(&nodes, to, RESTED), Decision::Keep(Stay::Best));
}

#[test]
fn a_fast_newcomer_takes_part_after_the_rest() {
	let current = placed(&three());
	let mut nodes = three();
	nodes.push(node("d", 40, 400.0));
	assert!(matches!(decide(&nodes, &current, 0.0), Decision::Keep(Stay::Rests(_))));
	let Decision::Move { to, cause: Cause::Better, .. } = decide(&nodes, &current, RESTED) else { panic!("it moves") };
	assert_eq!(names(&to), ["d"]);
	nodes[3].speed.flops = 101.0;
	nodes[3].memory = 20;
	assert!(matches!(decide(&nodes, &current, RESTED), Decision::Keep(Stay::Best | Stay::Little(_))));
}

#[test]
fn copies_that_are_gone_are_replaced() {
	let request = Request { redundancy: 2, ..Request::default() };
	let nodes: Vec<Node> = ["a", "b", "c", "d", "e"].into_iter().map(|name| node(name, 20, 100.0)).collect();
	let current = place(&model(), &nodes, &near(5), &request).unwrap();
	let copy = current.replicas().next().unwrap().name.clone();
	let left: Vec<Node> = nodes.into_iter().filter(|node| node.name != copy).collect();
	let decision = decide(&left, &current, 0.0);
	let Decision::Move { to, cause: Cause::Broken(Broken::Gone(gone)), .. } = decision else { panic!("it moves") };
	assert_eq!((gone, to.replicas().count()), (vec![copy], 2));
}

#[test]
fn input_that_cannot_be_computed_with_is_refused() {
	let (current, mut nodes) = (placed(&three()), three());
	nodes[0].speed.flops = f64::NAN;
	let refused = replacement(&model(), &nodes, &near(3), &current, RESTED, Policy::default());
	assert!(matches!(refused, Err(PlacementError::Node { .. })), "{refused:?}");
}

proptest! {
	#[test]
	fn what_varies_by_a_tenth_moves_no_ring_and_a_ring_takes_now_what_was_predicted(
		machines in prop::collection::vec((10u64..60, 10u64..500), 2..7),
		noise in prop::collection::vec((0.9f64..1.1, 0.9f64..1.1), 7),
		ways in prop::collection::vec((1u64..500, 0.9f64..1.1), 49),
		throughput in any::<bool>(),
	) {
		let nodes: Vec<Node> =
			machines.iter().enumerate().map(|(place, (memory, flops))| node(&place.to_string(), *memory, *flops as f64)).collect();
		let links = |noisy: bool| Links::new(nodes.len(), |from, to| {
			let (ms, noise) = ways[from * 7 + to];
			let times = if noisy { noise } else { 1.0 };
			Some(Link { latency: ms as f64 / 1e3 * times, bandwidth: 1e3 / times })
		}).unwrap();
		let request = Request { goal: if throughput { Goal::Throughput } else { Goal::Latency }, ..Request::default() };
		let Ok(current) = place(&model(), &nodes, &links(false), &request) else { return Ok(()) };
		let now = seconds_now(&model(), &nodes, &links(false), &current).unwrap();
		prop_assert!((now - current.seconds_per_token()).abs() < 1e-9 * now, "{now}");
		let noisy: Vec<Node> = nodes.iter().zip(&noise).map(|(node, (flops, _))| {
			Node { speed: Speed { flops: node.speed.flops / flops, ..node.speed }, ..node.clone() }
		}).collect();
		let decision = replacement(&model(), &noisy, &links(true), &current, RESTED, Policy::default()).unwrap();
		prop_assert!(matches!(decision, Decision::Keep(Stay::Best | Stay::Little(_))), "{decision:?}");
		prop_assert!(1.0 - 0.9 / 1.1 < GAIN);
	}
}

const PARAMETERS: H256 = H256::repeat_byte(5);

fn peer(seed: u8) -> PeerIdBytes {
	PeerIdBytes::truncate_from(vec![seed; 38])
}

fn announced(seed: u8, change: impl FnOnce(&mut Holdings)) -> SignedAnnouncement {
	let mut holdings = Holdings {
		addresses: vec![vec![1].try_into().unwrap()].try_into().unwrap(),
		speed: MachineSpeed { flops: 1_000 * u64::from(seed), bytes: 1_000 },
		memory: 100,
		held: Default::default(),
		checkpoints: vec![PARAMETERS].try_into().unwrap(),
		ways: Default::default(),
	};
	change(&mut holdings);
	let announcement = Announcement {
		provider: AccountId::new([seed; 32]),
		key: [seed; 33],
		peer: peer(seed),
		sequence: 1,
		issued_at: 1_000,
		lifetime: 900,
		holdings: Some(holdings),
	};
	SignedAnnouncement { announcement, signature: [0; 65] }
}

fn directory(all: impl IntoIterator<Item = SignedAnnouncement>) -> Directory {
	let mut directory = Directory::new(H256::zero(), AccountId::new([0; 32]));
	for signed in all {
		assert!(signed.encode().len() <= MAX_ANNOUNCEMENT);
		let Announcement { key, peer, .. } = signed.announcement.clone();
		directory.take_read(Arc::new(signed), 1_000, |_| Some(Registered { key, peer }), |_| Ok(())).unwrap();
	}
	directory
}

#[test]
fn candidates_take_streams_and_have_the_parameters_and_what_the_ring_takes_of_them_counts_as_free() {
	let way = |to: u8| vec![Way::of(tag_of(&peer(to)), 30_000, Some(1 << 20))].try_into().unwrap();
	let directory = directory([
		announced(1, |all| all.ways = way(2)),
		announced(2, |all| all.memory = 5),
		announced(3, |all| all.addresses = Default::default()),
		announced(4, |all| all.checkpoints = Default::default()),
	]);
	let standing = |account: &AccountId| if *account == AccountId::new([1; 32]) { Standing::of(900) } else { Standing::UNKNOWN };
	let mut current = placed(&three());
	current.spans[0].name = name_of(&peer(2));
	current.spans[0].bytes = 20;
	let found = Candidates::of(&directory, 2_000, (&model(), PARAMETERS), Some(&current), standing).unwrap();
	assert_eq!(found.accounts, [1, 2].map(|seed| AccountId::new([seed; 32])));
	let told: Vec<_> = found.nodes.iter().map(|node| (node.name.clone(), node.memory, node.reputation, node.speed.flops)).collect();
	assert_eq!(told, [(name_of(&peer(1)), 100, 900, 1_000.0), (name_of(&peer(2)), 25, 500, 2_000.0)]);
	assert_eq!(
		(found.links.get(0, 1), found.links.get(1, 0)),
		(found.links.get(1, 0), Some(Link { latency: 0.015, bandwidth: 1_048_576.0 }))
	);
	assert!(Candidates::of(&directory, 901_000, (&model(), PARAMETERS), None, standing).unwrap().nodes.is_empty(), "all have expired");
}

#[test]
fn of_too_many_candidates_those_of_the_ring_and_the_fastest_are_compared() {
	let name = |number: u16| [&[18, 32], &number.to_be_bytes()[..], &[0; 30]].concat();
	let all = (1..=MOST_CANDIDATES as u16 + 2).map(|number| {
		let mut one = announced(1, |all| all.speed.flops = 100 + u64::from(number));
		let mut account = [0; 32];
		account[..2].copy_from_slice(&number.to_be_bytes());
		(one.announcement.provider, one.announcement.peer) = (AccountId::new(account), PeerIdBytes::truncate_from(name(number)));
		one
	});
	let directory = directory(all);
	let mut current = placed(&three());
	// The slowest one is in the ring.
	current.spans[0].name = name_of(&name(1));
	let found = Candidates::of(&directory, 2_000, (&model(), PARAMETERS), Some(&current), |_| Standing::UNKNOWN).unwrap();
	let speeds: Vec<u64> = found.nodes.iter().map(|node| node.speed.flops as u64 - 100).collect();
	assert_eq!((speeds.len(), &speeds[..3]), (MOST_CANDIDATES, &[1, 4, 5][..]));
	assert_eq!(Standing::of(5_000).reputation, BEST_REPUTATION);
}
