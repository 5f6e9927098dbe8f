//! What the fuzzer runs on every input. The first byte says what the rest is about.

#[path = "../../tests/common/mod.rs"]
mod common;
mod config;
mod games;
mod pieces;
mod raw;
mod source;
mod trees;

use codec::{Decode, Encode};
pub use games::prepare;
use source::Source;

/// Most bytes that one input may have the checked code allocate at any time.
const MOST_MEMORY: usize = 64 << 20;

/// Runs one input. `allocated` tells the bytes that are allocated now (false: at most since it was last asked that).
///
/// # Panics
/// If the checked code does, or anything that must hold does not.
pub fn run(input: &[u8], allocated: impl Fn(bool) -> usize) {
	let before = allocated(false);
	let mut source = Source(input);
	match source.below(4) {
		0 => pieces::run(&mut source),
		1 => games::run(&mut source),
		2 => raw::run(&mut source),
		_ => trees::run(&mut source),
	}
	let most = allocated(true).saturating_sub(before);
	assert!(most <= MOST_MEMORY, "{most} bytes were allocated");
}

/// The inputs that a file keeps.
pub fn unpack(mut file: &[u8]) -> Vec<Vec<u8>> {
	Vec::decode(&mut file).expect("a corpus is a list of inputs")
}

/// The file that keeps inputs.
#[allow(dead_code, reason = "only the fuzzer writes one")]
pub fn pack(inputs: &[Vec<u8>]) -> Vec<u8> {
	inputs.encode()
}
