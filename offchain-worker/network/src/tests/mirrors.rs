//! Mirrors bring what peers lack, and nothing else.

use super::*;
use neuroshard_mirror::{Mirrors, Timing};

/// A node that reads from the mirror in `folder`.
async fn reader(seed: u8, folder: &std::path::Path) -> Node {
	let location = format!("file://{}", folder.display()).parse().unwrap();
	let mirrors = Mirrors::open([location], Timing::default()).unwrap();
	Node::configured(seed, move |config| {
		config.mirrors = mirrors;
		config.limits.requests_per_peer = 1;
	})
	.await
}

/// A mirror of `data`: the folder of a store.
fn mirror(data: &[u8]) -> TempDir {
	let dir = tempfile::tempdir().unwrap();
	Store::open(dir.path(), PLENTY).unwrap().put(data).unwrap();
	dir
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_peer_has_is_read_from_a_mirror() {
	let data = bytes(1, 300);
	let (dir, ignorant) = (mirror(&data), Node::start(1).await);
	let client = reader(2, dir.path()).await;
	let (sender, progress) = tokio::sync::watch::channel(Progress::default());
	let watch = FetchWatch { progress: Some(sender), ..Default::default() };
	let peers = [ignorant.address().await];
	let blob = client.handle.fetch_watched(content(&data), &peers, &watch).await.unwrap();
	assert_eq!(blob.bytes().unwrap(), data);
	assert_eq!(*progress.borrow(), Progress { done: 300, total: 300 });
	// Without any peer as well.
	assert_eq!(reader(3, dir.path()).await.fetch(content(&data), &[]).await.unwrap(), data);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_peer_has_is_not_read_from_a_mirror() {
	let data = bytes(1, 300);
	let (dir, server) = (tempfile::tempdir().unwrap(), Node::start(1).await);
	server.store.put(&data).unwrap();
	let client = reader(2, dir.path()).await;
	assert_eq!(client.fetch(content(&data), &[server.address().await]).await.unwrap(), data);
	// 300 leaves in 3 answers, and their list.
	assert_eq!(client.handle.traffic().received, (300 * (4096 + 32) + 4 * 5) as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_goes_on_where_peers_fade() {
	let data = bytes(1, 1_000);
	let dir = mirror(&data);
	let (served, answered) = (data.clone(), Mutex::new(0));
	let (fading, _) = hand_made(9, move |request| {
		let mut answered = answered.lock().unwrap();
		*answered += 1;
		// The leaf list and three ranges, then nothing any more.
		if *answered <= 4 {
			Reaction::data(&honest(&served, &request))
		} else {
			Reaction::Close
		}
	})
	.await;
	// The leaves that the peer sent are wrong on the mirror, and its list is gone: they are not read there.
	let name = hex::encode(content(&data).root.0);
	let blob = dir.path().join("blobs").join(&name[..2]).join(name);
	let mut wrong = data.clone();
	wrong[..384 * LEAF_BYTES].fill(0);
	std::fs::write(blob.with_extension("bin"), wrong).unwrap();
	std::fs::remove_file(blob.with_extension("leaves")).unwrap();
	let client = reader(2, dir.path()).await;
	assert_eq!(client.fetch(content(&data), &[fading]).await.unwrap(), data);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_asks_a_mirror_for_what_is_on_none() {
	let data = bytes(1, 3);
	let dir = mirror(&data);
	let client = reader(2, dir.path()).await;
	let watch = FetchWatch { peers_only: true, ..Default::default() };
	let error = client.handle.fetch_watched(content(&data), &[], &watch).await.unwrap_err();
	assert!(matches!(error, FetchError::NoPeers { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_has_is_missing_in_words_of_peers_and_mirrors() {
	let (dir, ignorant) = (tempfile::tempdir().unwrap(), Node::start(1).await);
	let client = reader(2, dir.path()).await;
	let error = client.fetch(content(&bytes(1, 3)), &[ignorant.address().await]).await.unwrap_err().to_string();
	let mirror = format!("; mirror file://{} does not have it", dir.path().display());
	assert!(error.contains("the list of its leaves is missing") && error.ends_with(&mirror), "{error}");
	let error = client.handle.note(H256::repeat_byte(7), &[], |_| Some(())).await.unwrap_err().to_string();
	assert!(error.starts_with("no peer is known") && error.ends_with(&mirror), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_that_no_peer_has_is_read_from_a_mirror() {
	let dir = tempfile::tempdir().unwrap();
	Store::open(dir.path(), PLENTY).unwrap().set_note(H256::repeat_byte(7), b"parts").unwrap();
	let (ignorant, client) = (Node::start(1).await, reader(2, dir.path()).await);
	let accept = |note: &[u8]| (note == b"parts").then_some(3);
	assert_eq!(client.handle.note(H256::repeat_byte(7), &[ignorant.address().await], accept).await.unwrap(), 3);
}
