//! A compute provider of a local network.

use crate::{Ended, Error, Process};
use neuroshard_graph::ParamLayout;
use neuroshard_types::{ModelConfig, RunId};
use neuroshard_worker::{
	keys::{Account, Keys},
	run::{checkpoint_folder, status::Status},
	train::checkpoint::Checkpoint,
};
use std::{
	path::{Path, PathBuf},
	process::Command,
};

/// A worker: its folder with keys and data, and its process while it runs.
pub struct WorkerNode {
	name: String,
	binary: PathBuf,
	base: PathBuf,
	log: PathBuf,
	account: Account,
	node: String,
	port: u16,
	threads: usize,
	dataset: Option<PathBuf>,
	/// Further options of `run`.
	options: Vec<String>,
	process: Option<Process>,
}

impl WorkerNode {
	/// A worker with fresh keys below `base`, which talks to the node at `node`. It is neither registered nor started yet.
	///
	/// # Errors
	/// [`Error::Key`] if keys cannot be made there.
	pub(crate) fn create(binary: &Path, name: String, base: PathBuf, log: PathBuf, node: String, port: u16) -> Result<Self, Error> {
		let (keys, _phrase) = Keys::generate(&base)?;
		Ok(Self {
			name,
			binary: binary.to_path_buf(),
			base,
			log,
			account: keys.account,
			node,
			port,
			threads: 1,
			dataset: None,
			options: Vec::new(),
			process: None,
		})
	}

	/// Has it compute with so many threads.
	pub(crate) fn with_threads(mut self, threads: usize) -> Self {
		self.threads = threads;
		self
	}

	/// Has it read the dataset from a folder instead of fetching it from peers.
	pub(crate) fn with_dataset(mut self, folder: Option<&Path>) -> Self {
		self.dataset = folder.map(Path::to_path_buf);
		self
	}

	/// Runs another binary than the ordinary worker's.
	pub(crate) fn with_binary(mut self, binary: &Path) -> Self {
		self.binary = binary.to_path_buf();
		self
	}

	/// Gives `run` further options.
	pub(crate) fn with_options<'a>(mut self, options: impl IntoIterator<Item = &'a str>) -> Self {
		self.options.extend(options.into_iter().map(str::to_owned));
		self
	}

	/// Has it attest its dataset on chain, from its next start on.
	pub fn attest(&mut self) {
		self.options.push("--attest".into());
	}

	/// Name for people.
	pub fn name(&self) -> &str {
		&self.name
	}

	/// Its account.
	pub fn account(&self) -> &Account {
		&self.account
	}

	/// Its folder.
	pub fn base(&self) -> &Path {
		&self.base
	}

	/// Address of its node's JSON-RPC.
	pub(crate) fn node(&self) -> &str {
		&self.node
	}

	/// A command of this worker's binary, for its folder and its node.
	pub fn command<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
		let mut command = Command::new(&self.binary);
		command.args(arguments).arg("--base-path").arg(&self.base).arg("--node").arg(&self.node);
		command
	}

	/// The command that runs it.
	pub fn run_command(&self) -> Command {
		let mut command = self.command(["run", "--local"]);
		command.arg("--port").arg(self.port.to_string()).arg("--threads").arg(self.threads.to_string());
		if let Some(folder) = &self.dataset {
			command.arg("--dataset").arg(folder);
		}
		command.args(&self.options);
		command
	}

	/// Registers it as a provider that trains and audits, with a bond in NEURO.
	///
	/// # Errors
	/// [`Error::Command`] with what the worker said.
	pub async fn register(&self, bond: &str) -> Result<(), Error> {
		Ended::output_of(self.command(["register", "--roles", "worker,verifier", "--bond", bond])).await.map(drop)
	}

	/// Starts it, on the data that it has.
	///
	/// # Errors
	/// [`Error::File`].
	pub fn start(&mut self) -> Result<(), Error> {
		self.process = Some(Process::start(&self.name, self.run_command(), &self.log)?);
		Ok(())
	}

	/// Ends it at once, as `kill -9` does.
	pub fn kill(&mut self) {
		self.process = None;
	}

	/// Its process, while it runs.
	pub(crate) fn process(&mut self) -> &mut Option<Process> {
		&mut self.process
	}

	/// What it says about itself; nothing before it has started.
	pub fn status(&self) -> Option<Status> {
		Status::read(&self.base)
	}

	/// The newest checkpoint in its files, every root of it recomputed; nothing if it has none yet.
	///
	/// # Errors
	/// [`Error::Checkpoint`] if the files are damaged.
	pub fn checkpoint(&self, run: RunId, model: &ModelConfig) -> Result<Option<Checkpoint>, Error> {
		let layout = ParamLayout::new(model).map_err(|error| Error::Setup(error.to_string()))?;
		Ok(Checkpoint::load(&checkpoint_folder(&self.base, run), &layout, 1)?)
	}
}
