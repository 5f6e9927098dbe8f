//! Strangers: clients that are not the operator's own.
//!
//! The drill for which they have connections and threads of their own: a default node listens on loopback only, and yet a web page of an allowed origin
//! reaches it there, with code that is somebody else's. A page that opens all connections, or asks for calls that take long in all threads, would
//! leave none to the worker on this machine, which then misses a deadline and is slashed. Other programs on this machine need no such bound: they are
//! served unsafe methods, with which they could do worse.

use super::browser::name_of;
use forwarded_header_value::ForwardedHeaderValue;
use futures::{future::BoxFuture, FutureExt};
use hyper::header::{HeaderMap, FORWARDED, ORIGIN};
use jsonrpsee::{
	server::middleware::rpc::RpcServiceT,
	types::{error::ErrorCode, Request},
	MethodCallback, MethodResponse, Methods,
};
use sc_rpc_server::RpcEndpoint;
use std::{borrow::Cow, net::IpAddr, sync::Arc};
use tokio::sync::Semaphore;

/// Headers in which proxies name the client.
const X_FORWARDED_FOR: &str = "x-forwarded-for";
const X_REAL_IP: &str = "x-real-ip";

/// Whether a request is one of a stranger: of a web page, from another machine, over a proxy that says so, or by a name that may be anybody's. Whoever
/// says so without need has less than before.
pub fn is_stranger(client: IpAddr, headers: &HeaderMap) -> bool {
	!client.is_loopback() || headers.contains_key(ORIGIN) || is_forwarded(headers) || name_of(headers).is_some()
}

/// Whether the rate of a client is not limited. No stranger is on this machine, whatever the address.
pub fn is_unlimited(options: &RpcEndpoint, client: IpAddr, headers: &HeaderMap) -> bool {
	let named = if options.rate_limit_trust_proxy_headers { named_client(headers) } else { None };
	let from = named.unwrap_or(client);
	let is_elsewhere = headers.contains_key(ORIGIN) || from.is_loopback() && is_stranger(client, headers);
	!is_elsewhere && options.rate_limit_whitelisted_ips.iter().any(|network| network.contains(from))
}

fn is_forwarded(headers: &HeaderMap) -> bool {
	[FORWARDED.as_str(), X_FORWARDED_FOR, X_REAL_IP].iter().any(|name| headers.contains_key(*name))
}

/// The client that a proxy names.
fn named_client(headers: &HeaderMap) -> Option<IpAddr> {
	let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
	let remotest = |value: ForwardedHeaderValue| value.remotest_forwarded_for_ip();
	let forwarded = text(FORWARDED.as_str()).and_then(|value| ForwardedHeaderValue::from_forwarded(value).ok()).and_then(remotest);
	let listed = || text(X_FORWARDED_FOR).and_then(|value| ForwardedHeaderValue::from_x_forwarded_for(value).ok()).and_then(remotest);
	forwarded.or_else(listed).or_else(|| text(X_REAL_IP).and_then(|value| value.parse().ok()))
}

/// A service whose calls wait for one of the threads that are `free`, if these are counted.
#[derive(Clone)]
pub struct Threads<S> {
	/// What answers the calls.
	pub service: S,
	/// Its methods.
	pub methods: Methods,
	/// Threads that nobody has; none for clients that need not wait.
	pub free: Option<Arc<Semaphore>>,
}

impl<'a, S> RpcServiceT<'a> for Threads<S>
where
	S: for<'b> RpcServiceT<'b> + Clone + Send + Sync + 'static,
{
	type Future = BoxFuture<'a, MethodResponse>;

	fn call(&self, request: Request<'a>) -> Self::Future {
		// A subscription waits for its client to read, for as long as that pleases.
		let is_call = matches!(self.methods.method(&request.method), Some(MethodCallback::Sync(_) | MethodCallback::Async(_)));
		let (service, free) = (self.service.clone(), self.free.clone().filter(|_| is_call));
		async move {
			let Some(free) = free else { return service.call(request).await };
			// The semaphore is never closed.
			let thread = free.acquire_owned().await;
			let (id, request) = (request.id.clone(), owned(&request));
			// It goes on without its client, and has its thread until it ends.
			let executed = tokio::spawn(async move {
				let response = service.call(request).await;
				drop(thread);
				response
			});
			executed.await.unwrap_or_else(|_| MethodResponse::error(id, ErrorCode::InternalError))
		}
		.boxed()
	}
}

/// A service that refuses calls while `room`, if there is any, is taken by others: the server reads messages of a WebSocket before it has answered those
/// before.
pub struct Bounded<S> {
	/// What answers the calls.
	pub service: Arc<S>,
	/// KiB of calls that may be held; none for clients that are not bounded.
	pub room: Option<Arc<Semaphore>>,
}

