//! Invariants of the pallet's storage.

use crate::{
	Candidate, Candidates, Config, Cooldown, Exposures, FirstSessions, HoldReason, MinSelfBond, Nominations, NominationsOf, Offenders,
	Owed, Pallet, Planned, Position, Sessions, Sets, Status, ValidatorCount, MAX_NOMINATORS,
};
use alloc::{
	collections::{BTreeMap, BTreeSet},
	vec::Vec,
};
use frame_support::{
	ensure,
	traits::{fungible::Inspect, Get},
};
use neuroshard_types::{AccountId, Balance};
use sp_runtime::TryRuntimeError;

impl<T: Config> Pallet<T> {
	/// Checks every invariant; its cost grows with the number of candidates and nominations, so it is no part of a block.
	///
	/// - The cooldown is longer than offences can be reported, and the set has at least one and at most the most validators.
	/// - Every account's holds equal its self-bond and its nominations, unbonding parts included; no part is empty or out of order.
	/// - Backing and number of nominations of every candidate are those of its nominations, and both ways of finding these agree.
	/// - An active candidate reaches the minimum and is not barred; there are at most as many as there can be.
	/// - The pool of every candidate has what its positions are due, and no more than rounding explains; the pot has what is owed.
	/// - Nobody is twice in a set, and everybody in the latest one is a candidate, or was slashed to nothing.
	/// - Sets with keys are those of the sessions that are remembered, no more and no less, and of no other accounts than those that are elected.
	/// - The running session and the planned one are remembered, the running one with its validators, and the planned one with the keys that it goes by.
	pub fn do_try_state() -> Result<(), TryRuntimeError> {
		ensure!(Cooldown::<T>::get() > T::ReportPeriod::get(), "the cooldown is not longer than offences can be reported");
		ensure!((1..=T::MaxValidators::get()).contains(&ValidatorCount::<T>::get()), "a validator count out of range");
		let mut owed = Owed::<T>::iter_values().try_fold(0, Balance::checked_add).ok_or("what is owed overflows")?;
		let mut count: u32 = 0;
		for (who, candidate) in Candidates::<T>::iter() {
			count = count.saturating_add(1);
			Self::try_candidate(&who, &candidate)?;
			owed = owed.checked_add(candidate.pool.unsettled).ok_or("what is owed overflows")?;
		}
		ensure!(count == Candidates::<T>::count() && count <= T::MaxCandidates::get(), "candidates miscounted, or too many");
		let free = T::Currency::balance(&Self::pot());
		ensure!(free.checked_sub(T::Currency::minimum_balance()) >= Some(owed), "the pot has less than it owes");
		Self::try_nominators()?;
		Self::try_sets()?;
		Self::try_keys()
	}

	fn try_candidate(who: &AccountId, candidate: &Candidate) -> Result<(), TryRuntimeError> {
		try_stake(&candidate.own)?;
		ensure!(candidate.own.stake.total() == Self::held(HoldReason::SelfBond, who), "a self-bond differs from the hold");
		ensure!(candidate.own.stake.total() > 0, "a candidate with nothing at stake");
		if candidate.status == Status::Active {
			ensure!(candidate.own.stake.active >= MinSelfBond::<T>::get(), "an active candidate below the minimum");
			ensure!(Self::bar_of(who).is_none(), "a barred candidate is active");
		}
		let nominations: Vec<Position> = Nominations::<T>::iter_prefix(who).map(|(_, nomination)| nomination).collect();
		let (mut backing, mut due, mut positions) = (0u128, candidate.pool.due(&candidate.own), 1u128);
		for nomination in &nominations {
			try_stake(nomination)?;
			ensure!(nomination.stake.total() > 0, "an empty nomination");
			backing = backing.checked_add(nomination.stake.active).ok_or("backing overflows")?;
			due = due.checked_add(candidate.pool.due(nomination)).ok_or("what is due overflows")?;
			positions = positions.saturating_add(1);
		}
		ensure!(backing == candidate.backing, "backing differs from the nominations");
		ensure!(nominations.len() == usize::try_from(candidate.nominators).unwrap_or(usize::MAX), "nominations miscounted");
		ensure!(candidate.nominators <= MAX_NOMINATORS, "too many nominations");
		// Nothing that was settled is lost but by rounding down, less than a planck each time.
		let rounded = candidate.pool.unsettled.checked_sub(due).ok_or("a pool has less than its positions are due")?;
		let most = positions.saturating_add(candidate.pool.roundings.into());
		ensure!(rounded <= most, "a pool has more than rounding explains");
		Ok(())
	}

