use super::*;
use jsonrpsee::{
	core::{
		client::{ClientT, SubscriptionClientT},
		params::ArrayParams,
	},
	rpc_params,
	server::ConnectionId,
	types::ErrorObjectOwned,
	ws_client::{WsClient, WsClientBuilder},
};
use sc_rpc_api::DenyUnsafe;
use sc_transaction_pool_api::error::Error::TooLowPriority;
use std::{
	num::NonZeroU32,
	sync::atomic::{AtomicUsize, Ordering},
	time::Instant,
};
use tokio::{
	io::{AsyncRead, AsyncReadExt, AsyncWriteExt, BufStream},
	net::TcpStream,
	sync::Notify,
};

mod pages;

const PURPOSE: Purpose = Purpose { visitors: "JSON-RPC", option: "--rpc-port" };
/// Bytes of a large answer.
const LARGE: usize = MIB as usize;
/// Calls for a large answer that nobody reads.
const CALLS: usize = 200;
/// Answers that fit into the buffers of the system, and into the bounds.
const MANY: usize = 100;
/// More clients than there is memory for at a time.
const CROWD: usize = 40;
/// Longer than any machine takes for what comes, so that a test which waits for what never comes ends.
const SOON: Duration = Duration::from_secs(600);

fn endpoint() -> RpcEndpoint {
	RpcEndpoint {
		batch_config: BatchRequestConfig::Limit(10),
		max_connections: 3,
		max_payload_in_mb: 15,
		max_payload_out_mb: 15,
		max_subscriptions_per_connection: 1,
		max_buffer_capacity_per_connection: 64,
		cors: None,
		rpc_methods: RpcMethods::Auto,
		..nobody()
	}
}

/// A server with a method `large`, which counts its calls, `small`, and `unsafe`.
struct Tested {
	_server: Server,
	address: SocketAddr,
	registry: Registry,
	executed: Arc<AtomicUsize>,
	many: Arc<Notify>,
	waiting: Arc<AtomicUsize>,
	/// Those who wait do so until it is dropped.
	_go: std::sync::mpsc::Sender<()>,
}

