//! Whether the chain's state was sound after every block.

use crate::Error;
use neuroshard_chain_client::ChainClient;
use neuroshard_types::BlockNumber;

/// The first block up to `last` after which an invariant of the runtime does not hold, or the state is too large to be checked, in words;
/// nothing if all hold after all of them.
///
/// # Errors
/// [`Error::Chain`] if the node does not answer; it must have the state of these blocks.
pub(crate) async fn first_broken(client: &ChainClient, last: BlockNumber) -> Result<Option<String>, Error> {
	for number in 0..=last {
		let at = client.at(client.block_at(number).await?).await?;
		let soundness = at.soundness().await?;
		if !soundness.is_sound() {
			return Ok(Some(format!("after block {number}: {soundness}")));
		}
	}
	Ok(None)
}
