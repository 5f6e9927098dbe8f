//! A connection: which of its requests begin a WebSocket and which are calls, and what its client shares with others.

use super::{
	browser::name_of,
	calls::{Caller, Subscriptions},
	coming::{slow, Coming},
	websocket, Door, Limits, LIMITS, MIB,
};
use forwarded_header_value::ForwardedHeaderValue;
use http_body_util::{BodyExt, Full};
use hyper::{
	body::{Body as _, Bytes},
	header::{HeaderMap, HeaderValue, CONNECTION, FORWARDED},
	Method, StatusCode,
};
use hyper_util::rt::TokioIo;
use jsonrpsee::{
	server::{
		http::{content_type_is_json, response},
		ws, BoundedSubscriptions, ConnectionId, HttpBody, HttpRequest, HttpResponse, MethodSink, RandomStringIdProvider,
	},
	Extensions,
};
use sc_rpc_api::DenyUnsafe;
use sc_rpc_server::{utils::deny_unsafe, Metrics, MiddlewareLayer, RpcMethods};
use std::{io, net::IpAddr, sync::Arc, time::Instant};
use tokio::{
	sync::{mpsc, OwnedSemaphorePermit},
	time::timeout_at,
};

/// Said of a connection over which no other request comes.
const CLOSE: HeaderValue = HeaderValue::from_static("close");
/// Headers in which proxies name the client.
const X_FORWARDED_FOR: &str = "x-forwarded-for";
const X_REAL_IP: &str = "x-real-ip";

/// A connection.
#[derive(Clone)]
pub struct Connection {
	/// Where it came in.
	pub door: Arc<Door>,
	/// The address that it comes from.
	pub client: IpAddr,
	/// Its number.
	pub id: usize,
	/// The limit of its rate.
	pub limit: Option<MiddlewareLayer>,
	/// Its place among all of them.
	pub place: Arc<OwnedSemaphorePermit>,
}

impl Connection {
	/// Answers a request.
	///
	/// # Errors
	/// The client takes too long, or has gone: the connection ends.
	pub async fn answer(self, request: HttpRequest) -> io::Result<HttpResponse> {
		if ws::is_upgrade_request(&request) {
			return Ok(self.upgrade(request));
		}
		if request.method() != Method::POST {
			return Ok(response::method_not_allowed());
		}
		if !content_type_is_json(&request) {
			return Ok(response::unsupported_content_type());
		}
		let caller = Arc::new(self.caller(&request, None));
		let mut body = request.into_body();
		if body.size_hint().lower() > caller.limits.request.into() {
			return Ok(response::too_large(caller.limits.request));
		}
		let mut coming = Coming::new(&caller.kind, &caller.limits);
		while let Some(frame) = timeout_at(coming.until(), body.frame()).await.map_err(|_| slow())? {
			let Ok(bytes) = frame.map_err(io::Error::other)?.into_data() else { continue };
			coming.room(bytes.len()).await?;
			coming.take(&bytes);
			if coming.is_too_large() {
				return Ok(response::too_large(caller.limits.request));
			}
		}
		if !matches!(coming.text().first(), Some(b'{' | b'[')) {
			return Ok(response::malformed());
		}
		// The answer has its memory until hyper has written the last byte of it.
		let answer = caller.answer(coming).await?.map(Bytes::from_owner);
		Ok(response::ok_response(HttpBody::new(Full::new(answer.unwrap_or_default()))))
	}

	/// Begins a WebSocket.
	fn upgrade(self, request: HttpRequest) -> HttpResponse {
		let refused = |why: String| {
			let mut refused = HttpResponse::new(why.into());
			*refused.status_mut() = StatusCode::BAD_REQUEST;
			refused.headers_mut().insert(CONNECTION, CLOSE);
			refused
		};
		// What is no part of the head would be read as frames here, and as a body there.
		if !request.body().is_end_stream() {
			return refused("A WebSocket begins with a request without a body.\n".into());
		}
		let response = match soketto::handshake::http::Server::new().receive_request(&request) {
			Ok(response) => response.map(|()| HttpBody::empty()),
			Err(error) => return refused(format!("This is no beginning of a WebSocket: {error}.\n")),
		};
		let endpoint = &self.door.endpoint;
		let (sink, notifications) = mpsc::channel((endpoint.max_buffer_capacity_per_connection as usize).max(1));
		let subscriptions = Subscriptions {
			bound: BoundedSubscriptions::new(endpoint.max_subscriptions_per_connection),
			sink: MethodSink::new(sink),
			ids: Box::new(RandomStringIdProvider::new(16)),
		};
		let caller = Arc::new(self.caller(&request, Some(subscriptions)));
		tokio::spawn(async move {
			let Ok(upgraded) = hyper::upgrade::on(request).await else { return };
			let start = Instant::now();
			caller.layer.ws_connect();
			if let Err(error) = websocket::serve(TokioIo::new(upgraded), caller.clone(), notifications).await {
				tracing::debug!(target: "rpc", %error, "a connection ended");
			}
			caller.layer.ws_disconnect(start);
		});
		response
	}

