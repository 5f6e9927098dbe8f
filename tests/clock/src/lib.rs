//! A clock that is wrong: a process that loads this library before all others (`LD_PRELOAD`) is told the time of day shifted by as many seconds as the
//! file says whose path is in `NEUROSHARD_CLOCK`: eight bytes, a signed number, least byte first. Whoever writes there sets the clock while the process
//! runs. Clocks that only measure time stay right, as where somebody sets a machine's time of day. Only `clock_gettime` is replaced, which Rust and C++
//! ask for the time; files have the system's.

use libc::{c_int, clockid_t, timespec};
use std::{
	ffi::CStr,
	ptr,
	sync::atomic::{AtomicI64, AtomicPtr, Ordering},
};

/// Where the path of the file is.
const VARIABLE: &CStr = c"NEUROSHARD_CLOCK";

/// The mapped file; null where there is none, or none that is long enough.
static SHIFT: AtomicPtr<AtomicI64> = AtomicPtr::new(ptr::null_mut());

/// Has the file mapped before the program's own code runs: `clock_gettime` itself may be called where nothing can be allocated.
#[used]
#[link_section = ".init_array"]
static INIT: extern "C" fn() = map;

extern "C" fn map() {
	// SAFETY: the program's own code, which could change the environment, does not run yet. The path is a C string of the system, and zeros are a valid
	// `stat`. The mapping is never undone; a page is aligned, and the file has as many bytes as the number.
	unsafe {
		let path = libc::getenv(VARIABLE.as_ptr());
		if path.is_null() {
			return;
		}
		let file = libc::open(path, libc::O_RDONLY | libc::O_CLOEXEC);
		if file < 0 {
			return;
		}
		let (len, mut stat) = (size_of::<AtomicI64>(), std::mem::zeroed::<libc::stat>());
		if libc::fstat(file, &mut stat) == 0 && usize::try_from(stat.st_size).is_ok_and(|size| size >= len) {
			let mapped = libc::mmap(ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file, 0);
			if mapped != libc::MAP_FAILED {
				SHIFT.store(mapped.cast(), Ordering::Release);
			}
		}
		libc::close(file);
	}
}

/// The time, as the system's function of this name tells it, but for the time of day, which is shifted.
///
/// # Safety
/// As the system's: `time` is where a time can be written.
#[no_mangle]
pub unsafe extern "C" fn clock_gettime(id: clockid_t, time: *mut timespec) -> c_int {
	// SAFETY: the caller's promise is the system's condition. It sets `errno`.
	if unsafe { libc::syscall(libc::SYS_clock_gettime, id, time) } != 0 {
		return -1;
	}
	let shift = SHIFT.load(Ordering::Acquire);
	if matches!(id, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE) && !shift.is_null() {
		// SAFETY: the system has just written there, and the mapping stays.
		unsafe { (*time).tv_sec = (*time).tv_sec.saturating_add(i64::from_le((*shift).load(Ordering::Relaxed))) };
	}
	0
}
