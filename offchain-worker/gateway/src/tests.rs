//! The gateway between a client and a server that plays the provider.

use super::{
	testing::{given, resigned, terms, user},
	*,
};
use axum::{
	body::{to_bytes, Body, Bytes},
	extract::State,
	http::{
		header::{HeaderMap, HeaderValue},
		uri::PathAndQuery,
		Method, StatusCode,
	},
	response::{IntoResponse, Response},
	routing::post,
	Json, Router,
};
use codec::DecodeAll;
use neuroshard_chain_client::disputes::Act;
use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_disputes::answers::TranscriptStore;
use neuroshard_fixtures::Connect;
use neuroshard_graph::game::{Position, Side};
use neuroshard_mock_node::{Fate, MockNode, Script};
use neuroshard_network::Reach;
use neuroshard_payments::{Signed, Tally};
use neuroshard_types::{
	answer_audit::AnswerAuditView,
	dispute::{AnswerClaim, ClaimId, GameView},
	inference::{ClaimView, Receipt},
	NEURO,
};
use serde_json::{json, Value};
use std::{net::Ipv4Addr, path::Path};
use tempfile::TempDir;
use tokio::{
	io::{AsyncReadExt, AsyncWriteExt},
	task::JoinHandle,
};

/// Requests to the played provider and its messages, and how it answers.
#[derive(Default)]
struct Played {
	/// Headers and bodies of requests for answers.
	asked: Vec<(HeaderMap, Value)>,
	vouchers: Vec<Signed>,
	/// Answers with the seed of another request.
	cheats: bool,
	/// Waits so long before the last piece of a stream.
	pause: Duration,
	/// Breaks off before that piece, or before a document.
	breaks: bool,
	/// Sends an error where it would break off.
	fails: bool,
	/// Has two receipts for one choice.
	doubles: bool,
	/// Tells the receipts of answers that broke off with another price.
	forges: bool,
	/// Receipts that did not come with their answers.
	unpaid: Vec<Transcript>,
	next: u32,
}

type Shared = Arc<Mutex<Played>>;

fn voucher_of(text: &str) -> Signed {
	Signed::decode_all(&mut &hex::decode(text.strip_prefix("0x").unwrap()).unwrap()[..]).unwrap()
}

async fn answer(State(shared): State<Shared>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
	let (given, pause, breaks, fails, doubles) = {
		let mut played = shared.lock().unwrap();
		played.asked.push((headers, body.clone()));
		let index = played.next;
		played.next += 1;
		let given = match played.cheats {
			true => resigned(index, 1, |transcript| transcript.receipt.sampling.seed += 1),
			false => given(index),
		};
		if played.breaks {
			let told = match played.forges {
				true => resigned(index, 1, |transcript| transcript.receipt.price += 1),
				false => given.clone(),
			};
			played.unpaid.push(told.transcript);
		}
		(given, played.pause, played.breaks, played.breaks && played.fails, played.doubles)
	};
	if fails {
		return (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({ "error": { "message": "the engine has stopped" } }))).into_response();
	}
	let event = |choice: Value| format!("data: {}\n\n", json!({ "choices": [choice] }));
	let whole = json!({ "index": 0, "text": "abc", "finish_reason": "length", "receipt": given.transcript });
	if doubles {
		let again = super::testing::given(given.transcript.receipt.paid.unwrap().1 + 1).transcript;
		let again = json!({ "index": 0, "text": "abc", "receipt": again });
		return Json(json!({ "choices": [whole, again] })).into_response();
	}
	if body["stream"] != true {
		let document = json!({ "choices": [whole] }).to_string();
		let half = Ok::<_, std::io::Error>(document[..20].to_owned());
		let broken = futures::stream::iter([half, Err(std::io::ErrorKind::ConnectionReset.into())]);
		return match breaks {
			true => ([("content-type", "application/json")], Body::from_stream(broken)).into_response(),
			false => Json(json!({ "choices": [whole] })).into_response(),
		};
	}
	let pieces = [event(json!({ "index": 0, "text": "ab" })), event(json!({ "index": 0, "text": "c", "receipt": given.transcript }))];
	let pieces = pieces.into_iter().chain(["data: [DONE]\n\n".to_owned()]).enumerate();
	let stream = futures::stream::unfold(pieces, move |mut pieces| async move {
		let (place, piece) = pieces.next()?;
		tokio::time::sleep(if place == 1 { pause } else { Duration::ZERO }).await;
		let piece = if breaks && place == 1 { Err(std::io::ErrorKind::ConnectionReset.into()) } else { Ok::<_, std::io::Error>(piece) };
		Some((piece, pieces))
	});
	([("content-type", "text/event-stream")], Body::from_stream(stream)).into_response()
}