	/// What makes the calls of a request, or of the WebSocket that it begins.
	fn caller(&self, request: &HttpRequest, subscriptions: Option<Subscriptions>) -> Caller {
		let headers = request.headers();
		let Door { endpoint, address, local, others, methods, metrics } = &*self.door;
		let trusting = endpoint.rate_limit_trust_proxy_headers;
		let named = trusting.then(|| named_client(headers)).flatten();
		let from = named.unwrap_or(self.client);
		// A web page is somebody else's, whoever has it open.
		let page = request.extensions().get::<DenyUnsafe>().copied();
		// Nobody who comes over a proxy is on this machine, whatever the name.
		let is_elsewhere = page.is_some() || named.is_some_and(|name| name.is_loopback());
		let is_unlimited = !is_elsewhere && endpoint.rate_limit_whitelisted_ips.iter().any(|network| network.contains(from));
		let is_local = self.client.is_loopback() && page.is_none() && !is_forwarded(headers);
		// Over a proxy's connection, HTTP comes from several clients.
		let (transport, shared) = if subscriptions.is_some() { ("ws", false) } else { ("http", trusting) };
		let mut layer = self.limit.clone().filter(|_| !shared && !is_unlimited).unwrap_or_default();
		if let Some(metrics) = metrics {
			layer = layer.with_metrics(Metrics::new(metrics.clone(), transport));
		}
		let mut extensions = Extensions::new();
		// Whoever comes over a proxy, or by a name that may be anybody's, is not on loopback, whatever the address.
		let is_strange = is_forwarded(headers) || name_of(headers).is_some();
		let strange = Some(DenyUnsafe::Yes).filter(|_| is_strange && !matches!(endpoint.rpc_methods, RpcMethods::Unsafe));
		extensions.insert(page.or(strange).unwrap_or_else(|| deny_unsafe(address, &endpoint.rpc_methods)));
		extensions.insert(ConnectionId(self.id));
		let bytes = |megabytes: u32| megabytes.saturating_mul(MIB);
		Caller {
			methods: methods.clone(),
			kind: if is_local { local.clone() } else { others.clone() },
			limits: Limits { request: bytes(endpoint.max_payload_in_mb), answer: bytes(endpoint.max_payload_out_mb), ..LIMITS },
			batches: endpoint.batch_config,
			layer,
			extensions,
			id: ConnectionId(self.id),
			subscriptions,
			_place: self.place.clone(),
		}
	}
}

/// Whether a request has come over a proxy that says so. Whoever says so without one has less than before.
pub fn is_forwarded(headers: &HeaderMap) -> bool {
	[FORWARDED.as_str(), X_FORWARDED_FOR, X_REAL_IP].iter().any(|name| headers.contains_key(*name))
}

/// The client that a proxy names.
pub fn named_client(headers: &HeaderMap) -> Option<IpAddr> {
	let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
	let remotest = |value: ForwardedHeaderValue| value.remotest_forwarded_for_ip();
	let forwarded = text(FORWARDED.as_str()).and_then(|value| ForwardedHeaderValue::from_forwarded(value).ok()).and_then(remotest);
	let listed = || text(X_FORWARDED_FOR).and_then(|value| ForwardedHeaderValue::from_x_forwarded_for(value).ok()).and_then(remotest);
	forwarded.or_else(listed).or_else(|| text(X_REAL_IP).and_then(|value| value.parse().ok()))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn the_client_that_a_proxy_names_is_read_from_each_usual_header() {
		for (name, value) in [
			("forwarded", "for=192.0.2.60;proto=http;by=203.0.113.43"),
			("x-forwarded-for", "192.0.2.60, 198.51.100.1"),
			("x-real-ip", "192.0.2.60"),
		] {
			let mut headers = HeaderMap::new();
			assert_eq!(named_client(&headers), None);
			assert!(!is_forwarded(&headers));
			headers.insert(name, value.parse().unwrap());
			assert!(is_forwarded(&headers));
			assert_eq!(named_client(&headers), Some([192, 0, 2, 60].into()), "{name}");
		}
	}
}
