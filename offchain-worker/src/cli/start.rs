//! `run`.

use super::{
	conduct::Conducts,
	device::DeviceOption,
	directory,
	open::{create_base, RunLock},
	owner, parse,
	push::location,
	quorum, CliError, Common,
};
use clap::Args;
use futures::future::OptionFuture;
use neuroshard_chain_client::{keys::Keys, ChainClient, Neuro};
use neuroshard_data::manifest::{DatasetManifest, MANIFEST_FILE};
use neuroshard_mirror::{Mirrors, Timing};
use neuroshard_network::{keypair_from_secret, GossipConfig, Multiaddr, Network, NetworkConfig, PeerAddress};
use neuroshard_roles::{
	defence::clocks,
	offer_start,
	status::{metrics, Reporter, Status},
	Mode, Options, Parts, Worker, WorkerError,
};
use neuroshard_store::{Store, LEFT_FREE};
use neuroshard_support::hardware;
use neuroshard_types::{AccountId, RunId};
use std::{
	net::SocketAddr,
	path::{Path, PathBuf},
	time::Duration,
};
use tokio::{
	signal::unix::{signal, SignalKind},
	task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// Pause between attempts to reach a node that is not up yet.
const NODE_RETRY: Duration = Duration::from_secs(2);
/// Longest wait for the status file's last state when the worker ends.
const LAST_WORDS: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(super) struct Run<C: Conducts> {
	/// Keep and serve checkpoints, and train nothing. Needs no bond.
	#[arg(long)]
	serve_only: bool,
	/// Provider to work for, whose operator the account at hand is to be. It has named the account before: `register --owner` prepares that.
	/// Needed once: afterwards the chain says so.
	#[arg(long, value_name = "ADDRESS", value_parser = parse::address)]
	owner: Option<AccountId>,
	/// Run to take part in; without it, of the approved ones the one that promises most for this machine's time. One that nobody approved is paid nothing.
	#[arg(long, value_name = "ID")]
	run: Option<RunId>,
	/// Hold the place in the run as the leader of a quorum, whose members this file names, as `quorum form` takes it. The model is in files then, and all members take
	/// the inner steps together.
	#[arg(long, value_name = "FILE", requires = "run", conflicts_with = "serve_only")]
	quorum: Option<PathBuf>,
	/// Address to listen at for the members of the quorum; UDP port 4700 of every interface if not given.
	#[arg(long, value_name = "MULTIADDR", requires = "quorum")]
	quorum_listen: Vec<Multiaddr>,
	/// Folder of the run's dataset; without it, shards come from peers.
	#[arg(long, value_name = "DIR")]
	dataset: Option<PathBuf>,
	/// Attest on chain that this account holds the dataset in that folder, for a deposit. Without it, what it attested of that dataset is
	/// withdrawn.
	#[arg(long, requires = "dataset")]
	attest: bool,
	/// Folder of a checkpoint that runs start from, which `model import` filled: it is offered to their workers.
	#[arg(long, value_name = "DIR")]
	start: Option<PathBuf>,
	/// Where to read checkpoints and shards that no peer has, in the layout that `push` writes: https://HOST/PATH, http://HOST/PATH, s3://BUCKET/PATH,
	/// gs://BUCKET/PATH or file:///FOLDER. Given several times, or with commas between addresses, they are asked in that order. Credentials are taken from
	/// the environment, such as AWS_ACCESS_KEY_ID; without any, requests are not signed.
	// Parsed later, since the parser of the command line would quote a secret.
	#[arg(long, value_name = "URL", value_delimiter = ',')]
	mirror: Vec<String>,
	/// Most disk that checkpoints, deltas and shards may take, in GiB.
	#[arg(long, value_name = "GIB", default_value = parse::MAX_DISK, value_parser = parse::gib)]
	max_disk: u64,
	/// Compute threads; all of the machine's if not given.
	#[arg(long, value_parser = parse::threads)]
	threads: Option<usize>,
	#[command(flatten)]
	device: DeviceOption,
	/// Addresses to listen on, such as /ip4/0.0.0.0/udp/4600/quic-v1. Without it: UDP and TCP on every interface, at --port.
	#[arg(long, value_name = "MULTIADDR")]
	listen: Vec<Multiaddr>,
	/// Port to listen on; 0 lets the system choose.
	#[arg(long, default_value_t = 4600, conflicts_with = "listen")]
	port: u16,
	/// Listen on this machine's loopback interface only: for networks on one machine.
	#[arg(long, conflicts_with = "listen")]
	local: bool,
	/// Address under which others reach this worker although no interface has it (a forwarded port).
	#[arg(long, value_name = "MULTIADDR")]
	external: Vec<Multiaddr>,
	/// Relay to be reached through if nobody can reach this worker directly.
	#[arg(long, value_name = "MULTIADDR/p2p/PEER")]
	relay: Vec<PeerAddress>,
	/// Relay for others. For workers with a public address.
	#[arg(long)]
	serve_relay: bool,
	/// Dial private addresses that peers registered, such as 192.168.1.2: for networks without the internet. Goes without saying with
	/// --local.
	#[arg(long)]
	dial_private: bool,
	/// Serve Prometheus metrics at this address.
	#[arg(long, value_name = "HOST:PORT", value_parser = parse::listen)]
	metrics: Option<SocketAddr>,
	/// Share of the others' work to check, from 0 to 1; what is false is disputed with a bond. Disputes of this account's own work are
	/// played in any case.
	#[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse::share)]
	check: f64,
	/// Be drawn for audits also where running a round again takes more memory than is free: it is done in files then, which takes longer. If somebody disputes
	/// what this account reports, the defence takes that memory all the same.
	#[arg(long)]
	audit_in_files: bool,
	#[arg(long = "audit", hide = true, value_name = "SHARE", value_parser = parse::audit)]
	_audit: Option<f64>,
	/// Leave earnings below this on chain: a claim costs a fee.
	#[arg(long, value_name = "NEURO", default_value = "0.01")]
	claim_from: Neuro,
	#[command(flatten)]
	conduct: C::OfRun,
}

impl<C: Conducts> Run<C> {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let base = common.base()?;
		create_base(&base)?;
		let keys = Keys::unlock(&base, common.suri.as_deref(), &common.unlock())?;
		let _lock = RunLock::take(&base)?;
		self.dataset.as_deref().map_or(Ok(()), check_dataset)?;
		let named = self.quorum.as_deref().map(quorum::members::read).transpose()?;
		let (mirrors, device) = (mirrors(&self.mirror)?, self.device.device()?);
		let stop = CancellationToken::new();
		stop_on_signals(&stop)?;

		let Some(client) = connect(&common.node, &stop).await? else { return Ok(0) };
		let at = client.now().await?;
		let who = owner::settle(&client, &keys.account, self.owner.as_ref()).await?;
		let operator = (who != keys.account.id()).then(|| keys.account.address());
		match (at.check_compatible(), at.check_defence()) {
			// What it claimed before the chain was upgraded can be disputed still: it trains no more, and defends that.
			(Err(error), Ok(())) => tracing::error!("{error}"),
			(usable, _) => {
				usable?;
				if !self.serve_only && at.provider(&who).await?.is_none() {
					return Err(CliError::NotRegistered { address: who.to_string() });
				}
			}
		}
		let store = Store::open(&base.join("store"), self.max_disk)?;
		if let Some(words) = short_disk(self.max_disk, &store) {
			tracing::warn!("{words}");
		}
		let (offering, start) = (store.clone(), self.start.clone());
		let offered = tokio::task::spawn_blocking(move || offer_start(&offering, start.as_deref())).await;
		if let Some(root) = offered.map_err(|error| CliError::Invalid(format!("reading --start failed: {error}")))?? {
			tracing::info!("checkpoint {root:?} is offered to whoever starts from it");
		}
		let keypair = keypair_from_secret(&mut keys.network.expose().clone())?;
		let led = match named {
			Some(named) => Some(quorum::ways::open(named, keypair.clone(), &self.quorum_listen, stop.child_token()).await?),
			None => None,
		};
		let gossip = Some(GossipConfig::of(client.genesis()));
		let config = NetworkConfig { gossip, ..self.network(mirrors) };
		let (net, network) = Network::start(config, keypair, store.clone(), stop.child_token()).await?;
		let (_, knowing) = directory::pass_on(client.clone(), net.clone(), stop.child_token());
		let reporter = Reporter::new(Status {
			pid: std::process::id(),
			account: who.to_string(),
			operator: operator.clone(),
			peer_id: net.peer_id().to_string(),
			rounds: Status::read(&base).map(|before| before.rounds).unwrap_or_default(),
			..Default::default()
		});
		let written = reporter.write_to(&base);
		let following = tokio::spawn(stop.clone().run_until_cancelled_owned(reporter.clone().follow_nodes(client.nodes())));
		let clocks = tokio::spawn(clocks::watch(client.clone(), who.clone(), reporter.clone(), stop.child_token()));
		if let Some(address) = self.metrics {
			let bound = metrics::serve(address, reporter.clone(), stop.child_token()).await?;
			tracing::info!("metrics at http://{bound}/metrics");
			reporter.update(|status| status.metrics = Some(bound.to_string()));
		}
		tracing::info!(account = %who, operator, peer = %net.peer_id(), "running");
		let options = Options {
			mode: if self.serve_only { Mode::ServeOnly } else { Mode::Train },
			run: self.run,
			dataset: self.dataset,
			attest: self.attest,
			threads: hardware::threads(self.threads),
			device,
			claim_from: self.claim_from.0,
			conduct: C::of_run(self.conduct, who.clone()),
			check: self.check,
			audit_in_files: self.audit_in_files,
		};
		let parts = Parts { base, keys, owner: who, client, store, net, reporter: reporter.clone() };
		let worker = Worker::new(parts, options)?;
		let (worker, linked) = match led {
			Some((ways, task)) => (worker.leading(ways), Some(task)),
			None => (worker, None),
		};
		let result = worker.run(stop.clone()).await;
		stop.cancel();
		// The network closes its connections, and the last status gets to its file.
		let _ = tokio::join!(network, knowing, clocks, following, OptionFuture::from(linked));
		last_words(reporter, written).await;
		result?;
		Ok(0)
	}

	fn network(&self, mirrors: Mirrors) -> NetworkConfig {
		let listen = match (self.listen.is_empty(), self.local) {
			(false, _) => self.listen.clone(),
			(true, true) => NetworkConfig::listen_locally(self.port),
			(true, false) => NetworkConfig::listen_everywhere(self.port),
		};
		NetworkConfig {
			listen,
			external: self.external.clone(),
			relays: self.relay.clone(),
			dial_private: self.local || self.dial_private,
			serve_relay: self.serve_relay,
			mirrors,
			..Default::default()
		}
	}
}

