//! A local network: two validators and any number of workers.

use crate::{
	slot,
	spec::{Spec, LOCAL},
	unless_away, until,
	validator::{Identity, Keys, Validator},
	AuthorityClient, Binaries, Cheat, Cheater, Ended, Error, Machine, Ports, Process, Rules, WorkerNode,
};
use neuroshard_chain_client::{balances, keys::Account, BlockId, Call, ChainClient, Submitter};
use neuroshard_types::{AccountId, Balance, RoundIndex, RunId, NEURO};
use std::{
	collections::BTreeSet,
	ops::Range,
	path::{Path, PathBuf},
	process::Command,
	time::Duration,
};
use subxt_signer::sr25519::Keypair;
use tokio::task::JoinSet;

/// The validators' names.
const VALIDATORS: [&str; 2] = ["alice", "bob"];
/// Ports of a validator: JSON-RPC and other nodes.
const PORTS_OF_VALIDATOR: u16 = 2;
/// Longest wait for a node's first answer.
pub(crate) const FIRST_ANSWER: Duration = Duration::from_secs(180);
/// Longest wait for the first finalized block.
const FIRST_FINALITY: Duration = Duration::from_secs(180);
/// What a new worker is given, in planck.
const GIFT: Balance = 2_000 * NEURO;
/// Blocks within which the chain takes it.
const GIFT_BLOCKS: u32 = 15;
/// Options of honest workers where all work is checked, as in a network with cheaters: they check everything.
const CHECKS: [&str; 2] = ["--check", "1"];
/// Account with money and the sudo key of a local network.
const SPONSOR: &str = "//Alice";

/// Where a network lives: a folder of its own, and ports that nobody else uses.
pub struct Layout {
	folder: PathBuf,
	ports: Ports,
	/// Machines of their own for its next processes, if they do not all run here.
	machines: Option<std::vec::IntoIter<Machine>>,
}

impl Layout {
	/// Makes the place for a network of at most `workers` workers in `folder`, which must be new or empty, on consecutive ports from
	/// `port_base` on, or on free ones if none is given. Nothing is written if that fails.
	///
	/// # Errors
	/// [`Error::NotEmpty`], [`Error::PortTaken`], [`Error::NoPorts`], or [`Error::File`].
	pub fn create(folder: PathBuf, port_base: Option<u16>, workers: u16) -> Result<Self, Error> {
		let used = match std::fs::read_dir(&folder) {
			Ok(mut entries) => entries.next().is_some(),
			Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
			Err(error) => return Err(Error::file(&folder)(error)),
		};
		if used {
			return Err(Error::NotEmpty { path: folder });
		}
		let of_validators = VALIDATORS.map(|_| PORTS_OF_VALIDATOR).iter().sum::<u16>();
		let ports = Ports::reserve(port_base, workers.saturating_add(of_validators))?;
		std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
		Ok(Self { folder, ports, machines: None })
	}

	/// Gives each of its processes a machine of its own: first the validators, then the workers.
	pub fn on(self, machines: Vec<Machine>) -> Self {
		Self { machines: Some(machines.into_iter()), ..self }
	}

	/// Machines that a network with so many workers takes.
	pub fn machines(workers: u16) -> usize {
		VALIDATORS.len().saturating_add(workers.into())
	}

	/// The machine of the next process.
	fn machine(&mut self) -> Result<Machine, Error> {
		let Some(machines) = &mut self.machines else { return Ok(Machine::here()) };
		machines.next().ok_or_else(|| Error::Setup("all machines are taken: make more".into()))
	}

	/// Folder of everything the network writes.
	pub fn folder(&self) -> &Path {
		&self.folder
	}

	/// Folder of the logs of its processes.
	pub(crate) fn logs(&self) -> PathBuf {
		self.folder.join("logs")
	}
}

/// A running network. Every process ends when this is dropped.
pub struct Network {
	/// The validators; workers are spread over them.
	pub validators: Vec<Validator>,
	/// The workers, in the order they were added.
	pub workers: Vec<WorkerNode>,
	/// Those of them that cheat. Accomplices are no cheaters: they have nothing to lose.
	pub cheaters: Vec<Cheater>,
	rules: Rules,
	binaries: Binaries,
	layout: Layout,
	client: ChainClient,
	sponsor: Submitter,
	/// What every second worker computes on, if not on the CPU.
	device: Option<String>,
	/// Bytes of memory to which the workers that are created from now on are held.
	limit: Option<u64>,
}

