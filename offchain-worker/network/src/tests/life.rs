//! Heartbeats and farewells.

use super::*;

/// Two nodes that have each other in their books, and are connected.
async fn pair() -> (Node, Node) {
	let patient = |config: &mut NetworkConfig| config.timeouts.farewell = PATIENCE;
	let (one, two) = (Node::configured(1, patient).await, Node::configured(2, patient).await);
	let (first, second) = (one.address().await, two.address().await);
	one.handle.set_peers(vec![second.clone()]).await.unwrap();
	two.handle.set_peers(vec![first.clone()]).await.unwrap();
	one.until(|status| status.is_connected(&second.peer)).await;
	two.until(|status| status.is_connected(&first.peer)).await;
	(one, two)
}

impl Node {
	/// Waits until what is known of the life of `peer` is as asked.
	async fn until_pulse(&self, peer: PeerId, wanted: impl Fn(Pulse) -> bool) -> Pulse {
		let waiting = async {
			loop {
				if let Some(pulse) = self.handle.pulses().await.unwrap().get(&peer).copied().filter(|pulse| wanted(*pulse)) {
					return pulse;
				}
				tokio::task::yield_now().await;
			}
		};
		tokio::time::timeout(PATIENCE, waiting).await.expect("the network gets there")
	}
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_stops_says_farewell_and_is_alive_again_when_it_is_back() {
	let (one, two) = pair().await;
	let peer = two.handle.peer_id();
	let pulse = one.until_pulse(peer, |_| true).await;
	assert!(!pulse.left && !pulse.is_dead(), "{pulse:?}");
	let folder = two.stop().await;
	let pulse = one.until_pulse(peer, |pulse| pulse.left).await;
	assert!(pulse.is_dead());
	let back = Node::over(2, folder, |_| {}).await;
	back.handle.set_peers(vec![one.address().await]).await.unwrap();
	assert!(!one.until_pulse(peer, |pulse| !pulse.left).await.is_dead());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_vanishes_is_dead_after_six_seconds_and_one_that_lives_never() {
	let (one, two) = pair().await;
	let (hidden, lives) = (two.handle.peer_id(), Node::start(3).await);
	let alive = lives.address().await;
	let mut book = vec![PeerAddress::new(hidden, []), alive.clone()];
	one.handle.set_peers(book.clone()).await.unwrap();
	one.until(|status| status.is_connected(&alive.peer)).await;
	// Its task ends between two polls: nothing is said, nothing is closed by it.
	two.task.abort();
	let pulse = one.until_pulse(hidden, |pulse| pulse.is_dead()).await;
	assert!(!pulse.left && pulse.silent_for >= DEAD_AFTER, "{pulse:?}");
	let pulses = one.handle.pulses().await.unwrap();
	assert!(!pulses[&alive.peer].is_dead(), "{pulses:?}");
	// Also if it surely has what is fetched.
	let ranking = one.handle.rank(vec![hidden, alive.peer], Some(hidden), H256::zero()).await.unwrap();
	assert_eq!(ranking.usable, [alive.peer, hidden]);
	// Whoever is not in the book any more is forgotten.
	book.remove(0);
	one.handle.set_peers(book).await.unwrap();
	assert_eq!(one.handle.pulses().await.unwrap().into_keys().collect::<Vec<_>>(), [alive.peer]);
}
