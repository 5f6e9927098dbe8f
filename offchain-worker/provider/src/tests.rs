//! Clients that take more than their share, over sockets.

mod browsers;
mod requests;

use super::*;
use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_graph::{Class, ModelConfig};
use neuroshard_inference::stats::Stats;
use neuroshard_training::{checkpoint::Checkpoint, presets};
use patience::Patience;
use serde_json::{json, Value};
use std::{
	net::Ipv4Addr,
	time::{Duration, Instant},
};
use tokio::{
	io::{AsyncReadExt, AsyncWriteExt},
	net::{TcpSocket, TcpStream},
	task::JoinHandle,
	time::timeout,
};

const SHORT: Duration = Duration::from_millis(200);
/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);
/// Bytes that the system holds of an answer: few, so that a client which takes nothing is noticed.
const HELD: u32 = 4 << 10;

fn bounds() -> Bounds {
	let patience = Patience { header: LONG, body: LONG, write: LONG, idle: LONG, drain: LONG };
	Bounds { connections: 16, patience }
}

/// A server of a model that can go on for minutes.
struct Running {
	address: SocketAddr,
	stop: CancellationToken,
	stats: Arc<Stats>,
	readers: Arc<Semaphore>,
	listening: JoinHandle<()>,
}

impl Running {
	fn start(bounds: Bounds) -> Self {
		Self::with(bounds, Vec::new(), None)
	}

	fn with(bounds: Bounds, origins: Vec<Origin>, keys: Option<PathBuf>) -> Self {
		Self::beside(bounds, origins, keys, Vec::new())
	}

	fn config() -> ModelConfig {
		ModelConfig { max_seq: 1 << 16, ..presets::tiny().0 }
	}

	fn beside(bounds: Bounds, origins: Vec<Origin>, keys: Option<PathBuf>, adapters: Vec<Adapted>) -> Self {
		let (config, train) = (Self::config(), presets::tiny().1);
		let mut params = Checkpoint::genesis(0, &config, &train, 1).unwrap().params;
		params.iter_mut().enumerate().for_each(|(index, value)| *value *= 3.0 + (index % 11) as f32 * 0.1);
		let model = Model::of_run("tiny".into(), &config, &Tokenizer::bytes(), &params, [7; 32], Class::ExactF32, 1).unwrap();
		let limits = Limits { active: 4, waiting: 16, memory: 64 << 20, lookup: true };
		let address = (Ipv4Addr::LOCALHOST, 0).into();
		let server = server(
			model,
			Options {
				address,
				keys,
				limits,
				signer: None,
				checkpoint: None,
				paid: None,
				ring: None,
				served: None,
				adapters,
				origins: Vec::new(),
				hosts: Vec::new(),
			},
		)
		.unwrap();
		let guard = Guard::new(address, origins, Vec::new()).with_page(PAGE);
		let socket = TcpSocket::new_v4().unwrap();
		socket.set_send_buffer_size(HELD).unwrap();
		socket.bind(address).unwrap();
		let listener = socket.listen(64).unwrap();
		let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
		let (stats, readers) = (server.batcher.stats().clone(), server.readers.clone());
		let router = router(Arc::new(server), Bodies::new(bounds.patience.body), guard);
		let (told, stopped) = (stats.clone(), stop.clone());
		let listening = tokio::spawn(async move { listen(listener, router, bounds, &told.connections, stopped).await });
		Self { address, stop, stats, readers, listening }
	}

	async fn client(&self) -> Client {
		let socket = TcpSocket::new_v4().unwrap();
		socket.set_recv_buffer_size(HELD).unwrap();
		Client(timeout(LONG, socket.connect(self.address)).await.unwrap().unwrap())
	}

	/// Asks for the metrics over and over, until they say this.
	async fn says(&self, metric: &str) {
		let mut client = self.client().await;
		let line = format!("neuroshard_serve_{metric}\n");
		while !client.ask("GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").await.1.contains(&line) {}
	}

	/// Stops it. No connection is left.
	async fn end(self) {
		self.stop.cancel();
		timeout(LONG, self.listening).await.unwrap().unwrap();
		assert_eq!(self.stats.connections.get(), 0);
	}
}

struct Client(TcpStream);

impl Client {
	async fn send(&mut self, bytes: impl AsRef<[u8]>) {
		timeout(LONG, self.0.write_all(bytes.as_ref())).await.unwrap().unwrap();
	}

