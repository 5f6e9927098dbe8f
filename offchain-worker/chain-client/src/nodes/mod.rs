//! The nodes that a worker follows: one is used, the others are compared with it, and take its place.
//!
//! [`choice`] decides, purely; [`watch`] asks all nodes and applies what it decides; [`switch`] hands what the rest of the worker asks to the
//! node in use. Nothing above this folder knows how many nodes there are. With a single one, nothing is watched.

mod choice;
mod link;
mod refusal;
mod switch;
#[cfg(test)]
mod tests;
mod watch;

pub(super) use link::timed;
pub use watch::{NodeReport, Watched};

use crate::{client::BlockId, error::ChainError};
use futures::future::join_all;
use link::Link;
use std::{sync::Arc, time::Duration};
use subxt::rpcs::client::RpcClient;
use switch::Switch;
use tokio::sync::watch as channel;
use tokio_util::sync::{CancellationToken, DropGuard};

/// So long after another node came into use, an answer that something is not known may mean that it is not known there yet.
const SETTLING: Duration = Duration::from_secs(20);
/// Longest wait for the nodes that are not in use to take an extrinsic.
const HANDING_OVER: Duration = Duration::from_secs(3);

/// All nodes of a client. The watching ends with it.
pub(super) struct Nodes {
	links: Arc<[Link]>,
	watched: channel::Receiver<Watched>,
	_watching: Option<DropGuard>,
}

impl Nodes {
	/// Connects to those at `urls` that answer.
	///
	/// # Errors
	/// [`ChainError::BadUrl`]; [`ChainError::NodeAway`] or [`ChainError::Refused`] if none answers, [`ChainError::OtherChain`] if two are on different chains.
	pub(super) async fn connect(urls: &[String]) -> Result<Self, ChainError> {
		let mut links: Vec<Link> = Vec::new();
		for url in urls {
			// A node does not confirm itself.
			if links.iter().all(|link| link.url() != url) {
				links.push(Link::new(url)?);
			}
		}
		let links: Arc<[Link]> = links.into();
		let refusals = match &*links {
			[] => vec![ChainError::BadUrl { url: String::new() }],
			[only] => {
				only.connect().await?;
				let (_, watched) = channel::channel(Watched::default());
				return Ok(Self { links, watched, _watching: None });
			}
			_ => reach(&links).await,
		};
		if let Some(refusal) = refusals.into_iter().next().filter(|_| links.iter().all(|link| link.client().is_none())) {
			return Err(refusal);
		}
		let stop = CancellationToken::new();
		let watched = watch::start(links.clone(), stop.clone()).await?;
		Ok(Self { links, watched, _watching: Some(stop.drop_guard()) })
	}

	/// A client that asks the node in use.
	pub(super) fn client(&self) -> RpcClient {
		RpcClient::new(Switch::new(self.links.clone(), self.watched.clone()))
	}

	/// Address of the node in use.
	pub(super) fn url(&self) -> &str {
		self.links.get(self.watched.borrow().choice.used).map_or("", Link::url)
	}

	/// Returns whether another node has come into use a short while ago.
	pub(super) fn is_settling(&self) -> bool {
		self.watched.borrow().changed.is_some_and(|changed| changed.elapsed() < SETTLING)
	}

	/// Returns whether nodes have contradicted each other.
	pub(super) fn is_contradicted(&self) -> bool {
		self.watched.borrow().choice.contradiction.is_some()
	}

	/// Returns the block that counts as final when the node in use names `finalized`.
	pub(super) fn final_of(&self, finalized: BlockId) -> BlockId {
		let watched = self.watched.borrow();
		let agreed = watched.choice.finalized;
		let several = self.links.len() > 1;
		match several && (agreed.number < finalized.number || watched.choice.contradiction.is_some()) {
			true => agreed,
			false => finalized,
		}
	}

	/// Hands an extrinsic to all nodes that are not in use; whether one of them has taken it.
	pub(super) async fn hand_over(&self, extrinsic: &[u8]) -> bool {
		let used = self.watched.borrow().choice.used;
		let others = self.links.iter().enumerate().filter(|(place, _)| *place != used).map(|(_, link)| link.submit(extrinsic));
		let handed = tokio::time::timeout(HANDING_OVER, join_all(others)).await;
		handed.is_ok_and(|taken| taken.contains(&true))
	}

	/// Returns a receiver of the reports of the nodes, which changes whenever they do. It holds none for a single node.
	pub(super) fn reports(&self) -> channel::Receiver<Watched> {
		self.watched.clone()
	}
}

/// Connects to those of several nodes that answer soon; what kept the others from it.
async fn reach(links: &[Link]) -> Vec<ChainError> {
	let late = |link: &Link| ChainError::NodeAway { url: link.url().to_owned(), reason: "no answer yet".into() };
	let connecting = links.iter().map(|link| async move {
		match tokio::time::timeout(watch::PATIENCE, link.connect()).await {
			Ok(connected) => connected.err(),
			Err(_) => Some(late(link)),
		}
	});
	join_all(connecting).await.into_iter().flatten().collect()
}
