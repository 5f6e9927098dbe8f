//! Requests of browsers and of others.

use super::*;
use axum::{body::to_bytes, response::Sse, routing::get};
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;

const PAGE: &str = "https://chat.example";

fn router(guard: Guard) -> Router {
	let stream = async || Sse::new(futures::stream::empty::<Result<axum::response::sse::Event, Infallible>>());
	let answer = async || (StatusCode::UNAUTHORIZED, "no key");
	guard.before(
		Router::new().route("/", get(async || "page")).route("/v1/answer", get(answer).post(answer)).route("/v1/stream", get(stream)),
	)
}

fn local(origins: &[&str]) -> Router {
	let origins = origins.iter().map(|origin| origin.parse().unwrap()).collect();
	router(Guard::new("127.0.0.1:8080".parse().unwrap(), origins, vec!["gpu.example".into()]).with_page("/"))
}

async fn ask(router: &Router, method: Method, path: &str, told: &[(&str, &str)]) -> Response {
	let mut request = Request::builder().method(method).uri(path);
	for (name, value) in told {
		request = request.header(*name, *value);
	}
	use hyper::service::Service;
	TowerToHyperService::new(router.clone()).call(request.body(Body::empty()).unwrap()).await.unwrap()
}

async fn code(response: Response) -> Option<String> {
	let body = to_bytes(response.into_body(), 10_000).await.unwrap();
	let body: serde_json::Value = serde_json::from_slice(&body).ok()?;
	Some(body["error"]["code"].as_str()?.to_owned())
}

fn told<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
	response.headers().get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_service_of_this_machine_is_asked_by_its_address_alone() {
	let local = local(&[PAGE]);
	for host in
		["127.0.0.1:8080", "localhost:8080", "LOCALHOST", "[::1]:8080", "10.1.2.3", "gpu.example", "chat.example", "chat.example:443"]
	{
		assert_eq!(ask(&local, Method::GET, "/", &[("host", host)]).await.status(), StatusCode::OK, "{host}");
	}
	for host in ["evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "a@b@c", ""] {
		for (method, path) in [(Method::GET, "/"), (Method::POST, "/v1/answer"), (Method::OPTIONS, "/v1/answer"), (Method::GET, "/nowhere")]
		{
			assert_eq!(
				code(ask(&local, method, path, &[("host", host), (SITE, "same-origin")]).await).await.as_deref(),
				Some("other_host"),
				"{host}"
			);
		}
	}
	// HTTP/1.0 knows no hosts.
	assert_eq!(ask(&local, Method::GET, "/", &[]).await.status(), StatusCode::OK);
	// Somebody in the network can answer for a name without a dot, and browsers tell little of themselves to such addresses.
	for host in ["gpu:8080", "gpu", "ai"] {
		assert_eq!(ask(&local, Method::GET, "/", &[("host", host)]).await.status(), StatusCode::FORBIDDEN, "{host}");
	}
	let open = router(Guard::new("0.0.0.0:8080".parse().unwrap(), Vec::new(), Vec::new()));
	assert_eq!(ask(&open, Method::GET, "/", &[("host", "gpu.example")]).await.status(), StatusCode::OK);
	assert_eq!(ask(&open, Method::GET, "/", &[("host", "gpu")]).await.status(), StatusCode::OK);
	for local in ["[::1]:8080", "127.0.0.2:80", "[::ffff:127.0.0.1]:80"] {
		let local = router(Guard::new(local.parse().unwrap(), Vec::new(), Vec::new()));
		assert_eq!(ask(&local, Method::GET, "/", &[("host", "evil.example")]).await.status(), StatusCode::FORBIDDEN);
	}
}

