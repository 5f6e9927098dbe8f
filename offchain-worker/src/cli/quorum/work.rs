//! `quorum work`.

use super::{members, ways};
use crate::cli::{
	conduct::Conducts,
	directory,
	open::{create_base, RunLock},
	owner, parse,
	start::{check_dataset, connect, last_words, mirrors, stop_on_signals},
	CliError, Common,
};
use clap::Args;
use neuroshard_chain_client::{keys::Keys, Neuro};
use neuroshard_mirror::Mirrors;
use neuroshard_network::{keypair_from_secret, GossipConfig, Multiaddr, Network, NetworkConfig};
use neuroshard_roles::{
	defence::clocks,
	status::{Reporter, Status},
	work_in_quorum, MemberOptions, Parts,
};
use neuroshard_store::Store;
use neuroshard_support::hardware;
use neuroshard_types::{AccountId, RunId};
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Args)]
pub(in crate::cli) struct Work<C: Conducts> {
	/// The run.
	#[arg(long, value_name = "ID")]
	run: RunId,
	/// Who leads.
	#[arg(long, value_name = "ADDRESS", value_parser = parse::address)]
	leader: AccountId,
	/// File with the members, as `quorum form` takes it: where each is reached.
	#[arg(long, value_name = "FILE")]
	members: PathBuf,
	/// Address to listen at for the other members; UDP port 4700 of every interface if not given.
	#[arg(long, value_name = "MULTIADDR")]
	listen: Vec<Multiaddr>,
	/// Folder of the run's dataset; without it, shards come from peers.
	#[arg(long, value_name = "DIR")]
	dataset: Option<PathBuf>,
	/// Where to read checkpoints and shards that no peer has, as for `run`.
	#[arg(long, value_name = "URL", value_delimiter = ',')]
	mirror: Vec<String>,
	/// Most disk that checkpoints and shards may take, in GiB.
	#[arg(long, value_name = "GIB", default_value = parse::MAX_DISK, value_parser = parse::gib)]
	max_disk: u64,
	/// Compute threads; all of the machine's if not given.
	#[arg(long, value_parser = parse::threads)]
	threads: Option<usize>,
	/// Port at which this worker hands out what it has; 0 lets the system choose.
	#[arg(long, default_value_t = 4600)]
	port: u16,
	/// Hand out and fetch on this machine's loopback interface only: for networks on one machine.
	#[arg(long)]
	local: bool,
	/// Dial private addresses that peers registered.
	#[arg(long)]
	dial_private: bool,
	/// Leave earnings below this on chain: a claim costs a fee.
	#[arg(long, value_name = "NEURO", default_value = "0.01")]
	claim_from: Neuro,
	#[command(flatten)]
	conduct: C::OfRun,
}

impl<C: Conducts> Work<C> {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let named = members::read(&self.members)?;
		self.dataset.as_deref().map_or(Ok(()), check_dataset)?;
		let base = common.base()?;
		create_base(&base)?;
		let keys = Keys::unlock(&base, common.suri.as_deref(), &common.unlock())?;
		let _lock = RunLock::take(&base)?;
		let mirrors = mirrors(&self.mirror)?;
		let stop = CancellationToken::new();
		stop_on_signals(&stop)?;

		let Some(client) = connect(&common.node, &stop).await? else { return Ok(0) };
		let at = client.now().await?;
		at.check_compatible()?;
		let who = owner::settle(&client, &keys.account, None).await?;
		if at.provider(&who).await?.is_none() {
			return Err(CliError::NotRegistered { address: who.to_string() });
		}
		let store = Store::open(&base.join("store"), self.max_disk)?;
		let keypair = keypair_from_secret(&mut keys.network.expose().clone())?;
		let (ways, linked) = ways::open(named, keypair.clone(), &self.listen, stop.child_token()).await?;
		let gossip = Some(GossipConfig::of(client.genesis()));
		let config = NetworkConfig { gossip, ..self.network(mirrors) };
		let (net, network) = Network::start(config, keypair, store.clone(), stop.child_token()).await?;
		let (_, knowing) = directory::pass_on(client.clone(), net.clone(), stop.child_token());
		let reporter = Reporter::new(Status {
			pid: std::process::id(),
			account: who.to_string(),
			peer_id: net.peer_id().to_string(),
			..Default::default()
		});
		let written = reporter.write_to(&base);
		let following = tokio::spawn(stop.clone().run_until_cancelled_owned(reporter.clone().follow_nodes(client.nodes())));
		tracing::info!(account = %who, peer = %net.peer_id(), leader = %self.leader, "a member of a quorum of run {}", self.run);
		let clocks = tokio::spawn(clocks::watch(client.clone(), who.clone(), reporter.clone(), stop.child_token()));
		let (threads, conduct) = (hardware::threads(self.threads), C::of_run(self.conduct, who.clone()));
		let options = MemberOptions {
			run: self.run,
			leader: self.leader,
			ways,
			dataset: self.dataset,
			threads,
			claim_from: self.claim_from.0,
			conduct,
		};
		let parts = Parts { base, keys, owner: who, client, store, net, reporter: reporter.clone() };
		let result = work_in_quorum(parts, options, stop.clone()).await;
		stop.cancel();
		// The network closes its connections, and the last status gets to its file.
		let _ = tokio::join!(network, knowing, linked, clocks, following);
		last_words(reporter, written).await;
		result?;
		Ok(0)
	}

	fn network(&self, mirrors: Mirrors) -> NetworkConfig {
		let listen = match self.local {
			true => NetworkConfig::listen_locally(self.port),
			false => NetworkConfig::listen_everywhere(self.port),
		};
		NetworkConfig { listen, dial_private: self.local || self.dial_private, mirrors, ..Default::default() }
	}
}
