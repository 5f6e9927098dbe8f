//! `run`.

use super::{
	open::{create_base, RunLock},
	CliError, Common,
};
use crate::{
	chain::{ChainClient, Neuro},
	data::manifest::{DatasetManifest, MANIFEST_FILE},
	hardware,
	keys::Keys,
	metrics,
	net::{keypair_from_secret, Multiaddr, Network, NetworkConfig, PeerAddress},
	run::{
		plan::Mode,
		status::{Reporter, Status},
		Options, Parts, Worker,
	},
	store::Store,
};
use clap::Args;
use neuroshard_types::RunId;
use std::{
	net::SocketAddr,
	path::{Path, PathBuf},
	time::Duration,
};
use tokio::signal::unix::{signal, SignalKind};
use tokio_util::sync::CancellationToken;

/// Pause between attempts to reach a node that is not up yet.
const NODE_RETRY: Duration = Duration::from_secs(2);
/// Longest wait for the status file's last state when the worker ends.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Bytes of a gibibyte.
const GIB: u64 = 1 << 30;

#[derive(Debug, Args)]
pub(super) struct Run {
	/// Keep and serve checkpoints, and train nothing. Needs no bond.
	#[arg(long)]
	serve_only: bool,
	/// Run to take part in; without it, the first one that draws issuance.
	#[arg(long, value_name = "ID")]
	run: Option<RunId>,
	/// Folder of the run's dataset; without it, shards come from peers.
	#[arg(long, value_name = "DIR")]
	dataset: Option<PathBuf>,
	/// Attest on chain that this account holds the dataset in that folder, for a deposit. Without it, what it attested of that dataset is
	/// withdrawn.
	#[arg(long, requires = "dataset")]
	attest: bool,
	/// Most disk that checkpoints, deltas and shards may take, in GiB.
	#[arg(long, value_name = "GIB", default_value_t = 50.0)]
	max_disk: f64,
	/// Compute threads; all of the machine's if not given.
	#[arg(long, value_parser = super::parse::threads)]
	threads: Option<usize>,
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
	/// Relay for others, and answer their lookups. For workers with a public address.
	#[arg(long)]
	serve_relay: bool,
	/// Serve Prometheus metrics at this address.
	#[arg(long, value_name = "HOST:PORT")]
	metrics: Option<SocketAddr>,
	/// Share of the others' work to check, from 0 to 1; what is false is disputed with a bond. Disputes of this account's own work are
	/// played in any case.
	#[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = super::parse::share)]
	audit: f64,
	/// Leave earnings below this on chain: a claim costs a fee.
	#[arg(long, value_name = "NEURO", default_value = "0.01")]
	claim_from: Neuro,
	#[cfg(any(feature = "faults", test))]
	#[command(flatten)]
	cheat: crate::faults::CheatOptions,
}

impl Run {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let base = common.base()?;
		create_base(&base)?;
		let keys = Keys::load(&base, common.suri.as_deref())?;
		let _lock = RunLock::take(&base)?;
		let max_disk = disk_limit(self.max_disk)?;
		self.dataset.as_deref().map_or(Ok(()), check_dataset)?;
		let stop = CancellationToken::new();
		stop_on_signals(&stop)?;