	/// All that comes until the server closes the connection.
	async fn rest(&mut self) -> String {
		let mut all = Vec::new();
		// An answer may be cut in a character, and its connection reset.
		let _ = timeout(LONG, self.0.read_to_end(&mut all)).await.unwrap();
		String::from_utf8_lossy(&all).into_owned()
	}

	/// Reads up to these words.
	async fn up_to(&mut self, words: &str) -> String {
		let mut all = Vec::new();
		while !all.ends_with(words.as_bytes()) {
			all.push(timeout(LONG, self.0.read_u8()).await.unwrap().unwrap());
		}
		String::from_utf8(all).unwrap()
	}

	/// Sends a request, and takes an answer of known length: its head and its body.
	async fn ask(&mut self, request: impl AsRef<[u8]>) -> (String, String) {
		self.send(request).await;
		let head = self.up_to("\r\n\r\n").await;
		let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
		let mut body = vec![0; length];
		timeout(LONG, self.0.read_exact(&mut body)).await.unwrap().unwrap();
		(head, String::from_utf8(body).unwrap())
	}

	/// The same, for an error: its status and type.
	async fn refused(&mut self, request: impl AsRef<[u8]>) -> (String, String) {
		let (head, body) = self.ask(request).await;
		let body: Value = serde_json::from_str(&body).unwrap();
		(head.split(' ').nth(1).unwrap().to_owned(), body["error"]["type"].as_str().unwrap().to_owned())
	}
}

const HEALTH: &str = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";

