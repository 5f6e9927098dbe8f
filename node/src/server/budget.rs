//! Memory and threads for calls, of which clients on this machine have their own: nobody else can take them.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a unit of a budget, so that a permit of as many as a semaphore can give covers everything.
const UNIT: u64 = 1_024;

fn units(bytes: u64) -> u32 {
	u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

/// What all clients of one kind share.
///
/// Requests and answers have budgets of their own: a request that has come waits for memory for its answer, so what answers take must never wait for
/// requests.
#[derive(Debug, Clone)]
pub struct Kind {
	/// Memory for requests.
	pub requests: Arc<Budget>,
	/// Memory for answers.
	pub answers: Arc<Budget>,
	/// Threads in which calls are executed at a time.
	pub threads: Arc<Semaphore>,
}

impl Kind {
	/// So many bytes of requests and answers, and so many threads.
	pub fn new(requests: u64, answers: u64, threads: usize) -> Self {
		Self { requests: Budget::new(requests), answers: Budget::new(answers), threads: Arc::new(Semaphore::new(threads)) }
	}
}

/// Bytes that many connections share. Who waits for some is served in turn.
#[derive(Debug)]
pub struct Budget {
	free: Arc<Semaphore>,
	all: u32,
}

impl Budget {
	/// A budget of `bytes`, nothing of which is taken.
	pub fn new(bytes: u64) -> Arc<Self> {
		Arc::new(Self { free: Arc::new(Semaphore::new(units(bytes) as usize)), all: units(bytes) })
	}

	/// Bytes that are taken.
	pub fn taken(&self) -> u64 {
		u64::from(self.all).saturating_sub(self.free.available_permits() as u64).saturating_mul(UNIT)
	}
}

/// A part of a budget, which goes back when it is dropped.
#[derive(Debug)]
pub struct Share {
	budget: Arc<Budget>,
	permit: Option<OwnedSemaphorePermit>,
}

impl Share {
	/// Nothing of `budget`.
	pub fn none(budget: Arc<Budget>) -> Self {
		Self { budget, permit: None }
	}

	/// Has at least `bytes`, or all that there are if these are fewer, as soon as they are free. Giving up the wait changes nothing.
	pub async fn grow(&mut self, bytes: u64) {
		let has = self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
		let missing = (units(bytes).min(self.budget.all) as usize).saturating_sub(has);
		// It fits: it is less than what the budget has. Nobody closes the semaphore.
		let missing = u32::try_from(missing).unwrap_or(u32::MAX);
		let Ok(more) = self.budget.free.clone().acquire_many_owned(missing).await else { return };
		match &mut self.permit {
			Some(permit) => permit.merge(more),
			None => self.permit = Some(more),
		}
	}

	/// Gives back all but `bytes`.
	pub fn shrink(&mut self, bytes: u64) {
		if let Some(permit) = &mut self.permit {
			let surplus = permit.num_permits().saturating_sub(units(bytes) as usize);
			drop(permit.split(surplus));
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use futures::poll;

	#[tokio::test]
	async fn whoever_finds_too_little_waits_until_others_have_given_back_enough() {
		let budget = Budget::new(10 * UNIT);
		let (mut first, mut second) = (Share::none(budget.clone()), Share::none(budget.clone()));
		first.grow(4 * UNIT).await;
		first.grow(6 * UNIT).await;
		first.grow(UNIT).await;
		assert_eq!(budget.taken(), 6 * UNIT);
		let mut growing = Box::pin(second.grow(5 * UNIT));
		assert!(poll!(&mut growing).is_pending());
		first.shrink(5 * UNIT - 1);
		growing.await;
		assert_eq!(budget.taken(), 10 * UNIT);
		first.shrink(7 * UNIT);
		drop(second);
		assert_eq!(budget.taken(), 5 * UNIT);
		drop(first);
		assert_eq!(budget.taken(), 0);
	}

	#[tokio::test]
	async fn whoever_gives_up_waiting_has_what_it_had() {
		let budget = Budget::new(10 * UNIT);
		let (mut first, mut second) = (Share::none(budget.clone()), Share::none(budget.clone()));
		first.grow(9 * UNIT).await;
		second.grow(UNIT).await;
		assert!(poll!(Box::pin(second.grow(2 * UNIT))).is_pending());
		drop(first);
		assert_eq!(budget.taken(), UNIT);
	}

	#[tokio::test]
	async fn more_than_there_is_is_all_of_it() {
		let budget = Budget::new(10 * UNIT);
		let mut all = Share::none(budget.clone());
		all.grow(UNIT).await;
		all.grow(u64::MAX).await;
		assert_eq!(budget.taken(), 10 * UNIT);
		drop(all);
		assert_eq!(budget.taken(), 0);
	}
}
