//! Implementation of the view functions.

use crate::{
	Candidate, CandidateView, Candidates, Config, Exposures, Nominations, NominationsOf, Owed, Pallet, Planned, PositionView, Sessions,
	MAX_CANDIDATES_PER_PAGE,
};
use alloc::{collections::BTreeSet, vec::Vec};
use neuroshard_types::{AccountId, Balance};

/// Members of the sets, read once for a whole page.
struct Sets {
	validating: BTreeSet<AccountId>,
	elected: BTreeSet<AccountId>,
}

impl<T: Config> Pallet<T> {
	fn sets() -> Sets {
		Sets {
			validating: T::Sessions::validators().into_iter().collect(),
			elected: Exposures::<T>::get(Planned::<T>::get()).into_iter().map(|(who, _)| who).collect(),
		}
	}

	fn view(who: &AccountId, candidate: Candidate, sets: &Sets) -> CandidateView {
		let now = Self::now();
		let pending = candidate.pool.due(&candidate.own);
		CandidateView {
			status: candidate.status,
			commission: candidate.commission_at(now),
			next_commission: candidate.next_commission.filter(|(_, from)| *from > now),
			own: candidate.own.stake.active,
			unbonding: candidate.own.stake.unbonding.into_inner(),
			backing: candidate.backing,
			nominators: candidate.nominators,
			has_keys: T::Sessions::has_keys(who),
			validating: sets.validating.contains(who),
			elected: sets.elected.contains(who),
			reportable_until: candidate.reportable_until,
			barred_until: Self::bar_of(who),
			claimable: Owed::<T>::get(who).saturating_add(pending),
		}
	}

	/// See the view function `candidate`.
	pub(crate) fn candidate_of(who: AccountId) -> Option<CandidateView> {
		Candidates::<T>::get(&who).map(|candidate| Self::view(&who, candidate, &Self::sets()))
	}

	/// See the view function `candidates`.
	pub(crate) fn candidates_after(after: Option<AccountId>, limit: u32) -> Vec<(AccountId, CandidateView)> {
		let candidates = match after {
			Some(account) => Candidates::<T>::iter_from(Candidates::<T>::hashed_key_for(account)),
			None => Candidates::<T>::iter(),
		};
		let sets = Self::sets();
		let view = |(who, candidate): (AccountId, Candidate)| {
			let view = Self::view(&who, candidate, &sets);
			(who, view)
		};
		candidates.take(usize::try_from(limit.min(MAX_CANDIDATES_PER_PAGE)).unwrap_or(0)).map(view).collect()
	}

	/// See the view function `positions`.
	pub(crate) fn positions_of(who: AccountId) -> Vec<PositionView> {
		let view = |id: AccountId| {
			let nomination = Nominations::<T>::get(&id, &who)?;
			let pending = Candidates::<T>::get(&id)?.pool.due(&nomination);
			let (active, unbonding) = (nomination.stake.active, nomination.stake.unbonding.into_inner());
			Some(PositionView { candidate: id, active, unbonding, pending })
		};
		NominationsOf::<T>::get(&who).into_iter().filter_map(view).collect()
	}

	/// See the view function `claimable`.
	pub(crate) fn claimable_of(who: &AccountId) -> Balance {
		let own = Candidates::<T>::get(who).map_or(0, |candidate| candidate.pool.due(&candidate.own));
		let settled = Owed::<T>::get(who).saturating_add(own);
		Self::positions_of(who.clone()).iter().fold(settled, |sum, position| sum.saturating_add(position.pending))
	}
}
