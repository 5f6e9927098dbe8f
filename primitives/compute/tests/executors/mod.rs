//! Executors, random inputs and comparisons that the tests of operators share.
#![allow(dead_code, reason = "each test file uses a part")]

#[path = "../../../kernels/tests/common/mod.rs"]
mod inputs;

pub use inputs::{Inputs, Kind, KINDS};
use neuroshard_compute::native::{Exec, Level};
use neuroshard_kernels::num::canon_bits;

/// Every instruction set of this machine with 1 and with 2 threads.
pub fn executors() -> Vec<Exec> {
	let levels = Level::available();
	levels.iter().flat_map(|&level| [1, 2].map(|threads| Exec::with_level(threads, level).unwrap())).collect()
}

/// Asserts that two tensors have the same canonical bits.
#[track_caller]
pub fn same(what: &str, exec: &Exec, expected: &[f32], got: &[f32]) {
	assert_eq!(expected.len(), got.len());
	for (i, (e, g)) in expected.iter().zip(got).enumerate() {
		assert!(
			canon_bits(*e) == canon_bits(*g),
			"{what} at {i} of {}, {:?}, {} thread(s): expected {e:e} ({:08x}), got {g:e} ({:08x})",
			expected.len(),
			exec.level(),
			exec.threads(),
			e.to_bits(),
			g.to_bits()
		);
	}
}
