//! A node that is asked what nobody should ask: it refuses, stays small, and goes on for all others.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bids;
mod peers;
mod raw;

use neuroshard_e2e::{kept_unless_passed, until, Binaries, Nodes, Start};
use raw::{code, post, request, Socket};
use serde_json::{json, Value as Json};
use std::time::{Duration, Instant};
use subxt::{
	backend::LegacyBackend,
	config::{substrate::SubstrateConfig, DefaultExtrinsicParamsBuilder},
	dynamic::{self, Value},
	rpcs::client::RpcClient,
	OnlineClient,
};
use subxt_signer::sr25519::{dev, Keypair};

/// Something that takes a few blocks, on a busy machine.
const SOON: Duration = Duration::from_secs(120);
/// What all of it together may take of memory, beyond what the node had before.
const MEMORY: u64 = 512 << 20;
/// Requests that nobody waits for the answers of, and how many of them are sent before any of these is read.
const FLOOD: usize = 20_000;
const FLOOD_AT_ONCE: usize = 4_000;
/// Blocks whose changes a client is told and does not read.
const UNREAD: u32 = 5;
/// Subscriptions of a connection; the SDK's default.
const SUBSCRIPTIONS: usize = 1_024;
/// Connections of a node; the SDK's default.
const CONNECTIONS: usize = 100;
/// Calls of a batch; the node's own default.
const BATCH: usize = 100;
/// Calls that a connection may make in a minute to the node whose pool is filled.
const CALLS_A_MINUTE: usize = 600;
/// Extrinsics in the pool of the node whose pool is filled.
const POOL: u64 = 64;

const PARSE_ERROR: i64 = -32_700;
const NO_METHOD: i64 = -32_601;
const BATCH_TOO_LARGE: i64 = -32_010;
const REQUEST_TOO_LARGE: i64 = -32_007;
const TOO_MANY_SUBSCRIPTIONS: i64 = -32_006;
const POOL_FULL: i64 = 1_016;
const TOO_MANY_CALLS: i64 = -32_999;

/// A node, and connections to it.
struct Asked {
	nodes: Nodes,
	url: String,
	api: OnlineClient<SubstrateConfig>,
	memory: u64,
}

impl Asked {
	async fn new(mut nodes: Nodes) -> Self {
		let url = nodes.client().url().to_owned();
		let backend = LegacyBackend::builder().build(RpcClient::from_insecure_url(&url).await.unwrap());
		let api = OnlineClient::from_backend_with_config(SubstrateConfig::new(), std::sync::Arc::new(backend)).await.unwrap();
		let memory = nodes.peak_memory().unwrap();
		Self { nodes, url, api, memory }
	}

	async fn socket(&self) -> Socket {
		Socket::open(&self.url).await.unwrap()
	}

	/// Somebody else is answered, and the node is not much larger than before.
	async fn goes_on(&mut self, what: &str) {
		self.nodes.check().unwrap();
		self.nodes.client().health().await.unwrap_or_else(|error| panic!("{what}: {error}"));
		let grown = self.nodes.peak_memory().unwrap().saturating_sub(self.memory);
		assert!(grown < MEMORY, "{what}: {grown} bytes more");
	}

	async fn finalizes(&self, blocks: u32) {
		let start = self.nodes.client().heads().await.unwrap().finalized.number;
		until("blocks to be finalized", SOON, async || {
			Ok((self.nodes.client().heads().await?.finalized.number >= start + blocks).then_some(()))
		})
		.await
		.unwrap();
	}

	async fn signed(&self, signer: &Keypair, nonce: u64, tip: u128, call: [&str; 2], arguments: Vec<Value>) -> Vec<u8> {
		let parameters = DefaultExtrinsicParamsBuilder::<SubstrateConfig>::new().nonce(nonce).tip(tip).build();
		let at = self.api.at_current_block().await.unwrap();
		let call = dynamic::tx(call[0], call[1], arguments);
		let mut signable = at.tx().create_signable_offline(&call, parameters).unwrap();
		signable.sign(signer).unwrap().into_encoded()
	}

