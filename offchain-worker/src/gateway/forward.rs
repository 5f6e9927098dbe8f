//! Requests on their way to the provider, and answers on their way back.

use super::{
	asked::{Asked, Kind},
	asker::ASK,
	book::digits,
	headers::passed_on,
	purse::{Given, Wrong},
	reader::Reader,
	refusal::Refusal,
	Gateway,
};
use crate::infer::printable_line;
use axum::{
	body::{to_bytes, Body, Bytes},
	extract::{Request, State},
	http::{
		header::{self, HeaderMap, HeaderValue},
		request::Parts,
		uri::{Authority, PathAndQuery},
		Response, StatusCode,
	},
	middleware::{self, Next},
	response::IntoResponse,
	routing::{get, post},
	Json, Router,
};
use futures::StreamExt;
use hyper::body::Incoming;
use serde_json::{json, Value};
use std::{
	collections::{BTreeMap, BTreeSet},
	io,
	net::{IpAddr, Ipv6Addr},
	time::Duration,
};
use tokio::{
	sync::{mpsc, oneshot, OwnedSemaphorePermit},
	time::timeout,
};

/// Bytes of a request's body: what providers take.
const MOST: usize = 4 << 20;
/// For a request's body to come.
const BODY: Duration = Duration::from_secs(30);
/// Pieces of an answer that wait for the client.
const AHEAD: usize = 64;
/// For a client to take a piece of its answer.
const TAKEN: Duration = Duration::from_secs(60);
/// For the next piece of an answer to come.
const NEXT: Duration = Duration::from_secs(600);
/// Header with the number of the session.
const SESSION: &str = "neuroshard-session";
/// Header with the last voucher.
const VOUCHER: &str = "neuroshard-voucher";

type Shared = State<Gateway>;
type Answer = Result<axum::response::Response, Refusal>;

/// All addresses.
pub(super) fn router(gateway: Gateway) -> Router {
	Router::new()
		.route("/v1/models", get(models))
		.route("/v1/models/{*name}", get(models))
		.route("/v1/completions", post(completions))
		.route("/v1/chat/completions", post(chat))
		.route("/v1/embeddings", post(async || Refusal::embeddings()))
		.route("/health", get(health))
		.fallback(async || Refusal::path())
		.layer(middleware::from_fn(by_address))
		.with_state(gateway)
}

/// Refuses what a page of another site could have sent by a name that it had made to stand for this machine.
async fn by_address(request: Request, next: Next) -> Answer {
	let host = request.headers().get(header::HOST).map(|host| host.to_str().ok().and_then(|host| host.parse().ok()));
	match host {
		None => {}
		Some(Some(host)) if is_address(&host) => {}
		Some(_) => return Err(Refusal::host()),
	}
	Ok(next.run(request).await)
}

