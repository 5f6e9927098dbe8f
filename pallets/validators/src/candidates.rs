//! Implementation of the calls of candidates.

use crate::{
	BarPeriod, Candidate, Candidates, Config, Cooldown, Error, Event, Exposures, HoldReason, MinSelfBond, Nominations, Offenders, Pallet,
	Planned, Sessions, Status,
};
use alloc::vec::Vec;
use frame_support::{
	ensure,
	traits::{
		fungible::{InspectHold, MutateHold},
		tokens::Precision,
		Get,
	},
};
use neuroshard_types::{AccountId, Balance, BlockNumber};
use sp_runtime::{DispatchError, DispatchResult, Perbill, SaturatedConversion};

impl<T: Config> Pallet<T> {
	pub(crate) fn now() -> BlockNumber {
		frame_system::Pallet::<T>::block_number().saturated_into()
	}

	/// Puts `amount` of the free balance of `who` on hold.
	pub(crate) fn hold(reason: HoldReason, who: &AccountId, amount: Balance) -> DispatchResult {
		T::Currency::hold(&reason.into(), who, amount)
	}

	/// Gives `amount` of the hold of `who` back.
	pub(crate) fn release(reason: HoldReason, who: &AccountId, amount: Balance) -> DispatchResult {
		if amount > 0 {
			T::Currency::release(&reason.into(), who, amount, Precision::Exact)?;
		}
		Ok(())
	}

	/// Returns the amount on hold for `who`.
	pub(crate) fn held(reason: HoldReason, who: &AccountId) -> Balance {
		T::Currency::balance_on_hold(&reason.into(), who)
	}

	/// See the view function `barred_until`.
	pub(crate) fn bar_of(who: &AccountId) -> Option<BlockNumber> {
		Offenders::<T>::get(who).map(|offender| offender.barred_until).filter(|until| *until > Self::now())
	}

	/// Until when an offence bars from now on, where an earlier one bars until `until`.
	pub(crate) fn bar_from_now(until: BlockNumber) -> BlockNumber {
		until.max(Self::now().saturating_add(BarPeriod::<T>::get()))
	}

	/// Runs `change` on the candidate `who` and stores the result; on an error nothing is stored.
	fn try_mutate(who: &AccountId, change: impl FnOnce(&mut Candidate) -> DispatchResult) -> DispatchResult {
		Candidates::<T>::try_mutate(who, |entry| change(entry.as_mut().ok_or(Error::<T>::NotCandidate)?))
	}

	/// Holds `amount` as the self-bond of the new candidate `who`.
	pub(crate) fn add_candidate(who: &AccountId, amount: Balance, commission: Perbill) -> DispatchResult {
		Self::hold(HoldReason::SelfBond, who, amount)?;
		Candidates::<T>::insert(who, Candidate::new(amount, commission));
		Self::deposit_event(Event::CandidateAdded { who: who.clone(), bond: amount, commission });
		Ok(())
	}

	/// See [`crate::Call::bond`].
	pub(crate) fn do_bond(who: AccountId, amount: Balance, commission: Perbill) -> DispatchResult {
		ensure!(!Candidates::<T>::contains_key(&who), Error::<T>::AlreadyCandidate);
		ensure!(Self::bar_of(&who).is_none(), Error::<T>::Barred);
		ensure!(T::Sessions::has_keys(&who), Error::<T>::NoSessionKeys);
		ensure!(amount >= MinSelfBond::<T>::get(), Error::<T>::BondTooSmall);
		ensure!(Candidates::<T>::count() < T::MaxCandidates::get(), Error::<T>::TooManyCandidates);
		Self::add_candidate(&who, amount, commission)
	}

	/// See [`crate::Call::bond_extra`].
	pub(crate) fn do_bond_extra(who: AccountId, amount: Balance) -> DispatchResult {
		ensure!(amount > 0, Error::<T>::ZeroAmount);
		// What an offender adds would be slashed for what it did before.
		ensure!(Self::bar_of(&who).is_none(), Error::<T>::Barred);
		Self::try_mutate(&who, |candidate| {
			let active = candidate.own.stake.active.saturating_add(amount);
			ensure!(active >= MinSelfBond::<T>::get(), Error::<T>::BondTooSmall);
			Self::hold(HoldReason::SelfBond, &who, amount)?;
			Self::settle_own(&who, candidate);
			candidate.own.stake.active = active;
			Ok(())
		})?;
		Self::deposit_event(Event::Bonded { who, amount });
		Ok(())
	}

