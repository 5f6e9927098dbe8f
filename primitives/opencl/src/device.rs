//! Devices of this machine, and what they promise.

use opencl3::{
	device::{
		Device, CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, CL_FP_DENORM,
		CL_FP_INF_NAN, CL_FP_ROUND_TO_NEAREST,
	},
	error_codes::ClError,
	platform::get_platforms,
};
use std::sync::{Mutex, PoisonError};

/// Work-items of the largest group that a kernel asks for, and bytes of local memory.
const GROUP: usize = 256;
const LOCAL: u64 = 16 << 10;

/// Why a device cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OpenClError {
	/// No library of OpenCL, or no driver.
	#[error("there is no OpenCL on this machine ({0}): install the driver of your device, and the loader (ocl-icd-libopencl1 on Debian)")]
	None(String),
	/// Fewer devices.
	#[error("there is no OpenCL device {asked}: this machine has {found}, counted from 0")]
	Unknown {
		/// Asked for.
		asked: usize,
		/// How many there are.
		found: usize,
	},
	/// A device on which other numbers would come out.
	#[error("{name} does not promise {lacks}, without which it would compute other bits than everybody else")]
	Inexact {
		/// The device.
		name: String,
		/// What it lacks.
		lacks: String,
	},
	/// A device that promises what it does not keep.
	#[error("{name} computes other bits than the CPU in {what} of a {family} model: its driver is at fault, and work from it would be judged wrong")]
	Wrong {
		/// The device.
		name: String,
		/// What it computed.
		what: &'static str,
		/// Family of the model.
		family: String,
	},
	/// More memory than there is.
	#[error("{name} has {most} bytes for a buffer, and {needed} are needed: take micro-batches, or recompute activations")]
	Memory {
		/// The device.
		name: String,
		/// Of its largest allocation.
		most: u64,
		/// Asked for.
		needed: u64,
	},
	/// The driver failed.
	#[error("{name} failed to {what}: {reason}")]
	Driver {
		/// The device.
		name: String,
		/// What it was to do.
		what: &'static str,
		/// What the driver said.
		reason: String,
	},
}

/// A device.
#[derive(Clone, Debug)]
pub struct Found {
	pub(crate) device: Device,
	/// As the driver names it.
	pub name: String,
	/// Version of the driver.
	pub driver: String,
	/// Whether it is a GPU.
	pub is_gpu: bool,
	/// Whether it is this machine's processor.
	pub is_cpu: bool,
	/// Bytes of memory.
	pub memory: u64,
	/// Bytes of the largest buffer.
	pub largest_buffer: u64,
	promises: u64,
	group: usize,
	local: u64,
	/// Available, and with a compiler.
	ready: bool,
}

impl Found {
	fn new(device: Device) -> Result<Self, ClError> {
		let kind = device.dev_type()?;
		Ok(Self {
			name: device.name()?,
			driver: device.driver_version()?,
			is_gpu: kind & CL_DEVICE_TYPE_GPU != 0,
			is_cpu: kind & CL_DEVICE_TYPE_CPU != 0,
			memory: device.global_mem_size()?,
			largest_buffer: device.max_mem_alloc_size()?,
			promises: device.single_fp_config()?,
			group: device.max_work_group_size()?,
			local: device.local_mem_size()?,
			ready: device.available()? && device.compiler_available()?,
			device,
		})
	}

	/// What it does not promise and exact results need; nothing if it can be used.
	pub fn lacks(&self) -> Vec<&'static str> {
		let needed = [
			(CL_FP_DENORM, "subnormal numbers"),
			(CL_FP_INF_NAN, "infinities and NaNs"),
			(CL_FP_ROUND_TO_NEAREST, "rounding to nearest"),
			(CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, "correctly rounded quotients and roots"),
		];
		let numbers = needed.into_iter().filter(|(promise, _)| self.promises & promise == 0).map(|(_, words)| words);
		let groups = (self.group < GROUP).then_some("groups of 256 work-items");
		let compiler = (!self.ready).then_some("that it is available, and a compiler");
		numbers.chain(groups).chain((self.local < LOCAL).then_some("16 KiB of local memory")).chain(compiler).collect()
	}

	/// Refuses a device that lacks something.
	pub(crate) fn refuse_inexact(&self) -> Result<(), OpenClError> {
		match &self.lacks()[..] {
			[] => Ok(()),
			lacks => Err(OpenClError::Inexact { name: self.name.clone(), lacks: lacks.join(", ") }),
		}
	}
}

/// The device with this number, counted from 0, if it promises exact results.
///
/// # Errors
/// [`OpenClError::None`], [`OpenClError::Unknown`], [`OpenClError::Inexact`].
pub fn found(number: usize) -> Result<Found, OpenClError> {
	let mut all = devices()?;
	if number >= all.len() {
		return Err(OpenClError::Unknown { asked: number, found: all.len() });
	}
	let found = all.swap_remove(number);
	found.refuse_inexact()?;
	Ok(found)
}

/// The devices of this machine, in the order of their drivers.
///
/// # Errors
/// [`OpenClError::None`].
pub fn devices() -> Result<Vec<Found>, OpenClError> {
	// Drivers that are asked by several threads while they begin say that they have none.
	static ASKED: Mutex<()> = Mutex::new(());
	let _alone = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
	let platforms = get_platforms().map_err(|error| OpenClError::None(error.to_string()))?;
	// A driver without devices says so by an error.
	let ids = platforms.iter().flat_map(|platform| platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default());
	Ok(ids.filter_map(|id| Found::new(Device::new(id)).ok()).collect())
}
