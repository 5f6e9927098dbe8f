//! Starting the network.

use crate::{
	actor::Actor,
	behaviour::{self, Behaviour},
	traffic::Traffic,
	Handle, NetworkConfig, NetworkError,
};
use futures::StreamExt;
use libp2p::{core::transport::ListenerId, identity::Keypair, swarm::SwarmEvent, Multiaddr, Swarm, TransportError};
use neuroshard_store::Store;
use std::{collections::HashMap, io, sync::Arc};
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// Commands that may wait for the actor.
const COMMANDS: usize = 256;

/// The network of a worker.
#[derive(Clone, Copy, Debug)]
pub struct Network;

impl Network {
	/// Starts listening and spawns the task that owns the swarm, which serves what is in `store` and runs until `cancel` is
	/// cancelled. On return the addresses listened on are known.
	pub async fn start(
		config: NetworkConfig,
		keypair: Keypair,
		store: Store,
		cancel: CancellationToken,
	) -> Result<(Handle, JoinHandle<()>), NetworkError> {
		let traffic = Arc::new(Traffic::default());
		let local = keypair.public().to_peer_id();
		let mut swarm = behaviour::build(&config, keypair, traffic.clone())?;
		listen(&mut swarm, &config).await?;
		for address in &config.external {
			swarm.add_external_address(address.clone());
		}
		let (sender, receiver) = mpsc::channel(COMMANDS);
		let handle = Handle::new(local, sender, store.clone(), traffic, &config);
		let actor = Actor::new(swarm, config, store, receiver);
		Ok((handle, tokio::spawn(actor.run(cancel))))
	}
}

/// Listens on every configured address and waits until each listener has told where it is.
async fn listen(swarm: &mut Swarm<Behaviour>, config: &NetworkConfig) -> Result<(), NetworkError> {
	let mut pending: HashMap<ListenerId, Multiaddr> = HashMap::new();
	for address in &config.listen {
		let listener = swarm.listen_on(address.clone());
		let listener = listener.map_err(|error| NetworkError::Listen { address: address.clone(), reason: refusal(&error) })?;
		pending.insert(listener, address.clone());
	}
	let deadline = tokio::time::sleep(config.timeouts.dial);
	tokio::pin!(deadline);
	while let Some(waiting_for) = pending.values().next().cloned() {
		let event = tokio::select! {
			event = swarm.select_next_some() => event,
			() = &mut deadline => return Err(NetworkError::ListenTimeout(waiting_for)),
		};
		match event {
			SwarmEvent::NewListenAddr { listener_id, .. } => {
				pending.remove(&listener_id);
			}
			SwarmEvent::ListenerClosed { listener_id, reason, .. } => {
				if let Some(address) = pending.remove(&listener_id) {
					let reason = reason.err().map_or_else(|| "the listener closed".to_owned(), |error| error.to_string());
					return Err(NetworkError::Listen { address, reason });
				}
			}
			_ => {}
		}
	}
	Ok(())
}

/// Why a listener or a dial was refused. The display of libp2p's own error is empty if the system refused it.
pub(super) fn refusal(error: &TransportError<io::Error>) -> String {
	match error {
		TransportError::Other(error) => error.to_string(),
		unsupported => unsupported.to_string(),
	}
}

/// The libp2p identity that belongs to an ed25519 secret. The bytes given are zeroed.
pub fn keypair_from_secret(secret: &mut [u8; 32]) -> Result<Keypair, NetworkError> {
	Keypair::ed25519_from_bytes(secret).map_err(|_| NetworkError::Key)
}