	/// See [`crate::Call::unbond`].
	pub(crate) fn do_unbond(who: AccountId, amount: Balance) -> DispatchResult {
		ensure!(amount > 0, Error::<T>::ZeroAmount);
		let unlocks_at = Self::now().saturating_add(Cooldown::<T>::get());
		Self::try_mutate(&who, |candidate| {
			let rest = candidate.own.stake.active.checked_sub(amount).ok_or(Error::<T>::AmountExceedsStake)?;
			ensure!(rest == 0 || rest >= MinSelfBond::<T>::get(), Error::<T>::BondTooSmall);
			Self::settle_own(&who, candidate);
			ensure!(candidate.own.stake.unbond(amount, unlocks_at), Error::<T>::TooManyChunks);
			Self::deposit_event(Event::Unbonded { who: who.clone(), amount, unlocks_at });
			if rest == 0 {
				Self::set_chilled(&who, candidate);
			}
			Ok(())
		})
	}

	/// See [`crate::Call::withdraw_unbonded`]. Returns how many nominations were released.
	pub(crate) fn do_withdraw_unbonded(who: AccountId) -> Result<u32, DispatchError> {
		let mut candidate = Candidates::<T>::get(&who).ok_or(Error::<T>::NotCandidate)?;
		let amount = candidate.own.stake.take_unlocked(Self::now());
		let leaves = candidate.own.stake.total() == 0;
		// A slash to nothing ends the candidacy by itself, so something is withdrawn by whoever leaves.
		ensure!(amount > 0, Error::<T>::NothingToWithdraw);
		if leaves {
			// Where nobody else can be elected, the set goes on with whoever is in it, and the cooldown may be over before.
			ensure!(!Self::is_in_a_set(&who), Error::<T>::StillElected);
			ensure!(candidate.reportable_until <= Self::now(), Error::<T>::StillReportable);
		}
		Self::release(HoldReason::SelfBond, &who, amount)?;
		Self::deposit_event(Event::Withdrawn { who: who.clone(), amount });
		let nominators = candidate.nominators;
		if leaves {
			Self::remove_candidate(&who, candidate)?;
			return Ok(nominators);
		}
		Candidates::<T>::insert(&who, candidate);
		Ok(0)
	}

	/// See [`crate::Call::chill`].
	pub(crate) fn do_chill(who: AccountId) -> DispatchResult {
		Self::try_mutate(&who, |candidate| {
			ensure!(candidate.status == Status::Active, Error::<T>::AlreadyChilled);
			Self::set_chilled(&who, candidate);
			Ok(())
		})
	}

	/// See [`crate::Call::activate`].
	pub(crate) fn do_activate(who: AccountId) -> DispatchResult {
		Self::try_mutate(&who, |candidate| {
			ensure!(candidate.status == Status::Chilled, Error::<T>::AlreadyActive);
			ensure!(Self::bar_of(&who).is_none(), Error::<T>::Barred);
			ensure!(T::Sessions::has_keys(&who), Error::<T>::NoSessionKeys);
			ensure!(candidate.own.stake.active >= MinSelfBond::<T>::get(), Error::<T>::BondTooSmall);
			candidate.status = Status::Active;
			Ok(())
		})?;
		Self::deposit_event(Event::Activated { who });
		Ok(())
	}

	/// See [`crate::Call::set_commission`].
	pub(crate) fn do_set_commission(who: AccountId, commission: Perbill) -> DispatchResult {
		let now = Self::now();
		let mut from = now;
		Self::try_mutate(&who, |candidate| {
			candidate.commission = candidate.commission_at(now);
			candidate.next_commission = None;
			if commission > candidate.commission {
				from = now.saturating_add(Cooldown::<T>::get());
				candidate.next_commission = Some((commission, from));
			} else {
				candidate.commission = commission;
			}
			Ok(())
		})?;
		Self::deposit_event(Event::CommissionSet { who, commission, from });
		Ok(())
	}

	/// Chills a candidate if it is active.
	pub(crate) fn set_chilled(who: &AccountId, candidate: &mut Candidate) {
		if candidate.status == Status::Active {
			candidate.status = Status::Chilled;
			Self::deposit_event(Event::Chilled { who: who.clone() });
		}
	}

	/// Forgets a candidate with nothing at stake, and releases its nominations.
	pub(crate) fn remove_candidate(who: &AccountId, mut candidate: Candidate) -> DispatchResult {
		let nominations: Vec<_> = Nominations::<T>::iter_prefix(who).collect();
		for (nominator, nomination) in nominations {
			Self::end_nomination(who, &mut candidate, &nominator, nomination)?;
		}
		Self::forget_candidate(who, candidate);
		Ok(())
	}

	/// Forgets a candidate with nothing at stake and no nominations.
	pub(crate) fn forget_candidate(who: &AccountId, candidate: Candidate) {
		// Every position is settled: this is what rounding has left.
		Self::owe(who, candidate.pool.unsettled);
		Candidates::<T>::remove(who);
		Self::deposit_event(Event::CandidateRemoved { who: who.clone() });
	}

	/// Returns whether `who` is in the validator set of the running session, or of one that is planned.
	fn is_in_a_set(who: &AccountId) -> bool {
		let contains = |session| Exposures::<T>::get(session).iter().any(|(validator, _)| validator == who);
		contains(T::Sessions::current()) || contains(Planned::<T>::get())
	}
}
