//! The JSON-RPC server: that of the SDK behind a check of who asks.
//!
//! Requests, WebSockets, methods and limits are jsonrpsee's and the SDK's. The SDK's own [`sc_rpc_server::start_server`] has no place for what comes
//! before them here: addresses that were taken when the node started, a check of `Origin` and `Host` ahead of the WebSocket, and strangers, who get safe
//! methods only, and places and threads of their own.

mod browser;
mod explain;
pub mod origin;
mod strangers;

pub use browser::BrowserLayer;

use crate::patches::bound::{Bound, Purpose, Unavailable};
use explain::Explained;
use futures::{
	future::{ready, BoxFuture},
	FutureExt,
};
use hyper::{
	body::{Body as _, Incoming},
	header::{HeaderValue, CONNECTION, CONTENT_TYPE},
	http::request::Parts,
	server::conn::http1,
	service::service_fn,
	Method, Request, StatusCode,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use jsonrpsee::{
	core::BoxError,
	server::{
		middleware::rpc::RpcService, stop_channel, ws, BatchRequestConfig, HttpBody, HttpRequest, HttpResponse, PingConfig,
		RandomStringIdProvider, RpcServiceBuilder, StopHandle, TowerServiceBuilder,
	},
	Methods, RpcModule,
};
use origin::{NoOrigin, Origins};
use sc_rpc_api::DenyUnsafe;
use sc_rpc_server::{utils::deny_unsafe, Metrics, MiddlewareLayer, NodeHealthProxyLayer, RpcEndpoint, RpcMethods, RpcMetrics, Server};
use std::{
	io,
	net::{IpAddr, Ipv4Addr, SocketAddr},
	sync::Arc,
	time::{Duration, Instant},
};
use strangers::{is_stranger, is_unlimited, Bounded, Threads};
use substrate_prometheus_endpoint::{PrometheusError, Registry};
use tokio::{net::TcpListener, sync::Semaphore, time::timeout};
use tower::{layer::util::Identity, Service};
use tower_http::cors::{AllowOrigin, AllowPrivateNetwork, CorsLayer};

const MIB: u32 = 1 << 20;
/// Threads in which calls of methods that read the chain, its state or the pool are executed at a time, and how many calls of strangers are.
const THREADS: u32 = 16;
const CALLS_OF_STRANGERS: usize = 12;
/// KiB of calls of strangers that may wait or be executed: more are refused as *server is busy*.
const ROOM_OF_STRANGERS: usize = 64 << 10;
/// Connections from other machines for each one that may make calls: they may be silent for a time, and answers be read slowly.
const SOCKETS: usize = 4;
/// Bytes of the head of a request.
const HEAD_BYTES: usize = 16 << 10;
/// Time for a request over HTTP to come and be answered.
const CALL: Duration = Duration::from_secs(60);
/// Time for the head of a request to come, from the end of the one before.
const HEAD: Duration = Duration::from_secs(60);
/// Characters of a call that are logged.
const LOGGED: u32 = 1_024;
/// Pause after the system gave no connection, for want of something that others may give back.
const PAUSE: Duration = Duration::from_millis(100);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
	/// The system does not allow what the server needs.
	#[error("the JSON-RPC server has no {what}: {error}")]
	System {
		/// What is missing.
		what: &'static str,
		/// The system's reason.
		error: io::Error,
	},
	/// An address is not to be had.
	#[error(transparent)]
	Unavailable(#[from] Unavailable),
	/// The metrics of the server are not to be had.
	#[error("the JSON-RPC server has no metrics: {0}. Start with --no-prometheus, and report this")]
	Metrics(#[from] PrometheusError),
	/// An origin that no browser could send.
	#[error(transparent)]
	Origin(#[from] NoOrigin),
	/// This machine has none of the addresses.
	#[error("cannot listen for JSON-RPC: all addresses are optional, and this machine has none of them")]
	NoAddress,
}

/// The endpoint of a server that serves nobody: the SDK starts one of its own together with the methods.
pub fn nobody() -> RpcEndpoint {
	RpcEndpoint {
		listen_addr: (Ipv4Addr::LOCALHOST, 0).into(),
		batch_config: BatchRequestConfig::Disabled,
		max_connections: 0,
		max_payload_in_mb: 0,
		max_payload_out_mb: 0,
		max_subscriptions_per_connection: 0,
		max_buffer_capacity_per_connection: 1,
		rate_limit: None,
		rate_limit_trust_proxy_headers: false,
		rate_limit_whitelisted_ips: Vec::new(),
		cors: Some(Vec::new()),
		rpc_methods: RpcMethods::Safe,
		is_optional: false,
		retry_random_port: false,
	}
}

/// An address of the server, and what is served there.
#[derive(Debug)]
pub struct Endpoint {
	options: RpcEndpoint,
	origins: Arc<Origins>,
	bound: Bound,
}

/// Takes the addresses of `endpoints`. Optional ones that this machine does not have are left out; one that somebody else has is an error.
///
/// # Errors
/// [`Error::Unavailable`], [`Error::Origin`], [`Error::NoAddress`].
pub fn bind(endpoints: impl IntoIterator<Item = RpcEndpoint>, purpose: Purpose) -> Result<Vec<Endpoint>, Error> {
	let mut all = Vec::new();
	for options in endpoints {
		let origins = Arc::new(Origins::parse(options.cors.as_deref())?);
		let mut bound = Bound::tcp(options.listen_addr, purpose);
		if bound.as_ref().is_err_and(|error| !error.is_missing()) && options.retry_random_port {
			bound = Bound::tcp((options.listen_addr.ip(), 0).into(), purpose);
		}
		match bound {
			Ok(bound) => all.push(Endpoint { options, origins, bound }),
			Err(error) if options.is_optional && error.is_missing() => tracing::debug!(target: "rpc", %error, "left out"),
			Err(error) => return Err(error.into()),
		}
	}
	if all.is_empty() {
		return Err(Error::NoAddress);
	}
	Ok(all)
}

/// Serves `methods` at `endpoints`, with metrics if there is a registry for them, until what is returned is dropped.
///
/// # Errors
/// [`Error::System`], [`Error::Metrics`], [`Error::Unavailable`].
pub fn start(endpoints: Vec<Endpoint>, methods: &RpcModule<()>, registry: Option<&Registry>) -> Result<Server, Error> {
	let system = |what| move |error| Error::System { what, error };
	let addresses = endpoints.iter().map(|endpoint| endpoint.bound.local_address()).collect::<Result<Vec<_>, _>>()?;
	let methods = with_list(methods);
	let metrics = RpcMetrics::new(registry)?.map(|metrics| metrics.with_known_methods(methods.method_names()));
	let (threads, room) = (Arc::new(Semaphore::new(CALLS_OF_STRANGERS)), Arc::new(Semaphore::new(ROOM_OF_STRANGERS)));
	let runtime = sc_rpc_server::create_rpc_runtime(THREADS).map_err(system("threads"))?;
	let (tasks, (stop, handle)) = (runtime.handle().clone(), stop_channel());
	// From here on an error stops the runtime without waiting for it.
	let server = Server::new(handle, addresses.clone(), runtime);
	for (Endpoint { options, origins, bound }, address) in endpoints.into_iter().zip(addresses) {
		let listener = {
			let _inside = tasks.enter();
			bound.listen()?
		};
		let own = limited(&options).to_service_builder();
		let servers = [own.clone(), own.max_connections(options.max_connections)];
		let (methods, metrics, threads, room, stop) = (methods.clone(), metrics.clone(), threads.clone(), room.clone(), stop.clone());
		tasks.spawn(accept(listener, origins, Shared { options, address, servers, methods, metrics, threads, room, stop }));
	}
	Ok(server)
}

/// jsonrpsee's server, with the limits of an endpoint.
fn limited(options: &RpcEndpoint) -> jsonrpsee::server::ServerBuilder<Identity, Identity> {
	let bytes = |megabytes: u32| megabytes.saturating_mul(MIB);
	jsonrpsee::server::Server::builder()
		.max_request_body_size(bytes(options.max_payload_in_mb))
		.max_response_body_size(bytes(options.max_payload_out_mb))
		.max_connections(options.max_connections)
		.max_subscriptions_per_connection(options.max_subscriptions_per_connection)
		.set_message_buffer_capacity(options.max_buffer_capacity_per_connection.max(1))
		.set_batch_request_config(options.batch_config)
		.set_id_provider(RandomStringIdProvider::new(16))
		// As the SDK's server has it.
		.enable_ws_ping(PingConfig::new().ping_interval(Duration::from_secs(30)).inactive_limit(Duration::from_secs(60)).max_failures(3))
}

/// Adds the method that names all others.
fn with_list(methods: &RpcModule<()>) -> Methods {
	let mut names: Vec<_> = methods.method_names().chain(["rpc_methods"]).collect();
	names.sort_unstable();
	let mut list = RpcModule::new(());
	let mut all = Methods::from(methods.clone());
	let named = list.register_method("rpc_methods", move |_, _, _| serde_json::json!({ "methods": names })).is_ok();
	// A module that names its methods by itself goes on doing so.
	let merged = named && all.merge(list).is_ok();
	tracing::debug!(target: "rpc", merged, "names of methods");
	all
}

/// Tells browsers what pages of `origins` may ask for and read. [`BrowserLayer`] has refused all others.
fn cors(origins: &Arc<Origins>) -> CorsLayer {
	if **origins == Origins::All {
		return CorsLayer::permissive().allow_private_network(AllowPrivateNetwork::yes());
	}
	let origins = origins.clone();
	CorsLayer::new()
		.allow_origin(AllowOrigin::predicate(move |origin: &HeaderValue, _: &Parts| origins.allow(origin.as_bytes())))
		.allow_methods([Method::GET, Method::POST])
		.allow_headers([CONTENT_TYPE])
		.allow_private_network(AllowPrivateNetwork::yes())
}

/// An address at which the server listens.
struct Shared {
	options: RpcEndpoint,
	address: SocketAddr,
	/// For the operator's own clients, and for strangers: each has its connections.
	servers: [TowerServiceBuilder<Identity, Identity>; 2],
	methods: Methods,
	metrics: Option<RpcMetrics>,
	/// For calls of strangers.
	threads: Arc<Semaphore>,
	/// KiB of calls of strangers that may be held.
	room: Arc<Semaphore>,
	stop: StopHandle,
}

/// Serves all who come.
async fn accept(listener: TcpListener, origins: Arc<Origins>, shared: Shared) {
	let cors = cors(&origins);
	// Where all pages are let in, no name keeps one out.
	let by_address = *origins != Origins::All;
	let layers = tower::ServiceBuilder::new().layer(BrowserLayer::new(origins, by_address)).layer(cors).layer(NodeHealthProxyLayer);
	// Each may be silent for some time before its first request.
	let places = Arc::new(Semaphore::new((shared.options.max_connections as usize).saturating_mul(SOCKETS)));
	let shared = Arc::new(shared);
	loop {
		let (socket, client) = match listener.accept().await {
			Ok(accepted) => accepted,
			Err(error) => {
				tracing::debug!(target: "rpc", %error, "no connection");
				tokio::time::sleep(PAUSE).await;
				continue;
			}
		};
		// Answers are whole when they are flushed; an error is one of the connection, which shows when it is read.
		let _ = socket.set_nodelay(true);
		let client = client.ip().to_canonical();
		let place = match (client.is_loopback(), places.clone().try_acquire_owned()) {
			(true, _) => None,
			(false, Ok(place)) => Some(place),
			(false, Err(_)) => continue,
		};
		// One limit for all that comes over the connection.
		let limit = shared.options.rate_limit.map(|calls| MiddlewareLayer::new().with_rate_limit_per_minute(calls));
		let (layers, shared) = (layers.clone(), shared.clone());
		let service = service_fn(move |request: Request<Incoming>| {
			let (shared, limit) = (shared.clone(), limit.clone());
			let mut service = layers.service(tower::service_fn(move |request| shared.answer(client, limit.clone(), request)));
			let answer: BoxFuture<'static, Result<HttpResponse, BoxError>> = service.call(request).boxed();
			answer
		});
		// Only HTTP/1 names its host in the header that is looked at.
		let serving = http1::Builder::new()
			.timer(TokioTimer::new())
			.header_read_timeout(HEAD)
			.max_buf_size(HEAD_BYTES)
			.serve_connection(TokioIo::new(socket), service)
			.with_upgrades();
		tokio::spawn(serving.map(move |ended| {
			drop(place);
			if let Err(error) = ended {
				tracing::debug!(target: "rpc", %error, "a connection ended");
			}
		}));
	}
}

impl Shared {
	/// Answers a request that the layers have let in, or begins its WebSocket.
	fn answer(
		&self,
		client: IpAddr,
		limit: Option<MiddlewareLayer>,
		mut request: HttpRequest,
	) -> BoxFuture<'static, Result<HttpResponse, BoxError>> {
		let Self { options, address, servers: [own, strangers], methods, metrics, threads, room, stop } = self;
		let stranger = is_stranger(client, request.headers());
		// The mark of a web page stays: it is somebody else's, whoever has it open.
		if request.extensions().get::<DenyUnsafe>().is_none() {
			let denied = match (stranger, options.rpc_methods) {
				(true, RpcMethods::Auto) => DenyUnsafe::Yes,
				(_, methods) => deny_unsafe(address, &methods),
			};
			request.extensions_mut().insert(denied);
		}
		let is_websocket = ws::is_upgrade_request(&request);
		if is_websocket && !request.body().is_end_stream() {
			// It would be read as a body here and as frames there.
			return ready(Ok(plain(StatusCode::BAD_REQUEST))).boxed();
		}
		// Over one connection of a trusted proxy come requests of many clients.
		let is_shared = options.rate_limit_trust_proxy_headers && !is_websocket;
		let mut calls = limit.filter(|_| !is_shared && !is_unlimited(options, client, request.headers())).unwrap_or_default();
		if let Some(metrics) = metrics {
			calls = calls.with_metrics(Metrics::new(metrics.clone(), if is_websocket { "ws" } else { "http" }));
		}
		let (known, threads, room) = (methods.clone(), stranger.then(|| threads.clone()), stranger.then(|| room.clone()));
		let middleware = RpcServiceBuilder::new()
			.rpc_logger(LOGGED)
			.layer_fn(move |service| Bounded { service: Arc::new(service), room: room.clone() })
			.layer(calls.clone())
			.layer_fn(move |service: RpcService| Explained(Threads { service, methods: known.clone(), free: threads.clone() }));
		let builder = if stranger { strangers } else { own };
		let mut service = builder.clone().set_rpc_middleware(middleware).build(methods.clone(), stop.clone());
		if is_websocket {
			let closed = service.on_session_closed();
			tokio::spawn(async move {
				let start = Instant::now();
				calls.ws_connect();
				closed.await;
				calls.ws_disconnect(start);
			});
			return service.call(request);
		}
		let answered = timeout(CALL, service.call(request));
		async move { answered.await.unwrap_or_else(|_| Ok(plain(StatusCode::REQUEST_TIMEOUT))) }.boxed()
	}
}

/// An answer without words, after which the connection is closed.
fn plain(status: StatusCode) -> HttpResponse {
	let mut response = HttpResponse::new(HttpBody::empty());
	*response.status_mut() = status;
	response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
	response
}

#[cfg(test)]
mod tests;
