//! `--device`: what computes, and what there is on this machine.

use super::CliError;
use clap::Args;
use neuroshard_opencl::{devices, found, Found};
use neuroshard_training::engine::{Device, EngineError};
use std::str::FromStr;

/// What computes.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct DeviceOption {
	/// What computes: `cpu`, `opencl:N` for the device of that number that `doctor` lists, or `auto` for the first GPU that promises exact results, and the
	/// CPU where there is none. Whether it keeps that is checked before it computes anything; if it does not, the CPU computes.
	#[arg(long, value_name = "DEVICE", default_value = "cpu")]
	device: Choice,
}

impl DeviceOption {
	#[cfg(test)]
	pub(super) fn of(device: Choice) -> Self {
		Self { device }
	}

	/// Whether another one than the CPU was asked for.
	pub(super) fn is_told(self) -> bool {
		self.device != Choice::Named(Device::Cpu)
	}

	/// The device; `auto` looks for it.
	///
	/// # Errors
	/// [`CliError::Engine`] for a device that is not there, or does not promise exact results.
	pub(super) fn device(self) -> Result<Device, CliError> {
		match self.device {
			Choice::Auto => Ok(best(&devices().unwrap_or_default())),
			Choice::Named(Device::Cpu) => Ok(Device::Cpu),
			Choice::Named(Device::OpenCl(number)) => {
				found(number).map_err(EngineError::from)?;
				Ok(Device::OpenCl(number))
			}
		}
	}
}

/// A choice of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
	Auto,
	Named(Device),
}

impl FromStr for Choice {
	type Err = &'static str;

	fn from_str(text: &str) -> Result<Self, Self::Err> {
		let number = || text.strip_prefix("opencl:")?.parse().ok();
		match text {
			"auto" => Ok(Self::Auto),
			"cpu" => Ok(Self::Named(Device::Cpu)),
			_ => number().map(|number| Self::Named(Device::OpenCl(number))).ok_or("name cpu, opencl:N or auto"),
		}
	}
}

/// The first GPU that promises exact results.
fn best(found: &[Found]) -> Device {
	found.iter().position(|device| device.is_gpu && device.lacks().is_empty()).map_or(Device::Cpu, Device::OpenCl)
}

/// A device in a line.
pub(super) fn words(number: usize, found: &Found) -> String {
	let kind = match (found.is_gpu, found.is_cpu) {
		(true, _) => "GPU",
		(_, true) => "CPU",
		_ => "other",
	};
	let Found { name, driver, memory, largest_buffer, .. } = found;
	let (memory, most) = (memory >> 20, largest_buffer >> 20);
	let promises = match &found.lacks()[..] {
		[] => "promises exact results".to_owned(),
		lacks => format!("cannot be used: it does not promise {}", lacks.join(", ")),
	};
	format!("opencl:{number} is {name} ({kind}, driver {driver}), {memory} MiB, {most} MiB for a step; {promises}")
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_device_is_named_by_a_word_or_a_number() {
		assert_eq!("cpu".parse(), Ok(Choice::Named(Device::Cpu)));
		assert_eq!("opencl:3".parse(), Ok(Choice::Named(Device::OpenCl(3))));
		assert_eq!("auto".parse(), Ok(Choice::Auto));
		for wrong in ["gpu", "opencl", "opencl:", "opencl:-1", "OPENCL:0", ""] {
			assert!(wrong.parse::<Choice>().is_err(), "{wrong}");
		}
	}

	#[test]
	fn a_processor_that_speaks_opencl_is_told_and_not_taken_by_itself() {
		let all = devices().unwrap();
		let cpu = all.iter().position(|device| device.is_cpu && !device.is_gpu).expect("scripts/setup.sh --tests installs one");
		let line = words(cpu, &all[cpu]);
		assert!(line.starts_with(&format!("opencl:{cpu} is ")) && line.ends_with("promises exact results"), "{line}");
		assert_eq!(best(&all[cpu..=cpu]), Device::Cpu);
	}
}
