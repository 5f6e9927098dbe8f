//! Behaviour of the network: nodes of this process on loopback, at ports that the system chooses.

mod announcements;
mod conduct;
mod discovery;
mod gossip;
mod life;
mod mirrors;
mod notes;
mod strangers;
mod transfer;

use crate::{
	message::{Request, CONTENT_PROTOCOL},
	score::Scores,
	*,
};
use ::codec::{DecodeAll, Encode};
use futures::{AsyncReadExt, AsyncWriteExt, StreamExt};
use libp2p::{identity::Keypair, noise, swarm::SwarmEvent, tcp, yamux, Multiaddr, PeerId, StreamProtocol, Swarm, SwarmBuilder};
use neuroshard_store::{ContentDescriptor, LeafList, Store, LEAF_BYTES};
use neuroshard_types::H256;
use std::{
	sync::{Arc, Mutex},
	time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const PLENTY: u64 = 1 << 30;
/// No step of a test on one machine takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

fn bytes(seed: u8, leaves: usize) -> Vec<u8> {
	(0..leaves * LEAF_BYTES).map(|at| (at / LEAF_BYTES * 31 + at % 251) as u8 ^ seed.wrapping_mul(157)).collect()
}

fn content(data: &[u8]) -> ContentDescriptor {
	LeafList::of(data).unwrap().descriptor()
}

fn keypair(seed: u8) -> Keypair {
	keypair_from_secret(&mut [seed; 32]).unwrap()
}

fn quic() -> Vec<Multiaddr> {
	vec!["/ip4/127.0.0.1/udp/0/quic-v1".parse().unwrap()]
}

fn tcp_only() -> Vec<Multiaddr> {
	vec!["/ip4/127.0.0.1/tcp/0".parse().unwrap()]
}

/// A node with its store.
struct Node {
	handle: Handle,
	store: Store,
	cancel: CancellationToken,
	task: JoinHandle<()>,
	dir: TempDir,
}

impl Node {
	async fn start(seed: u8) -> Self {
		Self::configured(seed, |_| {}).await
	}

	async fn configured(seed: u8, change: impl FnOnce(&mut NetworkConfig)) -> Self {
		Self::over(seed, tempfile::tempdir().unwrap(), change).await
	}

	/// A node whose store is in `dir`.
	async fn over(seed: u8, dir: TempDir, change: impl FnOnce(&mut NetworkConfig)) -> Self {
		let mut config = NetworkConfig::default();
		// Whoever asks is served: what strangers get has tests of its own.
		config.limits.serving_strangers = config.limits.serving;
		change(&mut config);
		let store = Store::open(dir.path(), PLENTY).unwrap();
		let cancel = CancellationToken::new();
		let (handle, task) = Network::start(config, keypair(seed), store.clone(), cancel.clone()).await.unwrap();
		Self { handle, store, cancel, task, dir }
	}

	async fn address(&self) -> PeerAddress {
		PeerAddress::new(self.handle.peer_id(), self.handle.status().await.unwrap().listening)
	}

	/// Fetches within [`PATIENCE`].
	async fn fetch(&self, content: ContentDescriptor, peers: &[PeerAddress]) -> Result<Vec<u8>, FetchError> {
		let fetched = tokio::time::timeout(PATIENCE, self.handle.fetch(content, peers)).await;
		fetched.expect("the fetch ends").map(|blob| blob.bytes().unwrap())
	}

	async fn standing(&self, peer: PeerId) -> Option<Standing> {
		self.handle.status().await.unwrap().standings.into_iter().find(|standing| standing.peer == peer)
	}

	/// Waits until the status is as asked.
	async fn until(&self, wanted: impl Fn(&NetworkStatus) -> bool) -> NetworkStatus {
		let waiting = async {
			loop {
				let status = self.handle.status().await.unwrap();
				if wanted(&status) {
					return status;
				}
				tokio::task::yield_now().await;
			}
		};
		tokio::time::timeout(PATIENCE, waiting).await.expect("the network gets there")
	}

	/// Stops the node and gives its folder back.
	async fn stop(self) -> TempDir {
		self.cancel.cancel();
		self.task.await.unwrap();
		self.dir
	}
}

/// Reaction of a hand-made peer to a request.
enum Reaction {
	/// Sends these bytes, whatever they are.
	Raw(Vec<u8>),
	/// Never answers.
	Silence,
	/// Closes the stream without an answer.
	Close,
}

impl Reaction {
	/// A well-formed answer with this data.
	fn data(data: &[u8]) -> Self {
		let length = u32::try_from(data.len()).unwrap();
		Self::Raw([&[0], length.to_le_bytes().as_slice(), data].concat())
	}
}

/// The honest answer to `request` for the blob `data`.
fn honest(data: &[u8], request: &Request) -> Vec<u8> {
	match *request {
		Request::Hashes { start, count, .. } => {
			LeafList::of(data).unwrap().hashes()[start as usize..][..count as usize].as_flattened().to_vec()
		}
		Request::Note { .. } | Request::Farewell | Request::Gossip => Vec::new(),
		Request::Leaves { start, count, .. } => data[start as usize * LEAF_BYTES..][..count as usize * LEAF_BYTES].to_vec(),
	}
}

type RawSwarm = Swarm<libp2p_stream::Behaviour>;

fn raw_swarm(seed: u8) -> RawSwarm {
	SwarmBuilder::with_existing_identity(keypair(seed))
		.with_tokio()
		.with_tcp(tcp::Config::default(), noise::Config::new, yamux::Config::default)
		.unwrap()
		.with_quic()
		.with_behaviour(|_| libp2p_stream::Behaviour::new())
		.unwrap()
		.with_swarm_config(|config| config.with_idle_connection_timeout(PATIENCE))
		.build()
}

/// Starts a peer that speaks the content protocol by hand, built without any of our own code for it.
async fn hand_made(seed: u8, react: impl Fn(Request) -> Reaction + Send + Sync + 'static) -> (PeerAddress, Arc<Mutex<Vec<Request>>>) {
	let mut swarm = raw_swarm(seed);
	swarm.listen_on(quic().remove(0)).unwrap();
	let address = loop {
		if let SwarmEvent::NewListenAddr { address, .. } = swarm.select_next_some().await {
			break address;
		}
	};
	let mut incoming = swarm.behaviour().new_control().accept(StreamProtocol::new(CONTENT_PROTOCOL)).unwrap();
	let peer = PeerAddress::new(*swarm.local_peer_id(), [address]);
	let asked = Arc::new(Mutex::new(Vec::new()));
	let (react, log) = (Arc::new(react), asked.clone());
	tokio::spawn(async move {
		loop {
			tokio::select! {
				_ = swarm.select_next_some() => {},
				Some((_, mut stream)) = incoming.next() => {
					let (react, log) = (react.clone(), log.clone());
					tokio::spawn(async move {
						let mut message = Vec::new();
						stream.read_to_end(&mut message).await.unwrap();
						let request = Request::decode_all(&mut &message[4..]).unwrap();
						log.lock().unwrap().push(request);
						match react(request) {
							Reaction::Raw(bytes) => {
								// The other side hangs up when it has seen enough.
								let _ = stream.write_all(&bytes).await;
								let _ = stream.close().await;
							},
							Reaction::Silence => std::future::pending().await,
							Reaction::Close => stream.close().await.unwrap(),
						}
					});
				},
			}
		}
	});
	(peer, asked)
}

/// A blob for which `asker` asks `first` before `second`.
fn blob_asked_first_of(asker: PeerId, first: PeerId, second: PeerId, leaves: usize) -> Vec<u8> {
	let scores = Scores::new(ScorePolicy::default());
	let asks_first = |data: &Vec<u8>| scores.rank(&[first, second], None, asker, content(data).root, Instant::now()).usable[0] == first;
	(0..=255).map(|seed| bytes(seed, leaves)).find(asks_first).unwrap()
}
