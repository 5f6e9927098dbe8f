//! A short run of the fuzzer: the inputs that were kept, and some made up here. See `scripts/fuzz.sh`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../fuzz/harness/mod.rs"]
mod harness;
#[path = "../fuzz/memory.rs"]
mod memory;

use neuroshard_graph::merkle::blake2_256;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

// One test only: what it allocates is counted for the whole process.
#[test]
fn no_input_panics_overflows_takes_much_memory_or_beats_an_honest_defender() {
	harness::prepare();
	let kept = harness::unpack(include_bytes!("corpus.bin"));
	assert!(kept.len() > 100, "{} inputs were kept", kept.len());
	let drawn = (0..1_000u32).map(|seed| (0..6u8).flat_map(|block| blake2_256(&[&seed.to_le_bytes()[..], &[block]].concat())).collect());
	for input in kept.into_iter().chain(drawn) {
		harness::run(&input, memory::allocated);
	}
}
