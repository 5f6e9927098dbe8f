//! The JSON-RPC server: that of the SDK, with bounds on what clients make the node hold.
//!
//! The SDK's server executes all that a client asks for over a WebSocket, however little of it the client reads, does not count connections that only
//! speak HTTP, and limits no rate over them. No option of it, and no proxy before it, bounds the memory that this takes. So HTTP is hyper's, methods and
//! limits are the SDK's, and here is what lies between: connections are counted, each of them makes one call at a time, and requests and answers have
//! memory from a budget, that of clients on this machine apart from that of all others.

mod browser;
mod budget;
mod calls;
mod coming;
mod connection;
mod explain;
mod metrics;
pub mod origin;
mod patient;
mod websocket;

pub use browser::BrowserLayer;
pub use patient::Patient;

use crate::bound::{Bound, Purpose, Unavailable};
use budget::Kind;
use connection::Connection;
use futures::{future::BoxFuture, FutureExt};
use hyper::{
	body::Incoming,
	header::{HeaderValue, CONTENT_TYPE},
	http::request::Parts,
	server::conn::http1,
	service::service_fn,
	Method, Request,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use jsonrpsee::{
	core::BoxError,
	server::{BatchRequestConfig, HttpResponse},
	Methods, RpcModule,
};
use origin::{NoOrigin, Origins};
use sc_rpc_server::{MiddlewareLayer, NodeHealthProxyLayer, RpcEndpoint, RpcMethods, RpcMetrics};
use std::{
	io,
	net::{Ipv4Addr, SocketAddr},
	sync::Arc,
	time::Duration,
};
use substrate_prometheus_endpoint::{PrometheusError, Registry};
use tokio::{net::TcpListener, runtime::Runtime, sync::Semaphore};
use tower::Service;
use tower_http::cors::{AllowOrigin, AllowPrivateNetwork, CorsLayer};

const MIB: u32 = 1 << 20;
/// Bytes that requests and answers may take, of clients on this machine, such as a worker, and of all others.
const REQUESTS: [u64; 2] = [32 << 20, 128 << 20];
const ANSWERS: [u64; 2] = [96 << 20, 256 << 20];
/// Threads in which calls of methods that read the chain, its state or the pool are executed at a time, and how many of these others may have.
const THREADS: u32 = 16;
const THREADS_OF_OTHERS: usize = 12;
/// Time for the head of a request to come, from the end of the one before.
const HEAD: Duration = Duration::from_secs(60);
/// Limits of a call, beside those of the endpoint.
const LIMITS: Limits =
	Limits { request: 0, answer: 0, coming: Duration::from_secs(10), call: Duration::from_secs(60), taking: Duration::from_secs(30) };
/// Bytes of a head, and of a body that are read ahead.
const AHEAD: usize = 16 << 10;
/// Bytes of a request that have to come, and of an answer that have to be taken, in a second, beside the time that each of them has.
const RATE: u64 = 64 << 10;
/// Characters of a call that are logged.
const LOGGED: u32 = 1_024;
/// Pause after the system gave no connection, for want of something that others may give back.
const PAUSE: Duration = Duration::from_millis(100);

/// What a call may take.
#[derive(Debug, Clone, Copy)]
struct Limits {
	/// Bytes of a request.
	request: u32,
	/// Bytes of an answer.
	answer: u32,
	/// Time for a request to come, beside that for its bytes.
	coming: Duration,
	/// Time for a request that has come to be answered.
	call: Duration,
	/// Time for an answer to be taken, beside that for its bytes, and for which a client may take nothing.
	taking: Duration,
}

/// Time for so many bytes.
fn time_of(bytes: u64) -> Duration {
	Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / RATE)
}

/// A server that runs until it is dropped.
pub struct Server {
	runtime: Option<Runtime>,
}

impl Drop for Server {
	fn drop(&mut self) {
		if let Some(runtime) = self.runtime.take() {
			runtime.shutdown_background();
		}
	}
}

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

