//! What a provider says of its machine when it registers or updates.

use super::{device::DeviceOption, local::Computes, parse, CliError};
use clap::{Args, ValueEnum};
use neuroshard_compute::exec::Exec;
use neuroshard_compute::kat;
use neuroshard_support::hardware::{self, ASSUMED_KIB_S};
use neuroshard_types::provider::{HardwareProfile, Role, Roles};

/// Options that describe a machine.
#[derive(Debug, Args)]
pub(super) struct Machine {
	/// Network bandwidth in KiB/s, which is declared and not measured. Without it, the speed of the network link, or 1,024 where the
	/// system does not say.
	#[arg(long, value_name = "KIB_S", value_parser = clap::value_parser!(u32).range(1..))]
	bandwidth: Option<u32>,
	/// Threads to measure and to test with.
	#[arg(long, value_parser = parse::threads)]
	threads: Option<usize>,
	#[command(flatten)]
	device: DeviceOption,
}

impl Machine {
	/// What the machine trains with, after a check that it computes what it must.
	pub(super) fn exec(&self) -> Result<Exec, CliError> {
		// A machine whose bits differ would train and attest what nobody else gets.
		let exec = Exec::new(hardware::threads(self.threads)).map_err(|error| CliError::Invalid(error.to_string()))?;
		kat::verify(&exec).map_err(|error| CliError::KnownAnswer(error.to_string()))?;
		Ok(exec)
	}

	/// Whether anything is said of the machine.
	pub(super) fn is_told(&self) -> bool {
		self.bandwidth.is_some() || self.threads.is_some() || self.device.is_told()
	}

	/// Measures the machine, and says what it found. Its speed is that of the device that was named, if that computes what it must and is faster.
	///
	/// # Errors
	/// [`CliError`] for a device that is not there.
	pub(super) fn measure(&self, exec: &Exec) -> Result<HardwareProfile, CliError> {
		let (bandwidth, source) = declared_bandwidth(self.bandwidth, hardware::link());
		let mut hardware = hardware::measure(exec, bandwidth);
		println!("measured  {} GFLOP/s, {} MiB of memory", hardware.gflops, hardware.memory_mib);
		if self.device.is_told() {
			let computes = Computes::new(self.device.device()?, exec.threads())?;
			let measured = computes.device().map(|device| (device, hardware::gflops(&**device)));
			match measured {
				Some((device, Ok(gflops))) => {
					println!("measured  {gflops} GFLOP/s on {}", device.name());
					hardware.gflops = hardware.gflops.max(gflops);
				}
				Some((device, Err(error))) => println!("not measured: {} ({error}); the speed is the CPU's", device.name()),
				None => println!("no device computes what it must; the speed is the CPU's"),
			}
		}
		println!("declared  {bandwidth} KiB/s of bandwidth, not measured: {source}");
		Ok(hardware)
	}
}

/// Bandwidth to register, KiB/s, and where the figure comes from.
fn declared_bandwidth(asked: Option<u32>, link: Option<(String, u32)>) -> (u32, String) {
	match (asked, link) {
		(Some(bandwidth), _) => (bandwidth, "by --bandwidth".into()),
		(None, Some((interface, speed))) => (speed, format!("the link speed of {interface}; --bandwidth names another figure")),
		(None, None) => (ASSUMED_KIB_S, "the system does not say how fast its link is; --bandwidth names another figure".into()),
	}
}

/// A role by its name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum RoleName {
	Driver,
	Worker,
	Verifier,
	Predictor,
}

impl From<RoleName> for Role {
	fn from(name: RoleName) -> Self {
		match name {
			RoleName::Driver => Self::Driver,
			RoleName::Worker => Self::Worker,
			RoleName::Verifier => Self::Verifier,
			RoleName::Predictor => Self::Predictor,
		}
	}
}

/// The set of these roles.
pub(super) fn roles(names: &[RoleName]) -> Roles {
	names.iter().fold(Roles::default(), |roles, role| roles.with((*role).into()))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn the_speed_of_a_machine_is_that_of_the_faster_of_cpu_and_device() {
		let measure = |device: &str| {
			let machine = Machine { bandwidth: Some(1), threads: Some(1), device: device.parse().map(DeviceOption::of).unwrap() };
			machine.measure(&Exec::new(1).unwrap()).map(|hardware| hardware.gflops)
		};
		// The only device here is slower.
		assert!(measure("opencl:0").unwrap() > 0);
		let error = measure("opencl:99").unwrap_err().to_string();
		assert!(error.contains("no OpenCL device 99"), "{error}");
	}

	#[test]
	fn where_the_bandwidth_comes_from_is_said() {
		let link = || Some(("eth0".to_owned(), 122_070));
		assert_eq!(declared_bandwidth(Some(5), link()), (5, "by --bandwidth".into()));
		let (speed, source) = declared_bandwidth(None, link());
		assert!(speed == 122_070 && source.contains("eth0"), "{speed} {source}");
		let (speed, source) = declared_bandwidth(None, None);
		assert!(speed == 1_024 && source.contains("does not say"), "{speed} {source}");
	}
}
