//! Identities and addresses of peers.

use crate::reach::is_global_ip;
use libp2p::{multiaddr::Protocol, Multiaddr, PeerId};
use std::{fmt, str::FromStr};

/// Most addresses of one peer that are tried.
const MAX_ADDRESSES: usize = 8;

/// A peer and the addresses under which it may be reached, without the trailing `/p2p/...`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerAddress {
	/// Identity.
	pub peer: PeerId,
	/// Addresses; none if it can only be asked over a connection that it made.
	pub addresses: Vec<Multiaddr>,
}

/// Why something is not a peer's address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
	/// The bytes are not a libp2p peer id.
	#[error("the registered peer id is not one ({0}); the provider has to register again")]
	PeerId(String),
	/// The text is not a multiaddress.
	#[error("{0:?} is not a multiaddress such as /ip4/192.0.2.1/udp/4600/quic-v1/p2p/12D3Koo...: {1}")]
	Multiaddr(String, String),
	/// The multiaddress does not say whose it is.
	#[error("{0:?} does not end in /p2p/ and a peer id")]
	NoPeer(String),
}

impl PeerAddress {
	/// A peer with its addresses; those that belong to another peer are left out, and so is what is more than eight.
	pub fn new(peer: PeerId, addresses: impl IntoIterator<Item = Multiaddr>) -> Self {
		let addresses = addresses.into_iter().filter_map(|address| without_peer(address, peer)).take(MAX_ADDRESSES).collect();
		Self { peer, addresses }
	}

	/// A provider's peer id and addresses in the binary forms that the chain stores. Addresses that cannot be read are left
	/// out: a provider can only make itself unreachable with them.
	pub fn from_bytes<'a>(peer: &[u8], addresses: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, AddressError> {
		let peer = PeerId::from_bytes(peer).map_err(|error| AddressError::PeerId(error.to_string()))?;
		Ok(Self::new(peer, addresses.into_iter().filter_map(|bytes| Multiaddr::try_from(bytes.to_vec()).ok())))
	}

	/// The forms that the chain stores: peer id, and every address.
	pub fn to_bytes(&self) -> (Vec<u8>, Vec<Vec<u8>>) {
		(self.peer.to_bytes(), self.addresses.iter().map(|address| address.to_vec()).collect())
	}
}

/// `address` without a trailing `/p2p/peer`; `None` if it ends in another peer's id.
fn without_peer(mut address: Multiaddr, peer: PeerId) -> Option<Multiaddr> {
	match address.iter().last() {
		Some(Protocol::P2p(named)) if named == peer => {
			address.pop();
			Some(address)
		}
		Some(Protocol::P2p(_)) | None => None,
		Some(_) => Some(address),
	}
}

impl FromStr for PeerAddress {
	type Err = AddressError;

	fn from_str(text: &str) -> Result<Self, AddressError> {
		let mut address = Multiaddr::from_str(text).map_err(|error| AddressError::Multiaddr(text.to_owned(), error.to_string()))?;
		match address.pop() {
			Some(Protocol::P2p(peer)) => Ok(Self::new(peer, (!address.is_empty()).then_some(address))),
			_ => Err(AddressError::NoPeer(text.to_owned())),
		}
	}
}

impl fmt::Display for PeerAddress {
	fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
		match self.addresses.first() {
			Some(address) => write!(f, "{address}/p2p/{}", self.peer),
			None => write!(f, "/p2p/{}", self.peer),
		}
	}
}

/// Returns whether only programs on the same machine can use this address.
pub(crate) fn is_loopback(address: &Multiaddr) -> bool {
	address.iter().any(|part| match part {
		Protocol::Ip4(ip) => ip.is_loopback(),
		Protocol::Ip6(ip) => ip.is_loopback(),
		_ => false,
	})
}

/// Returns whether every IP address in this one is [global](is_global_ip). Names are judged when they are resolved.
pub(crate) fn is_global(address: &Multiaddr) -> bool {
	address.iter().all(|part| match part {
		Protocol::Ip4(ip) => is_global_ip(ip.into()),
		Protocol::Ip6(ip) => is_global_ip(ip.into()),
		_ => true,
	})
}

/// Returns whether this address leads through a relay.
pub(crate) fn is_relayed(address: &Multiaddr) -> bool {
	address.iter().any(|part| part == Protocol::P2pCircuit)
}

#[cfg(test)]
mod tests {
	use super::*;
	use libp2p::identity::Keypair;

	fn peer(seed: u8) -> PeerId {
		Keypair::ed25519_from_bytes([seed; 32]).unwrap().public().to_peer_id()
	}

	#[test]
	fn chain_bytes_go_there_and_back() {
		let address = PeerAddress::new(peer(1), ["/ip4/192.0.2.1/udp/4600/quic-v1".parse().unwrap()]);
		let (id, addresses) = address.to_bytes();
		assert_eq!(PeerAddress::from_bytes(&id, addresses.iter().map(Vec::as_slice)), Ok(address));
	}

