//! The HTTP side: what the clients of the OpenAI API ask for, and a page to chat on.

use super::{
	answer::{Answer, Piece},
	bodies::{self, beside, Bodies},
	entry::{self, VOUCHERS},
	error::ApiError,
	keys::Keys,
	logprobs,
	paid::{self, Business, Payer},
	Served,
};
use axum::{
	body::Bytes,
	extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Request, State},
	http::{header, request::Parts, HeaderMap, HeaderValue, Method},
	middleware::{self, Next},
	response::{
		sse::{Event, KeepAlive, Sse},
		Html, IntoResponse, Response,
	},
	routing::{get, post},
	Json, Router,
};
use futures::{future::try_join_all, stream, Stream, StreamExt};
use neuroshard_disputes::answers::{handed::TEXTS, Asking};
use neuroshard_graph::sampler::Sampling;
use neuroshard_http::OPEN_METRICS;
use neuroshard_http::{
	api::{Embedding, Input, Kind, Prompt, Request as Asked, Settings},
	Guard,
};
use neuroshard_inference::batcher::{Batcher, Job, Refused};
use neuroshard_inference::{
	receipt::{
		check::{check, Known, Outcome},
		Issuer, Transcript,
	},
	text::Text,
	Adapted, Chat, Engine,
};
use neuroshard_ring::RingView;
use serde_json::{json, Value};
use std::{
	convert::Infallible,
	sync::Arc,
	time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::{
	sync::{mpsc, Semaphore},
	time::timeout,
};

/// For a place to be answered at.
const AUDITORS_WAIT: Duration = Duration::from_secs(10);
/// Probabilities of prompts that the answers to a request tell back: all of them are held until the last one is there.
const MOST_TOLD: usize = 1 << 22;
/// Path of the page to chat on, and the page.
pub(super) const PAGE: &str = "/";
const PAGE_TEXT: &str = include_str!("page.html");
/// The page runs what is in it, and asks this server. No other page shows it as a part of itself.
const PAGE_POLICY: &str =
	"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'";

/// State of the server that requests are answered with.
pub(super) struct Server {
	/// The model, and then with each of its adapters.
	pub(super) versions: Vec<Arc<Version>>,
	pub(super) text: Arc<Text>,
	pub(super) chat: Chat,
	pub(super) batcher: Batcher,
	pub(super) keys: Option<Keys>,
	/// The business of a provider that is paid.
	pub(super) business: Option<Business>,
	/// View of the ring that computes, if one does.
	pub(super) ring: Option<RingView>,
	/// Checkpoint that is served, if it is one.
	pub(super) served: Option<Served>,
	/// Places for prompts that are read.
	pub(super) readers: Arc<Semaphore>,
	/// Places for auditors who ask for texts.
	pub(super) auditors: Semaphore,
	/// Seconds since 1970, of the start.
	pub(super) started: u64,
}

/// The model by itself, or with one of its adapters beside it.
pub(super) struct Version {
	/// Name that requests choose it by.
	pub(super) name: String,
	/// Fingerprint of what the answers depend on: arithmetic and parameters.
	pub(super) fingerprint: String,
	/// Makes receipts.
	pub(super) issuer: Arc<Issuer>,
	pub(super) adapter: Option<Arc<Adapted>>,
}

type Shared = State<Arc<Server>>;

/// All addresses.
pub(super) fn router(server: Arc<Server>, bodies: Bodies, guard: Guard) -> Router {
	let api = Router::new()
		.route("/v1/models", get(models))
		.route("/v1/models/{*name}", get(model))
		.route("/v1/completions", post(completions))
		.route("/v1/chat/completions", post(chat))
		.route("/v1/embeddings", post(embeddings))
		.route("/v1/check", post(checked))
		.route("/v1/ring", get(ring))
		.route(VOUCHERS, post(voucher))
		.route(TEXTS, post(text))
		.route_layer(middleware::from_fn_with_state(bodies.clone(), bodies::whole))
		.route_layer(middleware::from_fn_with_state((server.clone(), bodies), entry::paying))
		.route_layer(middleware::from_fn_with_state(server.clone(), admit));
	let open = Router::new().route(PAGE, get(page)).route("/health", get(health)).route("/metrics", get(metrics));
	let all = api.merge(open).fallback(async || ApiError::path()).method_not_allowed_fallback(async || ApiError::method());
	guard.before(all.layer(DefaultBodyLimit::max(bodies::MOST)).with_state(server))
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
	SystemTime::now().duration_since(UNIX_EPOCH).map(|time| time.as_secs()).unwrap_or_default()
}

async fn admit(State(server): Shared, request: Request, next: Next) -> Response {
	if request.method() == Method::OPTIONS {
		// No address is asked so: it is told how it is, for which nobody needs a key.
		return next.run(request).await;
	}
	let header = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
	let admitted = server.keys.as_ref().map_or(Ok(()), |keys| keys.admit(header, Instant::now()));
	let response = match admitted {
		Ok(()) => next.run(request).await,
		Err(error) => error.into_response(),
	};
	let stats = server.batcher.stats();
	if response.status().is_success() { &stats.requests } else { &stats.refused }.inc();
	response
}

/// A body that is said to be JSON.
struct Body(Bytes);

impl<S: Send + Sync> FromRequest<S> for Body {
	type Rejection = ApiError;

	async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
		let told = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
		let kind = told.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
		// A page in a browser could send other types to any address unasked.
		if kind != "application/json" && !(kind.starts_with("application/") && kind.ends_with("+json")) {
			return Err(ApiError::content_type());
		}
		if request.headers().get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
			return Err(ApiError::encoding());
		}
		let bytes = Bytes::from_request(request, state).await;
		bytes.map(Self).map_err(|error| ApiError::body(error.status(), error.body_text()))
	}
}

