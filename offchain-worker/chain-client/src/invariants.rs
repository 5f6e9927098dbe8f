//! Soundness of the chain's state, as its runtime finds it: for those who watch a network.

use crate::{client::ChainAt, error::ChainError};
use codec::DecodeAll;
use neuroshard_types::soundness::Soundness;

const BROKEN: &str = "InvariantsApi_broken";

impl ChainAt {
	/// Checks the invariants of the state after this block.
	///
	/// # Errors
	/// [`ChainError::BadAnswer`] if the runtime answers something else; the node is away, does not know the question, or has discarded the state.
	pub async fn soundness(&self) -> Result<Soundness, ChainError> {
		let answer: Vec<u8> = self.state_call(BROKEN).await?;
		let bad = |error: codec::Error| ChainError::BadAnswer { what: BROKEN.into(), reason: error.to_string() };
		Soundness::decode_all(&mut &*answer).map_err(bad)
	}
}
