//! Admission of incoming connections: most places are for peers of the address book, since it costs nothing to be many strangers.

use libp2p::{
	core::{transport::PortUse, ConnectedPoint, Endpoint},
	swarm::{dummy, ConnectionDenied, ConnectionId, FromSwarm, NetworkBehaviour, THandler, THandlerInEvent, THandlerOutEvent, ToSwarm},
	Multiaddr, PeerId,
};
use std::{
	collections::{HashMap, HashSet},
	convert::Infallible,
	task::{Context, Poll},
};

/// Refuses connections of strangers beyond a number.
pub(crate) struct Admission {
	known: HashSet<PeerId>,
	/// Connections that others opened.
	inbound: HashMap<ConnectionId, PeerId>,
	most_strangers: usize,
}

/// Strangers have opened as many connections as they may.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("too many peers are connected that are not in the address book")]
struct TooManyStrangers;

impl Admission {
	/// Admits so many connections that strangers open.
	pub(crate) fn new(most_strangers: usize) -> Self {
		Self { known: HashSet::new(), inbound: HashMap::new(), most_strangers }
	}

	/// Replaces the peers that are no strangers. Connections that are open stay.
	pub(crate) fn set_known(&mut self, known: HashSet<PeerId>) {
		self.known = known;
	}

	/// Returns whether `peer` is no stranger.
	pub(crate) fn knows(&self, peer: &PeerId) -> bool {
		self.known.contains(peer)
	}
}

impl NetworkBehaviour for Admission {
	type ConnectionHandler = dummy::ConnectionHandler;
	type ToSwarm = Infallible;

	fn handle_established_inbound_connection(
		&mut self,
		_: ConnectionId,
		peer: PeerId,
		_: &Multiaddr,
		_: &Multiaddr,
	) -> Result<THandler<Self>, ConnectionDenied> {
		let strangers = || self.inbound.values().filter(|other| !self.knows(other)).count();
		match self.knows(&peer) || strangers() < self.most_strangers {
			true => Ok(dummy::ConnectionHandler),
			false => Err(ConnectionDenied::new(TooManyStrangers)),
		}
	}

	fn handle_established_outbound_connection(
		&mut self,
		_: ConnectionId,
		_: PeerId,
		_: &Multiaddr,
		_: Endpoint,
		_: PortUse,
	) -> Result<THandler<Self>, ConnectionDenied> {
		Ok(dummy::ConnectionHandler)
	}

	fn on_swarm_event(&mut self, event: FromSwarm) {
		match event {
			FromSwarm::ConnectionEstablished(opened) if matches!(opened.endpoint, ConnectedPoint::Listener { .. }) => {
				self.inbound.insert(opened.connection_id, opened.peer_id);
			}
			FromSwarm::ConnectionClosed(closed) => {
				self.inbound.remove(&closed.connection_id);
			}
			_ => {}
		}
	}

	fn on_connection_handler_event(&mut self, _: PeerId, _: ConnectionId, event: THandlerOutEvent<Self>) {
		match event {}
	}

	fn poll(&mut self, _: &mut Context<'_>) -> Poll<ToSwarm<Self::ToSwarm, THandlerInEvent<Self>>> {
		Poll::Pending
	}
}