impl Network {
	/// What each worker bonds, in planck.
	pub const BOND: Balance = 1_000 * NEURO;

	/// Starts the validators of a network that makes blocks as fast as [this machine](crate::pace) bears, with these rules in place of those of the preset
	/// `local`, and returns when they finalize blocks.
	///
	/// # Errors
	/// [`Error::Command`] if the node prints no chain spec, [`Error::Setup`] for one without a place for what changes, [`Error::File`],
	/// [`Error::Ended`] if a validator ends, [`Error::Late`] if nothing gets finalized.
	pub async fn start(binaries: Binaries, mut layout: Layout, rules: Rules) -> Result<Self, Error> {
		let mut spec = Spec::export(&binaries.node, LOCAL).await?;
		spec.pace(slot())?;
		rules.apply(&mut spec)?;
		let chain = spec.write(&layout.folder)?.display().to_string();
		let logs = layout.logs();
		std::fs::create_dir(&logs).map_err(Error::file(&logs))?;
		let mut identities = Vec::new();
		for name in VALIDATORS {
			let base = layout.folder.join("validators").join(name);
			identities.push(Identity::create(
				name,
				Keys::WellKnown(name),
				base,
				layout.ports.take()?,
				layout.ports.take()?,
				layout.machine()?,
			)?);
		}
		let mut validators: Vec<_> = identities.iter().map(|own| Validator::new(&binaries.node, own, &identities, &chain, &logs)).collect();
		let client = start_all(&mut validators).await?;
		let sponsor = Submitter::spawn(client.clone(), Account::from_secret(SPONSOR)?);
		Ok(Self {
			validators,
			workers: Vec::new(),
			cheaters: Vec::new(),
			rules,
			binaries,
			layout,
			client,
			sponsor,
			device: None,
			limit: None,
		})
	}

	/// The rules that it has in place of those of the preset `local`.
	pub(crate) fn rules(&self) -> Rules {
		self.rules
	}

	/// Folder of the logs of its processes.
	pub(crate) fn logs(&self) -> PathBuf {
		self.layout.logs()
	}

	/// A connection to the first validator.
	pub fn client(&self) -> &ChainClient {
		&self.client
	}

	/// Sends extrinsics of the account that has money and the sudo key.
	pub fn sponsor(&self) -> &Submitter {
		&self.sponsor
	}

	/// A new worker with fresh keys and no money. It is not started.
	///
	/// # Errors
	/// [`Error::Key`], or [`Error::Setup`] beyond the number of workers that the layout named.
	pub fn create_worker(&mut self, dataset: Option<&Path>, threads: usize) -> Result<WorkerNode, Error> {
		let number = self.workers.len();
		let base = self.layout.folder.join(format!("workers/{number}"));
		let log = self.layout.logs().join(format!("worker-{number}.log"));
		let validator = self.validators.iter().cycle().nth(number).map(|validator| validator.url().to_owned()).unwrap_or_default();
		let (port, machine) = (self.layout.ports.take()?, self.layout.machine()?);
		let worker = WorkerNode::create(&self.binaries.worker, format!("worker {number}"), base, log, validator, port)?;
		let device = self.device.as_deref().filter(|_| number % 2 == 1);
		let options = device.into_iter().flat_map(|device| ["--device", device]);
		let worker = worker.on(machine).with_dataset(dataset).with_threads(threads).with_options(options);
		Ok(self.limit.into_iter().fold(worker, WorkerNode::with_memory))
	}

	/// Holds the workers that are created from now on to so many bytes of memory each.
	pub fn set_memory_limit(&mut self, bytes: Option<u64>) {
		self.limit = bytes;
	}

	/// Has every second worker from the second on compute on this device, among those that are created from now on.
	pub fn set_device(&mut self, device: &str) {
		self.device = Some(device.to_owned());
	}

	/// Adds `count` workers: makes their keys, gives them money, registers them with a bond, and starts them.
	///
	/// # Errors
	/// [`Error::Chain`] or [`Error::Command`].
	pub async fn add_workers(&mut self, count: usize, dataset: Option<&Path>, threads: usize) -> Result<(), Error> {
		let first = self.workers.len();
		for _ in 0..count {
			let worker = self.create_worker(dataset, threads)?;
			self.workers.push(worker);
		}
		self.enrol(first).await
	}

