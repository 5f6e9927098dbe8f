//! The model that a network has trained, served by a ring of two of its workers, whose accounts are on the offer, and paid for over its chain.

use crate::{
	serving::{said, word_behind, SOON},
	until, Error, Gateway, Network, Ports, Process, Provider, Training, WorkerNode,
};
use neuroshard_types::RunId;
use std::{
	path::{Path, PathBuf},
	process::Command,
};

/// Workers of a network that serves: two that hold layers, and the driver.
const WORKERS: usize = 3;

/// A model that is served. All processes end when this is dropped.
pub struct Service {
	/// The workers that hold layers.
	pub holders: Vec<Process>,
	/// The worker that answers, and is paid.
	pub driver: Provider,
	/// Who holds what, as the driver explains it.
	pub explained: Vec<String>,
	logs: PathBuf,
	run: RunId,
	/// Where each holder listens.
	listen: Vec<String>,
}

/// Has a worker hold layers for whoever reaches this address; with its identity.
async fn hold(worker: &WorkerNode, run: RunId, listen: &str, log: &Path) -> Result<(Process, String), Error> {
	let command = worker.command(["hold", "--provider", "--threads", "1", "--run", &run.to_string(), "--listen", listen]);
	let mut process = Process::start(worker.name(), command, log)?;
	let address = until("a holder's address", SOON, async || {
		process.check()?;
		Ok(word_behind(&said(log)?, "are held at ").map(str::to_owned))
	});
	let address = address.await?;
	Ok((process, address))
}

impl Service {
	/// Stops the workers of a network whose run is over, and has three of them serve its model: two hold layers, the third one answers. When this returns,
	/// both have agreed to its offer.
	///
	/// # Errors
	/// [`Error::Setup`] with fewer than three workers, [`Error::Command`] if one cannot become a driver, [`Error::Ended`] and [`Error::Late`].
	pub async fn start(network: &mut Network, training: &Training) -> Result<Self, Error> {
		let client = network.client().clone();
		until("the model in the files of all workers", SOON, async || {
			network.check()?;
			let Some(run) = client.now().await?.run(training.run).await? else { return Ok(None) };
			let mut all = true;
			for worker in network.workers.iter().take(WORKERS) {
				let there = worker.checkpoint(training.run, &training.model)?;
				all &= there.is_some_and(|checkpoint| checkpoint.header.root() == run.checkpoint);
			}
			Ok(all.then_some(()))
		})
		.await?;
		network.stop_workers().await;
		let (logs, run) = (network.logs(), training.run);
		let [one, other, driver, ..] = &network.workers[..] else {
			return Err(Error::Setup(format!("a model is served by {WORKERS} workers, and there are {}", network.workers.len())));
		};
		let (mut holders, mut addresses, mut listen) = (Vec::new(), Vec::new(), Vec::new());
		let mut ports = Ports::reserve(None, 2)?;
		for worker in [one, other] {
			let log = logs.join(format!("{}-holds.log", worker.name().replace(' ', "-")));
			let place = format!("/ip4/127.0.0.1/udp/{}/quic-v1", ports.take()?);
			let (process, address) = hold(worker, run, &place, &log).await?;
			addresses.push(address);
			listen.push(place);
			holders.push(process);
		}
		let options = ["--split", "memory", "--ring", &addresses.join(",")];
		let driver = Provider::start(driver, &network.binaries().worker, run, &options, &logs).await?;
		// What it logs begins with a time.
		let explains = |line: &&str| line.contains(" hold") && ![" INFO ", " WARN "].iter().any(|level| line.contains(level));
		let explained = driver.said()?.lines().filter(explains).map(str::to_owned).collect();
		Ok(Self { holders, driver, explained, logs, run, listen })
	}

	/// Has a holder that has ended hold its layers again.
	///
	/// # Errors
	/// [`Error::Setup`] if there is no such holder, [`Error::Ended`] and [`Error::Late`].
	pub async fn hold_again(&mut self, network: &Network, holder: usize) -> Result<(), Error> {
		let (Some(worker), Some(listen), Some(process)) =
			(network.workers.get(holder), self.listen.get(holder), self.holders.get_mut(holder))
		else {
			return Err(Error::Setup(format!("there is no holder {holder}")));
		};
		let log = self.logs.join(format!("{}-holds-again.log", worker.name().replace(' ', "-")));
		(*process, _) = hold(worker, self.run, listen, &log).await?;
		Ok(())
	}

	/// Fails if a process of it has ended.
	///
	/// # Errors
	/// [`Error::Ended`] with the end of its log.
	pub fn check(&mut self) -> Result<(), Error> {
		self.holders.iter_mut().chain([&mut self.driver.process]).try_for_each(Process::check)
	}

	/// Starts a gateway, by which clients that know nothing of the chain ask and pay. `command` is the user's `neuroshard-worker gateway`.
	///
	/// # Errors
	/// [`Error::Ended`], [`Error::Late`].
	pub async fn gateway(&self, command: Command) -> Result<Gateway, Error> {
		Gateway::start(command, &self.driver.account, self.logs.join("gateway.log")).await
	}
}
