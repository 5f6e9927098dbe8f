//! Containment of panics, which end nothing but what was under way.

use crate::WorkerError;
use futures::FutureExt;
use std::{any::Any, future::Future, panic::AssertUnwindSafe};

/// Runs `work` and returns its output. A panic in it is an error like any other: what goes on beside it must not end with it.
///
/// What the work had begun to change stays as it is then. It must be fit to go on from, as it is wherever a dropped future is.
pub async fn guarded<T>(what: &'static str, work: impl Future<Output = Result<T, WorkerError>>) -> Result<T, WorkerError> {
	AssertUnwindSafe(Box::pin(work)).catch_unwind().await.unwrap_or_else(|panic| Err(panicked(what, panic.as_ref())))
}

/// The error that a panic in `what` is.
pub fn panicked(what: &'static str, panic: &(dyn Any + Send)) -> WorkerError {
	let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
	WorkerError::Panicked { what, words: words.unwrap_or_else(|| "no words".into()) }
}

#[cfg(test)]
mod tests {
	use super::*;

	#[tokio::test]
	async fn a_panic_is_an_error_with_its_words() {
		let work = async {
			tokio::task::yield_now().await;
			let none: Option<u8> = std::iter::empty().next();
			Ok(none.expect("nothing is there"))
		};
		let error = guarded("a check", work).await.unwrap_err();
		assert!(error.to_string().contains("a check failed unexpectedly (nothing is there)"), "{error}");
		assert_eq!(guarded("a check", async { Ok(7) }).await.unwrap(), 7);
	}
}
