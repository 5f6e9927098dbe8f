//! Room that blocks keep for acts of participants.
//!
//! A participant has to act once in a phase, before its deadline. Whoever fills blocks until then would have it drop out, so a part of each is
//! kept for such acts, and they come before other extrinsics. That is so only for those that the chain would take: one for each participant
//! and phase, of runs that were approved. Anybody can make other runs, and fill that part with acts of accounts of its own.

use crate::{round::Accounts, Config, Pallet, Refusals};
use codec::{Decode, Encode, MaxEncodedLen};
use neuroshard_types::{run::Act, AccountId, BlockNumber, RunId};
use scale_info::TypeInfo;

/// Participants whose acts in one phase had room and were refused.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Refused {
	/// The act.
	act: Act,
	/// Deadline of the phase, which tells it from one that was repeated.
	deadline: BlockNumber,
	/// Accounts whose acts were refused, in this order; each once.
	who: Accounts,
}

impl Refused {
	/// Returns whether this is of run `id`, and nobody is noted twice.
	pub(crate) fn is_sound(&self, id: RunId) -> bool {
		let twice = self.who.iter().enumerate().any(|(place, who)| self.who.iter().skip(place.saturating_add(1)).any(|other| other == who));
		self.act.run == id && !twice
	}
}

impl<T: Config> Pallet<T> {
	/// The deadline of the phase, if blocks keep room for `act` by `who` now: the run is approved, `who` is waited for, and nothing that it
	/// sent was refused in this phase.
	pub fn has_room(who: &AccountId, act: &Act) -> Option<BlockNumber> {
		let (_, mut round) = Self::open(act.run).ok().filter(|(run, _)| run.approved)?;
		Self::actor(&mut round, who, (act.round, act.attempt), act.phase).ok()?;
		let refused = Refusals::<T>::get(act.run).filter(|refused| refused.act == *act && Some(refused.deadline) == round.deadline);
		round.deadline.filter(|_| refused.is_none_or(|refused| !refused.who.contains(who)))
	}

	/// Notes that `act` by `who` was refused, for which [`Self::has_room`] gave `deadline`: for what it sends in this phase from now on there is
	/// none.
	pub fn note_refused(who: &AccountId, act: Act, deadline: BlockNumber) {
		let known = Refusals::<T>::get(act.run).filter(|refused| (refused.act, refused.deadline) == (act, deadline));
		let mut refused = known.unwrap_or(Refused { act, deadline, who: Accounts::default() });
		// All of them are participants of one round.
		let _ = refused.who.try_push(who.clone());
		Refusals::<T>::insert(act.run, refused);
	}
}