impl Body {
	/// Reads the body. Large ones are read on a thread for work that takes time.
	async fn read<T: Send + 'static>(self, read: impl FnOnce(&[u8]) -> Result<T, ApiError> + Send + 'static) -> Result<T, ApiError> {
		let Self(bytes) = self;
		beside(bytes.len(), move || read(&bytes)).await?
	}

	async fn request(self, kind: Kind) -> Result<Asked, ApiError> {
		self.read(move |bytes| Ok(Asked::read(kind, bytes)?)).await
	}

	/// A value that programs of this project write; `what` is its name.
	async fn own<T: serde::de::DeserializeOwned + Send + 'static>(self, what: &'static str) -> Result<T, ApiError> {
		let read = move |bytes: &[u8]| {
			serde_json::from_slice(bytes).map_err(|error| match error.is_data() {
				true => ApiError::invalid(format!("the request's body is not {what}")),
				false => ApiError::invalid(format!("the request's body is no JSON: {error}")),
			})
		};
		self.read(read).await
	}
}

/// Payer of a request, if there is one.
struct PaidBy(Option<Payer>);

impl<S: Sync> FromRequestParts<S> for PaidBy {
	type Rejection = Infallible;

	async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
		Ok(Self(parts.extensions.remove()))
	}
}

async fn page() -> impl IntoResponse {
	let policy = HeaderValue::from_static(PAGE_POLICY);
	([(header::CONTENT_SECURITY_POLICY, policy)], Html(PAGE_TEXT))
}

async fn health(State(server): Shared) -> impl IntoResponse {
	Json(
		json!({ "status": "ok", "model": server.versions.first().map(|version| &version.name), "checkpoint": server.served.as_ref().map(Served::json) }),
	)
}

async fn metrics(State(server): Shared) -> impl IntoResponse {
	([(header::CONTENT_TYPE, OPEN_METRICS)], server.batcher.stats().text())
}

fn described(server: &Server, version: &Version) -> Value {
	json!({
		"id": version.name,
		"object": "model",
		"created": server.started,
		"owned_by": "neuroshard",
		"max_model_len": server.batcher.longest(),
	})
}

async fn models(State(server): Shared) -> impl IntoResponse {
	let all: Vec<Value> = server.versions.iter().map(|version| described(&server, version)).collect();
	Json(json!({ "object": "list", "data": all }))
}

async fn model(State(server): Shared, axum::extract::Path(name): axum::extract::Path<String>) -> Result<Response, ApiError> {
	let version = server.served(&name)?;
	Ok(Json(described(&server, &version)).into_response())
}

