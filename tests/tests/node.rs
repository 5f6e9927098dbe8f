//! A node by itself, as its own process: what a person reads when it cannot listen, and what a web page gets of it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use neuroshard_chain_client::ChainClient;
use neuroshard_e2e::{unless_away, until, Binaries, Ended, Ports, Process};
use serde_json::{json, Value};
use std::{
	net::{SocketAddr, TcpListener},
	process::Command,
	time::Duration,
};
use tokio::{
	io::{AsyncReadExt, AsyncWriteExt},
	net::TcpStream,
};

/// Longest wait for a node's first answer: it compiles the runtime before.
const FIRST_ANSWER: Duration = Duration::from_secs(600);
const APP: &str = "https://app.example";
const EVIL: &str = "https://evil.example";
/// //Alice's BABE key.
const ALICE: &str = "0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d";

fn node<'a>(options: impl IntoIterator<Item = &'a str>) -> Command {
	let mut command = Command::new(Binaries::find().unwrap().node);
	command.args(["--dev", "--no-mdns", "--no-telemetry"]).args(options);
	command
}

#[tokio::test]
async fn an_address_that_is_not_to_be_had_is_named_with_its_option_before_anything_else_happens() {
	let taken = TcpListener::bind("127.0.0.1:0").unwrap();
	let port = taken.local_addr().unwrap().port().to_string();
	let (here, elsewhere) = (format!("/ip4/127.0.0.1/tcp/{port}"), "/ip4/192.0.2.1/tcp/0");
	let (endpoint, other) = (format!("listen-addr=127.0.0.1:{port}"), "listen-addr=192.0.2.1:9944");
	let anywhere = ["--rpc-port=0", "--prometheus-port=0", "--listen-addr=/ip4/127.0.0.1/tcp/0"];
	for (own, option, value, place) in [
		("--rpc-port=0", "--rpc-port", &*port, &*port),
		("--rpc-port=0", "--experimental-rpc-endpoint", &endpoint, &port),
		("--rpc-port=0", "--experimental-rpc-endpoint", other, "192.0.2.1"),
		("--prometheus-port=0", "--prometheus-port", &port, &port),
		("--listen-addr=/ip4/127.0.0.1/tcp/0", "--port", &port, &port),
		("--listen-addr=/ip4/127.0.0.1/tcp/0", "--listen-addr", &here, &port),
		("--listen-addr=/ip4/127.0.0.1/tcp/0", "--listen-addr", elsewhere, "192.0.2.1"),
	] {
		let options = anywhere.into_iter().filter(|option| *option != own).chain([option, value]);
		let ended = Ended::of(node(options)).await.unwrap();
		let words = ended.error;
		assert!(!ended.success && !words.contains("panicked"), "{option} {value}: {words}");
		let error = words.lines().find(|line| line.starts_with("error: cannot listen at")).unwrap_or_else(|| panic!("{words}"));
		assert!(error.contains(place) && error.contains(option), "{error}");
	}
}

/// A node that pages of [`APP`] may use.
struct Node {
	rpc: u16,
	metrics: u16,
	_process: Process,
	_folder: tempfile::TempDir,
}

impl Node {
	async fn start() -> Self {
		let mut ports = Ports::reserve(None, 2).unwrap();
		let (rpc, metrics, folder) = (ports.take().unwrap(), ports.take().unwrap(), tempfile::tempdir().unwrap());
		let cache = Binaries::find().unwrap().node.with_file_name("wasm-cache");
		let options = [
			format!("--rpc-cors={APP}"),
			format!("--rpc-port={rpc}"),
			format!("--prometheus-port={metrics}"),
			format!("--wasm-cache={}", cache.display()),
			"--listen-addr=/ip4/127.0.0.1/tcp/0".into(),
		];
		let mut process = Process::start("a node", node(options.iter().map(String::as_str)), &folder.path().join("log")).unwrap();
		until("a node to answer", FIRST_ANSWER, async || {
			process.check()?;
			unless_away(ChainClient::connect(&format!("ws://127.0.0.1:{rpc}")).await)
		})
		.await
		.unwrap();
		Self { rpc, metrics, _process: process, _folder: folder }
	}