	/// Holds for nominations, and the list by nominator.
	fn try_nominators() -> Result<(), TryRuntimeError> {
		let mut by_nominator: BTreeMap<AccountId, (Balance, BTreeSet<AccountId>)> = BTreeMap::new();
		for (id, nominator, nomination) in Nominations::<T>::iter() {
			ensure!(Candidates::<T>::contains_key(&id), "a nomination of nobody");
			ensure!(id != nominator, "a nomination of oneself");
			let (total, ids) = by_nominator.entry(nominator).or_default();
			*total = total.checked_add(nomination.stake.total()).ok_or("nominations overflow")?;
			ids.insert(id);
		}
		for (nominator, (total, ids)) in &by_nominator {
			ensure!(*total == Self::held(HoldReason::Nomination, nominator), "nominations differ from the hold");
			let list = NominationsOf::<T>::get(nominator);
			ensure!(list.len() == ids.len() && list.iter().all(|id| ids.contains(id)), "nominations and their list differ");
		}
		ensure!(NominationsOf::<T>::iter_keys().all(|who| by_nominator.contains_key(&who)), "a list of no nominations");
		Ok(())
	}

	fn try_sets() -> Result<(), TryRuntimeError> {
		let planned = Planned::<T>::get();
		for (session, set) in Exposures::<T>::iter() {
			ensure!(session <= planned, "a set of a session that is not planned");
			let accounts: BTreeSet<_> = set.iter().map(|(who, _)| who).collect();
			ensure!(accounts.len() == set.len(), "an account is twice in a set");
			ensure!(set.iter().all(|(_, exposure)| exposure.own <= exposure.total), "more own stake than stake");
		}
		let known = |who: &AccountId| Candidates::<T>::contains_key(who) || Offenders::<T>::contains_key(who);
		ensure!(Exposures::<T>::get(planned).iter().all(|(who, _)| known(who)), "an unknown account is elected");
		Ok(())
	}

	fn try_keys() -> Result<(), TryRuntimeError> {
		let planned = Planned::<T>::get();
		let mut firsts = BTreeSet::new();
		for (session, first) in FirstSessions::<T>::iter() {
			let age = planned.checked_sub(session).ok_or("a remembered session is not planned")?;
			// The running session comes before the planned one.
			ensure!(age <= T::SessionsKept::get().saturating_add(1), "a session is remembered for too long");
			ensure!(first <= session && FirstSessions::<T>::get(session.saturating_sub(1)).unwrap_or(first) <= first, "sets out of order");
			firsts.insert(first);
		}
		ensure!(firsts == Sets::<T>::iter_keys().collect(), "a set of no session, or a session of no set");
		let elected: BTreeSet<_> = Exposures::<T>::get(planned).into_iter().map(|(who, _)| who).collect();
		let latest = FirstSessions::<T>::get(planned).map(Sets::<T>::get).unwrap_or_default();
		ensure!(latest.iter().all(|(who, _, _)| elected.contains(who)), "who signs is not elected");
		let running = FirstSessions::<T>::get(T::Sessions::current()).map(Sets::<T>::get).ok_or("the running session is not remembered")?;
		ensure!(FirstSessions::<T>::contains_key(planned), "the planned session is not remembered");
		// A chain without candidates begins with what the session pallet has.
		if !running.is_empty() {
			ensure!(running.into_iter().map(|(who, _, _)| who).eq(T::Sessions::validators()), "a running set of others than remembered");
		}
		if !latest.is_empty() {
			ensure!(
				latest.into_iter().map(|(who, _, keys)| (who, keys)).eq(T::Sessions::queued()),
				"a planned set of others than remembered"
			);
		}
		Ok(())
	}
}

fn try_stake(position: &Position) -> Result<(), TryRuntimeError> {
	let chunks = &position.stake.unbonding;
	ensure!(chunks.iter().all(|chunk| chunk.amount > 0), "an empty unbonding chunk");
	ensure!(chunks.windows(2).all(|pair| pair[0].unlocks_at < pair[1].unlocks_at), "unbonding chunks out of order");
	Ok(())
}
