//! Work on the disk, and work that may never end.

use super::guarded::panicked;
use crate::WorkerError;
use std::{future::Future, time::Duration};

/// Runs `work`, which uses the disk, where it may block.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, WorkerError> + Send + 'static) -> Result<T, WorkerError> {
	tokio::task::spawn_blocking(work).await.map_err(|error| match error.try_into_panic() {
		Ok(panic) => panicked("work on files", panic.as_ref()),
		Err(_) => WorkerError::Stopped,
	})?
}

/// Returns the output of `work` if that takes no longer than `limit`.
pub async fn within<T>(limit: Duration, what: &str, work: impl Future<Output = T>) -> Result<T, WorkerError> {
	let slow = |_| WorkerError::Slow { what: what.to_owned(), seconds: limit.as_secs() };
	tokio::time::timeout(limit, work).await.map_err(slow)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[tokio::test]
	async fn what_never_ends_is_given_up_and_named() {
		let error = within(Duration::ZERO, "delta 7", std::future::pending::<()>()).await.unwrap_err();
		assert!(matches!(&error, WorkerError::Slow { .. }) && error.to_string().contains("delta 7"), "{error}");
		assert_eq!(within(Duration::ZERO, "nothing", async { 7 }).await.unwrap(), 7);
	}
}
