//! Members reach each other over the network, whoever comes first or goes meanwhile.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use neuroshard_graph::{span::cut, ModelConfig, TrainConfig};
use neuroshard_network::{Incoming, Keypair, PeerAddress, Purpose, StreamError, Streams};
use neuroshard_quorum::{
	links::{carry, meet, Fresh, Meeting},
	Mail, Message, Place,
};
use neuroshard_types::{quorum::QuorumWork, AccountId, H256};
use std::{
	collections::{BTreeMap, BTreeSet},
	time::Duration,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A member's side of the network, which ends when this is dropped.
struct Node {
	streams: Streams,
	incoming: Incoming,
	address: PeerAddress,
	stop: CancellationToken,
}

impl Node {
	async fn start(keypair: Keypair) -> Self {
		let stop = CancellationToken::new();
		let listen = vec!["/ip4/127.0.0.1/tcp/0".parse().unwrap()];
		let (streams, incoming, mut bound, _) = Streams::start_for(Purpose::Quorum, keypair, listen, stop.clone()).await.unwrap();
		Self { streams, incoming, address: bound.remove(0), stop }
	}

	fn meets(mut self, meeting: Meeting) -> JoinHandle<(Self, BTreeMap<usize, Fresh>)> {
		tokio::spawn(async move {
			let links = meet(&self.streams, &mut self.incoming, &meeting).await.unwrap();
			(self, links)
		})
	}
}

impl Drop for Node {
	fn drop(&mut self) {
		self.stop.cancel();
	}
}

async fn nodes(count: usize) -> Vec<Node> {
	let mut nodes = Vec::new();
	for _ in 0..count {
		nodes.push(Node::start(Keypair::generate_ed25519()).await);
	}
	nodes
}

fn work(seed: u8) -> QuorumWork {
	QuorumWork { genesis: H256([1; 32]), run: 2, round: 3, seed: H256([seed; 32]), leader: AccountId::new([4; 32]) }
}

fn addresses(nodes: &[Node]) -> Vec<PeerAddress> {
	nodes.iter().map(|node| node.address.clone()).collect()
}

fn place(member: usize, members: usize) -> Place {
	let model = ModelConfig { layers: 2, tied: false, ..ModelConfig::tiny() };
	let counts = vec![4 / u32::try_from(members).unwrap(); members];
	Place::usual((&model, &TrainConfig::tiny()), cut(&model, &counts).unwrap(), member, 3)
}

/// Whom the mail leads to.
fn others(mail: &Mail) -> BTreeSet<usize> {
	mail.outboxes.keys().copied().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_members_are_linked_with_all_others_and_messages_arrive_with_their_senders() {
	let nodes = nodes(4).await;
	let addresses = addresses(&nodes);
	let meetings = nodes.into_iter().enumerate().map(|(own, node)| node.meets(Meeting::new(addresses.clone(), own, &work(5))));
	let mut members = Vec::new();
	for (own, met) in meetings.enumerate().collect::<Vec<_>>() {
		let (node, links) = met.await.unwrap();
		let (mail, moving) = carry(&place(own, 4), links, &CancellationToken::new());
		assert_eq!(others(&mail), (0..4).filter(|member| *member != own).collect());
		members.push((node, mail, moving));
	}
	for (own, (_, mail, _)) in members.iter().enumerate() {
		for outbox in mail.outboxes.values() {
			outbox.send(Message::Begin(u32::try_from(own).unwrap())).await.unwrap();
		}
	}
	for (own, (_, mail, _)) in members.iter_mut().enumerate() {
		let mut senders = BTreeSet::new();
		while senders.len() < 3 {
			let (from, message) = mail.inbox.recv().await.unwrap();
			assert_eq!(message.unwrap(), Message::Begin(u32::try_from(from).unwrap()));
			assert!(from != own && senders.insert(from));
		}
	}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_queued_at_the_end_arrives_and_then_the_link_ends() {
	let mut nodes = nodes(2).await.into_iter();
	let (first, second) = (nodes.next().unwrap(), nodes.next().unwrap());
	let members = vec![first.address.clone(), second.address.clone()];
	let (first, second) = (first.meets(Meeting::new(members.clone(), 0, &work(5))), second.meets(Meeting::new(members, 1, &work(5))));
	let ((_first, low), (_second, high)) = (first.await.unwrap(), second.await.unwrap());
	let stop = CancellationToken::new();
	let ((mail, moving), (mut other, _moving)) = (carry(&place(0, 2), low, &stop), carry(&place(1, 2), high, &stop));
	for step in 0..4 {
		mail.outboxes[&1].send(Message::Begin(step)).await.unwrap();
	}
	let closed = tokio::spawn(moving.close(mail));
	for step in 0..4 {
		assert_eq!(other.inbox.recv().await.map(|(from, message)| (from, message.unwrap())), Some((0, Message::Begin(step))));
	}
	assert!(matches!(other.inbox.recv().await, Some((0, Err(_)))));
	closed.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_goes_before_all_are_there_is_linked_anew_when_it_is_back() {
	let keys: Vec<Keypair> = (0..3).map(|_| Keypair::generate_ed25519()).collect();
	let mut nodes = Vec::new();
	for key in &keys {
		nodes.push(Node::start(key.clone()).await);
	}
	let members = addresses(&nodes);
	let meeting = |own| Meeting::new(members.clone(), own, &work(5));
	let last = nodes.pop().unwrap();
	let middle = nodes.pop().unwrap();
	let first = nodes.pop().unwrap().meets(meeting(0));
	// It has a link to the first one, or is about to, and goes; the last one has not come yet.
	let gone = middle.meets(Meeting { members: members[..2].to_vec(), ..meeting(1) });
	drop(gone.await.unwrap());
	let middle = Node::start(keys[1].clone()).await;
	// It has another address now, which only those need that dial it.
	let mut moved = members.clone();
	moved[1] = middle.address.clone();
	let middle = middle.meets(meeting(1));
	let last = last.meets(Meeting { members: moved, ..meeting(2) });
	let linked = [first.await.unwrap(), middle.await.unwrap(), last.await.unwrap()];
	for (own, (_, links)) in linked.iter().enumerate() {
		assert_eq!(links.keys().copied().collect::<Vec<_>>(), (0..3).filter(|member| *member != own).collect::<Vec<_>>());
	}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_and_those_who_come_for_other_work_get_no_link() {
	let mut nodes = nodes(3).await;
	let stranger = nodes.pop().unwrap();
	let members = addresses(&nodes);
	let mut nodes = nodes.into_iter();
	let first = nodes.next().unwrap().meets(Meeting::new(members.clone(), 0, &work(5)));
	let second = nodes.next().unwrap();
	let short = Duration::from_millis(700);
	for (node, seed) in [(&mut { stranger }, 5), (&mut { second }, 6)] {
		// As if it were the second member.
		let meeting = Meeting::new(members.clone(), 1, &work(seed));
		assert!(tokio::time::timeout(short, meet(&node.streams, &mut node.incoming, &meeting)).await.is_err());
	}
	assert!(!first.is_finished());
	first.abort();
}

#[tokio::test]
async fn streams_of_a_ring_are_no_links_of_a_quorum() {
	let node = Node::start(Keypair::generate_ed25519()).await;
	let stop = CancellationToken::new();
	let (ring, ..) = Streams::start(Keypair::generate_ed25519(), Vec::new(), stop.clone()).await.unwrap();
	assert!(matches!(ring.open(&node.address).await.map(drop), Err(StreamError::Refused(..))));
	stop.cancel();
}