	/// As [`Self::add_workers`], of one that offers the checkpoint in `start` to whoever starts from it.
	///
	/// # Errors
	/// As [`Self::add_workers`].
	pub async fn add_worker_with_start(&mut self, start: &Path, dataset: Option<&Path>, threads: usize) -> Result<(), Error> {
		let first = self.workers.len();
		let folder = start.display().to_string();
		let worker = self.create_worker(dataset, threads)?.with_options(["--start", &folder]);
		self.workers.push(worker);
		self.enrol(first).await
	}

	/// As [`Self::add_workers`], of workers that train and are never drawn to audit: a worker that was killed stays on the list of auditors for epochs.
	///
	/// # Errors
	/// As [`Self::add_workers`].
	pub async fn add_workers_without_audits(&mut self, count: usize, dataset: Option<&Path>, threads: usize) -> Result<(), Error> {
		let first = self.workers.len();
		for _ in 0..count {
			let worker = self.create_worker(dataset, threads)?;
			self.workers.push(worker.without_audits());
		}
		self.enrol(first).await
	}

	/// As [`Self::add_workers`], of workers that take part in `run` if they can, and audit in files what they have no memory for.
	///
	/// # Errors
	/// As [`Self::add_workers`].
	pub async fn add_workers_that_audit_in_files(
		&mut self,
		run: RunId,
		count: usize,
		dataset: Option<&Path>,
		threads: usize,
	) -> Result<(), Error> {
		let first = self.workers.len();
		for _ in 0..count {
			let mut worker = self.create_worker(dataset, threads)?.with_options(["--audit-in-files"]);
			worker.take(Some(run));
			self.workers.push(worker);
		}
		self.enrol(first).await
	}

	/// As [`Self::add_workers`], of `count` workers for each of these `runs`: they take part in that one and no other, and check all that is claimed in it.
	///
	/// # Errors
	/// As [`Self::add_workers`].
	pub async fn add_checking_workers(
		&mut self,
		runs: &[RunId],
		count: usize,
		dataset: Option<&Path>,
		threads: usize,
	) -> Result<(), Error> {
		let first = self.workers.len();
		for run in runs {
			for _ in 0..count {
				let mut worker = self.create_worker(dataset, threads)?.with_options(CHECKS);
				worker.take(Some(*run));
				self.workers.push(worker);
			}
		}
		self.enrol(first).await
	}

	/// Adds `count` honest workers, and one cheater for each of `cheats`, which cheats in its round, with its accomplices. The honest ones
	/// check everything, unless something is audited: then they do what they are drawn for, and cheaters go on until they are found.
	///
	/// # Errors
	/// As [`Self::add_workers`], and [`Error::NotBuilt`] without a worker that can cheat.
	pub async fn add_workers_and_cheaters(
		&mut self,
		count: usize,
		cheats: &[(Cheat, RoundIndex)],
		dataset: Option<&Path>,
		threads: usize,
	) -> Result<(), Error> {
		let first = self.workers.len();
		let audited = self.rules.audits.is_some();
		for _ in 0..count {
			let worker = self.create_worker(dataset, threads)?;
			self.workers.push(if audited { worker } else { worker.with_options(CHECKS) });
		}
		let binary = self.binaries.cheat()?;
		for &(cheat, round) in cheats {
			let round_text = round.to_string();
			let again = audited || cheat.repeats();
			let when = ["--cheat-round", &round_text].into_iter().chain(again.then_some("--cheat-again"));
			let mut from = Vec::new();
			for _ in 0..cheat.accomplices() {
				let accomplice =
					self.create_worker(dataset, threads)?.with_binary(&binary).with_options(["--hand-over"]).with_options(when.clone());
				from.extend(["--cheat-from".to_owned(), accomplice.base().display().to_string()]);
				self.workers.push(accomplice);
			}
			let cheater = self.create_worker(dataset, threads)?.with_binary(&binary);
			let cheater = cheater.with_options(["--cheat", cheat.name()]).with_options(when).with_options(from.iter().map(String::as_str));
			self.cheaters.push(Cheater { cheat, round, again, account: cheater.account().id() });
			self.workers.push(cheater);
		}
		self.enrol(first).await
	}

