//! Guard against requests that browsers make for pages of other sites.

use super::{Origin, DEST, MODE, SITE};
use axum::{
	body::Body,
	extract::Request,
	http::{
		header::{self, HeaderMap, HeaderName, HeaderValue},
		uri::Authority,
		Method, StatusCode,
	},
	middleware::{self, Next},
	response::{IntoResponse, Response},
	Json, Router,
};
use serde_json::json;
use std::{
	net::{IpAddr, Ipv6Addr, SocketAddr},
	sync::Arc,
};

/// Header that browsers send before a page of the network may reach this machine, and the one that answers it.
const PRIVATE_ASKED: &str = "access-control-request-private-network";
const PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");
/// Seconds for which a browser need not ask again.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");
/// Proxies hand the pieces of a stream on as they come.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Rules for who may ask a service.
#[derive(Clone, Debug)]
pub struct Guard(Arc<Rules>);

#[derive(Clone, Debug)]
struct Rules {
	/// True if only this machine reaches it.
	is_local: bool,
	/// Names by which it may be asked, besides its address.
	hosts: Vec<String>,
	/// Pages that may ask.
	origins: Vec<Origin>,
	/// A page that any other may lead to, if there is one.
	page: Option<&'static str>,
}

impl Guard {
	/// For a service that listens at `address`, for pages of these `origins` and for none besides its own. Where only this machine reaches it, it is asked by
	/// its address, and as one of these `hosts` or of those of the origins: a proxy before it may leave the name in that clients know.
	pub fn new(address: SocketAddr, origins: Vec<Origin>, hosts: Vec<String>) -> Self {
		let is_local = address.ip().to_canonical().is_loopback();
		Self(Arc::new(Rules { is_local, hosts, origins, page: None }))
	}

	/// The same, for a service that has a page at this path.
	pub fn with_page(mut self, path: &'static str) -> Self {
		Arc::make_mut(&mut self.0).page = Some(path);
		self
	}

	/// Puts it before all that the router answers.
	pub fn before<S: Clone + Send + Sync + 'static>(self, router: Router<S>) -> Router<S> {
		router.layer(middleware::from_fn(move |request: Request, next: Next| {
			let guard = self.clone();
			async move { guard.answer(request, next).await }
		}))
	}

	async fn answer(&self, request: Request, next: Next) -> Response {
		let rules = &self.0;
		let origin = Origin::of(request.headers());
		let allowed = origin.as_ref().and_then(|origin| rules.origins.iter().find(|allowed| origin.as_ref() == Ok(allowed)));
		let mut response = match rules.refused(&request, allowed.is_some()) {
			Some(refused) => refused,
			None if allowed.is_some() && is_preflight(&request) => preflight(request.headers()),
			None => next.run(request).await,
		};
		let headers = response.headers_mut();
		if !rules.origins.is_empty() {
			headers.append(header::VARY, HeaderValue::from_static("origin"));
		}
		if let Some(origin) = allowed.and_then(Origin::value) {
			headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
			headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("retry-after"));
		}
		if headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
			headers.insert(UNBUFFERED, HeaderValue::from_static("no"));
			headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
		}
		response
	}
}

impl Rules {
	fn refused(&self, request: &Request, is_allowed: bool) -> Option<Response> {
		// One name at most, which can be read.
		let hosts: Option<Vec<Authority>> =
			request.headers().get_all(header::HOST).iter().map(|host| host.to_str().ok()?.parse().ok()).collect();
		let (host, is_one) = hosts.as_ref().map_or((None, false), |hosts| (hosts.first(), hosts.len() <= 1));
		let is_here = is_one && host.is_none_or(|host| !self.is_local || self.is_own(host));
		if !is_here {
			let words = "this service is asked by the address of this machine, such as http://127.0.0.1 and the port, or as localhost, and by no other name. \
			             A proxy before it has to write that into the header host, or the service is started with --cors and the origin that users know";
			return Some(refusal("other_host", words));
		}
		// What a browser may ask before it asks does nothing.
		if is_allowed || request.method() == Method::OPTIONS || !self.is_foreign(request, host) {
			return None;
		}
		let words = "pages of other sites may not ask here: their origin has to be named with --cors ORIGIN when the service is started";
		Some(refusal("cross_origin", words))
	}

	/// Returns whether this is one of the names of the service.
	fn is_own(&self, host: &Authority) -> bool {
		let name = host.host();
		let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
		let mut known = self.hosts.iter().map(String::as_str).chain(self.origins.iter().map(Origin::host)).chain(["localhost"]);
		name.parse::<IpAddr>().is_ok()
			|| bare.is_some_and(|name| name.parse::<Ipv6Addr>().is_ok())
			|| known.any(|known| known.eq_ignore_ascii_case(name))
	}

	/// Returns whether a page of another site has a browser ask this. Other clients send none of these headers.
	fn is_foreign(&self, request: &Request, host: Option<&Authority>) -> bool {
		let headers = request.headers();
		let told = |name: &str, value: &str| headers.get_all(name).iter().any(|told| told == value);
		if headers.contains_key(SITE) {
			let is_own = headers.get_all(SITE).iter().all(|site| site == "same-origin" || site == "none");
			let is_led_to = told(MODE, "navigate") && told(DEST, "document") && request.method() == Method::GET;
			return !(is_own || is_led_to && self.page == Some(request.uri().path()));
		}
		// Browsers that send none of these, as to most addresses without TLS, tell the origin of a page when it sends something.
		match Origin::of(headers) {
			None => false,
			Some(Ok(origin)) => !host.is_some_and(|host| origin.is_at(host)),
			Some(Err(_)) => true,
		}
	}
}

fn is_preflight(request: &Request) -> bool {
	request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Tells a browser that a page may ask as it means to. What it sends then is looked at when it comes.
fn preflight(asked: &HeaderMap) -> Response {
	let mut response = Response::new(Body::empty());
	*response.status_mut() = StatusCode::NO_CONTENT;
	let headers = response.headers_mut();
	headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
	headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
	// Clients of the API send headers of their own.
	if let Some(names) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
		headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
	}
	if asked.contains_key(PRIVATE_ASKED) {
		headers.insert(PRIVATE, HeaderValue::from_static("true"));
	}
	response
}

/// As the clients of the OpenAI API read it.
fn refusal(code: &str, message: &str) -> Response {
	let error = json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": code } });
	(StatusCode::FORBIDDEN, Json(error)).into_response()
}

#[cfg(test)]
mod tests;
