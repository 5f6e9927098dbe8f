//! A compute provider of a local network.

use crate::{serving::said, Ended, Error, Machine, Process};
use neuroshard_chain_client::keys::{Account, Keys};
use neuroshard_graph::ParamLayout;
use neuroshard_network::{keypair_from_secret, PeerId};
use neuroshard_roles::{read_adapter, status::Status};
use neuroshard_training::checkpoint::{checkpoint_folder, Checkpoint};
use neuroshard_types::{AccountId, ModelConfig, RunId};
use std::{
	path::{Path, PathBuf},
	process::Command,
	time::Duration,
};

const TRAINS: &str = "worker";
const TRAINS_AND_AUDITS: &str = "worker,verifier";

/// A worker: its folder with keys and data, and its process while it runs.
pub struct WorkerNode {
	name: String,
	binary: PathBuf,
	base: PathBuf,
	log: PathBuf,
	account: Account,
	/// The provider that it is the operator of, if it is one.
	owner: Option<AccountId>,
	node: String,
	port: u16,
	threads: usize,
	dataset: Option<PathBuf>,
	/// The roles that it registers with.
	roles: &'static str,
	/// The command that it runs.
	runs: &'static [&'static str],
	/// Whether it leads a quorum.
	leads: bool,
	/// Its identity in the network of workers.
	peer: PeerId,
	/// Run that it takes part in, if it is named.
	run: Option<RunId>,
	/// Further options of `run`.
	options: Vec<String>,
	machine: Machine,
	process: Option<Process>,
}

impl WorkerNode {
	/// A worker with fresh keys below `base`, which talks to the node at `node`. It is neither registered nor started yet.
	///
	/// # Errors
	/// [`Error::Key`] if keys cannot be made there.
	pub(crate) fn create(binary: &Path, name: String, base: PathBuf, log: PathBuf, node: String, port: u16) -> Result<Self, Error> {
		let (keys, _phrase) = Keys::generate(&base)?;
		let identity = keypair_from_secret(&mut keys.network.expose().clone()).map_err(|error| Error::Setup(error.to_string()))?;
		Ok(Self {
			name,
			binary: binary.to_path_buf(),
			base,
			log,
			account: keys.account,
			owner: None,
			node,
			port,
			threads: 1,
			dataset: None,
			roles: TRAINS_AND_AUDITS,
			runs: &["run"],
			leads: false,
			peer: identity.public().to_peer_id(),
			run: None,
			options: Vec::new(),
			machine: Machine::here(),
			process: None,
		})
	}

	/// Has it run on this machine.
	pub(crate) fn on(self, machine: Machine) -> Self {
		Self { machine, ..self }
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

	/// Has it train only: it is never drawn to audit what others do.
	pub(crate) fn without_audits(mut self) -> Self {
		self.roles = TRAINS;
		self
	}

	/// Makes it the operator of an account of which it has no key.
	pub(crate) fn with_owner(mut self, owner: AccountId) -> Self {
		self.options.extend(["--owner".to_owned(), owner.to_string()]);
		self.owner = Some(owner);
		self
	}

	/// Runs another binary than the ordinary worker's.
	pub(crate) fn with_binary(mut self, binary: &Path) -> Self {
		self.binary = binary.to_path_buf();
		self
	}

	/// Has it run the binary of cheaters, with options that it has.
	pub(crate) fn become_cheat<'a>(&mut self, binary: &Path, options: impl IntoIterator<Item = &'a str>) {
		self.binary = binary.to_path_buf();
		self.options.extend(options.into_iter().map(str::to_owned));
	}

