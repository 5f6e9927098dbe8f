//! Whether a block is the one that comes next, and how the runtime takes it.

use codec::{Compact, Encode};
use neuroshard_chain_client::{Block, BlockId, Header};

/// Checks that `block` is the child of `parent` that its hash names; its body is left to whoever executes it.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn check(block: &Block, parent: BlockId) -> Result<(), String> {
	let (header, hash) = (&block.header, block.header.hash());
	if hash != block.hash {
		return Err(format!("its header has hash {hash:?}, not {:?}", block.hash));
	}
	if header.parent_hash != parent.hash {
		return Err(format!("it follows {:?}, not {:?}", header.parent_hash, parent.hash));
	}
	if Some(header.number) != parent.number.checked_add(1) {
		return Err(format!("it has number {}", header.number));
	}
	Ok(())
}

/// Input of `Core_execute_block`: the header without the seal, which the author puts on what it executed, and the body.
///
/// # Errors
/// If there are too many extrinsics for a block.
pub(super) fn input(unsealed: &Header, extrinsics: &[Vec<u8>]) -> Result<Vec<u8>, String> {
	let count = u32::try_from(extrinsics.len()).map_err(|_| "it has too many extrinsics".to_owned())?;
	let mut bytes = unsealed.encode();
	Compact(count).encode_to(&mut bytes);
	// They have their lengths in front, as elements of a block's body do.
	bytes.extend(extrinsics.iter().flatten());
	Ok(bytes)
}
