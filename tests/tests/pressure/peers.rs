//! A node with more in its pool than a peer's queue of notifications has room for, and a peer that comes late.

use crate::{code, request, submit, Asked, Socket, SOON};
use neuroshard_e2e::{kept_unless_passed, until, Binaries, Nodes, Start};
use serde_json::{json, Value as Json};
use subxt::dynamic::Value;
use subxt_signer::sr25519::dev;

/// Extrinsics in the pool: twice what such a queue holds, and half of what a pool holds by default.
const WAITING: u64 = 4_096;
/// Bytes of each of them beside its signature: so many do not get away while they are put into the queue.
const BYTES: usize = 1_000;

/// Nonce of Bob's next extrinsic, after those in the pool of a node.
async fn next_nonce(socket: &mut Socket) -> Option<u64> {
	let bob = dev::bob().public_key().to_account_id().to_string();
	let answer = socket.ask(&request(1, "system_accountNextIndex", json!([bob]))).await?;
	answer.get("result").and_then(Json::as_u64)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_of_a_node_with_a_full_pool_stays_connected_and_is_told_about_all_of_it() {
	let mut folder = kept_unless_passed("pressure").unwrap();
	// Without blocks, what is in the pool stays there.
	let nodes = Nodes::start_alone(&Binaries::find().unwrap().node, folder.path(), &["late"], &Start::default()).await.unwrap();
	let mut asked = Asked::new(nodes).await;
	let mut socket = asked.socket().await;
	for nonce in 0..WAITING {
		let remark = asked.signed(&dev::bob(), nonce, 0, ["System", "remark"], vec![Value::from_bytes([7; BYTES])]).await;
		assert!(code(&submit(&mut socket, &remark).await).is_none(), "{nonce}");
	}
	assert_eq!(next_nonce(&mut socket).await, Some(WAITING));

	let late = asked.nodes.validators.last_mut().unwrap();
	late.start().unwrap();
	let url = late.url().to_owned();
	let mut told = until("the late node to answer", SOON, async || Ok(Socket::open(&url).await)).await.unwrap();
	until("the late node to be told about all extrinsics", SOON, async || {
		asked.nodes.check()?;
		Ok((next_nonce(&mut told).await == Some(WAITING)).then_some(()))
	})
	.await
	.unwrap();
	for (node, socket) in [("the first node", &mut socket), ("the late node", &mut told)] {
		let health = socket.ask(&request(1, "system_health", json!([]))).await.unwrap();
		assert_eq!(health["result"]["peers"], 1, "{node}: {health}");
	}
	asked.nodes.stop().await;
	let logs = std::fs::read_to_string(folder.path().join("logs/validator-alone.log")).unwrap();
	assert!(!logs.contains("clogged"), "the queue of the late node was full");
	folder.disable_cleanup(false);
}
