//! Calls in the bodies of blocks. Nodes keep these when the states of the same blocks are long gone.

use crate::{
	client::{BlockId, ChainAt},
	error::ChainError,
};
use codec::DecodeAll;
use neuroshard_types::{
	proof::{Proof, ProofSignature},
	run::Work,
	RoundIndex, RunId,
};

/// Run, round and work of a call of `Training`; `None` for calls that reveal nothing.
fn reveal(call: &str, mut fields: &[u8]) -> Option<(RunId, RoundIndex, Work)> {
	type Fields = (RunId, RoundIndex, u32, [u8; 32], Work, Proof, ProofSignature);
	let (run, round, _, _, work, ..) = (call == "reveal").then(|| Fields::decode_all(&mut fields).ok())??;
	Some((run, round, work))
}

impl ChainAt {
	/// Reads the calls of a pallet in a block, in order, and returns what `read` makes of a call's name and its encoded arguments. Whether these
	/// calls succeeded is not said here, nor for whom they were made: who signs can be an operator, and of whom it was one then, no body says.
	/// The block may be much older than this state, whose metadata they are read with: its own
	/// metadata may be gone with its state.
	///
	/// # Errors
	/// [`ChainError::Missing`] if the node does not have the block's body; the node is away.
	pub(super) async fn said<T>(
		&self,
		block: BlockId,
		pallet: &str,
		read: impl Fn(&str, &[u8]) -> Option<T>,
	) -> Result<Vec<T>, ChainError> {
		let extrinsics = self.at.extrinsics().from_bytes(self.client.body(block.hash).await?).await;
		let mut said = Vec::new();
		for extrinsic in extrinsics.iter() {
			// One of before an upgrade that changed how they are encoded is of no use after it.
			let Ok(extrinsic) = extrinsic else { continue };
			if extrinsic.pallet_name() == pallet {
				said.extend(read(extrinsic.call_name(), extrinsic.call_data_field_bytes()));
			}
		}
		Ok(said)
	}

	/// Returns the work that was revealed in a block, each with its run and round.
	///
	/// # Errors
	/// [`ChainError::Missing`] if the node does not have the block's body; the node is away.
	pub async fn reveals(&self, block: BlockId) -> Result<Vec<(RunId, RoundIndex, Work)>, ChainError> {
		self.said(block, "Training", reveal).await
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use codec::Encode;
	use neuroshard_types::{
		proof::{ProofKey, ProofKind},
		H256,
	};

	#[test]
	fn a_reveal_is_read_back_and_anything_else_is_none() {
		let work = Work { state_roots: vec![H256([1; 32])].try_into().unwrap(), delta_root: H256([2; 32]), delta_bytes: 3, tokens: 4 };
		let key = ProofKey { run: 5, round: 6, kind: ProofKind::Training };
		let proof = Proof { key, timestamp: 7, work_hash: H256([8; 32]) };
		let fields = (5u32, 6u32, 1u32, [9u8; 32], work.clone(), proof, [0u8; 65]).encode();
		assert_eq!(reveal("reveal", &fields), Some((5, 6, work)));
		assert_eq!(reveal("commit", &fields), None);
		assert_eq!(reveal("reveal", &fields[1..]), None);
	}
}
