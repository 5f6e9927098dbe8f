//! Penalties of offences.

use crate::{Candidates, Config, Event, Exposure, HoldReason, Nominations, Offenders, Pallet, Position, WeightInfo};
use alloc::vec::Vec;
use frame_support::{
	defensive,
	traits::{
		fungible::MutateHold,
		tokens::{Fortitude, Precision},
	},
	weights::Weight,
};
use neuroshard_types::{AccountId, Balance};
use sp_runtime::Perbill;
use sp_staking::{
	offence::{OffenceDetails, OnOffenceHandler},
	SessionIndex,
};

impl<T: Config> Pallet<T> {
	/// Takes `fraction` of everything that is at stake for `who`, for an offence in `session`, chills it and bars it. Returns how many nominations
	/// it has.
	fn punish(who: &AccountId, fraction: Perbill, session: SessionIndex) -> u32 {
		let mut offender = Offenders::<T>::get(who).unwrap_or_default();
		// The offences pallet hands over earlier offenders of the same moment again, and a vote can be reported for every session of its set.
		let Some(rate) = offender.note(Self::first_session(session), fraction) else { return 0 };
		offender.barred_until = Self::bar_from_now(offender.barred_until);
		Self::deposit_event(Event::Barred { who: who.clone(), until: offender.barred_until });
		Offenders::<T>::insert(who, offender);
		let Some(mut candidate) = Candidates::<T>::get(who) else { return 0 };
		let nominators = candidate.nominators;
		Self::settle_own(who, &mut candidate);
		let own = Self::slash(HoldReason::SelfBond, who, &mut candidate.own, rate);
		let mut taken: Balance = 0;
		let nominations: Vec<_> = Nominations::<T>::iter_prefix(who).collect();
		for (nominator, mut nomination) in nominations {
			Self::settle(&nominator, &mut candidate, &mut nomination);
			let before = nomination.stake.active;
			let amount = Self::slash(HoldReason::Nomination, &nominator, &mut nomination, rate);
			taken = taken.saturating_add(amount);
			candidate.backing = candidate.backing.saturating_sub(before.saturating_sub(nomination.stake.active));
			if nomination.stake.total() == 0 {
				Self::forget_nomination(who, &mut candidate, &nominator);
			} else {
				Nominations::<T>::insert(who, &nominator, nomination);
			}
			Self::deposit_event(Event::NominationSlashed { nominator, candidate: who.clone(), amount });
		}
		Self::deposit_event(Event::Slashed { candidate: who.clone(), session, own, nominations: taken });
		Self::set_chilled(who, &mut candidate);
		if candidate.own.stake.total() == 0 && candidate.nominators == 0 {
			Self::forget_candidate(who, candidate);
		} else {
			Candidates::<T>::insert(who, candidate);
		}
		nominators
	}

	/// Burns `rate` of a position that is settled, and returns what was burned.
	fn slash(reason: HoldReason, who: &AccountId, position: &mut Position, rate: Perbill) -> Balance {
		let mut left = position.stake.clone();
		let taken = left.slash(rate);
		match T::Currency::burn_held(&reason.into(), who, taken, Precision::Exact, Fortitude::Force) {
			Ok(_) => {
				position.stake = left;
				taken
			}
			Err(_) => {
				defensive!("a stake is on hold");
				0
			}
		}
	}
}

impl<T: Config> OnOffenceHandler<AccountId, (AccountId, Exposure), Weight> for Pallet<T> {
	fn on_offence(offenders: &[OffenceDetails<AccountId, (AccountId, Exposure)>], fractions: &[Perbill], session: SessionIndex) -> Weight {
		offenders.iter().zip(fractions).fold(Weight::zero(), |weight, (details, fraction)| {
			weight.saturating_add(T::WeightInfo::punish(Self::punish(&details.offender.0, *fraction, session)))
		})
	}
}
