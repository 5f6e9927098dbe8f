//! The JSON-RPC server: that of the SDK, with bounds on what clients make the node hold.
//!
//! The SDK's server executes all that a client asks for, however little of it the client reads, does not count connections that only speak
//! HTTP, and limits no rate over them. The methods, and the layers around them, are the SDK's.

mod budget;
mod calls;
mod connection;
mod frames;
mod gate;
mod metrics;

use budget::Budget;
use calls::Calls;
use connection::{Body, Connection, Limits};
use forwarded_header_value::ForwardedHeaderValue;
use gate::Gate;
use hyper::{
	body::{Body as _, Incoming},
	header::{HeaderMap, HeaderValue, CONNECTION},
	server::conn::http1,
	Method, Request, StatusCode,
};
use hyper_util::{
	rt::{TokioIo, TokioTimer},
	service::TowerToHyperService,
};
use jsonrpsee::{
	core::BoxError,
	server::{
		middleware::{http::HostFilterLayer, rpc::RpcServiceBuilder},
		stop_channel, ws, BatchRequestConfig, HttpResponse, PingConfig, RandomStringIdProvider, ServerHandle, StopHandle,
	},
	Methods, RpcModule,
};
use sc_rpc_server::{utils::deny_unsafe, Metrics, MiddlewareLayer, NodeHealthProxyLayer, RpcEndpoint, RpcMethods, RpcMetrics};
use std::{
	future::Future,
	io,
	net::{IpAddr, Ipv4Addr, SocketAddr},
	sync::Arc,
	time::{Duration, Instant},
};
use substrate_prometheus_endpoint::{PrometheusError, Registry};
use tokio::{
	net::{TcpListener, TcpStream},
	runtime::Runtime,
	sync::Semaphore,
};
use tower::Service;
use tower_http::cors::{AllowOrigin, CorsLayer};

const MIB: u32 = 1 << 20;
/// Bytes that requests and answers of all connections may take.
const MEMORY: u64 = 512 << 20;
/// Calls of methods that read the chain, its state or the pool in threads of their own which are executed at a time.
const THREADS: u32 = 16;
/// Time for the head of a request to come, from the end of the one before.
const HEAD: Duration = Duration::from_secs(60);
/// Time for a request to come, beside that for its bytes.
const COMING: Duration = Duration::from_secs(10);
/// Time for a request that has come to be answered.
const CALL: Duration = Duration::from_secs(60);
/// Time for an answer to be taken, beside that for its bytes, and for which a client may take nothing.
const TAKING: Duration = Duration::from_secs(30);
/// Time between two pings.
const PING: Duration = Duration::from_secs(30);
/// Characters of a call that are logged.
const LOGGED: u32 = 1_024;
/// Pause after the system gave no connection, for want of something that others may give back.
const PAUSE: Duration = Duration::from_millis(100);

/// Said of a connection over which no other request comes.
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// A server that runs until it is dropped.
pub struct Server {
	handle: ServerHandle,
	runtime: Option<Runtime>,
}

