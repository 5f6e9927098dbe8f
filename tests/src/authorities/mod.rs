//! A chain of validators without workers: who authors, and what becomes of those who equivocate.

mod client;
mod spec;

pub use client::{AuthorityClient, SessionKeys};

use crate::{
	network::{start_all, stop_all, FIRST_ANSWER},
	until,
	validator::{Identity, Keys, Validator},
	Error, Machine, Ports,
};
use std::path::PathBuf;

/// Ports of a node: JSON-RPC and other nodes.
const PORTS_OF_NODE: u16 = 2;

/// A chain whose nodes come and go. Every process ends when this is dropped.
pub struct Authorities {
	binary: PathBuf,
	folder: PathBuf,
	chain: String,
	ports: Ports,
	identities: Vec<Identity>,
	nodes: Vec<Validator>,
}

impl Authorities {
	/// Starts a validator for each of `names`, which are well-known ones, in the new folder `folder`, and returns when they finalize blocks. There
	/// will be at most `most` nodes.
	///
	/// # Errors
	/// [`Error::File`], [`Error::Command`] or [`Error::Setup`] if there is no chain spec, [`Error::Ended`], [`Error::Late`].
	pub async fn start(binary: PathBuf, folder: PathBuf, names: &[&'static str], most: u16) -> Result<Self, Error> {
		let logs = folder.join("logs");
		std::fs::create_dir_all(&logs).map_err(Error::file(&logs))?;
		let chain = spec::write(&binary, &folder, names).await?.display().to_string();
		let ports = Ports::reserve(None, most.saturating_mul(PORTS_OF_NODE))?;
		let mut all = Self { binary, folder, chain, ports, identities: Vec::new(), nodes: Vec::new() };
		for name in names {
			let own = all.identify(name, Keys::WellKnown(name))?;
			all.identities.push(own);
		}
		all.nodes = all.identities.iter().map(|own| all.validator(own)).collect();
		start_all(&mut all.nodes).await?;
		Ok(all)
	}

	/// A connection to the node at a place, as soon as it answers.
	///
	/// # Errors
	/// [`Error::Late`] if it never does, [`Error::Ended`] if it has ended.
	pub async fn client(&mut self, place: usize) -> Result<AuthorityClient, Error> {
		let node = self.node(place)?;
		let url = node.url().to_owned();
		until("a node to answer", FIRST_ANSWER, async || {
			node.process().as_mut().map_or(Ok(()), |process| process.check())?;
			Ok(AuthorityClient::connect(&url).await.ok())
		})
		.await
	}

	/// Starts one more node, which knows all others, and returns its place.
	///
	/// # Errors
	/// [`Error::File`], and [`Error::Setup`] beyond the number of nodes that was named.
	pub fn add(&mut self, name: &str, keys: Keys) -> Result<usize, Error> {
		let place = self.identities.len();
		let own = self.identify(name, keys)?;
		let mut node = self.validator(&own);
		node.start()?;
		self.nodes.push(node);
		self.identities.push(own);
		Ok(place)
	}

	/// The node at a place.
	///
	/// # Errors
	/// [`Error::Setup`] if there is none.
	pub fn node(&mut self, place: usize) -> Result<&mut Validator, Error> {
		self.nodes.get_mut(place).ok_or_else(|| Error::Setup(format!("there is no node {place}")))
	}

	/// Asks every node to end, and waits until they have.
	pub async fn stop(mut self) {
		stop_all(self.nodes.iter_mut().filter_map(|node| node.process().take()).collect()).await;
	}

	fn identify(&mut self, name: &str, keys: Keys) -> Result<Identity, Error> {
		let base = self.folder.join("nodes").join(name);
		Identity::create(name, keys, base, self.ports.take()?, self.ports.take()?, Machine::here())
	}

	/// A validator with this identity, which is not started.
	fn validator(&self, own: &Identity) -> Validator {
		Validator::new(&self.binary, own, &self.identities, &self.chain, &self.folder.join("logs"))
	}
}