impl Server {
	/// What a request asks for by its name.
	fn served(&self, asked: &str) -> Result<Arc<Version>, ApiError> {
		let found = self.versions.iter().find(|version| version.name == asked);
		found.cloned().ok_or_else(|| ApiError::model(asked, self.versions.iter().map(|version| version.name.as_str())))
	}

	/// Has each prompt continued as often as is asked; the answers to the first prompt come first.
	fn begin(
		&self,
		version: &Version,
		prompts: Vec<Vec<u32>>,
		field: &'static str,
		ask: &Settings,
		seed: u64,
		payer: Option<&Payer>,
	) -> Result<Vec<Answer>, ApiError> {
		self.batcher.check(&prompts, ask.choices).map_err(|refused| ApiError::from(refused).of(field))?;
		let told = ask.log.filter(|_| ask.echo).map_or(0, |top| told(prompts.iter().map(Vec::len).sum(), top, ask.choices));
		if told > MOST_TOLD {
			return Err(ApiError::field(field, "so many prompts are not told back with probabilities at once: send fewer"));
		}
		let (mut jobs, mut answers) = (Vec::new(), Vec::new());
		for prompt in prompts {
			let room = self.batcher.longest().saturating_sub(prompt.len()).saturating_add(1);
			let room = payer.map_or(Ok(room), |payer| payer.most(prompt.len(), ask.most, room))?;
			let most = ask.most.map_or(room, |most| usize::try_from(most).unwrap_or(room).min(room));
			for choice in 0..ask.choices {
				// The end, and with a prompt that is told back that and the token which ends the text.
				let (reply, replies) = mpsc::channel(most.saturating_add(3));
				let sampling = Sampling { seed: seed.wrapping_add(choice.into()), ..ask.sampling };
				let top = ask.log.unwrap_or(0);
				let most = u32::try_from(most).unwrap_or(u32::MAX);
				let (log, echo, endless) = (ask.log.is_some(), ask.echo, ask.endless);
				jobs.push(Job { prompt: prompt.clone(), adapter: version.adapter.clone(), sampling, most, top, log, echo, endless, reply });
				let narrow = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
				let dearest = version.issuer.prices.of(narrow(prompt.len()), most);
				let reserved = payer.map(|payer| payer.reserve(dearest)).transpose()?;
				let reserved = reserved.map(|reserved| (reserved, version.issuer.clone()));
				answers.push(Answer::new(self.text.clone(), prompt.clone(), sampling, replies, ask.stops.clone(), reserved));
			}
		}
		self.batcher.submit(jobs)?;
		Ok(answers)
	}

	/// Returns the payer of a request's answers; `None` unless this is a provider's server.
	fn payer(&self, PaidBy(payer): PaidBy) -> Result<Option<Payer>, ApiError> {
		match self.business.is_some() == payer.is_some() {
			true => Ok(payer),
			false => Err(ApiError::internal("who pays is not known")),
		}
	}

	async fn tokens(self: &Arc<Self>, prompt: Prompt, field: &'static str) -> Result<Vec<u32>, ApiError> {
		match prompt {
			Prompt::Tokens(tokens) => Ok(tokens),
			Prompt::Text(text) => self.read(field, move |_| Ok(text), false).await,
		}
	}

	/// The tokens of a text, which is written and read on a thread for work that takes time.
	async fn read(
		self: &Arc<Self>,
		field: &'static str,
		text: impl FnOnce(&Self) -> Result<String, ApiError> + Send + 'static,
		marked: bool,
	) -> Result<Vec<u32>, ApiError> {
		let server = self.clone();
		let place = self.readers.clone().acquire_owned().await.map_err(|_| Refused::Stopping)?;
		let work = move || {
			// Nothing ends a thread that reads, not even that the client has gone.
			let _place = place;
			let (text, most) = (text(&server)?, server.batcher.longest());
			if text.len() > server.text.most_bytes(most) {
				return Err(ApiError::from(Refused::TooLong { tokens: None, most }).of(field));
			}
			server.text.prompt(&text, marked).map_err(|error| ApiError::field(field, error.to_string()))
		};
		tokio::task::spawn_blocking(work).await.map_err(|_| ApiError::internal("the prompt could not be read"))?
	}
}

