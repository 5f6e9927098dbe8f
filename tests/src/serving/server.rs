//! A worker that serves a model.

use crate::{until, Error, Process};
use std::{
	ffi::OsStr,
	net::SocketAddr,
	path::{Path, PathBuf},
	process::Command,
	time::Duration,
};

/// Longest wait for a process to be ready.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// `neuroshard-worker serve`, as a process.
#[derive(Debug)]
pub struct Server {
	/// The process.
	pub process: Process,
	/// Where it answers.
	pub address: SocketAddr,
	log: PathBuf,
}

/// The word behind `before` in a text.
pub(crate) fn word_behind<'a>(text: &'a str, before: &str) -> Option<&'a str> {
	let (_, behind) = text.split_once(before)?;
	// A line that is not whole yet may have half a word.
	let (line, _) = behind.split_once('\n')?;
	line.split_whitespace().next()
}

impl Server {
	/// Starts `serve` with these options, of the model in the folder `model`, with logs and its base folder in the new folder `folder`.
	///
	/// # Errors
	/// [`Error::Ended`] if it ends, [`Error::Late`] if it is not ready in time.
	pub async fn start<S: AsRef<OsStr>>(worker: &Path, model: &Path, folder: &Path, options: &[S]) -> Result<Self, Error> {
		std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
		let log = folder.join("log");
		let mut command = Command::new(worker);
		command.args(["serve", "--listen", "127.0.0.1:0", "--threads", "1", "--model"]).arg(model).args(options);
		command.arg("--base-path").arg(folder.join("base"));
		let mut process = Process::start("the server", command, &log)?;
		let address = until("the server's address", SOON, async || {
			process.check()?;
			let said = said(&log)?;
			let url = word_behind(&said, "answers at http://");
			Ok(url.and_then(|url| url.split_once('/')?.0.parse().ok()))
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

/// The text of a log.
pub(crate) fn said(log: &Path) -> Result<String, Error> {
	std::fs::read_to_string(log).map_err(Error::file(log))
}
