//! What this machine can do, measured.

use neuroshard_kernels::{
	exec::Exec,
	shape::{MatDims, Start},
};
use neuroshard_types::provider::HardwareProfile;
use std::{
	path::Path,
	time::{Duration, Instant},
};

/// Side of the product that is measured: both operands together outgrow a core's caches.
const SIDE: usize = 512;
/// Bandwidth in KiB/s that is registered where neither operator nor system says anything.
pub const ASSUMED_KIB_S: u32 = 1024;
/// Products timed together.
const STRETCH: u32 = 8;
/// How long they are repeated.
const DURATION: Duration = Duration::from_millis(1500);

/// Measures this machine with `threads` threads. `bandwidth_kib_s` is what its operator says.
pub fn measure(exec: &Exec, bandwidth_kib_s: u32) -> HardwareProfile {
	HardwareProfile { gflops: gflops(exec).max(1), memory_mib: memory_mib().max(1), bandwidth_kib_s }
}

/// Speed of the exact-f32 matrix product in the fastest stretch, GFLOP/s, rounded down. What else runs on the machine at the
/// moment is not its hardware, and a figure too low would make honest work look implausible.
fn gflops(exec: &Exec) -> u32 {
	let dims = MatDims { m: SIDE, n: SIDE, k: SIDE };
	let value = |index: usize| (index % 61) as f32 / 61.0 - 0.5;
	let a: Vec<f32> = (0..SIDE * SIDE).map(value).collect();
	let b: Vec<f32> = (1..=SIDE * SIDE).map(value).collect();
	let mut c = vec![0.0; SIDE * SIDE];
	let started = Instant::now();
	let mut fastest = f64::INFINITY;
	// The first stretch also wakes the threads.
	while started.elapsed() < DURATION {
		let begin = Instant::now();
		for _ in 0..STRETCH {
			exec.matmul_nt(dims, &a, &b, &mut c, Start::Zero);
		}
		fastest = fastest.min(begin.elapsed().as_secs_f64());
	}
	let operations = f64::from(STRETCH) * 2.0 * (SIDE * SIDE * SIDE) as f64;
	(operations / fastest / 1e9) as u32
}

/// Memory that processes may still take, MiB; 0 where the system does not say.
fn memory_mib() -> u32 {
	let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
	available_mib(&text)
}

fn available_mib(meminfo: &str) -> u32 {
	let kib = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
	u32::try_from(kib.unwrap_or(0) / 1024).unwrap_or(u32::MAX)
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

/// Bytes that may still be written below `path`.
///
/// # Errors
/// What the system says.
pub fn free_disk(path: &Path) -> std::io::Result<u64> {
	let stat = rustix::fs::statvfs(path)?;
	Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Threads to compute with: what was asked for, else all that the system has.
pub fn threads(asked: Option<usize>) -> usize {
	asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_machine_is_measured_above_zero() {
		let profile = measure(&Exec::new(1).unwrap(), 1024);
		assert!(profile.gflops >= 1 && profile.memory_mib >= 1);
		assert_eq!(profile.bandwidth_kib_s, 1024);
	}

	#[test]
	fn available_memory_is_read_in_mebibytes() {
		assert_eq!(available_mib("MemTotal:       99 kB\nMemAvailable:   2097152 kB\n"), 2048);
		assert_eq!(available_mib("nothing"), 0);
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

	#[test]
	fn free_disk_is_asked_of_the_file_system() {
		assert!(free_disk(Path::new("/")).unwrap() > 0);
		assert!(free_disk(Path::new("/nowhere/at/all")).is_err());
	}
}
