//! The stop switch: runs that are ended, and models that may not be used, whatever their sponsor wants.

use crate::{Config, Error, Event, Halted, Pallet, Records, Runs};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::{ensure, traits::ConstU32, BoundedVec};
use neuroshard_types::{traits::Models, BlockNumber, RoundIndex, RunId, H256};
use scale_info::TypeInfo;
use sp_runtime::{DispatchError, DispatchResult};

/// Why a switch is used, for people to read. UTF-8 is not checked: nothing depends on it.
pub type Reason = BoundedVec<u8, ConstU32<256>>;

/// Since when a model may not be used, and why.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Halt {
	/// Block in which it was halted.
	pub since: BlockNumber,
	/// Why.
	pub reason: Reason,
}

impl<T: Config> Pallet<T> {
	/// Stops run `id` by force. Returns the places of the round under way.
	pub(crate) fn do_force_stop_run(id: RunId, reason: Reason) -> Result<u32, DispatchError> {
		let run = Self::active(id)?;
		Self::deposit_event(Event::RunForceStopped { run: id, reason });
		Self::stop(id, run)
	}

	/// Halts the model of run `id`, which may be over.
	pub(crate) fn do_halt_model(id: RunId, reason: Reason) -> DispatchResult {
		ensure!(Runs::<T>::contains_key(id), Error::<T>::UnknownRun);
		ensure!(!Halted::<T>::contains_key(id), Error::<T>::AlreadyHalted);
		Halted::<T>::insert(id, Halt { since: Self::now(), reason: reason.clone() });
		Self::deposit_event(Event::ModelHalted { run: id, reason });
		Ok(())
	}

	/// Lets the model of run `id` be used again.
	pub(crate) fn do_lift_halt(id: RunId, reason: Reason) -> DispatchResult {
		Halted::<T>::take(id).ok_or(Error::<T>::NotHalted)?;
		Self::deposit_event(Event::HaltLifted { run: id, reason });
		Ok(())
	}
}

impl<T: Config> Models for Pallet<T> {
	fn may_serve(run: RunId) -> bool {
		Runs::<T>::contains_key(run) && !Halted::<T>::contains_key(run)
	}

	fn layers(run: RunId) -> Option<u32> {
		Runs::<T>::get(run).map(|run| run.config.model.layers)
	}

	fn is_checkpoint(id: RunId, round: RoundIndex, root: H256) -> bool {
		// What a run of an adapter has for checkpoints answers nothing without the model beside it, and no dispute judges both.
		let Some(run) = Runs::<T>::get(id).filter(|run| run.config.train.adapter.is_none()) else { return false };
		let start =
			if round == run.rounds_adopted { Some(run.checkpoint) } else { Records::<T>::get(id, round).map(|record| record.start) };
		// The round before ended with it.
		let fallen = || round.checked_sub(1).and_then(|before| Records::<T>::get(id, before)).is_some_and(|record| record.fallen);
		start == Some(root) && !fallen()
	}
}
