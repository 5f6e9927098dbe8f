//! A model that answers over HTTP, as the clients of the OpenAI API ask it.
//!
//! - `http`, `answer`, `logprobs`, `error`: the API; what a request says is read in `neuroshard_http::api`. `keys` says who may ask, and `entry` who pays, before a body
//!   is read.
//! - [`paid`]: sessions of users who pay, and the provider's business with the chain.
//! - `served`: which checkpoint of a run it is.
//! - `listener`, `patience`, `bodies`: what clients may take of connections, time and memory.

mod answer;
mod bodies;
mod entry;
mod error;
mod http;
mod keys;
mod listener;
mod logprobs;
pub mod paid;
mod patience;
mod served;
mod stop_strings;

pub use keys::KeysError;
pub use served::Served;

use bodies::Bodies;
use http::{now, router, Server, Version, PAGE};
use keys::Keys;
use listener::{listen, Bounds};
use neuroshard_chain_client::keys::PonwSigner;
use neuroshard_http::{Guard, Origin};
use neuroshard_inference::batcher::{Batcher, Limits};
use neuroshard_inference::{receipt::Issuer, Adapted, Model};
use neuroshard_ring::RingView;
use neuroshard_support::hardware;
use neuroshard_types::{inference::Prices, AccountId, RoundIndex, RunId, H256};
use paid::Business;
use std::{net::SocketAddr, path::PathBuf, sync::Arc};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// Auditors who are answered at a time.
const AUDITORS: usize = 16;

/// Options of the server.
#[derive(Clone)]
pub struct Options {
	/// Address to listen on.
	pub address: SocketAddr,
	/// File with API keys; without it, everybody who reaches the address may ask.
	pub keys: Option<PathBuf>,
	/// Limits on texts that are answered at a time.
	pub limits: Limits,
	/// Account and key that sign receipts, and the first block of the chain that its account is on; without it, receipts are not signed.
	pub signer: Option<(AccountId, PonwSigner, H256)>,
	/// Run, and its round that starts from the model's parameters; `None` for a model of no run.
	pub checkpoint: Option<(RunId, RoundIndex)>,
	/// Prices of answers, and the business of the provider who is paid; without it, whoever may ask is answered.
	pub paid: Option<(Prices, Business)>,
	/// View of the ring that computes, if one does.
	pub ring: Option<RingView>,
	/// Checkpoint that is served; `None` for a model of no run.
	pub served: Option<Served>,
	/// Adapters that requests can choose by their names, beside the model; none where answers are paid for, or a ring computes.
	pub adapters: Vec<Adapted>,
	/// Pages of other sites that may ask.
	pub origins: Vec<Origin>,
	/// Names by which the server is asked, besides its address: a proxy before it may leave them in the requests.
	pub hosts: Vec<String>,
}

/// Why a model is not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
	/// The address is taken or not ours.
	#[error("cannot listen at {address} ({source}): name another address with --listen HOST:PORT")]
	Listen {
		/// The address.
		address: SocketAddr,
		/// Error of the operating system.
		source: std::io::Error,
	},
	/// The keys.
	#[error(transparent)]
	Keys(#[from] KeysError),
	/// There is no room for a single text.
	#[error(
		"{given} MiB have no room for the KV cache of one text: name {needed} or more with --memory, or a shorter text with --context"
	)]
	Memory {
		/// Mebibytes given.
		given: usize,
		/// Mebibytes that a longest text takes.
		needed: usize,
	},
	/// Requests could not tell two models apart.
	#[error("two models would have the name {0:?}: give the adapter another one, with --adapter NAME=DIR")]
	Name(String),
	/// No thread can be started.
	#[error("cannot start the inference thread: {0}")]
	Thread(std::io::Error),
}

/// Serves until `stop` is cancelled; answers that are under way end first, if they do within half a minute. `ready` is told the address, with the port that
/// the system chose for port 0.
///
/// # Errors
/// [`ServeError`].
pub async fn serve(model: Model, options: Options, ready: impl FnOnce(SocketAddr), stop: CancellationToken) -> Result<(), ServeError> {
	let (address, origins, hosts) = (options.address, options.origins.clone(), options.hosts.clone());
	let accounts = options.paid.as_ref().map(|(_, business)| business.accounts().clone());
	let server = server(model, options)?;
	let failed = |source| ServeError::Listen { address, source };
	let listener = TcpListener::bind(address).await.map_err(failed)?;
	let bound = listener.local_addr().map_err(failed)?;
	let guard = Guard::new(bound, origins, hosts).with_page(PAGE);
	ready(bound);
	let (bounds, mut watching) = (Bounds::default(), JoinSet::new());
	if let Some(served) = server.served.clone() {
		// It ends with the server.
		watching.spawn(served.watch());
	}
	let (stats, bodies) = (server.batcher.stats().clone(), Bodies::new(bounds.patience.body));
	listen(listener, router(Arc::new(server), bodies, guard), bounds, &stats.connections, stop).await;
	if let Some(accounts) = accounts {
		accounts.settled().await;
	}
	Ok(())
}

/// Returns the state of the server that requests are answered with.
fn server(model: Model, options: Options) -> Result<Server, ServeError> {
	let keys = options.keys.as_deref().map(Keys::read).transpose()?;
	let usable = model.usable();
	let issuer = Issuer {
		parameters: model.root,
		checkpoint: options.checkpoint,
		class: model.class,
		usable: u32::try_from(usable).unwrap_or(u32::MAX),
		signer: options.signer,
		prices: options.paid.as_ref().map(|(prices, _)| *prices).unwrap_or_default(),
	};
	let own = Version { name: model.name.clone(), fingerprint: model.fingerprint(), issuer: Arc::new(issuer.clone()), adapter: None };
	let mut versions = vec![Arc::new(own)];
	for adapted in options.adapters {
		if versions.iter().any(|version| version.name == adapted.name) {
			return Err(ServeError::Name(adapted.name));
		}
		let issuer = Arc::new(Issuer { parameters: adapted.root, checkpoint: None, ..issuer.clone() });
		let (name, fingerprint) = (adapted.name.clone(), model.fingerprint_of(adapted.root));
		versions.push(Arc::new(Version { name, fingerprint, issuer, adapter: Some(Arc::new(adapted)) }));
	}
	let business = options.paid.map(|(_, business)| business);
	let Model { engine, text, chat, .. } = model;
	let needed = engine.longest().div_ceil(neuroshard_compute::exec::PAGE_TOKENS).saturating_mul(engine.page_bytes());
	if options.limits.memory < needed {
		return Err(ServeError::Memory { given: options.limits.memory >> 20, needed: needed.div_ceil(1 << 20) });
	}
	let text = Arc::new(text);
	let of_ends = text.clone();
	let (batcher, _thread) =
		Batcher::start(engine, usable, move |token| of_ends.is_end(token), options.limits).map_err(ServeError::Thread)?;
	// A prompt takes one thread while it is read.
	let readers = Arc::new(Semaphore::new(hardware::threads(None)));
	let (ring, served, auditors) = (options.ring, options.served, Semaphore::new(AUDITORS));
	Ok(Server { versions, text, chat, batcher, keys, business, ring, served, readers, auditors, started: now() })
}

#[cfg(test)]
mod tests;
