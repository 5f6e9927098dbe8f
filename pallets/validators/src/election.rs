//! Election by stake, session by session.

use crate::{Candidates, Config, Event, Exposure, Exposures, Pallet, Planned, Sessions, Status, ValidatorCount};
use alloc::vec::Vec;
use frame_support::{traits::Get, BoundedVec};
use neuroshard_types::AccountId;
use sp_staking::SessionIndex;

impl<T: Config> Pallet<T> {
	/// The candidates that would be elected now, by account. Who has more active stake, its own and its backing, comes first, and of equal ones
	/// the lower account.
	pub(crate) fn elect() -> Vec<(AccountId, Exposure)> {
		let mut list: Vec<_> = Candidates::<T>::iter()
			.filter(|(who, candidate)| candidate.status == Status::Active && T::Sessions::has_keys(who))
			.map(|(who, candidate)| (who, candidate.exposure()))
			.collect();
		list.sort_unstable_by(|(one, left), (other, right)| right.total.cmp(&left.total).then_with(|| one.cmp(other)));
		list.truncate(usize::try_from(ValidatorCount::<T>::get()).unwrap_or(usize::MAX));
		// In an order that does not change with every nomination, so that the same set is seen to be the same.
		list.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
		list
	}

	/// Returns the validators that go on where nobody can be elected: whoever was planned last and still has keys, without those who are barred, unless
	/// nobody would be left.
	fn who_stays() -> Vec<(AccountId, Exposure)> {
		let planned = Exposures::<T>::get(Planned::<T>::get());
		let with_keys: Vec<_> = planned.into_iter().filter(|(who, _)| T::Sessions::has_keys(who)).collect();
		let free: Vec<_> = with_keys.iter().filter(|(who, _)| Self::bar_of(who).is_none()).cloned().collect();
		if free.is_empty() {
			with_keys
		} else {
			free
		}
	}

	/// Plans the session `index`. `None`, and the set goes on, if set and keys are those that were queued last: then finality needs no change of
	/// authorities, and the identifications stay as they were.
	fn plan(index: SessionIndex) -> Option<Vec<AccountId>> {
		let elected = Self::elect();
		let elected = if elected.is_empty() { Self::who_stays() } else { elected };
		let accounts: Vec<_> = elected.iter().map(|(who, _)| who.clone()).collect();
		let changes = !elected.is_empty() && T::Sessions::differs(&accounts);
		let set = if changes { BoundedVec::truncate_from(elected) } else { Exposures::<T>::get(Planned::<T>::get()) };
		Self::remember(index, &set);
		Exposures::<T>::insert(index, set);
		Planned::<T>::put(index);
		if !changes {
			return None;
		}
		let validators = u32::try_from(accounts.len()).unwrap_or(u32::MAX);
		Self::deposit_event(Event::Elected { session: index, validators });
		Some(accounts)
	}
}

impl<T: Config> pallet_session::SessionManager<AccountId> for Pallet<T> {
	fn new_session(index: SessionIndex) -> Option<Vec<AccountId>> {
		Self::plan(index)
	}

	fn start_session(index: SessionIndex) {
		Self::forget_before(index);
	}

	fn end_session(index: SessionIndex) {
		let next = Exposures::<T>::get(index.saturating_add(1));
		let until = Self::now().saturating_add(T::ReportPeriod::get());
		for (who, _) in Exposures::<T>::take(index) {
			if !next.iter().any(|(other, _)| *other == who) {
				Candidates::<T>::mutate_exists(&who, |entry| {
					if let Some(candidate) = entry {
						candidate.reportable_until = until;
					}
				});
			}
		}
	}
}