async fn take(State(shared): State<Shared>, Json(body): Json<Value>) -> Response {
	let (mut played, voucher) = (shared.lock().unwrap(), voucher_of(body["voucher"].as_str().unwrap()));
	let paid = voucher.0.answers;
	played.vouchers.push(voucher);
	played.unpaid.retain(|transcript| transcript.receipt.paid.is_some_and(|(_, place)| place >= paid));
	Json(json!({ "session": 7, "receipts": played.unpaid })).into_response()
}

async fn play(shared: Shared) -> (Endpoint, JoinHandle<()>) {
	let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
	let endpoint = Endpoint::parse(format!("http://{}", listener.local_addr().unwrap()).as_bytes()).unwrap().reaching(Reach::Anywhere);
	let router = Router::new()
		.route("/v1/completions", post(answer))
		.route("/v1/chat/completions", post(async || (StatusCode::PAYMENT_REQUIRED, Json(json!({ "error": { "message": "top up" } })))))
		.route("/v1/vouchers", post(take))
		.with_state(shared);
	(endpoint, tokio::spawn(async move { axum::serve(listener, router).await.unwrap() }))
}

/// A gateway, the client of it, and the provider that it asks.
struct Scene {
	base: TempDir,
	played: Shared,
	provider: JoinHandle<()>,
	client: Provider,
	stop: CancellationToken,
	gateway: JoinHandle<Result<(), GatewayError>>,
}

fn options(base: &Path, endpoint: Endpoint) -> Options {
	let (book, terms) = (Book::open(base, 7).unwrap(), terms());
	let owed = book.resume(&user().id(), &terms.provider, terms.genesis, &ClaimView::default()).unwrap();
	Options { address: (Ipv4Addr::LOCALHOST, 0).into(), account: user(), terms, owed, endpoint, book, check: None, disputer: None }
}

async fn start(options: Options) -> (Provider, CancellationToken, JoinHandle<Result<(), GatewayError>>) {
	let (stop, (ready, bound)) = (CancellationToken::new(), tokio::sync::oneshot::channel());
	let gateway = tokio::spawn(serve(options, |address| ready.send(address).unwrap(), stop.clone()));
	let endpoint = Endpoint::parse(format!("http://{}", bound.await.unwrap()).as_bytes()).unwrap().reaching(Reach::Anywhere);
	(Provider::new(endpoint).unwrap(), stop, gateway)
}

impl Scene {
	async fn new() -> Self {
		let (base, played) = (tempfile::tempdir().unwrap(), Shared::default());
		let (endpoint, provider) = play(played.clone()).await;
		let (client, stop, gateway) = start(options(base.path(), endpoint)).await;
		Self { base, played, provider, client, stop, gateway }
	}

	async fn ask(&self, method: Method, path: &'static str, body: &str) -> (StatusCode, String) {
		let mut headers = HeaderMap::new();
		headers.insert("content-type", HeaderValue::from_static("application/json"));
		headers.insert("authorization", HeaderValue::from_static("Bearer secret"));
		headers.insert("x-request", HeaderValue::from_static("1"));
		let path = PathAndQuery::from_static(path);
		let response = self.client.ask(method, path, headers, Bytes::from(body.to_owned())).await.unwrap();
		let status = response.status();
		let bytes = to_bytes(Body::new(response.into_body()), 1 << 20).await.unwrap();
		(status, String::from_utf8(bytes.to_vec()).unwrap())
	}

	async fn complete(&self, stream: bool) -> (StatusCode, String) {
		let body = json!({ "model": "run-0", "prompt": "Hi", "max_tokens": 3, "seed": 9, "stream": stream });
		self.ask(Method::POST, "/v1/completions", &body.to_string()).await
	}

	/// Asks for an answer that breaks off.
	async fn gone(&self, stream: bool) {
		let body = json!({ "model": "run-0", "prompt": "Hi", "max_tokens": 3, "seed": 9, "stream": stream }).to_string();
		let json = HeaderMap::from_iter([("content-type".parse().unwrap(), HeaderValue::from_static("application/json"))]);
		let path = PathAndQuery::from_static("/v1/completions");
		let response = self.client.ask(Method::POST, path, json, body.into()).await.unwrap();
		// Of a document, not even its head has come.
		let status = response.status();
		assert!(to_bytes(Body::new(response.into_body()), 1 << 20).await.is_err() || status.is_server_error());
	}

