//! Waiting for something that other processes do.

use crate::Error;
use std::time::{Duration, Instant};

/// Pause between two looks.
const INTERVAL: Duration = Duration::from_millis(250);

/// Looks again and again until `look` finds what is waited for.
///
/// # Errors
/// [`Error::Late`] when `limit` has passed, naming `what`; and whatever `look` fails with.
pub async fn until<T>(what: &str, limit: Duration, mut look: impl AsyncFnMut() -> Result<Option<T>, Error>) -> Result<T, Error> {
	let start = Instant::now();
	loop {
		if let Some(found) = look().await? {
			return Ok(found);
		}
		if start.elapsed() >= limit {
			return Err(Error::Late { what: what.to_owned(), seconds: limit.as_secs() });
		}
		tokio::time::sleep(INTERVAL).await;
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[tokio::test]
	async fn what_happens_in_time_is_found_and_what_does_not_is_named() {
		let mut looks = 0;
		let found = until("the third look", Duration::from_secs(10), async || {
			looks += 1;
			Ok((looks == 3).then_some(looks))
		});
		assert_eq!(found.await.unwrap(), 3);
		let error = until("a miracle", Duration::ZERO, async || Ok(None::<()>)).await.unwrap_err();
		assert!(error.to_string().contains("a miracle"), "{error}");
	}
}
