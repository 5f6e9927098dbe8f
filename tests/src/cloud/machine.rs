//! Where a process runs.

use super::{Clock, NETWORK};
use std::{net::Ipv4Addr, path::Path, process::Command};

/// A machine of a network: this one, or a network namespace on it with an address and a clock of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
	ip: Ipv4Addr,
	elsewhere: Option<Elsewhere>,
}

/// A machine that is not this one.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Elsewhere {
	namespace: String,
	clock: Clock,
}

impl Machine {
	/// This machine's loopback interface.
	pub fn here() -> Self {
		Self { ip: Ipv4Addr::LOCALHOST, elsewhere: None }
	}

	pub(super) fn elsewhere(ip: Ipv4Addr, namespace: String, clock: Clock) -> Self {
		Self { ip, elsewhere: Some(Elsewhere { namespace, clock }) }
	}

	/// Its address.
	pub(crate) fn ip(&self) -> Ipv4Addr {
		self.ip
	}

	/// The addresses of all machines that are namespaces.
	pub(crate) fn others() -> String {
		let [a, b, c] = NETWORK;
		format!("{a}.{b}.{c}.0/24")
	}

	/// Whether it is this machine's loopback interface.
	pub(crate) fn is_here(&self) -> bool {
		self.elsewhere.is_none()
	}

	/// Its clock, if it has one of its own.
	pub(crate) fn clock(&self) -> Option<&Clock> {
		self.elsewhere.as_ref().map(|elsewhere| &elsewhere.clock)
	}

	/// A command that runs `binary` there.
	pub(crate) fn command(&self, binary: &Path) -> Command {
		match &self.elsewhere {
			None => Command::new(binary),
			Some(Elsewhere { namespace, clock }) => {
				let mut command = Command::new("ip");
				command.args(["netns", "exec", namespace]).arg(binary);
				clock.apply_to(&mut command);
				command
			}
		}
	}
}
