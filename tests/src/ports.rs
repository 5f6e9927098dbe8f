//! Ports on the loopback interface.

use crate::Error;
use std::net::{TcpListener, UdpSocket};

/// Ports are looked for from here on: below the ports that systems hand out by themselves.
const FIRST: u16 = 20_000;
/// Ports between two places where processes begin to look, so that networks started together do not meet.
const STRIDE: u16 = 100;
/// Places to begin.
const PLACES: u32 = 100;

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
	/// [`Error::NoPorts`] if one of them is taken, or none are free.
	pub fn reserve(base: Option<u16>, count: u16) -> Result<Self, Error> {
		let range = |first: u16| first.checked_add(count).filter(|end| (first..*end).all(is_free)).map(|end| Self { next: first, end });
		if let Some(base) = base {
			return range(base).ok_or(Error::NoPorts { count, from: base });
		}
		let own = std::process::id() % PLACES;
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

fn is_free(port: u16) -> bool {
	TcpListener::bind(("127.0.0.1", port)).is_ok() && UdpSocket::bind(("127.0.0.1", port)).is_ok()
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
		let error = Ports::reserve(Some(port), 1).unwrap_err();
		assert!(error.to_string().contains("--port-base"), "{error}");
	}
}
