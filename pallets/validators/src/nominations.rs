//! Implementation of the calls of nominators.

use crate::{
	Candidate, Candidates, Config, Cooldown, Error, Event, HoldReason, MinNomination, Nominations, NominationsOf, Pallet, Position, Status,
	MAX_NOMINATORS,
};
use frame_support::ensure;
use neuroshard_types::{AccountId, Balance};
use sp_runtime::{DispatchError, DispatchResult};

impl<T: Config> Pallet<T> {
	/// See [`crate::Call::nominate`]. Returns how many nominations were read to find the smallest.
	pub(crate) fn do_nominate(who: AccountId, id: AccountId, amount: Balance) -> Result<u32, DispatchError> {
		ensure!(amount > 0, Error::<T>::ZeroAmount);
		ensure!(who != id, Error::<T>::OwnCandidacy);
		let mut candidate = Candidates::<T>::get(&id).ok_or(Error::<T>::NotCandidate)?;
		ensure!(candidate.status == Status::Active, Error::<T>::NotActive);
		let known = Nominations::<T>::get(&id, &who);
		let active = known.as_ref().map_or(0, |nomination| nomination.stake.active).saturating_add(amount);
		ensure!(active >= MinNomination::<T>::get(), Error::<T>::NominationTooSmall);
		Self::hold(HoldReason::Nomination, &who, amount)?;
		let mut read = 0;
		let mut nomination = match known {
			Some(nomination) => nomination,
			None => {
				NominationsOf::<T>::try_mutate(&who, |list| list.try_push(id.clone())).map_err(|_| Error::<T>::TooManyNominations)?;
				if candidate.nominators >= MAX_NOMINATORS {
					read = candidate.nominators;
					Self::displace_lowest(&id, &mut candidate, amount)?;
				}
				candidate.nominators = candidate.nominators.saturating_add(1);
				Position::default()
			}
		};
		Self::settle(&who, &mut candidate, &mut nomination);
		nomination.stake.active = active;
		candidate.backing = candidate.backing.saturating_add(amount);
		Nominations::<T>::insert(&id, &who, nomination);
		Candidates::<T>::insert(&id, candidate);
		Self::deposit_event(Event::Nominated { nominator: who, candidate: id, amount });
		Ok(read)
	}

	/// See [`crate::Call::unnominate`].
	pub(crate) fn do_unnominate(who: AccountId, id: AccountId, amount: Balance) -> DispatchResult {
		ensure!(amount > 0, Error::<T>::ZeroAmount);
		let (mut candidate, mut nomination) = Self::nomination(&who, &id)?;
		let rest = nomination.stake.active.checked_sub(amount).ok_or(Error::<T>::AmountExceedsStake)?;
		ensure!(rest == 0 || rest >= MinNomination::<T>::get(), Error::<T>::NominationTooSmall);
		Self::settle(&who, &mut candidate, &mut nomination);
		let unlocks_at = Self::now().saturating_add(Cooldown::<T>::get());
		ensure!(nomination.stake.unbond(amount, unlocks_at), Error::<T>::TooManyChunks);
		candidate.backing = candidate.backing.saturating_sub(amount);
		Nominations::<T>::insert(&id, &who, nomination);
		Candidates::<T>::insert(&id, candidate);
		Self::deposit_event(Event::Unnominated { nominator: who, candidate: id, amount, unlocks_at });
		Ok(())
	}

	/// See [`crate::Call::withdraw_nomination`].
	pub(crate) fn do_withdraw_nomination(who: AccountId, id: AccountId) -> DispatchResult {
		let (mut candidate, mut nomination) = Self::nomination(&who, &id)?;
		let amount = nomination.stake.take_unlocked(Self::now());
		ensure!(amount > 0, Error::<T>::NothingToWithdraw);
		Self::release(HoldReason::Nomination, &who, amount)?;
		if nomination.stake.total() == 0 {
			Self::settle(&who, &mut candidate, &mut nomination);
			Self::forget_nomination(&id, &mut candidate, &who);
		} else {
			Nominations::<T>::insert(&id, &who, nomination);
		}
		Candidates::<T>::insert(&id, candidate);
		Self::deposit_event(Event::NominationWithdrawn { nominator: who, candidate: id, amount });
		Ok(())
	}

	/// See the view function `lowest_nomination`.
	pub(crate) fn lowest_nomination_of(id: &AccountId) -> Option<Balance> {
		let candidate = Candidates::<T>::get(id).filter(|candidate| candidate.status == Status::Active)?;
		let minimum = MinNomination::<T>::get();
		if candidate.nominators < MAX_NOMINATORS {
			return Some(minimum);
		}
		Self::lowest(id).map(|(lowest, ..)| lowest.saturating_add(1).max(minimum))
	}

	/// The smallest nomination of a candidate with all that it has at stake; of equal ones that of the lowest account.
	fn lowest(id: &AccountId) -> Option<(Balance, AccountId, Position)> {
		Nominations::<T>::iter_prefix(id)
			.map(|(nominator, nomination)| (nomination.stake.total(), nominator, nomination))
			.min_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)))
	}

	/// Makes room for a nomination of `amount`.
	fn displace_lowest(id: &AccountId, candidate: &mut Candidate, amount: Balance) -> DispatchResult {
		let (lowest, nominator, nomination) = Self::lowest(id).ok_or(Error::<T>::NominatorsFull)?;
		ensure!(amount > lowest, Error::<T>::NominatorsFull);
		Self::end_nomination(id, candidate, &nominator, nomination)
	}

	/// Releases all of a nomination at once. The caller stores the candidate.
	pub(crate) fn end_nomination(
		id: &AccountId,
		candidate: &mut Candidate,
		nominator: &AccountId,
		mut nomination: Position,
	) -> DispatchResult {
		Self::settle(nominator, candidate, &mut nomination);
		let amount = nomination.stake.total();
		Self::release(HoldReason::Nomination, nominator, amount)?;
		candidate.backing = candidate.backing.saturating_sub(nomination.stake.active);
		Self::forget_nomination(id, candidate, nominator);
		Self::deposit_event(Event::NominationReleased { nominator: nominator.clone(), candidate: id.clone(), amount });
		Ok(())
	}

	/// Forgets a nomination that is settled and not on hold any more. The caller stores the candidate.
	pub(crate) fn forget_nomination(id: &AccountId, candidate: &mut Candidate, nominator: &AccountId) {
		Nominations::<T>::remove(id, nominator);
		candidate.nominators = candidate.nominators.saturating_sub(1);
		NominationsOf::<T>::mutate_exists(nominator, |entry| {
			*entry = entry.take().map(|mut list| {
				list.retain(|other| other != id);
				list
			});
			if entry.as_ref().is_some_and(|list| list.is_empty()) {
				*entry = None;
			}
		});
	}

	/// The nomination of `id` by `who`, with the candidate.
	fn nomination(who: &AccountId, id: &AccountId) -> Result<(Candidate, Position), Error<T>> {
		let nomination = Nominations::<T>::get(id, who).ok_or(Error::<T>::NotNominated)?;
		let candidate = Candidates::<T>::get(id).ok_or(Error::<T>::NotCandidate)?;
		Ok((candidate, nomination))
	}
}
