//! Tests of notes: what a root that names no blob is made of.

use super::*;

/// Takes a note that says what the root is a hash of.
fn known(root: H256) -> impl Fn(&[u8]) -> Option<Vec<u8>> {
	move |note| (H256(neuroshard_graph::merkle::blake2_256(note)) == root).then(|| note.to_vec())
}

fn root_of(note: &[u8]) -> H256 {
	H256(neuroshard_graph::merkle::blake2_256(note))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_comes_from_whoever_has_it() {
	let (knowing, ignorant, client) = (Node::start(1).await, Node::start(2).await, Node::start(3).await);
	let note = b"parameters and momentum";
	let root = root_of(note);
	knowing.store.set_note(root, note).unwrap();
	let peers = [ignorant.address().await, knowing.address().await];
	assert_eq!(client.handle.note(root, &peers, known(root)).await.unwrap(), note);
	let error = client.handle.note(root, &peers[..1], known(root)).await.unwrap_err();
	assert!(error.to_string().contains("made of") && error.to_string().contains("does not have this blob"), "{error}");
	assert!(matches!(client.handle.note(root, &[], known(root)).await, Err(FetchError::NoPeers { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_does_not_answer_does_not_hold_up_a_note() {
	let knowing = Node::start(1).await;
	let client = Node::configured(3, |config| config.timeouts.request = 10 * PATIENCE).await;
	for seed in 1..=8 {
		let note = [seed; 40];
		let root = root_of(&note);
		knowing.store.set_note(root, &note).unwrap();
		// Whoever comes first in the ranking: the one who knows is heard.
		let (silent, _) = hand_made(90 + seed, |_| Reaction::Silence).await;
		let peers = [silent, knowing.address().await];
		let asked = tokio::time::timeout(PATIENCE, client.handle.note(root, &peers, known(root))).await;
		assert_eq!(asked.expect("the note comes").unwrap(), note);
	}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_that_does_not_belong_to_the_root_shuts_its_sender_out() {
	let (liar, honest, client) = (Node::start(1).await, Node::start(2).await, Node::start(3).await);
	let note = b"parameters and momentum";
	let root = root_of(note);
	liar.store.set_note(root, b"something else").unwrap();
	honest.store.set_note(root, note).unwrap();
	let error = client.handle.note(root, &[liar.address().await], known(root)).await.unwrap_err();
	assert!(error.to_string().contains("does not belong to the root"), "{error}");
	assert!(client.standing(liar.handle.peer_id()).await.is_some_and(|standing| standing.banned_for.is_some()));
	let peers = [liar.address().await, honest.address().await];
	assert_eq!(client.handle.note(root, &peers, known(root)).await.unwrap(), note);
}
