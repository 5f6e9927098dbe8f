//! Metrics for Prometheus over HTTP. The SDK's own exporter answers whatever name a browser calls it by, and bounds neither connections nor time.

use crate::server::{origin::Origins, BrowserLayer};
use futures::{future::BoxFuture, FutureExt};
use http_body_util::Full;
use hyper::{
	body::{Bytes, Incoming},
	header::CONTENT_TYPE,
	server::conn::http1,
	service::service_fn,
	Method, Request, Response, StatusCode,
};
use hyper_util::rt::TokioIo;
use std::{convert::Infallible, sync::Arc, time::Duration};
use substrate_prometheus_endpoint::{
	prometheus::{Encoder, TextEncoder},
	Registry,
};
use tokio::{net::TcpListener, sync::Semaphore};
use tower::{Layer, Service};

/// Connections at a time. More wait in the system's queue.
const CONNECTIONS: usize = 16;
/// Time for a request to come and its answer to be taken.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a head.
const HEAD: usize = 16 << 10;
/// Pause after the system gave no connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers all who ask for the metrics in `registry`, for ever. A connection has one request.
pub async fn serve(listener: TcpListener, registry: Registry) {
	patiently(listener, registry, PATIENCE).await;
}

async fn patiently(listener: TcpListener, registry: Registry, patience: Duration) {
	let by_address = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
	// No page has business here.
	let browsers = BrowserLayer::new(Arc::new(Origins::Listed(Vec::new())), by_address);
	let places = Arc::new(Semaphore::new(CONNECTIONS));
	loop {
		// The semaphore is never closed.
		let Ok(place) = places.clone().acquire_owned().await else { continue };
		let socket = match listener.accept().await {
			Ok((socket, _)) => socket,
			Err(error) => {
				tracing::debug!(target: "prometheus", %error, "no connection");
				tokio::time::sleep(PAUSE).await;
				continue;
			}
		};
		let (browsers, registry) = (browsers.clone(), registry.clone());
		let service = service_fn(move |request: Request<Incoming>| {
			let registry = registry.clone();
			let mut service =
				browsers.layer(tower::service_fn(move |request| futures::future::ready(Ok::<_, Infallible>(answer(&request, &registry)))));
			let answer: BoxFuture<'static, Result<Response<Full<Bytes>>, Infallible>> = service.call(request).boxed();
			answer
		});
		let serving = http1::Builder::new().max_buf_size(HEAD).keep_alive(false).serve_connection(TokioIo::new(socket), service);
		tokio::spawn(async move {
			match tokio::time::timeout(patience, serving).await {
				Ok(Ok(())) => {}
				Ok(Err(error)) => tracing::debug!(target: "prometheus", %error, "a connection ended"),
				Err(_) => tracing::debug!(target: "prometheus", "a client was too slow"),
			}
			drop(place);
		});
	}
}

fn answer(request: &Request<Incoming>, registry: &Registry) -> Response<Full<Bytes>> {
	let refused = |status, why: &'static str| {
		let mut refused = Response::new(why.into());
		*refused.status_mut() = status;
		refused
	};
	if request.uri().path() != "/metrics" {
		return refused(StatusCode::NOT_FOUND, "Metrics are at /metrics.\n");
	}
	if request.method() != Method::GET {
		return refused(StatusCode::METHOD_NOT_ALLOWED, "Metrics are read with GET.\n");
	}
	let (mut text, encoder) = (Vec::new(), TextEncoder::new());
	if let Err(error) = encoder.encode(&registry.gather(), &mut text) {
		tracing::warn!(target: "prometheus", %error, "metrics cannot be written");
		return refused(StatusCode::INTERNAL_SERVER_ERROR, "The metrics cannot be written: see the log.\n");
	}
	let mut response = Response::new(text.into());
	if let Ok(kind) = encoder.format_type().parse() {
		response.headers_mut().insert(CONTENT_TYPE, kind);
	}
	response
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::net::SocketAddr;
	use substrate_prometheus_endpoint::{register, Counter, U64};
	use tokio::{
		io::{AsyncReadExt, AsyncWriteExt},
		net::TcpStream,
	};

	async fn exporter(at: &str, patience: Duration) -> SocketAddr {
		let registry = Registry::new();
		register(Counter::<U64>::new("bread", "Loaves").unwrap(), &registry).unwrap().inc_by(7);
		let listener = TcpListener::bind(at).await.unwrap();
		let address = listener.local_addr().unwrap();
		tokio::spawn(patiently(listener, registry, patience));
		address
	}

	/// The whole answer to a request.
	async fn asked(port: u16, line: &str, headers: &str) -> String {
		let mut socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
		socket.write_all(format!("{line} HTTP/1.1\r\n{headers}\r\n").as_bytes()).await.unwrap();
		let mut answer = String::new();
		socket.read_to_string(&mut answer).await.unwrap();
		answer
	}

	#[tokio::test]
	async fn metrics_are_told_and_nothing_else() {
		let port = exporter("127.0.0.1:0", PATIENCE).await.port();
		let answer = asked(port, "GET /metrics", "Host: localhost:1\r\n").await;
		assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("text/plain") && answer.contains("\nbread 7\n"), "{answer}");
		assert!(asked(port, "GET /", "Host: localhost\r\n").await.starts_with("HTTP/1.1 404"));
		assert!(asked(port, "DELETE /metrics", "Host: localhost\r\n").await.starts_with("HTTP/1.1 405"));
	}

	#[tokio::test]
	async fn no_web_page_reads_metrics_by_a_name_of_its_own_or_from_its_own_origin() {
		let port = exporter("127.0.0.1:0", PATIENCE).await.port();
		for headers in ["Host: evil.example\r\n", "Host: localhost\r\nOrigin: http://localhost:3000\r\n"] {
			let answer = asked(port, "GET /metrics", headers).await;
			assert!(answer.starts_with("HTTP/1.1 403") && !answer.contains("bread"), "{answer}");
		}
		let open = exporter("0.0.0.0:0", PATIENCE).await.port();
		let answer = asked(open, "GET /metrics", "Host: node.example:9615\r\n").await;
		assert!(answer.starts_with("HTTP/1.1 200"), "where all are let in, names are, too: {answer}");
	}

	#[tokio::test]
	async fn clients_that_say_nothing_take_all_places_for_no_longer_than_they_may() {
		let port = exporter("127.0.0.1:0", Duration::from_secs(1)).await.port();
		let mut idle = Vec::new();
		for _ in 0..CONNECTIONS {
			idle.push(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
		}
		assert!(asked(port, "GET /metrics", "Host: localhost\r\n").await.contains("bread 7"));
		drop(idle);
	}
}
