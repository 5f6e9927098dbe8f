//! Ports on the loopback interface.

use crate::Error;
use std::{
	net::{TcpListener, UdpSocket},
	sync::atomic::{AtomicU32, Ordering},
};

/// Ports are looked for from here on: below the ports that systems hand out by themselves.
const FIRST: u16 = 20_000;
/// Ports between two places where processes begin to look, so that networks started together do not meet.
const STRIDE: u16 = 100;
/// Places to begin.
const PLACES: u32 = 100;

/// How often this process has looked: the next network of the same process begins at the next place, since it may look before this one listens.
static RESERVED: AtomicU32 = AtomicU32::new(0);

/// Consecutive ports of one network, handed out one by one.
#[derive(Debug)]
pub struct Ports {
	next: u16,
	end: u16,
}

impl Ports {
	/// `count` ports from `base` on, or from the first free range if no base is given.
	///
	/// # Errors
	/// [`Error::PortTaken`] if one of those that were asked for is taken, [`Error::NoPorts`] if there are not so many.
	pub fn reserve(base: Option<u16>, count: u16) -> Result<Self, Error> {
		if let Some(from) = base {
			let end = from.checked_add(count).ok_or(Error::NoPorts { count, from })?;
			(from..end).try_for_each(|port| check(port).map_err(|source| Error::PortTaken { port, count, from, source }))?;
			return Ok(Self { next: from, end });
		}
		let free = |end: &u16, first: u16| (first..*end).all(|port| check(port).is_ok());
		let range = |first: u16| first.checked_add(count).filter(|end| free(end, first)).map(|end| Self { next: first, end });
		let own = std::process::id().wrapping_add(RESERVED.fetch_add(1, Ordering::Relaxed)) % PLACES;
		let places = (0..PLACES).filter_map(|place| u16::try_from((own + place) % PLACES).ok());
		let firsts = places.filter_map(|place| STRIDE.checked_mul(place)?.checked_add(FIRST));
		firsts.into_iter().find_map(range).ok_or(Error::NoPorts { count, from: FIRST })
	}

	/// The next port.
	///
	/// # Errors
	/// [`Error::Setup`] when more are asked for than were reserved.
	pub fn take(&mut self) -> Result<u16, Error> {
		if self.next >= self.end {
			return Err(Error::Setup(format!("all ports up to {} are in use: reserve more", self.end)));
		}
		let port = self.next;
		self.next = port.saturating_add(1);
		Ok(port)
	}
}

/// Fails if something listens on `port` already, or this user may not.
fn check(port: u16) -> std::io::Result<()> {
	TcpListener::bind(("127.0.0.1", port))?;
	UdpSocket::bind(("127.0.0.1", port)).map(drop)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn reserved_ports_are_consecutive_and_run_out() {
		let mut ports = Ports::reserve(None, 2).unwrap();
		let first = ports.take().unwrap();
		assert_eq!(ports.take().unwrap(), first + 1);
		assert!(ports.take().is_err());
	}

	#[test]
	fn a_taken_port_is_not_given_out() {
		let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
		let port = listener.local_addr().unwrap().port();
		let error = Ports::reserve(Some(port), 1).unwrap_err().to_string();
		assert!(error.contains("--port-base") && error.contains(&port.to_string()) && error.contains("in use"), "{error}");
	}

	#[test]
	fn ports_end_at_the_last_one() {
		let error = Ports::reserve(Some(u16::MAX), 2).unwrap_err();
		assert!(matches!(error, Error::NoPorts { count: 2, from: u16::MAX }), "{error}");
	}
}
