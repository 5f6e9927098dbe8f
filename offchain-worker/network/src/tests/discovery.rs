//! Starting, stopping, and finding and reaching each other.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_always_makes_the_same_identity_and_is_zeroed() {
	let mut secret = [7; 32];
	let made = keypair_from_secret(&mut secret).unwrap();
	assert_eq!(secret, [0; 32]);
	assert_eq!(made.public().to_peer_id(), keypair(7).public().to_peer_id());
	assert_ne!(made.public().to_peer_id(), keypair(8).public().to_peer_id());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_in_use_is_an_error_that_says_what_to_do() {
	let first = Node::configured(1, |config| config.listen = quic()).await;
	let taken = first.handle.status().await.unwrap().listening;
	let start = |config| {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), PLENTY).unwrap();
		async move { Network::start(config, keypair(2), store, CancellationToken::new()).await.err().unwrap().to_string() }
	};
	let error = start(NetworkConfig { listen: taken, ..Default::default() }).await;
	assert!(error.contains("(os error ") && error.contains("is the port in use? choose another one"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_book_is_connected_to_and_used_when_a_fetch_names_nobody() {
	let (server, client) = (Node::start(1).await, Node::start(2).await);
	let data = bytes(1, 2);
	let content = server.store.put(&data).unwrap();
	client.handle.set_peers(vec![server.address().await, client.address().await]).await.unwrap();
	let status = client.until(|status| status.is_connected(&server.handle.peer_id())).await;
	assert_eq!(status.known_peers, 1, "we are not our own peer");
	assert_eq!(client.fetch(content, &[]).await.unwrap(), data);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_cannot_be_dialled_serves_over_the_connection_it_made() {
	let hidden = Node::configured(1, |config| config.listen = Vec::new()).await;
	let client = Node::start(2).await;
	let data = bytes(1, 2);
	let content = hidden.store.put(&data).unwrap();
	hidden.handle.set_peers(vec![client.address().await]).await.unwrap();
	// The dialler tries both transports and keeps one connection: which one, it knows first.
	hidden.until(|status| status.is_connected(&client.handle.peer_id())).await;
	client.until(|status| status.is_connected(&hidden.handle.peer_id())).await;
	let hidden = PeerAddress::new(hidden.handle.peer_id(), []);
	assert_eq!(client.fetch(content, &[hidden]).await.unwrap(), data);
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_closes_connections_and_ends_every_call() {
	let (server, client) = (Node::start(1).await, Node::start(2).await);
	let content = server.store.put(&bytes(1, 1)).unwrap();
	client.fetch(content, &[server.address().await]).await.unwrap();
	let (peer, handle) = (client.handle.peer_id(), client.handle.clone());
	client.stop().await;
	server.until(|status| !status.is_connected(&peer)).await;
	assert_eq!(handle.status().await.unwrap_err(), Stopped);
	let error = handle.fetch(ContentDescriptor { root: H256::zero(), leaves: 1 }, &[]).await.unwrap_err();
	assert!(matches!(error, FetchError::Stopped(_)), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn others_of_the_address_book_are_asked_when_those_who_were_named_have_nothing() {
	let (server, ignorant, client) = (Node::start(1).await, Node::start(2).await, Node::start(3).await);
	let data = bytes(1, 2);
	let content = server.store.put(&data).unwrap();
	server.store.set_note(content.root, b"made of two leaves").unwrap();
	client.handle.set_peers(vec![server.address().await]).await.unwrap();
	let named = [ignorant.address().await];
	assert_eq!(client.fetch(content, &named).await.unwrap(), data);
	let note = client.handle.note(content.root, &named, |note| Some(note.to_vec())).await.unwrap();
	assert_eq!(note, b"made of two leaves");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_kept_with_the_first_peers_of_the_address_book_that_can_be_reached() {
	let client = Node::configured(1, |config| {
		config.limits.kept_peers = 2;
		config.timeouts.housekeeping = Duration::from_millis(50);
	})
	.await;
	let (first, second, third) = (Node::start(2).await, Node::start(3).await, Node::start(4).await);
	let nowhere = PeerAddress::new(keypair(9).public().to_peer_id(), []);
	let book = vec![nowhere, first.address().await, second.address().await, third.address().await];
	client.handle.set_peers(book.clone()).await.unwrap();
	client.until(|status| [&first, &second].iter().all(|node| status.is_connected(&node.handle.peer_id()))).await;
	// The next look at the same book finds nothing to do.
	client.handle.set_peers(book).await.unwrap();
	let status = client.handle.status().await.unwrap();
	assert!(!status.is_connected(&third.handle.peer_id()) && status.known_peers == 4, "{status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_address_is_not_dialled_by_a_worker_that_takes_part_from_the_internet() {
	let server = Node::start(1).await;
	let client = Node::configured(2, |config| config.dial_private = false).await;
	let content = server.store.put(&bytes(1, 1)).unwrap();
	let address = server.address().await;
	let error = client.fetch(content, std::slice::from_ref(&address)).await.unwrap_err();
	assert!(error.to_string().contains("not a global address"), "{error}");
	// Nor one that the chain has, and it is still served over a connection that it makes.
	client.handle.set_peers(vec![address.clone()]).await.unwrap();
	server.handle.set_peers(vec![client.address().await]).await.unwrap();
	client.until(|status| status.is_connected(&address.peer)).await;
	assert!(client.handle.status().await.unwrap().connections.iter().all(|connection| connection.inbound));
	assert_eq!(client.fetch(content, &[address]).await.unwrap(), bytes(1, 1));
}

/// AutoNAT's verdict and the address that goes with it arrive one after the other.
fn is_public(status: &NetworkStatus) -> bool {
	matches!(status.reachability, Reachability::Public(_)) && !status.external.is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn others_tell_us_that_they_can_reach_us() {
	let probing = |config: &mut NetworkConfig| {
		config.listen = tcp_only();
		config.nat = NatProbes { first: Duration::ZERO, retry: Duration::from_millis(50), only_global: false };
	};
	let (node, helper) = (Node::configured(1, probing).await, Node::configured(2, probing).await);
	assert_eq!(node.handle.status().await.unwrap().reachability, Reachability::LocalOnly);
	node.handle.set_peers(vec![helper.address().await]).await.unwrap();
	let status = node.until(is_public).await;
	assert!(status.reachability.words().starts_with("Others can reach this worker at /ip4/127.0.0.1/tcp/"), "{status:?}");
	assert_eq!(status.external.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_nobody_can_dial_is_reached_through_a_relay() {
	let probing = |config: &mut NetworkConfig| {
		config.listen = tcp_only();
		config.nat = NatProbes { first: Duration::ZERO, retry: Duration::from_millis(50), only_global: false };
	};
	let helper = Node::configured(1, probing).await;
	let relay = Node::configured(2, |config| {
		probing(config);
		config.serve_relay = true;
	})
	.await;
	relay.handle.set_peers(vec![helper.address().await]).await.unwrap();
	relay.until(is_public).await;
	let at = relay.address().await;
	let hidden = Node::configured(3, |config| {
		probing(config);
		config.listen = Vec::new();
		config.relays = vec![at.clone()];
	})
	.await;
	hidden.handle.set_peers(vec![at, helper.address().await]).await.unwrap();
	let status = hidden.until(|status| matches!(status.reachability, Reachability::Relayed(_))).await;
	assert!(status.reachability.words().starts_with("Others cannot reach this worker directly."), "{status:?}");

	// It listens nowhere, so that no direct path can be opened; bulk data must not go through the relay.
	let content = hidden.store.put(&bytes(1, 2)).unwrap();
	let client = Node::configured(4, |config| {
		config.timeouts.dial = Duration::from_secs(2);
		config.timeouts.housekeeping = Duration::from_millis(50);
	})
	.await;
	let address = PeerAddress::new(hidden.handle.peer_id(), status.listening);
	let error = client.fetch(content, &[address]).await.unwrap_err();
	assert!(error.to_string().contains("can only be reached through a relay"), "{error}");
	let status = client.handle.status().await.unwrap();
	assert!(status.connections.iter().any(|connection| connection.transport == Transport::Relay), "{status:?}");
}
