//! A model that answers over HTTP, as the clients of the OpenAI API ask it.
//!
//! - [`batcher`]: the thread that computes, for all requests together; `prefixes` are beginnings of texts that it has read before.
//! - `http`, `request`, `answer`, `error`: the API. `keys` says who may ask.

mod answer;
pub mod batcher;
mod error;
mod http;
mod keys;
mod prefixes;
mod request;
mod stats;
mod stops;

pub use keys::KeysError;
pub use stats::Stats;

use crate::infer::Model;
use batcher::{Batcher, Limits};
use http::{now, router, Server};
use keys::Keys;
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Longest time in which answers that are under way end after the server was asked to stop.
const DRAIN: Duration = Duration::from_secs(30);

/// How to serve.
#[derive(Clone, Debug)]
pub struct Options {
	/// Where to listen.
	pub address: SocketAddr,
	/// File with API keys; without it, everybody who reaches the address may ask.
	pub keys: Option<PathBuf>,
	/// How many texts there may be.
	pub limits: Limits,
}

/// Why a model is not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
	/// The address is taken or not ours.
	#[error("cannot listen at {address} ({source}): name another address with --listen HOST:PORT")]
	Listen {
		/// The address.
		address: SocketAddr,
		/// What the system said.
		source: std::io::Error,
	},
	/// The keys.
	#[error(transparent)]
	Keys(#[from] KeysError),
	/// There is no room for a single text.
	#[error("{given} MiB have no room for the keys and values of one text: name {needed} or more with --memory")]
	Memory {
		/// Mebibytes given.
		given: usize,
		/// Mebibytes that a longest text takes.
		needed: usize,
	},
	/// No thread can be started.
	#[error("cannot start the inference thread: {0}")]
	Thread(std::io::Error),
	/// The server failed.
	#[error("the server failed: {0}")]
	Server(std::io::Error),
}

/// Serves until `stop` is cancelled; answers that are under way end first, if they do within half a minute. `ready` is told the address, with the port that
/// the system chose for port 0.
///
/// # Errors
/// [`ServeError`].
pub async fn serve(model: Model, options: Options, ready: impl FnOnce(SocketAddr), stop: CancellationToken) -> Result<(), ServeError> {
	let keys = options.keys.as_deref().map(Keys::read).transpose()?;
	let Model { name, fingerprint, inference, text, chat } = model;
	let needed = inference.longest().div_ceil(neuroshard_graph::exec::PAGE_TOKENS).saturating_mul(inference.page_bytes());
	if options.limits.memory < needed {
		return Err(ServeError::Memory { given: options.limits.memory >> 20, needed: needed.div_ceil(1 << 20) });
	}
	let failed = |source| ServeError::Listen { address: options.address, source };
	let listener = TcpListener::bind(options.address).await.map_err(failed)?;
	let bound = listener.local_addr().map_err(failed)?;
	let text = Arc::new(text);
	let (usable, of_ends) = (text.usable(), text.clone());
	let (batcher, _thread) =
		Batcher::start(inference, usable, move |token| of_ends.is_end(token), options.limits).map_err(ServeError::Thread)?;
	let server = Server { name, fingerprint, text, chat, batcher, keys, started: now() };
	ready(bound);
	let stopped = stop.clone();
	let serving = axum::serve(listener, router(Arc::new(server))).with_graceful_shutdown(stop.cancelled_owned());
	tokio::select! {
		ended = async { serving.await } => ended.map_err(ServeError::Server),
		() = async { stopped.cancelled().await; tokio::time::sleep(DRAIN).await } => Ok(()),
	}
}
