//! An allocator that counts.

use std::{
	alloc::{GlobalAlloc, Layout, System},
	sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The system's allocator, counting.
pub struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Bytes allocated now, or with `most` the most since it was last asked without.
pub fn allocated(most: bool) -> usize {
	if most {
		return MOST.load(Relaxed);
	}
	let now = NOW.load(Relaxed);
	MOST.store(now, Relaxed);
	now
}

fn grow(bytes: usize) {
	let now = NOW.fetch_add(bytes, Relaxed) + bytes;
	MOST.fetch_max(now, Relaxed);
}

// SAFETY: every call is the system allocator's, with the same arguments.
unsafe impl GlobalAlloc for Counting {
	unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
		grow(layout.size());
		// SAFETY: as the caller promises.
		unsafe { System.alloc(layout) }
	}

	unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
		NOW.fetch_sub(layout.size(), Relaxed);
		// SAFETY: as the caller promises.
		unsafe { System.dealloc(pointer, layout) }
	}
}
