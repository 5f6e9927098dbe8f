//! `--max-memory`.

use neuroshard_support::memory::{limit_memory, LimitError};

/// Holds the process to so many bytes, and has its allocator give back at once what is freed, so that it counts as free again.
pub(super) fn hold_to(bytes: u64) -> Result<(), LimitError> {
	give_back();
	limit_memory(bytes)
}

/// Has blocks of a MiB and more be given back to the system when they are freed. Else the allocator keeps blocks of up to 32 MiB once some were freed, of each
/// thread apart, which is more than a small machine has.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back() {
	const MIB: libc::c_int = 1 << 20;
	// SAFETY: it sets a number of the allocator, under its lock.
	if unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MIB) } == 0 {
		tracing::debug!("the allocator keeps what is freed as it sees fit");
	}
}

/// Other allocators are left as they are.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}
