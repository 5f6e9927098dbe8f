//! Absences: who keeps missing deadlines waits before it may join again.
//!
//! Everybody waits for a participant that does nothing, so one that joins every round and never acts would cost every round
//! a deadline. The first dropout costs nothing more than the round: a machine that was restarted is back at once. Each further
//! one in a row doubles the wait; a delta that is included, without a dropout in that round, ends the row.
//!
//! A deadline that more than a third of those who began the round miss ([`is_mass`]) makes nobody's row longer: where blocks are full, or
//! finality stands still, everybody is late. Place, pay and a point of reputation are lost all the same. So those who keep together more than
//! a third of the heads and of the stake of a round can stay away from all of them without a wait, as long as they hold that: with it they
//! could keep any checkpoint of the run from being adopted anyway.
//!
//! [`is_mass`]: crate::tally::is_mass

use crate::{tally, Absences, Config, Error, Pallet, Round, Run};
use codec::{Decode, Encode, MaxEncodedLen};
use frame_support::{ensure, traits::ConstU32, BoundedVec};
use neuroshard_types::{AccountId, BlockNumber, RunId, MAX_PARTICIPANTS};
use scale_info::TypeInfo;

/// Most accounts of a run whose dropouts are remembered; beyond it, those whose wait ends first are forgotten.
pub const MAX_ABSENCES: u32 = 2 * MAX_PARTICIPANTS;
/// Doublings of the wait: at most 63 times the time for training.
const MOST_DOUBLINGS: u32 = 6;

/// The dropouts of an account in a row.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Absence {
	/// Participant that dropped out.
	pub who: AccountId,
	/// Number of times, since its delta was last included; saturates.
	pub dropouts: u32,
	/// First block in which it may join again.
	pub until: BlockNumber,
}

/// Absences of a run by account bytes ascending.
pub type AbsenceList = BoundedVec<Absence, ConstU32<MAX_ABSENCES>>;

/// Blocks that an account waits after so many dropouts in a row: nothing, then once, 3, 7, .. 63 times `training`.
pub(crate) fn wait(dropouts: u32, training: BlockNumber) -> BlockNumber {
	let doublings = dropouts.saturating_sub(1).min(MOST_DOUBLINGS);
	let times = 1u32.checked_shl(doublings).map_or(0, |power| power.saturating_sub(1));
	training.saturating_mul(times)
}

/// Notes one more dropout of `who` in block `now`.
pub(crate) fn note(list: &mut AbsenceList, who: &AccountId, now: BlockNumber, training: BlockNumber) {
	match list.binary_search_by(|absence| absence.who.cmp(who)) {
		Ok(place) => {
			if let Some(absence) = list.get_mut(place) {
				absence.dropouts = absence.dropouts.saturating_add(1);
				absence.until = now.saturating_add(wait(absence.dropouts, training));
			}
		}
		Err(_) => {
			if list.is_full() {
				let soonest = list.iter().enumerate().min_by_key(|(_, absence)| absence.until).map(|(place, _)| place);
				soonest.map(|place| list.remove(place));
			}
			let place = list.partition_point(|absence| absence.who < *who);
			// There is room: at least one place was made.
			let _ = list.try_insert(place, Absence { who: who.clone(), dropouts: 1, until: now });
		}
	}
}

impl<T: Config> Pallet<T> {
	/// First block in which `who` may join run `id` again, if it dropped out lately.
	pub(crate) fn waits_until(id: RunId, who: &AccountId) -> Option<BlockNumber> {
		let list = Absences::<T>::get(id);
		let place = list.binary_search_by(|absence| absence.who.cmp(who)).ok()?;
		list.get(place).map(|absence| absence.until)
	}

	/// Refuses an account that still has to wait.
	pub(crate) fn ensure_waited(id: RunId, who: &AccountId) -> Result<(), Error<T>> {
		ensure!(Self::waits_until(id, who).is_none_or(|until| until <= Self::now()), Error::<T>::CoolingOff);
		Ok(())
	}

	/// Notes that all of `absent` dropped out of `round` of `run`, unless they are too many for it to be their own fault.
	pub(crate) fn note_absent(id: RunId, run: &Run, round: &Round, absent: &[AccountId]) {
		if tally::is_mass(&round.participants, absent) {
			return;
		}
		Absences::<T>::mutate(id, |list| {
			absent.iter().for_each(|who| note(list, who, Self::now(), run.config.durations.training));
		});
	}

	/// Forgets the dropouts of everybody whose delta `round` includes and who missed nothing in it.
	pub(crate) fn forgive(id: RunId, round: &Round) {
		let reliable = |who: &AccountId| round.participant(who).is_some_and(|place| place.counted && place.included);
		let mut list = Absences::<T>::get(id);
		let before = list.len();
		list.retain(|absence| !reliable(&absence.who));
		match list.len() {
			0 => Absences::<T>::remove(id),
			after if after < before => Absences::<T>::insert(id, list),
			_ => {}
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn account(number: u32) -> AccountId {
		let mut bytes = [0; 32];
		bytes[..4].copy_from_slice(&number.to_be_bytes());
		AccountId::new(bytes)
	}

	#[test]
	fn the_first_dropout_costs_no_wait_and_each_further_one_doubles_it() {
		let waits: Vec<_> = (0..9).map(|dropouts| wait(dropouts, 10)).collect();
		assert_eq!(waits, [0, 0, 10, 30, 70, 150, 310, 630, 630]);
		assert_eq!(wait(u32::MAX, u32::MAX), u32::MAX);
	}

	#[test]
	fn a_full_list_forgets_who_has_waited_longest() {
		let mut list = AbsenceList::default();
		for number in 0..MAX_ABSENCES {
			note(&mut list, &account(number), 5 + number, 10);
		}
		// Everybody but the first has dropped out twice.
		(1..MAX_ABSENCES).for_each(|number| note(&mut list, &account(number), 300, 10));
		note(&mut list, &account(MAX_ABSENCES), 301, 10);
		assert!(list.is_full() && list.windows(2).all(|pair| pair[0].who < pair[1].who));
		assert!(list.iter().all(|absence| absence.who != account(0)));
		let newest = list.last().map(|absence| (absence.dropouts, absence.until));
		assert_eq!(newest, Some((1, 301)));
	}
}
