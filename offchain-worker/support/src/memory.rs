//! Memory: how much of it this process may still take, and a limit that the system holds it to.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::path::Path;

/// Where control groups are, in both versions.
const GROUPS: &str = "/sys/fs/cgroup";
/// The controller of memory among those of version 1, each of which has a tree of its own.
const CONTROLLER: &str = "memory";

/// What a kind of control groups calls the files with the limit of a group and with what is in use of it, and the line of `memory.stat` with files that are
/// held in memory and not in use.
struct Names {
	limit: &'static str,
	used: &'static str,
	unused: &'static str,
}

const VERSION_1: Names = Names { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", unused: "total_inactive_file " };
const VERSION_2: Names = Names { limit: "memory.max", used: "memory.current", unused: "inactive_file " };

/// A limit that cannot be set.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
	/// The process takes more already.
	#[error("the process has taken {} MiB of memory before it has begun: name more than that", taken >> 20)]
	Taken {
		/// Bytes that it has taken.
		taken: u64,
	},
	/// The system refuses it.
	#[error("the system does not limit the memory of this process: {0}")]
	System(#[from] std::io::Error),
}

/// Bytes of memory that this process may still take: what the machine has available, and no more than is left of it by the control groups that the process is
/// in, as in a container or a service with a limit, and by the [limits](limit_memory) of the process. `None` where the system does not say.
pub fn available_memory() -> Option<u64> {
	let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
	let machine = available_bytes(&read("/proc/meminfo"));
	let group = left_by_groups(Path::new(GROUPS), &read("/proc/self/cgroup"));
	let status = read("/proc/self/status");
	let limits = [("VmData:", Resource::Data), ("VmSize:", Resource::As)];
	let limits = limits.into_iter().filter_map(|(field, resource)| left_by_limit(&status, field, getrlimit(resource).current));
	machine.into_iter().chain(group).chain(limits).min()
}

/// Holds this process to so many bytes of memory of its own: what it allocates, and the stacks of its threads. Files that it reads do not count. Whatever asks
/// for more is refused it, which ends a process that did not ask [`available_memory`] first. The limit cannot be raised again.
///
/// # Errors
/// [`LimitError`].
pub fn limit_memory(bytes: u64) -> Result<(), LimitError> {
	let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
	let taken = field_bytes(&status, "VmData:").unwrap_or(0);
	if taken >= bytes {
		return Err(LimitError::Taken { taken });
	}
	let bytes = getrlimit(Resource::Data).maximum.map_or(bytes, |most| most.min(bytes));
	setrlimit(Resource::Data, Rlimit { current: Some(bytes), maximum: Some(bytes) }).map_err(|error| LimitError::System(error.into()))
}

/// In the format of `/proc/meminfo`.
fn available_bytes(meminfo: &str) -> Option<u64> {
	field_bytes(meminfo, "MemAvailable:")
}

/// Bytes in a field that is told in kB.
fn field_bytes(text: &str, field: &str) -> Option<u64> {
	let kib = text.lines().find_map(|line| line.strip_prefix(field)?.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
	kib?.checked_mul(1024)
}

/// What a limit of the process leaves beside what it has taken, which is in a field of `status`. `None` without a limit.
fn left_by_limit(status: &str, field: &str, limit: Option<u64>) -> Option<u64> {
	Some(limit?.saturating_sub(field_bytes(status, field).unwrap_or(0)))
}

/// Returns the bytes of memory that the strictest of the control groups (below `root`) leaves whose innermost one `membership` names in the format of
/// `/proc/self/cgroup`, of either version. Files that are held in memory and not in use make room when it is needed. `None` without a limit.
fn left_by_groups(root: &Path, membership: &str) -> Option<u64> {
	let left = |line: &str| {
		let mut parts = line.splitn(3, ':');
		let (number, controllers, group) = (parts.next()?, parts.next()?, parts.next()?.trim_start_matches('/'));
		match (number, controllers) {
			("0", "") => left_below(root, group, &VERSION_2),
			_ if controllers.split(',').any(|one| one == CONTROLLER) => left_below(&root.join(CONTROLLER), group, &VERSION_1),
			_ => None,
		}
	};
	membership.lines().filter_map(left).min()
}

/// The same of one tree of groups.
fn left_below(root: &Path, group: &str, names: &Names) -> Option<u64> {
	let left = |folder: &Path| {
		let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
		let limit: u64 = read(names.limit)?.trim().parse().ok()?;
		let used: u64 = read(names.used)?.trim().parse().ok()?;
		let stat = read("memory.stat").unwrap_or_default();
		let unused = stat.lines().find_map(|line| line.strip_prefix(names.unused)?.trim().parse::<u64>().ok());
		Some(limit.saturating_sub(used.saturating_sub(unused.unwrap_or(0))))
	};
	let innermost = root.join(group);
	innermost.ancestors().take_while(|folder| folder.starts_with(root)).filter_map(left).min()
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn available_memory_is_what_the_machine_says() {
		assert_eq!(available_bytes("MemTotal:       99 kB\nMemAvailable:   2097152 kB\n"), Some(2 << 30));
		assert_eq!(available_bytes("nothing"), None);
	}

	#[test]
	fn a_control_group_leaves_its_limit_without_what_is_in_use_and_the_strictest_one_counts() {
		let root = tempfile::tempdir().unwrap();
		let service = root.path().join("system.slice/worker.service");
		std::fs::create_dir_all(&service).unwrap();
		let membership = "0::/system.slice/worker.service\n";
		assert_eq!(left_by_groups(root.path(), membership), None);
		let write = |folder: &Path, max: &str, current: &str| {
			std::fs::write(folder.join("memory.max"), max).unwrap();
			std::fs::write(folder.join("memory.current"), current).unwrap();
		};
		write(&service, "max\n", "700\n");
		assert_eq!(left_by_groups(root.path(), membership), None, "there is no limit");
		write(&service, "1000\n", "700\n");
		assert_eq!(left_by_groups(root.path(), membership), Some(300));
		std::fs::write(service.join("memory.stat"), "anon 500\ninactive_file 200\n").unwrap();
		assert_eq!(left_by_groups(root.path(), membership), Some(500));
		write(service.parent().unwrap(), "900\n", "1000\n");
		assert_eq!(left_by_groups(root.path(), membership), Some(0), "the group around it is full");
		assert_eq!(left_by_groups(root.path(), "1:cpu:/system.slice/worker.service\n"), None, "groups of processors");
	}

	#[test]
	fn control_groups_of_version_1_leave_their_limit_too() {
		let root = tempfile::tempdir().unwrap();
		let container = root.path().join("memory/docker/worker");
		std::fs::create_dir_all(&container).unwrap();
		let membership = "12:cpu,cpuacct:/docker/worker\n4:memory:/docker/worker\n0::/\n";
		assert_eq!(left_by_groups(root.path(), membership), None);
		let write = |folder: &Path, name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
		write(&container, "memory.limit_in_bytes", "1000\n");
		write(&container, "memory.usage_in_bytes", "700\n");
		write(&container, "memory.stat", "inactive_file 1\ntotal_inactive_file 200\n");
		assert_eq!(left_by_groups(root.path(), membership), Some(500));
		write(root.path(), "memory.max", "450\n");
		write(root.path(), "memory.current", "0\n");
		assert_eq!(left_by_groups(root.path(), membership), Some(450), "the strictest of both versions");
	}

	#[test]
	fn a_limit_of_the_process_leaves_what_it_has_not_taken() {
		let status = "VmSize:\t  900 kB\nVmData:\t  100 kB\nVmStk:\t 1 kB\n";
		assert_eq!(left_by_limit(status, "VmData:", None), None);
		assert_eq!(left_by_limit(status, "VmData:", Some(300 << 10)), Some(200 << 10));
		assert_eq!(left_by_limit(status, "VmSize:", Some(800 << 10)), Some(0));
	}
}
