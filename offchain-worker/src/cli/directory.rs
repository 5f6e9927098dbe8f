//! The directory of providers in commands: by the network of `run`, or by one of their own.

use super::CliError;
use neuroshard_chain_client::{keys::Seed, ChainClient};
use neuroshard_network::{keypair_from_secret, GossipConfig, Handle, Limits, Network, NetworkConfig, Reach};
use neuroshard_roles::directory::{spawn, system_time, Announces, DirectoryParts, Known};
use neuroshard_store::Store;
use std::path::Path;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Peers that a command without a network of its own account keeps connected with.
const PEERS: usize = 8;
/// Bytes of its store, which stays empty.
const STORE: u64 = 1 << 20;

/// The directory of a process whose network has an address book of its own. It announces nothing.
pub(super) fn pass_on(client: ChainClient, net: Handle, stop: CancellationToken) -> (Known, JoinHandle<()>) {
	spawn(DirectoryParts { client, net, announces: None, keeps_book: false, now: system_time() }, stop)
}

/// The directory of a command that has no network otherwise.
pub(super) struct Joined {
	/// What is known.
	pub(super) known: Known,
	knowing: (CancellationToken, JoinHandle<()>),
	network: (CancellationToken, JoinHandle<()>),
}

/// Joins those who tell each other what they have. `name` is that of the command, which has a folder of its own below `base` for it.
///
/// It is a stranger there, with an identity that it makes for this: `run` of the same account may be at work beside it, and peers would take two processes
/// with one identity for one. What it announces is signed, whoever brings it.
pub(super) async fn join(
	base: &Path,
	name: &str,
	client: &ChainClient,
	reach: Reach,
	announces: Option<Announces>,
) -> Result<Joined, CliError> {
	let config = NetworkConfig {
		listen: Vec::new(),
		dial_private: reach == Reach::Anywhere,
		gossip: Some(GossipConfig::of(client.genesis())),
		limits: Limits { kept_peers: PEERS, ..Limits::default() },
		..NetworkConfig::default()
	};
	let store = Store::open(&base.join("directory").join(name), STORE)?;
	let keypair = keypair_from_secret(&mut Seed::random().expose().clone())?;
	let (knows, connected) = (CancellationToken::new(), CancellationToken::new());
	let (net, network) = Network::start(config, keypair, store, connected.clone()).await?;
	let parts = DirectoryParts { client: client.clone(), net, announces, keeps_book: true, now: system_time() };
	let (known, knowing) = spawn(parts, knows.clone());
	Ok(Joined { known, knowing: (knows, knowing), network: (connected, network) })
}

impl Joined {
	/// Says farewell, and ends the network.
	pub(super) async fn leave(self) {
		for (stop, task) in [self.knowing, self.network] {
			stop.cancel();
			// It ends with the token.
			let _ = task.await;
		}
	}
}
