//! What web pages, in the browser of somebody who can reach the node, can have it do.

use super::*;

const APP: &str = "https://app.example";
const EVIL: &str = "https://evil.example";

/// A server that pages of [`APP`] may use, and pages on this machine.
fn tested(rpc_methods: RpcMethods) -> Tested {
	let cors = Some([APP, "http://localhost:*"].map(str::to_owned).to_vec());
	Tested::new(RpcEndpoint { cors, rpc_methods, max_connections: 100, ..endpoint() })
}

impl Tested {
	/// The whole answer to a request by HTTP.
	async fn told(&self, request: String) -> String {
		let mut socket = TcpStream::connect(self.address).await.unwrap();
		socket.write_all(request.as_bytes()).await.unwrap();
		// What follows the answer is neither a request nor a frame: the server ends the connection.
		socket.write_all(b"\xff\xff\r\n\r\n").await.unwrap();
		let mut answer = Vec::new();
		let _ = socket.read_to_end(&mut answer).await;
		String::from_utf8_lossy(&answer).into_owned()
	}

	/// The status of the answer to a handshake with these headers.
	async fn shaken(&self, headers: &str) -> String {
		let answer = self.told(handshake(self.address).replace("Upgrade: ", &format!("{headers}Upgrade: "))).await;
		answer.split(' ').nth(1).unwrap_or_default().to_owned()
	}

	/// What a page of an origin is answered over a WebSocket.
	async fn page_is_told(&self, origin: &str, call: &[u8]) -> String {
		let mut socket = self.websocket(handshake(self.address).replace("Upgrade: ", &format!("Origin: {origin}\r\nUpgrade: "))).await;
		socket.write_all(call).await.unwrap();
		until(&mut socket, b'}').await
	}
}