fn is_address(host: &Authority) -> bool {
	let name = host.host();
	let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
	name == "localhost" || name.parse::<IpAddr>().is_ok() || bare.is_some_and(|name| name.parse::<Ipv6Addr>().is_ok())
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

async fn models(State(gateway): Shared, request: Request) -> Answer {
	let (parts, _) = request.into_parts();
	gateway.forward(parts, Bytes::new(), None).await
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
	let body = timeout(BODY, to_bytes(body, MOST)).await.ok().and_then(Result::ok).ok_or_else(|| Refusal::body(MOST))?;
	let body: Value = serde_json::from_slice(&body).map_err(|error| Refusal::invalid(format!("the body is no JSON: {error}")))?;
	let Value::Object(mut fields) = body else { return Err(Refusal::invalid("the body is no JSON object")) };
	fields.insert("receipt".into(), true.into());
	let body = Value::Object(fields);
	let asked = Asked::of(kind, &body, &gateway.0.card).map_err(Refusal::invalid)?;
	gateway.forward(parts, body.to_string().into(), Some(asked)).await
}

fn is_json(headers: &HeaderMap) -> bool {
	let told = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
	told.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

impl Gateway {
	/// Has the provider answer. What it answers is read to its end even if the client leaves, since it is to be paid.
	async fn forward(self, parts: Parts, body: Bytes, asked: Option<Asked>) -> Answer {
		let Ok(place) = self.0.places.clone().try_acquire_owned() else { return Err(Refusal::busy(super::MOST_REQUESTS)) };
		if self.0.tasks.is_closed() {
			return Err(Refusal::stopping());
		}
		let (answer, answered) = oneshot::channel();
		let tasks = self.0.tasks.clone();
		tasks.spawn(self.attend(parts, body, asked, place, answer));
		answered.await.map_err(|_| Refusal::away("the request was given up by a fault of the program"))?
	}

	async fn attend(self, parts: Parts, body: Bytes, asked: Option<Asked>, _place: OwnedSemaphorePermit, answer: oneshot::Sender<Answer>) {
		let response = match self.ask(parts, body, asked.as_ref()).await {
			Ok(response) => response,
			Err(refusal) => return drop(answer.send(Err(refusal))),
		};
		let (head, body) = response.into_parts();
		if let Some(asked) = asked.as_ref().filter(|_| head.status.is_server_error()) {
			// Some of it may have been computed, and have receipts.
			tracing::warn!(
				"the provider answers with status {}: what of it was computed is paid for if the provider tells its receipt",
				head.status
			);
			self.lose(asked, BTreeMap::new());
		}
		let reader = match (&asked, self.reader(head.status, &head.headers)) {
			(Some(_), Ok(reader)) => reader,
			(Some(_), Err(wrong)) => {
				self.stop(&wrong);
				Reader::Nothing
			}
			(None, _) => Reader::Nothing,
		};
		let (pieces, mut client) = mpsc::channel(AHEAD);
		let stream = futures::stream::poll_fn(move |context| client.poll_recv(context));
		let mut passed = Response::new(Body::from_stream(stream));
		*passed.status_mut() = head.status;
		*passed.headers_mut() = passed_on(&head.headers);
		let there = answer.send(Ok(passed)).is_ok();
		self.pass_on(body, reader, &asked.unwrap_or_default(), there.then_some(pieces)).await;
	}

	async fn ask(&self, parts: Parts, body: Bytes, asked: Option<&Asked>) -> Result<Response<Incoming>, Refusal> {
		let path = parts.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
		let mut headers = passed_on(&parts.headers);
		let (session, voucher) = self.payment()?;
		let value = |text: String| HeaderValue::try_from(text).map_err(|error| Refusal::invalid(error.to_string()));
		headers.insert(SESSION, value(session.to_string())?);
		headers.insert(VOUCHER, value(digits(&voucher))?);
		let ask = self.0.asker.header().ok_or_else(|| Refusal::away("the clock of this machine is out of all bounds"))?;
		headers.insert(ASK, ask);
		let provider = &self.0.provider;
		provider.ask(parts.method, path, headers, body).await.map_err(|away| {
			let words = format!("the provider at {} does not answer: {}", provider.endpoint(), reasons(&away));
			tracing::warn!("{}", printable_line(&words));
			if let Some(asked) = asked.filter(|_| away.was_sent()) {
				self.lose(asked, BTreeMap::new());
			}
			Refusal::away(words)
		})
	}

	fn reader(&self, status: StatusCode, headers: &HeaderMap) -> Result<Reader, Wrong> {
		if !status.is_success() {
			return Ok(Reader::Nothing);
		}
		let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
		match text(header::CONTENT_ENCODING) {
			"" | "identity" => Ok(Reader::of(text(header::CONTENT_TYPE))),
			other => Err(Wrong::Encoding(other.to_owned())),
		}
	}

	/// Passes a body on, and takes the receipts in it. A client that has left, or takes nothing, is not waited for.
	async fn pass_on(&self, body: Incoming, mut reader: Reader, asked: &Asked, client: Option<mpsc::Sender<io::Result<Bytes>>>) {
		let (mut client, mut body) = (client, Body::new(body).into_data_stream());
		let mut paid = BTreeSet::new();
		let broken = loop {
			let piece = match timeout(NEXT, body.next()).await {
				Ok(None) => break None,
				Ok(Some(piece)) => piece.map_err(io::Error::other),
				Err(_) => Err(io::ErrorKind::TimedOut.into()),
			};
			let broken = piece.as_ref().err().map(ToString::to_string);
			if let Ok(bytes) = &piece {
				match reader.push(bytes) {
					Ok(given) => self.receive_all(given, asked, &mut paid),
					Err(wrong) => {
						self.stop(&wrong);
						reader = Reader::Nothing;
					}
				}
			}
			if let Some(sender) = &client {
				// Whoever does not take it will not take the rest either.
				let taken = timeout(TAKEN, sender.send(piece)).await;
				client = client.filter(|_| matches!(taken, Ok(Ok(()))));
			}
			if broken.is_some() {
				break broken;
			}
		};
		if broken.is_none() {
			self.receive_all(reader.finish(), asked, &mut paid);
		}
		if let Some(why) = &broken {
			tracing::warn!("an answer broke off: {}", printable_line(why));
		}
		let Some(texts) = reader.seen() else { return };
		let whole = u32::try_from(paid.len()).is_ok_and(|paid| paid >= asked.answers());
		if whole {
			return;
		}
		if broken.is_none() {
			tracing::warn!("an answer came without a receipt, and is not paid for before the provider tells it");
		}
		let seen = texts.into_iter().map(|(choice, text)| (choice, Some(text)));
		self.lose(asked, seen.chain(paid.into_iter().map(|choice| (choice, None))).collect());
	}

	/// Pays for answers, each choice once: those in `paid` have been.
	fn receive_all(&self, given: Vec<Given>, asked: &Asked, paid: &mut BTreeSet<u32>) {
		for given in given {
			match paid.insert(given.choice) {
				true => self.receive(&given, asked),
				false => self.stop(&Wrong::ChoiceAgain(given.choice)),
			}
		}
	}
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

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn only_addresses_and_this_machine_are_hosts() {
		for (host, expected) in [
			("127.0.0.1:8081", true),
			("localhost:8081", true),
			("localhost", true),
			("[::1]:8081", true),
			("evil.example:8081", false),
			("localhost.evil.example", false),
		] {
			assert_eq!(is_address(&host.parse().unwrap()), expected, "{host}");
		}
	}
}