	/// As [`Self::add_workers`], of workers that hold one place of a run as a quorum, each so many units of the model: the first one, which has the end of it and the
	/// embedding, leads. All others have agreed before anybody is started.
	///
	/// # Errors
	/// As [`Self::add_workers`]; [`Error::File`] if the file with the members cannot be written.
	pub async fn add_quorum(&mut self, run: RunId, units: &[u32], dataset: Option<&Path>, threads: usize) -> Result<(), Error> {
		let first = self.workers.len();
		let quorum = self.create_quorum(run, units, dataset, threads)?;
		self.register(first).await?;
		agree(&self.workers, run, &[quorum]).await?;
		self.start_workers(first)
	}

	/// As [`Self::add_quorum`], of a quorum for each of these cheats, whose second member cheats in a round.
	///
	/// # Errors
	/// As [`Self::add_quorum`], and [`Error::NotBuilt`] without a worker that can cheat.
	pub async fn add_false_quorums(
		&mut self,
		run: RunId,
		units: &[u32],
		cheats: &[(Cheat, RoundIndex)],
		dataset: Option<&Path>,
	) -> Result<(), Error> {
		let (first, binary) = (self.workers.len(), self.binaries.cheat()?);
		let mut quorums = Vec::new();
		for &(cheat, round) in cheats {
			let quorum = self.create_quorum(run, units, dataset, 1)?;
			let cheater = self.workers.get_mut(quorum.members.start.saturating_add(1)..quorum.members.end).and_then(<[_]>::first_mut);
			let cheater = cheater.ok_or_else(|| Error::Setup("a quorum of one has nobody who cheats it".into()))?;
			cheater.become_cheat(&binary, ["--cheat", cheat.name(), "--cheat-round", &round.to_string()]);
			self.cheaters.push(Cheater { cheat, round, again: false, account: cheater.account().id() });
			quorums.push(quorum);
		}
		self.register(first).await?;
		agree(&self.workers, run, &quorums).await?;
		self.start_workers(first)
	}

	/// Makes folders and keys of the members of a quorum, and the file that names them.
	fn create_quorum(&mut self, run: RunId, units: &[u32], dataset: Option<&Path>, threads: usize) -> Result<Quorum, Error> {
		let first = self.workers.len();
		let file = self.layout.folder.join(format!("quorum-{first}.json"));
		let (path, mut members, mut leader) = (file.display().to_string(), Vec::new(), None::<String>);
		for units in units {
			let listen = format!("/ip4/127.0.0.1/udp/{}/quic-v1", self.layout.ports.take()?);
			let worker = self.create_worker(dataset, threads)?;
			let account = worker.account().id().to_string();
			members.push(serde_json::json!({ "account": account, "units": units, "address": format!("{listen}/p2p/{}", worker.peer()) }));
			let mut worker = match &leader {
				None => worker.leading(&path, &listen),
				Some(leader) => worker.following().with_options(["--leader", leader, "--members", &path, "--listen", &listen]),
			};
			leader.get_or_insert(account);
			worker.take(Some(run));
			self.workers.push(worker);
		}
		std::fs::write(&file, serde_json::Value::from(members).to_string()).map_err(Error::file(&file))?;
		Ok(Quorum { file: path, members: first..self.workers.len() })
	}

	/// Gives the workers from number `first` on money, registers them with a bond, and starts them.
	async fn enrol(&mut self, first: usize) -> Result<(), Error> {
		self.register(first).await?;
		self.start_workers(first)
	}

	/// Starts the workers from number `first` on, all at a time: nobody comes too late for the first round.
	fn start_workers(&mut self, first: usize) -> Result<(), Error> {
		self.workers.get_mut(first..).unwrap_or_default().iter_mut().try_for_each(WorkerNode::start)
	}

	/// Gives them money, and registers them with a bond.
	async fn register(&mut self, first: usize) -> Result<(), Error> {
		let new = self.workers.get_mut(first..).unwrap_or_default();
		give(&self.sponsor, new, GIFT).await?;
		let bond = bond();
		// Two at a time: it is waiting for blocks mostly, but measures how fast the machine is, too.
		for some in new.chunks(2) {
			match some {
				[one, other] => tokio::try_join!(one.register(&bond), other.register(&bond)).map(drop)?,
				rest => {
					for worker in rest {
						worker.register(&bond).await?;
					}
				}
			}
		}
		Ok(())
	}

