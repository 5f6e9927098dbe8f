//! Memory for calls: all connections of a node share it.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a unit of the budget, so that a permit of as many as a semaphore can give covers everything.
const UNIT: u64 = 1_024;

fn units(bytes: u64) -> u32 {
	u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

/// Bytes that requests and answers may take, of all connections together. Who waits for some is served in turn.
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

	/// Takes `bytes`, or all if there are fewer, as soon as they are free. Nothing only if the budget was given up.
	pub async fn reserve(self: Arc<Self>, bytes: u64) -> Option<Share> {
		self.free.clone().acquire_many_owned(units(bytes).min(self.all)).await.ok().map(Share)
	}

	/// Bytes that are taken.
	pub fn taken(&self) -> u64 {
		u64::from(self.all).saturating_sub(self.free.available_permits() as u64).saturating_mul(UNIT)
	}
}

/// A part of a budget, which goes back when it is dropped.
#[derive(Debug)]
pub struct Share(OwnedSemaphorePermit);

impl Share {
	/// Gives back all but `bytes`.
	pub fn shrink(&mut self, bytes: u64) {
		let surplus = self.0.num_permits().saturating_sub(units(bytes) as usize);
		drop(self.0.split(surplus));
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use futures::poll;

	#[tokio::test]
	async fn whoever_finds_too_little_waits_until_others_have_given_back_enough() {
		let budget = Budget::new(10 * UNIT);
		let mut first = budget.clone().reserve(6 * UNIT).await.unwrap();
		let mut second = Box::pin(budget.clone().reserve(5 * UNIT));
		assert_eq!(budget.taken(), 6 * UNIT);
		assert!(poll!(&mut second).is_pending());
		first.shrink(5 * UNIT - 1);
		let second = second.await.unwrap();
		assert_eq!(budget.taken(), 10 * UNIT);
		first.shrink(7 * UNIT);
		drop(second);
		assert_eq!(budget.taken(), 5 * UNIT);
		drop(first);
		assert_eq!(budget.taken(), 0);
	}

	#[tokio::test]
	async fn more_than_there_is_is_all_of_it() {
		let budget = Budget::new(10 * UNIT);
		let all = budget.clone().reserve(u64::MAX).await.unwrap();
		assert_eq!(budget.taken(), 10 * UNIT);
		drop(all);
	}
}
