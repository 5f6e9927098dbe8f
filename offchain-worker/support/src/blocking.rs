//! Work that blocks.

use std::panic::resume_unwind;
use tokio::task::spawn_blocking;

/// Runs `work`, such as on the disk, on a thread where it may block. `None` if the process ends; a panic goes on here.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
	match spawn_blocking(work).await {
		Ok(outcome) => Some(outcome),
		Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
		Err(_) => None,
	}
}
