//! Handle of the network for the rest of the worker.

use crate::{
	actor::Command,
	address::is_relayed,
	fetch,
	message::{Answer, Request},
	score::{Conduct, Ranking},
	traffic::Traffic,
	FetchError, FetchWatch, Multiaddr, NetworkConfig, PeerAddress, PeerFailure, PeerId, Pulse, Reach, Reachability, Stopped, TrafficTotals,
	Way,
};
use libp2p::{core::ConnectedPoint, multiaddr::Protocol};
use neuroshard_mirror::Mirrors;
use neuroshard_store::{Blob, ContentDescriptor, Store};
use neuroshard_types::H256;
use std::{
	collections::HashMap,
	sync::{Arc, Mutex, PoisonError, Weak},
	time::Duration,
};
use tokio::sync::{mpsc, oneshot, OwnedMutexGuard};

/// A handle on the running network. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
	local: PeerId,
	reach: Reach,
	commands: mpsc::Sender<Command>,
	pub(super) store: Store,
	traffic: Arc<Traffic>,
	/// Requests that one fetch has open at one peer.
	pub(super) requests_per_peer: usize,
	/// Wait before a busy peer is asked again.
	pub(super) busy: Duration,
	/// Asked for what no peer has.
	pub(super) mirrors: Mirrors,
	/// One lock for every blob that is being fetched, so that a second fetch of it waits for the first.
	fetching: Arc<Mutex<HashMap<H256, Weak<tokio::sync::Mutex<()>>>>>,
}

/// The network as people and `doctor` want to see it.
#[derive(Clone, Debug)]
pub struct NetworkStatus {
	/// Our identity.
	pub peer: PeerId,
	/// Addresses we listen on.
	pub listening: Vec<Multiaddr>,
	/// Addresses under which others are known to reach us.
	pub external: Vec<Multiaddr>,
	/// Reachability of this node by others; [`Reachability::words`] explains it.
	pub reachability: Reachability,
	/// Open connections.
	pub connections: Vec<PeerConnection>,
	/// Conduct of peers so far.
	pub standings: Vec<Standing>,
	/// Peers in the address book.
	pub known_peers: usize,
	/// Peers that gossip is passed on to; none if there is no gossip.
	pub gossip_peers: Vec<PeerId>,
}

impl NetworkStatus {
	/// Returns whether there is a connection with `peer`.
	pub fn is_connected(&self, peer: &PeerId) -> bool {
		self.connections.iter().any(|connection| connection.peer == *peer)
	}
}

/// An open connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerConnection {
	/// With whom.
	pub peer: PeerId,
	/// The other end.
	pub address: Multiaddr,
	/// Over what.
	pub transport: Transport,
	/// True if the other side opened it.
	pub inbound: bool,
}

/// Transport of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
	/// QUIC.
	Quic,
	/// TCP, Noise and yamux.
	Tcp,
	/// A relay, to arrange a direct connection.
	Relay,
}

impl Transport {
	pub(super) fn of(endpoint: &ConnectedPoint) -> Self {
		let address = endpoint.get_remote_address();
		match address.iter().any(|part| part == Protocol::QuicV1) {
			_ if endpoint.is_relayed() || is_relayed(address) => Self::Relay,
			true => Self::Quic,
			false => Self::Tcp,
		}
	}
}

/// Conduct of a peer so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
	/// The peer.
	pub peer: PeerId,
	/// Points; 0 to start with.
	pub points: i32,
	/// Time for which it is still banned.
	pub banned_for: Option<Duration>,
}

impl Handle {
	pub(super) fn new(local: PeerId, commands: mpsc::Sender<Command>, store: Store, traffic: Arc<Traffic>, config: &NetworkConfig) -> Self {
		Self {
			local,
			reach: config.reach(),
			commands,
			store,
			traffic,
			requests_per_peer: config.limits.requests_per_peer.max(1),
			busy: config.timeouts.busy,
			mirrors: config.mirrors.clone(),
			fetching: Arc::default(),
		}
	}

	/// Our identity.
	pub fn peer_id(&self) -> PeerId {
		self.local
	}

