//! Memory in large pages: operators stream through more of it than the processor finds the pages of at once, and looking one up takes as long as reading from it.

/// Zeros, in large pages where the system gives them.
pub fn zeros(len: usize) -> Vec<f32> {
	#[allow(unused_mut)]
	let mut zeros = vec![0.0; len];
	#[cfg(target_os = "linux")]
	advise(&mut zeros);
	zeros
}

/// Asks for large pages where whole ones lie in `memory`.
#[cfg(target_os = "linux")]
fn advise(memory: &mut [f32]) {
	use rustix::mm::{madvise, Advice};
	/// Bytes of a large page on most processors; where it has more, the system takes those that are whole.
	const LARGE: usize = 2 << 20;
	let bytes = size_of_val(memory);
	let before = memory.as_ptr().align_offset(LARGE).saturating_mul(size_of::<f32>());
	let inside = bytes.saturating_sub(before) / LARGE * LARGE;
	if inside > 0 {
		// SAFETY: the range lies inside the slice, and the advice changes no contents. A system that refuses it has small pages, and the same results.
		let _ = unsafe { madvise(memory.as_mut_ptr().byte_add(before).cast(), inside, Advice::LinuxHugepage) };
	}
}
