//! Connections of clients: so many at a time. They are those of this machine.

use axum::{body::Body, Router};
use hyper::{body::Incoming, server::conn::http1, service::service_fn, Request};
use hyper_util::{
	rt::{TokioIo, TokioTimer},
	service::TowerToHyperService,
};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::{
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
/// Pause after the system gave no connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves all who come until `stop` is cancelled, and then those whose answers are under way, for as long as `drain`.
pub(super) async fn listen(listener: TcpListener, router: Router, stop: CancellationToken, drain: Duration) {
	let (places, mut connections) = (Arc::new(Semaphore::new(CONNECTIONS)), JoinSet::new());
	loop {
		let (socket, place) = tokio::select! {
			() = stop.cancelled() => break,
			// What has ended is taken away. One that has panicked ends alone.
			Some(_) = connections.join_next() => continue,
			next = next(&listener, &places) => next,
		};
		let (router, stop) = (TowerToHyperService::new(router.clone()), stop.clone());
		connections.spawn(async move {
			let _place = place;
			serve(socket, router, stop).await;
		});
	}
	drop(listener);
	if timeout(drain, async { while connections.join_next().await.is_some() {} }).await.is_err() {
		tracing::warn!("{} connections did not end in their time", connections.len());
	}
	connections.shutdown().await;
}

async fn next(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
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

async fn serve(socket: TcpStream, router: TowerToHyperService<Router>, stop: CancellationToken) {
	use hyper::service::Service;
	// Pieces of a stream are small, and each is due.
	let _ = socket.set_nodelay(true);
	let mut builder = http1::Builder::new();
	builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD);
	// A client that has sent all that it asks may say so, and waits for its answer all the same. One that has gone is noticed by what is written to it.
	builder.half_close(true);
	let service = service_fn(|request: Request<Incoming>| router.call(request.map(Body::new)));
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
