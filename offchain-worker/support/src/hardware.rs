//! Measurement of this machine's performance.

use crate::memory::available_memory;
use neuroshard_compute::exec::{Decoding, DeviceError, Exec};
use neuroshard_graph::graph::Product;
use neuroshard_kernels::shape::{MatDims, Start};
use neuroshard_types::provider::HardwareProfile;
use std::{
	borrow::BorrowMut,
	path::Path,
	time::{Duration, Instant},
};

/// Side of the product that is measured: both operands together outgrow a core's caches.
const SIDE: usize = 512;
/// Bandwidth in KiB/s that is registered where neither operator nor system says anything.
pub const ASSUMED_KIB_S: u32 = 1024;
/// Products timed together.
const STRETCH: u32 = 8;
/// Time for which they are repeated.
const DURATION: Duration = Duration::from_millis(1500);

/// Measures this machine with `threads` threads. `bandwidth_kib_s` is what its operator says.
pub fn measure(exec: &Exec, bandwidth_kib_s: u32) -> HardwareProfile {
	// It computes without fail.
	HardwareProfile { gflops: gflops(exec).unwrap_or(0).max(1), memory_mib: memory_mib().max(1), bandwidth_kib_s }
}

/// Speed of the exact-f32 matrix product in the fastest stretch, GFLOP/s, rounded down. What else runs on the machine at the
/// moment is not its hardware, and a figure too low would make honest work look implausible.
///
/// # Errors
/// [`DeviceError`] of the device that computes.
pub fn gflops<B: Decoding>(backend: &B) -> Result<u32, DeviceError> {
	let (dims, len) = (MatDims { m: SIDE, n: SIDE, k: SIDE }, SIDE * SIDE);
	let mut memory = backend.memory(3 * len)?;
	let arena = memory.borrow_mut();
	backend.write(arena, 0, &(0..2 * len).map(|index| (index % 61) as f32 / 61.0 - 0.5).collect::<Vec<_>>());
	let started = Instant::now();
	let mut fastest = f64::INFINITY;
	// The first stretch also wakes the threads.
	while started.elapsed() < DURATION {
		let begin = Instant::now();
		for _ in 0..STRETCH {
			backend.product(arena, Product::Nt, dims, [0..len, len..2 * len], 2 * len..3 * len, Start::Zero);
		}
		backend.settled()?;
		fastest = fastest.min(begin.elapsed().as_secs_f64());
	}
	let operations = f64::from(STRETCH) * 2.0 * (SIDE * SIDE * SIDE) as f64;
	Ok((operations / fastest / 1e9) as u32)
}

/// Time that threads of this process have had a processor, by `/proc/self/stat`; `None` where the system does not say.
pub fn processor_time() -> Option<Duration> {
	processor_time_in(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

fn processor_time_in(stat: &str) -> Option<Duration> {
	/// Linux tells them in hundredths of a second, whatever its own clock is.
	const TICK_MS: u64 = 10;
	// Behind the name, which may have anything in it, the first field is the third one: of user and system time the numbers are 14 and 15.
	let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
	let mut ticks = || fields.next()?.parse::<u64>().ok();
	Some(Duration::from_millis(ticks()?.saturating_add(ticks()?).saturating_mul(TICK_MS)))
}

/// Memory that this process may still take, MiB; 0 where the system does not say.
fn memory_mib() -> u32 {
	u32::try_from(available_memory().unwrap_or(0) >> 20).unwrap_or(u32::MAX)
}

/// Name and speed in KiB/s of the network link that leads to other networks; `None` where the system does not say, as most
/// virtual machines and wireless links. What passes through it from other networks may be far less.
pub fn link() -> Option<(String, u32)> {
	let routes = std::fs::read_to_string("/proc/net/route").ok()?;
	link_in(&routes, Path::new("/sys/class/net"))
}

fn link_in(routes: &str, interfaces: &Path) -> Option<(String, u32)> {
	let name = default_interface(routes)?;
	// Mbit/s; -1 or no file if it is not known.
	let speed: u64 = std::fs::read_to_string(interfaces.join(name).join("speed")).ok()?.trim().parse().ok()?;
	let kib_s = u32::try_from(speed.checked_mul(1_000_000)? / 8 / 1024).ok()?;
	(kib_s > 0).then(|| (name.to_owned(), kib_s))
}

/// Interface of the default route with the lowest metric in the format of `/proc/net/route`.
fn default_interface(routes: &str) -> Option<&str> {
	let default = routes.lines().skip(1).filter_map(|line| {
		let fields: Vec<_> = line.split_ascii_whitespace().collect();
		match fields.as_slice() {
			[name, "00000000", _, _, _, _, metric, "00000000", ..] => Some((metric.parse::<u32>().ok()?, *name)),
			_ => None,
		}
	});
	default.min().map(|(_, name)| name)
}

/// Threads to compute with: what was asked for, else all that the system has.
pub fn threads(asked: Option<usize>) -> usize {
	asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn the_processors_time_of_a_process_is_read_whatever_its_name_is() {
		let stat = "77 (a) b (c)) S 1 77 77 0 -1 4194560 900 0 0 0 250 50 7 8 20 0 4 0 1234 1000 200";
		assert_eq!(processor_time_in(stat), Some(Duration::from_secs(3)));
		assert_eq!((processor_time_in(""), processor_time_in("77 (x) S 1 2")), (None, None));
		assert!(processor_time().is_some());
	}

	#[test]
	fn a_machine_is_measured_above_zero() {
		let profile = measure(&Exec::new(1).unwrap(), 1024);
		assert!(profile.gflops >= 1 && profile.memory_mib >= 1);
		assert_eq!(profile.bandwidth_kib_s, 1024);
	}

	#[test]
	fn the_link_is_that_of_the_best_default_route() {
		let routes = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
			wlan0 00000000 0101A8C0 0003 0 0 600 00000000 0 0 0\n\
			eth1 0000A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n\
			eth0 00000000 0102A8C0 0003 0 0 100 00000000 0 0 0\n";
		assert_eq!(default_interface(routes), Some("eth0"));
		assert_eq!(default_interface("Iface Destination\n"), None);
		let interfaces = tempfile::tempdir().unwrap();
		assert_eq!(link_in(routes, interfaces.path()), None);
		let speed = interfaces.path().join("eth0");
		std::fs::create_dir(&speed).unwrap();
		// A gigabit a second is 125,000,000 bytes.
		for (text, expected) in [("1000\n", Some(("eth0".to_owned(), 122_070))), ("-1\n", None), ("0\n", None), ("fast", None)] {
			std::fs::write(speed.join("speed"), text).unwrap();
			assert_eq!(link_in(routes, interfaces.path()), expected);
		}
	}
}
