//! Streams of bytes between two workers, for what those of a ring or of a quorum say to each other. They push back: a writer waits for a reader that is slow.
//!
//! One task owns the swarm and ends with the token that it was started with.

use crate::{start::refusal, transport::transport, NetworkConfig, NetworkError, PeerAddress, Reach};
use futures::StreamExt;
use libp2p::{
	identity::Keypair,
	swarm::{
		dial_opts::{DialOpts, PeerCondition},
		SwarmEvent,
	},
	Multiaddr, PeerId, StreamProtocol, Swarm, SwarmBuilder,
};
use std::{collections::HashMap, time::Duration};
use tokio::{
	sync::{mpsc, oneshot},
	task::JoinHandle,
};
use tokio_util::{
	compat::{Compat, FuturesAsyncReadCompatExt},
	sync::CancellationToken,
};

/// What streams are for: those of another kind are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
	/// Answers of a ring.
	Ring,
	/// Rounds of a quorum.
	Quorum,
}

impl Purpose {
	const fn protocol(self) -> StreamProtocol {
		match self {
			Self::Ring => StreamProtocol::new("/neuroshard/ring/2"),
			Self::Quorum => StreamProtocol::new("/neuroshard/quorum/1"),
		}
	}
}

/// Peers that may wait to be dialled.
const DIALS: usize = 64;
/// For connections to close at the end.
const CLOSING: Duration = Duration::from_secs(1);
/// A connection without a stream is closed after this time.
const IDLE: Duration = Duration::from_secs(30);

/// A stream of bytes to or from another worker.
pub type ByteStream = Compat<libp2p::Stream>;

/// Opens streams.
#[derive(Clone)]
pub struct Streams {
	control: libp2p_stream::Control,
	dials: mpsc::Sender<Dial>,
	local: PeerId,
	purpose: Purpose,
}

/// Streams that others open.
pub struct Incoming(libp2p_stream::IncomingStreams);

/// A peer to be dialled, and who waits for it.
struct Dial {
	address: PeerAddress,
	reply: oneshot::Sender<Result<(), String>>,
}

/// Why there is no stream to a peer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StreamError {
	/// It could not be connected to.
	#[error("{0} cannot be reached: {1}")]
	Unreachable(PeerId, String),
	/// It does not take streams of this kind.
	#[error("{0} takes no streams of this kind: {1}")]
	Refused(PeerId, String),
	/// This side is being shut down.
	#[error("the network of this worker has been shut down")]
	Stopped,
}

impl Streams {
	/// Streams of a ring: see [`Self::start_for`].
	///
	/// # Errors
	/// [`NetworkError`].
	pub async fn start(
		keypair: Keypair,
		listen: Vec<Multiaddr>,
		cancel: CancellationToken,
	) -> Result<(Self, Incoming, Vec<PeerAddress>, JoinHandle<()>), NetworkError> {
		Self::start_for(Purpose::Ring, keypair, listen, cancel).await
	}

	/// Listens at `listen`, if that is asked for, and starts the task that owns the swarm. Returns also the addresses under which others reach this
	/// worker, each with its identity.
	///
	/// # Errors
	/// [`NetworkError`].
	pub async fn start_for(
		purpose: Purpose,
		keypair: Keypair,
		listen: Vec<Multiaddr>,
		cancel: CancellationToken,
	) -> Result<(Self, Incoming, Vec<PeerAddress>, JoinHandle<()>), NetworkError> {
		// Whoever is dialled was named by a person.
		Self::start_within(Reach::Anywhere, purpose, keypair, listen, cancel).await
	}