/// The mirrors that are named.
pub(super) fn mirrors(named: &[String]) -> Result<Mirrors, CliError> {
	let locations = named.iter().map(|text| location("--mirror", text)).collect::<Result<Vec<_>, _>>()?;
	Ok(Mirrors::open(locations, Timing::default()).map_err(WorkerError::from)?)
}

/// Has the last status get to its file.
pub(super) async fn last_words(reporter: Reporter, written: JoinHandle<()>) {
	reporter.update(|status| status.task = Some("stopped".into()));
	drop(reporter);
	let _ = tokio::time::timeout(LAST_WORDS, written).await;
}

/// What to say of a file system that has no room for as much as the store may take.
fn short_disk(max_disk: u64, store: &Store) -> Option<String> {
	let there = store.usage().bytes.saturating_add(store.free().saturating_sub(LEFT_FREE));
	let gib = |bytes: u64| bytes >> 30;
	(there < max_disk).then(|| {
		format!(
			"--max-disk is {} GiB, but the file system has room for {} GiB only: free some space, or name less; rounds for which there is no \
			room are sat out",
			gib(max_disk),
			gib(there)
		)
	})
}

/// Whether `folder` holds a dataset, whichever it is: a mistyped name must not look like a dataset that nobody has.
pub(super) fn check_dataset(folder: &Path) -> Result<(), CliError> {
	let why = match DatasetManifest::read(folder) {
		Ok(_) => return Ok(()),
		Err(_) if !folder.is_dir() => "there is no such folder".into(),
		Err(_) if !folder.join(MANIFEST_FILE).exists() => format!("it has no {MANIFEST_FILE}: name the folder that `dataset build` filled"),
		Err(error) => error.to_string(),
	};
	Err(CliError::Invalid(format!("--dataset {} is not the folder of a dataset: {why}", folder.display())))
}

