//! A task that goes on beside an actor's loop.

use crate::WorkerError;
use std::{future::Future, pin::Pin};
use tokio_util::task::AbortOnDropHandle;

/// At most one piece of work that the loop does not wait for. It ends with this value.
#[derive(Debug)]
pub struct Aside<T>(Option<AbortOnDropHandle<T>>);

impl<T> Default for Aside<T> {
	fn default() -> Self {
		Self(None)
	}
}

impl<T: Send + 'static> Aside<T> {
	/// Returns whether something is under way, or its result was not taken yet.
	pub fn is_busy(&self) -> bool {
		self.0.is_some()
	}

	/// Starts `work` in place of what was under way.
	pub fn start(&mut self, work: impl Future<Output = T> + Send + 'static) {
		self.0 = Some(AbortOnDropHandle::new(tokio::spawn(work)));
	}

	/// Returns the result of the work, once, as soon as it is over. Does not wait for it.
	///
	/// # Errors
	/// [`WorkerError::Stopped`] if it panicked.
	pub async fn take(&mut self) -> Option<Result<T, WorkerError>> {
		let task = self.0.take_if(|task| task.is_finished())?;
		Some(task.await.map_err(|_| WorkerError::Stopped))
	}

	/// Ends what is under way, and waits until it has ended.
	pub async fn stop(&mut self) {
		if let Some(task) = self.0.take() {
			task.abort();
			// Ended is ended, however.
			let _ = task.await;
		}
	}
}

/// Has `task` go on while `look` is under way, which is finished in any case: what `look` gives, and the task's result if it is over by then.
pub async fn beside<L, T>(look: impl Future<Output = L>, task: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> (L, Option<T>) {
	let mut look = std::pin::pin!(look);
	tokio::select! {
		seen = &mut look => (seen, None),
		result = task => (look.await, Some(result)),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use tokio::sync::oneshot;

	#[tokio::test]
	async fn a_task_goes_on_while_something_is_looked_at() {
		let (progress, seen) = oneshot::channel();
		let (answer, answered) = oneshot::channel();
		let mut task = std::pin::pin!(async {
			progress.send("half").unwrap();
			answered.await.unwrap()
		});
		// The look lasts until the task has got on.
		assert_eq!(beside(seen, task.as_mut()).await, (Ok("half"), None));
		answer.send(7).unwrap();
		assert_eq!(task.await, 7);
	}

	#[tokio::test]
	async fn a_look_is_finished_although_the_task_is_over_before() {
		let (over, waits) = oneshot::channel::<u8>();
		let task = std::pin::pin!(async {
			over.send(1).unwrap();
			7
		});
		let look = async {
			let first = waits.await.unwrap();
			tokio::task::yield_now().await;
			first + 1
		};
		assert_eq!(beside(look, task).await, (2, Some(7)));
	}

	#[tokio::test]
	async fn the_loop_goes_on_and_takes_the_result_once_when_it_is_there() {
		let (sender, receiver) = oneshot::channel();
		let mut aside = Aside::default();
		assert!(aside.take().await.is_none() && !aside.is_busy());
		aside.start(async move { receiver.await.unwrap_or(0) });
		assert!(aside.take().await.is_none() && aside.is_busy(), "it is not waited for");
		sender.send(7).unwrap();
		let taken = loop {
			match aside.take().await {
				Some(taken) => break taken,
				None => tokio::task::yield_now().await,
			}
		};
		assert_eq!(taken.unwrap(), 7);
		assert!(aside.take().await.is_none() && !aside.is_busy());
	}

	#[tokio::test]
	async fn it_has_ended_when_the_worker_stops_or_is_gone() {
		let (held, mut gone) = oneshot::channel::<()>();
		let mut aside = Aside::default();
		aside.start(async move {
			let _held = held;
			std::future::pending::<()>().await;
		});
		aside.stop().await;
		assert!(gone.try_recv() == Err(oneshot::error::TryRecvError::Closed) && !aside.is_busy());

		let (held, gone) = oneshot::channel::<()>();
		aside.start(async move {
			let _held = held;
			std::future::pending::<()>().await;
		});
		drop(aside);
		gone.await.unwrap_err();
	}
}
