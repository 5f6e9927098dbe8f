//! The model that a network has trained, served by a ring of two of its workers and paid for over its chain.

use crate::{
	serving::{said, word_behind, SOON},
	until, Ended, Error, Network, Ports, Process, Training,
};
use neuroshard_types::AccountId;
use std::{net::SocketAddr, path::PathBuf, process::Command};

/// Workers of a network that serves: two that hold layers, and the driver.
const WORKERS: usize = 3;
/// What the driver asks for 1,000 tokens, in NEURO: so that some answers are worth a claim.
const PRICES: [&str; 4] = ["--price", "1", "--prompt-price", "0.5"];

/// A model that is served. All processes end when this is dropped.
pub struct Service {
	/// The workers that hold layers.
	pub holders: Vec<Process>,
	/// The worker that answers, and is paid.
	pub driver: Process,
	/// The driver's account.
	pub provider: AccountId,
	/// Where the driver answers those who pay.
	pub address: SocketAddr,
	/// Who holds what, as the driver explains it.
	pub explained: Vec<String>,
	logs: PathBuf,
}

impl Service {
	/// Stops the workers of a network whose run is over, and has three of them serve its model: two hold layers, the third one answers.
	///
	/// # Errors
	/// [`Error::Setup`] with fewer than three workers, [`Error::Command`] if one cannot become a driver, [`Error::Ended`] and [`Error::Late`].
	pub async fn start(network: &mut Network, training: &Training) -> Result<Self, Error> {
		network.stop_workers().await;
		let (logs, run) = (network.logs(), training.run.to_string());
		let [one, other, driver, ..] = &network.workers[..] else {
			return Err(Error::Setup(format!("a model is served by {WORKERS} workers, and there are {}", network.workers.len())));
		};
		let (mut holders, mut addresses) = (Vec::new(), Vec::new());
		for worker in [one, other] {
			let log = logs.join(format!("{}-holds.log", worker.name().replace(' ', "-")));
			let mut process = Process::start(worker.name(), worker.command(["hold", "--threads", "1", "--run", &run]), &log)?;
			let address = until("a holder's address", SOON, async || {
				process.check()?;
				Ok(word_behind(&said(&log)?, "are held at ").map(str::to_owned))
			});
			addresses.push(address.await?);
			holders.push(process);
		}
		Ended::output_of(driver.command(["update", "--roles", "worker,verifier,driver"])).await?;
		let log = logs.join("driver.log");
		// It is told to users on chain before it is listened at.
		let listen = format!("127.0.0.1:{}", Ports::reserve(None, 1)?.take()?);
		let mut command =
			driver.command(["serve", "--provider", "--listen", &listen, "--threads", "1", "--split", "memory", "--run", &run]);
		command.args(PRICES).args(["--ring", &addresses.join(",")]);
		let mut process = Process::start("the driver", command, &log)?;
		let address = until("the driver's address", SOON, async || {
			process.check()?;
			let told = said(&log)?;
			let url = word_behind(&told, "answers at http://");
			Ok(url.and_then(|url| url.split_once('/')?.0.parse().ok()))
		});
		let address = address.await?;
		let explained = said(&log)?.lines().filter(|line| line.contains(" hold")).map(str::to_owned).collect();
		Ok(Self { holders, driver: process, provider: driver.provider(), address, explained, logs })
	}

	/// Fails if a process of it has ended.
	///
	/// # Errors
	/// [`Error::Ended`] with the end of its log.
	pub fn check(&mut self) -> Result<(), Error> {
		self.holders.iter_mut().chain([&mut self.driver]).try_for_each(Process::check)
	}

	/// Starts a gateway, by which clients that know nothing of the chain ask and pay. `command` is the user's `neuroshard-worker gateway`.
	///
	/// # Errors
	/// [`Error::Ended`], [`Error::Late`].
	pub async fn gateway(&self, mut command: Command) -> Result<(Process, SocketAddr), Error> {
		let log = self.logs.join("gateway.log");
		command.args(["--provider", &self.provider.to_string(), "--listen", "127.0.0.1:0"]);
		let mut process = Process::start("the gateway", command, &log)?;
		let address = until("the gateway's address", SOON, async || {
			process.check()?;
			let told = said(&log)?;
			// Before that it tells where the provider is.
			let url = word_behind(&told, "get paid answers at http://");
			Ok(url.and_then(|url| url.split('/').next()?.parse().ok()))
		});
		let address = address.await?;
		Ok((process, address))
	}
}
