//! Waiting for something that other processes do.

use crate::{pace::longest, Error};
use neuroshard_chain_client::ChainError;
use std::{
	future::Future,
	time::{Duration, Instant},
};

/// Pause between two looks.
const INTERVAL: Duration = Duration::from_millis(250);

/// Looks again and again until `look` finds what is waited for. `limit` is more than it takes on a machine of reference speed; elsewhere it is waited
/// for [as much longer](crate::pace) as the machine is slower.
///
/// # Errors
/// [`Error::Late`] when that has passed, naming `what`; and whatever `look` fails with.
pub async fn until<T>(what: &str, limit: Duration, mut look: impl AsyncFnMut() -> Result<Option<T>, Error>) -> Result<T, Error> {
	let (start, limit) = (Instant::now(), longest(limit));
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

/// What `work` gives, which takes less than `limit` on a machine of reference speed; see [`until`].
///
/// # Errors
/// [`Error::Late`] when that has passed, naming `what`.
pub async fn within<T>(what: &str, limit: Duration, work: impl Future<Output = T>) -> Result<T, Error> {
	let limit = longest(limit);
	tokio::time::timeout(limit, work).await.map_err(|_| Error::Late { what: what.to_owned(), seconds: limit.as_secs() })
}

/// What a node answered, or `None` while it is away. One that starts compiles the runtime before it answers, which on a busy machine takes longer than a
/// question may.
///
/// # Errors
/// [`Error::Chain`] for every other failure.
pub fn unless_away<T>(answer: Result<T, ChainError>) -> Result<Option<T>, Error> {
	match answer {
		Ok(answer) => Ok(Some(answer)),
		Err(ChainError::NodeAway { .. }) => Ok(None),
		Err(error) => Err(error.into()),
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

	#[tokio::test]
	async fn work_is_waited_for_and_named_if_it_never_ends() {
		assert_eq!(within("a number", Duration::from_secs(10), async { 3 }).await.unwrap(), 3);
		let error = within("a miracle", Duration::ZERO, std::future::pending::<()>()).await.unwrap_err();
		assert!(error.to_string().contains("a miracle"), "{error}");
	}

	#[test]
	fn only_a_node_that_is_away_is_waited_for() {
		assert_eq!(unless_away(Ok(7)).unwrap(), Some(7));
		let away = ChainError::NodeAway { url: "ws://127.0.0.1:1".into(), reason: "no answer".into() };
		assert_eq!(unless_away::<()>(Err(away)).unwrap(), None);
		let error = unless_away::<()>(Err(ChainError::BadUrl { url: "nowhere".into() })).unwrap_err();
		assert!(matches!(error, Error::Chain(ChainError::BadUrl { .. })), "{error}");
	}
}
