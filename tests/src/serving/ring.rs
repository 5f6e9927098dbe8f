//! A ring of workers on this machine, each of which can be killed and started again.

use super::{
	server::{said, word_behind, Server, SOON},
	Question,
};
use crate::{until, Error, Ports, Process};
use std::{
	path::{Path, PathBuf},
	process::Command,
};

/// Holders of a ring of two spans that are held twice.
const HOLDERS: u16 = 4;

/// `neuroshard-worker hold`, as a process that always has the same address.
#[derive(Debug)]
pub struct Holder {
	/// Its identity.
	pub peer: String,
	/// The process, while it runs.
	process: Option<Process>,
	worker: PathBuf,
	model: PathBuf,
	folder: PathBuf,
	port: u16,
	address: String,
}

impl Holder {
	async fn start(worker: &Path, model: &Path, folder: PathBuf, port: u16) -> Result<Self, Error> {
		std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
		let (worker, model) = (worker.to_path_buf(), model.to_path_buf());
		let mut holder = Self { peer: String::new(), process: None, worker, model, folder, port, address: String::new() };
		holder.begin().await?;
		Ok(holder)
	}

	/// Starts it, again or for the first time, and waits until it listens.
	///
	/// # Errors
	/// [`Error::Ended`] if it ends, [`Error::Late`] if it is not ready in time.
	pub async fn begin(&mut self) -> Result<(), Error> {
		let log = self.folder.join("log");
		if self.process.take().is_some() {
			std::fs::rename(&log, self.folder.join("log.before")).map_err(Error::file(&log))?;
		}
		let mut command = Command::new(&self.worker);
		command
			.args(["hold", "--threads", "1", "--memory", "1000", "--model"])
			.arg(&self.model)
			.arg("--base-path")
			.arg(self.folder.join("base"));
		command.args(["--listen", &format!("/ip4/127.0.0.1/udp/{}/quic-v1", self.port)]);
		let mut process = Process::start("a holder", command, &log)?;
		let address = until("a holder's address", SOON, async || {
			process.check()?;
			Ok(word_behind(&said(&log)?, "are held at ").map(str::to_owned))
		});
		self.address = address.await?;
		let (_, peer) = self.address.rsplit_once('/').ok_or_else(|| Error::Setup(format!("{} has no identity", self.address)))?;
		peer.clone_into(&mut self.peer);
		self.process = Some(process);
		Ok(())
	}

	/// Ends it at once, as `kill -9` does.
	pub fn kill(&mut self) {
		if let Some(process) = &mut self.process {
			process.kill();
		}
	}

	/// The process, if it was not ended.
	pub fn process(&self) -> Option<&Process> {
		self.process.as_ref()
	}
}

/// A driver, and holders of two spans, each held twice.
#[derive(Debug)]
pub struct Ring {
	/// Who answers.
	pub driver: Server,
	/// Who computes.
	pub holders: Vec<Holder>,
	/// The holders of each span, the preferred one first.
	pub spans: Vec<Vec<usize>>,
	/// Name of the model.
	model: String,
}

impl Ring {
	/// Starts a ring that serves the model in the folder `model`, with all its files in the new folder `folder`.
	///
	/// # Errors
	/// Those of its processes; [`Error::Setup`] if the layers are not split as they should be.
	pub async fn start(worker: &Path, model: &Path, folder: &Path) -> Result<Self, Error> {
		let mut ports = Ports::reserve(None, HOLDERS)?;
		let mut holders = Vec::new();
		for index in 0..HOLDERS {
			holders.push(Holder::start(worker, model, folder.join(format!("holder-{index}")), ports.take()?).await?);
		}
		let addresses: Vec<&str> = holders.iter().map(|holder| &*holder.address).collect();
		let options = ["--ring", &addresses.join(","), "--redundancy", "2", "--split", "memory"];
		let driver = Server::start(worker, model, &folder.join("driver"), &options).await?;
		let spans = spans(&driver.said()?, &holders.iter().map(|holder| &*holder.peer).collect::<Vec<_>>());
		if spans.len() != 2 || spans.iter().any(|span| span.len() != 2) {
			return Err(Error::Setup(format!("the layers are split otherwise than in two spans that are held twice: {spans:?}")));
		}
		let model = model.file_name().unwrap_or_default().to_string_lossy().into_owned();
		let ring = Self { driver, holders, spans, model };
		for holder in 0..ring.holders.len() {
			ring.joined(holder, 1).await?;
		}
		Ok(ring)
	}

	/// How often a holder has come to hold its span.
	///
	/// # Errors
	/// [`Error::File`] if the driver's log cannot be read.
	pub fn joins(&self, holder: usize) -> Result<usize, Error> {
		Ok(self.driver.said()?.matches(&format!("{} holds its span\n", self.holders[holder].peer)).count())
	}

	/// How often the driver has replaced a holder since it was late.
	///
	/// # Errors
	/// [`Error::File`] if the driver's log cannot be read.
	pub fn late(&self, holder: usize) -> Result<usize, Error> {
		Ok(self.driver.said()?.matches(&format!("{} is late;", self.holders[holder].peer)).count())
	}

	/// Waits until a holder has come to hold its span so often.
	///
	/// # Errors
	/// [`Error::Late`]; [`Error::Setup`] if the ring does not answer.
	pub async fn joined(&self, holder: usize, times: usize) -> Result<(), Error> {
		let question = Question { tokens: 1, ..Question::default() };
		let look = async || {
			// The driver looks after its members when it is asked something.
			let answered = question.ask(self.driver.address, &self.model).await;
			answered.map_err(|error| Error::Setup(format!("the ring does not answer: {error}")))?;
			Ok((self.joins(holder)? >= times).then_some(()))
		};
		until(&format!("holder {holder} to hold its span"), SOON, look).await
	}
}

/// Who holds each span, as the driver explains it.
fn spans(explained: &str, peers: &[&str]) -> Vec<Vec<usize>> {
	let number = |word: &str| peers.iter().position(|peer| *peer == word.trim_end_matches([',', ':']));
	let mut spans: Vec<Vec<usize>> = Vec::new();
	for line in explained.lines() {
		let mut named = line.split_whitespace().map(number);
		let Some(holder) = named.next().flatten() else { continue };
		if line.contains(" repeats ") {
			let of = named.flatten().next();
			let span = spans.iter_mut().find(|span| span.first() == of.as_ref());
			span.into_iter().for_each(|span| span.push(holder));
		} else if line.contains(" holds ") {
			spans.push(vec![holder]);
		}
	}
	spans
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn spans_and_who_repeats_them_are_read_from_the_drivers_words() {
		let said = "date INFO b holds its span\na, which comes first as a driver, holds the embedding and layer 0: 1 MiB. A step takes 1 us, on to b.\n\
			b holds layer 1 and the head: 1 MiB, and 2 us back to a.\nc repeats layer 1 and the head of b: 1 MiB.\nd repeats the embedding and layer 0 of a: x.\n";
		assert_eq!(spans(said, &["a", "b", "c", "d"]), [[0, 3], [1, 2]]);
	}
}
