//! Machines of their own on this one: network namespaces whose only line is a TUN device, and a router in this process that delays, loses
//! and holds up what passes between them, as told. No kernel has to know `netem`, and a partition is one assignment. Each has a clock that can be set wrong.
//!
//! It takes the right to make namespaces and devices: root, mostly.

mod clock;
mod line;
mod router;

use clock::Clock;
pub use line::Line;
use neuroshard_e2e::{Error, Machine};
use router::Router;
use std::{net::Ipv4Addr, path::Path, process::Command};
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// The network that all machines are in, this process's own address first.
const NETWORK: [u8; 3] = [10, 77, 0];
/// Longest packet.
const MTU: u16 = 1_400;
/// Most machines: addresses of the network.
const MOST: usize = 200;
/// The device of this process.
const OWN_DEVICE: &str = "neuroshard";

/// Machines on this one. They and all that is between them go when this is dropped; processes that run there have to be gone before.
pub struct Cloud {
	_namespaces: Namespaces,
	machines: Vec<Machine>,
	clocks: Vec<Clock>,
	router: Router,
}

impl Cloud {
	/// Makes a machine for each of `lines`, with a router whose dice begin with `seed`. This process itself is on a perfect line. Files of the clocks come
	/// to `folder`; `clock` is the library of `neuroshard-clock`.
	///
	/// # Errors
	/// [`Error::Setup`] if that is not permitted here, or another such network is there already; [`Error::File`].
	pub fn create(lines: &[Line], seed: u64, folder: &Path, clock: &Path) -> Result<Self, Error> {
		if lines.len() > MOST {
			return Err(Error::Setup(format!("at most {MOST} machines have addresses here, not {}", lines.len())));
		}
		// First: it fails if somebody else does this here.
		let mut devices = vec![device(OWN_DEVICE)?];
		// Of a process that was killed.
		for number in 1..=MOST {
			if std::fs::exists(format!("/run/netns/{}", namespace(number))).unwrap_or(false) {
				ip(&["netns", "del", &namespace(number)])?;
			}
		}
		configure(&[], OWN_DEVICE, address(0))?;
		let (mut namespaces, mut machines, mut clocks) = (Namespaces(Vec::new()), Vec::new(), Vec::new());
		for number in 1..=lines.len() {
			let (name, device_name) = (namespace(number), format!("{OWN_DEVICE}{number}"));
			ip(&["netns", "add", &name])?;
			namespaces.0.push(name.clone());
			devices.push(device(&device_name)?);
			ip(&["link", "set", &device_name, "netns", &name])?;
			let inside = ["netns", "exec", &name, "ip"];
			ip(&[inside.as_slice(), &["link", "set", "lo", "up"]].concat())?;
			configure(&inside, &device_name, address(number))?;
			let clock = Clock::create(folder.join(format!("clock-{number}")), clock)?;
			machines.push(Machine::elsewhere(address(number), name, clock.variables().into()));
			clocks.push(clock);
		}
		let all = [[Line::PERFECT].as_slice(), lines].concat();
		Ok(Self { _namespaces: namespaces, machines, clocks, router: Router::start(devices, all, seed)? })
	}

	/// All machines.
	pub fn machines(&self) -> Vec<Machine> {
		self.machines.clone()
	}

	/// The clock of the machine with this number.
	pub fn clock(&self, number: usize) -> Option<&Clock> {
		self.clocks.get(number)
	}

	/// Cuts the machines in two parts; this process reaches both.
	pub fn cut(&self, parts: &[bool]) {
		self.router.cut(Some(parts));
	}

	/// Joins the parts again.
	pub fn join(&self) {
		self.router.cut(None);
	}
}

/// Namespaces, which go when this is dropped.
struct Namespaces(Vec<String>);

impl Drop for Namespaces {
	fn drop(&mut self) {
		for name in &self.0 {
			if let Err(error) = ip(&["netns", "del", name]) {
				tracing::warn!("{error}");
			}
		}
	}
}

fn namespace(number: usize) -> String {
	format!("{OWN_DEVICE}-{number}")
}

fn address(number: usize) -> Ipv4Addr {
	let [a, b, c] = NETWORK;
	Ipv4Addr::new(a, b, c, u8::try_from(number.saturating_add(1)).unwrap_or(u8::MAX))
}

/// The number of the machine with this address.
fn number_of(address: [u8; 4]) -> Option<usize> {
	let [network @ .., host] = address;
	usize::from(host).checked_sub(1).filter(|_| network == NETWORK)
}

fn device(name: &str) -> Result<SyncDevice, Error> {
	let made = DeviceBuilder::new().name(name).layer(Layer::L3).mtu(MTU).build_sync();
	made.map_err(|error| {
		Error::Setup(format!("cannot make the network device {name}: {error}; it takes root, and nobody else who does this here"))
	})
}

fn configure(inside: &[&str], device: &str, address: Ipv4Addr) -> Result<(), Error> {
	let address = format!("{address}/24");
	ip(&[inside, &["addr", "replace", &address, "dev", device]].concat())?;
	ip(&[inside, &["link", "set", device, "mtu", &MTU.to_string(), "up"]].concat())
}

/// Runs `ip`.
fn ip(arguments: &[&str]) -> Result<(), Error> {
	let failed = |reason: String| Error::Setup(format!("`ip {}` failed: {}", arguments.join(" "), reason.trim()));
	let output = Command::new("ip").args(arguments).output().map_err(|error| failed(error.to_string()))?;
	match output.status.success() {
		true => Ok(()),
		false => Err(failed(String::from_utf8_lossy(&output.stderr).into_owned())),
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn every_machine_has_an_address_and_no_other_one_is_found() {
		for number in 0..=MOST {
			assert_eq!(number_of(address(number).octets()), Some(number));
		}
		assert_eq!((number_of([10, 77, 1, 1]), number_of([10, 77, 0, 0]), number_of([8, 8, 8, 8])), (None, None, None));
	}
}