	/// Status and body of the answer to a request.
	async fn ask(&self, port: u16, line: &str, headers: &str, body: &str) -> (u16, String) {
		let mut socket = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).await.unwrap();
		let request = format!("{line} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len());
		socket.write_all(request.as_bytes()).await.unwrap();
		let mut answer = Vec::new();
		// The end of the connection may come as a reset.
		let _ = socket.read_to_end(&mut answer).await;
		let answer = String::from_utf8_lossy(&answer).into_owned();
		let (head, body) = answer.split_once("\r\n\r\n").unwrap();
		(head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
	}

	/// The answer to a call by HTTP, of a page or of somebody who is none.
	async fn call(&self, origin: Option<&str>, call: &Value) -> (u16, Value) {
		let origin = origin.map(|origin| format!("Origin: {origin}\r\n")).unwrap_or_default();
		let headers = format!("Host: localhost:{}\r\nContent-Type: application/json\r\n{origin}", self.rpc);
		let (status, body) = self.ask(self.rpc, "POST /", &headers, &call.to_string()).await;
		(status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
	}

	/// A WebSocket of a page; the status of the answer if that is refused.
	async fn websocket(&self, origin: &str) -> Result<TcpStream, String> {
		let mut socket = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], self.rpc))).await.unwrap();
		let request = format!(
			"GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
			 Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
			self.rpc
		);
		socket.write_all(request.as_bytes()).await.unwrap();
		let mut head = Vec::new();
		while !head.ends_with(b"\r\n\r\n") {
			head.push(socket.read_u8().await.unwrap());
		}
		let head = String::from_utf8_lossy(&head).into_owned();
		match head.split(' ').nth(1).unwrap() {
			"101" => Ok(socket),
			status => Err(status.to_owned()),
		}
	}
}

/// The answer to a call over a WebSocket.
async fn over(socket: &mut TcpStream, call: &Value) -> Value {
	let call = call.to_string();
	let length = u16::try_from(call.len()).unwrap();
	let mut frame = vec![0x81, 0x80 | 126];
	frame.extend(length.to_be_bytes());
	// Masked by zeros.
	frame.extend([0; 4]);
	frame.extend(call.bytes());
	socket.write_all(&frame).await.unwrap();
	loop {
		let kind = socket.read_u8().await.unwrap();
		let length = match socket.read_u8().await.unwrap() {
			126 => socket.read_u16().await.unwrap(),
			short => short.into(),
		};
		let mut said = vec![0; length.into()];
		socket.read_exact(&mut said).await.unwrap();
		match kind {
			0x81 => return serde_json::from_slice(&said).unwrap(),
			// The server asks whether anybody is there.
			0x89 => {}
			other => panic!("neither a text nor a ping: {other:#x}"),
		}
	}
}

fn call(method: &str, parameters: Value) -> Value {
	json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters })
}

/// What an evil page would call.
fn attacks() -> Vec<Value> {
	let peer = "/ip4/203.0.113.9/tcp/30333/p2p/12D3KooWJSpEPyNoWfqjA5TyQD8XkK9UcMwTewR5XHWND7zM7KQL";
	vec![
		call("author_rotateKeys", json!([])),
		call("author_rotateKeysWithOwner", json!([ALICE])),
		call("author_insertKey", json!(["test", "//Alice", ALICE])),
		call("author_removeExtrinsic", json!([[]])),
		call("system_addReservedPeer", json!([peer])),
		call("offchain_localStorageSet", json!(["PERSISTENT", "0x01", "0x02"])),
		call("system_unstable_networkState", json!([])),
	]
}

#[tokio::test]
async fn a_web_page_takes_no_keys_of_a_node_and_changes_nothing_there() {
	const UNSAFE: i64 = -32_601;
	let node = Node::start().await;
	for origin in [EVIL, "null", "http://app.example", "http://localhost:3000"] {
		assert_eq!(node.websocket(origin).await.map(drop), Err("403".into()), "{origin}");
		for attack in attacks() {
			let (status, words) = node.call(Some(origin), &attack).await;
			assert!(status == 403 && words.to_string().contains(origin), "{status} {words}");
		}
	}
	let mut socket = node.websocket(APP).await.unwrap();
	for attack in attacks() {
		assert_eq!(over(&mut socket, &attack).await["error"]["code"], UNSAFE, "{attack}");
		assert_eq!(node.call(Some(APP), &attack).await.1["error"]["code"], UNSAFE, "{attack}");
	}
	let batch = Value::Array(attacks());
	for answer in [over(&mut socket, &batch).await, node.call(Some(APP), &batch).await.1] {
		let answers = answer.as_array().unwrap();
		assert!(answers.len() == attacks().len() && answers.iter().all(|answer| answer["error"]["code"] == UNSAFE), "{answer}");
	}
	// What it may use works.
	assert_eq!(over(&mut socket, &call("system_chain", json!([]))).await["result"], "NeuroShard Development");

	let asked = async |method: &str, parameters: Value| node.call(None, &call(method, parameters)).await.1["result"].clone();
	assert_eq!(asked("author_hasKey", json!([ALICE, "test"])).await, json!(false));
	assert_eq!(asked("system_reservedPeers", json!([])).await, json!([]));
	assert_eq!(asked("offchain_localStorageGet", json!(["PERSISTENT", "0x01"])).await, Value::Null);
	// The operator, without a browser, may do all of that.
	assert!(asked("author_rotateKeys", json!([])).await.is_string());

	for (host, status) in [("localhost:1", 200), ("127.0.0.1", 200), ("[::1]:2", 200), ("evil.example", 403)] {
		assert_eq!(node.ask(node.metrics, "GET /metrics", &format!("Host: {host}\r\n"), "").await.0, status, "{host}");
		assert_eq!(node.ask(node.rpc, "GET /health", &format!("Host: {host}\r\n"), "").await.0, status, "{host}");
	}
}
