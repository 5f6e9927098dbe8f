//! Room that moves and acts take of a block.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::{ensure, pallet_prelude::ConstU32, weights::Weight, BoundedVec};
use neuroshard_types::H256;
use scale_info::TypeInfo;
use sp_runtime::transaction_validity::{InvalidTransaction, TransactionValidityError};

/// Most positions that a block has a try at.
pub const MAX_TRIED: u32 = 256;

/// A part of a block.
#[derive(Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Share {
	/// Bytes of extrinsics.
	pub bytes: u32,
	/// Reference time in picoseconds.
	pub time: u64,
}

impl Share {
	/// Takes an extrinsic of so many bytes and this weight, where all of them have `most`.
	///
	/// # Errors
	/// [`InvalidTransaction::ExhaustsResources`]: it is for a later block.
	pub(crate) fn take(&mut self, bytes: usize, weight: Weight, most: Self) -> Result<(), TransactionValidityError> {
		let full = InvalidTransaction::ExhaustsResources;
		let bytes = u32::try_from(bytes).ok().and_then(|bytes| self.bytes.checked_add(bytes)).ok_or(full)?;
		let time = self.time.checked_add(weight.ref_time()).ok_or(full)?;
		ensure!(bytes <= most.bytes && time <= most.time, full);
		*self = Self { bytes, time };
		Ok(())
	}

	/// Gives back the time that an extrinsic has not needed.
	pub(crate) fn give_back(&mut self, unneeded: Weight) {
		self.time = self.time.saturating_sub(unneeded.ref_time());
	}
}

/// Room that the moves and acts of a block have taken of it, good or not.
#[derive(Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo, Clone, PartialEq, Eq, Debug, Default)]
pub struct Room {
	/// Of moves that come first.
	pub moves: Share,
	/// Of acts in rounds for which there is room.
	pub acts: Share,
	/// The positions that there was a try at, each of one game.
	pub tried: BoundedVec<H256, ConstU32<MAX_TRIED>>,
}

impl Room {
	/// Notes a try at a position.
	///
	/// # Errors
	/// [`InvalidTransaction::ExhaustsResources`] if this block had one, or as many as there can be: it is for a later block.
	pub(crate) fn try_at(&mut self, position: H256) -> Result<(), TransactionValidityError> {
		let full = InvalidTransaction::ExhaustsResources;
		ensure!(!self.tried.contains(&position), full);
		self.tried.try_push(position).map_err(|_| full.into())
	}
}