/// Probabilities that are told back of prompts with so many tokens, each with its `top` alternatives, in so many answers.
fn told(tokens: usize, top: usize, choices: u32) -> usize {
	let choices = usize::try_from(choices).unwrap_or(usize::MAX);
	tokens.saturating_mul(top.saturating_add(1)).saturating_mul(choices)
}

fn id(kind: Kind) -> String {
	let prefix = if kind == Kind::Chat { "chatcmpl" } else { "cmpl" };
	format!("{prefix}-{:032x}", rand::random::<u128>())
}

/// Fields that all parts of an answer to one request have in common.
struct Frame {
	kind: Kind,
	id: String,
	created: u64,
	server: Arc<Server>,
	version: Arc<Version>,
	log: bool,
	usage: bool,
	receipt: bool,
	prompt: usize,
}

impl Frame {
	fn wrap(&self, stream: bool, choices: Value, usage: Option<Value>) -> Value {
		let mut document = json!({
			"id": self.id,
			"object": self.kind.object(stream),
			"created": self.created,
			"model": self.version.name,
			"system_fingerprint": self.version.fingerprint,
			"choices": choices,
		});
		if let Some(usage) = usage {
			document["usage"] = usage;
		} else if stream && self.usage {
			document["usage"] = Value::Null;
		}
		document
	}

	fn usage(&self, generated: usize) -> Value {
		json!({ "prompt_tokens": self.prompt, "completion_tokens": generated, "total_tokens": self.prompt.saturating_add(generated) })
	}

	fn logprobs(&self, piece: &Piece) -> Value {
		match (self.log, self.kind) {
			(false, _) => Value::Null,
			(true, Kind::Chat) => logprobs::of_chat(&self.server.text, &piece.tokens),
			(true, _) => logprobs::of_completion(&self.server.text, &piece.tokens),
		}
	}

	/// Adds the receipt of an answer that has ended, if receipts are asked for.
	///
	/// # Errors
	/// If an answer that is paid for cannot be noted.
	fn with_receipt(&self, mut choice: Value, piece: &Piece, answer: &mut Answer) -> Result<Value, ApiError> {
		if self.receipt && piece.finish.is_some() {
			choice["receipt"] = json!(answer.receipt(&self.version.issuer)?);
		}
		Ok(choice)
	}

	/// A whole answer.
	fn choice(&self, index: usize, piece: &Piece, answer: &mut Answer) -> Result<Value, ApiError> {
		let logprobs = self.logprobs(piece);
		let choice = match self.kind {
			Kind::Chat => {
				let message = json!({ "role": "assistant", "content": piece.text, "refusal": null });
				json!({ "index": index, "message": message, "logprobs": logprobs, "finish_reason": piece.finish })
			}
			_ => json!({ "index": index, "text": piece.text, "logprobs": logprobs, "finish_reason": piece.finish }),
		};
		self.with_receipt(choice, piece, answer)
	}

	/// A piece of a stream.
	fn delta(&self, index: usize, piece: &Piece, answer: &mut Answer) -> Result<Value, ApiError> {
		let logprobs = self.logprobs(piece);
		let choice = match self.kind {
			Kind::Chat => {
				json!({ "index": index, "delta": { "content": piece.text }, "logprobs": logprobs, "finish_reason": piece.finish })
			}
			_ => json!({ "index": index, "text": piece.text, "logprobs": logprobs, "finish_reason": piece.finish }),
		};
		Ok(self.wrap(true, json!([self.with_receipt(choice, piece, answer)?]), None))
	}

	/// Returns the first event of a chat's stream.
	fn opening(&self, index: usize) -> Option<Value> {
		let delta = json!({ "role": "assistant", "content": "" });
		let choice = json!([{ "index": index, "delta": delta, "logprobs": null, "finish_reason": null }]);
		(self.kind == Kind::Chat).then(|| self.wrap(true, choice, None))
	}
}

async fn completions(State(server): Shared, paid_by: PaidBy, body: Body) -> Result<Response, ApiError> {
	answer(server, Kind::Completion, paid_by, body).await
}

async fn chat(State(server): Shared, paid_by: PaidBy, body: Body) -> Result<Response, ApiError> {
	answer(server, Kind::Chat, paid_by, body).await
}

