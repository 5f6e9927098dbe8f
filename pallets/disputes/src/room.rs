//! What the moves of a block take of it.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::{ensure, pallet_prelude::ConstU32, BoundedVec};
use neuroshard_types::H256;
use scale_info::TypeInfo;
use sp_runtime::transaction_validity::{InvalidTransaction, TransactionValidityError};

/// Most positions that a block has a try at.
pub const MAX_TRIED: u32 = 256;

/// What the moves of a block have taken of it, good or not.
#[derive(Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo, Clone, PartialEq, Eq, Debug, Default)]
pub struct Room {
	/// Bytes of their extrinsics.
	pub bytes: u32,
	/// The positions that there was a try at, each of one game.
	pub tried: BoundedVec<H256, ConstU32<MAX_TRIED>>,
}

impl Room {
	/// Takes room for an extrinsic of so many bytes, which may be a try at a position, where all of them have `most` bytes.
	///
	/// # Errors
	/// [`InvalidTransaction::ExhaustsResources`]: it is for a later block.
	pub(crate) fn take(&mut self, bytes: usize, tried: Option<H256>, most: u32) -> Result<(), TransactionValidityError> {
		let full = InvalidTransaction::ExhaustsResources;
		let sum = u32::try_from(bytes).ok().and_then(|bytes| self.bytes.checked_add(bytes)).ok_or(full)?;
		ensure!(sum <= most, full);
		if let Some(position) = tried {
			ensure!(!self.tried.contains(&position), full);
			self.tried.try_push(position).map_err(|_| full)?;
		}
		self.bytes = sum;
		Ok(())
	}
}
