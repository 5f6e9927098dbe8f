//! Gossip between nodes: who hears what, and what becomes of those who say what is false.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::mpsc::Receiver;

const GENESIS: H256 = H256::repeat_byte(3);
/// Heartbeats within which everybody has heard everything.
const HEARTBEATS: u32 = 100;
const HEARTBEAT: Duration = Duration::from_millis(300);

async fn gossiping(seed: u8) -> (Node, Receiver<Heard>) {
	changed(seed, |_| {}).await
}

async fn changed(seed: u8, change: impl FnOnce(&mut GossipConfig)) -> (Node, Receiver<Heard>) {
	let mut gossip = GossipConfig { heartbeat: HEARTBEAT, ..GossipConfig::of(GENESIS) };
	change(&mut gossip);
	let node = Node::configured(seed, |config| config.gossip = Some(gossip)).await;
	let heard = node.handle.hear().await.unwrap().expect("the first one gets them");
	(node, heard)
}

/// Connects the first node with the second, once each passes messages on to the other.
async fn connect(a: &Node, b: &Node) {
	a.handle.set_peers(vec![b.address().await]).await.unwrap();
	for (one, other) in [(a, b), (b, a)] {
		one.until(|status| status.gossip_peers.contains(&other.handle.peer_id())).await;
	}
}

