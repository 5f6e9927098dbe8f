//! Requests on their way to the provider, and answers on their way back.

use super::{
	asked::Asked,
	browser,
	ledger::{Given, Wrong},
	reader::{Piece, Reader},
	refusal::Refusal,
	shown::Frame,
	Gateway,
};
use axum::{
	body::{to_bytes, Body, Bytes},
	extract::{Path, Request, State},
	http::{
		header::{self, HeaderMap, HeaderName, HeaderValue},
		uri::PathAndQuery,
		Method, Response, StatusCode,
	},
	middleware,
	response::IntoResponse,
	routing::{get, post},
	Json, Router,
};
use futures::StreamExt;
use hyper::body::Incoming;
use neuroshard_http::{api::Kind, Guard};
use neuroshard_payments::{written, ASK, SESSION, VOUCHER};
use neuroshard_support::printable::printable_line;
use serde_json::{json, Value};
use std::{
	collections::{BTreeMap, BTreeSet},
	io,
	time::Duration,
};
use tokio::{
	sync::{mpsc, oneshot, OwnedSemaphorePermit},
	task::spawn_blocking,
	time::timeout,
};

/// Bytes of a request's body: what providers take.
const MOST: usize = 4 << 20;
/// For a request's body to come.
const BODY: Duration = Duration::from_secs(30);
/// Bytes of an error that are read.
const ERROR: usize = 64 << 10;
/// For an error to come.
const ERROR_TIME: Duration = Duration::from_secs(10);
/// Pieces of an answer that wait for the client.
const AHEAD: usize = 64;
/// For a client to take a piece of its answer.
const TAKEN: Duration = Duration::from_secs(60);
/// For the next piece of an answer to come.
const NEXT: Duration = Duration::from_secs(600);
/// Characters of another type that are told.
const TYPE: usize = 100;

type Shared = State<Gateway>;
type Answer = Result<axum::response::Response, Refusal>;

/// All addresses.
pub(super) fn router(gateway: Gateway, guard: Guard) -> Router {
	let all = Router::new()
		.route("/v1/models", get(models))
		.route("/v1/models/{*name}", get(model))
		.route("/v1/completions", post(completions))
		.route("/v1/chat/completions", post(chat))
		.route("/v1/embeddings", post(async || Refusal::embeddings()))
		.route("/health", get(health))
		.fallback(async || Refusal::path())
		.method_not_allowed_fallback(async || Refusal::method())
		.with_state(gateway);
	guard.before(all).layer(middleware::from_fn(browser::keep_out))
}

async fn health(State(gateway): Shared) -> impl IntoResponse {
	let (session, owed, stopped) = gateway.status();
	let provider = json!({ "account": gateway.0.provider_id.to_string(), "endpoint": gateway.0.provider.endpoint().to_string() });
	Json(json!({
		"status": if stopped.is_none() { "ok" } else { "stopped" },
		"why": stopped,
		"session": session,
		"provider": provider,
		"answers": owed.answers,
		"planck": owed.amount.to_string(),
		"lost": gateway.lost(),
		"disputed": gateway.dispute().map(|disputed| disputed.json()),
	}))
}

/// The offered model, as the offer and the run on the chain tell it: nobody is asked.
fn described(gateway: &Gateway) -> Value {
	let ledger = gateway.ledger();
	let terms = ledger.terms();
	json!({
		"id": terms.card.name,
		"object": "model",
		"created": gateway.0.started,
		"owned_by": "neuroshard",
		"max_model_len": terms.config.model.max_seq,
	})
}

async fn models(State(gateway): Shared) -> impl IntoResponse {
	Json(json!({ "object": "list", "data": [described(&gateway)] }))
}

async fn model(State(gateway): Shared, Path(name): Path<String>) -> Answer {
	match name == gateway.0.card.name {
		true => Ok(Json(described(&gateway)).into_response()),
		false => Err(Refusal::model(&gateway.0.card.name)),
	}
}

async fn completions(State(gateway): Shared, request: Request) -> Answer {
	paid(gateway, Kind::Completion, request).await
}

async fn chat(State(gateway): Shared, request: Request) -> Answer {
	paid(gateway, Kind::Chat, request).await
}

