//! The addresses at which a node listens. They are taken when it starts: one that is not to be had is an error at once, and not a node that listens
//! elsewhere or nowhere.

use super::bound::{Bound, Purpose, Unavailable};
use crate::server::{self, Endpoint};
use sc_cli::RunCmd;
use sc_network::multiaddr::{Multiaddr, Protocol};
use sc_rpc_server::RpcEndpoint;
use sc_service::Configuration;
use std::net::SocketAddr;

const METRICS: Purpose = Purpose { visitors: "Prometheus", option: "--prometheus-port (or --no-prometheus)" };

/// Why a node cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
	/// An address is not to be had.
	#[error(transparent)]
	Unavailable(#[from] Unavailable),
	/// Nobody can listen at an address of this kind.
	#[error("cannot listen at {0} for other nodes: give --listen-addr an IP address and a port, such as /ip4/0.0.0.0/tcp/30333")]
	Kind(Multiaddr),
	/// There is no JSON-RPC server.
	#[error(transparent)]
	Server(#[from] server::Error),
}

/// Endpoints that a node listens at.
#[derive(Debug)]
pub struct Listening {
	/// For JSON-RPC.
	pub rpc: Vec<Endpoint>,
	/// For Prometheus, unless metrics are off.
	pub metrics: Option<Bound>,
	/// For other nodes.
	pub peers: Peers,
}

impl Listening {
	/// Takes the addresses of a node that was started with `run`, which `config` follows from.
	///
	/// # Errors
	/// Every [`Error`].
	pub fn bind(run: &RunCmd, config: &Configuration) -> Result<Self, Error> {
		let by_port = run.rpc_params.experimental_rpc_endpoint.is_empty();
		let option = if by_port { "--rpc-port" } else { "--experimental-rpc-endpoint" };
		let endpoints = config.rpc.addr.iter().flatten().cloned().map(|endpoint| RpcEndpoint {
			// Whoever names a port, or relies on the default, looks for the node there.
			retry_random_port: endpoint.retry_random_port && !by_port,
			cors: endpoint.cors.or_else(|| config.rpc.cors.clone()),
			..endpoint
		});
		let rpc = server::bind(endpoints, Purpose { visitors: "JSON-RPC", option })?;
		let metrics = config.prometheus_config.as_ref().map(|metrics| Bound::tcp_of_both(metrics.port, METRICS)).transpose()?;
		let named = !run.network_params.listen_addr.is_empty();
		let peers = Peers { addresses: config.network.listen_addresses.clone(), named };
		peers.check()?;
		Ok(Self { rpc, metrics, peers })
	}
}

/// The addresses for other nodes. The network takes them itself, and shares them with whoever else does, so they cannot be kept for it.
#[derive(Debug)]
pub struct Peers {
	addresses: Vec<Multiaddr>,
	/// True if the operator has named each of them.
	named: bool,
}

impl Peers {
	/// Makes sure that they are to be had. Those that the machine does not have are left out, unless the operator has named them.
	///
	/// # Errors
	/// [`Error::Unavailable`], [`Error::Kind`].
	pub fn check(&self) -> Result<(), Error> {
		let option = if self.named { "--listen-addr" } else { "--port" };
		let purpose = Purpose { visitors: "other nodes", option };
		for multiaddress in &self.addresses {
			let (address, is_tcp) = socket_address(multiaddress).ok_or_else(|| Error::Kind(multiaddress.clone()))?;
			let bound = if is_tcp { Bound::tcp(address, purpose) } else { Bound::udp(address, purpose) };
			match bound {
				Ok(_) => {}
				Err(error) if !self.named && error.is_missing() => tracing::debug!(%error, "left out"),
				Err(error) => return Err(error.into()),
			}
		}
		Ok(())
	}
}

/// The socket's address, and whether it is one of TCP or of UDP.
fn socket_address(address: &Multiaddr) -> Option<(SocketAddr, bool)> {
	let mut parts = address.iter();
	let ip = match parts.next()? {
		Protocol::Ip4(ip) => ip.into(),
		Protocol::Ip6(ip) => ip.into(),
		_ => return None,
	};
	match parts.next()? {
		Protocol::Tcp(port) => Some((SocketAddr::new(ip, port), true)),
		Protocol::Udp(port) => Some((SocketAddr::new(ip, port), false)),
		_ => None,
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::net::{TcpListener, UdpSocket};

	fn check(named: bool, addresses: &[&str]) -> Result<(), String> {
		let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
		Peers { addresses, named }.check().map_err(|error| error.to_string())
	}

	#[test]
	fn a_port_for_other_nodes_that_is_taken_is_named_with_the_option_that_chose_it() {
		let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
		let (tcp, udp) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
		for (named, option) in [(true, "--listen-addr"), (false, "--port")] {
			for address in [
				format!("/ip4/127.0.0.1/tcp/{tcp}"),
				format!("/ip4/127.0.0.1/tcp/{tcp}/ws"),
				format!("/ip4/127.0.0.1/udp/{udp}/webrtc-direct"),
			] {
				let port = if address.contains("tcp") { tcp } else { udp };
				let words = check(named, &["/ip4/127.0.0.1/tcp/0", &address]).unwrap_err();
				assert!(words.contains(option) && words.contains(&port.to_string()) && words.contains("taken"), "{words}");
			}
		}
	}

	#[test]
	fn an_address_that_this_machine_lacks_is_an_error_only_if_the_operator_has_named_it() {
		let elsewhere = ["/ip4/192.0.2.1/tcp/0", "/ip4/127.0.0.1/tcp/0"];
		assert!(check(true, &elsewhere).unwrap_err().contains("not one of this machine"));
		assert_eq!(check(false, &elsewhere), Ok(()));
		for address in ["/dns/localhost/tcp/30333", "/ip4/127.0.0.1", "/ip4/127.0.0.1/sctp/30333"] {
			assert!(check(true, &[address]).unwrap_err().contains(address));
		}
	}
}
