//! Forgetting, in bounded steps, what can refuse no proof any more.

use crate::{Activities, Config, FinishedRuns, LastProven, Pallet, SweptTo};
use alloc::vec::Vec;
use neuroshard_types::traits::Clock;

/// Most [`LastProven`] entries removed in one block.
pub(crate) const FORGOTTEN_PER_BLOCK: u32 = 32;
/// Accounts looked at in one block for a stale activity.
pub(crate) const SWEPT_PER_BLOCK: u32 = 8;

impl<T: Config> Pallet<T> {
	/// One block's share of the cleaning.
	pub(crate) fn clean() {
		Self::forget_finished_run();
		Self::sweep_activities();
	}

	/// Removes what guards a finished run against replays: the training pallet submits nothing for it any more.
	fn forget_finished_run() {
		let Some(run) = FinishedRuns::<T>::iter_keys().next() else { return };
		let limit = usize::try_from(FORGOTTEN_PER_BLOCK).unwrap_or(usize::MAX);
		if LastProven::<T>::drain_prefix(run).take(limit).count() < limit {
			FinishedRuns::<T>::remove(run);
		}
	}

	/// Removes stale activities among the next few accounts, round and round.
	fn sweep_activities() {
		let now = T::Clock::now();
		let accounts = match SweptTo::<T>::get() {
			Some(who) => Activities::<T>::iter_from(Activities::<T>::hashed_key_for(who)),
			None => Activities::<T>::iter(),
		};
		let limit = usize::try_from(SWEPT_PER_BLOCK).unwrap_or(usize::MAX);
		let looked_at: Vec<_> = accounts.take(limit).collect();
		match looked_at.last() {
			Some((who, _)) if looked_at.len() == limit => SweptTo::<T>::put(who),
			_ => SweptTo::<T>::kill(),
		}
		for (who, _) in looked_at.iter().filter(|(_, activity)| activity.is_stale(now)) {
			Activities::<T>::remove(who);
		}
	}
}
