//! Blobs arrive whole, over every transport, at once, after interruptions.

use super::*;

async fn fetch_over(listen: Vec<Multiaddr>, transport: Transport, leaves: usize) {
	let server = Node::configured(1, |config| config.listen = listen).await;
	let client = Node::start(2).await;
	let data = bytes(1, leaves);
	let content = server.store.put(&data).unwrap();
	assert_eq!(client.fetch(content, &[server.address().await]).await.unwrap(), data);
	let status = client.handle.status().await.unwrap();
	assert_eq!(status.connections.iter().map(|connection| connection.transport).collect::<Vec<_>>(), vec![transport]);
	let answers = leaves.div_ceil(128) + leaves.div_ceil(16_384);
	let expected = (leaves * (4096 + 32) + answers * 5) as u64;
	assert_eq!(client.handle.traffic().received, expected);
	assert_eq!(server.handle.traffic().sent, expected);
	assert!(client.store.contains(content.root), "what was fetched can be served on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_arrives_over_quic() {
	fetch_over(quic(), Transport::Quic, 300).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_arrives_over_tcp() {
	fetch_over(tcp_only(), Transport::Tcp, 300).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_mebibytes_arrive_over_tcp() {
	fetch_over(tcp_only(), Transport::Tcp, 16_384).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leaf_list_longer_than_one_answer_arrives_in_parts() {
	fetch_over(quic(), Transport::Quic, 16_385).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quic_is_preferred_where_both_are_offered() {
	let (server, client) = (Node::start(1).await, Node::start(2).await);
	let content = server.store.put(&bytes(1, 1)).unwrap();
	let address = server.address().await;
	assert_eq!(address.addresses.len(), 2);
	client.fetch(content, &[address]).await.unwrap();
	let status = client.handle.status().await.unwrap();
	assert!(status.connections.iter().all(|connection| connection.transport == Transport::Quic), "{status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_here_already_is_not_fetched() {
	let client = Node::start(2).await;
	let data = bytes(1, 2);
	let content = client.store.put(&data).unwrap();
	assert_eq!(client.fetch(content, &[]).await.unwrap(), data);
	let longer = ContentDescriptor { leaves: 3, ..content };
	let error = client.fetch(longer, &[]).await.unwrap_err();
	assert!(error.to_string().contains("has 2 leaves where 3 were expected"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_fetches_at_once_share_peers_and_a_blob_is_transferred_once() {
	let (a, b, client) = (Node::start(1).await, Node::start(2).await, Node::start(3).await);
	let blobs: Vec<Vec<u8>> = (0..6).map(|seed| bytes(seed, 200)).collect();
	let mut contents = Vec::new();
	for data in &blobs {
		contents.push(a.store.put(data).unwrap());
		b.store.put(data).unwrap();
	}
	let peers = [a.address().await, b.address().await];
	let twice = contents.iter().chain(&contents).map(|content| client.fetch(*content, &peers));
	let fetched = futures::future::try_join_all(twice).await.unwrap();
	assert!(fetched.iter().eq(blobs.iter().chain(&blobs)));
	let once = 6 * (200 * (4096 + 32) + 3 * 5);
	assert_eq!(client.handle.traffic().received, once);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_blob_is_fetched_from_several_peers() {
	let (a, b, client) = (Node::start(1).await, Node::start(2).await, Node::start(3).await);
	let data = bytes(9, 128 * 32);
	let content = a.store.put(&data).unwrap();
	b.store.put(&data).unwrap();
	assert_eq!(client.fetch(content, &[a.address().await, b.address().await]).await.unwrap(), data);
	let [a, b] = [a, b].map(|node| node.handle.traffic().sent);
	assert!(a > 1 << 20 && b > 1 << 20, "{a} {b}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_fetch_goes_on_after_a_restart_without_asking_for_leaves_again() {
	let data = bytes(5, 1000);
	let served = data.clone();
	let answered = Mutex::new(0);
	let (fading, _) = hand_made(9, move |request| {
		let mut answered = answered.lock().unwrap();
		*answered += 1;
		// The leaf list and three ranges, then nothing any more.
		match *answered <= 4 {
			true => Reaction::data(&honest(&served, &request)),
			false => Reaction::Close,
		}
	})
	.await;
	let one_at_a_time = |config: &mut NetworkConfig| config.limits.requests_per_peer = 1;
	let client = Node::configured(2, one_at_a_time).await;
	let content = content(&data);
	let error = client.fetch(content, &[fading]).await.unwrap_err();
	assert!(matches!(error, FetchError::Exhausted { lacking: Lacking::Leaves(616), .. }), "{error}");

	let client = Node::over(2, client.stop().await, one_at_a_time).await;
	let server = Node::start(1).await;
	server.store.put(&data).unwrap();
	assert_eq!(client.fetch(content, &[server.address().await]).await.unwrap(), data);
	// 616 leaves in 5 answers, and no leaf list.
	assert_eq!(client.handle.traffic().received, 616 * 4096 + 5 * 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_surely_has_a_blob_is_asked_first() {
	let (owner, other, client) = (Node::start(1).await, Node::start(2).await, Node::start(3).await);
	let peers = [other.address().await, owner.address().await];
	// With equal standing, their order would differ from blob to blob.
	for seed in 1..=8 {
		let data = bytes(seed, 1);
		owner.store.put(&data).unwrap();
		other.store.put(&data).unwrap();
		let watch = FetchWatch { first: Some(owner.handle.peer_id()), ..Default::default() };
		let blob = client.handle.fetch_watched(content(&data), &peers, &watch).await.unwrap();
		assert_eq!(blob.bytes().unwrap(), data);
	}
	assert_eq!(other.handle.traffic(), TrafficTotals::default());
	assert!(owner.handle.traffic().sent >= 8 * 4096);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_that_nobody_has_lacks_the_list_of_its_leaves() {
	let (ignorant, client) = (Node::start(1).await, Node::start(2).await);
	let error = client.fetch(content(&bytes(5, 3)), &[ignorant.address().await]).await.unwrap_err();
	assert!(matches!(error, FetchError::Exhausted { lacking: Lacking::LeafList, .. }), "{error}");
	assert!(error.to_string().contains("the list of its leaves is missing"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_fetch_says_so_keeps_what_it_has_and_reported_its_progress() {
	let data = bytes(5, 200);
	let served = data.clone();
	let (half, _) = hand_made(9, move |request| match request {
		Request::Leaves { start: 128, .. } => Reaction::Silence,
		_ => Reaction::data(&honest(&served, &request)),
	})
	.await;
	let client = Node::configured(2, |config| config.limits.requests_per_peer = 1).await;
	let content = content(&data);
	let (sender, mut progress) = tokio::sync::watch::channel(Progress::default());
	let watch = FetchWatch { progress: Some(sender), ..Default::default() };
	let cancel = watch.cancel.clone();
	let follow = async {
		progress.wait_for(|progress| *progress == Progress { done: 128, total: 200 }).await.unwrap();
		cancel.cancel();
	};
	let peers = [half];
	let (outcome, ()) = tokio::join!(client.handle.fetch_watched(content, &peers, &watch), follow);
	assert!(matches!(outcome, Err(FetchError::Cancelled { .. })));
	let waiting = async {
		loop {
			// The write that was under way may still hold the download.
			match client.store.resume(content) {
				Ok(partial) => return partial.unwrap().missing(),
				Err(_) => tokio::task::yield_now().await,
			}
		}
	};
	assert_eq!(waiting.await, 72);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_refuses_a_fetch_with_what_to_do() {
	let server = Node::start(1).await;
	let content = server.store.put(&bytes(1, 3000)).unwrap();
	let dir = tempfile::tempdir().unwrap();
	let store = Store::open(dir.path(), 1 << 20).unwrap();
	let (handle, _task) = Network::start(NetworkConfig::default(), keypair(2), store.clone(), CancellationToken::new()).await.unwrap();
	let error = handle.fetch(content, &[server.address().await]).await.unwrap_err();
	assert!(error.to_string().contains("raise --max-disk"), "{error}");
	assert_eq!(store.usage().bytes, 0);
}
