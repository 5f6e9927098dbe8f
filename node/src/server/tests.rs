use super::*;
use jsonrpsee::{
	core::client::{ClientT, Subscription, SubscriptionClientT},
	rpc_params,
	server::ConnectionId,
	types::ErrorObjectOwned,
	ws_client::{WsClient, WsClientBuilder},
};
use sc_transaction_pool_api::error::Error::TooLowPriority;
use std::{
	num::NonZeroU32,
	sync::atomic::{AtomicUsize, Ordering},
};
use tokio::{
	io::{AsyncRead, AsyncReadExt, AsyncWriteExt, BufStream},
	net::TcpStream,
};

mod pages;

const PURPOSE: Purpose = Purpose { visitors: "JSON-RPC", option: "--rpc-port" };
/// Bytes of a large answer.
const LARGE: usize = MIB as usize;
/// More clients than strangers have threads.
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

/// A server with methods `small`, `large`, which counts its calls, `waits`, and `unsafe`, and subscriptions `numbers`, without end, and `listen`, to nothing.
struct Tested {
	_server: Server,
	address: SocketAddr,
	registry: Registry,
	executed: Arc<AtomicUsize>,
	waiting: Arc<AtomicUsize>,
	/// Those who wait do so until it is dropped.
	_go: std::sync::mpsc::Sender<()>,
}

