//! Earnings that are ready to be claimed.

use crate::WorkerError;
use neuroshard_chain_client::{next_block, rewards, Call, ChainAt, ChainClient, ChainError, Heads, Submitter};
use neuroshard_support::backoff::Backoff;
use neuroshard_types::{reward::EraIndex, AccountId, Balance, BlockNumber};
use tokio_util::sync::CancellationToken;

/// Blocks without another claim after one that failed, first and at most.
const REST: (BlockNumber, BlockNumber) = (10, 600);
/// Blocks in which a claim is seen to be taken: before that, another one would be for the same.
const TAKEN: BlockNumber = 5;

/// Eras of which `who` can claim something at both of these blocks, and how much that is in planck: what only the newer one knows may be of a branch that is
/// given up.
///
/// # Errors
/// [`ChainError`].
pub(crate) async fn claimable(at: &ChainAt, finalized: &ChainAt, who: &AccountId) -> Result<(Vec<EraIndex>, Balance), ChainError> {
	let (eras, settled) = tokio::try_join!(at.claimable_eras(who), finalized.claimable_eras(who))?;
	let eras = eras.into_iter().filter(|(era, _)| settled.iter().any(|(other, _)| other == era));
	let (eras, amounts): (Vec<EraIndex>, Vec<Balance>) = eras.unzip();
	Ok((eras, amounts.into_iter().fold(0, Balance::saturating_add)))
}

/// The call that claims the first of these eras for `who`.
pub(crate) fn claim(who: &AccountId, eras: &[EraIndex]) -> Call {
	Call::all(eras.iter().take(rewards::MOST_CLAIMS).map(|era| rewards::claim_for(who.clone(), *era)).collect())
}

/// Claims what is ready, if that is `from` planck or more, until `stop` is cancelled: for who has no other task than to claim it.
pub(crate) async fn claim_all(client: ChainClient, submitter: Submitter, from: Balance, stop: CancellationToken) {
	let mut heads = client.follow(Heads::default(), |_| {});
	let (backoff, mut rest, mut next) = (Backoff::new(REST.0, REST.1), None, 0);
	while !stop.is_cancelled() {
		heads.mark_unchanged();
		let look = async {
			let heads = client.heads().await?;
			let now = heads.best.number;
			if now < next {
				return Ok(None);
			}
			let (at, finalized) = tokio::try_join!(client.at(heads.best), client.at(heads.finalized))?;
			let (eras, amount) = claimable(&at, &finalized, submitter.who()).await?;
			if amount == 0 || amount < from {
				return Ok(None);
			}
			tracing::info!("claiming earnings");
			Ok::<_, WorkerError>(Some((now, submitter.submit(claim(submitter.who(), &eras)).await)))
		};
		match stop.run_until_cancelled(look).await {
			Some(Ok(Some((now, Ok(_))))) => (rest, next) = (None, now.saturating_add(TAKEN)),
			Some(Ok(Some((now, Err(error))))) => {
				tracing::warn!("earnings cannot be claimed now: {error}");
				let length = backoff.after(rest);
				(rest, next) = (Some(length), now.saturating_add(length));
			}
			Some(Err(error)) => tracing::debug!("earnings: {error}"),
			Some(Ok(None)) | None => {}
		}
		next_block(&mut heads, &stop).await;
	}
}
