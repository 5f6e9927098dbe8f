//! The ports that `hold` had: drivers look for it there when it is started again.

use neuroshard_atomic_write::write_atomically;
use neuroshard_network::{Incoming, Keypair, Multiaddr, NetworkError, PeerAddress, Protocol, Streams};
use std::{
	fs, io,
	path::{Path, PathBuf},
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// In the base path: the addresses at which it was bound, one a line.
const FILE: &str = "hold-addresses";

/// The addresses at which this worker held layers before.
pub(super) struct Ports {
	path: PathBuf,
	known: Vec<Multiaddr>,
}

impl Ports {
	/// Those of a base path. What cannot be read is as good as nothing: the system chooses ports then.
	pub(super) fn read(base: &Path) -> Self {
		let path = base.join(FILE);
		let text = fs::read_to_string(&path).unwrap_or_default();
		Self { path, known: text.lines().filter_map(|line| line.parse().ok()).collect() }
	}

	/// Listens at these addresses; where the system is to choose the port (0), at the one that it chose before. If somebody else has that, at another one.
	///
	/// # Errors
	/// [`NetworkError`].
	pub(super) async fn listen(
		&self,
		keypair: Keypair,
		listen: Vec<Multiaddr>,
		stop: &CancellationToken,
	) -> Result<(Streams, Incoming, Vec<PeerAddress>, JoinHandle<()>), NetworkError> {
		let wanted: Vec<Multiaddr> = listen.iter().map(|address| self.chosen(address).unwrap_or(address).clone()).collect();
		match Streams::start(keypair.clone(), wanted.clone(), stop.clone()).await {
			Err(NetworkError::Listen { address, reason }) if wanted != listen => {
				tracing::warn!(
					"the address at which drivers look for this worker is taken ({address}: {reason}), and it gets another one: start `serve --ring` again with \
					 that, or name a port of its own with --listen"
				);
				Streams::start(keypair, listen, stop.clone()).await
			}
			started => started,
		}
	}

	/// Keeps the ports at which it listens, of each address that it was to listen at.
	///
	/// # Errors
	/// What the system says.
	pub(super) fn keep(&self, listen: &[Multiaddr], bound: &[PeerAddress]) -> io::Result<()> {
		let bound = bound.iter().map(|bound| bound.addresses.first().and_then(port).unwrap_or(0));
		let lines = listen.iter().zip(bound).map(|(address, port)| format!("{}\n", with_port(address, port)));
		write_atomically(&self.path, lines.collect::<String>().as_bytes())
	}

	/// The address that the system chose before where it was to choose a port.
	fn chosen(&self, address: &Multiaddr) -> Option<&Multiaddr> {
		port(address).filter(|port| *port == 0)?;
		self.known.iter().find(|known| with_port(known, 0) == *address)
	}
}

/// The port in an address.
fn port(address: &Multiaddr) -> Option<u16> {
	address.iter().find_map(|part| match part {
		Protocol::Tcp(port) | Protocol::Udp(port) => Some(port),
		_ => None,
	})
}

/// An address with another port.
fn with_port(address: &Multiaddr, port: u16) -> Multiaddr {
	let part = |part| match part {
		Protocol::Tcp(_) => Protocol::Tcp(port),
		Protocol::Udp(_) => Protocol::Udp(port),
		other => other,
	};
	address.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::net::UdpSocket;

	/// Listens as `hold` does, and says where.
	async fn hold(base: &Path, seed: u8) -> (Vec<Multiaddr>, CancellationToken, JoinHandle<()>) {
		let stop = CancellationToken::new();
		let keypair = neuroshard_network::keypair_from_secret(&mut [seed; 32]).unwrap();
		let listen = ["/ip4/0.0.0.0/udp/0/quic-v1", "/ip4/127.0.0.1/tcp/0"].map(|text| text.parse().unwrap());
		let ports = Ports::read(base);
		let (_, _, bound, task) = ports.listen(keypair, listen.clone().into(), &stop).await.unwrap();
		ports.keep(&listen, &bound).unwrap();
		(bound.into_iter().flat_map(|address| address.addresses).collect(), stop, task)
	}

	#[tokio::test]
	async fn a_holder_is_back_at_the_address_that_it_had_unless_somebody_else_has_it() {
		let base = tempfile::tempdir().unwrap();
		let (first, stop, task) = hold(base.path(), 1).await;
		assert!(first.iter().all(|address| port(address) != Some(0)), "{first:?}");
		stop.cancel();
		task.await.unwrap();
		let (again, stop, task) = hold(base.path(), 1).await;
		assert_eq!(again, first);
		stop.cancel();
		task.await.unwrap();
		// Other software has its port meanwhile.
		let taken = loop {
			// The system may not have let go of it yet.
			match UdpSocket::bind(("0.0.0.0", port(&first[0]).unwrap())) {
				Ok(socket) => break socket,
				Err(_) => tokio::task::yield_now().await,
			}
		};
		let (other, stop, task) = hold(base.path(), 1).await;
		assert_ne!(other[0], first[0]);
		stop.cancel();
		task.await.unwrap();
		drop(taken);
		assert_eq!(hold(base.path(), 1).await.0[0], other[0], "drivers were told that one last");
	}

	#[test]
	fn a_port_that_was_named_is_that_port() {
		let base = tempfile::tempdir().unwrap();
		fs::write(base.path().join(FILE), "/ip4/127.0.0.1/udp/4701/quic-v1\nnonsense\n").unwrap();
		let ports = Ports::read(base.path());
		let chosen = |text: &str| ports.chosen(&text.parse().unwrap()).map(ToString::to_string);
		assert_eq!(chosen("/ip4/127.0.0.1/udp/0/quic-v1").as_deref(), Some("/ip4/127.0.0.1/udp/4701/quic-v1"));
		for other in ["/ip4/127.0.0.1/udp/4700/quic-v1", "/ip4/0.0.0.0/udp/0/quic-v1", "/ip4/127.0.0.1/tcp/0"] {
			assert_eq!(chosen(other), None, "{other}");
		}
	}
}
