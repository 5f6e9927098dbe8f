//! Peers that lie, stall, flood or are not there.

use super::*;

/// A client that asks one thing at a time and knows what time it is only from `now`.
async fn careful(seed: u8, now: Arc<Mutex<Instant>>) -> Node {
	Node::configured(seed, |config| {
		config.limits.requests_per_peer = 1;
		config.timeouts.dial = Duration::from_secs(3);
		config.clock = Clock::new(move || *now.lock().unwrap());
	})
	.await
}

fn clock() -> Arc<Mutex<Instant>> {
	Arc::new(Mutex::new(Instant::now()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_corrupt_leaf_is_rejected_its_sender_shut_out_for_a_while_and_the_blob_fetched_elsewhere() {
	let (liar, server) = (keypair(9).public().to_peer_id(), Node::start(1).await);
	let now = clock();
	let client = careful(2, now.clone()).await;
	let data = blob_asked_first_of(client.handle.peer_id(), liar, server.handle.peer_id(), 200);
	let served = data.clone();
	let (liar, asked) = hand_made(9, move |request| {
		let mut answer = honest(&served, &request);
		if let Request::Leaves { start: 0, .. } = request {
			answer[5 * LEAF_BYTES + 17] ^= 1;
		}
		Reaction::data(&answer)
	})
	.await;
	server.store.put(&data).unwrap();
	let content = content(&data);
	let peers = [liar.clone(), server.address().await];
	assert_eq!(client.fetch(content, &peers).await.unwrap(), data);
	assert_eq!(asked.lock().unwrap().len(), 2, "the leaf list, and one range");
	assert_eq!(server.handle.traffic().sent, 200 * 4096 + 2 * 5, "both ranges, once each");
	let policy = ScorePolicy::default();
	let standing = client.standing(liar.peer).await.unwrap();
	assert_eq!((standing.points, standing.banned_for), (policy.good - policy.corrupt, Some(policy.ban)));
	client.until(|status| !status.is_connected(&liar.peer)).await;

	let other = bytes(77, 1);
	let error = client.fetch(super::content(&other), std::slice::from_ref(&liar)).await.unwrap_err();
	assert!(error.to_string().contains("is shut out for another 600 s"), "{error}");
	assert_eq!(asked.lock().unwrap().len(), 2, "nobody asked it");

	*now.lock().unwrap() += policy.ban;
	let error = client.fetch(ContentDescriptor { root: H256::repeat_byte(1), leaves: 1 }, std::slice::from_ref(&liar)).await.unwrap_err();
	assert!(error.to_string().contains("does not hash to the root"), "it is asked again, and lies again: {error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_leaf_list_is_rejected_before_any_leaf_is_asked_for() {
	let (liar, server) = (keypair(9).public().to_peer_id(), Node::start(1).await);
	let client = careful(2, clock()).await;
	let data = blob_asked_first_of(client.handle.peer_id(), liar, server.handle.peer_id(), 3);
	let other = bytes(200, 3);
	let (liar, asked) = hand_made(9, move |request| Reaction::data(&honest(&other, &request))).await;
	server.store.put(&data).unwrap();
	assert_eq!(client.fetch(content(&data), &[liar.clone(), server.address().await]).await.unwrap(), data);
	assert!(matches!(asked.lock().unwrap().as_slice(), [Request::Hashes { .. }]));
	assert!(client.standing(liar.peer).await.unwrap().banned_for.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_too_long_too_short_or_nonsense_cost_the_sender_its_place() {
	let oversize = [[0].as_slice(), &(1u32 << 20).wrapping_add(1).to_le_bytes()].concat();
	let cases: [(Reaction, &str); 5] = [
		(Reaction::Raw(oversize), "more than the protocol allows"),
		(Reaction::data(&[0; 31]), "31 bytes where 1 times 32"),
		(Reaction::data(&[0; 64]), "64 bytes where 1 times 32"),
		(Reaction::Raw(vec![7, 0, 0, 0, 0]), "unknown kind of answer"),
		(Reaction::Raw(vec![1, 1, 0, 0, 0, 99]), "unknown refusal"),
	];
	let client = careful(2, clock()).await;
	for (seed, (reaction, words)) in (10..).zip(cases) {
		let reaction = Mutex::new(Some(reaction));
		let (liar, _) = hand_made(seed, move |_| reaction.lock().unwrap().take().unwrap()).await;
		let error = client.fetch(content(&bytes(1, 1)), std::slice::from_ref(&liar)).await.unwrap_err();
		assert!(error.to_string().contains(words), "{error}");
		assert!(client.standing(liar.peer).await.unwrap().banned_for.is_some(), "{words}");
	}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_never_answers_loses_points_and_another_one_is_asked() {
	let (silent, server) = (keypair(9).public().to_peer_id(), Node::start(1).await);
	let client = Node::configured(2, |config| config.timeouts.request = Duration::from_secs(1)).await;
	let data = blob_asked_first_of(client.handle.peer_id(), silent, server.handle.peer_id(), 3);
	let (silent, asked) = hand_made(9, |_| Reaction::Silence).await;
	server.store.put(&data).unwrap();
	assert_eq!(client.fetch(content(&data), &[silent.clone(), server.address().await]).await.unwrap(), data);
	assert_eq!(asked.lock().unwrap().len(), 1, "its second chance comes after everybody's first");
	let standing = client.standing(silent.peer).await.unwrap();
	assert_eq!((standing.points, standing.banned_for), (-ScorePolicy::default().unresponsive, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lonely_peer_that_does_not_answer_gets_a_second_chance() {
	let client = Node::configured(2, |config| config.timeouts.request = Duration::from_millis(200)).await;
	let (silent, asked) = hand_made(9, |_| Reaction::Silence).await;
	client.fetch(content(&bytes(1, 1)), &[silent]).await.unwrap_err();
	assert_eq!(asked.lock().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_costs_rank_also_when_nobody_waits_any_more() {
	let client = Node::configured(2, |config| config.timeouts.request = Duration::from_secs(1)).await;
	let (silent, asked) = hand_made(9, |_| Reaction::Silence).await;
	let data = bytes(1, 1);
	let peers = [silent.clone()];
	tokio::select! {
		_ = client.fetch(content(&data), &peers) => panic!("it cannot end before it is given up"),
		() = async {
			while asked.lock().unwrap().is_empty() {
				tokio::task::yield_now().await;
			}
		} => {},
	}
	client.until(|status| status.standings.iter().any(|standing| standing.peer == silent.peer && standing.points < 0)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_name_the_peer_and_what_is_the_matter_with_it() {
	let (server, client) = (Node::start(1).await, careful(2, clock()).await);
	let content = content(&bytes(1, 1));
	let error = client.fetch(content, &[]).await.unwrap_err();
	assert!(matches!(error, FetchError::NoPeers { .. }), "{error}");

	let error = client.fetch(content, &[server.address().await]).await.unwrap_err();
	let words = format!("{} refused: it does not have this blob", server.handle.peer_id());
	assert!(error.to_string().contains(&words), "{error}");
	assert_eq!(client.standing(server.handle.peer_id()).await, None, "not having a blob is no fault");

	let nowhere = PeerAddress::new(keypair(8).public().to_peer_id(), []);
	let error = client.fetch(content, &[nowhere]).await.unwrap_err();
	assert!(error.to_string().contains("cannot be reached: no address of it is known"), "{error}");

	let gone = server.address().await;
	let port = PeerAddress::new(gone.peer, gone.addresses.iter().filter(|address| Transport::Tcp == transport_of(address)).cloned());
	server.stop().await;
	client.until(|status| !status.is_connected(&gone.peer)).await;
	let error = client.fetch(content, &[port]).await.unwrap_err();
	assert!(error.to_string().contains("cannot be reached: /ip4/127.0.0.1/tcp/"), "{error}");
}

fn transport_of(address: &Multiaddr) -> Transport {
	match address.to_string().contains("quic") {
		true => Transport::Quic,
		false => Transport::Tcp,
	}
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_else_at_a_peers_address_is_not_taken_for_it() {
	let (server, client) = (Node::start(1).await, careful(2, clock()).await);
	let content = server.store.put(&bytes(1, 1)).unwrap();
	let impostor = PeerAddress { peer: keypair(8).public().to_peer_id(), ..server.address().await };
	let error = client.fetch(content, &[impostor]).await.unwrap_err();
	assert!(error.to_string().contains("cannot be reached"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_copy_is_damaged_says_that_it_has_none() {
	let (server, client) = (Node::start(1).await, careful(2, clock()).await);
	let content = server.store.put(&bytes(1, 1)).unwrap();
	let name = hex::encode(content.root.0);
	std::fs::write(server.dir.path().join("blobs").join(&name[..2]).join(format!("{name}.bin")), [1; 4096]).unwrap();
	let error = client.fetch(content, &[server.address().await]).await.unwrap_err();
	assert!(error.to_string().contains("it does not have this blob"), "{error}");
	assert!(client.standing(server.handle.peer_id()).await.is_none_or(|standing| standing.banned_for.is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_too_much_to_do_says_so_and_lives() {
	let server = Node::configured(1, |config| config.limits.serving_per_peer = 0).await;
	let client = Node::configured(2, |config| config.timeouts.busy = Duration::ZERO).await;
	let content = server.store.put(&bytes(1, 1)).unwrap();
	let error = client.fetch(content, &[server.address().await]).await.unwrap_err();
	assert!(error.to_string().contains("it has too much to do just now"), "{error}");
}

/// Sends `message` on a stream of its own and returns what comes back until the stream ends.
async fn exchange(control: &mut libp2p_stream::Control, peer: PeerId, message: &[u8]) -> Vec<u8> {
	let mut stream = control.open_stream(peer, StreamProtocol::new(CONTENT_PROTOCOL)).await.unwrap();
	let mut answer = Vec::new();
	// The server may end the stream before it has read everything.
	let _ = stream.write_all(message).await;
	let _ = stream.close().await;
	let _ = stream.read_to_end(&mut answer).await;
	answer
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_and_oversize_requests_are_refused_and_the_server_lives() {
	let server = Node::start(1).await;
	let data = bytes(1, 2);
	let content = server.store.put(&data).unwrap();
	let mut swarm = raw_swarm(3);
	let address = server.address().await;
	swarm.dial(address.addresses[0].clone()).unwrap();
	while !swarm.is_connected(&address.peer) {
		swarm.select_next_some().await;
	}
	let mut control = swarm.behaviour().new_control();
	tokio::spawn(async move {
		loop {
			swarm.select_next_some().await;
		}
	});
	let framed = |body: &[u8]| [&u32::try_from(body.len()).unwrap().to_le_bytes(), body].concat();
	let refused = |refusal: Refusal| vec![1, 1, 0, 0, 0, refusal.code()];
	let leaves = |start, count| Request::Leaves { root: content.root, start, count }.encode();
	let cases = [
		(u32::MAX.to_le_bytes().to_vec(), refused(Refusal::Oversize)),
		(framed(&[0; 65]), refused(Refusal::Oversize)),
		(framed(&[]), refused(Refusal::Malformed)),
		(framed(&[9; 41]), refused(Refusal::Malformed)),
		(framed(&[leaves(0, 1), vec![0]].concat()), refused(Refusal::Malformed)),
		(framed(&leaves(0, u32::MAX)), refused(Refusal::BadCount)),
		(framed(&leaves(u32::MAX, 1)), refused(Refusal::OutOfRange)),
		(framed(&Request::Hashes { root: content.root, start: 0, count: 16_385 }.encode()), refused(Refusal::BadCount)),
		(vec![1, 2], vec![]),
		(framed(&leaves(0, 1))[..20].to_vec(), vec![]),
	];
	for (message, expected) in cases {
		assert_eq!(exchange(&mut control, address.peer, &message).await, expected, "{message:?}");
	}
	let good = exchange(&mut control, address.peer, &framed(&leaves(1, 1))).await;
	assert_eq!(good, [[0, 0, 16, 0, 0].as_slice(), &data[4096..]].concat());
}