fn with(request: String, headers: &str) -> String {
	request.replacen("Content-Type", &format!("{headers}Content-Type"), 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_another_origin_gets_no_websocket() {
	let tested = tested(RpcMethods::Auto);
	for origin in
		[EVIL, "null", "http://app.example", "https://app.example.evil.example", "https://app.example:444", "https://localhost", ""]
	{
		assert_eq!(tested.shaken(&format!("Origin: {origin}\r\n")).await, "403", "{origin}");
	}
	assert_eq!(tested.shaken(&format!("Origin: {APP}\r\nOrigin: {EVIL}\r\n")).await, "403");
	assert_eq!(tested.shaken(&format!("origin: {EVIL}\r\n")).await, "403");
	for origin in [APP, "https://app.example:443", "http://localhost", "http://localhost:3000"] {
		assert_eq!(tested.shaken(&format!("Origin: {origin}\r\n")).await, "101", "{origin}");
	}
	assert_eq!(tested.shaken("").await, "101", "who is no browser");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_another_origin_has_nothing_executed_by_http() {
	let tested = tested(RpcMethods::Auto);
	let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"large"},{"jsonrpc":"2.0","id":2,"method":"large"}]"#;
	for request in [posted(tested.address, "large"), posted_text(tested.address, batch)] {
		for origin in [EVIL, "null"] {
			let answer = tested.told(with(request.clone(), &format!("Origin: {origin}\r\n"))).await;
			assert!(answer.starts_with("HTTP/1.1 403") && answer.contains(origin) && answer.contains("--rpc-cors"), "{answer}");
			assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
		}
	}
	let health = format!("GET /health HTTP/1.1\r\nHost: {}\r\nOrigin: {EVIL}\r\n\r\n", tested.address);
	assert!(tested.told(health).await.starts_with("HTTP/1.1 403"));
	assert_eq!(tested.executed.load(Ordering::SeqCst), 0);
	let answer = tested.told(with(posted(tested.address, "large"), &format!("Origin: {APP}\r\n"))).await;
	assert!(answer.starts_with("HTTP/1.1 200") && answer.to_lowercase().contains(&format!("access-control-allow-origin: {APP}")));
	assert_eq!(tested.executed.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_calls_what_is_unsafe_whatever_its_origin_and_whatever_is_allowed() {
	const REFUSED: &str = r#""code":-32601,"message":"RPC call is unsafe"#;
	let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"unsafe"},{"jsonrpc":"2.0","id":2,"method":"small"}]"#;
	let all = |rpc_methods| Tested::new(RpcEndpoint { rpc_methods, max_connections: 100, ..endpoint() });
	for (tested, origins) in [
		(tested(RpcMethods::Auto), [APP, "http://localhost:3000"]),
		(tested(RpcMethods::Unsafe), [APP, "http://localhost:3000"]),
		(all(RpcMethods::Auto), [EVIL, "null"]),
		(all(RpcMethods::Unsafe), [EVIL, "null"]),
	] {
		for origin in origins {
			let answer = tested.page_is_told(origin, &asks_for("unsafe")).await;
			assert!(answer.contains(REFUSED) && answer.contains("web page"), "{answer}");
			assert!(tested.page_is_told(origin, &asks_for("small")).await.contains(r#""result":1"#));
			let header = format!("Origin: {origin}\r\n");
			let answer = tested.told(with(posted(tested.address, "unsafe"), &header)).await;
			assert!(answer.contains(REFUSED), "{answer}");
			let answer = tested.told(with(posted_text(tested.address, batch), &header)).await;
			assert!(answer.contains(REFUSED) && answer.contains(r#""id":2,"result":1"#), "{answer}");
		}
		let client = tested.client().await;
		assert_eq!(client.request::<u32, _>("unsafe", rpc_params![]).await.unwrap(), 1, "who is no browser");
	}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_asks_before_is_told_what_pages_of_an_allowed_origin_may_send() {
	let asks = |address: SocketAddr, origin: &str| {
		format!(
			"OPTIONS / HTTP/1.1\r\nHost: {address}\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\n\
			 Access-Control-Request-Headers: content-type\r\nAccess-Control-Request-Private-Network: true\r\n\r\n"
		)
	};
	let listed = tested(RpcMethods::Auto);
	let answer = listed.told(asks(listed.address, APP)).await.to_lowercase();
	for line in [
		"http/1.1 200",
		"access-control-allow-origin: https://app.example",
		"access-control-allow-headers: content-type",
		"access-control-allow-methods: get,post",
		"access-control-allow-private-network: true",
	] {
		assert!(answer.contains(line), "{line}: {answer}");
	}
	let answer = listed.told(asks(listed.address, EVIL)).await.to_lowercase();
	assert!(answer.starts_with("http/1.1 403") && !answer.contains("access-control"), "{answer}");
	let all = Tested::new(endpoint());
	let answer = all.told(asks(all.address, EVIL)).await.to_lowercase();
	assert!(answer.starts_with("http/1.1 200") && answer.contains("access-control-allow-headers: *"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tunnel_is_served_whatever_its_port_and_a_name_is_told_why_it_is_not() {
	let tested = tested(RpcMethods::Auto);
	let asked_as = |host: &str| {
		[handshake(tested.address), posted(tested.address, "small")]
			.map(|request| request.replace(&format!("Host: {}", tested.address), &format!("Host: {host}")))
	};
	for host in ["localhost:1", "127.0.0.1:2", "[::1]:3", "localhost", "192.0.2.1:9944"] {
		let [websocket, http] = asked_as(host);
		assert!(tested.told(websocket).await.starts_with("HTTP/1.1 101"), "{host}");
		assert!(tested.told(http).await.starts_with("HTTP/1.1 200"), "{host}");
	}
	for request in asked_as("evil.example:9944") {
		let answer = tested.told(request).await;
		assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("`evil.example:9944`") && answer.contains("localhost"), "{answer}");
	}
	let all = Tested::new(endpoint());
	let request = posted(all.address, "small").replace(&format!("Host: {}", all.address), "Host: node.example");
	assert!(all.told(request).await.starts_with("HTTP/1.1 200"), "where all pages are let in, no name keeps one out");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_leave_threads_for_clients_on_this_machine() {
	let tested = tested(RpcMethods::Auto);
	let client = tested.client().await;
	let mut pages = Vec::new();
	for _ in 0..CROWD {
		let mut socket = tested.websocket(handshake(tested.address).replace("Upgrade: ", &format!("Origin: {APP}\r\nUpgrade: "))).await;
		socket.write_all(&asks_for("waits")).await.unwrap();
		pages.push(socket);
	}
	tested.is_crowded().await;
	tested.leaves_a_thread(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rate_of_a_page_is_limited_though_that_of_this_machine_is_not() {
	let endpoint = RpcEndpoint {
		rate_limit: NonZeroU32::new(60),
		rate_limit_whitelisted_ips: vec!["127.0.0.0/8".parse().unwrap()],
		max_connections: 100,
		..endpoint()
	};
	let tested = Tested::new(endpoint);
	let many = async |header: &str| {
		let mut socket = TcpStream::connect(tested.address).await.unwrap();
		let (request, start) = (with(posted(tested.address, "small"), header), Instant::now());
		for _ in 0..62 {
			socket.write_all(request.as_bytes()).await.unwrap();
			assert!(until(&mut socket, b'}').await.contains(r#""result":1"#));
		}
		start.elapsed()
	};
	many("").await;
	// What one minute may take comes at once, and then one in a second.
	let limited = many(&format!("Origin: {EVIL}\r\n")).await;
	assert!(limited >= Duration::from_secs(1), "{limited:?}");
}