impl Tested {
	fn new(endpoint: RpcEndpoint) -> Self {
		let (executed, many) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
		let counted = (executed.clone(), many.clone());
		let mut methods = RpcModule::new(());
		methods.register_method("small", |_, _, _| 1).unwrap();
		methods.register_method("connection", |_, _, extensions| extensions.get::<ConnectionId>().map_or(0, |id| id.0)).unwrap();
		methods
			.register_subscription("state_subscribeStorage", "state_storage", "state_unsubscribeStorage", |_, pending, _, _| async {
				let _ = pending.accept().await;
			})
			.unwrap();
		let taken = || ErrorObjectOwned::from(sc_rpc_api::author::error::Error::Pool(TooLowPriority { old: 1, new: 1 }));
		methods.register_method("author_submitExtrinsic", move |_, _, _| Err::<u32, _>(taken())).unwrap();
		methods
			.register_subscription(
				"author_submitAndWatchExtrinsic",
				"author_extrinsicUpdate",
				"author_unwatchExtrinsic",
				move |_, pending, _, _| async move { pending.reject(taken()).await },
			)
			.unwrap();
		methods.register_method("unsafe", |_, _, extensions| sc_rpc_api::check_if_safe(extensions).map(|()| 1)).unwrap();
		// As the SDK's own module for callers inside the node has it.
		methods.extensions_mut().insert(DenyUnsafe::No);
		let large = move |_: jsonrpsee::types::Params<'_>, _: Arc<()>, _: jsonrpsee::Extensions| {
			if counted.0.fetch_add(1, Ordering::SeqCst) > MANY {
				counted.1.notify_one();
			}
			"x".repeat(LARGE)
		};
		methods.register_blocking_method("large", large).unwrap();
		let (waiting, (go, wait)) = (Arc::new(AtomicUsize::new(0)), std::sync::mpsc::channel());
		let (counted, wait) = (waiting.clone(), Arc::new(std::sync::Mutex::new(wait)));
		let waits = move |_: jsonrpsee::types::Params<'_>, _: Arc<()>, _: jsonrpsee::Extensions| {
			counted.fetch_add(1, Ordering::SeqCst);
			let _ = wait.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv();
		};
		methods.register_blocking_method("waits", waits).unwrap();
		let registry = Registry::new();
		let (_server, addresses) = start(bind([endpoint], PURPOSE).unwrap(), &methods, Some(&registry)).unwrap();
		Self { _server, address: addresses[0], registry, executed, many, waiting, _go: go }
	}

	async fn client(&self) -> WsClient {
		WsClientBuilder::default().build(format!("ws://{}", self.address)).await.unwrap()
	}

	/// A metric.
	fn value(&self, name: &str, label: usize) -> f64 {
		let shown = self.registry.gather();
		let family = shown.iter().find(|family| family.get_name() == name).unwrap_or_else(|| panic!("no {name}"));
		let metric = &family.get_metric()[label];
		metric.get_counter().get_value() + metric.get_gauge().get_value()
	}

	/// Waits until so many bytes are held.
	async fn holds(&self, bytes: std::ops::Range<f64>) {
		let held = async {
			while !bytes.contains(&self.value("neuroshard_rpc_held_bytes", 0)) {
				tokio::task::yield_now().await;
			}
		};
		tokio::time::timeout(SOON, held).await.unwrap_or_else(|_| panic!("not {bytes:?}"));
	}

	/// A client on this machine and a stranger are answered at once.
	async fn goes_on(&self, client: &WsClient, stranger: &mut TcpStream) {
		tokio::time::timeout(SOON, self.answers(client)).await.expect("clients on this machine are served");
		stranger.write_all(&asks_for("small")).await.unwrap();
		let answer = tokio::time::timeout(SOON, until(stranger, b'}')).await.expect("strangers are served");
		assert!(answer.ends_with(r#""result":1}"#), "{answer}");
	}

	async fn answers(&self, client: &WsClient) {
		assert_eq!(client.request::<u32, _>("small", rpc_params![]).await.unwrap(), 1);
	}

	/// A WebSocket that begins with this request.
	async fn websocket(&self, handshake: String) -> TcpStream {
		let mut socket = TcpStream::connect(self.address).await.unwrap();
		socket.write_all(handshake.as_bytes()).await.unwrap();
		let mut answer = Vec::new();
		while !answer.ends_with(b"\r\n\r\n") {
			answer.push(socket.read_u8().await.unwrap());
		}
		socket
	}

	/// A WebSocket of somebody elsewhere, as a proxy on this machine passes it on.
	async fn stranger(&self) -> TcpStream {
		self.websocket(handshake(self.address).replace("Upgrade: ", "X-Forwarded-For: 192.0.2.60\r\nUpgrade: ")).await
	}

	/// A WebSocket that has asked for many large answers. The node may stop reading before all is sent.
	async fn greedy(&self) -> TcpStream {
		let mut socket = self.websocket(handshake(self.address)).await;
		socket.write_all(&asks_for("large").repeat(CALLS)).await.unwrap();
		socket
	}
}

/// The request that begins a WebSocket.
fn handshake(address: SocketAddr) -> String {
	format!(
		"GET / HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
		 Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
	)
}

/// A final text frame, masked by zeros, with a call.
fn asks_for(method: &str) -> Vec<u8> {
	let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
	[&[0x81, 0x80 | u8::try_from(text.len()).unwrap(), 0, 0, 0, 0], text.as_bytes()].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_executed_as_fast_as_their_answers_are_read_and_none_is_lost() {
	let tested = Tested::new(endpoint());
	let (client, mut greedy) = (tested.client().await, tested.greedy().await);
	let too_many = tokio::time::timeout(Duration::from_secs(5), tested.many.notified()).await.is_ok();
	assert!(!too_many, "{} answers are kept", tested.executed.load(Ordering::SeqCst));
	tested.answers(&client).await;

	let mut left = CALLS * LARGE;
	let mut buffer = vec![0; LARGE];
	while left > 0 {
		let bytes = greedy.read(&mut buffer).await.unwrap();
		assert!(bytes > 0, "{left} bytes are missing");
		left = left.saturating_sub(buffer[..bytes].iter().filter(|byte| **byte == b'x').count());
	}
	assert_eq!(tested.executed.load(Ordering::SeqCst), CALLS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_who_send_messages_in_parts_starve_nobody() {
	let tested = Tested::new(RpcEndpoint { max_connections: 100, ..endpoint() });
	let (client, mut stranger) = (tested.client().await, tested.stranger().await);
	let mut large = vec![0x01, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0];
	large.extend([b'x'; 1_000]);
	let mut crowd = Vec::new();
	// The first part of a message, which another one would follow; and one that says that it has a mebibyte.
	for part in [vec![0x01, 0x81, 0, 0, 0, 0, b'{'], large] {
		let beside_them = async {
			loop {
				crowd.clear();
				for _ in 0..CROWD {
					let mut socket = tested.stranger().await;
					socket.write_all(&part).await.unwrap();
					crowd.push(socket);
				}
				tested.goes_on(&client, &mut stranger).await;
				// On a slow machine their time may have been over before.
				if crowd.iter().all(is_connected) {
					break;
				}
			}
		};
		tokio::time::timeout(SOON, beside_them).await.expect("others are served while these are connected");
	}
	assert!(tested.value("neuroshard_rpc_held_bytes", 0) < 1e6, "memory is taken as bytes come");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_whose_calls_take_long_leave_memory_and_threads_for_clients_on_this_machine() {
	let tested = Tested::new(RpcEndpoint { max_connections: 100, ..endpoint() });
	let client = tested.client().await;
	let mut crowd = Vec::new();
	for _ in 0..CROWD {
		let mut socket = tested.stranger().await;
		socket.write_all(&asks_for("waits")).await.unwrap();
		crowd.push(socket);
	}
	// As many as may.
	let executed = async {
		while tested.waiting.load(Ordering::SeqCst) < THREADS_OF_OTHERS {
			tokio::task::yield_now().await;
		}
	};
	tokio::time::timeout(SOON, executed).await.expect("strangers are served");
	tokio::time::timeout(SOON, tested.answers(&client)).await.expect("clients on this machine are served");
	let blocking = client.request::<String, _>("large", rpc_params![]);
	assert_eq!(tokio::time::timeout(SOON, blocking).await.expect("in threads of their own").unwrap().len(), LARGE);
	assert_eq!(tested.waiting.load(Ordering::SeqCst), THREADS_OF_OTHERS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_whose_answers_are_larger_than_what_may_be_unread_is_answered() {
	let tested = Tested::new(endpoint());
	let client = tested.client().await;
	let mut batch = jsonrpsee::core::params::BatchRequestBuilder::new();
	for _ in 0..5 {
		batch.insert("large", rpc_params![]).unwrap();
	}
	let answers = client.batch_request::<String>(batch).await.unwrap();
	assert_eq!(answers.into_ok().unwrap().map(|answer| answer.len()).collect::<Vec<_>>(), [LARGE; 5]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_say_nothing_are_counted_and_their_places_given_back() {
	let tested = Tested::new(endpoint());
	let client = tested.client().await;
	let idle = [TcpStream::connect(tested.address).await.unwrap(), TcpStream::connect(tested.address).await.unwrap()];
	let mut refused = TcpStream::connect(tested.address).await.unwrap();
	assert!(refused.read_u8().await.is_err());
	tested.answers(&client).await;
	drop(idle);
	let again = async { while WsClientBuilder::default().build(format!("ws://{}", tested.address)).await.is_err() {} };
	tokio::time::timeout(SOON, again).await.expect("their places are free");
	tested.answers(&client).await;
}

/// Whether the node has said nothing over a connection, and not ended it.
fn is_connected(socket: &TcpStream) -> bool {
	matches!(socket.try_read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// A call by HTTP.
fn posted(address: SocketAddr, method: &str) -> String {
	posted_text(address, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#))
}

fn posted_text(address: SocketAddr, text: &str) -> String {
	let length = text.len();
	format!("POST / HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{text}")
}

/// What comes until a byte.
async fn until(socket: &mut (impl AsyncRead + Unpin), last: u8) -> String {
	let mut answer = Vec::new();
	while answer.last() != Some(&last) {
		answer.push(socket.read_u8().await.unwrap());
	}
	String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_by_http_are_answered_one_after_the_other_also_if_they_come_together() {
	let tested = Tested::new(endpoint());
	let mut socket = BufStream::new(TcpStream::connect(tested.address).await.unwrap());
	let calls = [posted(tested.address, "small"), posted(tested.address, "large"), posted(tested.address, "small")];
	socket.write_all(calls.concat().as_bytes()).await.unwrap();
	socket.flush().await.unwrap();
	for bytes in [1, LARGE + 2, 1] {
		let answer = until(&mut socket, b'}').await;
		let (head, body) = answer.split_once("\r\n\r\n").unwrap();
		assert!(head.starts_with("HTTP/1.1 200"), "{head}");
		assert_eq!(body.len(), r#"{"jsonrpc":"2.0","id":1,"result":}"#.len() + bytes);
	}
	// A WebSocket may come behind them, without a body.
	let upgrade = handshake(tested.address);
	for (head, status) in [
		(upgrade.replace("Upgrade: ", "Content-Length: 0\r\nUpgrade: "), "HTTP/1.1 101"),
		(upgrade.replace("Upgrade: ", "Content-Length: 2\r\nUpgrade: "), "HTTP/1.1 400"),
	] {
		let mut socket = TcpStream::connect(tested.address).await.unwrap();
		socket.write_all(&[posted(tested.address, "small"), head, "xx".into()].concat().into_bytes()).await.unwrap();
		until(&mut socket, b'}').await;
		assert_eq!(until(&mut socket, b' ').await + &until(&mut socket, b' ').await, format!("{status} "));
	}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_by_http_has_its_memory_until_it_is_taken() {
	let tested = Tested::new(endpoint());
	let mut socket = TcpStream::connect(tested.address).await.unwrap();
	// More than the buffers of the system take.
	let calls = [r#"{"jsonrpc":"2.0","id":1,"method":"large"}"#; 10].join(",");
	let request = format!(
		"POST / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n\
		 1\r\n[\r\n{:x}\r\n{calls}]\r\n0\r\n\r\n",
		tested.address,
		calls.len() + 1,
	);
	socket.write_all(request.as_bytes()).await.unwrap();
	let answer = f64::from(MIB) * 10.0;
	tested.holds(answer..answer * 1.1).await;
	let mut read = Vec::new();
	socket.read_to_end(&mut read).await.unwrap();
	assert!(read.starts_with(b"HTTP/1.1 200") && read.len() > 10 * LARGE);
	tested.holds(0.0..1.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_websocket_is_bound_however_the_lines_of_its_handshake_end() {
	let tested = Tested::new(endpoint());
	let mut socket = tested.websocket(handshake(tested.address).replace("\r\n", "\n")).await;
	socket.write_all(&asks_for("large").repeat(CALLS)).await.unwrap();
	let too_many = tokio::time::timeout(Duration::from_secs(5), tested.many.notified()).await.is_ok();
	assert!(!too_many, "{} answers are kept", tested.executed.load(Ordering::SeqCst));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_2_is_not_spoken() {
	let tested = Tested::new(endpoint());
	let mut socket = TcpStream::connect(tested.address).await.unwrap();
	socket.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
	let mut answer = Vec::new();
	// The end of the connection may come as a reset.
	let _ = socket.read_to_end(&mut answer).await;
	assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscriptions_are_no_part_of_a_batch_and_name_each_key_once() {
	let tested = Tested::new(endpoint());
	let client = tested.client().await;
	let ask = async |parameters: serde_json::Value| {
		let parameters: ArrayParams = parameters.as_array().unwrap().iter().fold(ArrayParams::new(), |mut all, one| {
			all.insert(one).unwrap();
			all
		});
		client.request::<serde_json::Value, _>("state_subscribeStorage", parameters).await.map_err(|error| error.to_string())
	};
	let many: Vec<_> = (0..1_025).map(|key| format!("0x{key:04x}")).collect();
	for keys in [serde_json::json!(["0x3a63", "0x3A63"]), serde_json::json!(many)] {
		assert!(ask(serde_json::json!([keys])).await.unwrap_err().contains("at most 1,024 keys"), "{keys}");
	}
	let mut named = jsonrpsee::core::params::ObjectParams::new();
	named.insert("keys", ["0x3a63", "0x3a63"]).unwrap();
	assert!(client.request::<serde_json::Value, _>("state_subscribeStorage", named).await.is_err());
	let mut batch = jsonrpsee::core::params::BatchRequestBuilder::new();
	batch.insert("small", rpc_params![]).unwrap();
	batch.insert("state_subscribeStorage", rpc_params![["0x3a63"]]).unwrap();
	let answers = client.batch_request::<serde_json::Value>(batch).await.unwrap();
	let answers: Vec<_> = answers.into_iter().map(|answer| answer.map_err(|error| error.code())).collect();
	assert_eq!(answers, [Ok(serde_json::json!(1)), Err(-32_600)]);
	// The one subscription that the connection may have.
	assert!(ask(serde_json::json!([many[..1_024]])).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_told_apart() {
	let tested = Tested::new(endpoint());
	let (one, other) = (tested.client().await, tested.client().await);
	let id = async |client: &WsClient| client.request::<usize, _>("connection", rpc_params![]).await.unwrap();
	assert_ne!(id(&one).await, id(&other).await);
	assert_eq!(id(&one).await, id(&one).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rate_of_calls_by_http_over_one_connection_is_limited() {
	let tested = Tested::new(RpcEndpoint { rate_limit: NonZeroU32::new(60), ..endpoint() });
	let mut socket = TcpStream::connect(tested.address).await.unwrap();
	let request = posted(tested.address, "small");
	let start = Instant::now();
	// What one minute may take comes at once, and then one in a second.
	for _ in 0..63 {
		socket.write_all(request.as_bytes()).await.unwrap();
		let answer = until(&mut socket, b'}').await;
		assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
	}
	assert!(start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_methods_are_named_and_unsafe_ones_refused_where_they_should_be() {
	for (rpc_methods, allowed) in [(RpcMethods::Auto, true), (RpcMethods::Unsafe, true), (RpcMethods::Safe, false)] {
		let tested = Tested::new(RpcEndpoint { rpc_methods, ..endpoint() });
		let client = tested.client().await;
		let names: serde_json::Value = client.request("rpc_methods", rpc_params![]).await.unwrap();
		assert_eq!(
			names,
			serde_json::json!({ "methods": [
				"author_submitAndWatchExtrinsic", "author_submitExtrinsic", "author_unwatchExtrinsic", "connection", "large", "rpc_methods", "small", "state_subscribeStorage", "state_unsubscribeStorage", "unsafe", "waits"
			] })
		);
		assert_eq!(client.request::<u32, _>("unsafe", rpc_params![]).await.is_ok(), allowed, "{rpc_methods:?}");
	}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_to_loopback_over_a_proxy_or_by_a_name_is_not_served_what_is_unsafe_unless_that_was_asked_for() {
	for (rpc_methods, allowed) in [(RpcMethods::Auto, false), (RpcMethods::Unsafe, true), (RpcMethods::Safe, false)] {
		let tested = Tested::new(RpcEndpoint { rpc_methods, max_connections: 10, ..endpoint() });
		let here = format!("Host: {}", tested.address);
		let forwarded = |name: &str| format!("{here}\r\n{name}: 192.0.2.60");
		for head in [
			forwarded("X-Forwarded-For"),
			forwarded("X-Real-IP"),
			format!("{here}\r\nForwarded: for=192.0.2.60"),
			"Host: node.example".into(),
		] {
			let mut socket = tested.websocket(handshake(tested.address).replace(&here, &head)).await;
			socket.write_all(&asks_for("unsafe")).await.unwrap();
			let answer = until(&mut socket, b'}').await;
			assert_eq!(answer.contains(r#""result":1"#), allowed, "{rpc_methods:?} {head}: {answer}");
			let mut socket = TcpStream::connect(tested.address).await.unwrap();
			socket.write_all(posted(tested.address, "unsafe").replace(&here, &head).as_bytes()).await.unwrap();
			let answer = until(&mut socket, b'}').await;
			assert_eq!(answer.contains(r#""result":1"#), allowed, "{rpc_methods:?} {head}: {answer}");
		}
	}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_and_what_they_hold_are_shown() {
	let tested = Tested::new(endpoint());
	let client = tested.client().await;
	for _ in 0..3 {
		tested.answers(&client).await;
	}
	client.request::<u32, _>("no such method", rpc_params![]).await.unwrap_err();
	assert_eq!([0, 1].map(|label| tested.value("neuroshard_substrate_rpc_calls_finished", label)), [3.0, 1.0]);
	// The client may have an answer before the server has noticed that.
	tested.holds(0.0..1.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extrinsic_whose_nonce_is_taken_is_told_about_nonces_whichever_way_it_was_sent() {
	let tested = Tested::new(endpoint());
	let client = tested.client().await;
	let mut told: Vec<_> = Vec::new();
	told.push(client.request::<u32, _>("author_submitExtrinsic", rpc_params![]).await.unwrap_err().to_string());
	let mut batch = jsonrpsee::core::params::BatchRequestBuilder::new();
	batch.insert("author_submitExtrinsic", rpc_params![]).unwrap();
	told.extend(client.batch_request::<u32>(batch).await.unwrap().into_iter().map(|answer| answer.unwrap_err().to_string()));
	let watch = client.subscribe::<u32, _>("author_submitAndWatchExtrinsic", rpc_params![], "author_unwatchExtrinsic");
	told.push(watch.await.err().unwrap().to_string());
	assert_eq!(told.len(), 3);
	for words in told {
		assert!(words.contains("1014") && words.contains("system_accountNextIndex"), "{words}");
	}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_served_at_the_endpoint_for_nobody() {
	let tested = Tested::new(nobody());
	assert!(WsClientBuilder::default().build(format!("ws://{}", tested.address)).await.is_err());
}

#[test]
fn an_address_in_use_is_an_error_that_names_it_also_if_it_is_optional() {
	let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
	let listen_addr = taken.local_addr().unwrap();
	for is_optional in [false, true] {
		let error = bind([RpcEndpoint { listen_addr, is_optional, ..endpoint() }], PURPOSE).unwrap_err().to_string();
		assert!(error.contains(&listen_addr.to_string()) && error.contains("--rpc-port") && error.contains("taken"), "{error}");
	}
	let elsewhere = RpcEndpoint { listen_addr, retry_random_port: true, ..endpoint() };
	assert!(bind([elsewhere], PURPOSE).is_ok(), "it was asked for");
}

#[test]
fn an_optional_address_that_this_machine_lacks_is_left_out() {
	// Reserved for documentation (RFC 5737).
	let missing = RpcEndpoint { listen_addr: "192.0.2.1:0".parse().unwrap(), is_optional: true, ..endpoint() };
	assert_eq!(bind([missing.clone(), endpoint()], PURPOSE).unwrap().len(), 1);
	assert!(matches!(bind([missing.clone()], PURPOSE), Err(Error::NoAddress)));
	assert!(matches!(bind([RpcEndpoint { is_optional: false, ..missing }], PURPOSE), Err(Error::Unavailable(_))));
}

#[test]
fn an_origin_that_is_none_is_an_error_before_anything_listens() {
	let error = bind([RpcEndpoint { cors: Some(vec!["https://*.example".into()]), ..endpoint() }], PURPOSE).unwrap_err().to_string();
	assert!(error.contains("`https://*.example`") && error.contains("--rpc-cors"), "{error}");
}