/// Connects, waiting for a node that is not up yet; `None` if the worker is asked to stop meanwhile.
pub(super) async fn connect(urls: &[String], stop: &CancellationToken) -> Result<Option<ChainClient>, CliError> {
	let mut told = false;
	loop {
		// A node that takes the connection and says nothing must not keep the worker from stopping.
		match stop.run_until_cancelled(ChainClient::connect_all(urls)).await {
			None => return Ok(None),
			Some(Ok(client)) => return Ok(Some(client)),
			Some(Err(error)) if error.passes() => {
				if !std::mem::replace(&mut told, true) {
					tracing::warn!("{error}; trying on");
				}
			}
			Some(Err(error)) => return Err(error.into()),
		}
		tokio::select! {
			() = stop.cancelled() => return Ok(None),
			() = tokio::time::sleep(NODE_RETRY) => {},
		}
	}
}

/// Ctrl-C and a supervisor's TERM both end the worker in good order; what it needs to go on is on disk at any moment.
pub(super) fn stop_on_signals(stop: &CancellationToken) -> Result<(), CliError> {
	let failed = |source: std::io::Error| CliError::Invalid(format!("cannot listen for signals: {source}"));
	let (mut interrupt, mut terminate) =
		(signal(SignalKind::interrupt()).map_err(failed)?, signal(SignalKind::terminate()).map_err(failed)?);
	let stop = stop.clone();
	tokio::spawn(async move {
		tokio::select! {
			_ = interrupt.recv() => {},
			_ = terminate.recv() => {},
		}
		tracing::info!("stopping");
		stop.cancel();
	});
	Ok(())
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_file_system_that_is_too_small_for_the_store_is_named_with_what_it_has() {
		let base = tempfile::tempdir().unwrap();
		let store = Store::open(base.path(), u64::MAX).unwrap();
		assert_eq!(short_disk(1, &store), None);
		let words = short_disk(u64::MAX, &store).unwrap();
		assert!(words.contains(&format!("is {} GiB", (1_u64 << 34) - 1)) && words.contains("sat out"), "{words}");
	}

	#[test]
	fn a_folder_that_is_no_dataset_is_refused_at_the_start_with_what_it_lacks() {
		let base = tempfile::tempdir().unwrap();
		let refusal = |folder: &Path| check_dataset(folder).unwrap_err().to_string();
		let missing = base.path().join("missing");
		assert!(refusal(&missing).contains("there is no such folder") && refusal(&missing).contains("--dataset"), "{}", refusal(&missing));
		assert!(refusal(base.path()).contains("has no manifest.json"), "{}", refusal(base.path()));
		std::fs::write(base.path().join(MANIFEST_FILE), "{}").unwrap();
		assert!(refusal(base.path()).contains("not a dataset manifest"), "{}", refusal(base.path()));
	}

	#[tokio::test]
	async fn a_wrong_address_is_not_waited_for() {
		let error = connect(&["http://127.0.0.1:9944".into()], &CancellationToken::new()).await.map(drop).unwrap_err();
		assert!(error.to_string().contains("ws://"), "{error}");
	}

	#[tokio::test]
	async fn a_worker_that_waits_for_its_node_can_be_stopped() {
		let stop = CancellationToken::new();
		stop.cancel();
		// Port 9 (discard) has no node.
		assert!(connect(&["ws://127.0.0.1:9".into()], &stop).await.unwrap().is_none());
	}

	#[tokio::test]
	async fn a_worker_whose_node_never_answers_can_be_stopped() {
		let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
		let (urls, stop) = ([format!("ws://{}", silent.local_addr().unwrap())], CancellationToken::new());
		let accepted = async {
			let connection = silent.accept().await.unwrap();
			stop.cancel();
			connection
		};
		let (connected, _connection) = tokio::join!(connect(&urls, &stop), accepted);
		assert!(connected.unwrap().is_none());
	}
}