/// What an application does that takes every message for good, except those that begin with 0, which are false, and with 1, which are useless.
async fn next(node: &Node, heard: &mut Receiver<Heard>) -> (PeerId, Vec<u8>) {
	let message = tokio::time::timeout(PATIENCE, heard.recv()).await.expect("a message comes").expect("the network runs");
	let verdict = match message.bytes.first() {
		Some(0) => Verdict::False,
		Some(1) => Verdict::Useless,
		_ => Verdict::Good,
	};
	let told = (message.from, message.bytes.clone());
	node.handle.settle(message, verdict).await.unwrap();
	told
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_nodes_in_a_row_learn_of_each_other_within_a_hundred_heartbeats() {
	let mut nodes = Vec::new();
	for seed in 1..=10 {
		nodes.push(gossiping(seed).await);
	}
	for pair in nodes.windows(2) {
		connect(&pair[0].0, &pair[1].0).await;
	}
	let began = Instant::now();
	for (seed, (node, _)) in (100u8..).zip(&nodes) {
		node.handle.publish(vec![seed; 1_500]).await.unwrap();
	}
	let learning = nodes.into_iter().zip(100u8..).map(|((node, mut heard), own)| async move {
		let mut known = BTreeSet::from([own]);
		while known.len() < 10 {
			assert!(known.insert(next(&node, &mut heard).await.1[0]), "each message comes once");
		}
		(node, heard)
	});
	let learned = tokio::time::timeout(HEARTBEAT * HEARTBEATS, futures::future::join_all(learning)).await.expect("in time");
	assert!(began.elapsed() < HEARTBEAT * HEARTBEATS && learned.len() == 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_false_is_not_passed_on_and_whoever_sent_it_is_shut_out() {
	let ((liar, _heard), (middle, mut passing), (end, mut last)) = (gossiping(1).await, gossiping(2).await, gossiping(3).await);
	connect(&liar, &middle).await;
	connect(&middle, &end).await;
	liar.handle.publish(vec![5, 5]).await.unwrap();
	assert_eq!(next(&middle, &mut passing).await, (liar.handle.peer_id(), vec![5, 5]));
	assert_eq!(next(&end, &mut last).await, (middle.handle.peer_id(), vec![5, 5]));

	liar.handle.publish(vec![0, 7]).await.unwrap();
	assert_eq!(next(&middle, &mut passing).await.1, [0, 7]);
	middle.until(|status| !status.is_connected(&liar.handle.peer_id())).await;
	let (policy, standing) = (ScorePolicy::default(), middle.standing(liar.handle.peer_id()).await.unwrap());
	assert!(standing.points <= -policy.corrupt && standing.banned_for.is_some(), "{standing:?}");
	// What comes after it has overtaken nothing: the false one was not passed on.
	middle.handle.publish(vec![6]).await.unwrap();
	assert_eq!(next(&end, &mut last).await, (middle.handle.peer_id(), vec![6]));
	assert_eq!(end.standing(middle.handle.peer_id()).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_useless_is_not_passed_on_and_is_nobodys_fault() {
	let ((sender, _heard), (middle, mut passing), (end, mut last)) = (gossiping(1).await, gossiping(2).await, gossiping(3).await);
	connect(&sender, &middle).await;
	connect(&middle, &end).await;
	sender.handle.publish(vec![1, 1]).await.unwrap();
	sender.handle.publish(vec![2, 2]).await.unwrap();
	let passed = [next(&middle, &mut passing).await.1, next(&middle, &mut passing).await.1];
	assert_eq!(BTreeSet::from(passed), BTreeSet::from([vec![1, 1], vec![2, 2]]));
	assert_eq!(next(&end, &mut last).await.1, [2, 2]);
	assert_eq!(middle.standing(sender.handle.peer_id()).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_is_heard_no_more_often_than_its_rate_allows() {
	let (sender, _heard) = gossiping(1).await;
	let (listener, mut heard) = changed(2, |gossip| gossip.per_peer = Rate { per_second: 0.0, burst: 3.0 }).await;
	connect(&sender, &listener).await;
	for number in 10..20 {
		sender.handle.publish(vec![number]).await.unwrap();
	}
	let other = gossiping(3).await.0;
	connect(&other, &listener).await;
	other.handle.publish(vec![99]).await.unwrap();
	// Messages of one peer come in their order, and the other one's comes at any time after the first.
	let mut senders = BTreeMap::new();
	for _ in 0..4 {
		*senders.entry(next(&listener, &mut heard).await.0).or_insert(0) += 1;
	}
	assert_eq!(senders, BTreeMap::from([(sender.handle.peer_id(), 3), (other.handle.peer_id(), 1)]));
	assert_eq!(listener.standing(sender.handle.peer_id()).await, None, "it costs nothing else");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_floods_is_shut_out() {
	let (sender, _heard) = gossiping(1).await;
	let (listener, _listening) = changed(2, |gossip| gossip.per_peer = Rate { per_second: 0.0, burst: 2.0 }).await;
	connect(&sender, &listener).await;
	let peer = sender.handle.peer_id();
	for number in 10..=33 {
		// Towards the end, nobody may be there any more.
		let _ = sender.handle.publish(vec![number]).await;
	}
	let status = listener.until(|status| !status.is_connected(&peer)).await;
	assert!(status.standings.iter().any(|standing| standing.peer == peer && standing.banned_for.is_some()), "{status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn chains_do_not_hear_each_other_and_errors_say_what_is_the_matter() {
	let (node, mut heard) = gossiping(1).await;
	let (stranger, mut other) = changed(2, |gossip| gossip.genesis = H256::repeat_byte(4)).await;
	let (friend, _friends) = gossiping(3).await;
	assert_eq!(node.handle.publish(vec![9]).await, Err(GossipError::Alone));
	stranger.handle.set_peers(vec![node.address().await]).await.unwrap();
	stranger.until(|status| status.is_connected(&node.handle.peer_id())).await;
	connect(&friend, &node).await;
	assert_eq!(stranger.handle.publish(vec![9]).await, Err(GossipError::Alone));
	friend.handle.publish(vec![8]).await.unwrap();
	assert_eq!(next(&node, &mut heard).await.1, [8]);
	assert!(other.try_recv().is_err() && stranger.handle.status().await.unwrap().gossip_peers.is_empty());

	assert_eq!(friend.handle.publish(vec![8]).await, Err(GossipError::Again));
	let most = GossipConfig::of(GENESIS).most_bytes;
	assert_eq!(friend.handle.publish(vec![8; most + 1]).await, Err(GossipError::TooLong { bytes: most + 1, most }));
	friend.handle.publish(vec![8; most]).await.unwrap();
	assert_eq!(next(&node, &mut heard).await.1.len(), most);
	assert!(node.handle.hear().await.unwrap().is_none(), "somebody else has them");

	let silent = Node::start(4).await;
	assert_eq!(silent.handle.publish(vec![1]).await, Err(GossipError::Off));
	assert!(silent.handle.hear().await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn ways_to_peers_are_measured_by_heartbeats_and_by_what_is_fetched() {
	let (server, client) = (Node::start(1).await, Node::start(2).await);
	client.handle.set_peers(vec![server.address().await]).await.unwrap();
	let peer = server.handle.peer_id();
	let measured = async |wanted: &dyn Fn(&Way) -> bool| {
		let waiting = async {
			loop {
				if let Some(way) = client.handle.ways().await.unwrap().get(&peer).copied().filter(|way| wanted(way)) {
					return way;
				}
				tokio::task::yield_now().await;
			}
		};
		tokio::time::timeout(PATIENCE, waiting).await.expect("it is measured")
	};
	let way = measured(&|_| true).await;
	assert!(way.rtt < Duration::from_secs(1) && way.rtt > Duration::ZERO, "{way:?}");
	let fetching = async {
		for seed in 0..=u8::MAX {
			let content = server.store.put(&bytes(seed, 4_000)).unwrap();
			client.fetch(content, &[]).await.unwrap();
			if client.handle.ways().await.unwrap()[&peer].bandwidth.is_some() {
				break;
			}
		}
	};
	fetching.await;
	let (bandwidth, age) = measured(&|way| way.bandwidth.is_some()).await.bandwidth.unwrap();
	assert!((1e5..1e11).contains(&bandwidth) && age < PATIENCE, "{bandwidth}");
}