impl Tested {
	fn new(endpoint: RpcEndpoint) -> Self {
		let executed = Arc::new(AtomicUsize::new(0));
		let counted = executed.clone();
		let mut methods = RpcModule::new(());
		methods.register_method("small", |_, _, _| 1).unwrap();
		methods.register_method("connection", |_, _, extensions| extensions.get::<ConnectionId>().map_or(0, |id| id.0)).unwrap();
		methods
			.register_subscription("numbers", "number", "end", |_, pending, _, _| async {
				let Ok(sink) = pending.accept().await else { return };
				for number in 0.. {
					let Ok(message) = jsonrpsee::SubscriptionMessage::from_json(&number) else { return };
					if sink.send(message).await.is_err() {
						return;
					}
				}
			})
			.unwrap();
		let quiet = |_, pending: jsonrpsee::PendingSubscriptionSink, _, _| async {
			if let Ok(sink) = pending.accept().await {
				sink.closed().await;
			}
		};
		methods.register_subscription("listen", "nothing", "leave", quiet).unwrap();
		let taken = || ErrorObjectOwned::from(sc_rpc_api::author::error::Error::Pool(TooLowPriority { old: 1, new: 1 }));
		methods.register_method("author_submitExtrinsic", move |_, _, _| Err::<u32, _>(taken())).unwrap();
		methods.register_method("unsafe", |_, _, extensions| sc_rpc_api::check_if_safe(extensions).map(|()| 1)).unwrap();
		// As the SDK's own module for callers inside the node has it.
		methods.extensions_mut().insert(DenyUnsafe::No);
		let large = move |_: jsonrpsee::types::Params<'_>, _: Arc<()>, _: jsonrpsee::Extensions| {
			counted.fetch_add(1, Ordering::SeqCst);
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
		let server = start(bind([endpoint], PURPOSE).unwrap(), &methods, Some(&registry)).unwrap();
		Self { address: server.listen_addrs()[0], _server: server, registry, executed, waiting, _go: go }
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

	/// Waits until as many calls are executed as strangers may have.
	async fn is_crowded(&self) {
		let executed = async {
			while self.waiting.load(Ordering::SeqCst) < CALLS_OF_STRANGERS {
				tokio::task::yield_now().await;
			}
		};
		tokio::time::timeout(SOON, executed).await.expect("strangers are served");
	}

	/// A client on this machine is answered by a method that needs a thread, beside all strangers.
	async fn leaves_a_thread(&self, client: &WsClient) {
		let large = client.request::<String, _>("large", rpc_params![]);
		assert_eq!(tokio::time::timeout(SOON, large).await.expect("in a thread of its own").unwrap().len(), LARGE);
		assert_eq!(self.waiting.load(Ordering::SeqCst), CALLS_OF_STRANGERS);
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
async fn strangers_whose_calls_take_long_leave_threads_for_clients_on_this_machine() {
	let tested = Tested::new(RpcEndpoint { max_connections: 100, ..endpoint() });
	let client = tested.client().await;
	let mut crowd = Vec::new();
	for _ in 0..CROWD {
		let mut socket = tested.stranger().await;
		socket.write_all(&asks_for("waits")).await.unwrap();
		crowd.push(socket);
	}
	tested.is_crowded().await;
	tested.leaves_a_thread(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_that_goes_away_has_its_thread_until_its_call_ends() {
	let tested = Tested::new(RpcEndpoint { max_connections: 100, ..endpoint() });
	let client = tested.client().await;
	let request = posted(tested.address, "waits").replace("Content-Type", "X-Real-IP: 192.0.2.60\r\nContent-Type");
	for come in 1..=CALLS_OF_STRANGERS {
		let mut socket = TcpStream::connect(tested.address).await.unwrap();
		socket.write_all(request.as_bytes()).await.unwrap();
		let executed = async {
			while tested.waiting.load(Ordering::SeqCst) < come {
				tokio::task::yield_now().await
			}
		};
		tokio::time::timeout(SOON, executed).await.expect("strangers are served");
	}
	let mut last = TcpStream::connect(tested.address).await.unwrap();
	last.write_all(request.as_bytes()).await.unwrap();
	tested.leaves_a_thread(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_who_take_all_connections_leave_those_of_clients_on_this_machine() {
	let tested = Tested::new(endpoint());
	let crowd = [tested.stranger().await, tested.stranger().await, tested.stranger().await];
	let mut refused = TcpStream::connect(tested.address).await.unwrap();
	let page = handshake(tested.address).replace("Upgrade: ", "Origin: https://app.example\r\nUpgrade: ");
	refused.write_all(page.as_bytes()).await.unwrap();
	assert!(until(&mut refused, b'\n').await.starts_with("HTTP/1.1 429"));
	let client = tested.client().await;
	tested.answers(&client).await;
	drop(crowd);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_counted_and_their_places_given_back() {
	let tested = Tested::new(endpoint());
	let client = tested.client().await;
	let others = [tested.client().await, tested.client().await];
	let connect = async || WsClientBuilder::default().build(format!("ws://{}", tested.address)).await;
	assert!(connect().await.is_err());
	tested.answers(&client).await;
	drop(others);
	let again = async { while connect().await.is_err() {} };
	tokio::time::timeout(SOON, again).await.expect("their places are free");
	tested.answers(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_subscribes_and_never_reads_holds_up_nobody() {
	let tested = Tested::new(endpoint());
	let client = tested.client().await;
	let mut deaf = tested.websocket(handshake(tested.address)).await;
	deaf.write_all(&asks_for("numbers")).await.unwrap();
	let mut numbers: Subscription<usize> = client.subscribe("numbers", rpc_params![], "end").await.unwrap();
	for number in 0..1_000 {
		assert_eq!(numbers.next().await.unwrap().unwrap(), number);
	}
	tested.answers(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_larger_than_its_bound_is_refused_and_the_connection_goes_on() {
	let tested = Tested::new(RpcEndpoint { max_payload_in_mb: 1, max_payload_out_mb: 1, ..endpoint() });
	let client = tested.client().await;
	let refused = client.request::<String, _>("large", rpc_params![]).await.unwrap_err().to_string();
	assert!(refused.contains("-32008"), "{refused}");
	let head = posted_text(tested.address, "").replace("Content-Length: 0", &format!("Content-Length: {}", LARGE + 1));
	let mut socket = TcpStream::connect(tested.address).await.unwrap();
	socket.write_all(head.as_bytes()).await.unwrap();
	assert!(until(&mut socket, b'\n').await.starts_with("HTTP/1.1 413"));
	let mut socket = tested.websocket(handshake(tested.address)).await;
	let length = u64::try_from(LARGE + 1).unwrap().to_be_bytes();
	let message = [&[0x81, 0xff][..], &length, &[0; 4], &vec![b'x'; LARGE + 1], &asks_for("small")].concat();
	socket.write_all(&message).await.unwrap();
	assert!(until(&mut socket, b'}').await.contains("-32007"));
	// The end of the refusal, and the next answer.
	assert_eq!(until(&mut socket, b'}').await, "}");
	assert!(until(&mut socket, b'}').await.ends_with(r#""result":1}"#));
	tested.answers(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_have_as_many_calls_as_they_may() {
	let batch = async |tested: &Tested, calls: usize| {
		let mut socket = TcpStream::connect(tested.address).await.unwrap();
		let calls = vec![r#"{"jsonrpc":"2.0","id":1,"method":"small"}"#; calls].join(",");
		let request = posted_text(tested.address, &format!("[{calls}]")).replace("Content-Type", "Connection: close\r\nContent-Type");
		socket.write_all(request.as_bytes()).await.unwrap();
		let mut answer = String::new();
		socket.read_to_string(&mut answer).await.unwrap();
		answer
	};
	let tested = Tested::new(endpoint());
	assert_eq!(batch(&tested, 10).await.matches(r#""result":1"#).count(), 10);
	assert!(batch(&tested, 11).await.contains("-32010"));
	let without = Tested::new(RpcEndpoint { batch_config: BatchRequestConfig::Disabled, ..endpoint() });
	assert!(batch(&without, 1).await.contains("-32005"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscriptions_of_a_connection_are_counted() {
	let tested = Tested::new(endpoint());
	let client = tested.client().await;
	let subscribe = async || client.subscribe::<usize, _>("listen", rpc_params![], "leave").await;
	let first = subscribe().await.unwrap();
	let refused = subscribe().await.err().unwrap().to_string();
	assert!(refused.contains("-32006"), "{refused}");
	first.unsubscribe().await.unwrap();
	let again = async { while subscribe().await.is_err() {} };
	tokio::time::timeout(SOON, again).await.expect("its place is free");
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
				"author_submitExtrinsic", "connection", "end", "large", "leave", "listen", "numbers", "rpc_methods", "small", "unsafe", "waits"
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
async fn calls_are_shown_in_metrics() {
	let tested = Tested::new(endpoint());
	let client = tested.client().await;
	for _ in 0..3 {
		tested.answers(&client).await;
	}
	client.request::<u32, _>("no such method", rpc_params![]).await.unwrap_err();
	assert_eq!([0, 1].map(|label| tested.value("substrate_rpc_calls_finished", label)), [3.0, 1.0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extrinsic_whose_nonce_is_taken_is_told_about_nonces_in_calls_and_batches() {
	let tested = Tested::new(endpoint());
	let client = tested.client().await;
	let mut told: Vec<_> = Vec::new();
	told.push(client.request::<u32, _>("author_submitExtrinsic", rpc_params![]).await.unwrap_err().to_string());
	let mut batch = jsonrpsee::core::params::BatchRequestBuilder::new();
	batch.insert("author_submitExtrinsic", rpc_params![]).unwrap();
	told.extend(client.batch_request::<u32>(batch).await.unwrap().into_iter().map(|answer| answer.unwrap_err().to_string()));
	assert_eq!(told.len(), 2);
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