#[tokio::test]
async fn pages_of_other_sites_are_refused_and_all_else_is_answered() {
	let host = ("host", "127.0.0.1:8080");
	let local = local(&[]);
	for from in [
		&[][..],
		&[(SITE, "same-origin"), ("origin", "https://proxied.example")],
		&[(SITE, "none")],
		&[("origin", "http://127.0.0.1:8080")],
	] {
		let response = ask(&local, Method::POST, "/v1/answer", &[&[host], from].concat()).await;
		assert_eq!((response.status(), told(&response, "access-control-allow-origin")), (StatusCode::UNAUTHORIZED, None), "{from:?}");
	}
	for from in [
		&[(SITE, "cross-site")][..],
		&[(SITE, "same-site")],
		&[(SITE, "cross-site"), (MODE, "navigate"), (DEST, "document")],
		&[("origin", PAGE)],
		&[("origin", "null")],
		&[("origin", "http://127.0.0.1:8081")],
		&[(SITE, "cross-site"), ("origin", "http://127.0.0.1:8080")],
	] {
		for (method, path) in [(Method::POST, "/v1/answer"), (Method::GET, "/v1/stream")] {
			let response = ask(&local, method, path, &[&[host], from].concat()).await;
			assert_eq!(code(response).await.as_deref(), Some("cross_origin"), "{from:?}");
		}
	}
	// A link may lead to the page, which nothing else shows.
	let led = |dest| [host, (SITE, "cross-site"), (MODE, "navigate"), (DEST, dest)];
	assert_eq!(ask(&local, Method::GET, "/", &led("document")).await.status(), StatusCode::OK);
	assert_eq!(ask(&local, Method::GET, "/", &led("iframe")).await.status(), StatusCode::FORBIDDEN);
	assert_eq!(ask(&local, Method::POST, "/", &led("document")).await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn what_no_browser_says_twice_counts_for_nobody() {
	let (local, open) = (local(&[PAGE]), router(Guard::new("0.0.0.0:8080".parse().unwrap(), Vec::new(), Vec::new())));
	let host = ("host", "127.0.0.1:8080");
	for (told, service) in [
		(&[host, ("host", "evil.example")][..], &local),
		(&[host, host], &local),
		(&[("host", "gpu.example"), ("host", "gpu.example")], &open),
		(&[host, (SITE, "same-origin"), (SITE, "cross-site")], &local),
		(&[host, ("origin", PAGE), ("origin", "https://evil.example")], &local),
	] {
		assert_eq!(ask(service, Method::POST, "/v1/answer", told).await.status(), StatusCode::FORBIDDEN, "{told:?}");
	}
}

#[tokio::test]
async fn pages_that_are_named_may_ask_and_read_answers_errors_and_streams() {
	let local = local(&[PAGE, "http://localhost:3000"]);
	let from = [("host", "127.0.0.1:8080"), ("origin", PAGE), (SITE, "cross-site")];
	for (path, status) in [("/v1/answer", 401), ("/v1/stream", 200), ("/nowhere", 404)] {
		let response = ask(&local, Method::GET, path, &from).await;
		assert_eq!((response.status().as_u16(), told(&response, "access-control-allow-origin")), (status, Some(PAGE)));
		assert_eq!((told(&response, "vary"), told(&response, "access-control-expose-headers")), (Some("origin"), Some("retry-after")));
	}
	let wish = [
		("access-control-request-method", "POST"),
		("access-control-request-headers", "authorization,x-stainless-os"),
		(PRIVATE_ASKED, "true"),
	];
	let response = ask(&local, Method::OPTIONS, "/v1/answer", &[&from[..], &wish].concat()).await;
	assert_eq!(response.status(), StatusCode::NO_CONTENT);
	for (name, value) in [
		("access-control-allow-origin", PAGE),
		("access-control-allow-methods", "GET, POST"),
		("access-control-allow-headers", "authorization,x-stainless-os"),
		("access-control-allow-private-network", "true"),
		("access-control-max-age", "600"),
	] {
		assert_eq!(told(&response, name), Some(value), "{name}");
	}
	// Others are told nothing.
	let others = [("host", "127.0.0.1:8080"), ("origin", "https://evil.example"), ("access-control-request-method", "POST")];
	let response = ask(&local, Method::OPTIONS, "/v1/answer", &others).await;
	assert_eq!((response.status(), told(&response, "allow")), (StatusCode::METHOD_NOT_ALLOWED, Some("GET,HEAD,POST")));
	assert_eq!((told(&response, "access-control-allow-origin"), told(&response, "vary")), (None, Some("origin")));
}

#[tokio::test]
async fn no_proxy_is_to_hold_a_stream_back() {
	let response = ask(&local(&[]), Method::GET, "/v1/stream", &[("host", "localhost")]).await;
	assert_eq!((told(&response, "x-accel-buffering"), told(&response, "cache-control")), (Some("no"), Some("no-cache")));
	let response = ask(&local(&[]), Method::GET, "/", &[("host", "localhost")]).await;
	assert_eq!(told(&response, "x-accel-buffering"), None);
}