async fn paid(gateway: Gateway, kind: Kind, request: Request) -> Answer {
	let (parts, body) = request.into_parts();
	if !is_json(&parts.headers) {
		return Err(Refusal::content_type());
	}
	// As many bodies are in memory as there are requests.
	let Ok(place) = gateway.0.places.clone().try_acquire_owned() else { return Err(Refusal::busy(super::MOST_REQUESTS)) };
	let body = timeout(BODY, to_bytes(body, MOST)).await.ok().and_then(Result::ok).ok_or_else(|| Refusal::body(MOST))?;
	let card = gateway.0.card.clone();
	// A long text has many tokens, and counting them takes time.
	let read = spawn_blocking(move || Asked::of(kind, &body, &card)).await;
	let (asked, body) = read.map_err(|_| Refusal::fault())?.map_err(Refusal::of_request)?;
	gateway.forward(kind, body.into(), asked, place).await
}

fn is_json(headers: &HeaderMap) -> bool {
	let told = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
	told.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

impl Gateway {
	/// Has the provider answer. What it answers is read to its end even if the client leaves, since it is to be paid.
	async fn forward(self, kind: Kind, body: Bytes, asked: Asked, place: OwnedSemaphorePermit) -> Answer {
		if self.0.tasks.is_closed() {
			return Err(Refusal::stopping());
		}
		let (answer, answered) = oneshot::channel();
		let tasks = self.0.tasks.clone();
		tasks.spawn(self.attend(kind, body, asked, place, answer));
		answered.await.map_err(|_| Refusal::fault())?
	}

	async fn attend(self, kind: Kind, body: Bytes, asked: Asked, _place: OwnedSemaphorePermit, answer: oneshot::Sender<Answer>) {
		let response = match self.ask(kind, body, &asked).await {
			Ok(response) => response,
			Err(refusal) => return drop(answer.send(Err(refusal))),
		};
		let (head, body) = response.into_parts();
		let reader = match head.status {
			StatusCode::OK => self.reader(kind, &head.headers, &asked),
			status if status.is_client_error() => return drop(answer.send(Err(refused(status, &head.headers, body).await))),
			status => {
				// Some of it may have been computed, and have receipts.
				tracing::warn!(
					"the provider answers with status {status}: what of it was computed is paid for if the provider tells its receipt"
				);
				self.lose(&asked, BTreeMap::new());
				return drop(answer.send(Err(refused(status, &head.headers, body).await)));
			}
		};
		let reader = match reader {
			Ok(reader) => reader,
			Err(wrong) => {
				self.stop(&wrong);
				return drop(answer.send(Err(Refusal::unreadable(&wrong.to_string()))));
			}
		};
		if reader.is_document() {
			let document = self.pass_on(body, reader, &asked, None).await.map_err(|why| Refusal::unreadable(&why));
			return drop(answer.send(document.map(|document| told("application/json", document.into()))));
		}
		let (pieces, mut client) = mpsc::channel(AHEAD);
		let stream = futures::stream::poll_fn(move |context| client.poll_recv(context));
		let there = answer.send(Ok(told("text/event-stream", Body::from_stream(stream)))).is_ok();
		// What is wrong with a stream is in the log, and it ends.
		let _ = self.pass_on(body, reader, &asked, there.then_some(pieces)).await;
	}

	/// Asks the provider. Of the request it gets what this gateway has read of the body, and nothing of its head.
	async fn ask(&self, kind: Kind, body: Bytes, asked: &Asked) -> Result<Response<Incoming>, Refusal> {
		let (session, voucher) = self.payment()?;
		let value = |text: String| HeaderValue::try_from(text).map_err(|error| Refusal::invalid(error.to_string()));
		let ask = self.0.asker.header().ok_or_else(|| Refusal::away("the clock of this machine is out of all bounds"))?;
		let headers = HeaderMap::from_iter([
			(header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
			(HeaderName::from_static(SESSION), value(session.to_string())?),
			(HeaderName::from_static(VOUCHER), value(written(&voucher))?),
			(HeaderName::from_static(ASK), ask),
		]);
		let provider = &self.0.provider;
		provider.ask(Method::POST, PathAndQuery::from_static(kind.path()), headers, body).await.map_err(|away| {
			let words = format!("the provider at {} does not answer: {}", provider.endpoint(), reasons(&away));
			tracing::warn!("{}", printable_line(&words));
			if away.was_sent() {
				self.lose(asked, BTreeMap::new());
			}
			Refusal::away(words)
		})
	}

	/// Returns the reader of a successful answer with these headers.
	fn reader(&self, kind: Kind, headers: &HeaderMap, asked: &Asked) -> Result<Reader, Wrong> {
		let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
		match text(header::CONTENT_ENCODING) {
			"" | "identity" => {}
			other => return Err(Wrong::Encoding(other.chars().take(TYPE).collect())),
		}
		let (told, frame) = (text(header::CONTENT_TYPE), Frame { kind, model: self.0.card.name.clone(), answers: asked.answers() });
		Reader::of(told, frame).ok_or_else(|| Wrong::ContentType(told.chars().take(TYPE).collect()))
	}

	/// Reads a body, takes the receipts in it, and shows the client what was read. A client that has left, or takes nothing, is not waited for. Returns what is
	/// shown of a document.
	///
	/// # Errors
	/// In words, why there is no document.
	async fn pass_on(
		&self,
		body: Incoming,
		mut reader: Reader,
		asked: &Asked,
		client: Option<mpsc::Sender<io::Result<Bytes>>>,
	) -> Result<Bytes, String> {
		let (mut client, mut body) = (client, Body::new(body).into_data_stream());
		let mut paid = BTreeSet::new();
		let broken = loop {
			let piece = match timeout(NEXT, body.next()).await {
				Ok(None) => break None,
				Ok(Some(piece)) => piece.map_err(io::Error::other),
				Err(_) => Err(io::ErrorKind::TimedOut.into()),
			};
			let broken = piece.as_ref().err().map(ToString::to_string);
			let (shown, wrong) = match piece.map(|bytes| reader.push(&bytes)) {
				Ok(Ok(Piece { given, shown })) => {
					self.receive_all(given, asked, &mut paid).await;
					(Ok(Bytes::from(shown)), None)
				}
				Ok(Err(wrong)) => {
					self.stop(&wrong);
					(Err(io::Error::other(wrong.to_string())), Some(wrong.to_string()))
				}
				Err(error) => (Err(error), None),
			};
			if let Some(sender) = client.take_if(|_| !matches!(&shown, Ok(shown) if shown.is_empty())) {
				// Whoever does not take it will not take the rest either.
				let taken = timeout(TAKEN, sender.send(shown)).await;
				client = Some(sender).filter(|_| matches!(taken, Ok(Ok(()))));
			}
			if let Some(wrong) = wrong {
				// Nobody gets any more of it.
				return Err(wrong);
			}
			if broken.is_some() {
				break broken;
			}
		};
		let mut document = Err("it is no answer in JSON".to_owned());
		if broken.is_none() {
			let whole = reader.finish();
			self.receive_all(whole.given, asked, &mut paid).await;
			if let Some(wrong) = whole.wrong {
				self.stop(&wrong);
				return Err(wrong.to_string());
			}
			document = whole.document.ok_or("it is no answer in JSON".to_owned());
		}
		if let Some(why) = &broken {
			tracing::warn!("an answer broke off: {}", printable_line(why));
			document = Err(format!("it broke off: {why}"));
		}
		let texts = reader.seen();
		let whole = u32::try_from(paid.len()).is_ok_and(|paid| paid >= asked.answers());
		if whole {
			return document;
		}
		if broken.is_none() {
			tracing::warn!("an answer came without a receipt, and is not paid for before the provider tells it");
		}
		let seen = texts.into_iter().map(|(choice, text)| (choice, Some(text)));
		self.lose(asked, seen.chain(paid.into_iter().map(|choice| (choice, None))).collect());
		document
	}

	/// Pays for answers, each choice once: those in `paid` have been.
	async fn receive_all(&self, given: Vec<Given>, asked: &Asked, paid: &mut BTreeSet<u32>) {
		for given in given {
			match paid.insert(given.choice) {
				true => self.receive(&given, asked).await,
				false => self.stop(&Wrong::ChoiceAgain(given.choice)),
			}
		}
	}
}

/// An answer whose head is this gateway's own: of the provider's, the client gets nothing.
fn told(kind: &'static str, body: Body) -> axum::response::Response {
	let mut response = Response::new(body);
	response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
	// Proxies hand the pieces of a stream on as they come.
	response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
	response
}

/// Returns the provider's refusal of a request, in its own words if it has some.
async fn refused(status: StatusCode, headers: &HeaderMap, body: Incoming) -> Refusal {
	let retry = headers.get(header::RETRY_AFTER).and_then(|seconds| seconds.to_str().ok()?.parse().ok());
	let is_plain = headers.get(header::CONTENT_ENCODING).is_none_or(|encoding| encoding == "identity");
	let bytes =
		timeout(ERROR_TIME, to_bytes(Body::new(body), ERROR)).await.ok().and_then(Result::ok).filter(|_| is_plain && is_json(headers));
	Refusal::of_provider(status, bytes.as_deref().unwrap_or_default(), retry)
}

/// An error with what is behind it.
fn reasons(error: &dyn std::error::Error) -> String {
	let mut words = error.to_string();
	let mut next = error.source();
	while let Some(source) = next {
		let more = source.to_string();
		if !words.contains(&more) {
			words = format!("{words}: {more}");
		}
		next = source.source();
	}
	words
}
