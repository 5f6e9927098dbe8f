//! A worker that answers with the model of its network and is paid, and the gateway by which a user asks it.

use crate::{
	serving::{said, word_behind, SOON},
	until, Ended, Error, Network, Ports, Process, Training, WorkerNode,
};
use neuroshard_types::{AccountId, RunId};
use std::{
	net::SocketAddr,
	path::{Path, PathBuf},
	process::Command,
};

/// What it asks for 1,000 tokens, in NEURO: so that some answers are worth a claim.
const PRICES: [&str; 4] = ["--price", "1", "--prompt-price", "0.5"];

/// A worker that answers. Its process ends when this is dropped.
#[derive(Debug)]
pub struct Provider {
	/// The process.
	pub process: Process,
	/// Its account.
	pub account: AccountId,
	/// Where it answers those who pay.
	pub address: SocketAddr,
	log: PathBuf,
}

impl Provider {
	/// Has worker number `worker`, which is stopped, offer the newest checkpoint of a run on chain, and answer.
	///
	/// # Errors
	/// [`Error::Setup`] without such a worker, [`Error::Command`] if it cannot become a driver, [`Error::Ended`] and [`Error::Late`].
	pub async fn honest(network: &Network, training: &Training, worker: usize) -> Result<Self, Error> {
		let node = network.workers.get(worker).ok_or_else(|| Error::Setup(format!("there is no worker {worker}")))?;
		Self::start(node, &network.binaries().worker, training.run, &[], &network.logs()).await
	}

	/// Has a worker that is stopped offer the newest checkpoint of `run` on chain, and answer; with these options of `serve`. `binary` is the worker's, or
	/// that of one that can cheat.
	///
	/// # Errors
	/// [`Error::Command`] if it cannot become a driver, [`Error::Ended`] and [`Error::Late`].
	pub(crate) async fn start(worker: &WorkerNode, binary: &Path, run: RunId, options: &[&str], logs: &Path) -> Result<Self, Error> {
		Ended::output_of(worker.command(["update", "--roles", "worker,driver"])).await?;
		let log = logs.join(format!("{}-answers.log", worker.name().replace(' ', "-")));
		// It is told to users on chain before it is listened at.
		let listen = format!("127.0.0.1:{}", Ports::reserve(None, 1)?.take()?);
		let run = run.to_string();
		let mut command = worker.command_of(binary, ["serve", "--provider", "--listen", &listen, "--threads", "1", "--run", &run]);
		command.args(PRICES).args(options);
		let mut process = Process::start(&format!("the provider, {}", worker.name()), command, &log)?;
		let address = until("a provider's address", SOON, async || {
			process.check()?;
			let told = said(&log)?;
			let url = word_behind(&told, "answers at http://");
			Ok(url.and_then(|url| url.split_once('/')?.0.parse().ok()))
		});
		let address = address.await?;
		Ok(Self { process, account: worker.provider(), address, log })
	}

	/// All that it has said.
	///
	/// # Errors
	/// [`Error::File`] if its log cannot be read.
	pub fn said(&self) -> Result<String, Error> {
		said(&self.log)
	}
}

/// A user's gateway. Its process ends when this is dropped.
#[derive(Debug)]
pub struct Gateway {
	/// The process.
	pub process: Process,
	/// Where it is asked.
	pub address: SocketAddr,
	log: PathBuf,
}

impl Gateway {
	/// Starts a gateway to `provider`, by which clients that know nothing of the chain ask and pay. `command` is the user's `neuroshard-worker gateway`.
	///
	/// # Errors
	/// [`Error::Ended`], [`Error::Late`].
	pub async fn start(mut command: Command, provider: &AccountId, log: PathBuf) -> Result<Self, Error> {
		command.args(["--provider", &provider.to_string(), "--listen", "127.0.0.1:0"]);
		let mut process = Process::start("a gateway", command, &log)?;
		let address = until("the gateway's address", SOON, async || {
			process.check()?;
			let told = said(&log)?;
			// Before that it tells where the provider is.
			let url = word_behind(&told, "get paid answers at http://");
			Ok(url.and_then(|url| url.split('/').next()?.parse().ok()))
		});
		let address = address.await?;
		Ok(Self { process, address, log })
	}

	/// All that it has said.
	///
	/// # Errors
	/// [`Error::File`] if its log cannot be read.
	pub fn said(&self) -> Result<String, Error> {
		said(&self.log)
	}
}
