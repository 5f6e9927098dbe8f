//! Connections of clients of a service whose clients are few: so many at a time, none of which is waited for without end.

use axum::{body::Body, BoxError, Router};
use hyper::{
	body::Incoming,
	server::conn::http1,
	service::{service_fn, HttpService},
	Request,
};
use hyper_util::{
	rt::{TokioIo, TokioTimer},
	service::TowerToHyperService,
};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::{
	io::{AsyncRead, AsyncWrite},
	net::{TcpListener, TcpStream},
	sync::{OwnedSemaphorePermit, Semaphore},
	task::JoinSet,
	time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// Connections at a time. More wait in the system's queue.
const CONNECTIONS: usize = 256;
/// Bytes of a request's head, and for how long it is waited for.
const HEAD: usize = 32 << 10;
const HEAD_TIME: Duration = Duration::from_secs(75);
/// Pause after the system gave no connection, for want of something that others may give back.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves all who come until `stop` is cancelled, and then those whose answers are under way, for as long as `drain`.
pub async fn listen(listener: TcpListener, router: Router, stop: CancellationToken, drain: Duration) {
	patiently(listener, router, stop, drain, HEAD_TIME).await;
}

async fn patiently(listener: TcpListener, router: Router, stop: CancellationToken, drain: Duration, head: Duration) {
	let (places, mut connections) = (Arc::new(Semaphore::new(CONNECTIONS)), JoinSet::new());
	loop {
		let (socket, place) = tokio::select! {
			() = stop.cancelled() => break,
			// What has ended is taken away. One that has panicked ends alone.
			Some(_) = connections.join_next() => continue,
			next = next_connection(&listener, &places) => next,
		};
		let (router, stop) = (TowerToHyperService::new(router.clone()), stop.clone());
		connections.spawn(async move {
			let _place = place;
			serve(socket, router, stop, head).await;
		});
	}
	drop(listener);
	if timeout(drain, async { while connections.join_next().await.is_some() {} }).await.is_err() {
		tracing::warn!("{} connections did not end in their time", connections.len());
	}
	connections.shutdown().await;
}

/// The next connection, when there is a place for it.
pub async fn next_connection(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
	loop {
		// The semaphore is never closed.
		let Ok(place) = places.clone().acquire_owned().await else { continue };
		match listener.accept().await {
			Ok((socket, _)) => return (socket, place),
			Err(error) => {
				tracing::debug!(%error, "no connection");
				sleep(PAUSE).await;
			}
		}
	}
}

async fn serve(socket: TcpStream, router: TowerToHyperService<Router>, stop: CancellationToken, head: Duration) {
	use hyper::service::Service;
	// Pieces of a stream are small, and each is due.
	let _ = socket.set_nodelay(true);
	let mut builder = http1::Builder::new();
	builder.timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(HEAD);
	// A client that has sent all that it asks may say so, and waits for its answer all the same. One that has gone is noticed by what is written to it.
	builder.half_close(true);
	let service = service_fn(|request: Request<Incoming>| router.call(request.map(Body::new)));
	serve_until(stop, &builder, socket, service).await;
}

/// Serves a connection until it ends, or until `stop` is cancelled and the answer under way is over.
pub async fn serve_until<I, S, B>(stop: CancellationToken, builder: &http1::Builder, socket: I, service: S)
where
	I: AsyncRead + AsyncWrite + Unpin,
	S: HttpService<Incoming, ResBody = B, Error: Into<BoxError>>,
	B: axum::body::HttpBody<Error: Into<BoxError>> + 'static,
{
	let mut serving = pin!(builder.serve_connection(TokioIo::new(socket), service));
	let ended = tokio::select! {
		ended = serving.as_mut() => ended,
		() = stop.cancelled() => {
			serving.as_mut().graceful_shutdown();
			serving.await
		}
	};
	if let Err(error) = ended {
		tracing::debug!(%error, "a connection ended");
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use axum::routing::get;
	use tokio::io::{AsyncReadExt, AsyncWriteExt};

	#[tokio::test]
	async fn a_client_that_sends_no_request_keeps_no_place() {
		let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
		let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
		let router = Router::new().route("/", get(async || "x"));
		let serving = tokio::spawn(patiently(listener, router, stop.clone(), Duration::ZERO, Duration::from_millis(20)));
		for sent in [&b""[..], b"GET / HTTP/1.1\r\nhost: x\r\nx: "] {
			let mut client = TcpStream::connect(address).await.unwrap();
			client.write_all(sent).await.unwrap();
			let mut told = Vec::new();
			// It ends, perhaps by a reset of what was not read.
			let _ = client.read_to_end(&mut told).await;
			assert_eq!(told, b"");
		}
		stop.cancel();
		serving.await.unwrap();
	}
}