impl<'a, S> RpcServiceT<'a> for Bounded<S>
where
	S: for<'b> RpcServiceT<'b> + Send + Sync + 'static,
{
	type Future = BoxFuture<'a, MethodResponse>;

	fn call(&self, request: Request<'a>) -> Self::Future {
		let service = self.service.clone();
		let Some(room) = self.room.clone() else { return async move { service.call(request).await }.boxed() };
		let bytes = request.params.as_ref().map_or(0, |params| params.get().len());
		let held = room.try_acquire_many_owned(u32::try_from(bytes / 1_024).unwrap_or(u32::MAX).saturating_add(1));
		async move {
			match held {
				Ok(held) => {
					let response = service.call(request).await;
					drop(held);
					response
				}
				Err(_) => MethodResponse::error(request.id, ErrorCode::ServerIsBusy),
			}
		}
		.boxed()
	}
}

fn owned(request: &Request<'_>) -> Request<'static> {
	Request {
		jsonrpc: request.jsonrpc,
		id: request.id.clone().into_owned(),
		method: Cow::Owned(request.method.clone().into_owned()),
		params: request.params.clone().map(|params| Cow::Owned(params.into_owned())),
		extensions: request.extensions.clone(),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::server::nobody;
	use jsonrpsee::{types::Id, ResponsePayload};
	use serde_json::value::RawValue;

	const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
	const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 60));

	fn with(name: &'static str, value: &str) -> HeaderMap {
		HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
	}

	#[test]
	fn the_client_that_a_proxy_names_is_read_from_each_usual_header() {
		assert_eq!(named_client(&HeaderMap::new()), None);
		for (name, value) in [
			("forwarded", "for=192.0.2.60;proto=http;by=203.0.113.43"),
			("x-forwarded-for", "192.0.2.60, 198.51.100.1"),
			("x-real-ip", "192.0.2.60"),
		] {
			assert_eq!(named_client(&with(name, value)), Some(THERE), "{name}");
			assert!(is_stranger(HERE, &with(name, value)), "{name}");
		}
	}

	/// Answers every call at once.
	struct Answers;

	impl<'a> RpcServiceT<'a> for Answers {
		type Future = std::future::Ready<MethodResponse>;

		fn call(&self, request: Request<'a>) -> Self::Future {
			std::future::ready(MethodResponse::response(request.id, ResponsePayload::success("done"), 1_024))
		}
	}

	#[tokio::test]
	async fn strangers_have_no_more_of_their_calls_held_than_there_is_room_for() {
		let room = Arc::new(Semaphore::new(4));
		let bounded = |room: Option<Arc<Semaphore>>| Bounded { service: Arc::new(Answers), room };
		let params = |bytes: usize| RawValue::from_string(format!("[\"{}\"]", "a".repeat(bytes))).unwrap();
		let [small, large] = [100, 5_000].map(params);
		let request = |params| Request::new("system_health".into(), Some(params), Id::Number(7));
		let held = bounded(Some(room.clone()));
		let refused = held.call(request(&large)).await;
		assert_eq!(refused.as_error_code(), Some(ErrorCode::ServerIsBusy.code()));
		for _ in 0..9 {
			assert!(held.call(request(&small)).await.is_success(), "what is answered makes room");
		}
		let _others = room.clone().acquire_many_owned(4).await.unwrap();
		assert!(held.call(request(&small)).await.is_error());
		assert!(bounded(None).call(request(&large)).await.is_success(), "the operator's own");
	}

	#[test]
	fn who_is_on_this_machine_and_no_page_is_no_stranger() {
		assert!(!is_stranger(HERE, &with("host", "localhost:9944")) && is_stranger(THERE, &with("host", "localhost:9944")));
		assert!(is_stranger(HERE, &with("host", "node.example")) && is_stranger(HERE, &with("origin", "null")));
	}

	#[test]
	fn nobody_gets_out_of_the_rate_limit_by_coming_from_loopback_over_a_proxy_or_as_a_page() {
		let networks = ["127.0.0.0/8", "192.0.2.0/24"].map(|network| network.parse().unwrap()).to_vec();
		let plain = RpcEndpoint { rate_limit_whitelisted_ips: networks, ..nobody() };
		let trusting = RpcEndpoint { rate_limit_trust_proxy_headers: true, ..plain.clone() };
		assert!(is_unlimited(&plain, HERE, &HeaderMap::new()) && is_unlimited(&plain, THERE, &HeaderMap::new()));
		for (options, name, value, unlimited) in [
			(&plain, "origin", "https://app.example", false),
			(&trusting, "origin", "https://app.example", false),
			(&plain, "x-forwarded-for", "192.0.2.60", false),
			(&trusting, "x-forwarded-for", "192.0.2.60", true),
			(&trusting, "x-forwarded-for", "198.51.100.1", false),
			(&trusting, "x-forwarded-for", "127.0.0.1", false),
		] {
			assert_eq!(is_unlimited(options, HERE, &with(name, value)), unlimited, "{name}: {value}");
		}
	}
}
