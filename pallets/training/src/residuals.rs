//! Residuals of the last adopted round, of runs whose deltas are sent as a code that leaves one.
//!
//! A participant's next delta begins with what the code of its last one did not say: error feedback. The chain keeps the root of that. Whose delta was not
//! included goes on with what that began with. Whoever revealed nothing in the last adopted round, or does not have its residual any more, begins with one
//! of zeros. So does whose work was condemned, or left out because nobody could check it: its residual may be anything.

use crate::{expected, Config, Error, Pallet, Residuals};
use alloc::vec::Vec;
use frame_support::{ensure, traits::ConstU32, BoundedVec};
use neuroshard_types::{
	run::{RunConfig, Work},
	AccountId, RunId, H256, MAX_PARTICIPANTS,
};

/// Roots of residuals by account bytes ascending.
pub type ResidualRoots = BoundedVec<(AccountId, H256), ConstU32<MAX_PARTICIPANTS>>;

impl<T: Config> Pallet<T> {
	/// Root of the residual that `who` may begin the round under way with, beside that of zeros.
	pub(crate) fn residual_of(id: RunId, who: &AccountId) -> Option<H256> {
		let residuals = Residuals::<T>::get(id)?;
		let place = residuals.binary_search_by(|(other, _)| other.cmp(who)).ok()?;
		residuals.get(place).map(|&(_, root)| root)
	}

	/// Fails if `work` begins with another residual than `who` has.
	pub(crate) fn ensure_residual(id: RunId, config: &RunConfig, who: &AccountId, work: &Work) -> Result<(), Error<T>> {
		let Some([before, _]) = work.residuals(&config.train) else { return Ok(()) };
		let known = Self::residual_of(id, who) == Some(before) || before == expected::no_residual(&config.model, &config.train);
		ensure!(known, Error::<T>::WrongResidual);
		Ok(())
	}

	/// Keeps what participants' codes left unsaid in the round that was adopted just now, by account bytes ascending, in place of earlier rounds'.
	pub(crate) fn keep_residuals(id: RunId, config: &RunConfig, residuals: Vec<(AccountId, H256)>) {
		if config.train.leaves_residual() {
			Residuals::<T>::insert(id, ResidualRoots::truncate_from(residuals));
		}
	}

	/// Forgets the residual of `who`, whose work is condemned or left out.
	pub(crate) fn forget_residual(id: RunId, who: &AccountId) {
		Residuals::<T>::mutate_extant(id, |residuals| residuals.retain(|(other, _)| other != who));
	}
}
