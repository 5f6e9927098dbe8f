//! Waiting for the chain.

use crate::chain::Heads;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Longest wait: a chain that stands still is asked again all the same.
const RETRY: Duration = Duration::from_secs(6);

/// Waits for a new block, for some time, or until `stop` is cancelled.
pub(super) async fn wait(heads: &mut watch::Receiver<Heads>, stop: &CancellationToken) {
	tokio::select! {
		_ = heads.changed() => {},
		() = stop.cancelled() => {},
		() = tokio::time::sleep(RETRY) => {},
	}
}
