//! A validator of a local network.

use crate::{Error, Machine, Process};
use std::{
	fs::File,
	io::{Read, Write},
	path::{Path, PathBuf},
	process::Command,
};

/// A validator: its folder, its ports, and its process while it runs.
#[derive(Debug)]
pub struct Validator {
	name: String,
	binary: PathBuf,
	arguments: Vec<String>,
	log: PathBuf,
	url: String,
	process: Option<Process>,
	machine: Machine,
}

/// Which session keys a node has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
	/// Those of a well-known name, as `--alice` gives them.
	WellKnown(&'static str),
	/// Those that it makes when it is asked to.
	Own,
	/// None: it follows the chain and fetches it as this says, for instance `warp`.
	None(&'static str),
}

impl Keys {
	fn options(self) -> Vec<String> {
		// A replay reads old blocks, and the summary compares issuance with that of genesis.
		const ARCHIVE: &str = "--state-pruning=archive";
		match self {
			Self::WellKnown(name) => vec!["--validator".into(), ARCHIVE.into(), format!("--{name}")],
			Self::Own => vec!["--validator".into(), ARCHIVE.into()],
			Self::None(sync) => vec![format!("--sync={sync}")],
		}
	}
}

/// What a validator is before others are known.
pub(crate) struct Identity {
	/// Its name.
	name: String,
	/// Its session keys.
	keys: Keys,
	/// Port of JSON-RPC.
	rpc: u16,
	/// Port for other nodes.
	p2p: u16,
	/// File of its network key.
	key: PathBuf,
	/// Peer id that belongs to the key.
	peer: String,
	base: PathBuf,
	machine: Machine,
}

impl Identity {
	/// A validator with a fresh network key below `base`.
	pub(crate) fn create(name: &str, keys: Keys, base: PathBuf, rpc: u16, p2p: u16, machine: Machine) -> Result<Self, Error> {
		std::fs::create_dir_all(&base).map_err(Error::file(&base))?;
		let random = Path::new("/dev/urandom");
		let mut secret = [0u8; 32];
		File::open(random).and_then(|mut file| file.read_exact(&mut secret)).map_err(Error::file(random))?;
		let key = base.join("network-key");
		File::create(&key).and_then(|mut file| file.write_all(&secret)).map_err(Error::file(&key))?;
		let pair = neuroshard_network::keypair_from_secret(&mut secret).map_err(|error| Error::Setup(error.to_string()))?;
		Ok(Self { name: name.to_owned(), keys, rpc, p2p, key, peer: pair.public().to_peer_id().to_string(), base, machine })
	}

	fn address(&self) -> String {
		format!("/ip4/{}/tcp/{}/p2p/{}", self.machine.ip(), self.p2p, self.peer)
	}
}

impl Validator {
	/// A validator of the chain with this name or spec that knows where `all` are, itself included. It is not started yet.
	pub(crate) fn new(binary: &Path, own: &Identity, all: &[Identity], chain: &str, logs: &Path) -> Self {
		let mut arguments: Vec<String> = [
			// Nothing but what is named below may be found: another network on this machine has the same genesis.
			"--no-mdns",
			"--no-prometheus",
			"--no-telemetry",
		]
		.map(Into::into)
		.to_vec();
		arguments.extend([
			format!("--chain={chain}"),
			format!("--name={}", own.name),
			format!("--base-path={}", own.base.display()),
			// Compiled once for all nodes of this binary.
			format!("--wasm-cache={}", binary.with_file_name("wasm-cache").display()),
			format!("--node-key-file={}", own.key.display()),
			format!("--listen-addr=/ip4/{}/tcp/{}", own.machine.ip(), own.p2p),
			format!("--rpc-port={}", own.rpc),
		]);
		arguments.extend(own.keys.options());
		if !own.machine.is_here() {
			let network = format!("--rpc-rate-limit-whitelisted-ips={}", own.machine.others());
			arguments.extend(["--unsafe-rpc-external".into(), "--rpc-cors=all".into(), "--rpc-methods=safe".into(), network]);
		}
		for other in all.iter().filter(|other| other.peer != own.peer) {
			arguments.extend(["--bootnodes".into(), other.address()]);
		}
		Self {
			name: format!("validator {}", own.name),
			binary: binary.to_path_buf(),
			arguments,
			log: logs.join(format!("validator-{}.log", own.name)),
			url: format!("ws://{}:{}", own.machine.ip(), own.rpc),
			machine: own.machine.clone(),
			process: None,
		}
	}

	/// Gives it further options.
	pub(crate) fn with_options(mut self, options: &[String]) -> Self {
		self.arguments.extend_from_slice(options);
		self
	}

	/// Name for people.
	pub fn name(&self) -> &str {
		&self.name
	}

	/// Address of its JSON-RPC.
	pub fn url(&self) -> &str {
		&self.url
	}

	/// Starts it, on the data that it has.
	///
	/// # Errors
	/// [`Error::File`].
	pub fn start(&mut self) -> Result<(), Error> {
		self.process = Some(Process::start(&self.name, self.command(), &self.log)?);
		Ok(())
	}

	/// The command that starts it.
	pub fn command(&self) -> Command {
		let mut command = self.machine.command(&self.binary);
		command.args(&self.arguments);
		command
	}

	/// Ends it at once, as `kill -9` does.
	pub fn kill(&mut self) {
		self.process = None;
	}

	/// Its process, while it runs.
	pub fn process(&mut self) -> &mut Option<Process> {
		&mut self.process
	}
}
