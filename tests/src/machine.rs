//! Where a process runs.

use std::{
	net::Ipv4Addr,
	path::{Path, PathBuf},
	process::Command,
};

/// A machine of a network: this one, or a network namespace on it with an address of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
	ip: Ipv4Addr,
	elsewhere: Option<Elsewhere>,
}

/// A machine that is not this one.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Elsewhere {
	namespace: String,
	environment: Vec<(&'static str, PathBuf)>,
}

impl Machine {
	/// This machine's loopback interface.
	pub fn here() -> Self {
		Self { ip: Ipv4Addr::LOCALHOST, elsewhere: None }
	}

	/// A network namespace with this address. Its processes have these variables in their environment.
	pub fn elsewhere(ip: Ipv4Addr, namespace: String, environment: Vec<(&'static str, PathBuf)>) -> Self {
		Self { ip, elsewhere: Some(Elsewhere { namespace, environment }) }
	}

	/// Its address.
	pub(crate) fn ip(&self) -> Ipv4Addr {
		self.ip
	}

	/// The addresses of all machines of its network.
	pub(crate) fn others(&self) -> String {
		let [a, b, c, _] = self.ip.octets();
		format!("{a}.{b}.{c}.0/24")
	}

	/// Whether it is this machine's loopback interface.
	pub(crate) fn is_here(&self) -> bool {
		self.elsewhere.is_none()
	}

	/// A command that runs `binary` there.
	pub(crate) fn command(&self, binary: &Path) -> Command {
		match &self.elsewhere {
			None => Command::new(binary),
			Some(Elsewhere { namespace, environment }) => {
				let mut command = Command::new("ip");
				command.args(["netns", "exec", namespace]).arg(binary).envs(environment.iter().cloned());
				command
			}
		}
	}
}
