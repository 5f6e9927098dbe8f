//! How fast a network trains.

use crate::{Error, Training};
use neuroshard_chain_client::ChainClient;
use neuroshard_types::run::RoundRecord;

/// Tokens of the deltas in the adopted checkpoints per second of chain time, from the start of the first round's training to the newest
/// adoption. Waiting, exchange and votes count, so it is less than the workers' speed while they train. 0 before the first adoption.
///
/// # Errors
/// [`Error::Chain`] if the node does not answer; it must have the state of these blocks.
pub(crate) async fn tokens_per_second(client: &ChainClient, training: &Training, records: &[RoundRecord]) -> Result<f64, Error> {
	let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(0.0) };
	// In the block before its adoption the first round still tells when its training began.
	let before = client.at(client.block_at(first.adopted_at.saturating_sub(1)).await?).await?;
	// It does not while blocks are being reorganised; the next look knows again.
	let Some(round) = before.round(training.run).await? else { return Ok(0.0) };
	let (_, begun) = round.started_at;
	let adopted = client.at(client.block_at(last.adopted_at).await?).await?.time().await?;
	let included = records.iter().map(|record| record.included.len()).sum::<usize>();
	let tokens = training.train.tokens_per_round().saturating_mul(u64::try_from(included).unwrap_or(u64::MAX));
	Ok(tokens as f64 * 1e3 / adopted.saturating_sub(begun).max(1) as f64)
}