impl Drop for Server {
	fn drop(&mut self) {
		// An error says that it has stopped.
		let _ = self.handle.stop();
		if let Some(runtime) = self.runtime.take() {
			runtime.shutdown_background();
		}
	}
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
	/// The system does not allow what the server needs.
	#[error("the JSON-RPC server has no {what}: {error}. Is the address this machine's, and the port free?")]
	System {
		/// What is missing.
		what: String,
		/// The system's reason.
		error: io::Error,
	},
	/// The metrics of the server are not to be had.
	#[error("the JSON-RPC server has no metrics: {0}. Start with --no-prometheus, and report this")]
	Metrics(#[from] PrometheusError),
	/// An origin that no browser could send.
	#[error("`{0}` is no origin: give --rpc-cors origins such as https://polkadot.js.org, or all")]
	Origin(String),
	/// No endpoint has an address that could be listened on.
	#[error("no address for JSON-RPC could be listened on: all were optional, and all failed")]
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

/// Serves `methods` at `endpoints`, with metrics if there is a registry for them. Also says which addresses these came to be.
///
/// # Errors
/// Every [`Error`].
pub fn start(
	endpoints: Vec<RpcEndpoint>,
	methods: &RpcModule<()>,
	registry: Option<&Registry>,
) -> Result<(Server, Vec<SocketAddr>), Error> {
	let system = |what: &str| {
		let what = what.to_owned();
		|error| Error::System { what, error }
	};
	let runtime = sc_rpc_server::create_rpc_runtime(THREADS).map_err(system("threads"))?;
	let tasks = runtime.handle().clone();
	let (stop, handle) = stop_channel();
	// From here on an error stops the runtime without waiting for it.
	let server = Server { handle, runtime: Some(runtime) };
	let methods = with_list(methods);
	let budget = Budget::new(MEMORY);
	let metrics = match registry {
		Some(registry) => metrics::register_all(registry, &budget)?.map(|metrics| metrics.with_known_methods(methods.method_names())),
		None => None,
	};
	let mut addresses = Vec::new();
	for endpoint in endpoints {
		let _inside = tasks.enter();
		let listener = match bind(&endpoint) {
			Ok(listener) => listener,
			Err(_) if endpoint.is_optional => continue,
			Err(error) => return Err(system(&format!("address {}", endpoint.listen_addr))(error)),
		};
		let address = listener.local_addr().map_err(system("address"))?;
		addresses.push(address);
		let door = Door {
			cors: cors(&endpoint)?,
			endpoint,
			address,
			methods: methods.clone(),
			budget: budget.clone(),
			metrics: metrics.clone(),
			stop: stop.clone(),
		};
		tasks.spawn(accept(listener, door));
	}
	if addresses.is_empty() {
		return Err(Error::NoAddress);
	}
	Ok((server, addresses))
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

fn bind(endpoint: &RpcEndpoint) -> io::Result<TcpListener> {
	let mut bound = std::net::TcpListener::bind(endpoint.listen_addr);
	if bound.is_err() && endpoint.retry_random_port {
		bound = std::net::TcpListener::bind((endpoint.listen_addr.ip(), 0));
	}
	let listener = bound?;
	listener.set_nonblocking(true)?;
	TcpListener::from_std(listener)
}

fn cors(endpoint: &RpcEndpoint) -> Result<CorsLayer, Error> {
	let Some(origins) = &endpoint.cors else { return Ok(CorsLayer::permissive()) };
	let origins: Result<Vec<_>, _> = origins.iter().map(|origin| origin.parse().map_err(|_| Error::Origin(origin.clone()))).collect();
	Ok(CorsLayer::new().allow_origin(AllowOrigin::list(origins?)))
}

/// An address at which the server listens.
struct Door {
	endpoint: RpcEndpoint,
	address: SocketAddr,
	cors: CorsLayer,
	methods: Methods,
	budget: Arc<Budget>,
	metrics: Option<RpcMetrics>,
	stop: StopHandle,
}

/// Serves all who come.
async fn accept(listener: TcpListener, door: Door) {
	let Door { endpoint, address, cors, methods, budget, metrics, stop } = door;
	let places = Arc::new(Semaphore::new(endpoint.max_connections as usize));
	let megabytes = |size: u32| size.saturating_mul(MIB);
	let (request, answer) = (megabytes(endpoint.max_payload_in_mb), megabytes(endpoint.max_payload_out_mb));
	let limits = Limits { request: request.into(), answer: answer.into(), coming: COMING, call: CALL, taking: TAKING };
	// The hosts that a browser on this machine names. Without CORS, all are allowed.
	let hosts = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{}", address.port()));
	let host_filter = endpoint.cors.as_ref().and_then(|_| HostFilterLayer::new(hosts).ok());
	let http = tower::ServiceBuilder::new().option_layer(host_filter).layer(NodeHealthProxyLayer).layer(cors);
	// What a client sends is not read while it is answered, nor is a ping sent then.
	let ping = PingConfig::new().ping_interval(PING).inactive_limit(limits.longest() + PING).max_failures(1);
	// One builder for all connections: it numbers them.
	let builder = jsonrpsee::server::Server::builder()
		.max_request_body_size(request)
		.max_response_body_size(answer)
		// Connections are counted here: those of the SDK last a little longer than their places.
		.max_connections(u32::MAX)
		.max_subscriptions_per_connection(endpoint.max_subscriptions_per_connection)
		.enable_ws_ping(ping)
		.set_http_middleware(http)
		.set_message_buffer_capacity(endpoint.max_buffer_capacity_per_connection)
		.set_batch_request_config(endpoint.batch_config)
		.set_id_provider(RandomStringIdProvider::new(16))
		.to_service_builder();
	let denied = deny_unsafe(&address, &endpoint.rpc_methods);
	let stopped = stop.clone().shutdown();
	tokio::pin!(stopped);
	loop {
		let accepted = tokio::select! {
			() = &mut stopped => return,
			accepted = listener.accept() => accepted,
		};
		let (socket, client) = match accepted {
			Ok(accepted) => accepted,
			Err(error) => {
				tracing::debug!(target: "rpc", %error, "no connection");
				tokio::time::sleep(PAUSE).await;
				continue;
			}
		};
		let Ok(place) = places.clone().try_acquire_owned() else {
			tracing::debug!(target: "rpc", %client, "refused: all connections are in use");
			continue;
		};
		// Answers are whole when they are flushed; an error is one of the connection, which shows when it is read.
		let _ = socket.set_nodelay(true);
		let connection = Connection::new(budget.clone(), limits, Some(place));
		let gate = Gate::new(socket, connection.clone());
		// One limit for all that comes over the connection.
		let limit = endpoint.rate_limit.map(|calls| MiddlewareLayer::new().with_rate_limit_per_minute(calls));
		let (trusting, unlimited) = (endpoint.rate_limit_trust_proxy_headers, endpoint.rate_limit_whitelisted_ips.clone());
		let (builder, methods, metrics, stopping) = (builder.clone(), methods.clone(), metrics.clone(), stop.clone());
		let service = tower::service_fn(move |mut request: Request<Incoming>| {
			request.extensions_mut().insert(denied);
			let named = trusting.then(|| named_client(request.headers())).flatten();
			let from = named.unwrap_or(client.ip());
			// Nobody who comes over a proxy is on this machine, whatever the name.
			let is_unlimited = unlimited.iter().any(|network| network.contains(from)) && !named.is_some_and(|name| name.is_loopback());
			let is_websocket = ws::is_upgrade_request(&request);
			// Over a proxy's connection, HTTP comes from several clients.
			let shared = trusting && !is_websocket;
			let limit = limit.clone().filter(|_| !shared && !is_unlimited);
			let mut layer = limit.unwrap_or_default();
			if let Some(metrics) = metrics.clone() {
				layer = layer.with_metrics(Metrics::new(metrics, if is_websocket { "ws" } else { "http" }));
			}
			let rpc =
				RpcServiceBuilder::new().rpc_logger(LOGGED).layer(layer.clone()).layer(Calls::new(connection.clone(), methods.clone()));
			let mut service = builder.clone().set_rpc_middleware(rpc).build(methods.clone(), stopping.clone());
			if is_websocket {
				let session = service.on_session_closed();
				tokio::spawn(async move {
					let start = Instant::now();
					layer.ws_connect();
					session.await;
					layer.ws_disconnect(start);
				});
			}
			answer_one(connection.clone(), is_websocket, request, move |request| service.call(request))
		});
		tokio::spawn(serve(gate, service, stop.clone()));
	}
}

/// Answers a request over a connection, as soon as there is memory for it.
async fn answer_one<F: Future<Output = Result<HttpResponse, BoxError>> + Send + 'static>(
	connection: Arc<Connection>,
	is_websocket: bool,
	request: Request<Incoming>,
	service: impl FnOnce(Request<Incoming>) -> F,
) -> Result<HttpResponse, BoxError> {
	// The next request may be read before all of the last answer is written. What is written from here on belongs to this one.
	connection.idle().await;
	if is_websocket {
		// What is no part of the head would be read as frames here, and as a body there.
		if !request.body().is_end_stream() {
			let mut refused = HttpResponse::new("A WebSocket begins with a request without a body.\n".into());
			*refused.status_mut() = StatusCode::BAD_REQUEST;
			refused.headers_mut().insert(CONNECTION, CLOSE);
			return Ok(refused);
		}
		let mut response = service(request).await?;
		match response.status() {
			StatusCode::SWITCHING_PROTOCOLS => connection.follows(Body::Frames),
			_ => drop(response.headers_mut().insert(CONNECTION, CLOSE)),
		}
		return Ok(response);
	}
	let length = request.body().size_hint().exact();
	let body = length.map_or(Body::Chunks, Body::Bytes);
	// What is no call is answered in a few words.
	let need = if request.method() == Method::POST { connection.need(length.unwrap_or(u64::MAX)) } else { 0 };
	let share = connection.budget.clone().reserve(need).await.ok_or("the server stops")?;
	connection.begin(share, true);
	if length.is_none() {
		connection.came();
	}
	connection.follows(body);
	// A call goes on without its client, and the connection with it.
	let mut response = tokio::spawn(service(request)).await??;
	if body == Body::Chunks {
		response.headers_mut().insert(CONNECTION, CLOSE);
	}
	connection.answer_of(response.body().size_hint().upper().unwrap_or(connection.limits.answer));
	connection.answered();
	Ok(response)
}

/// Serves one connection until it ends, or the server stops. Only HTTP/1 has one request at a time.
async fn serve<S>(gate: Gate<TcpStream>, service: S, stop: StopHandle)
where
	S: Service<Request<Incoming>, Response = HttpResponse, Error = BoxError> + Clone + Send + 'static,
	S::Future: Send,
{
	let connection = http1::Builder::new()
		.timer(TokioTimer::new())
		.header_read_timeout(HEAD)
		.serve_connection(TokioIo::new(gate), TowerToHyperService::new(service))
		.with_upgrades();
	tokio::pin!(connection);
	let ended = tokio::select! {
		ended = connection.as_mut() => ended,
		() = stop.shutdown() => {
			connection.as_mut().graceful_shutdown();
			connection.await
		}
	};
	if let Err(error) = ended {
		tracing::debug!(target: "rpc", %error, "a connection ended");
	}
}

/// The client that a proxy names.
fn named_client(headers: &HeaderMap) -> Option<IpAddr> {
	let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
	let remotest = |value: ForwardedHeaderValue| value.remotest_forwarded_for_ip();
	let forwarded = text("forwarded").and_then(|value| ForwardedHeaderValue::from_forwarded(value).ok()).and_then(remotest);
	let listed = || text("x-forwarded-for").and_then(|value| ForwardedHeaderValue::from_x_forwarded_for(value).ok()).and_then(remotest);
	forwarded.or_else(listed).or_else(|| text("x-real-ip").and_then(|value| value.parse().ok()))
}

#[cfg(test)]
mod tests;