	/// Returns which addresses that others have named may be dialled: the rule of this network, and of whatever else its worker connects to.
	pub fn reach(&self) -> Reach {
		self.reach
	}

	/// Bytes moved so far.
	pub fn traffic(&self) -> TrafficTotals {
		self.traffic.totals()
	}

	/// Fetches `content` into the store, or finds it there. Asks `peers`, best first, then all others of the address book, then the mirrors for what is
	/// lacking. Every leaf is verified before it is stored. Dropping the future cancels the fetch; what has arrived is kept.
	pub async fn fetch(&self, content: ContentDescriptor, peers: &[PeerAddress]) -> Result<Blob, FetchError> {
		self.fetch_watched(content, peers, &FetchWatch::default()).await
	}

	/// [`Self::fetch`] with progress, a token that cancels it, and the peer to ask first.
	pub async fn fetch_watched(&self, content: ContentDescriptor, peers: &[PeerAddress], watch: &FetchWatch) -> Result<Blob, FetchError> {
		tokio::select! {
			() = watch.cancel.cancelled() => Err(FetchError::Cancelled { root: content.root }),
			outcome = async {
				let _turn = self.turn(content.root).await;
				fetch::fetch(self, content, peers, watch).await
			} => outcome,
		}
	}

	/// Replaces the address book, and connects to its first peers as far as the limits allow.
	pub async fn set_peers(&self, peers: Vec<PeerAddress>) -> Result<(), Stopped> {
		self.send(Command::SetPeers(peers)).await
	}

	/// Returns the signs of life of peers in the address book; none of those that were never heard.
	pub async fn pulses(&self) -> Result<HashMap<PeerId, Pulse>, Stopped> {
		self.query(Command::Pulses).await
	}

	/// Returns the ways to peers as they were measured lately: by heartbeats, and by transfers that took long enough to tell a bandwidth.
	pub async fn ways(&self) -> Result<HashMap<PeerId, Way>, Stopped> {
		self.query(Command::Ways).await
	}

	/// The network's state.
	pub async fn status(&self) -> Result<NetworkStatus, Stopped> {
		self.query(Command::Status).await
	}

	pub(super) async fn book(&self) -> Result<Vec<PeerAddress>, Stopped> {
		self.query(Command::Book).await
	}

	pub(super) async fn rank(&self, peers: Vec<PeerId>, first: Option<PeerId>, root: H256) -> Result<Ranking, Stopped> {
		self.query(|reply| Command::Rank { peers, first, root, reply }).await
	}

	pub(super) async fn judge(&self, peer: PeerId, conduct: Conduct) -> Result<(), Stopped> {
		self.send(Command::Judge { peer, conduct }).await
	}

	/// Judges a peer by how it failed, if the failure is its fault.
	pub(super) async fn judge_failure(&self, peer: PeerId, failure: &PeerFailure) -> Result<(), Stopped> {
		if failure.is_corrupt() {
			self.judge(peer, Conduct::Corrupt).await
		} else if failure.is_unresponsive() {
			self.judge(peer, Conduct::Unresponsive).await
		} else {
			Ok(())
		}
	}

	pub(super) async fn ask(&self, peer: PeerAddress, request: Request) -> Result<Result<Answer, PeerFailure>, Stopped> {
		self.query(|reply| Command::Ask { peer, request, reply }).await
	}

	pub(super) async fn send(&self, command: Command) -> Result<(), Stopped> {
		self.commands.send(command).await.map_err(|_| Stopped)
	}

	pub(super) async fn query<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, Stopped> {
		let (reply, answer) = oneshot::channel();
		self.send(command(reply)).await?;
		answer.await.map_err(|_| Stopped)
	}

	/// Waits until nobody else in this process fetches `root`.
	async fn turn(&self, root: H256) -> OwnedMutexGuard<()> {
		let lock = {
			let mut fetching = self.fetching.lock().unwrap_or_else(PoisonError::into_inner);
			fetching.retain(|_, lock| lock.strong_count() > 0);
			match fetching.get(&root).and_then(Weak::upgrade) {
				Some(lock) => lock,
				None => {
					let lock = Arc::default();
					fetching.insert(root, Arc::downgrade(&lock));
					lock
				}
			}
		};
		lock.lock_owned().await
	}
}