	/// The last voucher on disk.
	fn written(&self) -> Signed {
		let page: Value = serde_json::from_slice(&std::fs::read(self.base.path().join("gateway/7.json")).unwrap()).unwrap();
		voucher_of(page["voucher"].as_str().unwrap())
	}

	async fn end(self) -> (TempDir, Shared) {
		self.stop.cancel();
		self.gateway.await.unwrap().unwrap();
		self.provider.abort();
		(self.base, self.played)
	}
}

#[tokio::test]
async fn answers_are_passed_on_and_paid_for_whether_they_are_streamed_or_not() {
	let scene = Scene::new().await;
	let (status, body) = scene.complete(false).await;
	assert_eq!((status, serde_json::from_str::<Value>(&body).unwrap()["choices"][0]["text"].as_str()), (StatusCode::OK, Some("abc")));
	let (status, body) = scene.complete(true).await;
	assert!(status == StatusCode::OK && body.contains("\"ab\"") && body.ends_with("data: [DONE]\n\n"), "{body}");
	let (status, body) = scene.ask(Method::GET, "/health", "").await;
	let health: Value = serde_json::from_str(&body).unwrap();
	assert_eq!((status, &health["status"], &health["answers"]), (StatusCode::OK, &json!("ok"), &json!(2)));
	let last = scene.written();
	let (_, played) = scene.end().await;
	let played = played.lock().unwrap();
	let mut owed = [Tally::default(); 3];
	for (index, place) in (1..).zip(0..2) {
		let transcript = given(place).transcript;
		let (price, receipt) = (transcript.receipt.price, transcript.receipt.hash(transcript.genesis));
		let Tally { answers, amount, receipts } = owed[index - 1];
		let receipts = neuroshard_types::inference::chained(receipts, receipt);
		owed[index] = Tally { answers: answers + 1, amount: amount + price, receipts };
	}
	let of = |(voucher, signature): &Signed| {
		assert!(voucher.is_signed(terms().genesis, &user().id(), signature) && voucher.session == 7);
		Tally { answers: voucher.answers, amount: voucher.amount, receipts: voucher.receipts }
	};
	assert_eq!((of(&last), played.vouchers.last().map(of)), (owed[2], Some(owed[2])));
	for ((headers, body), owed) in played.asked.iter().zip(owed) {
		assert_eq!((&body["receipt"], &body["prompt"]), (&json!(true), &json!("Hi")));
		assert_eq!(headers["neuroshard-session"], "7");
		assert_eq!(of(&voucher_of(headers["neuroshard-voucher"].to_str().unwrap())), owed);
		// Of the client's head, the provider gets nothing.
		let mut names: Vec<_> = headers.keys().map(|name| name.as_str()).collect();
		names.sort_unstable();
		assert_eq!(names, ["content-length", "content-type", "host", "neuroshard-ask", "neuroshard-session", "neuroshard-voucher"]);
	}
}