/// Serves `methods` at `endpoints`, with metrics if there is a registry for them. Also says which addresses these came to be.
///
/// # Errors
/// [`Error::System`], [`Error::Metrics`], [`Error::Unavailable`].
pub fn start(endpoints: Vec<Endpoint>, methods: &RpcModule<()>, registry: Option<&Registry>) -> Result<(Server, Vec<SocketAddr>), Error> {
	let system = |what| move |error| Error::System { what, error };
	let runtime = sc_rpc_server::create_rpc_runtime(THREADS).map_err(system("threads"))?;
	let tasks = runtime.handle().clone();
	// From here on an error stops the runtime without waiting for it.
	let server = Server { runtime: Some(runtime) };
	let methods = with_list(methods);
	let local = Kind::new(REQUESTS[0], ANSWERS[0], THREADS as usize);
	let others = Kind::new(REQUESTS[1], ANSWERS[1], THREADS_OF_OTHERS);
	let metrics = match registry {
		Some(registry) => {
			metrics::register_all(registry, [&local, &others])?.map(|metrics| metrics.with_known_methods(methods.method_names()))
		}
		None => None,
	};
	let mut addresses = Vec::new();
	for Endpoint { options, origins, bound } in endpoints {
		let _inside = tasks.enter();
		let listener = bound.listen()?;
		let address = listener.local_addr().map_err(system("address"))?;
		addresses.push(address);
		let (local, others, methods, metrics) = (local.clone(), others.clone(), methods.clone(), metrics.clone());
		tasks.spawn(accept(listener, origins, Door { endpoint: options, address, local, others, methods, metrics }));
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
struct Door {
	endpoint: RpcEndpoint,
	address: SocketAddr,
	local: Kind,
	others: Kind,
	methods: Methods,
	metrics: Option<RpcMetrics>,
}

/// Serves all who come.
async fn accept(listener: TcpListener, origins: Arc<Origins>, door: Door) {
	// Nobody else takes the places of clients on this machine.
	let places = [(), ()].map(|()| Arc::new(Semaphore::new(door.endpoint.max_connections as usize)));
	let cors = cors(&origins);
	// Where all pages are let in, no name keeps one out.
	let by_address = *origins != Origins::All;
	let layers = tower::ServiceBuilder::new().layer(BrowserLayer::new(origins, by_address)).layer(cors).layer(NodeHealthProxyLayer);
	let (door, mut connections) = (Arc::new(door), 0_usize);
	loop {
		let (socket, client) = match listener.accept().await {
			Ok(accepted) => accepted,
			Err(error) => {
				tracing::debug!(target: "rpc", %error, "no connection");
				tokio::time::sleep(PAUSE).await;
				continue;
			}
		};
		let client = client.ip().to_canonical();
		let places = if client.is_loopback() { &places[0] } else { &places[1] };
		let Ok(place) = places.clone().try_acquire_owned() else {
			tracing::debug!(target: "rpc", %client, "refused: all connections are in use");
			continue;
		};
		// Answers are whole when they are flushed; an error is one of the connection, which shows when it is read.
		let _ = socket.set_nodelay(true);
		connections = connections.wrapping_add(1);
		// One limit for all that comes over the connection.
		let limit = door.endpoint.rate_limit.map(|calls| MiddlewareLayer::new().with_rate_limit_per_minute(calls));
		let connection = Connection { door: door.clone(), client, id: connections, limit, place: Arc::new(place) };
		let layers = layers.clone();
		let service = service_fn(move |request: Request<Incoming>| {
			let connection = connection.clone();
			let mut service = layers.service(tower::service_fn(move |request| connection.clone().answer(request)));
			let answer: BoxFuture<'static, Result<HttpResponse, BoxError>> = service.call(request).boxed();
			answer
		});
		// Only HTTP/1 has one request at a time, and answers it before it reads the next one.
		let serving = http1::Builder::new()
			.timer(TokioTimer::new())
			.header_read_timeout(HEAD)
			.max_buf_size(AHEAD)
			.serve_connection(TokioIo::new(Patient::new(socket, LIMITS.taking)), service)
			.with_upgrades();
		tokio::spawn(serving.map(|ended| {
			if let Err(error) = ended {
				tracing::debug!(target: "rpc", %error, "a connection ended");
			}
		}));
	}
}

#[cfg(test)]
mod tests;