async fn answer(server: Arc<Server>, kind: Kind, paid_by: PaidBy, body: Body) -> Result<Response, ApiError> {
	let Asked { model, input, settings } = body.request(kind).await?;
	let version = server.served(&model)?;
	let payer = server.payer(paid_by)?;
	if settings.echo && payer.is_some() {
		return Err(ApiError::payment("prompts that are told back have no price here: ask without echo"));
	}
	let (field, prompts) = match input {
		Input::Prompts(prompts) => {
			let mut tokens = Vec::with_capacity(prompts.len());
			for prompt in prompts {
				tokens.push(server.tokens(prompt, "prompt").await?);
			}
			("prompt", tokens)
		}
		Input::Chat(messages) => {
			let field = "messages";
			let prompt = move |server: &Server| server.chat.prompt(&messages).map_err(|error| ApiError::field(field, error.to_string()));
			(field, vec![server.read(field, prompt, server.chat.is_marked()).await?])
		}
	};
	let prompt = prompts.iter().map(Vec::len).sum();
	let seed = settings.seed.unwrap_or_else(rand::random);
	let mut answers = server.begin(&version, prompts, field, &settings, seed, payer.as_ref())?;
	let Settings { log, usage, stream, .. } = settings;
	// Without one, nobody could pay.
	let receipt = settings.receipt || payer.is_some();
	let frame = Frame { kind, id: id(kind), created: now(), server, version, log: log.is_some(), usage, receipt, prompt };
	if stream {
		let events = streamed(frame, answers).map(|data| Ok::<_, Infallible>(Event::default().data(data)));
		return Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response());
	}
	let all = try_join_all(answers.iter_mut().map(Answer::all)).await?;
	let choices = all.iter().zip(&mut answers).enumerate();
	let choices = choices.map(|(index, (piece, answer))| frame.choice(index, piece, answer)).collect::<Result<Vec<Value>, _>>()?;
	let generated = answers.iter().map(Answer::generated).sum();
	Ok(Json(frame.wrap(false, choices.into(), Some(frame.usage(generated)))).into_response())
}

/// An answer's pieces as the data of server-sent events.
struct Streaming {
	answer: Answer,
	index: usize,
}

/// The data of all events: the pieces of all answers as they come, the usage if it is asked for, and the end.
fn streamed(frame: Frame, answers: Vec<Answer>) -> impl Stream<Item = String> {
	let frame = Arc::new(frame);
	let opening: Vec<String> = (0..answers.len()).filter_map(|index| frame.opening(index)).map(|data| data.to_string()).collect();
	let generated = Arc::new(std::sync::atomic::AtomicUsize::new(0));
	let pieces: Vec<_> = answers
		.into_iter()
		.enumerate()
		.map(|(index, answer)| {
			let (frame, generated) = (frame.clone(), generated.clone());
			let state = Some(Streaming { answer, index });
			stream::unfold(state, move |state| {
				let (frame, generated) = (frame.clone(), generated.clone());
				async move {
					let mut state = state?;
					match state.answer.next().await {
						Ok(Some(piece)) => match frame.delta(state.index, &piece, &mut state.answer) {
							Ok(data) => Some((data.to_string(), Some(state))),
							Err(error) => Some((error.json().to_string(), None)),
						},
						Ok(None) => {
							generated.fetch_add(state.answer.generated(), std::sync::atomic::Ordering::Relaxed);
							None
						}
						Err(error) => Some((error.json().to_string(), None)),
					}
				}
			})
			.boxed()
		})
		.collect();
	let closing = stream::once(async move {
		let total = generated.load(std::sync::atomic::Ordering::Relaxed);
		let usage = frame.usage.then(|| frame.wrap(true, json!([]), Some(frame.usage(total))).to_string());
		stream::iter(usage.into_iter().chain(["[DONE]".to_owned()]))
	});
	stream::iter(opening).chain(stream::select_all(pieces)).chain(closing.flatten())
}

