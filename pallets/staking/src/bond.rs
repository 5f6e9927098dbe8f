//! The money of a provider, and the arithmetic of it.

use crate::MAX_UNBONDING_CHUNKS;
use codec::{Decode, Encode, MaxEncodedLen};
use frame_support::{traits::ConstU32, BoundedVec};
use neuroshard_types::{provider::UnbondingChunk, Balance, BlockNumber};
use scale_info::TypeInfo;

/// Money at stake. Its total equals what is on hold for the provider, so no sum here exceeds the total issuance;
/// saturating arithmetic never saturates.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Bond {
	/// Part that counts as stake.
	pub active: Balance,
	/// Parts on their way out, by `unlocks_at` strictly ascending, none of them zero.
	pub unbonding: BoundedVec<UnbondingChunk, ConstU32<MAX_UNBONDING_CHUNKS>>,
}

/// Why a part of a bond cannot start to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BondError {
	/// More than the active part.
	ExceedsActive,
	/// The list of chunks is full.
	TooManyChunks,
}

impl Bond {
	/// Active and unbonding parts together: all that can be slashed.
	pub fn total(&self) -> Balance {
		self.unbonding.iter().fold(self.active, |sum, chunk| sum.saturating_add(chunk.amount))
	}

	/// Moves `amount` from the active part into a chunk that unlocks at `unlocks_at`, which is not before the last
	/// chunk's. On an error nothing changes.
	pub fn unbond(&mut self, amount: Balance, unlocks_at: BlockNumber) -> Result<(), BondError> {
		let rest = self.active.checked_sub(amount).ok_or(BondError::ExceedsActive)?;
		match self.unbonding.last_mut() {
			Some(last) if last.unlocks_at == unlocks_at => last.amount = last.amount.saturating_add(amount),
			_ => self.unbonding.try_push(UnbondingChunk { amount, unlocks_at }).map_err(|_| BondError::TooManyChunks)?,
		}
		self.active = rest;
		Ok(())
	}

	/// Removes the chunks that are unlocked at block `now` and returns their sum.
	pub fn take_unlocked(&mut self, now: BlockNumber) -> Balance {
		let before = self.total();
		self.unbonding.retain(|chunk| chunk.unlocks_at > now);
		before.saturating_sub(self.total())
	}

	/// Removes `amount`, or everything if that is less: from the latest chunk back to the earliest, then from the active
	/// part. Returns what was removed.
	pub fn slash(&mut self, amount: Balance) -> Balance {
		let mut rest = amount;
		for chunk in self.unbonding.iter_mut().rev() {
			let taken = rest.min(chunk.amount);
			chunk.amount = chunk.amount.saturating_sub(taken);
			rest = rest.saturating_sub(taken);
		}
		self.unbonding.retain(|chunk| chunk.amount > 0);
		let taken = rest.min(self.active);
		self.active = self.active.saturating_sub(taken);
		amount.saturating_sub(rest.saturating_sub(taken))
	}
}