	#[test]
	fn unreadable_and_foreign_addresses_are_left_out() {
		let foreign: Multiaddr = format!("/ip4/192.0.2.1/tcp/1/p2p/{}", peer(2)).parse().unwrap();
		let own: Multiaddr = format!("/ip4/192.0.2.2/tcp/2/p2p/{}", peer(1)).parse().unwrap();
		let bytes: Vec<Vec<u8>> = vec![vec![0xff; 40], foreign.to_vec(), own.to_vec(), vec![]];
		let read = PeerAddress::from_bytes(&peer(1).to_bytes(), bytes.iter().map(Vec::as_slice)).unwrap();
		assert_eq!(read.addresses, vec!["/ip4/192.0.2.2/tcp/2".parse::<Multiaddr>().unwrap()]);
		assert!(matches!(PeerAddress::from_bytes(&[1, 2, 3], []), Err(AddressError::PeerId(_))));
	}

	#[test]
	fn text_must_name_the_peer() {
		let text = format!("/ip4/192.0.2.1/udp/4600/quic-v1/p2p/{}", peer(1));
		let address: PeerAddress = text.parse().unwrap();
		assert_eq!(address.peer, peer(1));
		assert_eq!(address.to_string(), text);
		assert!(matches!("/ip4/192.0.2.1/udp/1/quic-v1".parse::<PeerAddress>(), Err(AddressError::NoPeer(_))));
		assert!(matches!("192.0.2.1:4600".parse::<PeerAddress>(), Err(AddressError::Multiaddr(..))));
	}

	#[test]
	fn global_addresses_are_those_of_single_machines_of_the_internet() {
		let global = [
			"/ip4/1.1.1.1/tcp/1",
			"/ip4/9.255.255.255/tcp/1",
			"/ip4/11.0.0.0/tcp/1",
			"/ip4/100.63.255.255/udp/1/quic-v1",
			"/ip4/100.128.0.0/udp/1/quic-v1",
			"/ip4/172.15.255.255/tcp/1",
			"/ip4/172.32.0.0/tcp/1",
			"/ip4/192.167.255.255/tcp/1",
			"/ip4/192.169.0.0/tcp/1",
			"/ip4/223.255.255.255/tcp/1",
			"/ip6/2606:4700:4700::1111/tcp/1",
			"/ip6/2001:200::1/tcp/1",
			"/dns4/example.org/tcp/1",
		];
		let others = [
			"/ip4/0.0.0.0/tcp/1",
			"/ip4/10.0.0.0/tcp/1",
			"/ip4/10.255.255.255/udp/1/quic-v1",
			"/ip4/100.64.0.1/tcp/1",
			"/ip4/127.0.0.1/tcp/1",
			"/ip4/127.255.255.254/tcp/1",
			"/ip4/169.254.169.254/tcp/80",
			"/ip4/172.16.0.1/tcp/1",
			"/ip4/172.31.255.255/tcp/1",
			"/ip4/192.0.0.8/tcp/1",
			"/ip4/192.0.2.1/tcp/1",
			"/ip4/192.88.99.1/tcp/1",
			"/ip4/192.168.0.1/tcp/1",
			"/ip4/198.18.0.1/tcp/1",
			"/ip4/198.51.100.1/tcp/1",
			"/ip4/203.0.113.1/tcp/1",
			"/ip4/224.0.0.251/udp/5353/quic-v1",
			"/ip4/240.0.0.1/tcp/1",
			"/ip4/255.255.255.255/tcp/1",
			"/ip6/::/tcp/1",
			"/ip6/::1/tcp/1",
			"/ip6/::ffff:10.0.0.1/tcp/1",
			"/ip6/::ffff:1.1.1.1/tcp/1",
			"/ip6/::10.0.0.1/tcp/1",
			"/ip6/64:ff9b::a00:1/tcp/1",
			"/ip6/64:ff9b:1::a9fe:a9fe/tcp/1",
			"/ip6/100::1/tcp/1",
			"/ip6/2001::1/tcp/1",
			"/ip6/2001:db8::1/tcp/1",
			"/ip6/2002:a00:1::/tcp/1",
			"/ip6/fc00::1/tcp/1",
			"/ip6/fd12:3456::1/tcp/1",
			"/ip6/fe80::1/tcp/1",
			"/ip6/fec0::1/tcp/1",
			"/ip6/ff02::1/udp/1/quic-v1",
			"/ip4/10.0.0.1/tcp/1/p2p/12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X/p2p-circuit",
		];
		for (text, expected) in global.map(|text| (text, true)).into_iter().chain(others.map(|text| (text, false))) {
			assert_eq!(is_global(&text.parse().unwrap()), expected, "{text}");
		}
	}

	#[test]
	fn a_relayed_address_keeps_its_relay() {
		let text = format!("/ip4/192.0.2.1/tcp/1/p2p/{}/p2p-circuit/p2p/{}", peer(2), peer(1));
		let address: PeerAddress = text.parse().unwrap();
		assert_eq!(address.peer, peer(1));
		assert!(is_relayed(&address.addresses[0]) && !is_loopback(&address.addresses[0]));
	}
}
