//! Work on all cores, whose results come in the order of the jobs.

use super::DataError;
use std::{
	sync::{
		mpsc::{sync_channel, Receiver, SyncSender},
		Mutex, PoisonError,
	},
	thread,
};

/// Jobs that wait for each thread.
const WAITING: usize = 4;

/// Does `work` on each job that `produce` hands over, on so many threads, and hands what becomes of it to `take`, on this thread and in that order.
/// Returns what `produce` does.
///
/// # Errors
/// What `take` or else `produce` says.
pub(super) fn in_order<J: Send, R: Send, P: Send>(
	threads: usize,
	produce: impl FnOnce(&mut dyn FnMut(J) -> Result<(), DataError>) -> Result<P, DataError> + Send,
	work: impl Fn(J) -> R + Sync,
	take: &mut dyn FnMut(R) -> Result<(), DataError>,
) -> Result<P, DataError> {
	let threads = threads.max(1);
	let (hand, jobs) = sync_channel::<(J, SyncSender<R>)>(threads.saturating_mul(WAITING));
	let (order, results) = sync_channel::<Receiver<R>>(threads.saturating_mul(WAITING));
	let jobs = Mutex::new(jobs);
	thread::scope(|scope| {
		for _ in 0..threads {
			scope.spawn(|| loop {
				let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
				let Ok((job, result)) = job else { break };
				// Nobody wants it if something else has failed.
				let _ = result.send(work(job));
			});
		}
		let producer = scope.spawn(move || {
			produce(&mut |job| {
				let (result, waiting) = sync_channel(1);
				let nobody_waits = order.send(waiting).is_err() || hand.send((job, result)).is_err();
				if nobody_waits {
					Err(ended())
				} else {
					Ok(())
				}
			})
		});
		for result in results {
			take(result.recv().map_err(|_| ended())?)?;
		}
		producer.join().unwrap_or_else(|_| Err(ended()))
	})
}

fn ended() -> DataError {
	DataError::Invalid("a thread of the build has ended".into())
}

#[cfg(test)]
mod tests {
	use super::*;

	fn squares(most: u64) -> (Result<&'static str, DataError>, Vec<u64>) {
		let mut taken = Vec::new();
		let made = in_order(3, |hand| (0..1000u64).try_for_each(hand).map(|()| "all"), |number| number * number, &mut |square| {
			taken.push(square);
			if square < most {
				Ok(())
			} else {
				Err(DataError::Invalid("enough".into()))
			}
		});
		(made, taken)
	}

	#[test]
	fn results_come_in_order_until_one_is_refused() {
		let (made, taken) = squares(u64::MAX);
		assert_eq!((made.unwrap(), taken), ("all", (0..1000).map(|number| number * number).collect()));
		let (made, taken) = squares(2500);
		assert_eq!((made.unwrap_err().to_string(), taken.last()), ("enough".into(), Some(&2500)));
	}

	#[test]
	fn what_ends_the_jobs_is_said() {
		let failing = |_: &mut dyn FnMut(u8) -> Result<(), DataError>| Err::<(), _>(DataError::Invalid("no more".into()));
		assert_eq!(in_order(2, failing, |job| job, &mut |_| Ok(())).unwrap_err().to_string(), "no more");
	}
}
