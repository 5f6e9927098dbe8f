//! Peers that ask and do not take the answer, and how much is left for others.

use super::*;
use libp2p::Stream;

/// Answer of 512 KiB: more than a peer that does not read is sent over TCP.
const LEAVES: u32 = 128;

/// A peer that asks for a whole blob over and over, and reads nothing but whether it is served.
struct Hoarder {
	control: libp2p_stream::Control,
	server: PeerId,
	root: H256,
	/// Answers that wait to be read.
	streams: Vec<Stream>,
}

impl Hoarder {
	/// Connects to `server` over TCP.
	async fn connect(seed: u8, server: &PeerAddress, root: H256) -> Self {
		let mut swarm = raw_swarm(seed);
		swarm.dial(tcp_address(server)).unwrap();
		while !swarm.is_connected(&server.peer) {
			swarm.select_next_some().await;
		}
		let control = swarm.behaviour().new_control();
		tokio::spawn(async move {
			loop {
				swarm.select_next_some().await;
			}
		});
		Self { control, server: server.peer, root, streams: Vec::new() }
	}

	/// Asks so often at the same time; how many of that are served.
	async fn ask(&mut self, times: usize) -> usize {
		let request = Request::Leaves { root: self.root, start: 0, count: LEAVES }.encode();
		let message = [&u32::try_from(request.len()).unwrap().to_le_bytes(), request.as_slice()].concat();
		let mut served = 0;
		for _ in 0..times {
			let mut stream = self.control.open_stream(self.server, StreamProtocol::new(CONTENT_PROTOCOL)).await.unwrap();
			stream.write_all(&message).await.unwrap();
			stream.close().await.unwrap();
			let mut tag = [9];
			stream.read_exact(&mut tag).await.unwrap();
			served += usize::from(tag == [0]);
			self.streams.push(stream);
		}
		served
	}
}

fn tcp_address(peer: &PeerAddress) -> Multiaddr {
	peer.addresses.iter().find(|address| address.to_string().contains("/tcp/")).unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_that_ask_and_do_not_read_leave_room_for_a_registered_peer() {
	let server = Node::configured(1, |config| {
		config.limits = Limits::default();
		// Nobody is given up while this test lasts.
		(config.timeouts.write, config.timeouts.request) = (PATIENCE, PATIENCE);
	})
	.await;
	let address = server.address().await;
	let data = bytes(1, 16 * LEAVES as usize);
	let content = server.store.put(&data).unwrap();
	let client = Node::start(2).await;
	server.handle.set_peers(vec![client.address().await]).await.unwrap();

	let mut served = Vec::new();
	let mut hoarders = Vec::new();
	for seed in 10..16 {
		let mut hoarder = Hoarder::connect(seed, &address, content.root).await;
		served.push(hoarder.ask(16).await);
		hoarders.push(hoarder);
	}
	assert_eq!(client.fetch(content, &[address]).await.unwrap(), data);
	assert_eq!(served, [2, 0, 0, 0, 0, 0], "strangers share two places");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registered_peer_that_does_not_take_its_answers_loses_points_and_shares_the_places_of_strangers() {
	let now = Arc::new(Mutex::new(Instant::now()));
	let clock = now.clone();
	let server = Node::configured(1, |config| {
		config.limits = Limits { serving_per_peer: 4, serving_strangers: 2, ..Limits::default() };
		config.timeouts.write = Duration::from_secs(1);
		config.clock = Clock::new(move || *clock.lock().unwrap());
	})
	.await;
	let content = server.store.put(&bytes(1, LEAVES as usize)).unwrap();
	let address = server.address().await;
	let hoarding = keypair(10).public().to_peer_id();
	server.handle.set_peers(vec![PeerAddress::new(hoarding, [])]).await.unwrap();

	let mut hoarder = Hoarder::connect(10, &address, content.root).await;
	assert_eq!(hoarder.ask(4).await, 4);
	let policy = ScorePolicy::default();
	let lost = |times: i32| {
		move |status: &NetworkStatus| status.standings.iter().any(|one| one.peer == hoarding && one.points == -times * policy.stalled)
	};
	let status = server.until(lost(4)).await;
	assert!(status.is_connected(&hoarding) && status.standings.iter().all(|one| one.banned_for.is_none()), "{status:?}");
	assert_eq!(hoarder.ask(4).await, 2);
	server.until(lost(6)).await;

	// A stranger gets nothing for a while.
	let mut stranger = Hoarder::connect(11, &address, content.root).await;
	assert_eq!(stranger.ask(1).await, 1);
	let other = keypair(11).public().to_peer_id();
	server.until(|status| status.standings.iter().any(|one| one.peer == other && one.points < 0)).await;
	assert_eq!(stranger.ask(1).await, 0);

	*now.lock().unwrap() += policy.distrust;
	assert_eq!((hoarder.ask(4).await, stranger.ask(1).await), (4, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_may_open_a_few_connections_and_registered_peers_the_others() {
	let server = Node::configured(1, |config| config.limits.stranger_connections = 2).await;
	let data = bytes(1, 1);
	let content = server.store.put(&data).unwrap();
	let address = server.address().await;
	let (first, second, third, registered) = (Node::start(2).await, Node::start(3).await, Node::start(4).await, Node::start(5).await);
	server.handle.set_peers(vec![PeerAddress::new(registered.handle.peer_id(), [])]).await.unwrap();
	let only_tcp = [PeerAddress::new(address.peer, [tcp_address(&address)])];
	for stranger in [&first, &second] {
		assert_eq!(stranger.fetch(content, &only_tcp).await.unwrap(), data);
	}
	let error = third.fetch(content, &only_tcp).await.unwrap_err();
	assert!(matches!(error, FetchError::Exhausted { .. }), "{error}");
	assert_eq!(registered.fetch(content, &only_tcp).await.unwrap(), data);

	// Whoever is registered meanwhile is no stranger any more, whoever leaves makes room.
	let peers = [&registered, &third].map(|node| PeerAddress::new(node.handle.peer_id(), []));
	server.handle.set_peers(peers.to_vec()).await.unwrap();
	assert_eq!(third.fetch(content, &only_tcp).await.unwrap(), data);
	let gone = first.handle.peer_id();
	first.stop().await;
	server.until(|status| !status.is_connected(&gone)).await;
	let fourth = Node::start(6).await;
	assert_eq!(fourth.fetch(content, &only_tcp).await.unwrap(), data);
}
