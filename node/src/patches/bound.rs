//! An address at which a node is going to listen.

use socket2::{Domain, Socket, Type};
use std::{
	io,
	net::{Ipv4Addr, SocketAddr},
};
use tokio::net::TcpListener;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1_024;

/// Purpose of an address: who comes to it, and how the operator chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purpose {
	/// Clients that come there.
	pub visitors: &'static str,
	/// The option that names it.
	pub option: &'static str,
}

/// An address that is not to be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {address} for {}: {} ({error}). Name another one with {}", purpose.visitors, self.why(), purpose.option)]
pub struct Unavailable {
	/// The address.
	pub address: SocketAddr,
	/// Purpose of the address.
	pub purpose: Purpose,
	/// Error of the operating system.
	pub error: io::Error,
}

impl Unavailable {
	fn why(&self) -> &'static str {
		match self.error.kind() {
			io::ErrorKind::AddrInUse => "the port is taken, for instance by another node",
			io::ErrorKind::PermissionDenied => "the system leaves this port to privileged users",
			io::ErrorKind::AddrNotAvailable => "the address is not one of this machine",
			_ => "the system refuses it",
		}
	}

	/// Returns whether the machine lacks the address, or all of its family, rather than somebody else having it.
	pub fn is_missing(&self) -> bool {
		!matches!(self.error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied)
	}
}

/// An address that is this node's, though nobody can connect to it yet.
#[derive(Debug)]
pub struct Bound {
	socket: Socket,
	address: SocketAddr,
	purpose: Purpose,
}

impl Bound {
	/// Takes an address for TCP. All addresses of IPv6 are not those of IPv4, too.
	///
	/// # Errors
	/// It is not to be had.
	pub fn tcp(address: SocketAddr, purpose: Purpose) -> Result<Self, Unavailable> {
		Self::of(address, Type::STREAM, true, purpose)
	}

	/// As [`Self::tcp`], but all addresses are those of both families, as far as the machine speaks them.
	///
	/// # Errors
	/// As [`Self::tcp`].
	pub fn tcp_of_both(address: SocketAddr, purpose: Purpose) -> Result<Self, Unavailable> {
		match Self::of(address, Type::STREAM, false, purpose) {
			Err(error) if error.is_missing() && address.is_ipv6() && address.ip().is_unspecified() => {
				Self::tcp((Ipv4Addr::UNSPECIFIED, address.port()).into(), purpose)
			}
			bound => bound,
		}
	}

	/// As [`Self::tcp`], but for UDP.
	///
	/// # Errors
	/// As [`Self::tcp`].
	pub fn udp(address: SocketAddr, purpose: Purpose) -> Result<Self, Unavailable> {
		Self::of(address, Type::DGRAM, true, purpose)
	}

	fn of(address: SocketAddr, kind: Type, only_v6: bool, purpose: Purpose) -> Result<Self, Unavailable> {
		let bind = || {
			let socket = Socket::new(Domain::for_address(address), kind, None)?;
			if address.is_ipv6() {
				socket.set_only_v6(only_v6)?;
			}
			if kind == Type::STREAM {
				// Connections of a node that has just ended are no hindrance.
				socket.set_reuse_address(true)?;
			}
			socket.bind(&address.into())?;
			Ok(socket)
		};
		let socket = bind().map_err(|error| Unavailable { address, purpose, error })?;
		Ok(Self { socket, address, purpose })
	}

	/// The address, with the port that the system chose if none was named.
	///
	/// # Errors
	/// The system does not tell it.
	pub fn local_address(&self) -> Result<SocketAddr, Unavailable> {
		let Self { socket, address, purpose } = self;
		let local = socket.local_addr().map(|local| local.as_socket().unwrap_or(*address));
		local.map_err(|error| Unavailable { address: *address, purpose: *purpose, error })
	}

	/// Lets clients connect. Has to be called within a tokio runtime.
	///
	/// # Errors
	/// Somebody else has begun to listen there.
	pub fn listen(self) -> Result<TcpListener, Unavailable> {
		let Self { socket, address, purpose } = self;
		let listen = || {
			socket.listen(BACKLOG)?;
			socket.set_nonblocking(true)?;
			TcpListener::from_std(socket.into())
		};
		listen().map_err(|error| Unavailable { address, purpose, error })
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::net::{Ipv6Addr, TcpStream, UdpSocket};

	const PURPOSE: Purpose = Purpose { visitors: "tests", option: "--test-port" };

	fn says(error: &Unavailable, words: &[&str]) {
		let said = error.to_string();
		assert!(words.iter().chain(&["tests", "--test-port"]).all(|word| said.contains(word)), "{said}");
	}

	#[test]
	fn a_taken_port_is_an_error_that_names_it_and_its_option() {
		let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
		let address = taken.local_addr().unwrap();
		let error = Bound::tcp(address, PURPOSE).unwrap_err();
		says(&error, &[&address.to_string(), "taken"]);
		assert!(!error.is_missing());
		let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
		let error = Bound::udp(taken.local_addr().unwrap(), PURPOSE).unwrap_err();
		says(&error, &["taken"]);
	}

	#[test]
	fn an_address_of_another_machine_is_an_error_that_says_so() {
		// Reserved for documentation (RFC 5737).
		for address in ["192.0.2.1:0", "[2001:db8::1]:0"] {
			let error = Bound::tcp(address.parse().unwrap(), PURPOSE).unwrap_err();
			assert!(error.is_missing(), "{error}");
		}
		let error = Bound::tcp("192.0.2.1:0".parse().unwrap(), PURPOSE).unwrap_err();
		says(&error, &["192.0.2.1", "not one of this machine"]);
	}

	#[test]
	fn a_privileged_port_is_named_as_such() {
		let error = io::ErrorKind::PermissionDenied.into();
		let error = Unavailable { address: "127.0.0.1:80".parse().unwrap(), purpose: PURPOSE, error };
		says(&error, &["127.0.0.1:80", "privileged"]);
		assert!(!error.is_missing());
	}

	#[tokio::test]
	async fn nobody_connects_before_the_node_listens_and_nobody_else_listens_after() {
		let bound = Bound::tcp("127.0.0.1:0".parse().unwrap(), PURPOSE).unwrap();
		let address = bound.local_address().unwrap();
		assert!(TcpStream::connect(address).is_err());
		// Another node that starts at the same time.
		let other = Bound::tcp(address, PURPOSE).unwrap();
		let _listener = bound.listen().unwrap();
		TcpStream::connect(address).unwrap();
		says(&other.listen().unwrap_err(), &[&address.to_string(), "taken"]);
	}

	#[tokio::test]
	async fn all_addresses_of_ipv6_are_those_of_ipv4_only_where_that_is_meant() {
		let all = Bound::tcp_of_both((Ipv6Addr::UNSPECIFIED, 0).into(), PURPOSE).unwrap().listen().unwrap();
		let port = all.local_addr().unwrap().port();
		TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
		let four = Bound::tcp((Ipv4Addr::UNSPECIFIED, 0).into(), PURPOSE).unwrap().listen().unwrap();
		match Bound::tcp((Ipv6Addr::UNSPECIFIED, four.local_addr().unwrap().port()).into(), PURPOSE) {
			Ok(six) => drop(six.listen().unwrap()),
			Err(error) => assert!(error.is_missing(), "{error}"),
		}
	}
}
