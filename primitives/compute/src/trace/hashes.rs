//! Hashes of many tiles on all threads.

use crate::exec::Exec;
use neuroshard_graph::{
	merkle::Hash,
	tiles::{hash_written, BATCH},
};
use std::sync::Mutex;

/// Hashes of `count` leaves on all threads; `write(number, leaf)` fills in the bytes of one.
pub(super) fn written_hashes(exec: &Exec, count: usize, write: impl Fn(usize, &mut [u8]) + Sync) -> Vec<Hash> {
	let mut hashes = vec![[0; 32]; count];
	let threads = if count > 4 * BATCH { exec.threads() } else { 1 };
	let part = count.div_ceil(threads).max(1);
	let parts: Vec<_> = hashes.chunks_mut(part).map(Mutex::new).collect();
	let work = |thread: usize| {
		// Each part has one thread: none waits.
		if let Some(Ok(mut out)) = parts.get(thread).map(Mutex::lock) {
			hash_written(thread * part, &mut out, &write);
		}
	};
	if threads > 1 {
		exec.on_threads(work);
	} else {
		work(0);
	}
	drop(parts);
	hashes
}
