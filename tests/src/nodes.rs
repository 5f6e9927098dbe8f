//! A chain of one or two validators with accounts of somebody's choice, and no workers: for measuring, and for what a single node is asked.

use crate::{
	network::{first_answer, start_all, stop_all},
	spec::Spec,
	validator::{Identity, Keys, Validator},
	Error, Machine, Ports, Process,
};
use neuroshard_chain_client::ChainClient;
use neuroshard_types::{AccountId, Balance};
use serde_json::json;
use std::{path::Path, time::Duration};

/// The validators' names.
const NAMES: [&str; 2] = ["alice", "bob"];
/// Ports of a node: JSON-RPC and other nodes.
const PORTS_OF_NODE: u16 = 2;
/// Where a chain spec has the money of genesis.
const BALANCES: &str = "balances/balances";

/// How a chain is started.
#[derive(Clone, Debug, Default)]
pub struct Start {
	/// Accounts that have money in genesis besides the well-known ones: their addresses, and planck.
	pub endowed: Vec<(AccountId, Balance)>,
	/// Time from block to block, if not the preset's.
	pub slot: Option<Duration>,
	/// Further options of every node.
	pub options: Vec<String>,
}

/// A running chain. Every process ends when this is dropped.
pub struct Nodes {
	/// Its validators, or nodes without keys.
	pub validators: Vec<Validator>,
	client: ChainClient,
}

impl Nodes {
	/// Starts one or two validators in the new folder `folder`, and returns when they finalize blocks.
	///
	/// # Errors
	/// [`Error::Setup`] for another number of validators or a spec without accounts, [`Error::File`], [`Error::Command`], [`Error::Ended`],
	/// [`Error::Late`].
	pub async fn start(node: &Path, folder: &Path, validators: u16, start: &Start) -> Result<Self, Error> {
		let (names, preset) = match validators {
			1 => (NAMES.get(..1).unwrap_or_default(), "dev"),
			2 => (NAMES.as_slice(), "local"),
			_ => return Err(Error::Setup(format!("one or two validators can be started, not {validators}"))),
		};
		let mut validators = prepare(node, folder, preset, names.iter().map(|name| (*name, Keys::WellKnown(name))), start).await?;
		let client = start_all(&mut validators).await?;
		Ok(Self { validators, client })
	}

	/// Starts a node that knows no validator, so that its chain stays at genesis, and returns when it answers. Its peers have these names, no keys
	/// either, and are not started.
	///
	/// # Errors
	/// As [`Self::start`].
	pub async fn start_alone(node: &Path, folder: &Path, peers: &[&'static str], start: &Start) -> Result<Self, Error> {
		let names = std::iter::once("alone").chain(peers.iter().copied());
		let mut validators = prepare(node, folder, "dev", names.map(|name| (name, Keys::None("full"))), start).await?;
		validators.iter_mut().take(1).try_for_each(Validator::start)?;
		let client = first_answer(&mut validators).await?;
		Ok(Self { validators, client })
	}

	/// A connection to the first node.
	pub fn client(&self) -> &ChainClient {
		&self.client
	}

	/// Most memory that any of the nodes ever had, in bytes.
	///
	/// # Errors
	/// [`Error::Ended`] if one has ended, [`Error::File`], or [`Error::Setup`] if the system does not say it.
	pub fn peak_memory(&mut self) -> Result<u64, Error> {
		let mut peak = 0;
		for process in self.validators.iter_mut().filter_map(|validator| validator.process().as_mut()) {
			process.check()?;
			peak = peak.max(process.peak_memory()?);
		}
		Ok(peak)
	}

	/// Fails if a node has ended.
	///
	/// # Errors
	/// [`Error::Ended`] with the end of its log.
	pub fn check(&mut self) -> Result<(), Error> {
		self.validators.iter_mut().filter_map(|validator| validator.process().as_mut()).try_for_each(Process::check)
	}

	/// Asks every node to end, and waits until they have.
	pub async fn stop(mut self) {
		stop_all(self.validators.iter_mut().filter_map(|validator| validator.process().take()).collect()).await;
	}
}

/// Writes the chain spec, and makes the nodes, which are not started.
async fn prepare(
	node: &Path,
	folder: &Path,
	preset: &str,
	names: impl Iterator<Item = (&'static str, Keys)>,
	start: &Start,
) -> Result<Vec<Validator>, Error> {
	let logs = folder.join("logs");
	std::fs::create_dir_all(&logs).map_err(Error::file(&logs))?;
	let mut spec = Spec::export(node, preset).await?;
	endow(&mut spec, &start.endowed)?;
	start.slot.map_or(Ok(()), |slot| spec.pace(slot))?;
	let chain = spec.write(folder)?.display().to_string();
	let names: Vec<_> = names.collect();
	let count = u16::try_from(names.len()).unwrap_or(u16::MAX);
	let mut ports = Ports::reserve(None, count.saturating_mul(PORTS_OF_NODE))?;
	let mut identities = Vec::new();
	for (name, keys) in names {
		identities.push(Identity::create(name, keys, folder.join("nodes").join(name), ports.take()?, ports.take()?, Machine::here())?);
	}
	let node_of = |own| Validator::new(node, own, &identities, &chain, &logs).with_options(&start.options);
	Ok(identities.iter().map(node_of).collect())
}

/// Adds these accounts to the spec.
fn endow(spec: &mut Spec, endowed: &[(AccountId, Balance)]) -> Result<(), Error> {
	let no_list = || Error::Setup(format!("{BALANCES} in the node's chain spec is no list"));
	let balances = spec.genesis(BALANCES)?.as_array_mut().ok_or_else(no_list)?;
	for (who, amount) in endowed {
		let amount = u64::try_from(*amount).map_err(|_| Error::Setup(format!("{amount} planck are too much for a chain spec")))?;
		balances.push(json!([who, amount]));
	}
	Ok(())
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn accounts_are_added_to_those_of_the_preset() {
		let spec = json!({ "genesis": { "runtimeGenesis": { "patch": { "balances": { "balances": [["5Grw", 7]] } } } } });
		let mut spec = Spec::parse(&spec.to_string()).unwrap();
		let who = AccountId::new([7; 32]);
		endow(&mut spec, &[(who.clone(), 2_000_000_000_000)]).unwrap();
		// SS58 of 32 sevens, as `subkey inspect` writes it for the generic prefix.
		let seven = "5CDvHBym6RLoxTdX9MS1acpaDbNxaFagqM5LpBiFGjWT6o1n";
		assert_eq!(*spec.genesis(BALANCES).unwrap(), json!([["5Grw", 7], [seven, 2_000_000_000_000u64]]));
		assert!(endow(&mut Spec::parse("{}").unwrap(), &[]).unwrap_err().to_string().contains("balances"));
		assert!(endow(&mut spec, &[(who, u128::MAX)]).is_err());
	}
}