	async fn transfer(&self, signer: &Keypair, nonce: u64, tip: u128, to: [u8; 32], amount: u128) -> Vec<u8> {
		let arguments = vec![Value::unnamed_variant("Id", [Value::from_bytes(to)]), Value::u128(amount)];
		self.signed(signer, nonce, tip, ["Balances", "transfer_keep_alive"], arguments).await
	}
}

async fn submit(socket: &mut Socket, extrinsic: &[u8]) -> Json {
	let text = request(1, "author_submitExtrinsic", json!([format!("0x{}", hex::encode(extrinsic))]));
	socket.ask(&text).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_client_sends_the_node_refuses_it_and_goes_on_for_others() {
	let mut folder = kept_unless_passed("pressure").unwrap();
	let node = Binaries::find().unwrap().node;
	let nodes = Nodes::start(&node, folder.path(), 1, &Start::default()).await.unwrap();
	let mut asked = Asked::new(nodes).await;

	what_is_no_request_is_refused(&mut asked).await;
	what_is_no_extrinsic_is_refused(&mut asked).await;
	what_is_too_large_is_refused(&mut asked).await;
	what_was_done_is_not_done_again(&mut asked).await;
	a_flood_over_one_connection_leaves_room_for_others(&mut asked).await;
	whoever_subscribes_and_does_not_read_costs_little(&mut asked).await;
	connections_and_subscriptions_run_out(&mut asked).await;
	asked.finalizes(1).await;
	asked.nodes.stop().await;
	folder.disable_cleanup(false);
}

async fn what_is_no_request_is_refused(asked: &mut Asked) {
	let mut socket = asked.socket().await;
	for text in ["", "hello", "{", "[", "[]]", "{\"jsonrpc\":", "\u{0}"] {
		assert_eq!(code(&socket.ask(text).await.unwrap()), Some(PARSE_ERROR), "{text:?}");
	}
	assert_eq!(code(&socket.ask(&request(1, "author_stealEverything", json!([]))).await.unwrap()), Some(NO_METHOD));
	for parameters in [json!([]), json!([7]), json!([{}]), json!(["0x", "0x"]), json!(["not hex"]), json!(["0xf"])] {
		let answer = socket.ask(&request(1, "author_submitExtrinsic", parameters.clone())).await.unwrap();
		assert!(code(&answer).is_some(), "{parameters}: {answer}");
	}
	let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
	assert!(!socket.ask(&deep).await.unwrap().to_string().contains("result"));
	asked.goes_on("what is no request").await;
}

async fn what_is_no_extrinsic_is_refused(asked: &mut Asked) {
	let mut socket = asked.socket().await;
	let good = asked.transfer(&dev::bob(), 0, 0, [9; 32], 1_000_000_000_000).await;
	let changed = |place: usize| {
		let mut bytes = good.clone();
		bytes[place] ^= 1;
		bytes
	};
	let mut bad = vec![
		Vec::new(),
		vec![0],
		vec![0xff; 4],
		vec![0x84; 200],
		// Lengths of a gigabyte, of more than there is, and of nothing.
		vec![0x03, 0xff, 0xff, 0xff, 0x3f],
		[&[0xfe, 0xff, 0xff, 0xff], &good[2..]].concat(),
		good[2..].to_vec(),
	];
	bad.extend((0..good.len()).step_by(7).map(|length| good[..length].to_vec()));
	// Every byte is signed, or is of the signature or the signer, or says how to read the others.
	bad.extend((0..good.len()).map(changed));
	for bytes in bad {
		let answer = submit(&mut socket, &bytes).await;
		assert!(code(&answer).is_some(), "{}: {answer}", hex::encode(&bytes));
	}
	asked.goes_on("what is no extrinsic").await;
}

async fn what_is_too_large_is_refused(asked: &mut Asked) {
	let mut socket = asked.socket().await;
	let large = request(1, "author_submitExtrinsic", json!([format!("0x{}", "00".repeat(9 << 20))]));
	assert_eq!(code(&socket.ask(&large).await.unwrap()), Some(REQUEST_TOO_LARGE));
	// The connection is still good.
	assert!(code(&socket.ask(&request(2, "system_name", json!([]))).await.unwrap()).is_none());
	let refused = post(&asked.url, large.as_bytes()).await;
	assert!(refused.is_none_or(|(status, _)| status == 413));

	// Larger than a block, and smaller than a request.
	let block = submit(&mut socket, &[vec![0x02, 0x00, 0x80, 0x01], vec![0x84; 6 << 20]].concat()).await;
	assert!(code(&block).is_some(), "{block}");

	let batch = |calls: usize| Json::from_iter((0..calls).map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "system_name" })));
	let answers = socket.ask(&batch(BATCH).to_string()).await.unwrap();
	assert_eq!(answers.as_array().map(Vec::len), Some(BATCH));
	assert_eq!(code(&socket.ask(&batch(BATCH + 1).to_string()).await.unwrap()), Some(BATCH_TOO_LARGE));
	let (status, body) = post(&asked.url, batch(BATCH + 1).to_string().as_bytes()).await.unwrap();
	assert!(status == 200 && body.contains(&BATCH_TOO_LARGE.to_string()), "{status}: {body}");
	asked.goes_on("what is too large").await;
}

