//! What examples that measure share.

use neuroshard_compute::pages::zeros;
use std::time::Instant;

/// Seconds that `f` takes.
pub fn time(f: impl FnOnce()) -> f64 {
	let begin = Instant::now();
	f();
	begin.elapsed().as_secs_f64()
}

/// Numbers between -1 and 1, the same for a seed each time, in large pages as those of arenas.
pub fn fill(len: usize, seed: u32) -> Vec<f32> {
	let (mut state, mut numbers) = (seed, zeros(len));
	for number in &mut numbers {
		state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
		*number = (state >> 8) as f32 / 8_388_608.0 - 1.0;
	}
	numbers
}