	/// Adds a worker that is the operator of a provider: gives it so much for fees, has `owner`, which has money, sign what `register --owner` prints,
	/// and starts the worker. It never has the owner's key.
	///
	/// # Errors
	/// [`Error::Chain`], [`Error::Command`], or [`Error::Setup`].
	pub async fn add_operator(&mut self, owner: &Keypair, fees: Balance, dataset: Option<&Path>, threads: usize) -> Result<(), Error> {
		let worker = self.create_worker(dataset, threads)?.with_owner(AccountId::new(owner.public_key().0));
		give(&self.sponsor, std::slice::from_ref(&worker), fees).await?;
		let call = worker.call_for_owner(&bond()).await?;
		AuthorityClient::connect(worker.node()).await?.submit_prepared(owner, &call).await?;
		self.workers.push(worker);
		self.workers.last_mut().map_or(Ok(()), WorkerNode::start)
	}

	/// A command of the worker's binary for a user of the network: the sponsor, who has money.
	pub fn user_command(&self, command: &str) -> Command {
		self.command_as(SPONSOR, &self.layout.folder.join("user"), command)
	}

	/// A command of the worker's binary for the account with this secret, with this base folder.
	pub(crate) fn command_as(&self, secret: &str, base: &Path, command: &str) -> Command {
		let node = self.validators.first().map(|validator| validator.url().to_owned()).unwrap_or_default();
		let mut started = Command::new(&self.binaries.worker);
		started.args([command, "--suri", secret, "--node", &node]).arg("--base-path").arg(base);
		started
	}

	/// The binaries that it runs.
	pub(crate) fn binaries(&self) -> &Binaries {
		&self.binaries
	}

	/// Folder of everything that it writes.
	pub(crate) fn folder(&self) -> &Path {
		self.layout.folder()
	}

	/// Fails if a process that should run has ended.
	///
	/// # Errors
	/// [`Error::Ended`] with the end of its log.
	pub fn check(&mut self) -> Result<(), Error> {
		let validators = self.validators.iter_mut().filter_map(|validator| validator.process().as_mut());
		let workers = self.workers.iter_mut().filter_map(|worker| worker.process().as_mut());
		validators.chain(workers).try_for_each(|process| process.check())
	}

	/// Forgets the processes that have ended, and returns what is to be said about each.
	///
	/// # Errors
	/// [`Error::Setup`] if no validator or no worker is left.
	pub fn notice_deaths(&mut self) -> Result<Vec<String>, Error> {
		let mut words = Vec::new();
		for validator in &mut self.validators {
			if let Some(Err(error)) = validator.process().as_mut().map(|process| process.check()) {
				words.push(obituary(error, &validator.command()));
				validator.kill();
			}
		}
		for worker in &mut self.workers {
			if let Some(Err(error)) = worker.process().as_mut().map(|process| process.check()) {
				words.push(obituary(error, &worker.run_command()));
				worker.kill();
			}
		}
		let validators = self.validators.iter_mut().any(|validator| validator.process().is_some());
		let workers = self.workers.is_empty() || self.workers.iter_mut().any(|worker| worker.process().is_some());
		match validators && workers {
			true => Ok(words),
			false => Err(Error::Setup(format!("nobody is left to go on: {}", words.join("; ")))),
		}
	}

	/// Asks every worker, then every validator, to end, and waits until they have.
	pub async fn stop(&mut self) {
		self.stop_workers().await;
		stop_all(self.validators.iter_mut().filter_map(|validator| validator.process().take()).collect()).await;
	}

	/// Asks every worker to end, and waits until they have.
	pub async fn stop_workers(&mut self) {
		stop_all(self.workers.iter_mut().filter_map(|worker| worker.process().take()).collect()).await;
	}
}

/// Workers that are to hold a place together.
struct Quorum {
	/// File with the members.
	file: String,
	/// Their numbers in the network; the first one leads.
	members: Range<usize>,
}

/// Has leaders propose these quorums of `run`, all at a time, and then all others agree.
async fn agree(workers: &[WorkerNode], run: RunId, quorums: &[Quorum]) -> Result<(), Error> {
	let (id, mut proposals, mut consents) = (run.to_string(), JoinSet::new(), Vec::new());
	for Quorum { file, members } in quorums {
		let Some((leading, others)) = workers.get(members.clone()).and_then(<[_]>::split_first) else { continue };
		proposals.spawn(Ended::output_of(leading.command(["quorum", "form", "--run", &id, "--members", file])));
		let leader = leading.account().id().to_string();
		consents.extend(others.iter().map(|other| other.command(["quorum", "agree", "--run", &id, "--leader", &leader])));
	}
	all(proposals).await?;
	all(consents.into_iter().map(Ended::output_of).collect()).await
}

