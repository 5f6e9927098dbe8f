//! Waiting for several futures at once, of which some may never end.

use futures::stream::{FuturesUnordered, StreamExt};
use std::{future::Future, time::Duration};

/// Returns the outputs of `work`, at the latest `patience` after the first success. What is not finished by then is dropped: what has come must not
/// be lost because something else does not come.
pub(super) async fn until_patience_ends<K, T, E, F>(work: impl IntoIterator<Item = F>, patience: Duration) -> Vec<(K, Result<T, E>)>
where
	F: Future<Output = (K, Result<T, E>)>,
{
	let mut pending: FuturesUnordered<F> = work.into_iter().collect();
	let mut results = Vec::new();
	while let Some(result) = pending.next().await {
		let success = result.1.is_ok();
		results.push(result);
		if success {
			break;
		}
	}
	// Time is only up for those that are not ready: what is ready at the end still counts.
	let rest = async {
		while let Some(result) = pending.next().await {
			results.push(result);
		}
	};
	let _ = tokio::time::timeout(patience, rest).await;
	results
}

#[cfg(test)]
mod tests {
	use super::*;
	use futures::future::{pending, ready, BoxFuture, FutureExt};

	type Outcome = (u8, Result<(), ()>);

	fn names(results: Vec<Outcome>) -> Vec<u8> {
		results.into_iter().map(|(name, _)| name).collect()
	}

	#[tokio::test]
	async fn what_has_come_is_not_lost_to_what_never_comes() {
		let work: [BoxFuture<'_, Outcome>; 3] = [pending().boxed(), ready((1, Ok(()))).boxed(), ready((2, Ok(()))).boxed()];
		let mut names = names(until_patience_ends(work, Duration::ZERO).await);
		names.sort_unstable();
		assert_eq!(names, [1, 2]);
	}

	#[tokio::test]
	async fn failures_alone_do_not_end_the_wait() {
		let (sender, receiver) = tokio::sync::oneshot::channel();
		let late = async {
			receiver.await.unwrap_or_default();
			(1, Ok(()))
		};
		let failed = async {
			// Whoever waits for the other one is still there after this failure.
			sender.send(()).unwrap_or_default();
			(0, Err(()))
		};
		let work: [BoxFuture<'_, Outcome>; 2] = [failed.boxed(), late.boxed()];
		assert_eq!(names(until_patience_ends(work, Duration::ZERO).await), [0, 1]);
	}

	#[tokio::test]
	async fn nothing_to_wait_for_is_nothing() {
		assert!(names(until_patience_ends(Vec::<BoxFuture<'_, Outcome>>::new(), Duration::MAX).await).is_empty());
	}
}