		let Some(client) = connect(&common.node, &stop).await? else { return Ok(0) };
		let who = keys.account.id();
		let at = client.now().await?;
		at.check_compatible()?;
		if !self.serve_only && at.provider(&who).await?.is_none() {
			return Err(CliError::NotRegistered { address: keys.account.address() });
		}
		let store = Store::open(&base.join("store"), max_disk)?;
		let keypair = keypair_from_secret(&mut keys.network.expose().clone())?;
		let (net, network) = Network::start(self.network(&client), keypair, store.clone(), stop.child_token()).await?;
		let reporter = Reporter::new(Status {
			pid: std::process::id(),
			account: keys.account.address(),
			peer_id: net.peer_id().to_string(),
			rounds: Status::read(&base).map(|before| before.rounds).unwrap_or_default(),
			..Default::default()
		});
		let written = reporter.write_to(&base);
		if let Some(address) = self.metrics {
			let bound = metrics::serve(address, reporter.clone(), stop.child_token()).await?;
			tracing::info!("metrics at http://{bound}/metrics");
			reporter.update(|status| status.metrics = Some(bound.to_string()));
		}
		tracing::info!(account = keys.account.address(), peer = %net.peer_id(), "running");
		let options = Options {
			mode: if self.serve_only { Mode::ServeOnly } else { Mode::Train },
			run: self.run,
			dataset: self.dataset,
			attest: self.attest,
			threads: hardware::threads(self.threads),
			claim_from: self.claim_from.0,
			#[cfg(any(feature = "faults", test))]
			fault: self.cheat.fault(who),
			audit: self.audit,
		};
		let parts = Parts { base, keys, client, store, net, reporter: reporter.clone() };
		let result = Worker::new(parts, options)?.run(stop.clone()).await;
		stop.cancel();
		// The network closes its connections, and the last status gets to its file.
		let _ = network.await;
		reporter.update(|status| status.task = Some("stopped".into()));
		drop(reporter);
		let _ = tokio::time::timeout(LAST_WORDS, written).await;
		result?;
		Ok(0)
	}

	fn network(&self, client: &ChainClient) -> NetworkConfig {
		let listen = match (self.listen.is_empty(), self.local) {
			(false, _) => self.listen.clone(),
			(true, true) => NetworkConfig::listen_locally(self.port),
			(true, false) => NetworkConfig::listen_everywhere(self.port),
		};
		NetworkConfig {
			listen,
			external: self.external.clone(),
			relays: self.relay.clone(),
			network: hex::encode(client.genesis()),
			dht_server: self.serve_relay || self.local,
			serve_relay: self.serve_relay,
			..Default::default()
		}
	}
}

fn disk_limit(gib: f64) -> Result<u64, CliError> {
	if !gib.is_finite() || gib <= 0.0 || gib > 1e9 {
		return Err(CliError::Invalid(format!("--max-disk {gib} is not a size: name GiB, such as 50 or 0.5")));
	}
	// Exact below 2^53 bytes; whole bytes are all that is needed.
	Ok((gib * GIB as f64) as u64)
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
async fn connect(url: &str, stop: &CancellationToken) -> Result<Option<ChainClient>, CliError> {
	let mut told = false;
	loop {
		// A node that takes the connection and says nothing must not keep the worker from stopping.
		match stop.run_until_cancelled(ChainClient::connect(url)).await {
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
fn stop_on_signals(stop: &CancellationToken) -> Result<(), CliError> {
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
	fn disk_limits_are_sizes() {
		assert_eq!(disk_limit(0.5).ok(), Some(GIB / 2));
		for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
			assert!(disk_limit(wrong).is_err());
		}
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
		let error = connect("http://127.0.0.1:9944", &CancellationToken::new()).await.map(drop).unwrap_err();
		assert!(error.to_string().contains("ws://"), "{error}");
	}

	#[tokio::test]
	async fn a_worker_that_waits_for_its_node_can_be_stopped() {
		let stop = CancellationToken::new();
		stop.cancel();
		// Port 9 (discard) has no node.
		assert!(connect("ws://127.0.0.1:9", &stop).await.unwrap().is_none());
	}

	#[tokio::test]
	async fn a_worker_whose_node_never_answers_can_be_stopped() {
		let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
		let (url, stop) = (format!("ws://{}", silent.local_addr().unwrap()), CancellationToken::new());
		let accepted = async {
			let connection = silent.accept().await.unwrap();
			stop.cancel();
			connection
		};
		let (connected, _connection) = tokio::join!(connect(&url, &stop), accepted);
		assert!(connected.unwrap().is_none());
	}
}