async fn embeddings(State(server): Shared, body: Body) -> Result<Response, ApiError> {
	let field = "input";
	let Embedding { model, input, base64 } = body.read(|bytes| Ok(Embedding::read(bytes)?)).await?;
	let version = server.served(&model)?;
	if server.business.is_some() {
		return Err(ApiError::payment("embeddings have no price here"));
	}
	let (mut data, mut total) = (Vec::new(), 0usize);
	for (index, input) in input.into_iter().enumerate() {
		let tokens = server.tokens(input, field).await?;
		total = total.saturating_add(tokens.len());
		let vector = server.batcher.embed(tokens, version.adapter.clone()).await.map_err(|refused| ApiError::from(refused).of(field))??;
		let embedding = match base64 {
			false => json!(vector),
			true => json!(encoded(&vector)),
		};
		data.push(json!({ "object": "embedding", "index": index, "embedding": embedding }));
	}
	let usage = json!({ "prompt_tokens": total, "total_tokens": total });
	Ok(Json(json!({ "object": "list", "model": version.name, "data": data, "usage": usage })).into_response())
}

/// A voucher that comes without a question.
#[derive(serde::Deserialize)]
struct Paying {
	voucher: String,
}

/// Takes a voucher for answers that were given; tells what is not paid for.
async fn voucher(State(server): Shared, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
	let Some(business) = &server.business else { return Err(ApiError::path()) };
	let Paying { voucher } = body.own("an object with a voucher").await?;
	let words = "there is no voucher: 0x, and the SCALE encoding of voucher and signature";
	let signed = neuroshard_payments::read::<paid::Signed>(&voucher).ok_or_else(|| ApiError::field("voucher", words))?;
	let payer = business.accounts().pays(&headers, signed.0.session, signed, |session| business.session(session)).await?;
	Ok(Json(payer.owes()?).into_response())
}

/// Hands the text of an answer to who was drawn to audit it.
async fn text(State(server): Shared, body: Body) -> Result<Response, ApiError> {
	let Some(business) = &server.business else { return Err(ApiError::path()) };
	let asking: Asking = body.own("an auditor's request").await?;
	let words = "there is no request: 0x, and the SCALE encoding of what is asked and its signature";
	let (ask, signature) = asking.read().ok_or_else(|| ApiError::field("ask", words))?;
	let busy = |_| ApiError::busy("other auditors are answered: ask again");
	let _place = timeout(AUDITORS_WAIT, server.auditors.acquire()).await.map_err(busy)?.map_err(|_| Refused::Stopping)?;
	let handed = timeout(AUDITORS_WAIT, business.keeper().hand_over(&ask, &signature)).await.map_err(busy)?;
	Ok(Json(handed?).into_response())
}

/// Returns the holders of layers, with reasons.
async fn ring(State(server): Shared) -> Response {
	Json(server.ring.as_ref().map_or_else(|| json!({ "spans": [] }), RingView::json)).into_response()
}

/// Computes the answer of a receipt anew.
async fn checked(State(server): Shared, body: Body) -> Result<Response, ApiError> {
	if server.business.is_some() {
		return Err(ApiError::payment("checks have no price here: `neuroshard-worker check` makes them"));
	}
	let transcript: Transcript = body.own("a receipt with its tokens").await?;
	// Of an answer that none of them has given the check says so.
	let version =
		server.versions.iter().find(|version| version.issuer.parameters == transcript.receipt.parameters).or(server.versions.first());
	let version = version.cloned().ok_or_else(|| ApiError::internal("there is no model"))?;
	let text = server.text.clone();
	let work = move |engine: &mut dyn Engine| {
		let Issuer { parameters, class, .. } = *version.issuer;
		let usable = text.usable().min(engine.vocab());
		let known = Known { parameters, adapter: version.adapter.as_deref(), class, usable, ends: &|token| text.is_end(token) };
		check(engine, known, &transcript)
	};
	let outcome = server.batcher.alone(work).await?.map_err(|error| ApiError::invalid(error.to_string()))?;
	Ok(Json(match outcome {
		Outcome::Equal => json!({ "equal": true }),
		Outcome::Differs { index, told, own } => json!({ "equal": false, "index": index, "told": told, "own": own }),
		Outcome::OutOfRange(error) => json!({ "equal": false, "reason": error.to_string() }),
	})
	.into_response())
}

/// The numbers' bytes, the lowest first, in base64.
fn encoded(vector: &[f32]) -> String {
	use base64::Engine;
	let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
	base64::engine::general_purpose::STANDARD.encode(bytes)
}
