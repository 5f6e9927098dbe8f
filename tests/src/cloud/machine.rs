//! Where a process runs.

use super::NETWORK;
use std::{net::Ipv4Addr, path::Path, process::Command};

/// A machine of a network: this one, or a network namespace on it with an address of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
	ip: Ipv4Addr,
	namespace: Option<String>,
}

impl Machine {
	/// This machine's loopback interface.
	pub fn here() -> Self {
		Self { ip: Ipv4Addr::LOCALHOST, namespace: None }
	}

	pub(super) fn elsewhere(ip: Ipv4Addr, namespace: String) -> Self {
		Self { ip, namespace: Some(namespace) }
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
		self.namespace.is_none()
	}

	/// A command that runs `binary` there.
	pub(crate) fn command(&self, binary: &Path) -> Command {
		match &self.namespace {
			None => Command::new(binary),
			Some(namespace) => {
				let mut command = Command::new("ip");
				command.args(["netns", "exec", namespace]).arg(binary);
				command
			}
		}
	}
}
