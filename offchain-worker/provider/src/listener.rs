//! Connections: so many at a time, each for as long as its client is worth waiting for.

use super::patience::{Patience, Patient, Turn, Turns};
use axum::{
	body::{Body, Bytes, HttpBody},
	http::{
		header::{HeaderValue, CONNECTION},
		Request, Response,
	},
	Router,
};
use hyper::{
	body::{Frame, Incoming, SizeHint},
	server::conn::http1,
	service::{service_fn, Service},
};
use hyper_util::service::TowerToHyperService;
use neuroshard_http::{next_connection, serve_until};
use prometheus_client::metrics::gauge::Gauge;
use std::{
	convert::Infallible,
	pin::Pin,
	sync::Arc,
	task::{Context, Poll},
};
use tokio::{
	net::{TcpListener, TcpStream},
	sync::Semaphore,
	task::JoinSet,
	time::timeout,
};
use tokio_util::sync::CancellationToken;

/// Bytes of a request's head.
const HEAD: usize = 16 << 10;
/// Headers of a request.
const HEADERS: usize = 100;
/// Bytes of a connection that are read ahead, and that are written and not taken, before more of an answer is made.
const AHEAD: usize = 64 << 10;

/// Bounds on what clients may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
	/// Connections at a time. More wait in the system's queue.
	pub(super) connections: usize,
	pub(super) patience: Patience,
}

impl Default for Bounds {
	fn default() -> Self {
		Self { connections: 1_024, patience: Patience::default() }
	}
}

/// Serves all who come until `stop` is cancelled, and then those whose answers are under way, for as long as `bounds` allows. No task is left. `open` tells
/// how many connections there are.
pub(super) async fn listen(listener: TcpListener, router: Router, bounds: Bounds, open: &Gauge, stop: CancellationToken) {
	let places = Arc::new(Semaphore::new(bounds.connections));
	let mut connections = JoinSet::new();
	let tell = |connections: &JoinSet<()>| {
		open.set(i64::try_from(connections.len()).unwrap_or(i64::MAX));
	};
	loop {
		let (socket, place) = tokio::select! {
			() = stop.cancelled() => break,
			// What has ended is taken away. One that has panicked ends alone.
			Some(_) = connections.join_next() => {
				tell(&connections);
				continue;
			}
			next = next_connection(&listener, &places) => next,
		};
		let serving = Serving { router: TowerToHyperService::new(router.clone()), bounds, places: places.clone(), turns: Turns::default() };
		let stop = stop.clone();
		connections.spawn(async move {
			let _place = place;
			serving.serve(socket, stop).await;
		});
		tell(&connections);
	}
	// Whoever comes now is told that nobody is here.
	drop(listener);
	let all = async {
		while connections.join_next().await.is_some() {
			tell(&connections);
		}
	};
	if timeout(bounds.patience.drain, all).await.is_err() {
		tracing::warn!("{} connections did not end in their time", connections.len());
	}
	connections.shutdown().await;
	tell(&connections);
}

/// Parts that a connection is served with.
struct Serving {
	router: TowerToHyperService<Router>,
	bounds: Bounds,
	places: Arc<Semaphore>,
	turns: Turns,
}

impl Serving {
	async fn serve(self, socket: TcpStream, stop: CancellationToken) {
		// The events of a stream are small, and each is due; an error is one of the connection, which shows when it is read.
		let _ = socket.set_nodelay(true);
		let socket = Patient::new(socket, self.bounds.patience, self.turns.clone());
		let mut builder = http1::Builder::new();
		// A client that does not send is waited for by `Patient`.
		builder.header_read_timeout(None).max_header_size(HEAD).max_headers(HEADERS).max_buf_size(AHEAD);
		// A client that has sent all that it asks may close its half of the connection, and waits for its answer all the same. One that has gone looks like it
		// until something is written to it.
		builder.half_close(true);
		let service = service_fn(|request| self.answer(request));
		serve_until(stop, &builder, socket, service).await;
	}

	async fn answer(&self, request: Request<Incoming>) -> Result<Response<Answered>, Infallible> {
		let turn = self.turns.begin();
		let mut response = self.router.call(request.map(Body::new)).await?;
		// The last quarter of the places is for requests: clients that only stay leave it free. One place waits for the next client.
		if self.places.available_permits() < self.bounds.connections / 4 {
			response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
		}
		Ok(response.map(|body| Answered { body, _turn: turn }))
	}
}

/// The body of an answer, with which the server's turn ends.
struct Answered {
	body: Body,
	_turn: Turn,
}

impl HttpBody for Answered {
	type Data = Bytes;
	type Error = axum::Error;

	fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
		Pin::new(&mut self.get_mut().body).poll_frame(context)
	}

	fn is_end_stream(&self) -> bool {
		self.body.is_end_stream()
	}

	fn size_hint(&self) -> SizeHint {
		HttpBody::size_hint(&self.body)
	}
}