	/// Gives `run` further options.
	pub(crate) fn with_options<'a>(mut self, options: impl IntoIterator<Item = &'a str>) -> Self {
		self.options.extend(options.into_iter().map(str::to_owned));
		self
	}

	/// Holds it to so many bytes of memory, rounded down to a MiB.
	pub(crate) fn with_memory(mut self, bytes: u64) -> Self {
		let mebibytes = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
		self.options.extend(["--max-memory".to_owned(), (f64::from(mebibytes) / 1024.0).to_string()]);
		self
	}

	/// Has it attest its dataset on chain, from its next start on.
	pub fn attest(&mut self) {
		self.options.push("--attest".into());
	}

	/// Has it take part in this run, from its next start on; without one it chooses by itself.
	pub fn take(&mut self, run: Option<RunId>) {
		self.run = run;
	}

	/// Has it lead the quorum whose members are in a file, which reach it at an address.
	pub(crate) fn leading(self, members: &str, listen: &str) -> Self {
		Self { leads: true, ..self.with_options(["--quorum", members, "--quorum-listen", listen]) }
	}

	/// Has it train as a member of a quorum that another one leads, and not for itself.
	pub(crate) fn following(self) -> Self {
		Self { runs: &["quorum", "work"], ..self }
	}

	/// Whether it keeps checkpoints as folders: nobody in a quorum does.
	pub(crate) fn has_checkpoints(&self) -> bool {
		!self.follows() && !self.leads
	}

	/// Whether it is a member of a quorum that another one leads.
	pub fn follows(&self) -> bool {
		self.runs != ["run"]
	}

	/// Its identity in the network of workers.
	pub(crate) fn peer(&self) -> PeerId {
		self.peer
	}

	/// Name for people.
	pub fn name(&self) -> &str {
		&self.name
	}

	/// The account that has the bond, and is paid: its own, or that of its owner.
	pub fn provider(&self) -> AccountId {
		self.owner.clone().unwrap_or_else(|| self.account.id())
	}

	/// Its account, which signs.
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
		self.command_of(&self.binary, arguments)
	}

	/// A command of another binary, for its folder and its node.
	pub(crate) fn command_of<'a>(&self, binary: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Command {
		let mut command = self.machine.command(binary);
		command.args(arguments).arg("--base-path").arg(&self.base).arg("--node").arg(&self.node);
		command
	}

	/// The command that runs it.
	pub fn run_command(&self) -> Command {
		let (mut command, port) = (self.command(self.runs.iter().copied()), self.port);
		match self.machine.is_here() {
			true => command.args(["--local", "--port", &port.to_string()]),
			false => {
				let ip = self.machine.ip();
				let addresses = [format!("/ip4/{ip}/udp/{port}/quic-v1"), format!("/ip4/{ip}/tcp/{port}")];
				command.args(addresses.iter().flat_map(|address| ["--listen", address])).arg("--dial-private")
			}
		};
		command.arg("--threads").arg(self.threads.to_string());
		if let Some(folder) = &self.dataset {
			command.arg("--dataset").arg(folder);
		}
		if let Some(run) = self.run {
			command.arg("--run").arg(run.to_string());
		}
		command.args(&self.options);
		command
	}

	/// Registers it as a provider that trains, and audits unless it is [without](Self::without_audits), with a bond in NEURO.
	///
	/// # Errors
	/// [`Error::Command`] with what the worker said.
	pub async fn register(&self, bond: &str) -> Result<(), Error> {
		Ended::output_of(self.command(["register", "--roles", self.roles, "--bond", bond])).await.map(drop)
	}

	/// The call, in hexadecimal, that its owner signs to be a provider that trains, with a bond in NEURO, and to name it as its operator.
	///
	/// # Errors
	/// [`Error::Command`] with what the worker said, [`Error::Setup`] if that is no call.
	pub(crate) async fn call_for_owner(&self, bond: &str) -> Result<String, Error> {
		let owner = self.provider().to_string();
		let told = Ended::output_of(self.command(["register", "--roles", TRAINS, "--bond", bond, "--owner", &owner])).await?;
		let call = told.lines().map(str::trim).find(|line| line.starts_with("0x"));
		call.map(str::to_owned).ok_or_else(|| Error::Setup(format!("no call for an owner: {told}")))
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

	/// Has it do nothing until [`Self::thaw`], as SIGSTOP does.
	pub fn freeze(&self) {
		self.process.iter().for_each(Process::freeze);
	}

	/// Has it go on.
	pub fn thaw(&self) {
		self.process.iter().for_each(Process::thaw);
	}

	/// Asks it to end, as Ctrl-C does, and waits until it has.
	pub async fn stop(&mut self) {
		if let Some(process) = self.process.take() {
			process.stop().await;
		}
	}

	/// Waits until it has ended by itself, and returns whether that was a success.
	///
	/// # Errors
	/// [`Error::Setup`] if it does not run, [`Error::Late`] if it runs longer than `limit`.
	pub async fn ended_by_itself(&mut self, limit: Duration) -> Result<bool, Error> {
		let not_started = || Error::Setup(format!("{} does not run", self.name));
		let mut process = self.process.take().ok_or_else(not_started)?;
		Ok(process.ended_by_itself(limit).await?.success())
	}

	/// Its process, while it runs.
	pub fn process(&mut self) -> &mut Option<Process> {
		&mut self.process
	}

	/// All that it has said.
	///
	/// # Errors
	/// [`Error::File`] if its log cannot be read.
	pub fn said(&self) -> Result<String, Error> {
		said(&self.log)
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
		let folder = checkpoint_folder(&self.base, run);
		let failed = |error: &dyn std::fmt::Display| Error::Setup(error.to_string());
		let adapter = read_adapter(&folder).map_err(|error| failed(&error))?;
		let layout = ParamLayout::of(model, adapter);
		Ok(Checkpoint::load(&folder, &layout.map_err(|error| failed(&error))?, 1)?)
	}
}