async fn what_was_done_is_not_done_again(asked: &mut Asked) {
	let (receiver, amount) = ([77; 32], 5_000_000_000_000);
	let mut socket = asked.socket().await;
	let extrinsic = asked.transfer(&dev::charlie(), 0, 0, receiver, amount).await;
	assert!(code(&submit(&mut socket, &extrinsic).await).is_none());
	assert!(code(&submit(&mut socket, &extrinsic).await).is_some(), "the pool takes it twice");
	let free = async |asked: &Asked| {
		let client = asked.nodes.client();
		let at = client.at(client.heads().await?.finalized).await?;
		Ok(at.funds(&receiver.into()).await?.free)
	};
	until("the transfer to be finalized", SOON, async || Ok((free(asked).await? > 0).then_some(()))).await.unwrap();
	assert!(code(&submit(&mut socket, &extrinsic).await).is_some(), "the chain takes it twice");
	asked.finalizes(2).await;
	assert_eq!(free(asked).await.map_err(|error: neuroshard_e2e::Error| error.to_string()), Ok(amount));
	asked.goes_on("what was done before").await;
}

async fn a_flood_over_one_connection_leaves_room_for_others(asked: &mut Asked) {
	let mut socket = asked.socket().await;
	for _ in 0..FLOOD / FLOOD_AT_ONCE {
		for id in 0..FLOOD_AT_ONCE {
			assert!(socket.send(&request(id, "chain_getHeader", json!([]))).await);
		}
		asked.goes_on("a flood").await;
		asked.finalizes(1).await;
		for _ in 0..FLOOD_AT_ONCE {
			assert!(socket.receive().await.unwrap().get("result").is_some());
		}
	}
}

/// A client that never reads, with subscriptions to all that every block changes.
async fn whoever_subscribes_and_does_not_read_costs_little(asked: &mut Asked) {
	let mut socket = asked.socket().await;
	for id in 0..SUBSCRIPTIONS / 4 {
		assert!(socket.send(&request(id, "state_subscribeStorage", json!([]))).await);
	}
	asked.finalizes(UNREAD).await;
	asked.goes_on("a client that has not read for long").await;
}

