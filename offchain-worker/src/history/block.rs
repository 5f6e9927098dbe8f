//! Whether a block is the one that comes next, and how the runtime takes it.

use crate::chain::{Block, BlockId};
use codec::{Compact, Encode};
use sp_runtime::DigestItem;

/// Consensus engine whose seal a block ends with.
const BABE: [u8; 4] = *b"BABE";

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

/// Input of `Core_execute_block`: header and body without the seal, which the author puts on what it executed.
///
/// # Errors
/// If there is no seal at the end.
pub(super) fn unsealed(block: &Block) -> Result<Vec<u8>, String> {
	let mut header = block.header.clone();
	match header.digest.pop() {
		Some(DigestItem::Seal(BABE, _)) => {}
		_ => return Err("its header does not end with the seal of its author".into()),
	}
	let count = u32::try_from(block.extrinsics.len()).map_err(|_| "it has too many extrinsics".to_owned())?;
	let mut bytes = header.encode();
	Compact(count).encode_to(&mut bytes);
	// They have their lengths in front, as elements of a block's body do.
	bytes.extend(block.extrinsics.iter().flatten());
	Ok(bytes)
}
