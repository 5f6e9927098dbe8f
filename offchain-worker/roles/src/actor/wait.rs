//! Waiting for the chain.

use neuroshard_chain_client::Heads;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Longest wait: a chain that stands still is asked again all the same.
const RETRY: Duration = Duration::from_secs(6);

/// Waits for a new block, for some time, or until `stop` is cancelled.
pub async fn wait(heads: &mut watch::Receiver<Heads>, stop: &CancellationToken) {
	tokio::select! {
		Ok(()) = heads.changed() => {},
		() = stop.cancelled() => {},
		() = tokio::time::sleep(RETRY) => {},
	}
}
