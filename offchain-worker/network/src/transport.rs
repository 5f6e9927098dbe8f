//! Connections: QUIC, and TCP with Noise and yamux; and where they may lead.

use crate::{address::is_global, NetworkConfig, Reach};
use libp2p::{
	core::{
		muxing::StreamMuxerBox,
		transport::{Boxed, DialOpts, ListenerId, TransportError, TransportEvent},
		upgrade::Version,
	},
	identity::Keypair,
	noise, quic, tcp, yamux, Multiaddr, PeerId, Transport,
};
use std::{
	error::Error,
	io,
	pin::Pin,
	task::{Context, Poll},
};

type Connections = Boxed<(PeerId, StreamMuxerBox)>;

/// All transports, and the one place where an address that was registered, learned from a peer or resolved from a name is refused.
pub(super) struct Dialler {
	connections: Connections,
	reach: Reach,
}

/// The transports that `config` asks for.
pub(super) fn transport(keypair: &Keypair, config: &NetworkConfig) -> Result<Dialler, Box<dyn Error + Send + Sync>> {
	let tcp = tcp::tokio::Transport::new(tcp::Config::default())
		.upgrade(Version::V1Lazy)
		.authenticate(noise::Config::new(keypair)?)
		.multiplex(yamux::Config::default())
		.map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer)));
	let quic = quic::tokio::Transport::new(quic::Config::new(keypair)).map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer)));
	let connections = tcp.or_transport(quic).map(|either, _| either.into_inner()).boxed();
	Ok(Dialler { connections, reach: config.reach() })
}

impl Transport for Dialler {
	type Output = <Connections as Transport>::Output;
	type Error = io::Error;
	type ListenerUpgrade = <Connections as Transport>::ListenerUpgrade;
	type Dial = <Connections as Transport>::Dial;

	fn listen_on(&mut self, id: ListenerId, address: Multiaddr) -> Result<(), TransportError<io::Error>> {
		self.connections.listen_on(id, address)
	}

	fn remove_listener(&mut self, id: ListenerId) -> bool {
		self.connections.remove_listener(id)
	}

	fn dial(&mut self, address: Multiaddr, options: DialOpts) -> Result<Self::Dial, TransportError<io::Error>> {
		match self.reach == Reach::Anywhere || is_global(&address) {
			true => self.connections.dial(address, options),
			false => {
				Err(TransportError::Other(io::Error::other("not a global address: only a worker with --dial-private or --local dials it")))
			}
		}
	}

	fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<TransportEvent<Self::ListenerUpgrade, io::Error>> {
		Pin::new(&mut self.connections).poll(context)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use libp2p::core::{transport::PortUse, Endpoint};

	/// Returns whether an attempt to reach this address would be made. It is not: what a dial returns does nothing until it is polled.
	fn dials(dial_private: bool, address: &str) -> bool {
		let config = NetworkConfig { dial_private, ..Default::default() };
		let mut transport = transport(&Keypair::generate_ed25519(), &config).unwrap();
		let options = DialOpts { role: Endpoint::Dialer, port_use: PortUse::New };
		match transport.dial(address.parse().unwrap(), options) {
			Ok(_) => true,
			Err(TransportError::Other(error)) if error.to_string().contains("--dial-private") => false,
			Err(error) => panic!("{address}: {error}"),
		}
	}

	#[tokio::test]
	async fn private_addresses_are_dialled_only_by_a_worker_that_was_told_to() {
		for address in ["/ip4/10.0.0.1/tcp/22", "/ip4/127.0.0.1/udp/53/quic-v1", "/ip6/fd00::1/tcp/22", "/ip4/169.254.169.254/tcp/80"] {
			assert!(!dials(false, address) && dials(true, address), "{address}");
		}
		for address in ["/ip4/1.1.1.1/tcp/4600", "/ip4/1.1.1.1/udp/4600/quic-v1"] {
			assert!(dials(false, address) && dials(true, address), "{address}");
		}
	}
}