async fn connections_and_subscriptions_run_out(asked: &mut Asked) {
	let mut socket = asked.socket().await;
	for id in 0..=SUBSCRIPTIONS {
		let answer = loop {
			let message =
				if id == 0 { socket.ask(&request(id, "chain_subscribeNewHead", json!([]))).await } else { socket.receive().await };
			let message = message.unwrap();
			// What is subscribed to comes in between.
			if message.get("id").is_some() {
				break message;
			}
		};
		if id < SUBSCRIPTIONS {
			assert!(code(&answer).is_none(), "{answer}");
			socket.send(&request(id + 1, "chain_subscribeNewHead", json!([]))).await;
		} else {
			assert_eq!(code(&answer), Some(TOO_MANY_SUBSCRIPTIONS), "{answer}");
		}
	}
	let mut open = Vec::new();
	for _ in 0..CONNECTIONS + 20 {
		open.extend(Socket::open(&asked.url).await);
	}
	assert!(open.len() < CONNECTIONS, "{} connections beside others", open.len());
	asked.goes_on("all connections in use").await;
	drop(open);
	until("a connection to be free again", SOON, async || Ok(Socket::open(&asked.url).await.map(drop))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_that_one_account_has_filled_gives_room_to_those_who_pay_more() {
	let mut folder = kept_unless_passed("pressure").unwrap();
	// Without blocks, what is in the pool stays there. The limit of calls is that of addresses that are not this machine's.
	let options =
		[&format!("--pool-limit={POOL}"), &format!("--rpc-rate-limit={CALLS_A_MINUTE}"), "--rpc-rate-limit-whitelisted-ips=192.0.2.1/32"];
	let start = Start { options: options.map(Into::into).to_vec(), ..Start::default() };
	let nodes = Nodes::start_alone(&Binaries::find().unwrap().node, folder.path(), &[], &start).await.unwrap();
	let mut asked = Asked::new(nodes).await;
	let mut socket = asked.socket().await;

	// It pays more than others for each, so that theirs are no better.
	for nonce in 0..POOL {
		let flood = asked.transfer(&dev::bob(), nonce, 1_000_000_000, [9; 32], 1_000_000_000).await;
		assert!(code(&submit(&mut socket, &flood).await).is_none(), "{nonce}");
	}
	let plain = asked.transfer(&dev::charlie(), 0, 0, [9; 32], 1_000_000_000).await;
	assert_eq!(code(&submit(&mut socket, &plain).await), Some(POOL_FULL));
	// Operational calls are for those whose turn it is in a dispute. This one is for root, and anybody can sign it.
	let kill = asked.signed(&dev::charlie(), 0, 0, ["System", "kill_storage"], vec![Value::unnamed_composite([])]).await;
	assert_eq!(code(&submit(&mut socket, &kill).await), Some(POOL_FULL));
	let bid = asked.transfer(&dev::charlie(), 0, 2_000_000_000, [9; 32], 1_000_000_000).await;
	let taken = submit(&mut socket, &bid).await;
	assert!(code(&taken).is_none(), "{taken}");
	let pending = socket.ask(&request(1, "author_pendingExtrinsics", json!([]))).await.unwrap();
	let pending = pending["result"].as_array().unwrap().clone();
	assert!(pending.contains(&json!(format!("0x{}", hex::encode(&bid)))) && pending.len() <= POOL as usize, "{pending:?}");

	let mut flood = asked.socket().await;
	let start = Instant::now();
	for id in 0..CALLS_A_MINUTE + 30 {
		assert!(flood.send(&request(id, "system_name", json!([]))).await);
	}
	let mut refused = 0;
	for _ in 0..CALLS_A_MINUTE + 30 {
		if let Some(code) = code(&flood.receive().await.unwrap()) {
			assert_eq!(code, TOO_MANY_CALLS);
			refused += 1;
		}
	}
	// What a minute has room for comes at once, and then ten in a second; who has lost its turn too often is refused.
	assert!(refused <= 30 && (refused > 0 || start.elapsed() >= Duration::from_secs(2)), "{refused} in {:?}", start.elapsed());
	asked.goes_on("a flood beyond the limit").await;
	asked.nodes.stop().await;
	folder.disable_cleanup(false);
}
