//! Announcements that are signed, as directories of several nodes take them.

use super::*;
use neuroshard_directory::{Directory, News, Refusal, Registered};
use neuroshard_types::{
	announcement::{Announcement, Holdings, MachineSpeed, Malformed, SignedAnnouncement, MIN_INTERVAL_MS},
	provider::PeerIdBytes,
	AccountId, Moment,
};
use sp_core::{ecdsa, Pair};
use tokio::sync::mpsc::Receiver;

const GENESIS: H256 = H256::repeat_byte(3);
const NOW: Moment = 1_700_000_000_000;

fn account(seed: u8) -> AccountId {
	AccountId::new([seed; 32])
}

/// The registration of the provider whose node has this seed.
fn registered(seed: u8) -> Registered {
	let peer = PeerIdBytes::truncate_from(keypair(seed).public().to_peer_id().to_bytes());
	Registered { key: ecdsa::Pair::from_seed(&[seed; 32]).public().0, peer }
}

fn announcement(seed: u8) -> Announcement {
	let Registered { key, peer } = registered(seed);
	let holdings = Holdings {
		addresses: Default::default(),
		speed: MachineSpeed { flops: 1, bytes: 1 },
		memory: 1,
		held: Default::default(),
		checkpoints: Default::default(),
		ways: Default::default(),
	};
	Announcement { provider: account(seed), key, peer, sequence: 1, issued_at: NOW, lifetime: 900, holdings: Some(holdings) }
}

fn signed(seed: u8, announcement: Announcement) -> Vec<u8> {
	let signature = ecdsa::Pair::from_seed(&[seed; 32]).sign(&announcement.message(GENESIS)).0;
	SignedAnnouncement { announcement, signature }.encode()
}

/// A node with a directory.
struct Known {
	node: Node,
	heard: Receiver<Heard>,
	directory: Directory,
}

impl Known {
	async fn start(seed: u8) -> Self {
		let gossip = GossipConfig { heartbeat: Duration::from_millis(200), ..GossipConfig::of(GENESIS) };
		let node = Node::configured(seed, |config| config.gossip = Some(gossip)).await;
		let heard = node.handle.hear().await.unwrap().unwrap();
		Self { node, heard, directory: Directory::new(GENESIS, account(seed)) }
	}

	/// Connects with another one, once each passes messages on to the other.
	async fn connect(&self, other: &Self) {
		self.node.handle.set_peers(vec![other.node.address().await]).await.unwrap();
		for (one, other) in [(self, other), (other, self)] {
			one.node.until(|status| status.gossip_peers.contains(&other.node.handle.peer_id())).await;
		}
	}

	/// What the directory says of the next message.
	async fn next(&mut self) -> Result<News, Refusal> {
		let heard = tokio::time::timeout(PATIENCE, self.heard.recv()).await.expect("a message comes").expect("the network runs");
		let bytes: &[u8] = &heard.bytes;
		let taken = self.directory.take(bytes, NOW, |account| Some(registered(AsRef::<[u8; 32]>::as_ref(account)[0])));
		let verdict = match &taken {
			Ok(_) => Verdict::Good,
			Err(refusal) if refusal.is_false() => Verdict::False,
			Err(_) => Verdict::Useless,
		};
		self.node.handle.settle(heard, verdict).await.unwrap();
		taken
	}

	fn knows(&self, seed: u8) -> bool {
		self.directory.member(&account(seed), NOW).is_some()
	}
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_nodes_have_each_other_in_their_directories() {
	let mut nodes = Vec::new();
	for seed in 1..=10 {
		nodes.push(Known::start(seed).await);
	}
	for pair in nodes.windows(2) {
		pair[0].connect(&pair[1]).await;
	}
	for (seed, one) in (1..).zip(&nodes) {
		one.node.handle.publish(signed(seed, announcement(seed))).await.unwrap();
	}
	let learning = nodes.into_iter().zip(1u8..).map(|(mut one, own)| async move {
		for _ in 1..10 {
			assert_eq!(one.next().await, Ok(News::Arrived));
		}
		assert!((1..=10).all(|seed| one.knows(seed) || seed == own));
		one
	});
	assert_eq!(futures::future::join_all(learning).await.len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_with_a_wrong_signature_is_not_passed_on_and_its_sender_is_scored_down() {
	let (liar, mut middle, mut end) = (Known::start(1).await, Known::start(2).await, Known::start(3).await);
	liar.connect(&middle).await;
	middle.connect(&end).await;
	// Too soon after the first one, which is nobody's fault.
	let hurried = Announcement { sequence: 2, issued_at: NOW + MIN_INTERVAL_MS - 1, ..announcement(1) };
	for message in [signed(1, announcement(1)), signed(1, hurried), signed(1, announcement(4))] {
		liar.node.handle.publish(message).await.unwrap();
	}
	let heard = [middle.next().await, middle.next().await, middle.next().await];
	assert_eq!(heard, [Ok(News::Arrived), Err(Refusal::TooSoon(1)), Err(Refusal::False(Malformed::Signature))]);
	let peer = liar.node.handle.peer_id();
	middle.node.until(|status| !status.is_connected(&peer)).await;
	let standing = middle.node.standing(peer).await.unwrap();
	assert!(standing.points <= -ScorePolicy::default().corrupt && standing.banned_for.is_some(), "{standing:?}");

	middle.node.handle.publish(signed(2, announcement(2))).await.unwrap();
	assert_eq!([end.next().await, end.next().await], [Ok(News::Arrived); 2]);
	assert!(end.knows(1) && end.knows(2) && !end.knows(4));
	assert_eq!(end.node.standing(middle.node.handle.peer_id()).await, None);
}