	/// As [`Self::start_for`], for peers whose addresses others have named: only those within `reach` are dialled.
	///
	/// # Errors
	/// [`NetworkError`].
	pub async fn start_within(
		reach: Reach,
		purpose: Purpose,
		keypair: Keypair,
		listen: Vec<Multiaddr>,
		cancel: CancellationToken,
	) -> Result<(Self, Incoming, Vec<PeerAddress>, JoinHandle<()>), NetworkError> {
		let config = NetworkConfig { dial_private: reach == Reach::Anywhere, ..NetworkConfig::default() };
		let broken = |reason: String| NetworkError::Transport(std::io::Error::other(reason));
		let transports = transport(&keypair, &config).map_err(|error| broken(error.to_string()))?;
		let mut swarm = SwarmBuilder::with_existing_identity(keypair)
			.with_tokio()
			.with_other_transport(|_| transports)
			.map_err(|error| broken(error.to_string()))?
			.with_behaviour(|_| libp2p_stream::Behaviour::new())
			.map_err(|error| broken(error.to_string()))?
			.with_swarm_config(|config| config.with_idle_connection_timeout(IDLE))
			.build();
		let local = *swarm.local_peer_id();
		let mut control = swarm.behaviour().new_control();
		let incoming = control.accept(purpose.protocol()).map_err(|error| broken(error.to_string()))?;
		let mut bound = Vec::new();
		for address in listen {
			let failed = |reason| NetworkError::Listen { address: address.clone(), reason };
			let id = swarm.listen_on(address.clone()).map_err(|error| failed(refusal(&error)))?;
			loop {
				match swarm.select_next_some().await {
					SwarmEvent::NewListenAddr { listener_id, address } if listener_id == id => {
						bound.push(PeerAddress::new(local, [address]));
						break;
					}
					SwarmEvent::ListenerClosed { listener_id, reason, .. } if listener_id == id => {
						return Err(failed(reason.err().map_or_else(|| "the listener closed".to_owned(), |error| error.to_string())));
					}
					_ => {}
				}
			}
		}
		let (dials, requests) = mpsc::channel(DIALS);
		let task = tokio::spawn(run(swarm, requests, cancel));
		Ok((Self { control, dials, local, purpose }, Incoming(incoming), bound, task))
	}

	/// This worker's identity.
	pub fn local(&self) -> PeerId {
		self.local
	}

	/// Opens a stream to a peer.
	///
	/// # Errors
	/// [`StreamError`].
	pub async fn open(&self, address: &PeerAddress) -> Result<ByteStream, StreamError> {
		let peer = address.peer;
		let (reply, connected) = oneshot::channel();
		self.dials.send(Dial { address: address.clone(), reply }).await.map_err(|_| StreamError::Stopped)?;
		connected.await.map_err(|_| StreamError::Stopped)?.map_err(|reason| StreamError::Unreachable(peer, reason))?;
		let stream = self.control.clone().open_stream(peer, self.purpose.protocol()).await;
		Ok(stream.map_err(|error| StreamError::Refused(peer, error.to_string()))?.compat())
	}
}

impl Incoming {
	/// The next stream, and who opened it; `None` when the swarm has ended.
	pub async fn next(&mut self) -> Option<(PeerId, ByteStream)> {
		self.0.next().await.map(|(peer, stream)| (peer, stream.compat()))
	}
}

type Waiting = HashMap<PeerId, Vec<oneshot::Sender<Result<(), String>>>>;

async fn run(mut swarm: Swarm<libp2p_stream::Behaviour>, mut dials: mpsc::Receiver<Dial>, cancel: CancellationToken) {
	let mut waiting = Waiting::new();
	let answer = |waiting: &mut Waiting, peer: &PeerId, result: Result<(), String>| {
		for reply in waiting.remove(peer).unwrap_or_default() {
			// Whoever has gone needs no answer.
			let _ = reply.send(result.clone());
		}
	};
	loop {
		tokio::select! {
			() = cancel.cancelled() => break,
			dial = dials.recv() => {
				let Some(Dial { address: PeerAddress { peer, addresses }, reply }) = dial else { break };
				if swarm.is_connected(&peer) {
					let _ = reply.send(Ok(()));
					continue;
				}
				waiting.entry(peer).or_default().push(reply);
				let options = DialOpts::peer_id(peer).addresses(addresses).condition(PeerCondition::DisconnectedAndNotDialing);
				if let Err(error) = swarm.dial(options.build()) {
					// Somebody else waits for the same peer.
					if !matches!(error, libp2p::swarm::DialError::DialPeerConditionFalse(_)) {
						answer(&mut waiting, &peer, Err(error.to_string()));
					}
				}
			}
			event = swarm.select_next_some() => match event {
				SwarmEvent::ConnectionEstablished { peer_id, .. } => answer(&mut waiting, &peer_id, Ok(())),
				SwarmEvent::OutgoingConnectionError { peer_id: Some(peer), error, .. } => {
					answer(&mut waiting, &peer, Err(error.to_string()));
				}
				_ => {}
			}
		}
	}
	close(swarm).await;
}

/// Closes all connections: the other sides would go on waiting otherwise, until they notice that nothing comes any more.
async fn close(mut swarm: Swarm<libp2p_stream::Behaviour>) {
	let peers: Vec<PeerId> = swarm.connected_peers().copied().collect();
	for peer in peers {
		// Fails only for a peer that has just gone.
		let _ = swarm.disconnect_peer_id(peer);
	}
	let closing = async {
		while swarm.network_info().num_peers() > 0 {
			swarm.select_next_some().await;
		}
	};
	if tokio::time::timeout(CLOSING, closing).await.is_err() {
		tracing::debug!("some connections did not close in time");
	}
}