/// Waits until all of these have ended well.
async fn all(mut commands: JoinSet<Result<String, Error>>) -> Result<(), Error> {
	while let Some(ended) = commands.join_next().await {
		ended.map_err(|error| Error::Setup(error.to_string()))??;
	}
	Ok(())
}

/// What a worker bonds, in NEURO.
fn bond() -> String {
	Network::BOND.checked_div(NEURO).unwrap_or_default().to_string()
}

/// Gives each of these workers so much, and returns when their nodes have finalized it.
async fn give(sponsor: &Submitter, workers: &[WorkerNode], amount: Balance) -> Result<(), Error> {
	let accounts: Vec<_> = workers.iter().map(|worker| worker.account().id()).collect();
	let nodes: BTreeSet<_> = workers.iter().map(WorkerNode::node).collect();
	let gifts = || Call::all(accounts.iter().map(|account| balances::transfer(account.clone(), amount)).collect());
	sponsor.submit(gifts()).await?;
	for node in nodes {
		while !wealth(node, &accounts, amount).await? {
			sponsor.submit(gifts()).await?;
		}
	}
	Ok(())
}

/// Waits until the node at `url` has finalized that each of `accounts` has so much money: its best block can be another branch than the one that
/// the gifts were seen on. `false` if none of [`GIFT_BLOCKS`] blocks holds the gifts: the pool has lost them with a branch.
async fn wealth(url: &str, accounts: &[AccountId], amount: Balance) -> Result<bool, Error> {
	let client = ChainClient::connect(url).await?;
	let first = client.heads().await?.best.number;
	until("the workers' money in a finalized block", FIRST_FINALITY, async || {
		let heads = client.heads().await?;
		if are_rich(&client, heads.finalized, accounts, amount).await? {
			return Ok(Some(true));
		}
		let lost = heads.best.number > first.saturating_add(GIFT_BLOCKS) && !are_rich(&client, heads.best, accounts, amount).await?;
		Ok(lost.then_some(false))
	})
	.await
}

/// Whether each of `accounts` has its gift at a block.
async fn are_rich(client: &ChainClient, at: BlockId, accounts: &[AccountId], amount: Balance) -> Result<bool, Error> {
	let chain = client.at(at).await?;
	for account in accounts {
		if chain.funds(account).await?.free < amount {
			return Ok(false);
		}
	}
	Ok(true)
}

/// Asks all of them to end before it waits for the first one.
pub(crate) async fn stop_all(processes: Vec<Process>) {
	processes.iter().for_each(Process::ask_to_stop);
	for process in processes {
		process.stop().await;
	}
}

fn obituary(error: Error, command: &std::process::Command) -> String {
	let short = match error {
		Error::Ended { name, how, log, .. } => format!("{name} ended ({how}), see {}", log.display()),
		other => other.to_string(),
	};
	format!("{short}; to start it again: {command:?}")
}

/// Starts the validators, and returns when they finalize blocks. The first one starts alone until it answers: it compiles the runtime, which the others find
/// in the folder that they share.
pub(crate) async fn start_all(validators: &mut [Validator]) -> Result<ChainClient, Error> {
	validators.iter_mut().take(1).try_for_each(Validator::start)?;
	let client = first_answer(validators).await?;
	validators.iter_mut().skip(1).try_for_each(Validator::start)?;
	until("the first finalized block", FIRST_FINALITY, async || {
		for validator in validators.iter_mut() {
			validator.process().as_mut().map_or(Ok(()), Process::check)?;
		}
		let heads = unless_away(client.heads().await)?;
		Ok(heads.is_some_and(|heads| heads.finalized.number > 0).then_some(()))
	})
	.await?;
	Ok(client)
}

/// Waits until the first node answers.
pub(crate) async fn first_answer(nodes: &mut [Validator]) -> Result<ChainClient, Error> {
	let first = nodes.first_mut().ok_or_else(|| Error::Setup("there is no node".into()))?;
	until("a node to answer", FIRST_ANSWER, async || {
		first.process().as_mut().map_or(Ok(()), Process::check)?;
		unless_away(ChainClient::connect(first.url()).await)
	})
	.await
}