fn post(body: &[u8]) -> Vec<u8> {
	let head = "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length";
	[format!("{head}: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

/// Asks for so many tokens, and for probabilities of many others with each of them.
fn stream(tokens: u32) -> Vec<u8> {
	let request = json!({ "model": "tiny", "prompt": "fn", "max_tokens": tokens, "logprobs": 5, "ignore_eos": true, "stream": true });
	post(request.to_string().as_bytes())
}

#[tokio::test]
async fn connections_without_a_request_are_closed() {
	let server = Running::start(Bounds { patience: Patience { header: SHORT, ..bounds().patience }, ..bounds() });
	for sent in ["", "GET /health HT"] {
		let mut client = server.client().await;
		client.send(sent).await;
		assert_eq!(client.rest().await, "");
	}
	// Once it is answered, a client has more time for its next request; the head of that has none.
	let mut client = server.client().await;
	assert!(client.ask(HEALTH).await.0.starts_with("HTTP/1.1 200"));
	assert!(timeout(2 * SHORT, client.0.read_u8()).await.is_err());
	assert!(client.ask(HEALTH).await.0.starts_with("HTTP/1.1 200"));
	client.send("GET").await;
	assert_eq!(client.rest().await, "");
	server.end().await;

	let server = Running::start(Bounds { patience: Patience { idle: SHORT, ..bounds().patience }, ..bounds() });
	let mut client = server.client().await;
	assert!(client.ask(HEALTH).await.0.starts_with("HTTP/1.1 200"));
	assert_eq!(client.rest().await, "");
	server.end().await;
}

#[tokio::test]
async fn bodies_that_do_not_come_are_too_large_or_broken_are_refused_as_clients_read_it() {
	let server = Running::start(Bounds { patience: Patience { body: SHORT, ..bounds().patience }, ..bounds() });
	let mut client = server.client().await;
	let half = &post(&[b' '; 100])[..150];
	assert_eq!(client.refused(half).await, ("408".into(), "invalid_request_error".into()));
	assert_eq!(client.rest().await, "");
	server.end().await;

	let server = Running::start(bounds());
	let mut client = server.client().await;
	let refused = |status: &str| (status.to_owned(), "invalid_request_error".to_owned());
	for _ in 0..2 {
		assert_eq!(client.refused(post(&vec![b' '; bodies::MOST + 1])).await, refused("413"));
	}
	assert_eq!(client.refused(post(&vec![b' '; bodies::MOST])).await, refused("400"));
	assert_eq!(client.refused(post(b"{\"model\": \"\xff\", \"prompt\": \"\"}")).await, refused("400"));
	assert_eq!(client.refused(post(b"{\"model\": \"tiny\", \"prompt")).await, refused("400"));
	// Without a body that it has to wait for, it is refused at once.
	let ahead =
		format!("POST /v1/completions HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n", 1u64 << 40);
	assert_eq!(client.refused(ahead).await, refused("413"));
	let long = format!("GET /health HTTP/1.1\r\nhost: {}\r\n\r\n", "x".repeat(20_000));
	let many = format!("GET /health HTTP/1.1\r\n{}\r\n", "x: x\r\n".repeat(200));
	for head in [long, many] {
		let mut client = server.client().await;
		client.send(head).await;
		assert!(client.rest().await.starts_with("HTTP/1.1 431"));
	}
	server.end().await;
}

#[tokio::test]
async fn a_client_that_takes_nothing_of_its_answer_or_goes_away_frees_its_place() {
	let server = Running::start(Bounds { patience: Patience { write: SHORT, ..bounds().patience }, ..bounds() });
	let mut slow = server.client().await;
	slow.send(stream(60_000)).await;
	slow.up_to("data: ").await;
	server.says("texts 1").await;
	server.says("texts 0").await;
	// It gets what was on its way, and no end.
	assert!(!slow.rest().await.contains("[DONE]"));
	let mut gone = server.client().await;
	gone.send(stream(60_000)).await;
	gone.up_to("data: ").await;
	server.says("texts 1").await;
	drop(gone);
	server.says("texts 0").await;
	server.end().await;
}

#[tokio::test]
async fn a_client_that_closes_its_half_of_the_connection_gets_its_answer() {
	let server = Running::start(bounds());
	for version in ["1.1", "1.0"] {
		for streams in [false, true] {
			let body = json!({ "model": "tiny", "prompt": "fn", "max_tokens": 200, "ignore_eos": true, "stream": streams }).to_string();
			let head =
				format!("POST /v1/completions HTTP/{version}\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length");
			let mut client = server.client().await;
			client.send(format!("{head}: {}\r\n\r\n{body}", body.len())).await;
			client.0.shutdown().await.unwrap();
			let answer = client.rest().await;
			assert!(answer.starts_with(&format!("HTTP/{version} 200 ")) && answer.contains("\"length\""), "{version} {streams}: {answer}");
		}
	}
	// One that only closes has asked nothing.
	let mut silent = server.client().await;
	silent.0.shutdown().await.unwrap();
	assert_eq!(silent.rest().await, "");
	server.end().await;
}

#[tokio::test]
async fn more_connections_than_places_wait_and_the_last_places_are_for_requests() {
	let server = Running::start(Bounds { connections: 1, patience: Patience { header: SHORT, ..bounds().patience } });
	let since = Instant::now();
	let (_silent, mut next) = (server.client().await, server.client().await);
	assert!(next.ask(HEALTH).await.0.starts_with("HTTP/1.1 200"));
	assert!(since.elapsed() >= SHORT);
	server.end().await;

	let server = Running::start(Bounds { connections: 8, ..bounds() });
	let mut clients = Vec::new();
	for number in 1..=6 {
		let mut client = server.client().await;
		assert_eq!(client.ask(HEALTH).await.0.contains("connection: close"), number == 6);
		clients.push(client);
	}
	assert_eq!(clients[5].rest().await, "");
	assert!(!clients[0].ask(HEALTH).await.0.contains("connection: close"));
	server.end().await;
}

#[tokio::test]
async fn prompts_are_read_as_many_at_a_time_as_there_are_places() {
	let server = Running::start(bounds());
	let ask = |prompt: Value| post(json!({ "model": "tiny", "prompt": prompt, "max_tokens": 1 }).to_string().as_bytes());
	let count = u32::try_from(server.readers.available_permits()).unwrap();
	let places = server.readers.acquire_many(count).await.unwrap();
	let (mut text, mut tokens) = (server.client().await, server.client().await);
	text.send(ask(json!("fn"))).await;
	assert!(tokens.ask(ask(json!([102]))).await.0.starts_with("HTTP/1.1 200"));
	assert_eq!(text.0.try_read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
	drop(places);
	assert!(text.ask("").await.0.starts_with("HTTP/1.1 200"));
	server.end().await;
}

#[tokio::test]
async fn a_server_that_stops_ends_what_it_answers_within_its_time() {
	let server = Running::start(bounds());
	let (mut idle, mut client) = (server.client().await, server.client().await);
	assert!(idle.ask(HEALTH).await.0.starts_with("HTTP/1.1 200"));
	client.send(stream(200)).await;
	client.up_to("data: ").await;
	server.stop.cancel();
	assert_eq!(idle.rest().await, "");
	assert!(TcpStream::connect(server.address).await.is_err());
	assert!(client.rest().await.contains("[DONE]"));
	server.end().await;

	let server = Running::start(Bounds { patience: Patience { drain: SHORT, ..bounds().patience }, ..bounds() });
	let mut client = server.client().await;
	client.send(stream(60_000)).await;
	client.up_to("data: ").await;
	server.end().await;
	assert!(!client.rest().await.contains("[DONE]"));
}
