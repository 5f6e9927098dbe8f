//! The device that is tested: that of the number in `NEUROSHARD_OPENCL`, or the first.

use neuroshard_compute::exec::Exec;
use neuroshard_kernels::num::canon_bits;
use neuroshard_opencl::OpenCl;
use std::sync::Arc;

/// The device.
pub fn device() -> OpenCl {
	let number = std::env::var("NEUROSHARD_OPENCL").map_or(0, |number| number.parse().unwrap());
	OpenCl::new(number, Arc::new(Exec::new(2).unwrap()))
		.unwrap_or_else(|error| panic!("{error}; `scripts/setup.sh --tests` installs one that computes on the CPU"))
}

/// Bits modulo canon.
pub fn bits(values: &[f32]) -> Vec<u32> {
	values.iter().map(|&value| canon_bits(value)).collect()
}
