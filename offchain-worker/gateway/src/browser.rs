//! Protection against pages in a browser: they may do nothing here, and nothing of the other side may become a page. Whoever reaches the gateway
//! spends the escrow.

use super::refusal::Refusal;
use axum::{
	extract::Request,
	http::{
		header::{self, HeaderMap, HeaderName, HeaderValue},
		Method,
	},
	middleware::Next,
	response::{IntoResponse, Response},
};
use neuroshard_http::{DEST, MODE, SITE};

/// Headers of every answer: it is nothing but data, for who has asked.
const DATA: [(HeaderName, HeaderValue); 5] = [
	(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
	(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'")),
	(HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
	(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
	(header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Refuses what a page of a browser asks for, and what a browser would show; and has all answers be data.
pub(super) async fn keep_out(request: Request, next: Next) -> Response {
	let mut response = match is_page(request.method(), request.uri().path(), request.headers()) {
		true => Refusal::page().into_response(),
		false => next.run(request).await,
	};
	for (name, value) in DATA {
		response.headers_mut().insert(name, value);
	}
	response
}

/// Returns whether a page asks, or a browser that would show the answer. Only the gateway's own `/health` is shown, to whoever types its address.
fn is_page(method: &Method, path: &str, headers: &HeaderMap) -> bool {
	let all =
		|name: &str, allowed: &[&str]| headers.get_all(name).iter().all(|value| value.to_str().is_ok_and(|told| allowed.contains(&told)));
	if method == Method::GET && path == "/health" && headers.contains_key(SITE) && all(SITE, &["none"]) {
		return false;
	}
	// No page is of the gateway's own origin: one that says so has another name for it, or was there before.
	let told = all(SITE, &["none"]) && all(MODE, &["cors", "no-cors", "same-origin"]) && all(DEST, &["empty"]);
	// Browsers that send none of these tell the origin of a page at least, when it sends something.
	!told || headers.contains_key(header::ORIGIN)
}

#[cfg(test)]
mod tests {
	use super::*;

	fn page(method: Method, path: &str, told: &[(&'static str, &'static str)]) -> bool {
		let host = ("host", "127.0.0.1:8081");
		let headers = [host]
			.into_iter()
			.chain(told.iter().copied())
			.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
		is_page(&method, path, &headers.collect())
	}

	#[test]
	fn pages_and_navigations_are_told_from_other_clients() {
		for told in [&[][..], &[(MODE, "cors")], &[(SITE, "none"), (MODE, "cors"), (DEST, "empty")]] {
			assert!(!page(Method::POST, "/v1/completions", told), "{told:?}");
		}
		for told in [
			&[(SITE, "cross-site")][..],
			&[(SITE, "same-site"), (MODE, "cors"), (DEST, "empty")],
			&[(SITE, "same-origin"), (MODE, "cors"), (DEST, "empty"), ("origin", "http://127.0.0.1:8081")],
			&[(SITE, "none"), (MODE, "navigate"), (DEST, "document")],
			&[(SITE, "same-origin"), (MODE, "navigate"), (DEST, "iframe")],
			&[(SITE, "none"), (SITE, "cross-site")],
			&[(MODE, "websocket")],
			&[(DEST, "script")],
			&[("origin", "https://evil.example")],
			&[("origin", "http://127.0.0.1:8081")],
			&[("origin", "null")],
		] {
			assert!(page(Method::POST, "/v1/completions", told), "{told:?}");
			assert!(page(Method::GET, "/v1/models/x", told), "{told:?}");
		}
	}

	#[test]
	fn health_alone_is_shown_and_only_to_who_types_its_address() {
		let typed = [(SITE, "none"), (MODE, "navigate"), (DEST, "document")];
		assert!(!page(Method::GET, "/health", &typed) && page(Method::GET, "/v1/models", &typed) && page(Method::POST, "/health", &typed));
		assert!(page(Method::GET, "/health", &[(SITE, "cross-site"), (MODE, "navigate"), (DEST, "document")]));
		assert!(page(Method::GET, "/health", &[(MODE, "navigate")]));
	}
}