#[tokio::test]
async fn after_a_wrong_receipt_the_client_has_its_answer_and_the_provider_nothing() {
	let scene = Scene::new().await;
	scene.complete(false).await;
	let paid = scene.written();
	scene.played.lock().unwrap().cheats = true;
	let (status, body) = scene.complete(false).await;
	assert!(status == StatusCode::OK && body.contains("abc"), "{body}");
	for (path, input) in
		[("/v1/completions", r#""prompt": "Hi""#), ("/v1/chat/completions", r#""messages": [{ "role": "user", "content": "Hi" }]"#)]
	{
		let (status, body) = scene.ask(Method::POST, path, &format!(r#"{{ "model": "run-0", {input} }}"#)).await;
		assert!(status == StatusCode::BAD_GATEWAY && body.contains("another seed than the request"), "{body}");
	}
	assert!(scene.ask(Method::GET, "/health", "").await.1.contains("\"stopped\""));
	assert_eq!(scene.written(), paid);
	let (_, played) = scene.end().await;
	let played = played.lock().unwrap();
	assert!(played.asked.len() == 2 && played.vouchers.iter().all(|voucher| *voucher == paid));
}

#[tokio::test]
async fn a_receipt_that_was_lost_on_its_way_is_asked_for_and_paid() {
	for (stream, fails) in [(true, false), (false, false), (true, true), (false, true)] {
		let scene = Scene::new().await;
		{
			let mut played = scene.played.lock().unwrap();
			(played.breaks, played.fails) = (true, fails);
		}
		scene.gone(stream).await;
		let health = scene.says("\"answers\":1").await;
		assert_eq!((&health["status"], &health["lost"]), (&json!("ok"), &json!(0)));
		scene.played.lock().unwrap().breaks = false;
		assert_eq!(scene.complete(stream).await.0, StatusCode::OK);
		let mut owed = Ledger::new(terms(), Tally::default());
		let [_, two] = [0, 1].map(|index| owed.take(&given(index), &super::testing::asked()).unwrap().unwrap());
		assert_eq!(scene.written().0, two);
		let (_, played) = scene.end().await;
		assert_eq!(played.lock().unwrap().vouchers.last().unwrap().0, two);
	}
}

#[tokio::test]
async fn a_false_receipt_that_is_told_for_a_lost_one_is_not_paid() {
	let scene = Scene::new().await;
	scene.complete(false).await;
	let paid = scene.written();
	{
		let mut played = scene.played.lock().unwrap();
		(played.breaks, played.forges) = (true, true);
	}
	tokio::time::timeout(Duration::from_secs(60), async {
		scene.gone(true).await;
		let told = scene.played.lock().unwrap().vouchers.len();
		while scene.played.lock().unwrap().vouchers.len() < told + 2 {
			tokio::time::sleep(Duration::from_millis(10)).await;
		}
	})
	.await
	.unwrap();
	let health = scene.says("\"lost\":1").await;
	assert_eq!((&health["status"], &health["answers"]), (&json!("ok"), &json!(1)));
	assert_eq!(scene.written(), paid);
	scene.end().await;
}

#[tokio::test]
async fn one_choice_is_paid_once() {
	let scene = Scene::new().await;
	scene.played.lock().unwrap().doubles = true;
	scene.complete(false).await;
	let health = scene.says("\"stopped\"").await;
	assert!(health["why"].as_str().unwrap().contains("two receipts for choice 0"), "{health}");
	assert_eq!((&health["answers"], scene.written().0.answers), (&json!(1), 1));
	scene.end().await;
}

#[tokio::test]
async fn while_a_voucher_is_written_answers_are_taken_and_have_the_next_one_together() {
	let base = tempfile::tempdir().unwrap();
	let endpoint = Endpoint::parse(b"http://127.0.0.1:9").unwrap();
	let (gateway, _voucher_sender) = Gateway::new(options(base.path(), endpoint), None, watch::channel(None).1).unwrap();
	let writing = gateway.0.paying.lock().await;
	let receive = |index| {
		let gateway = gateway.clone();
		tokio::spawn(async move { gateway.receive(&given(index), &super::testing::asked()).await })
	};
	let both = [receive(0), receive(1)];
	while gateway.status().1.answers < 2 {
		tokio::task::yield_now().await;
	}
	assert!(gateway.0.book.read().unwrap().is_none());
	drop(writing);
	for one in both {
		one.await.unwrap();
	}
	let last = gateway.0.book.read().unwrap().unwrap();
	assert_eq!((last.0.answers, &*gateway.0.vouchers.borrow()), (2, &last));
}

#[tokio::test]
async fn an_answer_that_the_client_does_not_wait_for_is_paid_for_all_the_same() {
	let scene = Scene::new().await;
	scene.played.lock().unwrap().pause = Duration::from_millis(300);
	let gone = tokio::time::timeout(Duration::from_millis(100), scene.complete(true)).await;
	assert!(gone.is_err());
	while scene.played.lock().unwrap().asked.is_empty() {
		tokio::time::sleep(Duration::from_millis(10)).await;
	}
	// It is waited for at the end, too.
	let (base, played) = scene.end().await;
	let book = Book::open(base.path(), 7).unwrap();
	let last = book.read().unwrap().unwrap();
	assert_eq!((last.0.answers, played.lock().unwrap().vouchers.last()), (1, Some(&last)));
}

#[tokio::test]
async fn a_gateway_goes_on_where_it_was_stopped() {
	let scene = Scene::new().await;
	scene.complete(false).await;
	let paid = scene.written();
	let (base, played) = scene.end().await;
	let (endpoint, provider) = play(played.clone()).await;
	let (client, stop, gateway) = start(options(base.path(), endpoint)).await;
	let scene = Scene { base, played, provider, client, stop, gateway };
	scene.complete(true).await;
	let header = scene.played.lock().unwrap().asked.last().unwrap().0["neuroshard-voucher"].clone();
	assert_eq!(voucher_of(header.to_str().unwrap()).0, paid.0);
	assert_eq!((scene.written().0.answers, scene.written().0.amount), (2, 2 * paid.0.amount));
	scene.end().await;
}

#[tokio::test]
async fn what_cannot_be_asked_or_paid_is_refused_in_words() {
	let scene = Scene::new().await;
	let (status, body) = scene.ask(Method::GET, "/v1/files", "").await;
	assert!(status == StatusCode::NOT_FOUND && body.contains("nothing at this address"), "{body}");
	let (status, body) = scene.ask(Method::POST, "/v1/embeddings", "{}").await;
	assert!(status == StatusCode::NOT_IMPLEMENTED && body.contains("embeddings cannot be paid for"), "{body}");
	for wrong in ["", "[]", "{", r#"{ "prompt": 5 }"#, "{}"] {
		assert_eq!(scene.ask(Method::POST, "/v1/completions", wrong).await.0, StatusCode::BAD_REQUEST, "{wrong}");
	}
	assert_eq!(scene.ask(Method::POST, "/v1/completions", &" ".repeat(5 << 20)).await.0, StatusCode::PAYLOAD_TOO_LARGE);
	// What the provider refuses is told as it says it.
	let chat = r#"{ "model": "run-0", "messages": [{ "role": "user", "content": "Hi" }] }"#;
	let (status, body) = scene.ask(Method::POST, "/v1/chat/completions", chat).await;
	assert!(status == StatusCode::PAYMENT_REQUIRED && body.contains("top up"), "{body}");
	let plain = HeaderMap::from_iter([("content-type".parse().unwrap(), HeaderValue::from_static("text/plain"))]);
	let path = PathAndQuery::from_static("/v1/completions");
	let response = scene.client.ask(Method::POST, path, plain, Bytes::from_static(b"{}")).await.unwrap();
	assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
	let other = HeaderMap::from_iter([("host".parse().unwrap(), HeaderValue::from_static("evil.example"))]);
	let response = scene.client.ask(Method::GET, PathAndQuery::from_static("/health"), other, Bytes::new()).await.unwrap();
	assert_eq!(response.status(), StatusCode::FORBIDDEN);
	let (_, played) = scene.end().await;
	assert!(played.lock().unwrap().asked.is_empty());
}

/// A scene whose provider answers each request with these bytes.
async fn answering(bytes: &'static [u8]) -> Scene {
	let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
	let endpoint = Endpoint::parse(format!("http://{}", listener.local_addr().unwrap()).as_bytes()).unwrap().reaching(Reach::Anywhere);
	let provider = tokio::spawn(async move {
		loop {
			let (mut socket, _) = listener.accept().await.unwrap();
			let mut head = Vec::new();
			while !head.ends_with(b"\r\n\r\n") {
				head.push(socket.read_u8().await.unwrap());
			}
			let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
			let (_, length) = head.split_once("content-length: ").unwrap();
			// What is left unread when a connection ends takes the answer with it.
			let mut body = vec![0; length.split("\r\n").next().unwrap().parse().unwrap()];
			socket.read_exact(&mut body).await.unwrap();
			socket.write_all(bytes).await.unwrap();
		}
	});
	let base = tempfile::tempdir().unwrap();
	let (client, stop, gateway) = start(options(base.path(), endpoint)).await;
	Scene { base, played: Shared::default(), provider, client, stop, gateway }
}

/// Headers of all answers.
const OWN: [&str; 8] = [
	"cache-control",
	"content-length",
	"content-security-policy",
	"content-type",
	"cross-origin-resource-policy",
	"date",
	"referrer-policy",
	"x-content-type-options",
];

#[tokio::test]
async fn nothing_of_a_provider_reaches_a_browser_as_a_document() {
	const HTML: &str = "<html><script>fetch('/v1/completions')</script></html>";
	for bytes in [
		"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nset-cookie: a=b\r\ncontent-length: 6\r\n\r\n<html>",
		"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nset-cookie: a=b\r\ncontent-length: 6\r\n\r\n<html>",
		"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nrefresh: 0; url=//evil.example\r\nlink: </x>; rel=preload\r\ncontent-length: 6\r\n\r\n<html>",
		"HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\nHTTP/1.1 302 Found\r\nlocation: //evil.example\r\ncontent-length: 0\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
		"HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>",
		"HTTP/1.1 500 No\r\ncontent-disposition: attachment\r\ncontent-type: image/svg+xml\r\ncontent-length: 6\r\n\r\n<html>",
	] {
		let scene = answering(bytes.as_bytes()).await;
		let json = HeaderMap::from_iter([("content-type".parse().unwrap(), HeaderValue::from_static("application/json"))]);
		let path = PathAndQuery::from_static("/v1/completions?a=b");
		let response = scene.client.ask(Method::POST, path, json, Bytes::from_static(br#"{"model":"run-0","prompt":"Hi"}"#)).await.unwrap();
		assert!(!response.status().is_success() && !response.status().is_redirection(), "{bytes}");
		let headers = response.headers().clone();
		assert!(headers.keys().all(|name| OWN.contains(&name.as_str())), "{bytes}: {headers:?}");
		assert_eq!((&headers["content-type"], &headers["x-content-type-options"]), (&"application/json".parse().unwrap(), &"nosniff".parse().unwrap()));
		assert!(headers["content-security-policy"].to_str().unwrap().starts_with("sandbox"));
		let body = to_bytes(Body::new(response.into_body()), 1 << 20).await.unwrap();
		let body: Value = serde_json::from_slice(&body).unwrap();
		assert!(body["error"]["message"].is_string() && !body.to_string().contains(HTML), "{body}");
		scene.end().await;
	}
}

#[tokio::test]
async fn of_a_streams_head_the_client_gets_nothing_but_that_it_is_one() {
	let stream = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; x=<script>\r\nset-cookie: a=b\r\nx-powered-by: x\r\nlocation: /\r\n\
	              content-length: 14\r\n\r\ndata: [DONE]\n\n";
	let scene = answering(stream.as_bytes()).await;
	let json = HeaderMap::from_iter([("content-type".parse().unwrap(), HeaderValue::from_static("application/json"))]);
	let (path, body) = (PathAndQuery::from_static("/v1/completions"), Bytes::from_static(br#"{"model":"run-0","prompt":"Hi"}"#));
	let response = scene.client.ask(Method::POST, path, json, body).await.unwrap();
	assert_eq!(
		(response.status(), &response.headers()["content-type"]),
		(StatusCode::OK, &"text/event-stream".parse::<HeaderValue>().unwrap())
	);
	let other = response.headers().keys().filter(|name| !OWN.contains(&name.as_str())).map(|name| name.as_str());
	assert_eq!(other.collect::<Vec<_>>(), ["x-accel-buffering", "transfer-encoding"]);
	assert_eq!(to_bytes(Body::new(response.into_body()), 100).await.unwrap(), "data: [DONE]\n\n");
	scene.end().await;
}

#[tokio::test]
async fn models_are_told_by_what_the_gateway_knows() {
	let scene = answering(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>").await;
	let (status, body) = scene.ask(Method::GET, "/v1/models", "").await;
	let models: Value = serde_json::from_str(&body).unwrap();
	assert_eq!((status, &models["data"][0]["id"], models["data"].as_array().unwrap().len()), (StatusCode::OK, &json!("run-0"), 1));
	let (status, body) = scene.ask(Method::GET, "/v1/models/run-0", "").await;
	assert_eq!((status, serde_json::from_str::<Value>(&body).unwrap()), (StatusCode::OK, models["data"][0].clone()));
	assert_eq!(models["data"][0]["max_model_len"], json!(terms().config.model.max_seq));
	let (status, body) = scene.ask(Method::GET, "/v1/models/x", "").await;
	assert!(status == StatusCode::NOT_FOUND && body.contains("model_not_found"), "{body}");
	scene.end().await;
}

#[tokio::test]
async fn pages_and_navigations_are_refused() {
	let scene = Scene::new().await;
	for (method, path) in [(Method::GET, "/v1/models/x"), (Method::POST, "/v1/completions"), (Method::GET, "/health")] {
		for (name, value) in [
			("sec-fetch-site", "cross-site"),
			("sec-fetch-mode", "navigate"),
			("sec-fetch-dest", "iframe"),
			("origin", "http://evil.example"),
		] {
			let told = [("content-type", "application/json"), (name, value)];
			let told = told.map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
			let (path, body) = (PathAndQuery::from_static(path), Bytes::from_static(br#"{"model":"run-0","prompt":"Hi"}"#));
			let response = scene.client.ask(method.clone(), path, told.into_iter().collect(), body).await.unwrap();
			assert_eq!(response.status(), StatusCode::FORBIDDEN, "{name}: {value}");
		}
	}
	let (_, played) = scene.end().await;
	assert!(played.lock().unwrap().asked.is_empty());
}

#[tokio::test]
async fn a_client_that_closes_its_half_of_the_connection_gets_its_answer() {
	let scene = Scene::new().await;
	scene.played.lock().unwrap().pause = Duration::from_millis(50);
	let address = scene.client.endpoint().to_string();
	for (version, stream) in [("1.1", false), ("1.1", true), ("1.0", false), ("1.0", true)] {
		let body = json!({ "model": "run-0", "prompt": "Hi", "max_tokens": 3, "seed": 9, "stream": stream }).to_string();
		let mut socket = tokio::net::TcpStream::connect(address.strip_prefix("http://").unwrap()).await.unwrap();
		let head = format!(
			"POST /v1/completions HTTP/{version}\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
			body.len()
		);
		socket.write_all([head, body].concat().as_bytes()).await.unwrap();
		socket.shutdown().await.unwrap();
		let mut answer = String::new();
		socket.read_to_string(&mut answer).await.unwrap();
		assert!(answer.starts_with(&format!("HTTP/{version} 200")) && answer.contains("\"receipt\""), "{version} {stream}: {answer}");
	}
	scene.says("\"answers\":4").await;
	scene.end().await;
}

#[tokio::test]
async fn a_provider_that_is_away_is_told() {
	let base = tempfile::tempdir().unwrap();
	// Port 9 (discard) has nobody.
	let (client, stop, gateway) =
		start(options(base.path(), Endpoint::parse(b"http://127.0.0.1:9").unwrap().reaching(Reach::Anywhere))).await;
	let played = Shared::default();
	let provider = tokio::spawn(async {});
	let scene = Scene { base, played, provider, client, stop, gateway };
	let (status, body) = scene.complete(false).await;
	let error: Value = serde_json::from_str(&body).unwrap();
	assert_eq!((status, &error["error"]["code"]), (StatusCode::BAD_GATEWAY, &json!("provider_away")));
	assert!(body.contains("http://127.0.0.1:9 does not answer") && body.contains("refused"), "{body}");
	scene.end().await;
}

/// A gateway that checks all answers, of which the first one is false, with the means to dispute it or without.
async fn checking(disputer: Option<(Disputer, TempDir)>) -> Scene {
	let (disputer, base) = disputer.map_or_else(|| (None, tempfile::tempdir().unwrap()), |(disputer, base)| (Some(disputer), base));
	let played = Shared::default();
	let (endpoint, provider) = play(played.clone()).await;
	let (config, train) = neuroshard_training::presets::tiny();
	let params = neuroshard_training::checkpoint::Checkpoint::genesis(0, &config, &train, 1).unwrap().params;
	let model = Model::of_run("run-0".into(), &config, &Tokenizer::bytes(), &params, terms().checkpoint.root.0, terms().class, 1).unwrap();
	let (client, stop, gateway) = start(Options { check: Some((1.0, model)), disputer, ..options(base.path(), endpoint) }).await;
	let scene = Scene { base, played, provider, client, stop, gateway };
	assert_eq!(scene.complete(false).await.0, StatusCode::OK);
	scene
}

impl Scene {
	/// Asks for its health until it says this.
	async fn says(&self, words: &str) -> Value {
		let says = async {
			loop {
				let health = self.ask(Method::GET, "/health", "").await.1;
				if health.contains(words) {
					return serde_json::from_str(&health).unwrap();
				}
				tokio::time::sleep(Duration::from_millis(10)).await;
			}
		};
		tokio::time::timeout(Duration::from_secs(60), says).await.unwrap()
	}
}

/// A node, and means to dispute that ask it.
async fn disputer() -> (MockNode, Disputer, TempDir) {
	let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
	node.answer("Disputes", "games_of", &Vec::<(ClaimId, AccountId)>::new());
	node.answer("Disputes", "game", &None::<GameView>);
	node.answer("Disputes", "answer_audit", &None::<AnswerAuditView>);
	node.answer("Disputes", "bond_against", &Some(100 * NEURO));
	let (base, terms) = (tempfile::tempdir().unwrap(), terms());
	let (client, submitter, transcript_store) = (node.client().await, node.submitter().await, TranscriptStore::open(base.path()).unwrap());
	(node, Disputer { client, submitter, transcript_store, config: terms.config, in_use: None, threads: 1 }, base)
}

/// Has the user's game about the answer with this receipt be at its first turn, which is the provider's.
fn waits_for_the_provider(node: &MockNode, receipt: Receipt) {
	let claim = receipt.claim(terms().genesis).unwrap();
	let position = Position::Read { index: 0 };
	let view =
		GameView { position, turn: Side::Defender, deadline: 90_000, reserve: 9, moves: vec![1], bond: NEURO, defender: claim.who.clone() };
	node.answer("Disputes", "answer_claim", &Some(AnswerClaim { config: (*terms().config).clone(), receipt }));
	node.answer("Disputes", "game", &Some(view));
	node.answer("Disputes", "games_of", &vec![(claim, user().id())]);
}

#[tokio::test]
async fn a_false_answer_is_disputed_on_chain_and_the_game_about_it_is_told() {
	let (node, disputer, base) = disputer().await;
	node.fund(200 * NEURO);
	let client = node.client().await;
	let mut sent = node.submitted();
	let scene = checking(Some((disputer, base))).await;
	sent.wait_for(|sent| !sent.is_empty()).await.unwrap();
	let health = scene.says("is being disputed").await;
	assert_eq!(
		(&health["status"], &health["disputed"]["session"], &health["disputed"]["place"]),
		(&json!("stopped"), &json!(7), &json!(0))
	);
	// What the game is played with was on disk before.
	let transcript = given(0).transcript;
	let transcript_store = TranscriptStore::open(scene.base.path()).unwrap();
	assert_eq!(transcript_store.transcript(&transcript.receipt, terms().genesis).unwrap(), transcript);
	let mut acts = Vec::new();
	while acts.is_empty() {
		let last = client.now().await.unwrap().block().number;
		for number in 0..=last {
			acts.extend(client.posted(client.block_at(number).await.unwrap()).await.unwrap());
		}
	}
	assert!(matches!(&acts[..], [Act::ChallengeAnswer { claim, .. }] if claim.who == terms().provider), "{acts:?}");
	waits_for_the_provider(&node, transcript.receipt);
	let health = scene.says("open: the other side moves until block 90000").await;
	assert_eq!(health["disputed"]["place"], json!(0));
	node.answer("Disputes", "games_of", &Vec::<(ClaimId, AccountId)>::new());
	node.answer("Disputes", "game", &None::<GameView>);
	scene.says("ended").await;
	scene.end().await;
}

#[tokio::test]
async fn a_gateway_that_is_started_again_goes_on_with_its_dispute_and_asks_nothing_in_that_session() {
	let (node, disputer, base) = disputer().await;
	let transcript = given(0).transcript;
	waits_for_the_provider(&node, transcript.receipt);
	let played = Shared::default();
	let (endpoint, provider) = play(played.clone()).await;
	let (client, stop, gateway) = start(Options { disputer: Some(disputer), ..options(base.path(), endpoint) }).await;
	let scene = Scene { base, played, provider, client, stop, gateway };
	scene.says("open: the other side moves").await;
	let (status, body) = scene.complete(false).await;
	assert!(status == StatusCode::BAD_GATEWAY && body.contains("answer 0 of the session was disputed"), "{body}");
	assert!(scene.played.lock().unwrap().asked.is_empty());
	scene.end().await;
}

#[tokio::test]
async fn who_cannot_pay_the_bond_is_told_what_is_missing_and_how_to_dispute_later() {
	let (node, disputer, base) = disputer().await;
	node.fund(NEURO);
	let scene = checking(Some((disputer, base))).await;
	let health = scene.says("not disputed: ").await;
	let state = health["disputed"]["state"].as_str().unwrap();
	assert!(
		state.contains("1 NEURO free") && state.contains("neuroshard-worker dispute ") && state.contains("disputed-7-0.json"),
		"{state}"
	);
	assert!(node.submitted().borrow().is_empty());
	scene.end().await;
}

#[tokio::test]
async fn after_an_answer_that_the_model_does_not_give_nothing_is_paid_and_its_receipt_is_kept() {
	let scene = checking(None).await;
	assert_eq!(scene.says("answer 0 of the session is false").await["disputed"], Value::Null);
	assert_eq!(scene.complete(false).await.0, StatusCode::BAD_GATEWAY);
	let kept = std::fs::read(scene.base.path().join("gateway/disputed-7-0.json")).unwrap();
	assert_eq!(serde_json::from_slice::<Transcript>(&kept).unwrap(), given(0).transcript);
	scene.end().await;
}
